"""Scores of tool calls as tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from sgdx_eval.tables import difference_cells, interval, legend, percent, print_line, print_table
from sgdx_eval.terminal import P_TERM

_TITLES = {
    "call_name_accuracy": "tool",
    "call_argument_accuracy": "arguments",
    "call_accuracy": "call",
    "no_call_accuracy": "no call",
    "task_success": "task",
}
# What metrics and figures are, by their keys; those that are not shown are left out.
_TERMS = {
    "call_name_accuracy": "tool: the right tools are called.",
    "call_argument_accuracy": "arguments: all are right, where the tools are.",
    "call_accuracy": "call: the right tools are called with the right arguments.",
    "no_call_accuracy": "no call: none is made where none is right.",
    "task_success": "task: all calls of a dialogue are right.",
    "reworded": "reworded: the mean over the wordings but the original.",
    "drop": "drop, difference: the reworded less the original.",
    "worst": "worst: cases that are right under all wordings.",
    "flips": "flips: cases that are right under one wording and wrong under another.",
    "sensitivity": "SS: how far a case's score varies over wordings.",
}
_LOST_TERM = (
    "lost 2 of 5: of 5 cases that expect the tool, 2 are right under the original words and wrong "
    "under these."
)
_MOST_ELEMENTS = 10
_LONGEST = 74  # characters of the words of an element


def print_scores(scores: Mapping[str, Any], console: Console) -> None:
    """Print what other words cost, scores in percent, and the words that cost the most.

    Args:
        scores: The content of scores.json.
        console: Where to print.
    """
    figures = ("original", "reworded", "drop", "worst", "flips", "sensitivity")
    shown = [f for f in figures if any(m[f] is not None for m in scores["calls"].values())]
    rows = [
        [_TITLES[metric], *(percent(of_metric[figure]) for figure in shown)]
        for metric, of_metric in scores["calls"].items()
    ]
    if verdict := cost_line(scores):
        print_line(f"{verdict}\n", console)
    counts = scores["cases"]
    title = f"{counts['all']} cases, {counts['call']} with a call, in %"
    heads = ["SS" if name == "sensitivity" else name for name in shown]
    print_table(title, ["metric", *heads], rows, console)
    for metric, of_metric in scores["calls"].items():
        ends = of_metric["confidence"]["drop"]
        if ends and metric in ("call_accuracy", "no_call_accuracy", "task_success"):
            drop = f"{_TITLES[metric]}: drop {percent(of_metric['drop'])}"
            print_line(f"{drop}, 95 % interval {interval(ends)}", console)
    print_line("", console)
    _print_wordings(scores, console)
    _print_elements(scores, console)
    terms = [text for key, text in _TERMS.items() if key in shown or key in scores["calls"]]
    terms += [P_TERM] if any(d["p"] is not None for d in scores["differences"].values()) else []
    terms += [_LOST_TERM] if any(element["net"] > 0 for element in scores["elements"]) else []
    print_line(f"{legend(terms)}\n", console)
    for name, noise in scores["noise"].items():
        flips = f"flips {percent(noise['flips'])}, SS {percent(noise['sensitivity'])}"
        print_line(f"noise of {noise['repeats']} runs under {name}: {flips}", console)
    for name, number in scores["invalid"].items():
        if number:
            print_line(
                f"{name}: {number} answers could not be read; they count as no call", console
            )
    print_line(scores["signature"], console)


def _print_wordings(scores: Mapping[str, Any], console: Console) -> None:
    headline = headline_metric(scores)
    means = scores["calls"][headline]["by_variant"]
    rows = []
    for name, mean in means.items():
        against = scores["differences"].get(name)
        cells = ["", "", ""]
        if against and against["difference"] is not None:
            ends = [against["low"], against["high"]]
            cells = difference_cells(against["difference"], ends, against["p"])
        rows.append([name, percent(mean), *cells])
    headers = ["wording", _TITLES[headline], "difference", "95 % interval", "p"]
    print_table("By wording", headers, rows, console)


def _print_elements(scores: Mapping[str, Any], console: Console) -> None:
    """Print the words that cost the most cases, two lines for each element."""
    costly = [element for element in scores["elements"] if element["net"] > 0]
    if costly:
        print_line("Words that cost the most cases", console)
    for element in costly[:_MOST_ELEMENTS]:
        words_of = f"{element['wording']} {element['tool']} {element['path']}".rstrip()
        won = f", won {element['won']}" if element["won"] else ""
        print_line(f"{words_of}: lost {element['lost']}{won} of {element['cases']}", console)
        print_line(f"    {short_words(element['original'])}", console)
        print_line(f" -> {short_words(element['reworded'])}", console)
    if len(costly) > _MOST_ELEMENTS:
        print_line(f"and {len(costly) - _MOST_ELEMENTS} more in scores.json", console)
    print_line("", console)


def short_words(words: Mapping[str, str]) -> str:
    """The name and the description of an element on one line, cut where they are long."""
    parts = [words["name"]] if "name" in words else []
    if "description" in words:
        parts.append(f"'{words['description']}'")
    text = " ".join(": ".join(parts).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def headline_metric(scores: Mapping[str, Any]) -> str:
    """The metric that the differences are of."""
    return "call_accuracy" if "call_accuracy" in scores["calls"] else "no_call_accuracy"


def cost_line(scores: Mapping[str, Any]) -> str:
    """What other words cost, in a sentence; empty where there are no other words."""
    metric = headline_metric(scores)
    of_metric = scores["calls"][metric]
    drop, ends = of_metric["drop"], of_metric["confidence"]["drop"]
    if drop is None:
        return ""
    text = (
        f"Under other words {_points_of(metric)} goes from {percent(of_metric['original'])} to "
        f"{percent(of_metric['reworded'])} %"
    )
    if not ends:
        return f"{text}; whether by chance is not known"
    low, high = ends
    sure = "which may be chance" if low <= 0 <= high else "more than chance explains"
    return f"{text}, {sure}"


def _points_of(metric: str) -> str:
    """A metric in words: "call accuracy"."""
    return metric.replace("_", " ")


def drop_line(scores: Mapping[str, Any], max_drop: float, metrics: list[str]) -> str:
    """The verdict of ``score --max-drop`` in one line.

    Args:
        scores: The content of scores.json.
        max_drop: The limit in points.
        metrics: The metrics that exceed it, of ``scoring.exceeds``.
    """
    metric = metrics[0] if metrics else headline_metric(scores)
    of_metric = scores["calls"][metric]
    low, high = of_metric["confidence"]["drop"]
    loss = f"the rewording costs {percent(0.0 - of_metric['drop'])} points of {_points_of(metric)}"
    bounds = f"95 % interval {interval([0.0 - high, 0.0 - low])}"
    if metrics:
        return f"FAILED: {loss}, {bounds}, all of it above {max_drop:g}"
    return f"passed: {loss}, {bounds}, not all of it above {max_drop:g}"
