"""Prediction files: which are meant, and reading JSON Lines or the layout of the SGD release."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.json import decode_json, many_objects, parse_json
from sgdx_dataset.options import split_pairs
from sgdx_metric.columns import column, strings
from sgdx_metric.errors import ScoreError
from sgdx_metric.rows import (
    EXAMPLE_ROW,
    PREDICTION,
    Prediction,
    arrow_table,
)

from .prediction_files import (
    NO_HEADER,
    AnyRow,
    Header,
    numbered,
    read_beginning,
    read_prediction_lines,
    stated_variant,
)

if TYPE_CHECKING:
    from .references import References


def parse_predictions(arguments: Sequence[str]) -> dict[str, Path] | Path:
    """What `--predictions` was given: VARIANT=PATH for each variant, or one folder."""
    folders = [argument for argument in arguments if "=" not in argument]
    if folders and len(arguments) > 1:
        raise SgdxError(
            f"--predictions {folders[0]}: found {len(arguments)} of this option, expected either "
            "one folder or VARIANT=PATH for each variant"
        )
    if folders:
        return Path(folders[0])
    paths: dict[str, Path] = {}
    form = "VARIANT=PATH, as in v1=v1.jsonl"
    for variant, path in split_pairs("--predictions", arguments, form):
        if variant in paths:
            raise SgdxError(f"--predictions {variant}={path}: variant '{variant}' appears twice")
        paths[variant] = Path(path)
    return paths


def prediction_paths(
    predictions: Mapping[str, Path] | Path, variants: Sequence[str]
) -> dict[str, Path]:
    """The path of each variant, in the order of the mapping, or those of `variants` in a folder."""
    if not isinstance(predictions, Path):
        for path in predictions.values():
            if not path.exists():
                raise SgdxError(f"{path}: No such file or directory")
        return dict(predictions)
    folder = predictions
    if not folder.is_dir():
        found = "a file" if folder.exists() else "no such folder"
        raise SgdxError(
            f"--predictions {folder}: found {found}, expected a folder with VARIANT.jsonl or "
            "VARIANT/ for each variant, or VARIANT=PATH, as in v1=v1.jsonl"
        )
    if any(folder.glob("dialogues_*.json")):
        raise SgdxError(
            f"--predictions {folder}: the folder itself holds dialogues_*.json; for the "
            f"predictions of one variant write VARIANT={folder}, as in v1={folder}"
        )
    paths: dict[str, Path] = {}
    for variant in variants:
        file, directory = folder / f"{variant}.jsonl", folder / variant
        if file.exists() and directory.is_dir():
            raise SgdxError(
                f"--predictions {folder}: found both {file.name} and {directory.name}/, expected "
                f"one of them for variant '{variant}'"
            )
        if file.exists() or directory.is_dir():
            paths[variant] = file if file.exists() else directory
    if not paths:
        raise SgdxError(
            f"--predictions {folder}: found no predictions, expected VARIANT.jsonl or VARIANT/ for "
            f"some of {', '.join(variants)}"
        )
    return paths


def note_unscored(predictions: Mapping[str, Path] | Path, variants: Sequence[str]) -> None:
    """Note on standard error the prediction files of a folder that are of no variant asked for.

    Without ``--variant NAME=PATH`` nobody knows the variant that a file is named after.
    """
    if not isinstance(predictions, Path):
        return
    others = []
    for path in sorted(predictions.glob("*.jsonl")):
        if path.stem in variants or not path.is_file():
            continue
        with suppress(SgdxError):  # another file beside predictions
            if stated_variant(path) is not None:
                others.append(path.stem)
    if others:
        names = escape_controls(", ".join(others))
        print(
            f"note: left out: {names}; to score a variant of your own, give --variant NAME=PATH",
            file=sys.stderr,
        )


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


def task_name(path: Path) -> str:
    """The task of a prediction file: what its header says, or else its first row."""
    if path.is_dir():
        return "state"
    header, first = read_beginning(path)
    if header and header.task is not None:
        return header.task
    with suppress(msgspec.DecodeError, RecursionError):  # which the rows' reader tells
        row = msgspec.json.decode(first, type=AnyRow)
        for key, name in (("utterance", "turns"), ("calls", "tools")):
            if getattr(row, key) is not msgspec.UNSET:
                return name
    return "state"


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
        from .dialogue_folder import read_dialogue_folder

        return Predictions(read_dialogue_folder(path, variant), path=path, by_user_turn=True)
    lines, header = read_prediction_lines(path, split=split, variant=variant)
    is_read, data = False, lines.strip()
    # All rows in one call take a fraction of the time that lines take one by one, and which is at
    # fault is looked for where one may be: lines may be blank, or end in other characters.
    with suppress(ValueError, RecursionError), many_objects():
        decoded = msgspec.json.Decoder(kind).decode_lines(data)
        count, variants = len(decoded), set(map(attrgetter("variant"), decoded))
        del decoded
        # Rows may go over lines or share one, unless this is all that stands between any two.
        one_a_line = data.count(b"}\n{") == data.count(b"\n") == count - 1
        is_read = one_a_line and variants == {variant}
    if not is_read:
        _check_lines(lines, variant, path, kind)
    try:
        rows = arrow_table(lines, schema, str(path))
    except ScoreError:  # A row has a key twice; the error should name the line.
        for number, line in numbered(lines):
            parse_json(line, object, f"{path}:{number}", "a prediction row")
        raise
    return Predictions(rows, header, path)


@contextmanager
def located(predictions: Mapping[str, Predictions], references: References) -> Iterator[None]:
    """Say of an error about a row in which file and line it is, and what it is held against."""
    try:
        yield
    except ScoreError as error:
        words = {*re.split(r"[\s,;:]+", str(error))}
        # Errors of generated turns name the variant; those of frames are of the one that is scored.
        named = [name for name in predictions if name in words] or [*predictions]
        of_variant = predictions[named[0]]
        place = "".join(_place(path, words) for path in [of_variant.path] if path)
        held = f"references: {references.split} of {references.name}"
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
    services = column(references, "service").to_pylist()
    turns = [frame_id.rsplit("/", 2)[:2] for frame_id in frame_ids.to_pylist()]
    user_turn_number: dict[tuple[str, int], int] = {}
    user_turns: dict[str, int] = {}
    for dialogue, turn in sorted({(dialogue, int(turn)) for dialogue, turn in turns}):
        user_turn_number[dialogue, turn] = user_turns.get(dialogue, 0)
        user_turns[dialogue] = user_turn_number[dialogue, turn] + 1
    layout_ids = pa.array(
        f"{dialogue}/{user_turn_number[dialogue, int(turn)]}/{service}"
        for (dialogue, turn), service in zip(turns, services, strict=True)
    )
    stated_ids = column(predictions.rows, "frame_id")
    real = pc.coalesce(frame_ids.take(pc.index_in(stated_ids, value_set=layout_ids)), stated_ids)
    return predictions.rows.set_column(0, "frame_id", real)
