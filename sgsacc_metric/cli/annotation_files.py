"""The sheet that people fill in, and the key that says what the model made of its pairs."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from sgdx_dataset.io.files import read_input, write_bytes
from sgdx_dataset.io.json import parse_json
from sgdx_metric.columns import Bools
from sgdx_metric.rows import ScoreError

from ..annotation import JudgedPair

SHEET, KEY = "sheet.csv", "key.json"
_COLUMNS = ("pair", "before", "response", "statement", "answer")
_ANSWERS = {"yes": True, "no": False}


class Key(msgspec.Struct):
    """What people do not see.

    Attributes:
        signature: The line that says on what and how the pairs were judged.
        nli: The model's name.
        pairs: The pairs, with the model's verdicts.
    """

    signature: str
    nli: str
    pairs: list[JudgedPair]


def write_annotation(key: Key, folder: Path) -> list[Path]:
    """Write the sheet, which says nothing of the model's verdicts, and the key; give their paths.

    The sheet is a CSV table with the columns `pair`, `before` (what the user said), `response`,
    `statement` and `answer`, which is empty.

    Raises:
        SgdxError: They cannot be written.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for pair in key.pairs:
        cells = (pair.before, pair.response, pair.statement)
        writer.writerow([pair.pair, *map(_without_formula, cells), ""])
    # Spreadsheets know by the first character that the text is UTF-8.
    write_bytes(folder / SHEET, text.getvalue().encode("utf-8-sig"))
    write_bytes(folder / KEY, msgspec.json.format(msgspec.json.encode(key), indent=2) + b"\n")
    return [folder / SHEET, folder / KEY]


def read_key(path: Path) -> Key:
    """Read a key.

    Raises:
        SgdxError: The file cannot be read, or is no key.
        ScoreError: It has no pairs.
    """
    key = parse_json(read_input(path), Key, str(path), "a key of sgsacc_metric annotate")
    if not key.pairs:
        raise ScoreError(f"{path}: found no pairs, expected one at least")
    return key


def read_answers(paths: Sequence[Path], key: Key) -> Bools:
    """Read what people answered, one sheet a person.

    The lines may stand in any order, and the columns be separated by commas, semicolons or tabs, as
    spreadsheets save them.

    Args:
        paths: The sheets that were filled in.
        key: The key of the sheet.

    Returns:
        Whether each person said yes [pairs, people].

    Raises:
        SgdxError: A file cannot be read.
        ScoreError: It is no such sheet, lacks a pair, or an answer is neither yes nor no.
    """
    columns = []
    for path in paths:
        answers = _read_sheet(path)
        if unknown := answers.keys() - {pair.pair for pair in key.pairs}:
            raise ScoreError(f"{path}: found pair {min(unknown)}, which the key does not have")
        if missing := [pair.pair for pair in key.pairs if pair.pair not in answers]:
            raise ScoreError(
                f"{path}: {len(missing)} of {len(key.pairs)} pairs are missing, the first is"
                f" {missing[0]}"
            )
        columns.append([answers[pair.pair] for pair in key.pairs])
    return np.array(columns, dtype=bool).T


def _read_sheet(path: Path) -> dict[str, bool]:
    """The answers of one sheet, by pair."""
    try:
        text = read_input(path).decode("utf-8-sig")
        header = text.partition("\n")[0]
        delimiter = next((mark for mark in "\t;" if mark in header), ",")
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ScoreError(f"{path}: cannot be read as a table: {error}") from None
    header_row = [cell.strip().lower() for cell in rows[0]] if rows else []
    if not {"pair", "answer"} <= {*header_row}:
        raise ScoreError(f"{path}:1: expected the columns {', '.join(_COLUMNS)}")
    pair_column, answer_column = header_row.index("pair"), header_row.index("answer")
    answers: dict[str, bool] = {}
    for number, row in enumerate(rows[1:], 2):
        if not any(row):
            continue
        if len(row) != len(header_row):
            raise ScoreError(
                f"{path}: row {number}: found {len(row)} cells, expected {len(header_row)}"
            )
        pair, answer = row[pair_column].strip(), row[answer_column].strip().lower()
        if answer not in _ANSWERS:
            raise ScoreError(
                f"{path}: row {number}: found answer '{answer:.40}', expected yes or no"
            )
        if pair in answers:
            raise ScoreError(f"{path}: row {number}: pair {pair} appears twice, expected once")
        answers[pair] = _ANSWERS[answer]
    return answers


def _without_formula(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe before what could begin one."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
