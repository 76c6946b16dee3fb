"""What the report says, in order: sections of tables, figures, rewordings and errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sgdx_metric.variants import ORIGINAL

from . import tables
from .analysis import Analysis
from .errors import INTENT, Loss, Rewording, costliest, spread
from .figures import Figure, draw_figures
from .gather import Gathered
from .leaderboard import PublishedRow, read_published
from .runs import Group, System
from .tables import Analyses, Cell, Table

# How many errors and rewordings are shown, all systems together, so that the page stays small; the
# tables count all of them.
_EXAMPLES = 480
_REWORDINGS = 300
_MOST_OF_A_SYSTEM = 120


class Example(NamedTuple):
    """An error: the turn, both wordings, the reference and the prediction.

    Attributes:
        system, kind, variant, service, frame_id: Whose error it is, its class and where it is.
        seen: ``seen`` or ``unseen``.
        system_said, user_said: The turn and the one before; empty where they are not at hand.
        before, after: The name and description under the original and under the variant.
        reference, predicted, elsewhere: As in ``Loss``.
    """

    system: str
    kind: str
    variant: str
    service: str
    frame_id: str
    seen: str
    system_said: str
    user_said: str
    before: Cell
    after: Cell
    reference: str
    predicted: str
    elsewhere: str


class RewordingList(NamedTuple):
    """The costliest rewordings of slots, or of intents; ``number`` counts all that cost frames."""

    system: System
    what: str  # "slots" or "intents"
    rows: Sequence[Rewording]
    number: int


@dataclass(frozen=True)
class Section:
    """A part of a group's report: a heading, a text, and what is shown under it, in this order."""

    name: str
    title: str
    text: str = ""
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    rewordings: Sequence[RewordingList] = ()
    examples: Sequence[Example] = ()
    errors: int = 0  # of which the examples are some


@dataclass(frozen=True)
class Part:
    """All sections about a group of systems that compare."""

    group: Group
    sections: Sequence[Section]


@dataclass(frozen=True)
class Report:
    """What is shown.

    Attributes:
        parts: The groups of systems.
        left_out: Why a run, or a part of what the report shows of it, is not there; a sentence
            each.
        command: The command that makes the report again.
        published: Rows out of papers.
    """

    parts: Sequence[Part]
    left_out: Sequence[str]
    command: str
    published: Sequence[PublishedRow] = field(default_factory=read_published)

    def figures(self) -> Iterator[Figure]:
        """All figures."""
        for part in self.parts:
            for section in part.sections:
                yield from section.figures


def build_report(gathered: Gathered, command: str) -> Report:
    """Put together what is shown.

    Args:
        gathered: The runs and what is known of them.
        command: The command that makes the report again.

    Raises:
        SgdxError: matplotlib is not installed.
    """
    groups = gathered.groups
    systems = max(1, sum(len(group.systems) for group in groups))
    parts = []
    for group, found in zip(groups, gathered.analyses, strict=True):
        suffix = f"_{group.number}" if len(groups) > 1 else ""
        figures = {one.name: one for one in draw_figures(group, found, suffix)}
        drawn = {name.removesuffix(suffix): one for name, one in figures.items()}
        parts.append(Part(group, list(_sections(group, found, drawn, systems))))
    return Report(parts, gathered.left_out, command)


def _sections(
    group: Group, analyses: Analyses, drawn: Mapping[str, Figure], systems: int
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


def _rewordings(system: System, analysis: Analysis, systems: int) -> Iterator[RewordingList]:
    found = costliest(analysis.counts, analysis.wordings)
    shown = min(_MOST_OF_A_SYSTEM, _REWORDINGS // systems) // 2
    for what in ("slots", "intents"):
        rows = [one for one in found if one.is_intent == (what == "intents")]
        if rows:
            yield RewordingList(system, what, rows[:shown], len(rows))


def _examples(system: System, analysis: Analysis, count: int) -> Iterator[Example]:
    """Errors of a system's first run, spread over classes, services and variants."""
    services = system.first.place.service.tolist()
    for loss in spread(analysis.losses, services, count):
        yield _example(system, analysis, loss, services[loss.frame])


def _example(system: System, analysis: Analysis, loss: Loss, service: str) -> Example:
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
    element = analysis.wordings[variant][service].element(loss.place, loss.kind == INTENT)
    return Cell(element.name, element.description)
