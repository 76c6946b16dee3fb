"""Scores, comparisons and averages on the terminal, of any task, in 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from sgdx_metric.statistics import Figure, Sample
from sgdx_metric.units import Scores
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS, own_variants

from .tables import (
    CHANGE,
    NO_VALUE,
    Cell,
    Table,
    change_cells,
    interval,
    legend,
    number,
    one_decimal,
    percent,
    print_line,
    table,
    to_terminal,
)

if TYPE_CHECKING:
    from .results import Outcome
    from .task import Task

_MORE = "--explain prints all figures and says what they mean."
_P_TERM = "p: how likely chance alone makes so large a difference."
_SEEN_TERM = "seen: services that the original train split has; unseen: all others."
_ACTS_TERM = "system acts: whether the tracker reads the system's dialogue acts."
_SUMMARY_TERM = "The mean over runs, and in brackets the sample standard deviation."
# Of fewer dialogues p says nothing: of 2**5 ways to swap five, one is as rare as a difference has
# to be. Below this p, and where the interval is without 0, chance does not explain it.
_FEWEST_DIALOGUES, _UNLIKELY = 6, 0.05
_COMPARED = ("first", "second", *CHANGE)


# ---- the scores of one system


def print_scores(
    task: Task,
    scores: Scores,
    content: Mapping[str, Any],
    console: Console,
    lines: Iterable[str] = (),
    details: bool = True,
) -> None:
    """Print the tables of a scores.json; `lines` follow, and the signature.

    Without details there is one table, of the headline figures, and no legend.
    """
    figures = task.figures(scores)
    if details:
        tables = score_tables(task, figures, content)
        terms = [legend(score_terms(task, figures, content)), "", *task.terms(content)]
    else:
        tables, terms = [_headlines(task, scores, figures, content)], []
    for shown in tables:
        to_terminal(shown, console)
    more = [] if details else [_MORE]
    print_line("\n".join([*terms, *lines, *more, content["signature"]]), console)


def _headlines(
    task: Task, scores: Scores, figures: Sequence[Figure], content: Mapping[str, Any]
) -> Table:
    """The headline figures of all items; where one is lacking, the main one by variant."""
    every, keys = task.groups_of(content)["all"], task.keys(scores)
    shown = [f for f in _shown(task, figures, content) if task.is_headline(f.key, keys)]
    ends = every.get("confidence", {})
    rows = [
        [f.title, _text(f)(every[f.key]), interval(ends.get(f.key), _text(f)) or NO_VALUE]
        for f in shown
    ]
    means = task.by_variant_of(content)[0]
    names = own_variants(means)
    if None in (every.get(keys.original), every.get(keys.reworded)):
        names = [name for name in means if name != ORIGINAL or not rows]
    of_variants = _variant_intervals(task, scores) if names else {}
    for name in names:
        rows.append([name, percent(means[name]), interval(of_variants.get(name)) or NO_VALUE])
    but_bleu = ", but for BLEU" if any(f.scale == 1 for f in shown) else ""
    title = f"All {task.counts_of(content)['all']} {task.unit}s, in %{but_bleu}"
    return table(title, ["figure", "all", "95 % interval"], rows)


def score_tables(
    task: Task, figures: Sequence[Figure], content: Mapping[str, Any], wide: bool = False
) -> list[Table]:
    """The figures of a scores.json by group, and those by variant.

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
    by_variant, changes = task.by_variant_of(content)
    changed = CHANGE if any(changes.values()) else ()
    rows = [
        [name, percent(mean), *(change_cells(changes.get(name, {})) if changed else ())]
        for name, mean in by_variant.items()
    ]
    variants = table(f"{task.title} by variant", ["variant", "all", *changed], rows)
    return [by_group, variants, *task.more_tables(content)]


def score_terms(task: Task, figures: Sequence[Figure], content: Mapping[str, Any]) -> list[str]:
    """What the words in the tables of a scores.json mean."""
    terms = _figure_terms(_shown(task, figures, content))
    terms += [_P_TERM] if any(task.by_variant_of(content)[1].values()) else []
    return terms + ([_SEEN_TERM] if "seen" in _groups(task, content) else [])


def result_line(task: Task, scores: Scores, content: Mapping[str, Any]) -> str:
    """What other words cost, in a sentence; of too few variants, what can be said."""
    every, keys = task.groups_of(content)["all"], task.keys(scores)
    figures = {f.key: f for f in task.figures(scores) if every.get(f.key) is not None}
    ends = every.get("confidence", {})
    means = task.by_variant_of(content)[0]
    lacking = [name for name in PAPER_VARIANTS if name not in means]
    if not {keys.original, keys.reworded} <= {*figures}:
        of_variants = _variant_intervals(task, scores)
        parts = [
            f"{one_decimal(mean)} % under {name}{_within(of_variants.get(name))}"
            for name, mean in means.items()
        ]
        what = "The mean under other words" if ORIGINAL in means else "What other words cost"
        names = _listed([*(() if ORIGINAL in means else [ORIGINAL]), *lacking])
        unknown = f"{what} is not known without predictions for {names}."
        return f"The {keys.measure} is {_listed(parts)}. {unknown}"
    original, reworded = every[keys.original], every[keys.reworded]
    before, after = one_decimal(original), one_decimal(reworded)
    if before == after:
        change = f"stays at {before} %"
    else:
        change = f"{'falls' if reworded < original else 'rises'} from {before} to {after} %"
        of_drop = ends.get(task.drop_key(keys))
        change += ", which may be chance" if of_drop and of_drop[0] <= 0 <= of_drop[1] else ""
    text = f"Under other words for the same schemas the {keys.measure} {change}"
    if worst := [key for key in figures if key.partition("(")[0] == keys.worst]:
        share = f"{one_decimal(every[worst[-1]])} %"
        what = f"it is {share} with each {task.unit} under its worst variant"
        if figures[worst[-1]].lower_is_better:
            what = f"{share} of {task.unit}s lack a value under some variant"
        text = f"{text}, and {what}{_within(ends.get(worst[-1]))}"
    some = 0 < len(lacking) < len(PAPER_VARIANTS)
    return f"{text}. Predictions for {_listed(lacking)} are lacking." if some else f"{text}."


# ---- two systems


def print_comparison(
    compared: Outcome, names: tuple[str, str], details: bool, console: Console
) -> None:
    """Print whether the systems differ, which is which, and the headline figures of both.

    With details each figure has a table by group and service. One is by variant; a legend follows.
    """
    task, figures, result, scores = compared
    print_line(f"{legend([_difference_line(compared)])}\n", console)
    has_acts = "|system-acts:" in result["signature"]
    for which, name in zip(("first", "second"), names):
        facts = [f"system acts: {result['system_acts'][which]}"] if has_acts else []
        facts += ["oracle"] if result["oracle"][which] == "yes" else []
        print_line(f"{which}: {name}{' (' + ', '.join(facts) + ')' if facts else ''}", console)
    print_line("", console)
    groups, by_variant = result["groups"], result["by_variant"]
    every, keys = groups["all"], task.keys(scores)
    known = [figure for figure in figures if figure.key in every]
    brief = [f for f in known if task.is_shown(f.key) and task.is_headline(f.key, keys)]
    rows = [[f.title, *_compared(every[f.key], f)] for f in (known if details else brief or known)]
    counts = f"All {every[task.counted]} {task.unit}s of {result['dialogues']} dialogues"
    title = f"{counts}, in %{', but for BLEU' if any(f.scale == 1 for f in known) else ''}"
    if rows:
        to_terminal(table(title, ["figure", *_COMPARED], rows), console)
    for figure in known if details else ():
        rows = [
            [_heading(name), str(group[task.counted]), *_compared(group[figure.key], figure)]
            for name, group in groups.items()
            if figure.key in group
        ]
        headers = ["services", f"{task.unit}s", *_COMPARED]
        to_terminal(table(figure.title, headers, rows, breaks=[2 * len(task.sets)]), console)
    means = [mean for mean in task.by_variant(scores) if mean.key in by_variant]
    rows = [[mean.key, *_compared(by_variant[mean.key], mean)] for mean in means]
    if rows and (details or not known):
        to_terminal(table(f"{task.title} by variant", ["variant", *_COMPARED], rows), console)
    lines = [_MORE]
    if details:
        drawn = "difference: second less first, with its 95 % interval over dialogues"
        if max(result["runs"].values()) == 1:
            drawn = f"{drawn}."
        else:
            of_few = "to which p belongs. Of few runs the interval is rough."
            drawn = f"first, second: means over runs. {drawn} and runs, {of_few}"
        acts = [_ACTS_TERM] if has_acts else []
        lines = [legend([*_figure_terms(known), drawn, _P_TERM, *acts]), ""]
    print_line("\n".join([*lines, result["signature"]]), console)


def _compared(change: Mapping[str, Any], figure: Figure) -> list[str]:
    """The cells of `_COMPARED`."""
    text = _text(figure)
    return [text(change["first"]), text(change["second"]), *change_cells(change, text)]


def _difference_line(compared: Outcome) -> str:
    """Which system is the better one under other words, or under what was scored; how surely."""
    task, figures, result, scores = compared
    every = result["groups"]["all"]
    by_key = {figure.key: figure for figure in figures if figure.key in every}
    figure = next((by_key[key] for key in task.deciding if key in by_key), None)
    if figure:
        change, title = every[figure.key], figure.title
    else:
        figure = task.by_variant(scores)[0]
        change = result["by_variant"][figure.key]
        title = f"{task.keys(scores).measure} under {figure.key}"
    difference, ends, p = change["difference"], change["interval"], change["p"]
    if not difference:
        return f"By {title} the two are {'equal' if difference == 0 else 'not comparable'}."
    if not ends or p is None:
        sure = "whether by chance is not known"
    elif result["dialogues"] < _FEWEST_DIALOGUES:
        sure = f"whether by chance cannot be told of {result['dialogues']} dialogues"
    else:
        sure = {
            2: "more than chance explains",
            1: "whether by chance cannot be told: interval and p disagree",
            0: "which may be chance",
        }[(not ends[0] <= 0 <= ends[1]) + (p < _UNLIKELY)]
    is_second = (difference > 0) != figure.lower_is_better
    better, other = ("second", "first") if is_second else ("first", "second")
    points = number(abs(figure.scale * difference))
    by_p = f" (p = {p:.4f})" if p is not None else ""
    return f"By {title} {better} is better than {other} by {points} points, {sure}{by_p}."


# ---- several runs of one system


def print_summary(summary: Outcome, names: Sequence[str], details: bool, console: Console) -> None:
    """Print the mean and the standard deviation of figures over several runs.

    Without details these are the headline figures of all items.
    """
    task, figures, result, scores = summary
    every, keys = result["groups"]["all"], task.keys(scores)

    def spread(of: Mapping[str, Any], figure: Figure) -> str:
        text = _text(figure)
        return NO_VALUE if of["mean"] is None else f"{text(of['mean'])} ({text(of['sd'])})"

    known = [every[key] for key in (keys.original, keys.reworded) if key in every]
    if len(known) < 2 or None in (known[0]["mean"], known[1]["mean"]):
        parts = [f"{one_decimal(o['mean'])} % under {n}" for n, o in every["by_variant"].items()]
        means = _listed(parts)
    else:
        original, reworded = (
            f"{one_decimal(of['mean'])} % (standard deviation {one_decimal(of['sd'])})"
            for of in known
        )
        means = f"{original} under the original schemas and {reworded} under other words"
    line = f"The {keys.measure} of {result['runs']} runs is on average {means}."
    print_line(f"{legend([line])}\n", console)
    # Of more groups the cells would be folded.
    groups = {n: g for n, g in [*result["groups"].items()][:3] if g[task.counted]}
    groups = groups if details else {"all": every}
    shown = [f for f in figures if f.key in every and task.is_shown(f.key)]
    brief = [f for f in shown if task.is_headline(f.key, keys)]
    shown = shown if details else brief or shown
    rows = [[f.title, *(spread(g[f.key], f) for g in groups.values())] for f in shown]
    counts = ", ".join(f"{group[task.counted]} {name}" for name, group in groups.items())
    heads = [_heading(name) for name in groups]
    title = f"{task.unit.capitalize()}s ({counts}) of {len(names)} runs"
    to_terminal(table(title, ["figure", *heads], rows), console)
    lines = [_MORE]
    if details:
        rows = [
            [f.key, *(spread(g["by_variant"][f.key], f) for g in groups.values())]
            for f in task.by_variant(scores)
        ]
        to_terminal(table(f"{task.title} by variant", ["variant", *heads], rows), console)
        lines = [legend([_SUMMARY_TERM, *_figure_terms(shown)]), ""]
    lines += [f"run: {name}" for name in names]
    print_line("\n".join([*lines, result["signature"]]), console)


# ---- what these share


def _groups(task: Task, content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The groups of items that have a figure."""
    return {name: group for name, group in task.groups_of(content).items() if any(group.values())}


def _shown(task: Task, figures: Sequence[Figure], content: Mapping[str, Any]) -> list[Figure]:
    every = task.groups_of(content)["all"]
    return [f for f in figures if task.is_shown(f.key) and every.get(f.key) is not None]


def _variant_intervals(task: Task, scores: Scores) -> Mapping[str, Any]:
    """The 95 % intervals over dialogues of the main figure, by variant."""
    return Sample(task.by_variant(scores), scores.items.dialogue).intervals()


def _figure_terms(figures: Sequence[Figure]) -> list[str]:
    """What the words of titles mean, and which figures are better when they are low."""
    terms = [*dict.fromkeys(term for figure in figures for term in figure.legend if term)]
    low = [figure.title for figure in figures if figure.lower_is_better]
    neither = " but changed" if any(figure.key == "changed" for figure in figures) else ""
    better = [f"Better: lower {_listed(low)}; of all else{neither}, higher."] if low else []
    scaled = ["In %, but for BLEU."] if any(f.scale == 1 for f in figures) else ["In %."]
    return [*scaled, *terms, *better]


def _text(figure: Figure) -> Callable[[float | None], str]:
    """What writes a value of a figure: in percent, unless it is BLEU."""
    return lambda value: number(None if value is None else figure.scale * value)


def _heading(group: str) -> str:
    """A group of items as headings call it: services keep their names."""
    return group.replace("seen_domains", "seen domains")


def _within(ends: Sequence[float] | None) -> str:
    """An interval in brackets; empty where there is none."""
    return f" (95 % interval {interval(ends, one_decimal)})" if ends else ""


def _listed(words: Sequence[str]) -> str:
    """Words as English lists them: "dialogues, variants and runs"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
