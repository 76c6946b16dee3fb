"""A result, a comparison and an average over runs on the terminal, of any task, in 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec
from rich.console import Console

from sgdx_metric.result import (
    ALL,
    OF_TOOLS,
    SETS,
    Figure,
    Metric,
    Result,
    reworded_variants,
    title,
)
from sgdx_metric.statistics import judged
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS, floor_of, floors

from .compare import Comparison
from .tables import (
    NO_VALUE,
    Cell,
    Table,
    interval,
    legend,
    number,
    one_decimal,
    print_line,
    table,
    to_terminal,
)
from .tasks import SAMPLES, TASKS

_MORE = "--explain prints all figures and says what they mean."
_TERMS = {
    "drop": "drop: the mean under other words less that under the original ones.",
    "relative": "relative: the drop in % of the mean under the original words.",
    "sensitivity": "SS: schema sensitivity, how far an item's score varies over other words, in % "
    "of its mean; 0 where nothing varies, and it may exceed 100.",
    "sensitivity_nonzero": "SS_..._nonzero: of the items that are not wrong throughout.",
    "worst": "worst: each item under the words that are worst for it.",
    "flips": "flips: items that are right under some words and wrong under others.",
}
_FLOOR_TERMS = {
    "control": "control: the same under trivial edits of the original words, as a full stop more.",
    "repeat": "repeat: the same where the original words were predicted again; noise alone.",
    "users": "users: the same where other words are the users', and not the tools'.",
    "both": "both: the same where both tools and users have other words.",
}
_MEANS = "orig: under the original words. v1-5, reworded: the mean under other words."
_LOWER = ("sensitivity", "sensitivity_nonzero", "flips")
_BETTER_LOW = {"sensitivity": "SS", "flips": "flips"}
_SEEN_TERM = "seen: services that the original train split has; unseen: all others."
_SHOWN_TERM = (
    "loss, gain: the whole 95 % interval of the difference is on one side of 0; else no difference "
    "is shown."
)
_SUMMARY_TERM = "The mean over runs, and in brackets the sample standard deviation."


# ---- one result


def metrics_of(result: Result) -> dict[str, Metric]:
    """What is measured, by name: by the task or, of other harnesses, by what their logs have."""
    metrics = result.metrics if isinstance(result, Comparison) else msgspec.UNSET
    listed = TASKS[result.task].metrics if metrics is msgspec.UNSET else metrics
    return {metric.name: metric for metric in listed}


def main_metric(result: Result) -> Metric:
    """The metric that decides: the first that is known."""
    known = {figure.metric for figure in result.figures}
    metrics = list(metrics_of(result).values())
    return next((metric for metric in metrics if metric.name in known), metrics[0])


def print_result(
    result: Result, console: Console, notes: Iterable[str] = (), details: bool = True
) -> None:
    """Print what other words cost, and the tables of a result; notes follow, and the signature.

    Without details there is one table, of the headline figures, and no legend.
    """
    print_line(f"{legend([result_line(result)])}\n", console)
    terms: list[str] = []
    if details:
        tables, terms = result_tables(result), [legend(terms_of(result)), ""]
    else:
        tables = [headline_table(result)]
    for shown in tables:
        to_terminal(shown, console)
    more = [] if details else [_MORE]
    print_line("\n".join([*terms, *notes, *more, result.signature]), console)


def headline_table(result: Result) -> Table:
    """The headline figures of all items over other words, and beside them over what means the same.

    Of own variants they stand one by one, too.
    """
    metrics = metrics_of(result)
    others, same = reworded_variants(result.variants, result.task), floors(result.variants)
    main, beside = ([[], others], list(same)) if others else ([[], *same.values()], [])
    rows = []
    shown = [
        f
        for f in result.figures
        if f.group == ALL and metrics[f.metric].headline and f.value is not None
    ]
    has_services = any(f.low_services is not None for f in shown)
    heads = ["figure", "all", "95 % interval", *(["by service"] if has_services else [])]
    for f in shown:
        words = [name for name in f.variants if name != ORIGINAL]
        is_own = len(words) == 1 and not {*words} <= {*PAPER_VARIANTS} and not floor_of(words[0])
        is_own = is_own and result.task not in OF_TOOLS
        if words in main or is_own or ORIGINAL not in result.variants:
            metric = metrics[f.metric]
            text = text_of(metric, f.figure)
            ends = f.low_services, f.high_services
            by_service = "" if None in ends else interval([e for e in ends if e is not None], text)
            row = [title(f, metric, result.task), text(f.value)]
            row += [interval(f.interval, text) or NO_VALUE, by_service or NO_VALUE]
            found = [result.floor(f, name) if words == others else None for name in beside]
            rows.append([*row[: len(heads)], *(text(of.value) if of else NO_VALUE for of in found)])
    if main_metric(result).scale == 100 and any(metrics[f.metric].scale == 1 for f in shown):
        scale = ", but for BLEU"
    else:
        scale = ""
    items = max((f.items for f in shown), default=0)
    heading = f"All {items} {TASKS[result.task].item}s, in %{scale}"
    return table(heading, [*heads, *beside], rows)


def result_tables(result: Result, wide: bool = False) -> list[Table]:
    """The figures of a result by group of services, by variant and by service.

    All figures have their intervals beside them where there is room, else those of all items.
    """
    metrics = metrics_of(result)
    groups = groups_of(result)
    sets = [name for name in groups if name in SETS]
    by_group: dict[str, dict[str, Figure]] = {}
    for f in result.figures:
        if f.group in sets and f.value is not None and not _is_single(f, result):
            by_group.setdefault(title(f, metrics[f.metric], result.task), {})[f.group] = f
    rows: list[list[str | Cell]] = []
    for name, of_groups in by_group.items():
        cells = []
        for group in sets:
            if found := of_groups.get(group):
                text = text_of(metrics[found.metric], found.figure)
                cells.append(Cell(text(found.value), interval(found.interval, text)))
            else:
                cells.append(Cell(NO_VALUE))
        whole = of_groups.get(ALL)
        if whole and 0 < whole.items < groups[ALL]:  # such as calls, of the cases that expect one
            name = f"{name}, of {whole.items}"
        every, *others = cells
        narrow = [every.text, every.detail or NO_VALUE, *(cell.text for cell in others)]
        rows.append([name, *(cells if wide else narrow)])
    unit = TASKS[result.task].item
    counts = ", ".join(f"{groups[name]} {heading(name)}" for name in sets)
    names = [heading(name) for name in sets]
    heads = ["figure", *names] if wide else ["figure", names[0], "95 % interval", *names[1:]]
    tables = [table(f"{unit.capitalize()}s: {counts}", heads, rows)]
    for metric in metrics.values():
        if metric.headline and any(f.metric == metric.name for f in result.figures):
            tables.append(variant_table(result, metric))
    services = [name for name in groups if name not in SETS]
    return [*tables, *([service_table(result, services)] if services else [])]


def variant_table(result: Result, metric: Metric) -> Table:
    """A metric under each variant, and by how much it differs from that under the original."""
    means, drops = (result.by_variant(metric.name, figure) for figure in ("mean", "drop"))
    rows = []
    for name, mean in means.items():
        text = text_of(metric)
        row = [name, text(mean.value)]
        if drops:
            row += change_cells(drops.get(name), metric)
        rows.append(row)
    heads = ["variant", "all", *(CHANGE if drops else ())]
    return table(f"{metric.shown} by variant", heads, rows, CHANGE[-1:])


def service_table(result: Result, services: Sequence[str]) -> Table:
    """The headline figure of every service, with its interval."""
    metric, rows = main_metric(result), []
    for name in services:
        found = [result.main(metric.name, of, name) for of in ("original", "reworded", "drop")]
        known = next((f for f in found if f), None)
        text = text_of(metric) if known else one_decimal
        cells = [text(f.value) if f else NO_VALUE for f in found]
        ends = interval(found[2].interval, text) if found[2] else NO_VALUE
        rows.append([name, str(known.items if known else 0), *cells, ends or NO_VALUE])
    unit = f"{TASKS[result.task].item}s"
    heads = ["service", unit, "orig", "other words", "drop", "95 % interval"]
    return table(f"{metric.shown} by service", heads, rows)


CHANGE = ("difference", "95 % interval", "shown")


def change_cells(change: Figure | None, metric: Metric) -> list[str]:
    """The cells of `CHANGE`; dashes where there is nothing to compare with."""
    if change is None or change.value is None:
        return [NO_VALUE] * len(CHANGE)
    text = text_of(metric, change.figure)
    ends = interval(change.interval, text) or NO_VALUE
    return [text(change.value), ends, shown_word(change, metric)]


def terms_of(result: Result) -> list[str]:
    """What the words in the tables of a result mean."""
    of_figures = {f.metric for f in result.figures}
    known = [m for m in metrics_of(result).values() if m.name in of_figures]
    kinds = dict.fromkeys(f.figure for f in result.figures)
    low = [m.shown for m in known if not m.higher_is_better and m.name != "changed"]
    neither = " but changed" if any(m.name == "changed" for m in known) else ""
    better = [name for of, name in _BETTER_LOW.items() if of in kinds] + low
    scaled = "In %, but for BLEU." if any(m.scale == 1 for m in known) else "In %."
    return [
        scaled,
        *(m.meaning for m in known if m.meaning),
        *([_MEANS] if result.task != SAMPLES else []),
        *(_TERMS[kind] for kind in kinds if kind in _TERMS),
        *(_FLOOR_TERMS[floor] for floor in floors(v for f in result.figures for v in f.variants)),
        f"Better: lower {_listed(better)}; of all else{neither}, higher." if better else "",
        _SHOWN_TERM,
        *([_SEEN_TERM] if any(f.group == "seen" for f in result.figures) else []),
    ]


# What sentences call a metric whose title is no noun.
_NOUNS = {"right": "the share of right cases"}


def result_line(result: Result) -> str:
    """What other words cost, in a sentence; of too few variants, what can be said."""
    metric = main_metric(result)
    text, name = text_of(metric, decimals=1), _NOUNS.get(metric.name, metric.shown)
    original, reworded, drop, worst = (
        result.main(metric.name, of) for of in ("original", "reworded", "drop", "worst")
    )
    lacking = [name for name in PAPER_VARIANTS if name not in result.variants]
    some = result.task not in OF_TOOLS and 0 < len(lacking) < len(PAPER_VARIANTS)
    end = f" Predictions for {_listed(lacking)} are lacking." if some else ""
    if drop is None or original is None or reworded is None or drop.value is None:
        means = result.by_variant(metric.name)
        parts = [f"{text(f.value)} % under {of}{_within(f, text)}" for of, f in means.items()]
        what = "The mean under other words" if ORIGINAL in means else "What other words cost"
        needed = "those of other variants" if ORIGINAL in means else ORIGINAL
        return f"{name} is {_listed(parts)}. {what} is not known without {needed}.{end}"
    line = f"Under other words for the same schemas {name} {change(drop, original, metric)}"
    if worst and worst.value is not None:
        unit = TASKS[result.task].item
        what = f"it is {text(worst.value)} % with each {unit} under its worst words"
        if not metric.higher_is_better:
            what = f"{text(worst.value)} % of {unit}s lack a value under some words"
        line = f"{line}, and {what}{_within(worst, text)}"
    return f"{line}.{end}"


def change(drop: Figure, original: Figure, metric: Metric) -> str:
    """What becomes of a mean under other words, by the one judgement."""
    text, word = text_of(metric, decimals=1), shown_word(drop, metric)
    before, value = original.value or 0.0, drop.value or 0.0
    after = before + value
    if word == "not shown":
        ends = f" (the difference has the 95 % interval {interval(drop.interval, text)})"
        if text(before) == text(after):
            return f"stays at {text(before)} %{ends}"
        return f"is {text(after)} % after {text(before)} %, a difference that is not shown{ends}"
    verb = "falls" if value < 0 else "rises"
    return f"{verb} from {text(before)} to {text(after)} %"


# ---- two systems


def print_comparison(compared: Comparison, details: bool, console: Console) -> None:
    """Print whether the systems differ, which is which, and the headline figures of both.

    With details each figure has a table by group and service. One is by variant; a legend follows.
    """
    print_line(f"{legend([difference_line(compared)])}\n", console)
    has_acts = "|system-acts:" in compared.signature
    for i, (which, name) in enumerate(zip(("first", "second"), compared.names)):
        facts = [f"system acts: {compared.system_acts[i]}"] if has_acts else []
        oracle = {"yes": ["oracle"], "no": []}.get(compared.oracle[i], ["oracle: unknown"])
        facts += oracle if compared.task not in (*OF_TOOLS, SAMPLES) else []
        print_line(f"{which}: {name}{' (' + ', '.join(facts) + ')' if facts else ''}", console)
    print_line("", console)
    for shown in comparison_tables(compared, details):
        to_terminal(shown, console)
    lines = [_MORE]
    if details:
        drawn = "difference: second less first, with its 95 % interval over "
        drawn += f"{TASKS[compared.task].item}s" if compared.task == SAMPLES else "dialogues"
        drawn += "." if max(compared.runs) == 1 else " and runs. Of few runs it is rough."
        lines = [legend([*terms_of(compared), drawn]), ""]
    print_line("\n".join([*lines, compared.signature]), console)


def comparison_tables(compared: Comparison, details: bool) -> list[Table]:
    """The headline figures of all items; with details all, by group, service and variant."""
    metrics = metrics_of(compared)
    main, unit = main_metric(compared), TASKS[compared.task].item
    every = [f for f in compared.figures if f.group == ALL and f.value is not None]
    names = list(dict.fromkeys(name for f in every for name in f.variants))
    sets = [[], reworded_variants(names, compared.task), *floors(names).values()]
    rows, tables = [], list[Table]()
    for f in every:
        words = [name for name in f.variants if name != ORIGINAL]
        metric = metrics[f.metric]
        if metric.headline and (details or words in sets or len(names) == 1):
            rows.append([title(f, metric, compared.task), *_compared(f, metric)])
    heads = ["first", "second", *CHANGE]
    plain = dict.fromkeys(metrics[f.metric].shown for f in every if metrics[f.metric].scale == 1)
    scaled = f", but for {_listed(list(plain))}" if plain else ""
    items = max((f.items for f in every), default=0)
    clusters = max((f.clusters for f in every), default=0)
    counts = f"All {items} {unit}s"
    if unit != "sample":
        counts += f" of {clusters} dialogues"
    tables.append(table(f"{counts}, in %{scaled}", ["figure", *heads], rows, CHANGE[-1:]))
    if not details:
        return tables
    shown = [f for f in compared.figures if f.metric == main.name and f.value is not None]
    for kind in dict.fromkeys((f.figure, tuple(f.variants)) for f in shown if f.group != ALL):
        of_kind = [f for f in shown if (f.figure, tuple(f.variants)) == kind]
        if len({f.group for f in of_kind} - set(SETS)) or len(of_kind) > 1:
            rows = [[heading(f.group), str(f.items), *_compared(f, main)] for f in of_kind]
            name = title(of_kind[0], main, compared.task)
            tables.append(table(name, ["services", f"{unit}s", *heads], rows, CHANGE[-1:]))
    return tables


def _compared(f: Figure, metric: Metric) -> list[str]:
    text = text_of(metric, f.figure)
    return [text(f.first), text(f.second), *change_cells(f, metric)]


def difference_line(compared: Comparison) -> str:
    """Which system is the better one under other words, or under what was scored; how surely."""
    metric = main_metric(compared)
    names = dict.fromkeys(v for f in compared.figures for v in f.variants)
    others = reworded_variants(names, compared.task) or list(names)
    means = {
        tuple(f.variants): f
        for f in compared.figures
        if (f.metric, f.figure, f.group) == (metric.name, "mean", ALL)
    }
    # Without the original there may be no mean over all.
    figure = means.get(tuple(others)) or means[others[0],]
    name = title(figure, metric, compared.task)
    first, second = compared.names
    if figure.value is None:
        return f"By {name} {first} and {second} do not compare."
    points = number(abs(metric.scale * figure.value))
    ends = interval(figure.interval, text_of(metric))
    within = f"{second} less {first}: 95 % interval {ends}"
    word = shown_word(figure, metric)
    if word == "not shown":
        return f"By {name} no difference is shown: {points} points apart ({within})."
    better, other = (second, first) if word == "gain" else (first, second)
    return f"By {name} {better} is better than {other} by {points} points ({within})."


# ---- several runs of one system


def print_summary(result: Result, names: Sequence[str], details: bool, console: Console) -> None:
    """Print the mean and the standard deviation of figures over several runs.

    Without details these are the headline figures of all items.
    """
    metrics = metrics_of(result)
    metric = main_metric(result)
    text = text_of(metric, decimals=1)
    parts = []
    for of, words in (("original", "the original words"), ("reworded", "other words")):
        f = result.main(metric.name, of)
        if f and f.value is not None:
            deviation = f" (standard deviation {text(f.second_sd)})"
            parts.append(f"{text(f.value)} %{deviation} under {words}")
    if parts:
        line = f"{metric.shown} of {len(names)} runs is on average {_listed(parts)}."
        print_line(f"{legend([line])}\n", console)
    groups = [name for name in groups_of(result) if name in SETS][:3]
    groups = groups if details else [ALL]
    rows: dict[str, list[str]] = {}
    for group in groups:
        for f in result.figures:
            if f.group == group and (details or metrics[f.metric].headline):
                text = text_of(metrics[f.metric], f.figure)
                cell = f"{text(f.value)} ({text(f.second_sd)})" if f.value is not None else NO_VALUE
                rows.setdefault(title(f, metrics[f.metric], result.task), []).append(cell)
    whole = [[name, *cells] for name, cells in rows.items() if len(cells) == len(groups)]
    unit = TASKS[result.task].item.capitalize()
    heads = ["figure", *map(heading, groups)]
    to_terminal(table(f"{unit}s of {len(names)} runs", heads, whole), console)
    lines = [legend([_SUMMARY_TERM, *terms_of(result)]), ""] if details else [_MORE]
    lines += [f"run: {name}" for name in names]
    print_line("\n".join([*lines, result.signature]), console)


# ---- what these share


def groups_of(result: Result) -> dict[str, int]:
    """The groups of items, with how many items each has."""
    counts: dict[str, int] = {}
    for f in result.figures:
        counts[f.group] = max(counts.get(f.group, 0), f.items)
    return {name: count for name, count in counts.items() if count}


def heading(group: str) -> str:
    """A group of items as headings call it: services keep their names."""
    return group.replace("_domains", " domains") if group in SETS else group


def _is_single(figure: Figure, result: Result) -> bool:
    """Whether a figure is of one variant alone, which another table has."""
    others = reworded_variants(result.variants, result.task)
    return len(figure.variants) == 1 and figure.variants not in ([ORIGINAL], others)


def shown_word(figure: Figure, metric: Metric) -> str:
    """The one judgement of a difference: whether a loss, a gain or none is shown."""
    return judged(figure.low, figure.high, is_better_high(figure, metric))


def is_better_high(figure: Figure, metric: Metric) -> bool:
    """Whether more of a figure is better."""
    return metric.higher_is_better and figure.figure not in _LOWER


def text_of(
    metric: Metric, figure: str = "mean", decimals: int = 2
) -> Callable[[float | None], str]:
    """What writes a value of a figure: in percent, unless it is BLEU."""
    scale = 100 if figure.startswith("sensitivity") else metric.scale
    return lambda value: number(None if value is None else scale * value, decimals)


def _within(figure: Figure, text: Callable[[float | None], str]) -> str:
    """An interval in brackets; empty where there is none."""
    return f" (95 % interval {interval(figure.interval, text)})" if figure.interval else ""


def _listed(words: Sequence[str]) -> str:
    """Words as English lists them: "dialogues, variants and runs"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
