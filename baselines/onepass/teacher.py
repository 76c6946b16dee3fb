"""The teacher: it answers from gold states, which gives the training examples and the ceiling.

It reads gold annotations, so it is for training and diagnosis alone, never for prediction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sgdx_dataset.schema import NONE_INTENT

from ..data.dialogues import Dialogue, State
from .decode import Answer, CandidateSpan, SlotAnswer, decode
from .frames import FrameInput, GoldFrame
from .labels import DONTCARE, FROM, GIVEN, KEEP, SAY, STATUSES, Labels, Paths, labels_of
from .tracking import Reading, track_dialogues


class Example(NamedTuple):
    """A training example."""

    frame: FrameInput
    gold: GoldFrame
    slots: int  # number of its tracked slots
    without_path: int  # number of those that no path leads to


def gold_examples(
    dialogues: Sequence[Dialogue],
    gold: Mapping[tuple[str, str], GoldFrame],
    reading: Reading,
) -> tuple[list[Example], list[list[State]]]:
    """The training examples of dialogues that are tracked with right answers, and the states."""
    # An answer is right relative to the state so far, which is not gold where no path leads there.
    examples: list[Example] = []

    def read(variant: str, name: str, frame: FrameInput) -> State:
        gold_frame = gold[variant, name]
        labels = labels_of(frame, gold_frame)
        without_path = sum(not slot_paths for slot_paths in labels.paths.values())
        examples.append(Example(frame, gold_frame, len(labels.paths), without_path))
        return decode(frame, gold_answer(frame, labels))

    def reader(frames: Sequence[tuple[str, str, FrameInput]]) -> list[State]:
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
