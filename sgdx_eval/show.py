"""Scores, comparisons and averages on the terminal, of any task, in 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from sgdx_metric.bootstrap import BOTH, DIALOGUES
from sgdx_metric.core import Figure
from sgdx_metric.signature import signature_parts

from .tables import (
    CHANGE,
    NO_VALUE,
    Cell,
    Table,
    change_cells,
    interval,
    legend,
    number,
    percent,
    print_line,
    table,
    to_terminal,
)
from .verdict import sureness

if TYPE_CHECKING:
    from .compare import Comparison
    from .summarise import Summary
    from .task import Task

P_TERM = "p: how likely chance alone makes so large a difference."
_SEEN_TERM = "seen: services that the original train split has; unseen: all others."
_ACTS_TERM = "system acts: whether the tracker reads the system's dialogue acts."
_SUMMARY_TERM = "The mean over runs, and in brackets the sample standard deviation."
_COMPARED = ("first", "second", *CHANGE)


def print_scores(
    task: Task,
    figures: Sequence[Figure],
    content: Mapping[str, Any],
    console: Console,
    lines: Iterable[str] = (),
) -> None:
    """Print the tables of a scores.json and what they mean; `lines` follow, and the signature."""
    for shown in score_tables(task, figures, content):
        to_terminal(shown, console)
    terms = legend(score_terms(task, figures, content))
    print_line("\n".join([terms, "", *lines, content["signature"]]), console)


def score_tables(
    task: Task, figures: Sequence[Figure], content: Mapping[str, Any], wide: bool = False
) -> list[Table]:
    """The figures of a scores.json by group, and those by wording.

    All figures have their intervals beside them where there is room, else those of all items.
    """
    groups = _groups(task, content)
    rows: list[list[str | Cell]] = []
    for figure in _shown(task, figures, content):
        text = _text(figure)
        cells = [
            Cell(text(g.get(figure.key)), interval(g.get("confidence", {}).get(figure.key), text))
            for g in groups.values()
        ]
        every, *others = cells
        narrow = [every.text, every.detail or NO_VALUE, *(cell.text for cell in others)]
        rows.append([figure.title, *(cells if wide else narrow)])
    counts = ", ".join(f"{n} {name}" for name, n in task.counts_of(content).items() if n)
    names = [_heading(name) for name in groups]
    headers = ["figure", *names] if wide else ["figure", names[0], "95 % interval", *names[1:]]
    by_group = table(f"{task.unit.capitalize()}s: {counts}", headers, rows)
    by_wording, differences = task.by_wording_of(content)
    changed = _changed(task, content)
    rows = [
        [name, percent(mean), *(change_cells(differences.get(name, {})) if changed else ())]
        for name, mean in by_wording.items()
    ]
    wordings = table(f"{task.title} by wording", ["wording", "all", *changed], rows)
    return [by_group, wordings, *task.more_tables(content)]


def score_terms(task: Task, figures: Sequence[Figure], content: Mapping[str, Any]) -> list[str]:
    """What the words in the tables of a scores.json mean."""
    terms = figure_terms(_shown(task, figures, content))
    terms += [P_TERM] if _changed(task, content) else []
    return terms + ([_SEEN_TERM] if "seen" in _groups(task, content) else [])


def _groups(task: Task, content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The groups of items that have a figure."""
    return {name: group for name, group in task.groups_of(content).items() if any(group.values())}


def _shown(task: Task, figures: Sequence[Figure], content: Mapping[str, Any]) -> list[Figure]:
    every = task.groups_of(content)["all"]
    return [f for f in figures if task.is_shown(f.key) and every.get(f.key) is not None]


def _changed(task: Task, content: Mapping[str, Any]) -> Sequence[str]:
    """The columns of the differences to the original, where there are any."""
    return CHANGE if any(task.by_wording_of(content)[1].values()) else ()


def _heading(group: str) -> str:
    """A group of items as headings call it: services keep their names."""
    return group.replace("seen_domains", "seen domains")


def figure_terms(figures: Sequence[Figure]) -> list[str]:
    """What the words of titles mean, and which figures are better when they are low."""
    terms = [*dict.fromkeys(term for figure in figures for term in figure.legend if term)]
    low = [figure.title for figure in figures if figure.lower_is_better]
    better = [f"Better: lower {listed(low)}; of all else, higher."] if low else []
    scaled = ["In %, but for BLEU."] if any(f.scale == 1 for f in figures) else ["In %."]
    return [*scaled, *terms, *better]


def listed(words: Sequence[str]) -> str:
    """Words as English lists them: "dialogues, wordings and runs"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _text(figure: Figure) -> Any:
    """What writes a value of a figure: in percent, unless it is BLEU."""
    return lambda value: number(None if value is None else figure.scale * value)


def print_comparison(
    compared: Comparison, names: tuple[str, str], details: bool, console: Console
) -> None:
    """Print which system is which, whether they differ, and the figures of both.

    With details each figure has a table by group and service, and there is one by wording.
    """
    task, figures, result = compared
    has_acts = "|system-acts:" in result["signature"]
    for which, name in zip(("first", "second"), names):
        facts = [f"system acts: {result['system_acts'][which]}"] if has_acts else []
        facts += ["oracle"] if result["oracle"][which] == "yes" else []
        print_line(f"{which}: {name}{' (' + ', '.join(facts) + ')' if facts else ''}", console)
    print_line(f"{_difference_line(compared)}\n", console)
    groups = result["groups"]
    every = groups["all"]
    known = [figure for figure in figures if figure.key in every]
    rows = [[f.title, *_cells(every[f.key], f)] for f in known if details or task.is_shown(f.key)]
    title = f"All {every[task.counted]} {task.unit}s"
    if rows:
        to_terminal(table(title, ["figure", *_COMPARED], rows), console)
    for figure in known if details else ():
        rows = [
            [_heading(name), str(group[task.counted]), *_cells(group[figure.key], figure)]
            for name, group in groups.items()
            if figure.key in group
        ]
        headers = ["services", f"{task.unit}s", *_COMPARED]
        to_terminal(table(figure.title, headers, rows, breaks=[2 * len(task.sets)]), console)
    main = Figure("", "", lambda means: means.under(""), task.title)
    rows = [[name, *_cells(change, main)] for name, change in result["by_variant"].items()]
    if rows and (details or not known):
        to_terminal(table(f"{task.title} by wording", ["wording", *_COMPARED], rows), console)
    for figure in known:
        if "same_order" in every[figure.key]:
            share = number(100 * every[figure.key]["same_order"])
            order = "of the resamples the systems stand in this order"
            print_line(f"{figure.title}: in {share} % {order}", console)
    terms = [*figure_terms(known), _drawn_term(result), P_TERM, *([_ACTS_TERM] if has_acts else [])]
    print_line(f"{legend(terms)}\n", console)
    if not details:
        print_line("--details prints these figures for every service and wording.\n", console)
    print_line(result["signature"], console)


def _cells(change: Mapping[str, Any], figure: Figure) -> list[str]:
    """The cells of `_COMPARED`."""
    text = _text(figure)
    return [text(change["first"]), text(change["second"]), *change_cells(change, text)]


def _difference_line(compared: Comparison) -> str:
    """Which system is the better one under other words, or under what was scored; how surely."""
    task, figures, result = compared
    every = result["groups"]["all"]
    by_key = {figure.key: figure for figure in figures if figure.key in every}
    figure = next((by_key[key] for key in task.deciding if key in by_key), None)
    if figure is None:
        wording, change = next(iter(result["by_variant"].items()))
        figure = Figure("", "", lambda means: means.under(wording), f"{task.title} of {wording}")
    else:
        change = every[figure.key]
    difference = change["difference"]
    if not difference:
        end = "the two are equal" if difference == 0 else "undefined"
        return f"{figure.title}: {end}"
    is_second = (difference > 0) != figure.lower_is_better
    better, other = ("second", "first") if is_second else ("first", "second")
    points = number(abs(figure.scale * difference))
    text = f"{figure.title}: {better} is better than {other} by {points} points"
    sure = sureness(change["interval"], change["p"], result["dialogues"])
    p = f" (p = {change['p']:.4f})" if change["p"] is not None else ""
    return f"{text}, {sure}{p}"


def _drawn_term(result: Mapping[str, Any]) -> str:
    """What the means, the differences and their intervals are over."""
    name = result["signature"].split("|")[0]
    over = signature_parts(result["signature"], "signature", name).get("over", DIALOGUES)
    means = ["runs"] if max(result["runs"].values()) > 1 else []
    means = means if over == DIALOGUES else ["wordings", *means]
    drawn = listed([*(["dialogues"] if over in (DIALOGUES, BOTH) else []), *means])
    difference = f"difference: second less first, with its 95 % interval over {drawn}"
    if not means:
        return f"{difference}."
    of_few = f"to which p belongs. Of few {means[0]} the interval is rough."
    return f"first, second: means over {listed(means)}. {difference}, {of_few}"


def print_summary(summary: Summary, names: Sequence[str], console: Console) -> None:
    """Print the mean and the standard deviation of every figure over several runs."""
    task, figures, result = summary
    # Of more groups the cells would be folded.
    groups = {n: g for n, g in [*result["groups"].items()][:3] if g[task.counted]}
    shown = [f for f in figures if f.key in groups["all"] and task.is_shown(f.key)]
    rows = [[f.title, *(_spread(g[f.key], f) for g in groups.values())] for f in shown]
    counts = ", ".join(f"{group[task.counted]} {name}" for name, group in groups.items())
    heads = [_heading(name) for name in groups]
    title = f"{task.unit.capitalize()}s ({counts}) of {len(names)} runs"
    to_terminal(table(title, ["figure", *heads], rows), console)
    main = Figure("", "", lambda means: means.under(""))
    rows = [
        [name, *(_spread(group["by_variant"][name], main) for group in groups.values())]
        for name in groups["all"]["by_variant"]
    ]
    to_terminal(table(f"{task.title} by wording", ["wording", *heads], rows), console)
    print_line(f"{legend([_SUMMARY_TERM, *figure_terms(shown)])}\n", console)
    runs = "\n".join(f"run: {name}" for name in names)
    print_line(f"{runs}\n{result['signature']}", console)


def _spread(spread: Mapping[str, Any], figure: Figure) -> str:
    text = _text(figure)
    return NO_VALUE if spread["mean"] is None else f"{text(spread['mean'])} ({text(spread['sd'])})"
