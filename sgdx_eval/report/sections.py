"""What the report says, in order: sections of tables, pictures, rewordings and errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from sgdx_dataset.io.progress import progress
from sgdx_eval.tables import NO_VALUE, Table

from . import tables
from .generation.plots import PLOTS as GENERATOR_PLOTS
from .generation.sections import entailment_section, generator_sections, generator_verdict
from .generation.tables import published as published_generators
from .inputs import ReportInputs
from .page import Part, Report, Section
from .pictures import Picture, draw_pictures
from .plots import PLOTS
from .slots.breakage import Analyses
from .slots.show import by_slot_kind, error_sections
from .systems import SystemGroup, TrackerGroup, number_of_systems
from .tools.sections import tool_sections, tool_verdict
from .verdict import tracker_verdict

# In a report of more systems than these, all but what they score and which words cost it is
# folded, so that it can be looked through.
_FEW_SYSTEMS = 4


def build_report(inputs: ReportInputs, command: str) -> Report:
    """Put together what is shown.

    Args:
        inputs: The runs and what is known of them.
        command: The command that makes the report again.

    Raises:
        SgdxError: matplotlib is not installed.
    """
    groups = [tracked.group for tracked in inputs.trackers]
    trackers, generators = number_of_systems(groups), number_of_systems(inputs.generators)
    is_folded = trackers + generators > _FEW_SYSTEMS
    pictures = len(PLOTS) * len(inputs.trackers) + len(GENERATOR_PLOTS) * len(inputs.generators)
    with progress("Drawing", pictures, " pictures"):
        parts = [
            Part(
                _title("Trackers", tracked.group),
                list(tracker_sections(tracked.group, tracked.analyses, trackers, is_folded)),
                tracked.group,
                tracker_verdict(tracked.group, tracked.analyses),
            )
            for tracked in inputs.trackers
        ]
        parts += [
            Part(
                _title("Generators", group),
                list(generator_sections(group, is_folded)),
                group,
                generator_verdict(group),
            )
            for group in inputs.generators
        ]
    parts += [
        Part(
            f"Tools, called by {run.name}",
            list(tool_sections(run, number)),
            verdict=tool_verdict(run),
        )
        for number, run in enumerate(inputs.tools, 1)
    ]
    if inputs.validations:
        section = entailment_section(inputs.validations)
        parts.append(Part("Models of entailment, tested on gold responses", [section]))
    if len(parts) == 1:
        parts = [replace(parts[0], title="")]
    kinds = ["dialogue state trackers"] * bool(trackers)
    kinds += ["response generators"] * bool(generators)
    kinds += ["calls of tools"] * bool(inputs.tools)
    subject = " and ".join(kinds or ["models of entailment"])
    counts = [
        f"{count} {kind}{'' if count == 1 else 's'}"
        for kind, count in (
            ("tracker", trackers),
            ("generator", generators),
        )
        if count
    ]
    published = [tables.published()] if inputs.trackers else []
    published += [published_generators()] if inputs.generators or inputs.validations else []
    return Report(
        title=f"{subject} under reworded schemas".capitalize(),
        lead=f"{' and '.join(counts)}: {_LEAD}" if counts else _TOOLS_LEAD * bool(inputs.tools),
        parts=parts,
        warning=_NOT_ALIKE if len(inputs.trackers) > 1 or len(inputs.generators) > 1 else "",
        left_out=inputs.left_out,
        not_analysed=inputs.not_analysed,
        command=command,
        published=published,
        errors=chain.from_iterable(
            tracked.analyses[system.name].errors
            for tracked in inputs.trackers
            for system in tracked.group.systems
            if system.name in tracked.analyses
        ),
    )


def _title(kind: str, group: SystemGroup[Any]) -> str:
    """The heading of a group, which says what was scored."""
    data = "; ".join(group.caveats) or "the whole split"
    return f"{kind}{group.heading_suffix}: {data}"


_LEAD = (
    "how well they do when somebody else words the schemas of the services, where they fail, and "
    "which words cause it."
)
_TOOLS_LEAD = "What it costs when somebody else words these tools, and which words cause the loss."
_NOT_ALIKE = (
    "Runs that were scored in the same way on the same data are in one group. Compare figures only "
    "within a group; --dialogues FILE scores all runs on the same dialogues."
)


def tracker_sections(
    group: TrackerGroup, analyses: Analyses, systems: int, is_folded: bool
) -> Iterator[Section]:
    """The sections about a group of trackers.

    Args:
        group: The systems.
        analyses: What those do whose predictions and data are at hand.
        systems: How many trackers the whole report has, which share the room for lists.
        is_folded: Whether all but scores and costly words is folded.
    """
    pictures = draw_pictures(PLOTS, group, analyses)

    def drawn(*names: str) -> list[Picture]:
        return [pictures[name] for name in names if name in pictures]

    comparison = tables.comparison(group)
    yield Section(
        "comparison",
        "Comparison",
        tables=[
            tables.comparison(group, ["all"]),
            replace(comparison, title="Seen and unseen services", note="", folded=True),
        ]
        if is_folded
        else [comparison],
        pictures=drawn("jga_by_variant", "drop_beside_flips"),
    )
    if augmentation := tables.augmentation(group):
        yield Section(
            "augmentation",
            "Training on other words",
            tables=[augmentation],
            pictures=drawn("augmentation"),
            folded=is_folded,
        )
    yield from error_sections(group, analyses, systems, pictures)
    by_service = _with_figures(tables.by_service(group), tables.by_domain(group))
    if by_service:
        yield Section(
            "services",
            "Where it breaks: services and domains",
            tables=by_service,
            pictures=drawn("services"),
            folded=is_folded,
        )
    slot_kinds = _with_figures(by_slot_kind(group, analyses))
    pictures_of_slots = drawn("turns", "flips")
    if slot_kinds or pictures_of_slots:
        yield Section(
            "slots",
            "Where it breaks: slots, turns and wordings",
            tables=slot_kinds,
            pictures=pictures_of_slots,
            folded=is_folded,
        )
    if metrics := _with_figures(tables.official_metrics(group)):
        yield Section("metrics", "All official metrics", tables=metrics, folded=True)
    if curves := drawn("learning_curves"):
        yield Section("training", "How they were trained", pictures=curves, folded=is_folded)


def _with_figures(*candidates: Table | None) -> list[Table]:
    """Those tables that have a figure of a system, as the variants may give none."""
    return [
        table
        for table in candidates
        if table is not None
        and any(
            cell.text != NO_VALUE
            for row in table.rows
            for cell, column in zip(row, table.columns, strict=True)
            if column.group
        )
    ]
