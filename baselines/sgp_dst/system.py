"""The tracker SGP-DST: four submodels, which answer questions in large batches, and rules.

The rules combine the answers into the state. Source: Ruan et al. 2020 (arXiv 2002.00181).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec
import torch
from accelerate import Accelerator
from datasets import Dataset
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import NONE_INTENT

from ..batching import Ints
from ..checkpoint import weights_digest
from ..settings import PARTS, Part, Settings, SgpOptions, SgpSettings
from ..system import Predictions, Row, Tracker, TrainableSystem
from ..task import Provenance, Run, Task
from ..trained import answer_batches, predict_dialogues
from .data import Questions, Sequences
from .questions import Question, combine_questions, intent_question
from .rules import (
    Answer,
    Candidates,
    CombineAnswers,
    Queries,
    Scored,
    Submodels,
    decode,
    track_dialogues,
)
from .training import READS, SubModel, ask, load_part, training_task

# What a header says of all submodels together: which words they were trained on.
_WORDS = ("train", "augment", "schemas", "overlaps", "oracle")


@dataclass(frozen=True)
class SgpTracker(Tracker, TrainableSystem[SgpOptions, SgpSettings]):
    """Predicts states with four submodels and rules.

    Attributes:
        parts: The submodels by name, on the accelerator's device.
        options: Options of prediction.
        accelerator: The processes and the device.
    """

    NAME: ClassVar[str] = "sgp_dst"
    READS: ClassVar[tuple[str, ...]] = READS
    OPTIONS: ClassVar[type[SgpOptions]] = SgpOptions
    SETTINGS: ClassVar[type[Settings]] = SgpSettings

    parts: Mapping[Part, SubModel]
    options: SgpOptions
    accelerator: Accelerator

    @classmethod
    def load(cls, model: str, options: SgpOptions, accelerator: Accelerator) -> Self:
        """Load the four submodels from the subfolders of a run folder or a repository."""
        folder = Path(model)
        if not folder.is_dir():
            try:
                folder = Path(snapshot_download(model))
            except (OSError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError) as error:
                raise SgdxError(f"{model}: no such folder or repository: {error!s}") from None
        parts = {part: load_part(folder / part, accelerator.device) for part in PARTS}
        return cls(parts, options, accelerator)

    def describe(self) -> Row:
        """The digest and provenance of the submodels, of each one and of all together."""
        provenances = {part: self.parts[part].provenance for part in PARTS}
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
        digests = [weights_digest(self.parts[part].model) for part in PARTS]
        return hashlib.sha256(" ".join(digests).encode()).hexdigest()

    def predict(self, rows: Dataset, chunks: Path) -> Predictions:
        """Predict turn by turn, for all dialogues of a chunk together."""
        track = partial(track_dialogues, self.submodels())
        predicted = predict_dialogues(self.accelerator, rows, self.options, track, chunks)
        return Predictions(predicted, {})

    def submodels(self) -> Submodels:
        """The submodels as functions, for tracking."""
        return Submodels(self._intents, self._combined, self._copied("copy"), self._copied("cross"))

    def _intents(self, queries: Queries) -> list[str]:
        """The most likely intent of each frame."""
        answers = self.ask("intent", [intent_question(*query) for query in queries])
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

    def ask(self, part: Part, questions: Sequence[Question]) -> list[Answer]:
        """Answer questions with a submodel, in large batches of similar length."""
        sub = self.parts[part]
        sequences = Sequences(Questions(questions), sub.vocabulary, sub.provenance.max_tokens)
        return answer_batches(sequences.lengths, self.options, partial(_answer, sub, sequences))

    def ask_each(self, part: Part, lists: Sequence[Sequence[Question]]) -> list[list[Answer]]:
        """Answer several lists of questions; returns the answers to each list."""
        answers = iter(self.ask(part, list(chain.from_iterable(lists))))
        return [list(islice(answers, len(questions))) for questions in lists]

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """Return all rows, as a submodel is scored on ``count`` examples made from all of dev."""
        return rows

    @classmethod
    def task(cls, run: Run[SgpSettings], name: str) -> Task:
        """Build the training task of one submodel."""
        part: Any = name
        return training_task(run, part)


@torch.no_grad()
def _answer(sub: SubModel, sequences: Sequences, batch: Ints) -> list[Answer]:
    """Answer one batch of questions, given by their indices."""
    return decode(ask(sub.model, sequences, batch), sequences, batch)
