"""What the commands print: the table of an estimate, and lines about what was sent and written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .estimate import Estimate, total
from .functions import Json
from .requests import TaskName
from .sending import SendingReport
from .usage import Price

# The reasons of `answers.why_unread` in words.
_REASON_WORDS = {
    "truncated": "cut off at the limit of tokens",
    "refused": "refused by the model or a filter",
    "refused_requests": "refused by the server",
    "empty": "empty",
    "wrong_names": "calls of another function",
    "unreadable": "without what was asked for",
}


def estimate_facts(estimate: Estimate, price: Price | None) -> Json:
    """An estimate as the JSON object that ``estimate --json`` prints."""
    facts: Json = {
        "variant": estimate.name,
        "requests": estimate.requests,
        "repeated": estimate.repeated,
        "tokens_in": estimate.usage.sent,
        "longest": estimate.longest,
        "tokens_out": estimate.usage.made,
    }
    return facts | ({"cost": round(estimate.usage.cost(price), 4)} if price else {})


def print_estimates(
    estimates: Sequence[Estimate], counter: str, price: Price | None, as_json: bool
) -> None:
    """Print estimates as a table or as JSON."""
    if as_json:
        print(json.dumps([estimate_facts(variant, price) for variant in estimates], indent=1))
    else:
        print(*estimate_table(estimates, counter, price), sep="\n")


def estimate_table(estimates: Sequence[Estimate], counter: str, price: Price | None) -> list[str]:
    """The lines of the table of estimates."""
    head = f"{'variant':<12}{'requests':>10}{'tokens in':>13}{'each':>7}{'most':>7}"
    head += f"{'tokens out':>13}{'each':>7}" + (f"{'cost':>10}" if price else "")
    rows = [*estimates, *([total(estimates)] if len(estimates) > 1 else [])]
    return [
        head,
        *(_estimate_row(row, price) for row in rows),
        f"Tokens by {counter}, of distinct requests.",
        "Out: tokens of the gold answers, without the reasoning of a model.",
        *(["The cost has no discount for caching."] if price else []),
    ]


def _estimate_row(estimate: Estimate, price: Price | None) -> str:
    usage, sent = estimate.usage, estimate.requests - estimate.repeated
    mean_in, mean_out = (round(number / max(sent, 1)) for number in (usage.sent, usage.made))
    line = f"{estimate.name:<12}{sent:>10,}{usage.sent:>13,}{mean_in:>7,}{estimate.longest:>7,}"
    line += f"{usage.made:>13,}{mean_out:>7,}"
    return line + (f"{usage.cost(price):>10.2f}" if price else "")


def format_counts(counts: Mapping[str, Any]) -> str:
    """The counts that are not 0, in one line."""
    return ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in counts.items() if n)


def sending_line(report: SendingReport, price: Price | None) -> str:
    """One line about what was sent to a server."""
    line = f"sent: {format_counts(report.counts) or 'nothing'}"
    if report.waited:
        line += f"; waited {report.waited:.0f} s"
    if report.usage.sent:
        line += f"; tokens {report.usage.sent} in, {report.usage.made} out"
    if price is not None:
        line += f"; cost {report.usage.cost(price):.4f}"
    return line


def prediction_line(name: str, figures: Json) -> str:
    """One line about a prediction file, from the counts in its header."""
    numbers = {key: value for key, value in figures.items() if isinstance(value, int)}
    line = f"{name}: {format_counts(numbers)}"
    if figures["tokens"]["in"]:
        line += f"; tokens {figures['tokens']['in']} in, {figures['tokens']['out']} out"
    if "cost" in figures:
        line += f"; cost {figures['cost']:.4f}"
    return line


def done_line(figures_of_files: Iterable[Json], task: TaskName) -> str:
    """The last line of a run: which share of the answers could not be read, and why."""
    requests, reasons = 0, Counter[str]()
    for figures in figures_of_files:
        requests += figures["requests"]
        reasons.update(figures["unread_because"])
    unread = reasons.total()
    if not unread:
        return f"done: all {requests} answers could be read"
    parts = ", ".join(f"{_REASON_WORDS[name]} {number}" for name, number in reasons.most_common())
    advice = "; --set max_tokens=N gives them more room" if reasons["truncated"] else ""
    counted = "the empty state" if task == "state" else "no call"
    return (
        f"done, WARNING: {unread} of {requests} answers ({100 * unread / requests:.1f} %) could "
        f"not be read and count as {counted}: {parts}{advice}"
    )
