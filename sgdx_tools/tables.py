"""Scores of tool calls as tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from sgdx_eval.tables import (
    CHANGE,
    change_cells,
    interval,
    legend,
    percent,
    print_line,
    table,
    to_terminal,
)
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
_FIGURES = ("original", "reworded", "drop", "worst", "flips", "sensitivity")
_MOST_ELEMENTS = 10
_LONGEST = 74  # characters of the words of an element


def print_scores(scores: Mapping[str, Any], console: Console) -> None:
    """Print what other words cost, scores in percent, and the words that cost the most."""
    calls, counts = scores["calls"], scores["cases"]
    if verdict := cost_line(scores):
        print_line(f"{verdict}\n", console)
    shown = [key for key in _FIGURES if any(m[key] is not None for m in calls.values())]
    rows = [[_TITLES[name], *(percent(m[key]) for key in shown)] for name, m in calls.items()]
    title = f"{counts['all']} cases, {counts['call']} with a call, in %"
    headers = ["metric", *("SS" if key == "sensitivity" else key for key in shown)]
    to_terminal(table(title, headers, rows), console)
    for name in ("call_accuracy", "no_call_accuracy", "task_success"):
        ends = calls[name]["confidence"]["drop"] if name in calls else None
        if ends:
            drop = f"{_TITLES[name]}: drop {percent(calls[name]['drop'])}"
            print_line(f"{drop}, 95 % interval {interval(ends)}", console)
    print_line("", console)
    headline = headline_metric(scores)
    rows = [
        [name, percent(mean), *change_cells(scores["differences"].get(name, {}))]
        for name, mean in calls[headline]["by_variant"].items()
    ]
    to_terminal(table("By wording", ["wording", _TITLES[headline], *CHANGE], rows), console)
    _print_elements(scores, console)
    terms = [text for key, text in _TERMS.items() if key in shown or key in calls]
    terms += [P_TERM] if any(d["p"] is not None for d in scores["differences"].values()) else []
    terms += [_LOST_TERM] if any(element["net"] > 0 for element in scores["elements"]) else []
    print_line(f"{legend(terms)}\n", console)
    for name, noise in scores["noise"].items():
        flips = f"flips {percent(noise['flips'])}, SS {percent(noise['sensitivity'])}"
        print_line(f"noise of {noise['repeats']} runs under {name}: {flips}", console)
    for name, unread in scores["invalid"].items():
        if unread:
            counted = "answers could not be read; they count as no call"
            print_line(f"{name}: {unread} {counted}", console)
    print_line(scores["signature"], console)


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
    figures = scores["calls"][metric]
    if figures["drop"] is None:
        return ""
    change = f"from {percent(figures['original'])} to {percent(figures['reworded'])} %"
    text = f"Under other words {_in_words(metric)} goes {change}"
    if not (ends := figures["confidence"]["drop"]):
        return f"{text}; whether by chance is not known"
    sure = "which may be chance" if ends[0] <= 0 <= ends[1] else "more than chance explains"
    return f"{text}, {sure}"


def _in_words(metric: str) -> str:
    """A metric in words: "call accuracy"."""
    return metric.replace("_", " ")


def drop_line(scores: Mapping[str, Any], max_drop: float, metrics: list[str]) -> str:
    """The verdict of `score --max-drop` in points; `metrics` are those that exceed the limit."""
    metric = metrics[0] if metrics else headline_metric(scores)
    figures = scores["calls"][metric]
    low, high = figures["confidence"]["drop"]
    loss = f"the rewording costs {percent(0.0 - figures['drop'])} points of {_in_words(metric)}"
    bounds = f"95 % interval {interval([0.0 - high, 0.0 - low])}"
    if metrics:
        return f"FAILED: {loss}, {bounds}, all of it above {max_drop:g}"
    return f"passed: {loss}, {bounds}, not all of it above {max_drop:g}"
