"""What the report says, in order: sections of tables, figures, rewordings and errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sgdx_metric.variants import ORIGINAL

from . import tables
from .analysis import Analysis
from .contents import Example, Part, Report, RewordingList, Section
from .errors import INTENT, Loss, costliest, element_at, spread
from .figures import DRAWINGS, LEARNING_CURVES, Figure, draw_figures
from .gather import Gathered
from .generation.sections import generation_parts
from .generation.tables import published as published_generators
from .provenance import Group
from .runs import Tracker, Trackers
from .tables import Analyses, Cell, Table

# How many errors and rewordings are shown, all systems together, so that the page stays small; the
# tables count all of them.
_EXAMPLES = 480
_REWORDINGS = 300
_MOST_OF_A_SYSTEM = 120


def build_report(gathered: Gathered, command: str) -> Report:
    """Put together what is shown.

    Args:
        gathered: The runs and what is known of them.
        command: The command that makes the report again.

    Raises:
        SgdxError: matplotlib is not installed.
    """
    trackers = list(_tracking(gathered))
    first = len(trackers) + 1
    generators = list(generation_parts(gathered.generators, gathered.validations, first))
    parts = [*trackers, *generators]
    if len(parts) == 1:
        parts = [replace(parts[0], title="")]
    kinds = {
        "tracker": ("dialogue state trackers", _number_of(gathered.groups)),
        "generator": ("response generators", _number_of(gathered.generators)),
    }
    titles = [title for title, number in kinds.values() if number] or ["models of entailment"]
    counts = [f"{n} {one}{'' if n == 1 else 's'}" for one, (_, n) in kinds.items() if n]
    published = [tables.published()] if gathered.groups else []
    published += [published_generators()] if generators else []
    return Report(
        title=f"{' and '.join(titles)} under reworded schemas".capitalize(),
        lead=f"{' and '.join(counts)}: {_LEAD}" if counts else "",
        parts=parts,
        warning=_NOT_ALIKE if len(gathered.groups) > 1 or len(gathered.generators) > 1 else "",
        left_out=gathered.left_out,
        command=command,
        published=published,
    )


def _number_of(groups: Sequence[Group[Any]]) -> int:
    return sum(len(group.systems) for group in groups)


_LEAD = (
    "how well they do when somebody else words the schemas of the services, where they break, and "
    "which words break them."
)
_NOT_ALIKE = (
    "The signatures of these runs differ, so each group of runs that were scored alike, on the "
    "same frames or turns, has tables of its own. Set no figure of one group against another's."
)


def _tracking(gathered: Gathered) -> Iterator[Part]:
    """The parts about trackers."""
    groups = gathered.groups
    systems = max(1, _number_of(groups))
    for group, found in zip(groups, gathered.analyses, strict=True):
        suffix = f"_{group.number}" if len(groups) > 1 else ""
        drawn = draw_figures((*DRAWINGS, LEARNING_CURVES), group, suffix, found)
        title = "Tracking: what the user wants"
        title += f", group {group.number}" if len(groups) > 1 else ""
        sections = list(_sections(group, found, drawn, systems))
        names = [one.name for one in group.systems]
        yield Part(group.number, title, names, group.marks, group.signatures, sections)


def _sections(
    group: Trackers, analyses: Analyses, drawn: Mapping[str, Figure], systems: int
) -> Iterator[Section]:
    """The sections of a group.

    Args:
        group: The systems.
        analyses: What those do whose predictions and data are at hand.
        drawn: The figures by name.
        systems: How many systems the whole report has, which share the room for lists.
    """

    def figures(*names: str) -> list[Figure]:
        return [drawn[name] for name in names if name in drawn]

    yield Section(
        "comparison", "Comparison", "", [tables.comparison(group)], figures("jga_by_variant")
    )
    augmented = _made(tables.augmentation(group))
    text = "" if augmented else _NO_AUGMENTATION
    yield Section(
        "augmentation", "Training on other words", text, augmented, figures("augmentation")
    )
    yield Section(
        "services", "Where it breaks: services and domains", "",
        [tables.by_service(group), tables.by_domain(group)], figures("services"),
    )  # fmt: skip
    kinds = _made(tables.by_slot_kind(group, analyses))
    where = figures("turns", "flips")
    yield Section("slots", "Where it breaks: slots, turns and variants", "", kinds, where)
    analysed = [one for one in group.systems if one.name in analyses]
    lists = [x for one in analysed for x in _rewordings(one, analyses[one.name], systems)]
    text = _REWORDINGS_TEXT if lists else _NOTHING_TO_LIST
    words = figures("words_changed")
    yield Section("rewordings", "The costliest rewordings", text, (), words, lists)
    count = min(_MOST_OF_A_SYSTEM, _EXAMPLES // systems)
    examples = [x for one in analysed for x in _examples(one, analyses[one.name], count)]
    classes = _made(tables.error_classes(group, analyses))
    errors = sum(len(one.losses) for one in analyses.values())
    text = "" if examples else _NOTHING_TO_LIST
    yield Section("errors", "Errors, one by one", text, classes, (), (), examples, errors)
    yield Section("metrics", "All official metrics", "", [tables.official_metrics(group)])
    if curves := figures("learning_curves"):
        yield Section("training", "How they were trained", "", (), curves)


_NO_AUGMENTATION = (
    "No two runs here differ in their augmentation alone. Give a run that was trained with an "
    "augmentation beside the one without, and the paper's Table 3 and Figure 5 stand here."
)
_REWORDINGS_TEXT = (
    "For whoever words an API: the slots and intents whose new words cost most. Lost are the "
    "frames in which the slot or intent is right under the original words and wrong under the new "
    "ones, won those the other way round, and the net is lost less won. An error counts again in "
    "every later turn that carries it on. Of several seeds these are means."
)
_NOTHING_TO_LIST = (
    "There is nothing to list: nothing broke, or the predictions, those under the original schemas "
    "or the data are not at hand."
)


def _made(table: Table | None) -> list[Table]:
    return [] if table is None else [table]


def _rewordings(system: Tracker, analysis: Analysis, systems: int) -> Iterator[RewordingList]:
    found = costliest(analysis.counts, analysis.wordings)
    shown = min(_MOST_OF_A_SYSTEM, _REWORDINGS // systems) // 2
    for what in ("slots", "intents"):
        rows = [one for one in found if one.is_intent == (what == "intents")]
        if rows:
            yield RewordingList(system, what, rows[:shown], len(rows))


def _examples(system: Tracker, analysis: Analysis, count: int) -> Iterator[Example]:
    """Errors of a system's first run, spread over classes, services and variants."""
    services = system.first.place.service.tolist()
    for loss in spread(analysis.losses, services, count):
        yield _example(system, analysis, loss, services[loss.frame])


def _example(system: Tracker, analysis: Analysis, loss: Loss, service: str) -> Example:
    run = system.first
    frame_id = run.order[loss.frame].as_py()
    dialogue, turn, _ = frame_id.rsplit("/", 2)
    turns = analysis.data.turns.get(dialogue, [])
    said = ["", *(utterance for _, utterance in turns), *[""] * (int(turn) + 2)]
    before, after = (_words(analysis, name, service, loss) for name in (ORIGINAL, loss.variant))
    return Example(
        system.name,
        loss.kind,
        loss.variant,
        service,
        frame_id,
        "seen" if run.place.seen[loss.frame] else "unseen",
        said[int(turn)],  # the turn before, as the list begins with what comes before them all
        said[int(turn) + 1],
        before,
        after,
        loss.reference,
        loss.predicted,
        loss.elsewhere,
    )


def _words(analysis: Analysis, variant: str, service: str, loss: Loss) -> Cell:
    if loss.place < 0:
        return Cell("NONE", "no intent is active")
    element = element_at(analysis.wordings[variant][service], loss.place, loss.kind == INTENT)
    return Cell(element.name, element.description)
