"""The report's tables of trackers: rows of formatted cells, in percent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sgdx_eval.tables import (
    NO_VALUE,
    Cell,
    Column,
    Table,
    format_over_runs,
    percent,
    points_cell,
)
from sgdx_metric.columns import Ints
from sgdx_metric.report import BESIDE
from sgdx_metric.scoring import METRICS
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from ..published import read_published
from .numbers import (
    Estimate,
    frames_by_service,
    headline_scores,
    paired_differences,
)
from .runs import TrackerRun
from .stored import GroupScores
from .systems import TrackerGroup, TrackerSystem, augmentation_families

_SERVICES = ("all", "seen", "unseen")
_HEADLINE = {
    "JGA_orig": "jga_orig",
    "JGA_v1-5": "jga_v1-5",
    "SS_JGA": "ss_jga",
    "JGA_worst": "jga_worst",
    "flips": "flips",
}


def comparison(group: TrackerGroup, services_shown: Sequence[str] = _SERVICES) -> Table:
    """The paper's Table 2: the headline scores of all, seen and unseen services.

    Args:
        group: The systems.
        services_shown: Which rows a system has, of ``all``, ``seen`` and ``unseen``.
    """
    rows = []
    # Not all references have canonical values.
    runs = [run for system in group.systems for run in system.runs]
    beside = [name for name in BESIDE if any(name in run.results.joint for run in runs)]
    figures = [(f"{name}_{mean}", f"{name}_{key}") for name in beside for mean, key in _MEANS]
    for system in group.systems:
        for services in services_shown:
            scores = [_scores_of(run, services) for run in system.runs]
            intervals = scores[0].confidence if len(scores) == 1 else {}
            rows.append(
                [
                    _system_cell(system),
                    Cell(services),
                    Cell(f"{system.first.results.stored.frames.get(services, 0):,}"),
                    format_over_runs([s.jga_orig for s in scores], intervals.get("jga_orig")),
                    format_over_runs([s.jga_v1_5 for s in scores], intervals.get("jga_v1-5")),
                    format_over_runs([s.relative_difference for s in scores]),
                    format_over_runs([s.ss_jga for s in scores], intervals.get("ss_jga")),
                    format_over_runs([s.jga_worst for s in scores], intervals.get("jga_worst")),
                    format_over_runs([s.flips for s in scores], intervals.get("flips")),
                    *(
                        format_over_runs([getattr(s, key) for s in scores], intervals.get(name))
                        for name, key in figures
                    ),
                ]
            )
    return Table(
        "Joint goal accuracy and schema sensitivity",
        _COMPARISON + "".join(_BESIDE[name] for name in beside) + _missing_variants(group),
        [
            Column("system", numeric=False), Column("services", numeric=False), Column("frames"),
            Column("JGA_orig"), Column("JGA_v1-5"), Column("Diff_rel"), Column("SS_JGA"),
            Column("JGA_worst"), Column("flips"),
            *(Column(name.capitalize()) for name, _ in figures),
        ],
        rows,
        group.caveats,
        group.signatures,
    )  # fmt: skip


def _scores_of(run: TrackerRun, services: str) -> GroupScores:
    """The scores of all services, of the seen or of the unseen ones."""
    scores = run.results.stored.sgdx
    return {"all": scores, "seen": scores.seen, "unseen": scores.unseen}[services]


_COMPARISON = (
    "The figures are in percent, as in Table 2 of the SGD-X paper. JGA_orig is the joint goal "
    "accuracy under the original schemas. JGA_v1-5 is its mean under the reworded schemas v1 to "
    "v5. Diff_rel is the relative difference. SS_JGA is the schema sensitivity; lower is better. "
    "JGA_worst scores each frame under its worst wording of the six. Flips are the frames that "
    "are right under one of the six wordings and wrong under another; lower is better. The paper "
    "has neither JGA_worst nor flips. Seen services are in the original train split. The small "
    "figures are 95 % intervals over dialogues. With several seeds, the figure after ± is the "
    "standard deviation."
)


_MEANS = (("orig", "orig"), ("v1-5", "v1_5"))  # in names of figures, and of their attributes
_BESIDE = {
    "change": " Change is the joint goal accuracy of only what changes since the service's "
    "previous frame, so a mistake is not counted again in every later turn.",
    "canonical": " Canonical is the joint goal accuracy that also accepts the form of a value that "
    "an API takes, such as 2019-03-01 for a date, if the dialogue acts so far have it.",
}


def _system_cell(system: TrackerSystem) -> Cell:
    return Cell(system.name, "; ".join(system.caveats))


def _missing_variants(group: TrackerGroup) -> str:
    """What a reader has to know where not all of v1 to v5 were scored; empty where all were."""
    scored = [name for name in PAPER_VARIANTS if name in group.first.variants]
    if len(scored) == len(PAPER_VARIANTS):
        return ""
    names = f"only {' and '.join(scored)}" if scored else "none"
    return (
        f" Of v1 to v5, {names} {'was' if len(scored) < 2 else 'were'} scored. So there is no "
        "JGA_v1-5, no JGA_worst and no flips. SS_JGA, if there is one, is over only these variants."
    )


def augmentation(group: TrackerGroup) -> Table | None:
    """The paper's Table 3: what training on other words changes; None where nothing was."""
    rows = []
    for family in augmentation_families(group):
        for system in family.systems:
            scores = [run.results.stored.sgdx for run in system.runs]
            differences = {} if system is family.plain else paired_differences(family.plain, system)
            row = [
                Cell(family.plain.name),
                Cell(system.first.augmentation or "none", "; ".join(system.caveats)),
            ]
            for name, values in (
                ("jga_orig", [s.jga_orig for s in scores]),
                ("jga_v1-5", [s.jga_v1_5 for s in scores]),
                ("ss_jga", [s.ss_jga for s in scores]),
            ):
                row += [format_over_runs(values), difference_cell(differences.get(name))]
            rows.append(row)
    if not rows:
        return None
    return Table(
        "Training on other words",
        "The figures are in percent, as in Table 3 of the SGD-X paper. Each difference is to the "
        "row without augmentation, in percentage points, with its paired 95 % interval over "
        "dialogues. With several seeds, it is the difference of the means over the seeds. Oracle "
        "rows were trained on v1 to v5 themselves and are upper bounds.",
        [
            Column("system", numeric=False), Column("augmentation", numeric=False),
            Column("JGA_orig"), Column("difference"), Column("JGA_v1-5"), Column("difference"),
            Column("SS_JGA"), Column("difference"),
        ],
        rows,
        group.caveats,
        group.signatures,
    )  # fmt: skip


def difference_cell(difference: Estimate | None) -> Cell:
    """A difference in percentage points with its interval; a dash where there is none."""
    if difference is None:
        return Cell(NO_VALUE)
    return points_cell(difference.value, difference.interval)


def by_service(group: TrackerGroup) -> Table:
    """The headline scores of each service."""
    index = group.first.results.frame_index
    seen = set(index.service[index.seen])
    members = frames_by_service(group.systems[0])
    details = {name: "seen" if name in seen else "unseen" for name in members}
    note = (
        "The figures are in percent. Services have their original names. A service is seen if "
        "the original train split has it. Figures of services with few frames are rough."
    )
    rows = _headline_rows(group, members, details)
    columns = _headline_columns(group, "service")
    return Table("By service", note, columns, rows, group.caveats, group.signatures, folded=True)


def by_domain(group: TrackerGroup) -> Table:
    """The headline scores of each domain."""
    domain = np.array([name.split("_")[0] for name in group.first.results.frame_index.service])
    members = {name: np.flatnonzero(domain == name) for name in sorted(set(domain.tolist()))}
    note = "The figures are in percent. A domain is a service's name up to its first underscore."
    rows, columns = _headline_rows(group, members, {}), _headline_columns(group, "domain")
    return Table("By domain", note, columns, rows, group.caveats, group.signatures, folded=True)


def _headline_columns(group: TrackerGroup, first: str) -> list[Column]:
    columns = [Column(first, numeric=False), Column("frames")]
    return columns + [Column(name, s.label) for s in group.systems for name in _HEADLINE]


def _headline_rows(
    group: TrackerGroup, members: Mapping[str, Ints], details: Mapping[str, str]
) -> list[list[Cell]]:
    """A row for each set of frames, with the headline scores of each system.

    Args:
        group: The systems.
        members: Positions of the frames of each set, by its name.
        details: A remark on some of the sets, by name.
    """
    rows = []
    for name, frames in members.items():
        row = [Cell(name, details.get(name, "")), Cell(f"{len(frames):,}")]
        for system in group.systems:
            scores = headline_scores(system, frames)
            row += [Cell(percent(scores.get(key), 1)) for key in _HEADLINE.values()]
        rows.append(row)
    return rows


def official_metrics(group: TrackerGroup) -> Table:
    """The official scorer's 13 metrics, the change accuracy, and the sensitivity of each."""
    rows = []
    for metric in METRICS:
        row = [Cell(metric)]
        for system in group.systems:
            scores = [run.results.stored for run in system.runs]
            original = [s.variants.get(ORIGINAL, {}).get("#ALL_SERVICES", {}) for s in scores]
            row.append(format_over_runs([metrics.get(metric) for metrics in original]))
            row.append(format_over_runs([s.sgdx.mean.get(metric) for s in scores]))
            row.append(format_over_runs([s.sgdx.sensitivity.get(metric) for s in scores]))
        rows.append(row)
    columns = [Column("metric", numeric=False)]
    columns += [Column(name, s.label) for s in group.systems for name in ("original", "v1-5", "SS")]
    note = (
        "The figures are in percent, over all services: each metric under the original schemas, "
        "its mean under v1 to v5, and its schema sensitivity (SS). The metrics beyond the 13 are "
        "ours. A dash marks a metric that is not defined, such as slot tagging if no spans are "
        "predicted."
    )
    title = "The 13 official metrics and ours, with their sensitivity"
    return Table(title, note, columns, rows, group.caveats, group.signatures)


_OF_PAPERS = ("jga_orig", "jga_v1-5", "relative_difference", "ss_jga")


def published() -> Table:
    """The published scores of trackers, which stand apart from those of runs."""
    rows = [
        [
            Cell(row.name, "oracle" if row.oracle else ""),
            Cell(services),
            *(Cell(f"{headline[key]:.1f}" if key in headline else NO_VALUE) for key in _OF_PAPERS),
            Cell(row.data),
            Cell(row.where),
            Cell(row.not_comparable),
        ]
        for row in read_published()
        for services, headline in zip(_SERVICES, (row.all, row.seen, row.unseen))
        if headline is not None
    ]
    columns = [
        Column("system", numeric=False), Column("services", numeric=False), Column("JGA_orig"),
        Column("JGA_v1-5"), Column("Diff_rel"), Column("SS_JGA"), Column("data", numeric=False),
        Column("source", numeric=False), Column("not comparable because", numeric=False),
    ]  # fmt: skip
    note = (
        "These figures are in percent. They are from papers, whose authors measured them with "
        "their own code. Do not compare them with the runs of this report, because the systems "
        "were trained in another way. The column 'data' says what they were scored on."
    )
    return Table("Published figures of trackers", note, columns, rows, folded=True)
