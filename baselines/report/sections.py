"""What the report says, in order: sections of tables, pictures, rewordings and errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sgdx_metric.variants import ORIGINAL

from . import tables
from .analysis import Analyses, Analysis
from .breakage import INTENT, Breakage, choose_examples, costliest_rewordings, element_at
from .cells import Cell
from .generation.sections import entailment_section, generator_sections
from .generation.tables import published as published_generators
from .inputs import ReportInputs
from .page import Example, Part, Report, RewordingList, Section
from .pictures import Picture, draw_pictures
from .plots import PLOTS
from .systems import TrackerGroup, TrackerSystem, number_of_systems
from .tools.sections import tool_sections

# How many errors and rewordings are shown, all systems together, so that the page stays small; the
# tables count all of them.
_EXAMPLES = 480
_REWORDINGS = 300
_MOST_OF_A_SYSTEM = 120


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
    parts = [
        Part(
            f"Tracking: what the user wants{tracked.group.heading_suffix}",
            list(tracker_sections(tracked.group, tracked.analyses, trackers)),
            tracked.group,
        )
        for tracked in inputs.trackers
    ]
    parts += [
        Part(
            f"Generation: what the system says{group.heading_suffix}",
            list(generator_sections(group)),
            group,
        )
        for group in inputs.generators
    ]
    parts += [
        Part(f"Tools: what is called by {run.name}", list(tool_sections(run, number)))
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
        command=command,
        published=published,
    )


_LEAD = (
    "how well they do when somebody else words the schemas of the services, where they break, and "
    "which words break them."
)
_TOOLS_LEAD = "What it costs when somebody else words these tools, and which words cost it."
_NOT_ALIKE = (
    "The signatures of these runs differ, so each group of runs that were scored alike, on the "
    "same frames or turns, has tables of its own. Do not compare figures of different groups."
)


def tracker_sections(group: TrackerGroup, analyses: Analyses, systems: int) -> Iterator[Section]:
    """The sections about a group of trackers.

    Args:
        group: The systems.
        analyses: What those do whose predictions and data are at hand.
        systems: How many trackers the whole report has, which share the room for lists.
    """
    pictures = draw_pictures(PLOTS, group, analyses)

    def drawn(*names: str) -> list[Picture]:
        return [pictures[name] for name in names if name in pictures]

    yield Section(
        "comparison",
        "Comparison",
        tables=[tables.comparison(group)],
        pictures=drawn("jga_by_variant", "drop_beside_flips"),
    )
    augmentation = tables.augmentation(group)
    yield Section(
        "augmentation",
        "Training on other words",
        "" if augmentation else _NO_AUGMENTATION,
        tables=[augmentation] if augmentation else [],
        pictures=drawn("augmentation"),
    )
    yield Section(
        "services",
        "Where it breaks: services and domains",
        tables=[tables.by_service(group), tables.by_domain(group)],
        pictures=drawn("services"),
    )
    slot_kinds = tables.by_slot_kind(group, analyses)
    yield Section(
        "slots",
        "Where it breaks: slots, turns and variants",
        tables=[slot_kinds] if slot_kinds else [],
        pictures=drawn("turns", "flips"),
    )
    analysed = [system for system in group.systems if system.name in analyses]
    rewordings = [
        rewording_list
        for system in analysed
        for rewording_list in _rewordings(system, analyses[system.name], systems)
    ]
    yield Section(
        "rewordings",
        "The costliest rewordings",
        _REWORDINGS_TEXT if rewordings else _NOTHING_TO_LIST,
        pictures=drawn("words_changed"),
        rewordings=rewordings,
    )
    count = min(_MOST_OF_A_SYSTEM, _EXAMPLES // systems)
    examples = [
        example
        for system in analysed
        for example in _examples(system, analyses[system.name], count)
    ]
    error_classes = tables.error_classes(group, analyses)
    yield Section(
        "errors",
        "Errors, one by one",
        "" if examples else _NOTHING_TO_LIST,
        tables=[error_classes] if error_classes else [],
        examples=examples,
        errors=sum(len(analysis.breakages) for analysis in analyses.values()),
    )
    yield Section("metrics", "All official metrics", tables=[tables.official_metrics(group)])
    if curves := drawn("learning_curves"):
        yield Section("training", "How they were trained", pictures=curves)


_NO_AUGMENTATION = (
    "No two runs here differ in their augmentation alone. Give a run that was trained with an "
    "augmentation beside the one without, and the paper's Table 3 and Figure 5 stand here."
)
_REWORDINGS_TEXT = (
    "For authors of schemas: the slots and intents whose new words cost most. Lost are the "
    "frames in which the slot or intent is right under the original words and wrong under the new "
    "ones; won are the frames in which it is the other way round; net is lost minus won. An error "
    "counts again in every later turn whose state still has it. With several seeds these are the "
    "means over them."
)
_NOTHING_TO_LIST = (
    "There is nothing to list: no rewording broke anything, or the data, the predictions or the "
    "predictions under the original schemas are not at hand."
)


def _rewordings(system: TrackerSystem, analysis: Analysis, systems: int) -> Iterator[RewordingList]:
    """The costliest rewordings of slots, and of intents, where there are any."""
    rewordings = costliest_rewordings(analysis.changes, analysis.schemas)
    longest = min(_MOST_OF_A_SYSTEM, _REWORDINGS // systems) // 2
    for what in ("slots", "intents"):
        some = [r for r in rewordings if r.element.is_intent == (what == "intents")]
        if some:
            yield RewordingList(system, what, some[:longest], len(some))


def _examples(system: TrackerSystem, analysis: Analysis, count: int) -> Iterator[Example]:
    """Errors of a system's first run, spread over classes, services and variants."""
    services = system.first.results.frame_index.service.tolist()
    for breakage in choose_examples(analysis.breakages, services, count):
        yield _example(system, analysis, breakage)


def _example(system: TrackerSystem, analysis: Analysis, breakage: Breakage) -> Example:
    results = system.first.results
    service = results.frame_index.service[breakage.frame]
    frame_id = results.frame_ids[breakage.frame].as_py()
    dialogue, turn, _ = frame_id.rsplit("/", 2)
    utterances = dict(enumerate(text for _, text in analysis.data.turns.get(dialogue, [])))
    before, after = (
        _words(analysis, variant, service, breakage) for variant in (ORIGINAL, breakage.variant)
    )
    return Example(
        system=system.name,
        breakage=breakage,
        service=service,
        frame_id=frame_id,
        seen="seen" if results.frame_index.seen[breakage.frame] else "unseen",
        system_utterance=utterances.get(int(turn) - 1, ""),
        user_utterance=utterances.get(int(turn), ""),
        before=before,
        after=after,
    )


def _words(analysis: Analysis, variant: str, service: str, breakage: Breakage) -> Cell:
    """The name and description of the slot or intent that breaks, under a variant."""
    if breakage.position < 0:
        return Cell("NONE", "no intent is active")
    schema = analysis.schemas[variant][service]
    element = element_at(schema, breakage.position, breakage.kind == INTENT)
    return Cell(element.name, element.description)
