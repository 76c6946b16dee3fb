"""Dialogues as Arrow columns, which are made once and then named for every variant.

Variants differ from the original in nothing but names and schemas. So each function here gathers a
level of the dialogues (dialogues, turns, frames) into columns that have codes in place of names,
and returns a function that puts a variant's names in: a ``Column``. The items of all lists of a
level are laid end to end; ``list_array`` cuts them into lists again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import pyarrow as pa

from ..io.errors import SgdxError
from ..release.dialogue import AnyFrame, Dialogue, Frame, Turn
from .arrays import code_array, list_array, offsets_of, struct_array
from .columns import DIALOGUE_COLUMNS
from .frame_columns import Column, frame_column
from .name_codes import Coder, Names

Gathered = TypeVar("Gathered")
_SPEAKERS = ("USER", "SYSTEM")


def dialogue_columns(
    dialogues: Sequence[Dialogue[Frame]], coder: Coder, path: str
) -> Callable[[Names], pa.Table]:
    """Gather dialogues into columns.

    Args:
        dialogues: The dialogues of a file.
        coder: Codes of the names in the split's original schema.
        path: Where the dialogues come from, for error messages.

    Returns:
        A function from a variant's names to its table of dialogue rows (``DIALOGUE_COLUMNS``).

    Raises:
        SgdxError: A dialogue names what its schema lacks, or its frames are at fault; the message
            names the dialogue.
    """
    return gathered(_dialogue_columns, dialogues, coder, path)


def gathered(
    gather: Callable[[Sequence[Dialogue[AnyFrame]], Coder], Gathered],
    dialogues: Sequence[Dialogue[AnyFrame]],
    coder: Coder,
    path: str,
) -> Gathered:
    """What a function gathers from a file's dialogues; its errors name the dialogue at fault."""
    try:
        return gather(dialogues, coder)
    except SgdxError:
        for dialogue in dialogues:  # find the one at fault
            try:
                gather([dialogue], coder)
            except SgdxError as error:
                raise SgdxError(f"{path}: dialogue {dialogue.dialogue_id}: {error}") from None
        raise


def _dialogue_columns(
    dialogues: Sequence[Dialogue[Frame]], coder: Coder
) -> Callable[[Names], pa.Table]:
    ids = pa.array([dialogue.dialogue_id for dialogue in dialogues], pa.string())
    services = code_array([coder.services[s] for dialogue in dialogues for s in dialogue.services])
    service_offsets = offsets_of(dialogue.services for dialogue in dialogues)
    for dialogue in dialogues:
        check_frames(dialogue)
        _check_calls(dialogue)
    turns = _turns([turn for dialogue in dialogues for turn in dialogue.turns], coder)
    turn_offsets = offsets_of(dialogue.turns for dialogue in dialogues)

    def table(names: Names) -> pa.Table:
        columns = [
            ids,
            pa.repeat(names.variant, len(ids)),
            list_array(service_offsets, names.services.take(services)),
            list_array(service_offsets, names.schemas.take(services)),
            list_array(turn_offsets, turns(names)),
        ]
        return pa.table(columns, names=DIALOGUE_COLUMNS.names)

    return table


def check_frames(dialogue: Dialogue[AnyFrame]) -> None:
    """Raise ``SgdxError`` unless the frames are what frame rows rely on.

    A turn has at most one frame per service, as frame rows go by turn and service; and its services
    are among the dialogue's, whose schemas are joined into the row. Spans are in the utterance.
    """
    services = set(dialogue.services)
    for index, turn in enumerate(dialogue.turns):
        if turn.speaker not in _SPEAKERS:
            raise SgdxError(f"turn {index}: speaker is {turn.speaker!r}, expected USER or SYSTEM")
        frame_services = {frame.service for frame in turn.frames}
        if len(frame_services) < len(turn.frames) or not frame_services <= services:
            listed = [frame.service for frame in turn.frames]
            twice = len(frame_services) < len(listed)
            expected = "one frame a service" if twice else f"of {dialogue.services}"
            raise SgdxError(f"turn {index}: frames of {listed}, expected {expected}")
        length = len(turn.utterance)
        for frame in turn.frames:
            for span in frame.slots:
                if not span.start <= span.exclusive_end <= length:
                    span_characters = (
                        f"{span.slot} at characters {span.start} to {span.exclusive_end}"
                    )
                    raise SgdxError(
                        f"turn {index}: found {span_characters}, expected some of {length}"
                    )


def _check_calls(dialogue: Dialogue[Frame]) -> None:
    """Raise ``SgdxError`` where a frame has a call without results, or results without a call."""
    for index, turn in enumerate(dialogue.turns):
        for frame in turn.frames:
            if (frame.service_call is None) != (frame.service_results is None):
                raise SgdxError(f"turn {index}: expected both service_call and service_results")


def _turns(turns: Sequence[Turn[Frame]], coder: Coder) -> Column:
    speaker = pa.array([turn.speaker for turn in turns], pa.string())
    utterance = pa.array([turn.utterance for turn in turns], pa.string())
    frames = frame_column([frame for turn in turns for frame in turn.frames], coder)
    offsets = offsets_of(turn.frames for turn in turns)
    return lambda names: struct_array(
        speaker=speaker, utterance=utterance, frames=list_array(offsets, frames(names))
    )
