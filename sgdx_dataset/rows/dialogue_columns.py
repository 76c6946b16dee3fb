"""Dialogues as Arrow columns, which are made once and then named for every variant.

Variants differ from the original in nothing but names and schemas. So each function here gathers a
level of the dialogues (dialogues, turns, frames) into columns that have codes in place of names,
and returns a function that puts a variant's names in: a ``Column``. The items of all lists of a
level are laid end to end; ``list_array`` cuts them into lists again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from ..io.errors import SgdxError
from ..release.dialogue import AnyFrame, BriefFrame, Dialogue, Frame, Turn
from .arrays import code_array, list_array, offsets_of, struct_array
from .canonical_values import of_dialogues
from .columns import DIALOGUE_COLUMNS
from .frame_columns import Column, frame_column
from .name_codes import Coder, Names


def dialogue_columns(
    dialogues: Sequence[Dialogue[AnyFrame]], frame: type[AnyFrame], coder: Coder, path: str
) -> Callable[[Names], pa.Table]:
    """Gather dialogues into columns.

    Args:
        dialogues: The dialogues of a file.
        frame: The class of their frames, whose fields the rows' frames have.
        coder: Codes of the names in the split's original schema.
        path: Where the dialogues come from, for error messages.

    Returns:
        A function from a variant's names to its table of dialogue rows: ``DIALOGUE_COLUMNS``, or
        those of its fields that ``frame`` and the names have.

    Raises:
        SgdxError: A dialogue names what its schema lacks, or its frames are at fault; the message
            names the dialogue.
    """
    try:
        return _dialogue_columns(dialogues, frame, coder)
    except SgdxError:
        for dialogue in dialogues:  # find the one at fault
            try:
                _dialogue_columns([dialogue], frame, coder)
            except SgdxError as error:
                raise SgdxError(f"{path}: dialogue {dialogue.dialogue_id}: {error}") from None
        raise


def _dialogue_columns(
    dialogues: Sequence[Dialogue[AnyFrame]], frame: type[AnyFrame], coder: Coder
) -> Callable[[Names], pa.Table]:
    ids = pa.array([dialogue.dialogue_id for dialogue in dialogues], pa.string())
    services = code_array([coder.services[s] for dialogue in dialogues for s in dialogue.services])
    service_offsets = offsets_of(dialogue.services for dialogue in dialogues)
    for dialogue in dialogues:
        _check_frames(dialogue)
    canonical_values = of_dialogues(dialogues) if frame is BriefFrame else None
    all_turns = [turn for dialogue in dialogues for turn in dialogue.turns]
    turns = _turns(all_turns, frame, coder, canonical_values)
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


def _check_frames(dialogue: Dialogue[AnyFrame]) -> None:
    """Raise ``SgdxError`` unless the frames are what frame rows rely on.

    A turn has at most one frame per service, as frame rows go by turn and service; and its services
    are among the dialogue's, whose schemas are joined into the row.
    """
    services = set(dialogue.services)
    for index, turn in enumerate(dialogue.turns):
        frame_services = [frame.service for frame in turn.frames]
        if len(frame_services) > 1 and len(set(frame_services)) < len(frame_services):
            raise SgdxError(
                f"turn {index}: frames of {frame_services}, expected one frame a service"
            )
        if not services.issuperset(frame_services):
            raise SgdxError(
                f"turn {index}: frames of {frame_services}, expected of {dialogue.services}"
            )
        if turn.speaker not in ("USER", "SYSTEM"):
            raise SgdxError(f"turn {index}: speaker is {turn.speaker!r}, expected USER or SYSTEM")
        for frame in turn.frames:
            for span in frame.slots:
                if not span.start <= span.exclusive_end <= len(turn.utterance):
                    span_characters = (
                        f"{span.slot} at characters {span.start} to {span.exclusive_end}"
                    )
                    length = len(turn.utterance)
                    raise SgdxError(
                        f"turn {index}: found {span_characters}, expected some of {length}"
                    )
            if not isinstance(frame, Frame):
                continue
            if (frame.service_call is None) != (frame.service_results is None):
                raise SgdxError(f"turn {index}: expected both service_call and service_results")


def _turns(
    turns: Sequence[Turn[AnyFrame]],
    frame: type[AnyFrame],
    coder: Coder,
    canonical_values: pa.ListArray | None,
) -> Column:
    speaker = pa.array([turn.speaker for turn in turns], pa.string())
    utterance = pa.array([turn.utterance for turn in turns], pa.string())
    records = [record for turn in turns for record in turn.frames]
    frames = frame_column(records, frame, coder, canonical_values)
    offsets = offsets_of(turn.frames for turn in turns)
    return lambda names: struct_array(
        speaker=speaker, utterance=utterance, frames=list_array(offsets, frames(names))
    )
