"""Scores, comparisons and averages on the terminal, of any task, in 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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

P_TERM = "p: how likely chance alone makes so large a difference."
_SEEN_TERM = "seen: services that the original train split has; unseen: all others."
_ACTS_TERM = "system acts: whether the tracker reads the system's dialogue acts."
_SUMMARY_TERM = "The mean over runs, and in brackets the sample standard deviation."
# Of fewer dialogues p says nothing: of 2**5 ways to swap five, one is as rare as a difference has
# to be. Below this p, and where the interval is without 0, chance does not explain it.
_FEWEST_DIALOGUES, _UNLIKELY = 6, 0.05
_COMPARED = ("first", "second", *CHANGE)


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
    tables = (
        score_tables(task, figures, content) if details else [_headlines(task, scores, content)]
    )
    for shown in tables:
        to_terminal(shown, console)
    terms = [legend(score_terms(task, figures, content)), ""] if details else []
    terms += task.terms(content) if details else []
    print_line("\n".join([*terms, *lines, *_more(details), content["signature"]]), console)


def _more(details: bool) -> list[str]:
    return [] if details else ["--explain prints all figures and says what they mean."]


def _headlines(task: Task, scores: Scores, content: Mapping[str, Any]) -> Table:
    """The headline figures of all items; where one is lacking, the main one by variant."""
    every, keys = task.groups_of(content)["all"], task.keys(scores)
    ends = every.get("confidence", {})
    rows = [
        [f.title, _text(f)(every[f.key]), interval(ends.get(f.key), _text(f)) or NO_VALUE]
        for f in _shown(task, task.figures(scores), content)
        if task.is_headline(f.key, keys)
    ]
    means = task.by_variant_of(content)[0]
    names = own_variants(means)
    if None in (every.get(keys.original), every.get(keys.reworded)):
        names = [name for name in means if name != ORIGINAL or not rows]
    of_variants = variant_intervals(task, scores) if names else {}
    for name in names:
        rows.append([name, percent(means[name]), interval(of_variants.get(name)) or NO_VALUE])
    count = task.counts_of(content)["all"]
    has_bleu = any(row[0].startswith("BLEU") for row in rows)
    title = f"All {count} {task.unit}s, in %{', but for BLEU' if has_bleu else ''}"
    return table(title, ["figure", "all", "95 % interval"], rows)


def variant_intervals(task: Task, scores: Scores) -> Mapping[str, Any]:
    """The 95 % intervals over dialogues of the main figure, by variant."""
    return Sample(task.by_variant(scores), scores.items.dialogue).intervals()


def result_line(task: Task, scores: Scores, content: Mapping[str, Any]) -> str:
    """What other words cost, in a sentence; of too few variants, what can be said."""
    every, keys = task.groups_of(content)["all"], task.keys(scores)
    figures = {f.key: f for f in task.figures(scores) if every.get(f.key) is not None}
    ends = every.get("confidence", {})
    means = task.by_variant_of(content)[0]
    lacking = [name for name in PAPER_VARIANTS if name not in means]
    if not {keys.original, keys.reworded} <= {*figures}:
        return _by_variant_line(task, scores, means, lacking)
    original, reworded = every[keys.original], every[keys.reworded]
    text = f"Under other words for the same schemas the {keys.measure}"
    text = f"{text} {change_in_words(original, reworded, ends.get(task.drop_key(keys)))}"
    if worst := [key for key in figures if key.partition("(")[0] == keys.worst]:
        share = f"{percent(every[worst[-1]], 1)} %"
        what = f"it is {share} with each {task.unit} under its worst variant"
        if figures[worst[-1]].lower_is_better:
            what = f"{share} of {task.unit}s lack a value under some variant"
        text = f"{text}, and {what}{_within(ends.get(worst[-1]))}"
    some = 0 < len(lacking) < len(PAPER_VARIANTS)
    return f"{text}. Predictions for {listed(lacking)} are lacking." if some else f"{text}."


def _within(ends: Sequence[float] | None) -> str:
    """An interval in brackets; empty where there is none."""
    return f" (95 % interval {interval(ends, one_decimal)})" if ends else ""


def sureness(ends: Sequence[float] | None, p: float | None, dialogues: int) -> str:
    """Whether chance explains a difference, as the end of a sentence about it."""
    if not ends or p is None:
        return "whether by chance is not known"
    if dialogues < _FEWEST_DIALOGUES:
        return f"whether by chance cannot be told of {dialogues} dialogues"
    is_apart, is_unlikely = not ends[0] <= 0 <= ends[1], p < _UNLIKELY
    if is_apart and is_unlikely:
        return "more than chance explains"
    if is_apart or is_unlikely:
        return "whether by chance cannot be told: interval and p disagree"
    return "which may be chance"


def change_in_words(before: float, after: float, ends: Sequence[float] | None) -> str:
    """How a share changes, as the end of a sentence; `ends` are those of the difference."""
    first, second = one_decimal(before), one_decimal(after)
    if first == second:
        return f"stays at {first} %"
    verb = "falls" if after < before else "rises"
    chance = ", which may be chance" if ends and ends[0] <= 0 <= ends[1] else ""
    return f"{verb} from {first} to {second} %{chance}"


def _by_variant_line(
    task: Task, scores: Scores, means: Mapping[str, Any], lacking: Sequence[str]
) -> str:
    """The main figure under each variant, and which variants the other figures lack."""
    ends = variant_intervals(task, scores)
    parts = [f"{percent(of, 1)} % under {n}{_within(ends.get(n))}" for n, of in means.items()]
    text = f"The {task.keys(scores).measure} is {listed(parts)}."
    what = "The mean under other words" if ORIGINAL in means else "What other words cost"
    names = listed([*(() if ORIGINAL in means else [ORIGINAL]), *lacking])
    return f"{text} {what} is not known without predictions for {names}."


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
    by_variant, differences = task.by_variant_of(content)
    changed = _changed(task, content)
    rows = [
        [name, percent(mean), *(change_cells(differences.get(name, {})) if changed else ())]
        for name, mean in by_variant.items()
    ]
    variants = table(f"{task.title} by variant", ["variant", "all", *changed], rows)
    return [by_group, variants, *task.more_tables(content)]


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
    return CHANGE if any(task.by_variant_of(content)[1].values()) else ()


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
    """Words as English lists them: "dialogues, variants and runs"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _text(figure: Figure) -> Any:
    """What writes a value of a figure: in percent, unless it is BLEU."""
    return lambda value: number(None if value is None else figure.scale * value)


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
    groups = result["groups"]
    every = groups["all"]
    known = [figure for figure in figures if figure.key in every]
    keys = task.keys(scores)
    brief = [f for f in known if task.is_shown(f.key) and task.is_headline(f.key, keys)]
    rows = [[f.title, *_cells(every[f.key], f)] for f in (known if details else brief or known)]
    counts = f"All {every[task.counted]} {task.unit}s of {result['dialogues']} dialogues"
    title = f"{counts}, in %{', but for BLEU' if any(f.scale == 1 for f in known) else ''}"
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
    rows = [
        [mean.key, *_cells(result["by_variant"][mean.key], mean)]
        for mean in task.by_variant(scores)
        if mean.key in result["by_variant"]
    ]
    if rows and (details or not known):
        to_terminal(table(f"{task.title} by variant", ["variant", *_COMPARED], rows), console)
    terms = [*figure_terms(known), _drawn_term(result), P_TERM, *([_ACTS_TERM] if has_acts else [])]
    lines = [legend(terms), ""] if details else _more(details)
    print_line("\n".join([*lines, result["signature"]]), console)


def _cells(change: Mapping[str, Any], figure: Figure) -> list[str]:
    """The cells of `_COMPARED`."""
    text = _text(figure)
    return [text(change["first"]), text(change["second"]), *change_cells(change, text)]


def _difference_line(compared: Outcome) -> str:
    """Which system is the better one under other words, or under what was scored; how surely."""
    task, figures, result, scores = compared
    every = result["groups"]["all"]
    by_key = {figure.key: figure for figure in figures if figure.key in every}
    figure = next((by_key[key] for key in task.deciding if key in by_key), None)
    if figure is None:
        figure = task.by_variant(scores)[0]
        change = result["by_variant"][figure.key]
        figure = figure._replace(title=f"{task.keys(scores).measure} under {figure.key}")
    else:
        change = every[figure.key]
    difference = change["difference"]
    if not difference:
        return f"By {figure.title} the two are {'equal' if difference == 0 else 'not comparable'}."
    is_second = (difference > 0) != figure.lower_is_better
    better, other = ("second", "first") if is_second else ("first", "second")
    points = number(abs(figure.scale * difference))
    sure = sureness(change["interval"], change["p"], result["dialogues"])
    p = f" (p = {change['p']:.4f})" if change["p"] is not None else ""
    text = f"By {figure.title} {better} is better than {other} by {points} points, {sure}{p}"
    return f"{text}."


def _drawn_term(result: Mapping[str, Any]) -> str:
    """What the means, the differences and their intervals are over."""
    difference = "difference: second less first, with its 95 % interval over dialogues"
    if max(result["runs"].values()) == 1:
        return f"{difference}."
    of_few = "to which p belongs. Of few runs the interval is rough."
    return f"first, second: means over runs. {difference} and runs, {of_few}"


def print_summary(summary: Outcome, names: Sequence[str], details: bool, console: Console) -> None:
    """Print the mean and the standard deviation of figures over several runs.

    Without details these are the headline figures of all items.
    """
    task, figures, result, scores = summary
    every, keys = result["groups"]["all"], task.keys(scores)
    print_line(f"{legend([_summary_line(summary)])}\n", console)
    # Of more groups the cells would be folded.
    groups = {n: g for n, g in [*result["groups"].items()][:3] if g[task.counted]}
    groups = groups if details else {"all": every}
    shown = [f for f in figures if f.key in every and task.is_shown(f.key)]
    brief = [f for f in shown if task.is_headline(f.key, keys)]
    shown = shown if details else brief or shown
    rows = [[f.title, *(_spread(g[f.key], f) for g in groups.values())] for f in shown]
    counts = ", ".join(f"{group[task.counted]} {name}" for name, group in groups.items())
    heads = [_heading(name) for name in groups]
    title = f"{task.unit.capitalize()}s ({counts}) of {len(names)} runs"
    to_terminal(table(title, ["figure", *heads], rows), console)
    rows = [
        [mean.key, *(_spread(group["by_variant"][mean.key], mean) for group in groups.values())]
        for mean in task.by_variant(scores)
    ]
    lines = _more(details)
    if details:
        to_terminal(table(f"{task.title} by variant", ["variant", *heads], rows), console)
        lines = [legend([_SUMMARY_TERM, *figure_terms(shown)]), ""]
    lines += [f"run: {name}" for name in names]
    print_line("\n".join([*lines, result["signature"]]), console)


def _summary_line(summary: Outcome) -> str:
    """What other words cost on average, in a sentence."""
    task, _, result, scores = summary
    every, keys = result["groups"]["all"], task.keys(scores)
    known = [every[key] for key in (keys.original, keys.reworded) if key in every]
    if len(known) < 2 or None in (known[0]["mean"], known[1]["mean"]):
        parts = [f"{percent(o['mean'], 1)} % under {n}" for n, o in every["by_variant"].items()]
        return f"The {keys.measure} of {result['runs']} runs is on average {listed(parts)}."
    texts = [
        f"{percent(of['mean'], 1)} % (standard deviation {percent(of['sd'], 1)})" for of in known
    ]
    return (
        f"The {keys.measure} of {result['runs']} runs is on average {texts[0]} under the original "
        f"schemas and {texts[1]} under other words."
    )


def _spread(spread: Mapping[str, Any], figure: Figure) -> str:
    text = _text(figure)
    return NO_VALUE if spread["mean"] is None else f"{text(spread['mean'])} ({text(spread['sd'])})"
