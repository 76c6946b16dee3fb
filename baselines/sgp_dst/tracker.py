"""The tracker SGP-DST: four submodels, which answer questions in large batches, and rules.

The rules combine the answers into the state. Source: Ruan et al. 2020 (arXiv 2002.00181).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import NONE_INTENT

from ..data.dialogues import chunks_side_by_side, dialogue_bounds, prediction_rows, read_dialogues
from ..data.frames import describe
from ..system import (
    BatchOptions,
    BatchSize,
    Predictions,
    TokenBudget,
    Tracker,
    TrainableSystem,
)
from ..training.batching import Ints, by_length
from ..training.checkpoint import weights_digest
from ..training.chunks import run_chunks
from ..training.settings import Count, Settings
from ..training.task import Run, Task
from .batches import READS, training_task
from .card_example import example
from .decode import Answer, decode
from .questions import Question, combine_questions, intent_question
from .rules import Scored
from .sequences import Questions, Sequences
from .submodels import PARTS, Part, SgpSettings, SubModel, load_part
from .tracking import Candidates, CombineAnswers, Queries, Submodels, track_dialogues

Row = dict[str, Any]


class SgpOptions(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with SGP-DST; batches consist of sequences, chunks of dialogues."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 4096  # larger batches hold more padding than they save time
    chunk_size: Annotated[
        Count,
        msgspec.Meta(description="number of dialogues whose results are saved together to resume"),
    ] = 96  # a kill on CPUs costs about a minute


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
    TASKS: ClassVar[tuple[str, ...]] = PARTS

    parts: Mapping[Part, SubModel]
    options: SgpOptions
    accelerator: Accelerator

    @classmethod
    def load(cls, model: str, options: SgpOptions, accelerator: Accelerator) -> SgpTracker:
        """Load the four submodels from the subfolders of a run folder or a repository."""
        folder = Path(model)
        if not folder.is_dir():
            try:
                folder = Path(snapshot_download(model))
            except (OSError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError) as error:
                raise SgdxError(f"{model}: no such folder or repository: {error!s}") from None
        parts = {part: load_part(folder / part) for part in PARTS}
        for sub in parts.values():
            sub.model.to(accelerator.device)
        return cls(parts, options, accelerator)

    def describe(self) -> Row:
        """The digest and provenance of the submodels, of each one and of all together."""
        abouts = {part: self.parts[part].about for part in PARTS}
        return {
            "weights": self._weights,
            "train": list(dict.fromkeys(v for about in abouts.values() for v in about.train)),
            "oracle": any(about.oracle for about in abouts.values()),
            "parts": msgspec.to_builtins(abouts),
        }

    @cached_property  # four encoders are hashed, and the header and the chunks need it
    def _weights(self) -> str:
        each = [weights_digest(self.parts[part].model) for part in PARTS]
        return hashlib.sha256(" ".join(each).encode()).hexdigest()

    def predict(self, rows: Dataset, chunks: Path) -> Predictions:
        """Predict turn by turn, for all dialogues of a chunk together."""
        bounds = dialogue_bounds(rows)
        variants = np.array(rows["variant"])[bounds[:-1]]

        def work(indices: Ints) -> list[list[Row]]:
            kept = [np.arange(bounds[index], bounds[index + 1]) for index in indices]
            dialogues = list(read_dialogues(rows.select(np.concatenate(kept))))
            tracked = track_dialogues(self.submodels(), dialogues)
            return [prediction_rows(*pair) for pair in zip(dialogues, tracked)]

        cut = chunks_side_by_side(variants, self.options.chunk_size)
        decisive = repr((self.describe(), describe(rows), self.options))
        folder = chunks / hashlib.sha256(decisive.encode()).hexdigest()[:16]
        predicted = run_chunks(self.accelerator, cut, work, folder)
        return Predictions([row for dialogue in predicted for row in dialogue], {})

    def submodels(self) -> Submodels:
        """The submodels as functions, for tracking."""
        return Submodels(self._intents, self._said, self._copied("copy"), self._copied("cross"))

    def _intents(self, queries: Queries) -> list[str]:
        """The most likely intent of each frame."""
        found = self.ask("intent", [intent_question(*query) for query in queries])
        return [
            [*query.frame.schema.intents_by_name, NONE_INTENT][f.number]
            for query, f in zip(queries, found)
        ]

    def _said(self, queries: Queries) -> list[CombineAnswers]:
        """What the user says in each frame."""
        asked = [combine_questions(*query) for query in queries]
        answers = self.ask_each("combine", [list(questions.values()) for questions in asked])
        found = []
        for query, slots, of_frame in zip(queries, asked, answers, strict=True):
            schema, by_slot = query.frame.schema, dict(zip(slots, of_frame, strict=True))
            requested = {slot: answer.requested for slot, answer in by_slot.items()}
            values = {slot: _value(schema.slot(slot).options, a) for slot, a in by_slot.items()}
            free = {slot: a for slot, a in by_slot.items() if not schema.slot(slot).is_categorical}
            spans = {slot: answer.span for slot, answer in free.items() if answer.span}
            found.append(CombineAnswers(requested, spans, values))
        return found

    def _copied(self, part: Part) -> Callable[[Queries, Candidates], list[list[float]]]:
        """The function that returns with which probability candidates are copied."""

        def probabilities(_: Queries, candidates: Candidates) -> list[list[float]]:
            questions = [[candidate.question for candidate in each] for each in candidates]
            return [[found.yes for found in each] for each in self.ask_each(part, questions)]

        return probabilities

    def ask(self, part: Part, questions: Sequence[Question]) -> list[Answer]:
        """Answer questions with a submodel, in large batches of similar length.

        Args:
            part: Name of the submodel.
            questions: The questions.

        Returns:
            The answer to each question, in order.
        """
        sub, options = self.parts[part], self.options
        sequences = Sequences(Questions(questions), sub.vocabulary, sub.about.max_tokens)
        found: list[Answer | None] = [None] * len(questions)
        for batch in by_length(sequences.lengths, options.batch_size, options.token_budget):
            for index, answer in zip(batch.tolist(), _answer(sub, sequences, batch)):
                found[index] = answer
        return [answer for answer in found if answer is not None]

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

    @staticmethod
    def example(repository: str, settings: Row) -> str:
        """Python code that applies one submodel with transformers only."""
        return example(repository)


def _value(options: Sequence[str | None], answer: Answer) -> Scored | None:
    """The most likely value of a slot; None for no value."""
    value = options[answer.number]
    return None if value is None else Scored(value, answer.score)


@torch.inference_mode()
def _answer(sub: SubModel, sequences: Sequences, batch: Ints) -> list[Answer]:
    """Answer one batch of questions, given by their indices."""
    tensors = {n: t.to(sub.model.device) for n, t in sequences.batch(batch).items()}
    return decode(sub.model(**tensors), sequences, batch)
