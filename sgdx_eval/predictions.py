"""Predictions: what `--predictions` names, files of a header and a row a line, and their checks.

A file's first line may be a header, ``{"metadata": ...}``, that says how it was made. States may
also come in the layout of the SGD release.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sgdx_dataset.io.console import escape_controls, is_first
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import read_input, write_bytes
from sgdx_dataset.io.json import decode_json, many_objects, parse_json
from sgdx_dataset.options import split_pairs
from sgdx_metric.columns import column, integers, strings
from sgdx_metric.errors import ScoreError
from sgdx_metric.rows import (
    EXAMPLE_ROW,
    PREDICTION,
    Place,
    Prediction,
    Values,
    arrow_table,
    is_whole,
)
from sgdx_metric.signature import split_name
from sgdx_metric.variants import own_variants

if TYPE_CHECKING:
    from .gold import Gold

_BEGINNING = re.compile(rb'\s*\{\s*"metadata"\s*:')


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a prediction file says of itself; it may lack any of these, and have others."""

    # What the predictions are: "state", "turns" or "tools".
    task: str | None = None
    variant: str | None = None
    split: str | None = None
    # The name of the data without its folders, and a digest of what the predictions are made from.
    source: str | None = None
    data: str | None = None
    # The fingerprint of the variant, where it is the user's own.
    words: str | None = None
    # The number and digest of the dialogues, where they are some of the split alone.
    dialogues: str | None = None
    # Whether the model was trained on schemas that it is evaluated on.
    oracle: bool | None = None
    # What the system is and how it was asked or run: its own facts under keys of its own. Files are
    # of one system if these are equal. `tracker`, `model`, `weights`, `system_acts` are read.
    system: dict[str, Any] = {}
    # What was counted while predicting, such as how many of the `requests` were `unread`.
    counts: dict[str, Any] = {}
    versions: dict[str, str] = {}


NO_HEADER = Header()
_LONGEST = 1_000_000  # bytes of a first line; a longer one is no header of ours


class AnyRow(msgspec.Struct):
    """What tells the rows of the tasks apart, their ids and their variant."""

    variant: str | None = None
    frame_id: str | None = None
    turn_id: str | None = None
    utterance: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    calls: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Beginning(NamedTuple):
    """What a prediction file says of itself before its rows are read."""

    header: Header | None
    task: str
    variant: str | None


def read_beginning(path: Path) -> Beginning:
    """The header of a prediction file, if it has one; its task and variant, or its first row's."""
    if path.is_dir():
        return Beginning(None, "state", None)
    try:
        with path.open("rb") as file:
            lines = (line for line in iter(lambda: file.readline(_LONGEST), b"") if line.strip())
            first = next(lines, b"")
            header = _header(first, path)
            line = first if header is None else next(lines, b"")
    except OSError as error:
        raise SgdxError(f"{path}: {error.strerror}") from None
    row = AnyRow()
    with suppress(msgspec.DecodeError, RecursionError):  # which the rows' reader tells
        row = msgspec.json.decode(line, type=AnyRow)
    task = "tools" if row.calls is not msgspec.UNSET else "state"
    task = task if row.utterance is msgspec.UNSET else "turns"
    if header is None:
        return Beginning(None, task, row.variant)
    return Beginning(header, task if header.task is None else header.task, header.variant)


def _header(line: bytes, path: Path) -> Header | None:
    """The header in the first line of a prediction file; None where that is, for example, a row."""
    if not _BEGINNING.match(line):
        return None
    line_form = dict[Literal["metadata"], Header]
    return parse_json(line, line_form, f"{path}:1", "a header of predictions")["metadata"]


def read_prediction_lines(path: Path, **expected: str) -> tuple[bytes, Header]:
    """Read a JSONL file of predictions: its lines, and its header, which is to be as expected.

    The header's line is left empty, so that the number of a line stays what it is.
    """
    data = read_input(path)
    first_line = data.partition(b"\n")[0]
    header = _header(first_line, path)
    if header is None:
        return data, NO_HEADER
    for key, value in expected.items():
        stated = getattr(header, key)
        if stated is not None and (split_name(stated) if key == "split" else stated) != value:
            raise SgdxError(f"{path}:1: metadata: {key} is {_shown(stated)}, expected {value!r}")
    return data[len(first_line) :], header


def numbered(lines: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1."""
    every = enumerate(lines.split(b"\n"), 1)
    return ((number, line) for number, line in every if line and not line.isspace())


# ---- which files are meant


def prediction_paths(
    given: Mapping[str, Path] | Path | Sequence[str], variants: Sequence[str], notes: bool = False
) -> dict[str, Path]:
    """The prediction file or folder of each variant.

    What is given is paths by variant, a folder, or the arguments of `--predictions`: VARIANT=PATH
    for each variant, or one folder. In a folder those of `variants` are meant. If `notes`, files
    there of other variants are named on standard error.
    """
    if not isinstance(given, Mapping | Path):
        folders = [of for of in given if "=" not in of or Path(of).is_dir()]  # as runs/lr=3e-4
        if folders and len(given) > 1:
            raise SgdxError(
                f"--predictions {folders[0]}: found {len(given)} of this option, expected either "
                "one folder or VARIANT=PATH for each variant"
            )
        form = "VARIANT=PATH, as in v1=v1.jsonl"
        pairs = [] if folders else list(split_pairs("--predictions", given, form))
        for place, (variant, file) in enumerate(pairs):
            if variant in dict(pairs[:place]):
                where = f"--predictions {variant}={file}"
                raise SgdxError(f"{where}: variant '{variant}' appears twice")
        given = Path(folders[0]) if folders else {name: Path(file) for name, file in pairs}
    if isinstance(given, Mapping):
        for path in given.values():
            if not path.exists():
                raise SgdxError(f"{path}: No such file or directory")
        return dict(given)
    where = f"--predictions {given}"
    if not given.is_dir():
        found = "a file" if given.exists() else "no such folder"
        raise SgdxError(
            f"{where}: found {found}, expected a folder with VARIANT.jsonl or VARIANT/ for each "
            "variant, or VARIANT=PATH, as in v1=v1.jsonl"
        )
    if any(given.glob("dialogues_*.json")):
        raise SgdxError(
            f"{where}: the folder itself holds dialogues_*.json; for the predictions of one "
            f"variant write VARIANT={given}, as in v1={given}"
        )
    paths: dict[str, Path] = {}
    for variant in variants:
        path, directory = given / f"{variant}.jsonl", given / variant
        if path.exists() and directory.is_dir():
            raise SgdxError(
                f"{where}: found both {path.name} and {directory.name}/, expected one of them for "
                f"variant '{variant}'"
            )
        if path.exists() or directory.is_dir():
            paths[variant] = path if path.exists() else directory
    if not paths:
        expected = f"expected VARIANT.jsonl or VARIANT/ for some of {', '.join(variants)}"
        raise SgdxError(f"{where}: found no predictions, {expected}")
    # Without --variant NAME=PATH nobody knows the variant that a file is named after.
    others = []
    for path in sorted(given.glob("*.jsonl")) if notes else ():
        if path.stem not in variants and path.is_file():
            with suppress(SgdxError):  # another file beside predictions
                if read_beginning(path).variant is not None:
                    others.append(path.stem)
    if others:
        names = escape_controls(", ".join(others))
        advice = "to score a variant of your own, give --variant NAME=PATH, control or repeat"
        print(f"note: left out: {names}; {advice}", file=sys.stderr)
    return paths


# ---- reading rows


@dataclass(frozen=True)
class Predictions:
    """The predictions of one variant."""

    rows: pa.Table
    # What the file says of itself; a directory says nothing.
    header: Header = NO_HEADER
    # Where it was read.
    path: Path | None = None
    # Whether the rows come from the release's layout. That layout knows a frame by its service
    # under the variant's name and by the place of its user turn among the dialogue's user turns:
    # `frame_id` is `<dialogue>/<place>/<service>` until `with_frame_ids` finds the real one.
    by_user_turn: bool = False


def read_predictions(
    path: Path,
    split: str,
    variant: str,
    kind: type[msgspec.Struct] = Prediction,
    schema: pa.Schema = PREDICTION,
) -> Predictions:
    """Read one variant's predictions, as a table with the columns of a schema.

    The path is a JSONL file of rows of a kind, whose first line may be {"metadata": {...}}, or, of
    dialogue states, a directory of dialogues_*.json. It must be for the split and the variant.
    """
    if path.is_dir() and kind is Prediction:
        return Predictions(_read_dialogues(path, variant), path=path, by_user_turn=True)
    lines, header = read_prediction_lines(path, split=split, variant=variant)
    # Lines one by one take ten times as long as all at once. So they are looked at only where one
    # may be at fault; some are not, such as those that end in other characters.
    try:
        rows = arrow_table(lines, schema, str(path))
        if not _is_sound(rows, lines.strip(), variant, kind):
            _check_lines(lines, variant, path, kind)
        return Predictions(rows, header, path)
    except ScoreError:
        _check_lines(lines, variant, path, kind)
        for number, line in numbered(lines):  # a row has a key twice
            parse_json(line, object, f"{path}:{number}", "a prediction row")
        raise


def _is_sound(rows: pa.Table, lines: bytes, variant: str, kind: type[msgspec.Struct]) -> bool:
    """Whether rows lack nothing, are of the variant, and have a line each, all of them text."""
    # Rows may go over lines or share one, unless this is all that stands between any two.
    if not lines.count(b"}\n{") == lines.count(b"\n") == len(rows) - 1:
        return False
    with suppress(UnicodeDecodeError):
        lines.decode()
        return is_whole(rows, kind) and rows["variant"].unique().to_pylist() == [variant]
    return False


@contextmanager
def located(predictions: Mapping[str, Predictions], gold: Gold) -> Iterator[None]:
    """Say of an error about a row in which file and line it is, and what it is held against."""
    try:
        yield
    except ScoreError as error:
        words = {*re.split(r"[\s,;:]+", str(error))}
        # Errors of generated turns name the variant; those of frames are of the one that is scored.
        named = [name for name in predictions if name in words] or [*predictions]
        of_variant = predictions[named[0]]
        place = "".join(_place(path, words) for path in [of_variant.path] if path)
        held = f"references: {gold.split} of {gold.name}"
        if of_variant.header.source:
            held = f"predictions: made from {of_variant.header.source}; {held}"
        raise SgdxError(f"{place}{error} ({held})") from None


def _place(path: Path, words: Collection[str]) -> str:
    """The last line of a file whose row has its id among the words of an error."""
    if path.is_dir():
        return f"{path}: "
    for number, line in reversed(list(numbered(read_prediction_lines(path)[0]))):
        row = msgspec.json.decode(line, type=AnyRow)
        if row.frame_id in words or row.turn_id in words:
            return f"{path}:{number}: "
    return f"{path}: "


_TURN_ROW = '{"turn_id": "1_00000/1", "variant": "v1", "utterance": "Where to?"}, with the task '
_TURN_ROW += "turns in the file's first line"


def _check_lines(lines: bytes, variant: str, path: Path, kind: type[msgspec.Struct]) -> None:
    """Raise SgdxError for the first line that is not a prediction row for the variant."""
    for number, line in numbered(lines):
        try:
            row = decode_json(line, kind, f"{path}:{number}", "a prediction row")
        except SgdxError as error:
            example = _TURN_ROW if b'"turn_id"' in line else EXAMPLE_ROW
            is_known = kind is Prediction or example is _TURN_ROW
            raise SgdxError(f"{error}{f'; expected a row as {example}' * is_known}") from None
        stated = row.variant  # type: ignore[attr-defined]
        if stated != variant:
            raise SgdxError(f"{path}:{number}: variant is '{stated}', not '{variant}'")


def with_frame_ids(predictions: Predictions, references: pa.Table) -> pa.Table:
    """The rows under the ids of the references; an id that is unknown there is left as it is."""
    if not predictions.by_user_turn:
        return predictions.rows
    frame_ids = strings(column(references, "frame_id"))
    parts = pc.extract_regex(frame_ids, "^(?P<dialogue>.*)/(?P<turn>[0-9]+)/[^/]*$")
    dialogue, turn = (pc.struct_field(parts, name) for name in ("dialogue", "turn"))
    # The turns of all dialogues in order, and the place of each after the first of its dialogue.
    code = integers(dialogue.dictionary_encode().indices)
    turns, of_row = np.unique(code << 32 | integers(turn), return_inverse=True)
    first = np.searchsorted(turns, turns >> 32 << 32)
    place = pa.array((np.arange(len(turns)) - first)[of_row]).cast(pa.string())
    service = strings(column(references, "service"))
    layout_ids = pc.binary_join_element_wise(dialogue, place, service, "/")
    stated_ids = column(predictions.rows, "frame_id")
    real = pc.coalesce(frame_ids.take(pc.index_in(stated_ids, value_set=layout_ids)), stated_ids)
    return predictions.rows.set_column(0, "frame_id", real)


# ---- the layout of the SGD release: a folder of dialogues_*.json, as trackers write


# What the official scorer writes into the folder of predictions that it scored.
_SCORER_OUTPUT = "dialogues_and_metrics.json"


class _Span(TypedDict):
    slot: str
    start: Place
    exclusive_end: Place


class _State(msgspec.Struct, gc=False):
    active_intent: str
    requested_slots: list[str]
    slot_values: dict[str, Values]


class _Frame(msgspec.Struct, gc=False):
    service: str
    state: _State
    slots: list[_Span] | None = None


class _UserTurn(msgspec.Struct, tag_field="speaker", tag="USER", gc=False):
    frames: list[_Frame]


class _SystemTurn(msgspec.Struct, tag_field="speaker", tag="SYSTEM", gc=False):
    """Nothing is read of it."""


class _Dialogue(msgspec.Struct, gc=False):
    dialogue_id: str
    turns: list[_UserTurn | _SystemTurn]


def _read_dialogues(folder: Path, variant: str) -> pa.Table:
    """The rows of every user frame, by the place of a user turn among those."""
    files = [f for f in sorted(folder.glob("dialogues_*.json")) if f.name != _SCORER_OUTPUT]
    if not files:
        raise SgdxError(f"{folder}: found no dialogues_*.json, expected the release's layout")
    ids, states, spans = list[str](), list[_State](), list[list[_Span] | None]()
    with many_objects():
        for file in files:
            what = "a list of dialogues"
            for dialogue in decode_json(read_input(file), list[_Dialogue], str(file), what):
                users = [turn for turn in dialogue.turns if isinstance(turn, _UserTurn)]
                for place, turn in enumerate(users):
                    for frame in turn.frames:
                        ids.append(f"{dialogue.dialogue_id}/{place}/{frame.service}")
                        states.append(frame.state)
                        spans.append(frame.slots)
        values = pa.map_(pa.string(), pa.list_(pa.string()))  # a mapping, as JSON has it
        columns = [
            pa.array(ids, pa.string()),
            pa.repeat(variant, len(ids)),
            pa.array([state.active_intent for state in states], pa.string()),
            pa.array([state.requested_slots for state in states], pa.list_(pa.string())),
            pa.array([state.slot_values for state in states], values),
            pa.array(spans, PREDICTION.field("slots").type),
        ]
    cast = [of.cast(field.type) for of, field in zip(columns, PREDICTION)]
    return pa.table(cast, schema=PREDICTION)


# ---- what headers say


def first_difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """The first key under which two JSON objects differ; empty if there is none."""
    keys = (key for key in {**first, **second} if first.get(key) != second.get(key))
    return next(keys, "")


def check_one_system(headers: Mapping[str, Header]) -> None:
    """Refuse files, by variant, that say of themselves that they are of different systems.

    Those that say nothing are taken to be of the same.
    """
    oracles = {n: {"oracle": h.oracle} for n, h in headers.items() if h.oracle is not None}
    systems = {name: header.system for name, header in headers.items() if header.system}
    for facts in (oracles, systems):
        first = next(iter(facts), "")
        for name in facts:
            if key := first_difference(facts[first], facts[name]):
                raise SgdxError(
                    f"predictions for {name}: {key} is {_shown(facts[name].get(key))}, and "
                    f"{_shown(facts[first].get(key))} in those for {first}: expected the "
                    "predictions of one system"
                )


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}..."


def check_data(header: Header, name: str, data: str | None, words: str | None) -> None:
    """Refuse predictions that say of themselves that they were made from other data.

    `data` is the digest of the references, `words` the fingerprint of an own variant; None where
    that is unknown. Where the digests agree, so do the variants: they are of their words too.
    """
    if header.words is not None and not own_variants([name]):
        raise SgdxError(
            f"predictions for {name}: words are {header.words}, expected none, as {name} is no "
            "variant of one's own; give it another name with --variant"
        )
    if header.data is not None and header.data == data:
        return
    if None not in (header.words, words) and header.words != words:
        raise SgdxError(
            f"predictions for {name}: words are {header.words}, and the references' are "
            f"{words}: expected the variant that was predicted; give it with --variant"
        )
    if None not in (header.data, data) and header.data != data:
        raise SgdxError(
            f"predictions for {name}: were made from data {header.data} (source "
            f"{header.source}), and the references are {data}: expected the same dialogues and "
            "schemas; give their --source, or predict again"
        )


def oracle(headers: Mapping[Any, Header]) -> Literal["yes", "no", "unknown"]:
    """Whether predictions are of an oracle: "yes" if any say so, "no" if all say that not."""
    stated = {header.oracle for header in headers.values()}
    return "yes" if True in stated else "no" if stated == {False} else "unknown"


def unread_answers(headers: Mapping[str, Header]) -> dict[str, tuple[int, int]]:
    """How many answers could not be read, and of how many, by variant; only where that is said."""
    unread = {}
    for name, header in headers.items():
        count, requests = header.counts.get("unread"), header.counts.get("requests")
        if type(count) is int and type(requests) is int:
            unread[name] = (count, requests)
    return unread


def system_acts(headers: Mapping[str, Header]) -> str:
    """Whether predictions used the system's dialogue acts: "yes", "no", "unknown" or "mixed"."""
    stated = (header.system.get("system_acts") for header in headers.values())
    distinct = {("no", "yes")[of] if isinstance(of, bool) else "unknown" for of in stated}
    return distinct.pop() if len(distinct) == 1 else "mixed"


# ---- writing


Row = dict[str, Any]
_PACKAGES = ("torch", "transformers", "accelerate", "datasets")


def prediction_row(
    frame: Mapping[str, Any],
    active_intent: str,
    requested_slots: Iterable[str],
    slot_values: Mapping[str, list[str]],
) -> Row:
    """One row of a prediction file; slot values are sorted by the name of the slot."""
    return {
        "frame_id": frame["frame_id"],
        "variant": frame["variant"],
        "active_intent": active_intent,
        "requested_slots": list(requested_slots),
        "slot_values": [{"slot": s, "values": v} for s, v in sorted(slot_values.items())],
    }


def write_predictions(path: Path, header: Header, rows: Iterable[Any]) -> Path:
    """Write a header line ``{"metadata": ...}`` and one line for each prediction row."""
    write_bytes(path, msgspec.json.Encoder().encode_lines([{"metadata": header}, *rows]))
    return path


def finished_names(folder: Path, headers: Mapping[str, Header]) -> list[str]:
    """The names whose predictions are in a folder already, as they would be made again."""
    there = [name for name in headers if (folder / f"{name}.jsonl").exists()]
    keys = {name: _difference(folder / f"{name}.jsonl", headers[name]) for name in there}
    finished = [name for name in there if not keys[name]]
    for key in dict.fromkeys(filter(None, keys.values())):
        names = ", ".join(name for name in there if keys[name] == key)
        _note(f"{folder}: predicting again, as the {key} of {names} differs from this run's")
    if finished:
        what = f"the predictions for {', '.join(finished)} are kept"
        _note(f"{folder}: {what}, remove them to predict again")
    return finished


def _note(text: str) -> None:
    if is_first():
        print(f"note: {escape_controls(text)}", file=sys.stderr)


def _difference(path: Path, header: Header) -> str:
    """The first key by which the header of a file is another than expected; empty if none is."""
    try:
        found = read_beginning(path).header or NO_HEADER
        found = msgspec.structs.replace(found, counts={}, versions={})
    except SgdxError:
        found = Header()
    found_facts, facts = (msgspec.json.decode(msgspec.json.encode(h)) for h in (found, header))
    key = first_difference(found_facts, facts)
    return first_difference(found.system, facts.get("system", {})) if key == "system" else key


def versions() -> dict[str, str]:
    """Versions of Python and of the key packages that are installed."""
    numbers = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            numbers[name] = version(name)
        except PackageNotFoundError:
            continue
    return numbers
