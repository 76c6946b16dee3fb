"""Predictions in the layout of the SGD release: a folder of dialogues_*.json, as trackers write."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
import pyarrow as pa

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import decode_json, parse_json
from sgdx_metric.rows import PREDICTION, Prediction, SlotValue, Span, Values, arrow_table

# What the official scorer writes into the folder of predictions that it scored.
_SCORER_OUTPUT = "dialogues_and_metrics.json"


class _State(msgspec.Struct, gc=False):
    active_intent: str
    requested_slots: list[str]
    slot_values: dict[str, Values]


class _Frame(msgspec.Struct, gc=False):
    service: str
    state: _State
    slots: list[Span] | None = None


class _Turn(msgspec.Struct, gc=False):
    speaker: Literal["USER", "SYSTEM"]
    frames: msgspec.Raw  # Only the frames of user turns are decoded.


class _Dialogue(msgspec.Struct, gc=False):
    dialogue_id: str
    turns: list[_Turn]


def dialogue_files(folder: Path) -> list[Path]:
    """The files of a folder in the release's layout, sorted."""
    files = sorted(folder.glob("dialogues_*.json"))
    return [file for file in files if file.name != _SCORER_OUTPUT]


def read_dialogue_folder(path: Path, variant: str) -> pa.Table:
    """The rows of a folder in the release's layout, by the place of a user turn among those."""
    files = dialogue_files(path)
    if not files:
        raise SgdxError(f"{path}: found no dialogues_*.json, expected the release's layout")
    rows = [row for file in files for row in _rows(file, variant)]
    return arrow_table(msgspec.json.Encoder().encode_lines(rows), PREDICTION, str(path))


def _rows(file: Path, variant: str) -> Iterator[Prediction]:
    """The row of every user frame of a file."""
    dialogues = parse_json(read_input(file), list[_Dialogue], str(file), "a list of dialogues")
    for dialogue in dialogues:
        users = [(i, turn) for i, turn in enumerate(dialogue.turns) if turn.speaker == "USER"]
        for user_turn, (index, turn) in enumerate(users):
            where = f"{file}: dialogue {dialogue.dialogue_id}, turn {index}"
            for frame in decode_json(turn.frames, list[_Frame], where, "a list of frames"):
                state = frame.state
                yield Prediction(
                    frame_id=f"{dialogue.dialogue_id}/{user_turn}/{frame.service}",
                    variant=variant,
                    active_intent=state.active_intent,
                    requested_slots=state.requested_slots,
                    slot_values=[SlotValue(*item) for item in state.slot_values.items()],
                    slots=frame.slots,
                )
