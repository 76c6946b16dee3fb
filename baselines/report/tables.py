"""The report's tables: rows of formatted cells, in percent, made from runs and analyses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import Any, NamedTuple

import numpy as np

from sgdx_metric.bootstrap import Sums, bootstrap
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.robustness import dialogue_sums, figures, mean_defined, variation
from sgdx_metric.scoring import METRICS
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .analysis import KINDS, Analysis, slot_means
from .errors import CLASSES, MEANINGS, Rewording
from .leaderboard import read_published
from .origins import ORIGINS, RULE
from .provenance import Group
from .runs import Figures, Run, Tracker, Trackers

NOTHING = "–"
Analyses = Mapping[str, Analysis]  # by the system's name
GROUPS = ("all", "seen", "unseen")


class Cell(NamedTuple):
    """A cell: its text and, in smaller type, an interval or a remark."""

    text: str
    detail: str = ""


class Column(NamedTuple):
    """A column: its name, the system that it is about if any, and whether it holds numbers."""

    name: str
    system: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    """A table of the report.

    Attributes:
        title: Its caption.
        note: How to read it, in whole sentences.
        columns: Its columns; the first names the row.
        rows: Its rows, each as long as ``columns``.
        marks: What must stand beside every figure in it, such as that the data is partial.
        signatures: The signatures of what it shows, each with the names of its systems, or with an
            empty text where there is one for all.
    """

    title: str
    note: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    marks: Sequence[str] = ()
    signatures: Mapping[str, str] = field(default_factory=dict)


def table_of(
    group: Group[Any],
    title: str,
    note: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
) -> Table:
    """A table about the systems of a group, whose marks and signatures stand by it."""
    return Table(title, note, columns, rows, group.marks, group.signatures)


def percent(fraction: float | None) -> str:
    """A fraction in percent with one decimal, such as ``34.9``; a dash for None or NaN."""
    if fraction is None or np.isnan(fraction):
        return NOTHING
    return f"{round(100 * fraction, 1) + 0.0:.1f}"  # never -0.0


def summed_up(values: Sequence[float | None], interval: tuple[float, float] | None = None) -> Cell:
    """A figure of a system: of one run with its interval, of several as mean and deviation.

    Args:
        values: The figure in each run, as a fraction.
        interval: The 95 % interval of a single run's figure.
    """
    known = [value for value in values if value is not None and not np.isnan(value)]
    if len(known) < len(values) or not known:
        return Cell(NOTHING)
    if len(known) > 1:
        return Cell(percent(mean(known)), f"± {percent(stdev(known))}")
    ends = f"{percent(interval[0])} to {percent(interval[1])}" if interval else ""
    return Cell(percent(known[0]), ends)


def _of(run: Run, group: str) -> Figures:
    figures_of_all = run.scores.sgdx
    return figures_of_all if group == "all" else getattr(figures_of_all, group)


def comparison(group: Trackers) -> Table:
    """The paper's Table 2: the headline figures of all, seen and unseen services."""
    rows = []
    for system in group.systems:
        for services in GROUPS:
            of_runs = [_of(run, services) for run in system.runs]
            one = of_runs[0].confidence if len(of_runs) == 1 else {}
            rows.append(
                [
                    Cell(system.name, "; ".join(system.marks)),
                    Cell(services),
                    Cell(f"{system.first.scores.frames.get(services, 0):,}"),
                    summed_up([f.jga_orig for f in of_runs], one.get("jga_orig")),
                    summed_up([f.jga_v1_5 for f in of_runs], one.get("jga_v1-5")),
                    summed_up([f.relative_difference for f in of_runs]),
                    summed_up([f.ss_jga for f in of_runs], one.get("ss_jga")),
                ]
            )
    return table_of(
        group,
        "Joint goal accuracy and schema sensitivity",
        _COMPARISON + _lacking(group),
        [
            Column("system", numeric=False), Column("services", numeric=False), Column("frames"),
            Column("JGA_orig"), Column("JGA_v1-5"), Column("Diff_rel"), Column("SS_JGA"),
        ],
        rows,
    )  # fmt: skip


_COMPARISON = (
    "In percent, as Table 2 of the SGD-X paper. JGA_orig is the joint goal accuracy under the "
    "original schemas, JGA_v1-5 its mean under the reworded ones, Diff_rel the relative "
    "difference between the two, and SS_JGA the schema sensitivity, of which less is better. "
    "Seen services are those of the original train split. Beneath a single run's figure stands "
    "its 95 % interval over dialogues, beneath the mean of several seeds ± their standard "
    "deviation."
)


def _lacking(group: Trackers) -> str:
    """What has to be known of the figures where not all of v1 to v5 were scored."""
    found = [name for name in PAPER_VARIANTS if name in group.first.variants]
    if len(found) == len(PAPER_VARIANTS):
        return ""
    given = f"only {' and '.join(found)}" if found else "none"
    return (
        f" Of v1 to v5 {given} {'was' if len(found) < 2 else 'were'} scored, so there is no "
        "JGA_v1-5, and SS_JGA, if any, is over these alone."
    )


def families(group: Trackers) -> list[tuple[Tracker, list[Tracker]]]:
    """Systems without augmentation, each with those that differ from it in the augmentation."""
    by_key: dict[str, list[Tracker]] = {}
    for system in group.systems:
        by_key.setdefault(system.first.key(without_augmentation=True), []).append(system)
    found = []
    for systems in by_key.values():
        plain = [one for one in systems if not one.first.augmentation]
        if len(plain) == 1 and len(systems) > 1:
            found.append((plain[0], [one for one in systems if one is not plain[0]]))
    return found


def augmentation(group: Trackers) -> Table | None:
    """The paper's Table 3: what training on other words changes; None where nothing was."""
    rows = []
    for plain, others in families(group):
        for system in (plain, *others):
            of_runs = [run.scores.sgdx for run in system.runs]
            found = {} if system is plain else paired_differences(plain, system)
            row = [
                Cell(plain.name),
                Cell(system.first.augmentation or "none", "; ".join(system.marks)),
            ]
            for name, values in (
                ("jga_orig", [f.jga_orig for f in of_runs]),
                ("jga_v1-5", [f.jga_v1_5 for f in of_runs]),
                ("ss_jga", [f.ss_jga for f in of_runs]),
            ):
                row += [summed_up(values), found.get(name, Cell(NOTHING))]
            rows.append(row)
    if not rows:
        return None
    return table_of(
        group,
        "Training on other words",
        "In percent, as Table 3 of the SGD-X paper. Each difference is to the row without "
        "augmentation, in percentage points, with its paired 95 % interval over dialogues; where "
        "there are several seeds it is that of the means over the seeds. Oracle rows were trained "
        "on v1 to v5 themselves and are upper bounds.",
        [
            Column("system", numeric=False), Column("augmentation", numeric=False),
            Column("JGA_orig"), Column("difference"), Column("JGA_v1-5"), Column("difference"),
            Column("SS_JGA"), Column("difference"),
        ],
        rows,
    )  # fmt: skip


def paired_differences(first: Tracker, second: Tracker) -> dict[str, Cell]:
    """The second system's headline figures less the first's, each with its paired interval."""
    sums = [system_sums(one) for one in (first, second)]
    variants = list(first.first.jga)

    def difference(weights: Floats) -> dict[str, Floats]:
        left, right = (figures(one.means(weights), variants) for one in sums)
        return {name: right[name] - left[name] for name in left}

    count = len(sums[0].total)
    ends = bootstrap(difference, count)
    found = {}
    for name, value in difference(np.ones((1, count))).items():
        low_high = ends.get(name)
        found[name] = Cell(
            signed(float(value[0])),
            f"{signed(low_high[0])} to {signed(low_high[1])}" if low_high else "",
        )
    return found


def signed(fraction: float) -> str:
    """A difference in percentage points, such as ``+1.5``; a dash for NaN.

    What rounds to zero keeps its sign, as in ``-0.0``: it tells whether an interval contains zero.
    """
    return NOTHING if np.isnan(fraction) else f"{100 * fraction + 0.0:+.1f}"


def system_sums(system: Tracker, these: Ints | None = None) -> Sums:
    """The sums over dialogues of all of a system's runs, whose means are the means over runs."""
    first = system.first
    chosen = np.arange(len(first.order)) if these is None else these
    parts = [dialogue_sums(run.jga, first.place, chosen, first.rules) for run in system.runs]
    return Sums(sum(p.total for p in parts), sum(p.number for p in parts))  # type: ignore[arg-type]


def headline(system: Tracker, these: Ints) -> dict[str, float]:
    """JGA_orig, JGA_v1-5, Diff_rel and SS_JGA of some frames, as means over the runs.

    Those that the variants do not give are left out.
    """
    sums = system_sums(system, these)
    means = sums.means(np.ones((1, len(sums.total))))
    found = {name: float(v[0]) for name, v in figures(means, list(system.first.jga)).items()}
    if {"jga_orig", "jga_v1-5"} <= found.keys() and found["jga_orig"]:
        found["relative_difference"] = found["jga_v1-5"] / found["jga_orig"] - 1
    return found


_SHORT = {"JGA_orig": "jga_orig", "JGA_v1-5": "jga_v1-5", "SS_JGA": "ss_jga"}


def _by_frames(
    group: Trackers, title: str, note: str, what: str, members: Mapping[str, tuple[str, Ints]]
) -> Table:
    """A row for each set of frames and three columns for each system."""
    rows = []
    for name, (detail, these) in members.items():
        row = [Cell(name, detail), Cell(f"{len(these):,}")]
        for system in group.systems:
            found = headline(system, these)
            row += [Cell(percent(found.get(key))) for key in _SHORT.values()]
        rows.append(row)
    columns = [Column(what, numeric=False), Column("frames")]
    columns += [Column(name, s.label) for s in group.systems for name in _SHORT]
    return table_of(group, title, note, columns, rows)


def by_service(group: Trackers) -> Table:
    """The headline figures of each service."""
    place = group.first.place
    seen = set(place.service[place.seen])
    members = {
        name: ("seen" if name in seen else "unseen", np.flatnonzero(place.service == name))
        for name in place.services()
    }
    note = (
        "In percent. Services go by their original names; those of the original train split are "
        "seen. Figures of services with few frames are rough."
    )
    return _by_frames(group, "By service", note, "service", members)


def by_domain(group: Trackers) -> Table:
    """The headline figures of each domain."""
    domain = np.array([name.split("_")[0] for name in group.first.place.service])
    members = {name: ("", np.flatnonzero(domain == name)) for name in sorted(set(domain.tolist()))}
    note = "In percent. A domain is a service's name up to its first underscore."
    return _by_frames(group, "By domain", note, "domain", members)


def by_slot_kind(group: Trackers, analyses: Analyses) -> Table | None:
    """The accuracy of slots by their kind and by who said their value."""
    systems = [one for one in group.systems if one.name in analyses]
    if not systems:
        return None
    first = analyses[systems[0].name]
    active = first.layout.active
    members: dict[str, Ints] = {
        f"kind: {name}": np.flatnonzero(active & (first.kinds == i)) for i, name in enumerate(KINDS)
    }
    if first.data.turns:
        members |= {
            f"said by: {name}": np.flatnonzero(active & (first.origins == i))
            for i, name in enumerate(ORIGINS)
        }
    rows = []
    for name, these in members.items():
        row = [Cell(name), Cell(f"{len(these):,}")]
        for system in systems:
            row += _slot_cells(system, analyses[system.name], these)
        rows.append(row)
    columns = [Column("slots", numeric=False), Column("values")]
    names = ("Acc_orig", "Acc_v1-5", "SS")
    columns += [Column(name, s.label) for s in systems for name in names]
    note = (
        "In percent. Acc is the mean score of the slots that have a value in the reference, once "
        "in every frame whose state holds it; SS is its schema sensitivity. Yes-or-no slots are "
        f"categorical ones with the values True and False. {RULE if first.data.turns else ''}"
    )
    return table_of(group, "By kind of slot, and by who said the value", note, columns, rows)


def _slot_cells(system: Tracker, analysis: Analysis, these: Ints) -> list[Cell]:
    variants = list(system.first.scores.variants)
    original = slot_means(analysis, these, ORIGINAL) if ORIGINAL in variants else None
    reworded = None
    sensitivity: list[float | None] = []
    if set(PAPER_VARIANTS) <= set(variants):
        reworded = np.mean([slot_means(analysis, these, v) for v in PAPER_VARIANTS], axis=0)
        for run in analysis.scores:
            scores = np.stack([run[v].slots[these] for v in PAPER_VARIANTS]).astype(np.float64)
            sensitivity.append(mean_defined(variation(scores, system.first.rules.zero_mean)))
    return [
        summed_up([] if original is None else original.tolist()),
        summed_up([] if reworded is None else reworded.tolist()),
        summed_up(sensitivity),
    ]


def official_metrics(group: Trackers) -> Table:
    """The official scorer's 13 metrics and the sensitivity of each."""
    rows = []
    for metric in METRICS:
        row = [Cell(metric)]
        for system in group.systems:
            original = [
                run.scores.variants.get(ORIGINAL, {}).get("#ALL_SERVICES", {}).get(metric)
                for run in system.runs
            ]
            row.append(summed_up(original))
            row.append(summed_up([run.scores.sgdx.mean.get(metric) for run in system.runs]))
            row.append(summed_up([run.scores.sgdx.sensitivity.get(metric) for run in system.runs]))
        rows.append(row)
    columns = [Column("metric", numeric=False)]
    columns += [Column(name, s.label) for s in group.systems for name in ("original", "v1-5", "SS")]
    note = (
        "In percent, over all services: each metric of the official scorer under the original "
        "schemas, its mean under v1 to v5, and its schema sensitivity. A dash stands where a "
        "metric is not defined, such as slot tagging where no spans are predicted."
    )
    return table_of(group, "The 13 official metrics and their sensitivity", note, columns, rows)


def error_classes(group: Trackers, analyses: Analyses) -> Table | None:
    """How many slots and intents the reworded schemas break, by class."""
    systems = [one for one in group.systems if one.name in analyses]
    if not any(ORIGINAL in one.first.jga for one in systems):
        return None
    rows = []
    totals = {one.name: Counter(x.kind for x in analyses[one.name].losses) for one in systems}
    for kind in CLASSES:
        row = [Cell(kind, MEANINGS[kind])]
        for system in systems:
            count = totals[system.name][kind]
            whole = sum(totals[system.name].values())
            row += [Cell(f"{count:,}"), Cell(percent(count / whole if whole else None))]
        rows.append(row)
    columns = [Column("class", numeric=False)]
    columns += [Column(name, s.label) for s in systems for name in ("errors", "%")]
    note = (
        "An error is a slot or an intent that a reworded schema breaks, in one frame under one "
        "variant. A slot counts where every slot of the frame is right under the original and this "
        "one scores less than 1 under the variant; an intent counts where it is right under the "
        "original and wrong under the variant. Of several seeds this is the first run."
    )
    return table_of(group, "What breaks: errors by class", note, columns, rows)


def rewording_cells(one: Rewording) -> list[Cell]:
    """A row of the table of the costliest rewordings."""
    return [
        Cell(one.service),
        Cell(one.variant),
        Cell(one.before.name, one.before.description),
        Cell(one.after.name, one.after.description),
        Cell(_count(one.lost)),
        Cell(_count(one.won)),
        Cell(_count(one.net)),
    ]


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


REWORDING_COLUMNS = [
    Column("service", numeric=False), Column("variant", numeric=False),
    Column("original words", numeric=False), Column("new words", numeric=False),
    Column("lost"), Column("won"), Column("net"),
]  # fmt: skip


def published() -> Table:
    """The published figures of trackers, which stand apart from those of runs."""
    rows = []
    for one in read_published():
        for services, of in (("all", one.all), ("seen", one.seen), ("unseen", one.unseen)):
            if of is not None:
                found = (of.jga_orig, of.jga_v1_5, of.relative_difference, of.ss_jga)
                rows.append(
                    [
                        Cell(one.name, "oracle" if one.oracle else ""),
                        Cell(services),
                        *(Cell(NOTHING if v is None else f"{v:.1f}") for v in found),
                        Cell(one.data),
                        Cell(", ".join(filter(None, (one.source, one.table)))),
                        Cell(one.not_comparable),
                    ]
                )
    columns = [
        Column("system", numeric=False), Column("services", numeric=False), Column("JGA_orig"),
        Column("JGA_v1-5"), Column("Diff_rel"), Column("SS_JGA"), Column("data", numeric=False),
        Column("source", numeric=False), Column("not comparable because", numeric=False),
    ]  # fmt: skip
    note = (
        "In percent, out of papers, measured by their authors with their own code. They stand "
        "apart, because the runs of this report share neither their training nor, where that is "
        "said there, their data."
    )
    return Table("Published figures of trackers", note, columns, rows)
