"""The tables of a page: of all tasks, and of some; and the cells in which figures stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sgdx_metric.columns import Ints
from sgdx_metric.figures import changes_to_original
from sgdx_metric.robustness import ALL as ALL_SERVICES
from sgdx_metric.scoring import METRICS
from sgdx_metric.statistics import RESAMPLES, TRIALS, Figure, Sample, compare
from sgdx_metric.units import ALL
from sgdx_metric.variants import ORIGINAL

from ..tables import (
    NO_VALUE,
    Cell,
    Column,
    Table,
    format_over_runs,
    interval,
    number,
    p_value,
    printable,
    table,
)
from .runs import Group, System

_MOST_FAILED = 12
Rows = list[list[str | Cell]]
Comparison = Mapping[str, Mapping[str, Any]]


def comparison(group: Group) -> Iterator[Table]:
    """The main figures of all items, seen and unseen ones, and folded the others of all items.

    They are those of the paper's Table 2. Figures of one kind for several metrics share columns.
    """
    task, keys = group.task, group.keys
    # Not all systems may have all figures, such as canonical ones.
    every = {f.key: f for system in group.systems for f in system.samples()[0].figures}
    main = [figure for figure in every.values() if task.is_headline(figure.key, keys)]
    # What is shown of each metric: its name, and the keys of the figures in its rows.
    metrics = {keys.headline: ("", [figure.key for figure in main])}
    titles = [figure.title for figure in main]
    if keys.reworded == f"{keys.headline}.reworded":
        names = {metric: of_metric[0].title for metric, of_metric in group.headlines.items()}
        ends = [figure.key.partition(".")[2] for figure in main]
        metrics = {m: (name, [f"{m}.{end}" for end in ends]) for m, name in names.items()}
        titles = [title.removeprefix(names[keys.headline]).strip() for title in titles]
    rows: Rows = []
    for system in group.systems:
        told, run = list(system.caveats), system.first
        if run.trained_on != NO_VALUE:
            told.append(f"trained on {run.trained_on}")
        if run.acts != NO_VALUE:
            told.append({"yes": "with", "no": "without"}.get(run.acts, run.acts) + " system acts")
        for metric, (name, of_row) in metrics.items():
            of_metric = group.members(metric)
            for part, members in group.sets.items():
                items = members if of_metric is None else np.intersect1d(members, of_metric)
                found = cells(system.samples(items))
                what = ", ".join(filter(None, (name, "" if part == ALL else part))) or ALL
                first = Cell(system.name, "; ".join(told))
                figures = (found.get(key, Cell(NO_VALUE)) for key in of_row)
                rows.append([first, what, group.count(items), *figures])
    note = "Below a figure is its 95 % interval, or after ± its deviation over seeds."
    if not {keys.original, keys.reworded} <= every.keys():
        scored = printable(", ".join(group.variants))
        note += f" Only {scored} was scored, so that not all figures are known."
    # A title such as `SGSAcc worst` is a column below a heading.
    columns = [Column(name, of) for of, _, name in (title.rpartition(" ") for title in titles)]
    heads: list[str | Column] = ["system", "of", group.unit, *columns]
    yield table("Figures under reworded schemas", heads, rows, ["of"], note=note)
    shown_above = {key for _, of_row in metrics.values() for key in of_row}
    further = {system.name: cells(system.samples()) for system in group.systems}
    rows = [
        [figure.title, *(of_system.get(key, Cell(NO_VALUE)) for of_system in further.values())]
        for key, figure in every.items()
        if key not in shown_above
    ]
    if rows:
        title = f"Further figures, of all {group.unit}"
        yield table(title, ["figure", *further], rows, folded=True)


def variant_table(group: Group) -> Iterator[Table]:
    """The means under every variant, and how they differ from those under the original words."""
    if len(group.variants) < 2:
        return
    titles: dict[str, None] = {}
    rows: Rows = []
    for system in group.systems:
        columns = []
        for metric in group.headlines:
            runs = system.samples(group.members(metric), metric)
            columns.append((runs[0].figures[0], values(runs), changes(runs)))
            titles[runs[0].figures[0].title] = None
        for variant in group.variants:
            row: list[str | Cell] = [system.name, variant]
            for figure, means, of_variants in columns:
                change = of_variants.get(variant)
                row.append(shown(figure, means[variant]))
                row += [change_cell(figure, change), p_value(change["p"])] if change else ["", ""]
            rows.append(row)
    note = (
        "The difference is to the same items under the original words, in points. It has its 95 % "
        "interval and the p-value of paired approximate randomisation."
    )
    heads = [Column(name, title) for title in titles for name in ("mean", "difference", "p")]
    heads = [Column("system", numeric=False), Column("variant", numeric=False), *heads]
    yield table("Variant by variant", heads, rows, note=note, folded=len(group.systems) > 1)


def augmentation(group: Group) -> Iterator[Table]:
    """The paper's Table 3: what training on other words changes, where there are such systems."""
    keys, members = group.keys, group.members(group.keys.headline)
    shown_keys = keys.original, keys.reworded, keys.sensitivity
    families: dict[str, list[System]] = {}  # of systems that differ in their augmentation alone
    for system in sorted(group.systems, key=lambda system: bool(system.first.augmentation)):
        families.setdefault(system.first.system_key(without_augmentation=True), []).append(system)
    rows: Rows = []
    titles: list[str] = []
    for plain, *others in families.values():
        if plain.first.augmentation or not others or not others[0].first.augmentation:
            continue
        for system in (plain, *others):
            runs = system.samples(members)
            known = {figure.key: figure for figure in runs[0].figures}
            if not {*shown_keys} <= known.keys():
                return
            titles = [title for key in shown_keys for title in (known[key].title, "difference")]
            found = cells(runs, has_intervals=False)
            against = {} if system is plain else differences(plain, system, members)
            how = Cell(system.first.augmentation or "none", "; ".join(system.caveats))
            rows.append([plain.name, how])
            for key in shown_keys:
                rows[-1] += [found[key], change_cell(known[key], against.get(key, {}))]
    note = (
        "In percent. Each difference is to the row without augmentation, in points, with its "
        "paired 95 % interval over dialogues. With several seeds, it is the difference of the "
        "means over the seeds. Oracle rows were trained on v1 to v5 themselves and are upper "
        "bounds."
    )
    if rows:
        heads = ["system", "augmentation", *titles]
        yield table("Training on other words", heads, rows, ["augmentation"], note=note)


def service_table(group: Group) -> Iterator[Table]:
    """What rewording costs in each service; those in which the first system loses most first."""
    items, keys, drop = group.results.raw.items, group.keys, group.task.drop_key(group.keys)
    seen = set(items.service[items.sets["seen"]]) if "seen" in items.sets else set()
    titles: dict[str, str] = {}
    rows: list[tuple[float, list[str | Cell]]] = []
    for name, members in group.services.items():
        row: list[str | Cell] = [Cell(name, "seen" if name in seen else "unseen")]
        row.append(group.count(members))
        losses = []
        for system in group.systems:
            runs = system.samples(members)
            known = {figure.key: figure for figure in runs[0].figures}
            if drop not in known:
                return
            sign = -1 if known[keys.reworded].lower_is_better else 1
            losses.append(-sign * values(runs)[drop])
            found = cells(runs, has_intervals=False)
            for key in (keys.original, keys.reworded, drop):
                titles[key] = known[key].title
                row.append(found[key])
        rows.append((losses[0], row))
    note = (
        "In percent. Services have their original names. A service is seen if the original train "
        "split has it. Those in which the first system loses most under other words come first. "
        f"Figures of few {group.unit} are rough."
    )
    heads = [Column(title, s.label) for s in group.systems for title in titles.values()]
    ranked = [row for _, row in sorted(rows, key=lambda row: (np.isnan(row[0]), -row[0]))]
    if ranked:
        title = "Where it breaks, by service"
        yield table(title, ["service", group.unit, *heads], ranked, note=note, folded=True)


# ---- tables of some tasks, out of scores.json


def task_tables(group: Group) -> Iterator[Table]:
    """What only some tasks have: official metrics, decisions, validation."""
    if group.task.name == "state":
        yield from _official_metrics(group)
    for system in group.systems:
        if stored := system.first.stored:
            for made in group.task.more_tables(stored):
                yield replace(made, title=f"{made.title}: {system.name}", folded=True)
    counts = group.systems[0].first.stored.get("counts", {})
    if failed := counts.get("failed_by"):
        rows = [
            [of["act"], of["slot"] or NO_VALUE, f"{of['actions']:,}"]
            for of in failed[:_MOST_FAILED]
        ]
        note = (
            f"Of {counts['turns']['all']:,} turns {counts['valid_turns']:,} are valid: their gold "
            "response entails everything that it should say and no tampered value. SGSAcc "
            f"validated is of these. These {len(rows)} acts and slots have the most of the "
            f"{sum(of['actions'] for of in failed):,} actions that fail. Which they are depends on "
            "the model of entailment alone, not on any system."
        )
        heads = ["act", "slot", "actions"]
        yield table("What fails validation", heads, rows, ["slot"], note=note, folded=True)


def _official_metrics(group: Group) -> Iterator[Table]:
    """The official scorer's 13 metrics and ours, which scores.json has of all frames alone."""
    rows: Rows = []
    for metric in METRICS:
        row: list[str | Cell] = [metric]
        for system in group.systems:
            of_runs = []
            for stored in (run.stored for run in system.runs):
                sgdx = stored.get("sgdx", {})
                original = stored.get("variants", {}).get(ORIGINAL, {}).get(ALL_SERVICES, {})
                others = (sgdx.get(key, {}) for key in ("mean_v1-5", "sensitivity"))
                of_runs.append([of.get(metric) for of in (original, *others)])
            row += [format_over_runs(of_figure) for of_figure in zip(*of_runs)]
        rows.append(row)
    note = (
        "In percent, over all services: each metric under the original schemas, its mean under v1 "
        "to v5, and its schema sensitivity (SS). The metrics beyond the 13 are ours. A dash marks "
        "a metric that is not defined, such as slot tagging if no spans are predicted."
    )
    heads = [Column(name, s.label) for s in group.systems for name in ("original", "v1-5", "SS")]
    title = "The 13 official metrics and ours, with their sensitivity"
    if any(cell != Cell(NO_VALUE) for row in rows for cell in row[1:]):
        yield table(title, ["metric", *heads], rows, note=note, folded=True)


# ---- figures of the runs of a system, and their cells


def values(runs: Sequence[Sample]) -> dict[str, float]:
    """The figures as means over runs, by key; NaN where undefined."""
    of_runs = [run.values() for run in runs]
    return {
        key: float(np.mean([np.nan if (x := of[key]) is None else x for of in of_runs]))
        for key in of_runs[0]
    }


def cells(runs: Sequence[Sample], has_intervals: bool = True) -> dict[str, Cell]:
    """The figures of one run with their intervals, or of several as mean and deviation, by key."""
    of_runs = [run.values() for run in runs]
    ends = runs[0].intervals() if has_intervals and len(runs) == 1 else {}
    return {
        figure.key: format_over_runs(
            [of_run.get(figure.key) for of_run in of_runs],
            ends.get(figure.key),
            partial(shown, figure),
        )
        for figure in runs[0].figures
    }


def shown(figure: Figure, value: float, is_difference: bool = False) -> str:
    """A figure as a text; a difference has its sign."""
    decimals = 2 if figure.title.startswith("SER") else 1  # slot error rates are small
    if np.isnan(value) or not (is_difference or figure.key.endswith("drop")):
        return number(figure.scale * value, decimals)
    return f"{figure.scale * value + 0.0:+.{decimals}f}"


def change_cell(figure: Figure, change: Mapping[str, Any]) -> Cell:
    """A difference with its interval; a dash where there is none."""
    text = partial(shown, figure, is_difference=True)
    if change.get("difference") is None:
        return Cell(NO_VALUE)
    return Cell(text(change["difference"]), interval(change["interval"], text))


def differences(first: System, second: System, members: Ints | None) -> Comparison:
    """The second system's figures less the first's, as `compare`; those that both have."""
    left, right = first.samples(members), second.samples(members)
    known = {figure.key for figure in left[0].figures} & {f.key for f in right[0].figures}
    sides = [
        [Sample([f for f in run.figures if f.key in known], run.dialogue) for run in side]
        for side in (left, right)
    ]
    return compare(sides[0], sides[1], trials=1)


def changes(runs: Sequence[Sample]) -> Comparison:
    """By how much a mean differs under each variant from that under the original."""
    trials = RESAMPLES if len(runs) == 1 else TRIALS  # Of one run as scores.json has them.
    return changes_to_original([run.figures for run in runs], runs[0].dialogue, trials)
