"""Training examples: what the teacher answers from gold states, and noise in what it reads."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from sgdx_dataset.schema import DONTCARE as DONTCARE_VALUE
from sgdx_dataset.schema import NONE_INTENT, Service

from ..batching import Ints
from ..data.dialogues import Dialogue, Frame, Gold, State
from ..tracker import Examples
from .data import (
    Answer,
    CandidateSpan,
    Item,
    SlotAnswer,
    Tensors,
    decode,
    filled,
    label_batch,
    make_batch,
)
from .frames import (
    DONTCARE,
    FROM,
    GIVEN,
    KEEP,
    SAY,
    STATUSES,
    FrameInput,
    Labels,
    Paths,
    Reading,
    labels_of,
    paths_of,
    track_dialogues,
)
from .layout import (
    Variant,
    Vocabulary,
    element_text,
    part_lengths,
    sequences,
    texts_of,
    variant_of,
    words,
)


class Example(NamedTuple):
    """A training example."""

    frame: FrameInput
    gold: Gold
    slots: int  # number of its tracked slots
    without_path: int  # number of those that no path leads to


def gold_examples(
    dialogues: Sequence[Dialogue], reading: Reading
) -> tuple[list[Example], list[list[State]]]:
    """The training examples of dialogues that are tracked with right answers, and the states."""
    # An answer is right relative to the state so far, which is not gold where no path leads there.
    examples: list[Example] = []

    def read(of_row: Frame, frame: FrameInput) -> State:
        assert of_row.gold is not None  # noqa: S101 - training rows have the gold columns
        labels = labels_of(frame, of_row.gold)
        without_path = sum(not slot_paths for slot_paths in labels.paths.values())
        examples.append(Example(frame, of_row.gold, len(labels.paths), without_path))
        return decode(frame, gold_answer(frame, labels))

    def reader(frames: Sequence[tuple[Frame, FrameInput]]) -> list[State]:
        return [read(*frame) for frame in frames]

    return examples, track_dialogues(reader, dialogues, reading)


def gold_answer(frame: FrameInput, labels: Labels) -> Answer:
    """An answer that is right by the labels of a frame."""
    # Most slots of most frames stay as they are and are not requested: they have no answer.
    statuses = {slot: _right_status(paths) for slot, paths in labels.paths.items()}
    answers = {
        slot: _answer(statuses.get(slot, KEEP), slot, labels)
        for slot in frame.schema.slots_by_name
        if slot in labels.requested or statuses.get(slot, KEEP) != KEEP
    }
    return Answer(labels.intent or NONE_INTENT, answers)


def _answer(status: int, slot: str, labels: Labels) -> SlotAnswer:
    paths = labels.paths.get(slot, Paths())
    return SlotAnswer(
        float(slot in labels.requested),
        tuple(float(number == status) for number in range(STATUSES)),
        tuple(CandidateSpan(span, 0.0) for span in paths.spans[:1]),
        paths.values[0] if paths.values else 0,
        paths.known[0] if paths.known else 0,
    )


def _right_status(paths: Paths) -> int:
    """One of the right statuses; ``KEEP`` if there is none."""
    if KEEP in paths.statuses or not paths:
        return KEEP
    if paths.spans or paths.values:
        return SAY
    return next((s for s in (DONTCARE, GIVEN) if s in paths.statuses), FROM)


_DIALOGUES_AT_ONCE = 256


class SchemaNoise(NamedTuple):
    """Random changes of schemas in training, so that models rely less on their words."""

    shuffle: bool = False  # whether the elements stand in random order
    drop_names: float = 0.0  # fraction of the elements
    drop_descriptions: float = 0.0  # fraction of the elements

    def variant(self, schema: Service, rng: np.random.Generator) -> Variant | None:
        """The changed texts of a schema in their order; None if nothing is changed."""
        if self == SchemaNoise():
            return None

        def ordered(texts: dict[str, str]) -> dict[str, str]:
            names = list(texts)
            order = rng.permutation(len(names)) if self.shuffle else range(len(names))
            return {names[index]: texts[names[index]] for index in order}

        return Variant(*map(ordered, variant_of(schema, partial(self._text, rng))))

    def _text(self, rng: np.random.Generator, name: str, description: str) -> str:
        """The text of an element, perhaps without its name or its description."""
        # One draw for both: below 0 the name goes, from 0 to the next threshold the description.
        drawn = rng.random() - self.drop_names
        if drawn < 0 and description:
            return description
        return (
            words(name) if 0 <= drawn < self.drop_descriptions else element_text(name, description)
        )


class StateNoise(NamedTuple):
    """Random errors in carried states of training examples, for the model to learn to correct."""

    # A model that was trained on right states alone keeps its own errors. So right values are
    # dropped from the state or replaced in it, but only if this turn shows the right value again:
    # the system asks to confirm it, or it is spoken. Offers do not count, or the model would learn
    # to accept any offer for a slot without a value.
    drop: float = 0.0  # fraction of these values
    replace: float = 0.0  # fraction, by other possible values or values of the dialogue

    def frame(self, frame: FrameInput, gold: Gold, rng: np.random.Generator) -> FrameInput:
        """A frame with errors in its carried state; its labels are those of ``labels_of``."""
        if self == StateNoise():
            return frame
        carried = dict(frame.carried)
        for slot, value in frame.carried.items():
            drawn = rng.random()
            right = gold.state.values.get(slot, ())
            if drawn > self.drop + self.replace or value not in right:
                continue
            unset = {name: value for name, value in frame.carried.items() if name != slot}
            bare = dataclasses.replace(frame, carried=unset)
            if not (_is_shown(frame, right, slot) and paths_of(bare, gold, slot)):
                continue
            others = _other_values(frame, right, slot)
            if drawn < self.drop:
                del carried[slot]
            elif others:
                carried[slot] = others[rng.integers(len(others))]
        return dataclasses.replace(frame, carried=carried)


def _is_shown(frame: FrameInput, right: Sequence[str], slot: str) -> bool:
    """Whether the last system turn asks to confirm a right value, or one is said in this turn."""
    if slot in frame.confirmed and frame.offered_now[slot] in right:
        return True
    texts = [utterance.text for utterance in frame.utterances[-2:] if utterance.readable]
    words_of_value = "|".join(map(re.escape, right))
    return any(re.search(rf"(?<!\w)(?:{words_of_value})(?!\w)", text) for text in texts)


def _other_values(frame: FrameInput, right: Sequence[str], slot: str) -> list[str]:
    """Values that a slot could have by mistake: possible ones, or other values of the dialogue."""
    schema = frame.schema
    if schema.slot(slot).is_categorical:
        values = schema.slot(slot).values
    else:
        own = (frame.carried, frame.offered_now, frame.offered_earlier)
        of_service = [(s, v) for part in own for s, v in part.items()]
        tracked = schema.tracked
        values = [v for s, v in of_service if s in tracked and not schema.slot(s).is_categorical]
        values += [value for _, value in frame.known]
    return [value for value in dict.fromkeys(values) if value not in (*right, DONTCARE_VALUE)]


def drop_acts_of_some(dialogues: Iterable[Dialogue], seed: int) -> Iterator[Dialogue]:
    """Dialogues, a random third of which have no dialogue acts of the system."""
    rng = np.random.default_rng(seed)
    for dialogue in dialogues:
        if rng.random() < 1 / 3:
            yield dialogue._replace(turns=[turn._replace(acts=[]) for turn in dialogue.turns])
        else:
            yield dialogue


def all_examples(dialogues: Iterable[Dialogue], reading: Reading) -> list[Example]:
    """The examples of the frames of dialogues, which are held in memory a few at a time."""
    examples: list[Example] = []
    dialogues = iter(dialogues)
    while some := list(islice(dialogues, _DIALOGUES_AT_ONCE)):
        examples += gold_examples(some, reading)[0]
    return examples


_NO_STATE_NOISE = StateNoise()


class FrameExamples(Examples):
    """Training examples: the sequences of frames, several if a schema is too long for one."""

    def __init__(
        self,
        frames: Sequence[Example],
        vocabulary: Vocabulary,
        limit: int,
        noise: SchemaNoise,
        seed: int,
        state_noise: StateNoise = _NO_STATE_NOISE,
    ) -> None:
        self.frames, self.vocabulary, self.limit = frames, vocabulary, limit
        self.noise, self.state_noise, self.seed = noise, state_noise, seed
        parts, lengths = [], []
        for index, example in enumerate(frames):
            of_frame = part_lengths(example.frame, vocabulary, limit)
            parts += [(index, number) for number in range(len(of_frame))]
            lengths += of_frame
        # Frame and number of its part [examples, 2], and number of tokens [examples].
        self.parts: Ints = np.array(parts, np.int64).reshape(-1, 2)
        self.lengths: Ints = np.array(lengths, np.int64)
        labels = {
            "slots": sum(example.slots for example in frames),
            "without_path": sum(example.without_path for example in frames),
        }
        self.facts = {"examples": len(self.lengths), "labels": labels}
        self._part_counts = np.bincount(self.parts[:, 0], minlength=len(frames))

    def batch(self, indices: Ints) -> Tensors:
        """Make a batch with labels from the indices of examples."""
        # What is changed depends only on the seed and the indices, for trainings that are resumed.
        rng = np.random.default_rng([self.seed, *indices.tolist()])
        numbers = self.parts[indices, 0].tolist()
        self.vocabulary.add_texts(t for n in numbers for t in texts_of(self.frames[n].frame))
        items: list[Item] = []
        labels: list[Labels] = []
        for index, number in self.parts[indices].tolist():
            frame, gold, *_ = self.frames[index]
            if self._part_counts[index] == 1:  # parts of a frame must agree on its state
                frame = self.state_noise.frame(frame, gold, rng)
            variant = self.noise.variant(frame.schema, rng)
            parts = sequences(frame, self.vocabulary, self.limit, variant)
            items.append(Item(frame, parts[number]))
            labels.append(labels_of(frame, gold))
        batch = make_batch(items, self.vocabulary.tokenizer.pad_token_id)
        return batch | label_batch(items, labels, batch)

    def fill(self, batch: Tensors, rows: int, width: int) -> Tensors:
        """Fill a batch up to rows and tokens."""
        return filled(batch, rows, width)
