"""What a report is made of: parts, sections, and what stands in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .errors import Rewording
from .figures import Figure
from .runs import Tracker
from .tables import Cell, Table


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

    system: Tracker
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
    """All sections about systems that compare, or about one kind of published figures.

    Attributes:
        number: Its number in the report, from 1.
        title: Its heading; empty in a report of one part.
        systems: The names of its systems.
        marks: What must stand beside every figure in it.
        signatures: The signatures of its systems, as in ``Table``.
        sections: What it shows.
    """

    number: int
    title: str
    systems: Sequence[str]
    marks: Sequence[str]
    signatures: Mapping[str, str]
    sections: Sequence[Section]


@dataclass(frozen=True)
class Report:
    """What is shown.

    Attributes:
        title: What it is about.
        lead: What it is about, in a sentence.
        parts: The groups of systems.
        warning: Why figures of different parts do not compare; empty where they may.
        left_out: Why a run, or a part of what the report shows of it, is not there; a sentence
            each.
        command: The command that makes the report again.
        published: Figures out of papers.
    """

    title: str
    lead: str
    parts: Sequence[Part]
    warning: str
    left_out: Sequence[str]
    command: str
    published: Sequence[Table]

    def figures(self) -> Iterator[Figure]:
        """All figures."""
        for part in self.parts:
            for section in part.sections:
                yield from section.figures
