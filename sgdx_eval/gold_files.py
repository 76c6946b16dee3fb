"""The gold side of SGSAcc in a file, made once and used for every system."""

from pathlib import Path

import msgspec

from sgdx_dataset.io.files import read_input, staged
from sgdx_dataset.io.json import decode_json
from sgdx_metric.errors import ScoreError
from sgsacc_metric.candidates import REVISION
from sgsacc_metric.gold import GoldTurn
from sgsacc_metric.rows import Turn


class GoldHeader(msgspec.Struct, forbid_unknown_fields=True):
    """How a file's gold side was made."""

    # The name of the model of entailment, with its revision and precision.
    nli: str
    # The variant whose words the sentences are made of, with the fingerprint of an own one.
    evaluator: str
    split: str
    # As in `Options`.
    validate: bool
    context: bool
    rules: str
    seed: int
    # The revision by which the sentences are made and chosen.
    references: int = REVISION


class _FirstLine(msgspec.Struct, forbid_unknown_fields=True):
    metadata: GoldHeader


def write_gold(header: GoldHeader, gold: list[GoldTurn], path: Path) -> None:
    """Write a gold side as JSON Lines: the header, and then one line for each turn."""
    with staged(path) as staging:
        staging.write_bytes(msgspec.json.Encoder().encode_lines([{"metadata": header}, *gold]))


def read_gold(path: Path, header: GoldHeader, turns: list[Turn]) -> list[GoldTurn]:
    """Read the gold side of some turns, which must have been made as `header` says."""
    first, *lines = read_input(path).splitlines() or [b""]
    metadata = decode_json(first, _FirstLine, f"{path}:1", "a header of a gold side").metadata
    for key in GoldHeader.__struct_fields__:
        stated, expected = getattr(metadata, key), getattr(header, key)
        if stated != expected:
            raise ScoreError(f"{path}:1: {key} is {stated!r}, expected {expected!r}")
    rows = (
        decode_json(line, GoldTurn, f"{path}:{i}", "the gold side of a turn")
        for i, line in enumerate(lines, 2)
    )
    by_turn = {row.turn_id: row for row in rows}
    if lacking := [turn.turn_id for turn in turns if turn.turn_id not in by_turn]:
        raise ScoreError(f"{path}: turn {lacking[0]}: found no such turn, expected its gold side")
    return [by_turn[turn.turn_id] for turn in turns]
