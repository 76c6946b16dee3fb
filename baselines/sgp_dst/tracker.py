"""SGP-DST as a tracker: four sub-models, asked in large batches, and the rules that join them.

Source: Ruan et al. 2020 (arXiv 2002.00181).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from sgdx_dataset import SgdxError

from ..data.frames import describe
from ..data.prediction_files import prediction_row
from ..tracker import (
    BatchSize,
    PredictionOptions,
    Predictions,
    Run,
    ShardSize,
    Task,
    TokenBudget,
    TrainableTracker,
)
from ..training.batching import Ints, by_length
from ..training.checkpoint import weights_digest
from ..training.settings import Settings
from ..training.shards import run_shards
from .batches import READS, training_task
from .card_example import example
from .decode import Found, decode
from .dialogues import NULL, Dialogue, Frame, Memory, State, Turn, read_dialogues
from .questions import (
    Candidate,
    Question,
    combine_questions,
    copy_candidates,
    cross_candidates,
    intent_question,
)
from .rules import Evidence, FrameEvidence, Scored, join
from .sequences import Questions, Sequences
from .submodels import PARTS, Part, SgpSettings, SubModel, load_part

Row = dict[str, Any]


class SgpOptions(PredictionOptions, frozen=True, kw_only=True):
    """The options of its predictions. A batch is of sequences, a shard of dialogues."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 16384
    shard_size: ShardSize = 512


@dataclass(frozen=True)
class SgpTracker(TrainableTracker):
    """A sub-model for each part, on the accelerator's device.

    Attributes:
        parts: The sub-models by name.
        options: How much is worked on at once.
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
    def load(cls, model: str, options: SgpOptions, accelerator: Accelerator | None) -> SgpTracker:
        """A folder with one of each sub-model, or such a repository on the Hub."""
        assert accelerator is not None  # noqa: S101  # as the tracker learns
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
        """What the sub-models were trained on, each and together."""
        abouts = {part: self.parts[part].about for part in PARTS}
        each = [weights_digest(self.parts[part].model) for part in PARTS]
        return {
            "weights": hashlib.sha256(" ".join(each).encode()).hexdigest(),
            "train": list(dict.fromkeys(v for about in abouts.values() for v in about.train)),
            "oracle": any(about.oracle for about in abouts.values()),
            "parts": msgspec.to_builtins(abouts),
        }

    def predict(self, rows: Dataset, shards: Path) -> Predictions:
        """Track the dialogues of a shard together, turn by turn."""
        bounds = dialogue_bounds(rows)
        variants = np.array(rows["variant"])[bounds[:-1]]

        def work(indices: Ints) -> list[list[Row]]:
            first, last = int(indices[0]), int(indices[-1])
            mine = rows.select(range(int(bounds[first]), int(bounds[last + 1])))
            dialogues = list(read_dialogues(mine))
            tracked = track_dialogues(self, dialogues)
            return [prediction_rows(*pair) for pair in zip(dialogues, tracked)]

        cut = shards_of_variants(variants, self.options.shard_size)
        decisive = repr((self.describe(), describe(rows), self.options))
        folder = shards / hashlib.sha256(decisive.encode()).hexdigest()[:16]
        done = run_shards(self.accelerator, cut, work, folder)
        return Predictions([row for dialogue in done for row in dialogue], {})

    def ask(self, part: Part, questions: Sequence[Question]) -> list[Found]:
        """The answers to questions, in large batches of like length."""
        sub, options = self.parts[part], self.options
        sequences = Sequences(Questions(questions), sub.vocabulary, sub.about.max_tokens)
        found: list[Found | None] = [None] * len(questions)
        for batch in by_length(sequences.lengths, options.batch_size, options.token_budget):
            for index, answer in zip(batch.tolist(), _answer(sub, sequences, batch)):
                found[index] = answer
        return [answer for answer in found if answer is not None]

    def ask_each(self, part: Part, lists: Sequence[Sequence[Question]]) -> list[list[Found]]:
        """The same for lists of questions."""
        answers = iter(self.ask(part, list(chain.from_iterable(lists))))
        return [list(islice(answers, len(questions))) for questions in lists]

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """All of dev: a sub-model is scored on ``count`` of the examples that this gives."""
        return rows

    @classmethod
    def task(cls, run: Run, name: str) -> Task:
        """The training of one sub-model."""
        part: Any = name
        return training_task(run, part)

    @staticmethod
    def example(repository: str, settings: Row) -> str:
        """One sub-model asked with transformers alone."""
        return example(repository)


@torch.inference_mode()
def _answer(sub: SubModel, sequences: Sequences, batch: Ints) -> list[Found]:
    tensors = {n: t.to(sub.model.device) for n, t in sequences.batch(batch).items()}
    return decode(sub.model(**tensors), sequences, batch)


def dialogue_bounds(rows: Dataset) -> Ints:
    """Where each dialogue of a variant begins in frame rows, and behind the last one their end."""
    keys = list(zip(rows["variant"], rows["dialogue_id"]))
    starts = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    return np.array([*starts, len(keys)], np.int64)


def shards_of_variants(variants: np.ndarray, size: int) -> list[Ints]:
    """Shards of at most ``size`` dialogues, each of one variant.

    Args:
        variants: Of each dialogue [dialogues].
    """
    borders = np.flatnonzero(variants[1:] != variants[:-1]) + 1
    groups = np.split(np.arange(len(variants)), borders)
    return [group[i : i + size] for group in groups for i in range(0, len(group), size)]


class FrameQuery(NamedTuple):
    """A frame that is to be tracked, and what is known before it."""

    memory: Memory
    turn: Turn
    frame: Frame


def track_dialogues(tracker: SgpTracker, dialogues: Sequence[Dialogue]) -> list[list[State]]:
    """The predicted state of every frame, dialogue by dialogue.

    All dialogues' first turns are tracked together, then all second ones, and so on. What is known
    before a turn are the system's acts and the states predicted so far; gold states, where frames
    have them, are not looked at.
    """
    memories = [Memory() for _ in dialogues]
    states: list[list[State]] = [[] for _ in dialogues]
    for depth in range(max((len(dialogue.turns) for dialogue in dialogues), default=0)):
        there = [i for i, dialogue in enumerate(dialogues) if len(dialogue.turns) > depth]
        for i in there:
            memories[i].hear(dialogues[i].turns[depth].acts)
        turns = [(i, dialogues[i].turns[depth]) for i in there]
        queries = [FrameQuery(memories[i], turn, f) for i, turn in turns for f in turn.frames]
        predicted = iter(_states(tracker, queries))
        for i, turn in turns:
            mine = list(islice(predicted, len(turn.frames)))
            memories[i].learn(turn, mine)
            states[i] += mine
    return states


def _states(tracker: SgpTracker, queries: Sequence[FrameQuery]) -> Iterator[State]:
    """The states of frames none of which follows from another."""
    intents = _intents(tracker, queries)
    combined = [combine_questions(one.turn, one.frame) for one in queries]
    answers = tracker.ask_each("combine", [list(mine.values()) for mine in combined])
    within = _copied(tracker, "copy", copy_candidates, queries, intents)
    across = _copied(tracker, "cross", cross_candidates, queries, intents)
    for one, intent, slots, found, copied, cross in zip(
        queries, intents, combined, answers, within, across, strict=True
    ):
        schema = one.frame.schema
        by_slot = dict(zip(slots, found, strict=True))
        evidence = Evidence(
            intent,
            {slot: answer.requested for slot, answer in by_slot.items()},
            {s: a.span for s, a in by_slot.items() if a.span and not schema.is_categorical(s)},
            {slot: _value(schema.options(slot), answer) for slot, answer in by_slot.items()},
            cross,
            {slot: values[-1] for slot, values in copied.items()},
        )
        yield join(FrameEvidence(schema, one.memory.state(schema.service), evidence))


def _value(options: Sequence[str | None], answer: Found) -> Scored | None:
    value = options[answer.number]
    return None if value is None else Scored(value, answer.score)


def _intents(tracker: SgpTracker, queries: Sequence[FrameQuery]) -> list[str]:
    found = tracker.ask("intent", [intent_question(*one) for one in queries])
    return [[*one.frame.schema.intents, NULL][f.number] for one, f in zip(queries, found)]


def _copied(
    tracker: SgpTracker,
    part: Part,
    candidates: Callable[[Memory, Turn, Frame, str], list[Candidate]],
    queries: Sequence[FrameQuery],
    intents: Sequence[str],
) -> list[dict[str, list[Scored]]]:
    """For each frame, the values that could be copied into unset slots, and how likely they are."""
    lists = [
        [c for c in candidates(*one, intent) if c.slot not in _known(one)]
        for one, intent in zip(queries, intents)
    ]
    answers = tracker.ask_each(part, [[c.question for c in mine] for mine in lists])
    found: list[dict[str, list[Scored]]] = []
    for mine, scores in zip(lists, answers):
        found.append({})
        for candidate, answer in zip(mine, scores):
            scored = Scored(candidate.values[0], answer.yes)
            found[-1].setdefault(candidate.slot, []).append(scored)
    return found


def _known(one: FrameQuery) -> Iterable[str]:
    return one.memory.state(one.frame.schema.service).values.keys()


def prediction_rows(dialogue: Dialogue, states: Sequence[State]) -> list[Row]:
    """A dialogue's rows of a prediction file."""
    frames = [frame for turn in dialogue.turns for frame in turn.frames]
    return [
        prediction_row(
            {"frame_id": frame.frame_id, "variant": dialogue.variant},
            state.intent,
            state.requested,
            state.values,
        )
        for frame, state in zip(frames, states, strict=True)
    ]
