"""Training examples: what the teacher answers from gold states, and noise in what it reads."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
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
    parts_of,
    sequences,
    texts_of,
    variant_of,
)
from .settings import Settings


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
    answers = {}
    for slot in frame.schema.slots_by_name:
        paths = labels.paths.get(slot, Paths())
        if KEEP in paths.statuses or not paths:
            status = KEEP
        elif paths.spans or paths.values:
            status = SAY
        else:
            status = next((s for s in (DONTCARE, GIVEN) if s in paths.statuses), FROM)
        # Most slots of most frames stay as they are and are not requested: they have no answer.
        if slot in labels.requested or status != KEEP:
            answers[slot] = SlotAnswer(
                float(slot in labels.requested),
                tuple(float(number == status) for number in range(STATUSES)),
                tuple(CandidateSpan(span, 0.0) for span in paths.spans[:1]),
                paths.values[0] if paths.values else 0,
                paths.known[0] if paths.known else 0,
            )
    return Answer(labels.intent or NONE_INTENT, answers)


_DIALOGUES_AT_ONCE = 256


def noisy_schema(schema: Service, settings: Settings, rng: np.random.Generator) -> Variant | None:
    """The texts of a schema of which some lack a name or a description; None if none do."""

    def text(name: str, description: str) -> str:
        # One draw for both: below 0 the name goes, from 0 to the next threshold the description.
        drawn = rng.random() - settings.drop_names
        if drawn < 0 and description:
            return description
        return element_text(name, "" if 0 <= drawn < settings.drop_descriptions else description)

    if settings.drop_names == settings.drop_descriptions == 0:
        return None
    return variant_of(schema, text)


def noisy_state(
    frame: FrameInput, gold: Gold, settings: Settings, rng: np.random.Generator
) -> FrameInput:
    """A frame with errors in its carried state, which a model is to learn to correct."""
    # A model that was trained on right states alone keeps its own errors. So right values are
    # dropped from the state or replaced in it, but only if this turn shows the right value again:
    # the system asks to confirm it, or it is spoken. Offers do not count, or the model would learn
    # to accept any offer for a slot without a value.
    drop, replace = settings.drop_carried, settings.replace_carried
    if drop == replace == 0:
        return frame
    carried = dict(frame.carried)
    for slot, value in frame.carried.items():
        drawn = rng.random()
        right = gold.state.values.get(slot, ())
        if drawn > drop + replace or value not in right:
            continue
        unset = {name: value for name, value in frame.carried.items() if name != slot}
        bare = dataclasses.replace(frame, carried=unset)
        if not (_is_shown(frame, right, slot) and paths_of(bare, gold, slot)):
            continue
        others = _other_values(frame, right, slot)
        if drawn < drop:
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


class FrameExamples(Examples):
    """Training examples: the sequences of frames, several if a schema is too long for one."""

    def __init__(
        self, frames: Sequence[Example], vocabulary: Vocabulary, settings: Settings
    ) -> None:
        self.frames, self.vocabulary, self.settings = frames, vocabulary, settings
        parts, lengths = [], []
        for index, example in enumerate(frames):
            of_frame = parts_of(example.frame, vocabulary, settings.max_tokens)
            parts += [(index, number) for number in range(len(of_frame))]
            lengths += [length for _, length in of_frame]
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
        settings = self.settings
        rng = np.random.default_rng([settings.seed, *indices.tolist()])
        numbers = self.parts[indices, 0].tolist()
        self.vocabulary.add_texts(t for n in numbers for t in texts_of(self.frames[n].frame))
        items: list[Item] = []
        labels: list[Labels] = []
        for index, number in self.parts[indices].tolist():
            frame, gold, *_ = self.frames[index]
            if self._part_counts[index] == 1:  # parts of a frame must agree on its state
                frame = noisy_state(frame, gold, settings, rng)
            variant = noisy_schema(frame.schema, settings, rng)
            parts = sequences(frame, self.vocabulary, settings.max_tokens, variant)
            items.append(Item(frame, parts[number]))
            labels.append(labels_of(frame, gold))
        batch = make_batch(items, self.vocabulary.tokenizer.pad_token_id)
        return batch | label_batch(items, labels, batch)

    def fill(self, batch: Tensors, rows: int, width: int) -> Tensors:
        """Fill a batch up to rows and tokens."""
        return filled(batch, rows, width)
