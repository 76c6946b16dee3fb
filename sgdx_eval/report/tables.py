"""The tables of a page, for all tasks, and the cells in which figures stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan

from sgdx_metric.result import ALL, Figure, Metric
from sgdx_metric.variants import floors

from ..compare import difference
from ..show import heading, shown_word
from ..tables import NO_VALUE, Cell, Column, Table, interval, number, printable, table
from .runs import Group, System

_MOST_FAILED = 12
Rows = list[list[str | Cell]]
# The figures of a metric, as columns, and what they are called.
COLUMNS = {
    "original": "orig",
    "reworded": "other words",
    "drop": "drop",
    "worst": "worst",
    "flips": "flips",
    "sensitivity": "SS",
}


def comparison(group: Group) -> Iterator[Table]:
    """The headline figures of all items, seen and unseen ones; and folded the other metrics."""
    rows: Rows = []
    for system in group.systems:
        told, run = list(system.caveats), system.first
        if run.trained_on != NO_VALUE:
            told.append(f"trained on {run.trained_on}")
        if run.acts != NO_VALUE:
            told.append({"yes": "with", "no": "without"}.get(run.acts, run.acts) + " system acts")
        for metric in group.headlines:
            for name in group.sets:
                found = [system.result.main(metric.name, of, name) for of in COLUMNS]
                items = next((f.items for f in found if f), 0)
                if items:
                    several = len(group.headlines) > 1
                    what = [metric.shown] if several else []
                    what += [heading(name)] if name != ALL or not several else []
                    first = Cell(system.name, "; ".join(told))
                    cells = [_beside_floors(system, cell(f, metric), f, metric) for f in found]
                    rows.append([first, ", ".join(what), f"{items:,}", *cells])
    note = (
        "Below a figure is its 95 % interval over dialogues, or after ± its deviation over seeds."
    )
    if floors(group.variants):
        note += " Beside it is the same figure where no word means anything else (control, repeat)."
    if not all(system.result.main(group.main.name, "drop") for system in group.systems):
        scored = printable(", ".join(group.variants))
        note += f" Only {scored} was scored, so that not all figures are known."
    heads = ["system", "of", group.unit, *COLUMNS.values()]
    yield table("Figures under reworded schemas", heads, rows, ["of"], note=note)
    further = [m for m in group.metrics.values() if m not in group.headlines]
    shown = [m for m in further if any(system.has(m.name) for system in group.systems)]
    names = ("original", "reworded", "sensitivity")
    of_metrics: Rows = [
        [
            metric.shown,
            *(cell(s.result.main(metric.name, of), metric) for s in group.systems for of in names),
        ]
        for metric in shown
    ]
    if of_metrics:
        columns = [Column(COLUMNS[of], s.label) for s in group.systems for of in names]
        title = f"Further metrics, of all {group.unit}"
        note = (
            "In percent. A dash marks a metric that is not defined, as of spans that no one found."
        )
        yield table(title, ["metric", *columns], of_metrics, note=note, folded=True)


def variant_table(group: Group) -> Iterator[Table]:
    """The means under every variant, and how they differ from those under the original words."""
    if len(group.variants) < 2:
        return
    rows: Rows = []
    for system in group.systems:
        for variant in group.variants:
            row: list[str | Cell] = [system.name, variant]
            for metric in group.headlines:
                row.append(cell(system.result.by_variant(metric.name, "mean").get(variant), metric))
                drop = system.result.by_variant(metric.name, "drop").get(variant)
                row += [cell(drop, metric), shown_word(drop, metric)] if drop else ["", ""]
            rows.append(row)
    note = (
        "The difference is to the same items under the original words, in points, with its 95 % "
        "interval. A loss or a gain is shown where the whole interval is on one side of 0."
    )
    heads = [Column(of, m.shown) for m in group.headlines for of in ("mean", "difference", "shown")]
    heads = [Column("system", numeric=False), Column("variant", numeric=False), *heads]
    yield table("Variant by variant", heads, rows, note=note, folded=len(group.systems) > 1)


def augmentation(group: Group) -> Iterator[Table]:
    """The paper's Table 3: what training on other words changes, where there are such systems."""
    names = ("original", "reworded", "sensitivity")
    families: dict[str, list[System]] = {}  # of systems that differ in their augmentation alone
    for system in sorted(group.systems, key=lambda system: bool(system.first.augmentation)):
        families.setdefault(system.first.system_key(without_augmentation=True), []).append(system)
    rows: Rows = []
    for plain, *others in families.values():
        if plain.first.augmentation or not others or not others[0].first.augmentation:
            continue
        for system in (plain, *others):
            against = [] if system is plain else differences(plain, system)
            how = Cell(system.first.augmentation or "none", "; ".join(system.caveats))
            rows.append([plain.name, how])
            for of in names:
                f = system.result.main(group.main.name, of)
                change = next((d for d in against if f and _same(d, f)), None)
                rows[-1] += [cell(f, group.main, False), cell(change, group.main)]
    note = (
        "In percent. Each difference is to the row without augmentation, in points, with its "
        "paired 95 % interval over dialogues. With several seeds, it is the difference of the "
        "means over the seeds. Oracle rows were trained on v1 to v5 themselves and are upper "
        "bounds."
    )
    if rows:
        heads = [Column(name, COLUMNS[of]) for of in names for name in (group.main.shown, "change")]
        heads = [Column("system", numeric=False), Column("augmentation", numeric=False), *heads]
        yield table("Training on other words", heads, rows, note=note)


def service_table(group: Group) -> Iterator[Table]:
    """What rewording costs in each service; those in which the first system loses most first."""
    names, metric = ("original", "reworded", "drop"), group.main
    rows: list[tuple[float, list[str | Cell]]] = []
    for name in group.services:
        found = [[s.result.main(metric.name, of, name) for of in names] for s in group.systems]
        drop = found[0][-1]
        if drop is None or drop.value is None:
            continue
        sign = 1 if metric.higher_is_better else -1
        cells = [cell(f, metric) for of_system in found for f in of_system]
        rows.append((sign * drop.value, [name, f"{drop.items:,}", *cells]))
    note = (
        "In percent, with 95 % intervals. Services have their original names. Those in which the "
        "first system loses most under other words come first."
    )
    heads = [Column(COLUMNS[of], s.label) for s in group.systems for of in names]
    ranked = [row for _, row in sorted(rows, key=lambda row: (isnan(row[0]), row[0]))]
    if ranked:
        title = "Where it breaks, by service"
        yield table(title, ["service", group.unit, *heads], ranked, note=note, folded=True)


def failed_table(group: Group) -> Iterator[Table]:
    """Which actions fail the validation of a model of entailment, where one was asked."""
    counts = group.systems[0].first.result.result.counts
    if failed := counts.get("failed_by"):
        rows = [
            [of["act"], of["slot"] or NO_VALUE, f"{of['actions']:,}"]
            for of in failed[:_MOST_FAILED]
        ]
        note = (
            f"Of {counts['turns']:,} turns {counts['valid_turns']:,} are valid: their gold "
            "response entails everything that it should say and no tampered value. SGSAcc "
            f"validated is of these. These {len(rows)} acts and slots have the most of the "
            f"{sum(of['actions'] for of in failed):,} actions that fail. Which they are depends on "
            "the model of entailment alone, not on any system."
        )
        heads = ["act", "slot", "actions"]
        yield table("What fails validation", heads, rows, ["slot"], note=note, folded=True)


# ---- cells


def _beside_floors(system: System, of: Cell, figure: Figure | None, metric: Metric) -> Cell:
    """The cell of a figure, and what the same figure is over controls and repeats."""
    if figure is None or figure.figure == "mean":
        return of
    told = [of.detail]
    for name in floors(system.result.variants):
        if (floor := system.result.floor(figure, name)) and floor.value is not None:
            told.append(f"{name} {shown(floor, metric, floor.value)}")
    return of._replace(detail="; ".join(filter(None, told)))


def cell(figure: Figure | None, metric: Metric, has_interval: bool = True) -> Cell:
    """A figure of one run with its interval, or of several as mean ± deviation."""
    if figure is None or figure.value is None:
        return Cell(NO_VALUE)
    if figure.second_sd is not None and figure.low is None:
        return Cell(shown(figure, metric, figure.value), f"± {plain(metric, figure.second_sd)}")
    ends = figure.interval if has_interval else None
    detail = interval(ends, lambda end: shown(figure, metric, end))
    return Cell(shown(figure, metric, figure.value), detail)


def shown(figure: Figure, metric: Metric, value: float) -> str:
    """A figure as a text; a difference has its sign."""
    is_change = figure.first is not None
    if figure.figure.startswith("sensitivity"):
        text = number(100 * value, 1)
    else:
        text = plain(metric, value)
    sign = "+" if (figure.figure == "drop" or is_change) and value > 0 else ""
    return f"{sign}{text}"


def plain(metric: Metric, value: float) -> str:
    """A value of a metric; slot error rates are small."""
    return number(metric.scale * value, 2 if metric.name == "ser" else 1)


def _same(one: Figure, other: Figure) -> bool:
    keys = ("metric", "figure", "variants", "group")
    return all(getattr(one, key) == getattr(other, key) for key in keys)


def differences(first: System, second: System) -> Sequence[Figure]:
    """By how much the second system's figures are above the first's."""
    return difference([run.result for run in first.runs], [run.result for run in second.runs])
