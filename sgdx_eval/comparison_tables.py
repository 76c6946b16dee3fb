"""Comparisons and averages as tables on the terminal, of dialogue states and of calls."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from rich.console import Console

from sgdx_metric.bootstrap import BOTH, DIALOGUES
from sgdx_metric.calls import CALL, TASK_SUCCESS
from sgdx_metric.signature import signature_parts

from .tables import (
    CHANGE,
    change_cells,
    format_figure,
    legend,
    percent,
    print_line,
    table,
    to_terminal,
)
from .terminal import CALL_TERMS, CALL_TITLES, P_TERM, figure_terms, figure_title, listed

_UNLIKELY = 0.05  # below this p, a difference is called more than chance
_SYSTEM_ACTS_TERM = "system acts: whether the tracker reads the system's dialogue acts."
_SUMMARY_LEGEND = "The mean over runs, and in brackets the sample standard deviation."
# Figures of calls by the end of their keys; of each metric but these two, the first three alone
# are shown unless details are asked for.
_CALL_FIGURES = {
    "original": "original",
    "reworded": "reworded",
    "v1-5": "v1-5",
    "drop": "drop",
    "worst": "worst",
    "flips": "flips",
    "sensitivity": "SS",
}
_WITH_ALL_FIGURES = (CALL, TASK_SUCCESS)
_MEANS = ("original", "reworded", "v1-5")


class TaskWords(NamedTuple):
    """How figures of a task are called."""

    unit: str  # what a score is of
    deciding: str  # the figure by which one system is better than another
    of_variant: str  # the mean under one variant, in a line
    by_variant: str  # and in a title


_STATES = TaskWords("frames", "jga_v1-5", "JGA", "Joint goal accuracy")
_CALLS = TaskWords("calls", f"{CALL}.reworded", "call", "Accuracy of calls")
_SUMS = ("all", "seen", "unseen", "seen domains", "unseen domains")  # groups of many services


def _words(result: Mapping[str, Any]) -> TaskWords:
    """How the figures of what was scored are called."""
    task = signature_parts(result["signature"], "signature").get("task")
    return _CALLS if task == "calls" else _STATES


def _title(key: str) -> str:
    """The title of a figure: `call drop` for the key `call_accuracy.drop`."""
    metric, _, figure = key.partition(".")
    if metric not in CALL_TITLES:
        return figure_title(key)
    return f"{CALL_TITLES[metric]} {_CALL_FIGURES[figure]}"


def _is_shown(key: str) -> bool:
    """Whether a figure is shown without details."""
    metric, _, figure = key.partition(".")
    return metric not in CALL_TITLES or metric in _WITH_ALL_FIGURES or figure in _MEANS


def _terms(words: TaskWords, figures: Collection[str]) -> list[str]:
    """What the figures are, and which way is better."""
    return CALL_TERMS if words is _CALLS else figure_terms(figures)


def print_comparison(
    result: dict[str, Any], names: tuple[str, str], details: bool, console: Console
) -> None:
    """Print which system is which, whether they differ, and a table of the headline figures.

    With details each figure has a table by service, and there is one by variant.
    """
    for which, name in zip(("first", "second"), names):
        facts = [f"system acts: {result['system_acts'][which]}"]
        facts += ["oracle"] if result["oracle"][which] == "yes" else []
        print_line(f"{which}: {name} ({', '.join(facts)})", console)
    words, groups = _words(result), result["groups"]
    print_line(f"{_verdict(result, words)}\n", console)
    figures = {key: value for key, value in groups["all"].items() if key != "frames"}
    rows = [[_title(key), *_compared(figures[key], key)] for key in filter(_is_shown, figures)]
    if rows:
        title = f"All {groups['all']['frames']} {words.unit}, in %"
        to_terminal(table(title, ["figure", *_COMPARED], rows), console)
    if details:
        heads = ("services", words.unit)
        print_by_group(groups, "frames", lambda key: f"{_title(key)}, in %", heads, console)
    by_variant = [[name, *_compared(figure)] for name, figure in result["by_variant"].items()]
    if by_variant and (details or not rows):
        title = f"{words.by_variant} by variant, in %"
        to_terminal(table(title, ["variant", *_COMPARED], by_variant), console)
    for key, figure in figures.items():
        if "same_order" in figure:
            share = percent(figure["same_order"])
            order = "of the resamples the systems stand in this order"
            print_line(f"{_title(key)}: in {share} % {order}", console)
    terms = [*_terms(words, figures), _drawn_term(result), P_TERM, _SYSTEM_ACTS_TERM]
    print_line(f"{legend(terms)}\n", console)
    if not details:
        print_line("--details prints these figures for every service and variant.\n", console)
    print_line(result["signature"], console)


_COMPARED = ("first", "second", *CHANGE)


def _compared(figure: Mapping[str, Any], key: str = "") -> list[str]:
    """The cells of `_COMPARED`."""
    text = partial(format_figure, key)
    return [text(figure["first"]), text(figure["second"]), *change_cells(figure, text)]


def _drawn_term(result: Mapping[str, Any]) -> str:
    """What the means, the differences and their intervals are over."""
    over = signature_parts(result["signature"], "signature").get("over", DIALOGUES)
    means = ["runs"] if max(result["runs"].values()) > 1 else []
    means = means if over == DIALOGUES else ["wordings", *means]
    drawn = listed([*(["dialogues"] if over in (DIALOGUES, BOTH) else []), *means])
    difference = f"difference: second less first, with its 95 % interval over {drawn}"
    if not means:
        return f"{difference}."
    of_few = f"to which p belongs. Of few {means[0]} the interval is rough."
    return f"first, second: means over {listed(means)}. {difference}, {of_few}"


def print_by_group(
    groups: Mapping[str, Mapping[str, Any]],
    count: str,
    title: Callable[[str], str],
    heads: tuple[str, str],
    console: Console,
) -> None:
    """Print a table for each figure of two systems, with a row for each group that has it.

    `count` is the key of the number of items of a group; `heads` are of a group and this number.
    """
    for key in dict.fromkeys(key for group in groups.values() for key in group if key != count):
        having = {name: group for name, group in groups.items() if key in group}
        rows = [
            [name, str(group[count]), *_compared(group[key], key)] for name, group in having.items()
        ]
        breaks = [sum(name in _SUMS for name in having) - 1]
        to_terminal(table(title(key), [*heads, *_COMPARED], rows, breaks=breaks), console)


def _verdict(result: dict[str, Any], words: TaskWords) -> str:
    """Which system is the better one under other words, or under what was scored; how surely."""
    name, figure = _title(words.deciding), result["groups"]["all"].get(words.deciding)
    if figure is None:
        variant, figure = next(iter(result["by_variant"].items()))
        name = f"{words.of_variant} of {variant}"
    difference = figure["difference"]
    if not difference:
        return f"{name}: the two are equal" if difference == 0 else f"{name}: undefined"
    better, other = ("second", "first") if difference > 0 else ("first", "second")
    text = f"{name}: {better} is {percent(abs(difference))} points above {other}"
    if figure["p"] is None:
        return f"{text}; whether by chance is not known"
    sure = "more than chance explains" if figure["p"] < _UNLIKELY else "which may be chance"
    return f"{text}, {sure} (p = {figure['p']:.4f})"


def print_summary(result: dict[str, Any], names: Sequence[str], console: Console) -> None:
    """Print the mean and the standard deviation of every headline figure over several runs."""
    groups, words = result["groups"], _words(result)
    figures = [key for key in groups["all"] if key not in ("frames", "by_variant")]
    rows = [
        [_title(key), *(_mean_and_deviation(group[key]) for group in groups.values())]
        for key in filter(_is_shown, figures)
    ]
    counts = ", ".join(f"{group['frames']} {name}" for name, group in groups.items())
    title = f"{words.unit.capitalize()} ({counts}) of {len(names)} runs, in %"
    to_terminal(table(title, ["figure", *groups], rows), console)
    rows = [
        [name, *(_mean_and_deviation(group["by_variant"][name]) for group in groups.values())]
        for name in groups["all"]["by_variant"]
    ]
    title = f"{words.by_variant} of {len(names)} runs by variant, in %"
    to_terminal(table(title, ["variant", *groups], rows), console)
    print_line(f"{legend([_SUMMARY_LEGEND, *_terms(words, figures)])}\n", console)
    runs = "\n".join(f"run: {name}" for name in names)
    print_line(f"{runs}\n{result['signature']}", console)


def _mean_and_deviation(figure: dict[str, Any]) -> str:
    return "-" if figure["mean"] is None else f"{percent(figure['mean'])} ({percent(figure['sd'])})"
