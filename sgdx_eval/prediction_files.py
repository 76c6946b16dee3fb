"""Prediction files: a header line that says how the file was made, then a row a line."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls, is_first
from sgdx_dataset.io.files import read_input, write_bytes
from sgdx_dataset.io.json import parse_json
from sgdx_metric.signature import split_name
from sgdx_metric.variants import own_variants

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


def parse_header(line: bytes, path: Path) -> Header | None:
    """The header in the first line of a prediction file; None where that is, for example, a row."""
    if not _BEGINNING.match(line):
        return None
    line_form = dict[Literal["metadata"], Header]
    return parse_json(line, line_form, f"{path}:1", "a header of predictions")["metadata"]


def stated_variant(path: Path) -> str | None:
    """The variant that the first line of a prediction file names, be it a header or a row."""
    header, first = read_beginning(path)
    if header is not None:
        return header.variant
    return parse_json(first, AnyRow, f"{path}:1", "a line of predictions").variant


def read_beginning(path: Path) -> tuple[Header | None, bytes]:
    """The header of a prediction file, if it has one, and its first row."""
    try:
        with path.open("rb") as file:
            lines = (line for line in iter(lambda: file.readline(_LONGEST), b"") if line.strip())
            first = next(lines, b"")
            header = parse_header(first, path)
            return header, first if header is None else next(lines, b"")
    except OSError as error:
        raise SgdxError(f"{path}: {error.strerror}") from None


def read_header(path: Path) -> Header:
    """The header of a prediction file; an empty one where it has none, or is a folder."""
    return (read_beginning(path)[0] if path.is_file() else None) or NO_HEADER


def read_prediction_lines(path: Path, **expected: str) -> tuple[bytes, Header]:
    """Read a JSONL file of predictions: its lines, and its header, which is to be as expected.

    The header's line is left empty, so that the number of a line stays what it is.
    """
    data = read_input(path)
    first_line = data.partition(b"\n")[0]
    header = parse_header(first_line, path)
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


def is_oracle(headers: Mapping[str, Header]) -> bool:
    """Whether any variant's predictions say that they are of an oracle."""
    return any(header.oracle for header in headers.values())


def unread_answers(headers: Mapping[str, Header]) -> dict[str, tuple[int, int]]:
    """How many answers could not be read, and of how many, by variant; only where that is said."""
    unread = {}
    for name, header in headers.items():
        count, requests = header.counts.get("unread"), header.counts.get("requests")
        if type(count) is int and type(requests) is int:
            unread[name] = (count, requests)
    return unread


def system_acts(headers: Mapping[str, Header], option: str | None) -> str:
    """Whether the predictions used the system's dialogue acts: "yes", "no", "unknown" or "mixed".

    The option is "yes" or "no" for those that do not say; None where that is unknown.
    """
    distinct = set()
    for name, header in headers.items():
        stated = header.system.get("system_acts")
        answer = ("yes" if stated else "no") if isinstance(stated, bool) else option or "unknown"
        if option and answer != option:
            raise SgdxError(
                f"--system-acts {option}: the predictions for {name} say '{answer}' themselves, "
                f"expected '{option}' or nothing"
            )
        distinct.add(answer)
    return distinct.pop() if len(distinct) == 1 else "mixed"


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
    path.parent.mkdir(parents=True, exist_ok=True)
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
        found = msgspec.structs.replace(read_header(path), counts={}, versions={})
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
