"""Tracking of dialogues turn by turn, all dialogues together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from ..data.dialogues import Dialogue, OpenTurn, State, UserTurn, track_in_step
from .frames import FrameInput, frame_input, last_utterances

Acts = bool | Literal["sometimes"]
TEXT_UTTERANCES = 4  # number of utterances read without acts, where acts are read ``sometimes``


class Reading(NamedTuple):
    """How much of a dialogue is read."""

    # Whether the system's dialogue acts are read; ``sometimes`` from the first turn that has any.
    acts: Acts
    utterances: int  # most; turns without acts, where these are read sometimes, have four

    def at(self, turns: Sequence[UserTurn]) -> Reading:
        """How much is read at the last of the given turns, the first ones of a dialogue."""
        if self.acts != "sometimes":
            return self
        if any(turn.acts for turn in turns):
            return Reading(True, self.utterances)
        return Reading(False, TEXT_UTTERANCES)


# Returns the state of each frame, given its variant, its ``frame_id`` and its input.
Reader = Callable[[Sequence[tuple[str, str, FrameInput]]], Sequence[State]]


def track_dialogues(
    reader: Reader, dialogues: Sequence[Dialogue], reading: Reading
) -> list[list[State]]:
    """Predict the state of every frame of several dialogues."""

    def predict(open_turns: Sequence[OpenTurn]) -> Sequence[State]:
        frames: list[tuple[str, str, FrameInput]] = []
        for memory, variant, turns in open_turns:
            turn = turns[-1]
            acts, utterances = reading.at(turns)
            if acts:
                memory.add_system_turn(turn.acts)
            heard = last_utterances(turns, utterances, acts=bool(acts))
            frames += [
                (variant, frame.frame_id, frame_input(memory, heard, turn, frame))
                for frame in turn.frames
            ]
        return reader(frames)

    return track_in_step(dialogues, predict)
