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


def dialogue_columns(
    dialogues: Sequence[Dialogue[Frame]], coder: Coder, path: str
) -> Callable[[Names], pa.Table]:
    """Gather dialogues into columns."""
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


def _turns(turns: Sequence[Turn[Frame]], coder: Coder) -> Column:
    speaker = pa.array([turn.speaker for turn in turns], pa.string())
    utterance = pa.array([turn.utterance for turn in turns], pa.string())
    frames = frame_column([frame for turn in turns for frame in turn.frames], coder)
    offsets = offsets_of(turn.frames for turn in turns)
    return lambda names: struct_array(
        speaker=speaker, utterance=utterance, frames=list_array(offsets, frames(names))
    )
