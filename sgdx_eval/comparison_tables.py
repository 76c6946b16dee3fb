"""Comparisons and averages as tables on the terminal, of dialogue states and of calls."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from sgdx_metric.bootstrap import BOTH, DIALOGUES
from sgdx_metric.calls import CALL, TASK_SUCCESS
from sgdx_metric.signature import signature_parts

from .tables import difference_cells, legend, percent, print_line, print_table
from .terminal import CALL_TERMS, CALL_TITLES, P_TERM, figure_terms, figure_title, listed

_UNLIKELY = 0.05  # below this p, a difference is called more than chance
_COMPARE_LEGEND = "difference: second less first, with its 95 % interval over dialogues."
_COMPARE_RUNS_LEGEND = (
    "first, second: means over runs. difference: second less first, with its 95 % interval over "
    "dialogues and runs, to which p belongs. Of few runs the interval is rough."
)
_COMPARE_OVER_LEGEND = (
    "first, second: means over {means}. difference: second less first, with its 95 % interval over "
    "{over}, to which p belongs. Of few wordings the interval is rough."
)
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


@dataclass(frozen=True)
class TaskWords:
    """How figures of a task are called."""

    # What a score is of.
    unit: str
    # The key of the figure by which one system is better than another.
    deciding: str
    # What the mean under one variant is called, in a line and in a title.
    of_variant: str
    by_variant: str


_STATES = TaskWords(
    "frames",
    "jga_v1-5",
    "JGA",
    "Joint goal accuracy",
)
_CALLS = TaskWords(
    "calls",
    f"{CALL}.reworded",
    "call",
    "Accuracy of calls",
)


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
    words = _words(result)
    print_line(f"{_verdict(result, words)}\n", console)
    headers = ["first", "second", "difference", "95 % interval", "p"]
    groups = result["groups"]
    figures = {key: value for key, value in groups["all"].items() if key != "frames"}
    rows = [[_title(key), *_compared(figures[key])] for key in filter(_is_shown, figures)]
    title = f"All {groups['all']['frames']} {words.unit}, in %"
    if rows:
        print_table(title, ["figure", *headers], rows, console)
    by_variant = [[name, *_compared(figure)] for name, figure in result["by_variant"].items()]
    if details:
        _print_details(groups, words, console)
    if by_variant and (details or not rows):
        title = f"{words.by_variant} by variant, in %"
        print_table(title, ["variant", *headers], by_variant, console)
    for key, figure in figures.items():
        if "same_order" in figure:
            share = percent(figure["same_order"])
            order = "of the resamples the systems stand in this order"
            print_line(f"{_title(key)}: in {share} % {order}", console)
    several = max(result["runs"].values()) > 1
    over = signature_parts(result["signature"], "signature").get("over", DIALOGUES)
    if over != DIALOGUES:
        drawn = [*(["dialogues"] if over == BOTH else []), "wordings"] + ["runs"] * several
        means = "wordings and runs" if several else "wordings"
        about = _COMPARE_OVER_LEGEND.format(over=listed(drawn), means=means)
    else:
        about = _COMPARE_RUNS_LEGEND if several else _COMPARE_LEGEND
    terms = legend([*_terms(words, figures), about, P_TERM, _SYSTEM_ACTS_TERM])
    print_line(f"{terms}\n", console)
    if not details:
        print_line("--details prints these figures for every service and variant.\n", console)
    print_line(result["signature"], console)


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


def _print_details(
    groups: Mapping[str, Mapping[str, Any]], words: TaskWords, console: Console
) -> None:
    """Print a table for each figure: both systems, difference, interval and p, by service."""
    headers = ["services", words.unit, "first", "second", "difference", "95 % interval", "p"]
    keys = dict.fromkeys(key for group in groups.values() for key in group if key != "frames")
    for key in keys:
        rows = [
            [name, str(group["frames"]), *_compared(group[key])]
            for name, group in groups.items()
            if key in group
        ]
        print_table(f"{_title(key)}, in %", headers, rows, console, breaks=[2])


def _compared(figures: dict[str, Any]) -> list[str]:
    """The cells of a figure of two systems."""
    cells = difference_cells(figures["difference"], figures["interval"], figures["p"])
    return [percent(figures["first"]), percent(figures["second"]), *cells]


def print_summary(result: dict[str, Any], names: Sequence[str], console: Console) -> None:
    """Print the mean and the standard deviation of every headline figure over several runs."""
    groups, words = result["groups"], _words(result)
    if words is _CALLS:
        _print_call_averages(groups, len(names), console)
    else:
        _print_state_averages(groups, len(names), console)
    rows = [
        [name, *(_mean_and_deviation(group["by_variant"][name]) for group in groups.values())]
        for name in groups["all"]["by_variant"]
    ]
    title = f"{words.by_variant} of {len(names)} runs by variant, in %"
    print_table(title, ["variant", *groups], rows, console)
    print_line(f"{legend([_SUMMARY_LEGEND, *_terms(words, groups['all'])])}\n", console)
    for name in names:
        print_line(f"run: {name}", console)
    print_line(result["signature"], console)


def _print_state_averages(groups: Mapping[str, Any], runs: int, console: Console) -> None:
    """Print the averages of the headline figures, a row for each group of services."""
    figures = [key for key in groups["all"] if key not in ("frames", "by_variant")]
    worst = [key for key in figures if key.startswith(("jga_worst", "flips"))]
    beside = [key for key in figures if key.startswith(("change_", "canonical_"))]
    keys = [key for key in figures if key not in (*worst, *beside)]
    rows = [
        [name, str(group["frames"]), *(_mean_and_deviation(group[key]) for key in keys)]
        for name, group in groups.items()
    ]
    title = f"Joint goal accuracy and schema sensitivity of {runs} runs, in %"
    print_table(title, ["services", "frames", *map(figure_title, keys)], rows, console)
    for what, keys in (("The worst case", worst), ("Change and canonical accuracy", beside)):
        rows = [
            [name, *(_mean_and_deviation(group[key]) for key in keys)]
            for name, group in groups.items()
        ]
        title = f"{what} of {runs} runs, in %"
        print_table(title, ["services", *map(figure_title, keys)], rows, console)


def _print_call_averages(groups: Mapping[str, Any], runs: int, console: Console) -> None:
    """Print the averages of the figures of calls, which are many: a row for each."""
    counts = ", ".join(f"{group['frames']} {name}" for name, group in groups.items())
    figures = [key for key in groups["all"] if key not in ("frames", "by_variant")]
    rows = [
        [_title(key), *(_mean_and_deviation(group[key]) for group in groups.values())]
        for key in figures
        if _is_shown(key)
    ]
    print_table(f"Calls ({counts}) of {runs} runs, in %", ["figure", *groups], rows, console)


def _mean_and_deviation(figure: dict[str, Any]) -> str:
    return "-" if figure["mean"] is None else f"{percent(figure['mean'])} ({percent(figure['sd'])})"
