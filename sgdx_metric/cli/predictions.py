"""Prediction files: JSON Lines, or a directory in the layout of the SGD release."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ..columns import column, strings
from ..rows import (
    PREDICTION,
    Prediction,
    ScoreError,
    SlotValue,
    Span,
    Values,
    arrow_table,
)

_T = TypeVar("_T")
# What the official scorer writes into the directory of predictions it scored.
_SCORER_OUTPUT = "dialogues_and_metrics.json"


class Metadata(msgspec.Struct):
    """What a prediction file may say of itself."""

    split: str | None = None
    variant: str | None = None
    system_acts: bool | None = None


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    metadata: Metadata


class _State(msgspec.Struct):
    active_intent: str
    requested_slots: list[str]
    slot_values: dict[str, Values]


class _Frame(msgspec.Struct):
    service: str
    state: _State
    slots: list[Span] | None = None


class _Turn(msgspec.Struct):
    speaker: str
    frames: msgspec.Raw  # only a user turn's are looked into


class _Dialogue(msgspec.Struct):
    dialogue_id: str
    turns: list[_Turn]


@dataclass(frozen=True)
class Predictions:
    """One variant's rows, and whether the system's acts were used (None: not said).

    The release's layout knows a frame by its service under the variant's name and by the place of
    its user turn among the dialogue's user turns. `by_user_turn` is true then, and `frame_id` is
    `<dialogue>/<place>/<service>` until `with_frame_ids` finds the real one.
    """

    rows: pa.Table
    system_acts: bool | None = None
    by_user_turn: bool = False


def read_predictions(path: Path, split: str, variant: str) -> Predictions:
    """Read one variant's predictions.

    Args:
        path: a JSONL file of prediction rows, whose first line may be {"metadata": {...}}, or a
            directory of dialogues_*.json.
        split, variant: what the file must be for.

    Raises:
        ScoreError: no such path, malformed, or for another split or variant.
    """
    try:
        if path.is_dir():
            return Predictions(_read_directory(path, variant), by_user_turn=True)
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ScoreError(f"{path}: {error.strerror}") from None
    metadata = Metadata()
    if lines[0].lstrip().startswith(b'{"metadata"'):
        metadata = decode(lines[0], _Header, f"{path}:1").metadata
        check_keys(lines[0], f"{path}:1")
        lines[0] = b""
    _check_metadata(metadata, f"{path}:1: metadata", split, variant)
    for number, line in enumerate(lines, 1):
        if line and not line.isspace():
            row = decode(line, Prediction, f"{path}:{number}")
            if row.variant != variant:
                raise ScoreError(f"{path}:{number}: variant is '{row.variant}', not '{variant}'")
    return Predictions(_table(lines, path), metadata.system_acts)


def _table(lines: list[bytes], path: Path) -> pa.Table:
    try:
        return arrow_table(lines, PREDICTION, str(path))
    except ScoreError:  # a key twice: say in which line
        for number, line in enumerate(lines, 1):
            if line and not line.isspace():
                check_keys(line, f"{path}:{number}")
        raise


def _check_metadata(metadata: Metadata, where: str, split: str, variant: str) -> None:
    for key, found, expected in (
        ("split", metadata.split, split),
        ("variant", metadata.variant, variant),
    ):
        if found not in (None, expected):
            raise ScoreError(f"{where}: {key} is '{found}', not '{expected}'")


def _read_directory(path: Path, variant: str) -> pa.Table:
    files = [file for file in sorted(path.glob("dialogues_*.json")) if file.name != _SCORER_OUTPUT]
    if not files:
        raise ScoreError(f"{path}: found no dialogues_*.json, expected the release's layout")
    rows = [msgspec.json.encode(row) for file in files for row in _rows(file, variant)]
    return arrow_table(rows, PREDICTION, str(path))


def _rows(file: Path, variant: str) -> Iterator[Prediction]:
    """The row of every user frame of a file."""
    data = file.read_bytes()
    dialogues = decode(data, list[_Dialogue], str(file))
    check_keys(data, str(file))
    for dialogue in dialogues:
        users = [(i, turn) for i, turn in enumerate(dialogue.turns) if turn.speaker == "USER"]
        for place, (index, turn) in enumerate(users):
            where = f"{file}: dialogue {dialogue.dialogue_id}, turn {index}"
            for frame in decode(turn.frames, list[_Frame], where):
                state = frame.state
                yield Prediction(
                    frame_id=f"{dialogue.dialogue_id}/{place}/{frame.service}",
                    variant=variant,
                    active_intent=state.active_intent,
                    requested_slots=state.requested_slots,
                    slot_values=[SlotValue(*item) for item in state.slot_values.items()],
                    slots=frame.slots,
                )


def with_frame_ids(predictions: Predictions, references: pa.Table) -> pa.Table:
    """The rows under the frame ids of the references; ids unknown to them are left as they are."""
    if not predictions.by_user_turn:
        return predictions.rows
    frame_ids = strings(column(references, "frame_id"))
    services = column(references, "service").to_pylist()
    turns = [frame_id.rsplit("/", 2)[:2] for frame_id in frame_ids.to_pylist()]
    place: dict[tuple[str, int], int] = {}
    user_turns: dict[str, int] = {}
    for dialogue, turn in sorted({(dialogue, int(turn)) for dialogue, turn in turns}):
        place[dialogue, turn] = user_turns.get(dialogue, 0)
        user_turns[dialogue] = place[dialogue, turn] + 1
    known = pa.array(
        f"{dialogue}/{place[dialogue, int(turn)]}/{service}"
        for (dialogue, turn), service in zip(turns, services, strict=True)
    )
    found = column(predictions.rows, "frame_id")
    real = pc.coalesce(frame_ids.take(pc.index_in(found, value_set=known)), found)
    return predictions.rows.set_column(0, "frame_id", real)


def decode(data: bytes | msgspec.Raw, kind: type[_T], where: str) -> _T:
    """JSON from outside as `kind`; keys that it lacks are skipped.

    Raises:
        ScoreError: beginning with `where`; not UTF-8, malformed, or not of that kind.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except UnicodeDecodeError as error:
        raise ScoreError(f"{where}: not UTF-8: {error}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise ScoreError(f"{where}: {error}") from None


def check_keys(data: bytes, where: str) -> None:
    """Refuse an object that has a key twice, of which a decoder silently keeps one.

    Raises:
        ScoreError: beginning with `where`.
    """
    # Decoding and encoding again loses keys only where one was there twice, and escapes of the
    # quotation mark aside, a key is what ends in '":'. That is far faster than looking at each.
    kept = msgspec.json.encode(decode(data, object, where)).count(b'":')
    if b"\\u0022" in data or msgspec.json.format(data, indent=-1).count(b'":') != kept:
        try:
            json.loads(data, object_pairs_hook=_once)
        except _TwiceError as error:
            raise ScoreError(f"{where}: an object has the key '{error}' twice") from None


class _TwiceError(Exception):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (key, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise _TwiceError(key)
    return found
