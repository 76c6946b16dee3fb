"""The tracker SGP-DST: four submodels, which answer questions in large batches, and rules.

The rules combine the answers into the state. Source: Ruan et al. 2020 (arXiv 2002.00181).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec
from datasets import Dataset
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from torch import nn

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import NONE_INTENT

from ..checkpoint import weights_digest
from ..data.dialogues import prediction_rows, read_dialogues
from ..provenance import Provenance
from ..system import Row, System
from . import settings as own
from .questions import Question, combine_questions, intent_question
from .rules import (
    Answer,
    Candidates,
    CombineAnswers,
    Queries,
    Scored,
    Submodels,
    track_dialogues,
)
from .settings import PARTS, Part
from .training import READS, SUBMODELS, SgpPart

# What a header says of all submodels together: which words they were trained on.
_WORDS = ("train", "augment", "schemas", "overlaps", "oracle")


class SgpTracker(System, nn.Module):
    """Predicts states with four submodels and rules."""

    NAME: ClassVar[str] = "sgp_dst"
    READS: ClassVar[tuple[str, ...]] = READS
    Options: ClassVar[type[own.Options]] = own.Options
    Settings: ClassVar[type[own.Settings]] = own.Settings
    PARTS: ClassVar[dict[Part, type[SgpPart]]] = SUBMODELS
    # All submodels start from one encoder, and each takes its own of all dev rows.
    tiny, dev, example = SgpPart.tiny, SgpPart.dev, SgpPart.example

    def __init__(self, parts: dict[Part, SgpPart], options: own.Options) -> None:
        super().__init__()
        self.parts: Any = nn.ModuleDict(parts)  # type: ignore[arg-type]  # of fewer names
        self.options = options

    @classmethod
    def from_pretrained(cls, name: str | Path, **options: Any) -> Self:
        """Load the four submodels from the subfolders of a run folder or a repository."""
        folder = Path(name)
        if not folder.is_dir():
            try:
                folder = Path(snapshot_download(str(name)))
            except (OSError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError) as error:
                raise SgdxError(f"{name}: no such folder or repository: {error!s}") from None
        parts = {p: of.from_pretrained(folder / p, **options) for p, of in SUBMODELS.items()}
        return cls(parts, own.Options(**options))

    def describe(self) -> Row:
        """The digest and provenance of the submodels, of each one and of all together."""
        provenances = {part: self.parts[part].seen for part in PARTS}
        together: Provenance = provenances[PARTS[0]]
        for provenance in provenances.values():
            together = provenance.continued_from(together)
        facts = msgspec.to_builtins(together)
        return {
            "weights": self._weights,
            **{name: facts[name] for name in _WORDS},
            "parts": msgspec.to_builtins(provenances),
        }

    @cached_property  # four encoders are hashed, and the header and the chunks need it
    def _weights(self) -> str:
        digests = [weights_digest(self.parts[part]) for part in PARTS]
        return hashlib.sha256(" ".join(digests).encode()).hexdigest()

    def track(self, rows: Dataset) -> list[Row]:
        """Predict turn by turn, for all dialogues together."""
        dialogues = list(read_dialogues(rows))
        pairs = zip(dialogues, track_dialogues(self.submodels(), dialogues), strict=True)
        return [row for pair in pairs for row in prediction_rows(*pair)]

    def submodels(self) -> Submodels:
        """The submodels as functions, for tracking."""
        return Submodels(self._intents, self._combined, self._copied("copy"), self._copied("cross"))

    def _intents(self, queries: Queries) -> list[str]:
        """The most likely intent of each frame."""
        answers = self.parts["intent"].answers([intent_question(*query) for query in queries])
        return [
            [*query.frame.schema.intents_by_name, NONE_INTENT][answer.number]
            for query, answer in zip(queries, answers)
        ]

    def _combined(self, queries: Queries) -> list[CombineAnswers]:
        """What the user says in each frame."""
        asked = [combine_questions(*query) for query in queries]
        answers = self.ask_each("combine", [list(questions.values()) for questions in asked])
        combined = []
        for query, slots, of_frame in zip(queries, asked, answers, strict=True):
            schema, by_slot = query.frame.schema, dict(zip(slots, of_frame, strict=True))
            requested = {slot: answer.requested for slot, answer in by_slot.items()}
            best = {slot: schema.slot(slot).options[a.number] for slot, a in by_slot.items()}
            values = {
                slot: None if value is None else Scored(value, by_slot[slot].score)
                for slot, value in best.items()
            }
            free = {slot: a for slot, a in by_slot.items() if not schema.slot(slot).is_categorical}
            spans = {slot: answer.span for slot, answer in free.items() if answer.span}
            combined.append(CombineAnswers(requested, spans, values))
        return combined

    def _copied(self, part: Part) -> Callable[[Queries, Candidates], list[list[float]]]:
        """The function that returns with which probability candidates are copied."""

        def probabilities(_: Queries, candidates: Candidates) -> list[list[float]]:
            questions = [[candidate.question for candidate in frame] for frame in candidates]
            answers = self.ask_each(part, questions)
            return [[answer.yes for answer in of_frame] for of_frame in answers]

        return probabilities

    def ask_each(self, part: Part, lists: Sequence[Sequence[Question]]) -> list[list[Answer]]:
        """Answer several lists of questions; returns the answers to each list."""
        answers = iter(self.parts[part].answers(list(chain.from_iterable(lists))))
        return [list(islice(answers, len(questions))) for questions in lists]
