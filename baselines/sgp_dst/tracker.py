"""The tracker SGP-DST: four submodels, which answer questions in large batches, and rules.

The rules combine the answers into the state. Source: Ruan et al. 2020 (arXiv 2002.00181).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

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
    Task,
    TokenBudget,
    TrainableTracker,
)
from ..training.batching import Ints, by_length
from ..training.checkpoint import weights_digest
from ..training.settings import Count, Settings
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
from .rules import Evidence, FrameEvidence, Scored, join_turn
from .sequences import Questions, Sequences
from .submodels import PARTS, Part, SgpSettings, SubModel, load_part

Row = dict[str, Any]


class SgpOptions(PredictionOptions, frozen=True, kw_only=True):
    """The options of prediction with SGP-DST; batches consist of sequences, shards of dialogues."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 16384
    shard_size: Annotated[
        Count,
        msgspec.Meta(description="number of dialogues whose results are saved together to resume"),
    ] = 32  # a kill on CPUs costs about a minute


@dataclass(frozen=True)
class SgpTracker(TrainableTracker):
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
    def load(cls, model: str, options: SgpOptions, accelerator: Accelerator | None) -> SgpTracker:
        """Load the four submodels from the subfolders of a run folder or a repository."""
        assert accelerator is not None  # noqa: S101  # trainable trackers get an accelerator
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

    @cached_property  # four encoders are hashed, and the header and the shards need it
    def _weights(self) -> str:
        each = [weights_digest(self.parts[part].model) for part in PARTS]
        return hashlib.sha256(" ".join(each).encode()).hexdigest()

    def predict(self, rows: Dataset, shards: Path) -> Predictions:
        """Predict turn by turn, for all dialogues of a shard together."""
        bounds = dialogue_bounds(rows)
        variants = np.array(rows["variant"])[bounds[:-1]]

        def work(indices: Ints) -> list[list[Row]]:
            first, last = int(indices[0]), int(indices[-1])
            selected = rows.select(range(int(bounds[first]), int(bounds[last + 1])))
            dialogues = list(read_dialogues(selected))
            tracked = track_dialogues(self, dialogues)
            return [prediction_rows(*pair) for pair in zip(dialogues, tracked)]

        cut = shards_of_variants(variants, self.options.shard_size)
        decisive = repr((self.describe(), describe(rows), self.options))
        folder = shards / hashlib.sha256(decisive.encode()).hexdigest()[:16]
        predicted = run_shards(self.accelerator, cut, work, folder)
        return Predictions([row for dialogue in predicted for row in dialogue], {})

    def ask(self, part: Part, questions: Sequence[Question]) -> list[Found]:
        """Answer questions with a submodel, in large batches of similar length.

        Args:
            part: Name of the submodel.
            questions: The questions.

        Returns:
            The answer to each question, in order.
        """
        sub, options = self.parts[part], self.options
        sequences = Sequences(Questions(questions), sub.vocabulary, sub.about.max_tokens)
        found: list[Found | None] = [None] * len(questions)
        for batch in by_length(sequences.lengths, options.batch_size, options.token_budget):
            for index, answer in zip(batch.tolist(), _answer(sub, sequences, batch)):
                found[index] = answer
        return [answer for answer in found if answer is not None]

    def ask_each(self, part: Part, lists: Sequence[Sequence[Question]]) -> list[list[Found]]:
        """Answer several lists of questions; returns the answers to each list."""
        answers = iter(self.ask(part, list(chain.from_iterable(lists))))
        return [list(islice(answers, len(questions))) for questions in lists]

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """Return all rows, as a submodel is scored on ``count`` examples made from all of dev."""
        return rows

    @classmethod
    def task(cls, run: Run, name: str) -> Task:
        """Build the training task of one submodel."""
        part: Any = name
        return training_task(run, part)

    @staticmethod
    def example(repository: str, settings: Row) -> str:
        """Python code that applies one submodel with transformers only."""
        return example(repository)


@torch.inference_mode()
def _answer(sub: SubModel, sequences: Sequences, batch: Ints) -> list[Found]:
    """Answer one batch of questions, given by their indices."""
    tensors = {n: t.to(sub.model.device) for n, t in sequences.batch(batch).items()}
    return decode(sub.model(**tensors), sequences, batch)


def dialogue_bounds(rows: Dataset) -> Ints:
    """Index of the first frame row of each dialogue under each variant, then the number of rows."""
    keys = list(zip(rows["variant"], rows["dialogue_id"]))
    starts = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    return np.array([*starts, len(keys)], np.int64)


def shards_of_variants(variants: np.ndarray, size: int) -> list[Ints]:
    """Divide dialogues into shards of one variant each.

    Args:
        variants: Variant of each dialogue [dialogues].
        size: Maximum number of dialogues in a shard.

    Returns:
        Indices of the dialogues of each shard.
    """
    borders = np.flatnonzero(variants[1:] != variants[:-1]) + 1
    groups = np.split(np.arange(len(variants)), borders)
    return [group[i : i + size] for group in groups for i in range(0, len(group), size)]


class FrameQuery(NamedTuple):
    """A frame whose state is to be predicted.

    Attributes:
        memory: What is known before the turn.
        turn: The user turn.
        frame: The frame.
    """

    memory: Memory
    turn: Turn
    frame: Frame


def track_dialogues(tracker: SgpTracker, dialogues: Sequence[Dialogue]) -> list[list[State]]:
    """Predict the state of every frame of several dialogues.

    The first turns of all dialogues are predicted together, then all second turns, and so on. A
    prediction depends on the system's dialogue acts and on the states predicted so far. Gold
    states are not used, even if frames have them.

    Returns:
        For each dialogue the states of its frames, in order.
    """
    memories = [Memory() for _ in dialogues]
    states: list[list[State]] = [[] for _ in dialogues]
    for depth in range(max((len(dialogue.turns) for dialogue in dialogues), default=0)):
        unfinished = [i for i, dialogue in enumerate(dialogues) if len(dialogue.turns) > depth]
        for i in unfinished:
            memories[i].hear(dialogues[i].turns[depth].acts)
        turns = [(i, dialogues[i].turns[depth]) for i in unfinished]
        queries = [FrameQuery(memories[i], turn, f) for i, turn in turns for f in turn.frames]
        predicted = iter(_states(tracker, queries))
        for i, turn in turns:
            of_turn = list(islice(predicted, len(turn.frames)))
            memories[i].learn(turn, of_turn)
            states[i] += of_turn
    return states


def _states(tracker: SgpTracker, queries: Sequence[FrameQuery]) -> Iterator[State]:
    """Predict the states of frames that do not depend on each other."""
    intents = _intents(tracker, queries)
    combined = [combine_questions(*query) for query in queries]
    answers = tracker.ask_each("combine", [list(questions.values()) for questions in combined])
    within = _copied(tracker, "copy", copy_candidates, queries, intents)
    across = _copied(tracker, "cross", cross_candidates, queries, intents)
    frames: list[FrameEvidence] = []
    for query, intent, slots, found, copied, cross in zip(
        queries, intents, combined, answers, within, across, strict=True
    ):
        schema = query.frame.schema
        by_slot = dict(zip(slots, found, strict=True))
        evidence = Evidence(
            intent,
            {slot: answer.requested for slot, answer in by_slot.items()},
            {s: a.span for s, a in by_slot.items() if a.span and not schema.is_categorical(s)},
            {slot: _value(schema.options(slot), answer) for slot, answer in by_slot.items()},
            cross,
            {slot: values[-1] for slot, values in copied.items()},
        )
        previous = query.memory.state(schema.service)
        frames.append(FrameEvidence(schema, previous, evidence))
    # The frames of a turn stand side by side.
    turns = groupby(zip(queries, frames), lambda pair: id(pair[0].turn))
    for _, of_turn in turns:
        yield from join_turn([frame for _, frame in of_turn])


def _value(options: Sequence[str | None], answer: Found) -> Scored | None:
    """The most likely value of a slot; None for no value."""
    value = options[answer.number]
    return None if value is None else Scored(value, answer.score)


def _intents(tracker: SgpTracker, queries: Sequence[FrameQuery]) -> list[str]:
    """The most likely intent of each frame."""
    found = tracker.ask("intent", [intent_question(*query) for query in queries])
    return [[*query.frame.schema.intents, NULL][f.number] for query, f in zip(queries, found)]


def _copied(
    tracker: SgpTracker,
    part: Part,
    candidates: Callable[[Memory, Turn, Frame, str], list[Candidate]],
    queries: Sequence[FrameQuery],
    intents: Sequence[str],
) -> list[dict[str, list[Scored]]]:
    """For each frame and unset slot, the values that may be copied and their probabilities.

    Args:
        tracker: The tracker.
        part: The submodel that decides: ``copy`` or ``cross``.
        candidates: Returns the candidates of a frame for this submodel.
        queries: The frames.
        intents: Active intent of each frame.
    """
    lists = [
        [c for c in candidates(*query, intent) if c.slot not in _known(query)]
        for query, intent in zip(queries, intents)
    ]
    answers = tracker.ask_each(part, [[c.question for c in of_frame] for of_frame in lists])
    found: list[dict[str, list[Scored]]] = []
    for of_frame, scores in zip(lists, answers):
        found.append({})
        for candidate, answer in zip(of_frame, scores):
            scored = Scored(candidate.values[0], answer.yes)
            found[-1].setdefault(candidate.slot, []).append(scored)
    return found


def _known(query: FrameQuery) -> Iterable[str]:
    """Names of the slots that are set before the turn."""
    return query.memory.state(query.frame.schema.service).values.keys()


def prediction_rows(dialogue: Dialogue, states: Sequence[State]) -> list[Row]:
    """The prediction rows of a dialogue, from the states of its frames in order."""
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
