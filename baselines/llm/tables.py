"""What the commands print: the table of an estimate, and lines about what was sent and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .estimate import Estimate, total
from .functions import Json
from .sending import SendingReport
from .usage import Price


def estimate_facts(estimate: Estimate, price: Price | None) -> Json:
    """An estimate as the JSON object that ``estimate --json`` prints."""
    facts: Json = {
        "wording": estimate.name,
        "requests": estimate.requests,
        "repeated": estimate.repeated,
        "tokens_in": estimate.usage.sent,
        "longest": estimate.longest,
        "tokens_out": estimate.usage.made,
    }
    return facts | ({"cost": round(estimate.usage.cost(price), 4)} if price else {})


def estimate_table(estimates: Sequence[Estimate], counter: str, price: Price | None) -> list[str]:
    """The lines of the table of estimates.

    Args:
        estimates: The estimate of each wording.
        counter: Name of what the tokens were counted by.
        price: The prices of tokens; None for a table without costs.
    """
    head = f"{'wording':<12}{'requests':>10}{'tokens in':>13}{'each':>7}{'most':>7}"
    head += f"{'tokens out':>13}{'each':>7}" + (f"{'cost':>10}" if price else "")
    rows = [*estimates, *([total(estimates)] if len(estimates) > 1 else [])]
    return [
        head,
        *(_estimate_row(row, price) for row in rows),
        f"Tokens by {counter}, of distinct requests. Out: tokens of the gold answers, without the",
        "reasoning of a model." + (" The cost has no discount for caching." if price else ""),
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
    """One line about a prediction file, from the figures in its header."""
    line = f"{name}: {format_counts(figures['counts'])}"
    if figures["tokens"]["in"]:
        line += f"; tokens {figures['tokens']['in']} in, {figures['tokens']['out']} out"
    if "cost" in figures:
        line += f"; cost {figures['cost']:.4f}"
    return line
