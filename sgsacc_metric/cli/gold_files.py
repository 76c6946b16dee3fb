"""The gold side of SGSAcc in a file, made once and used for every system."""

from pathlib import Path

import msgspec

from sgdx_metric.cli.files import whole
from sgdx_metric.cli.predictions import decode
from sgdx_metric.rows import ScoreError

from ..gold import GoldTurn, Options
from ..rows import Turn


class GoldHeader(msgspec.Struct, forbid_unknown_fields=True):
    """How a file's gold side was made.

    Attributes:
        nli: The name of the model of entailment, with its revision and precision.
        evaluator: The variant whose words the sentences are made of, with the fingerprint of a
            wording of one's own.
        split: `train`, `validation` or `test`.
        validate, context, rules, seed: As in `Options`.
    """

    nli: str
    evaluator: str
    split: str
    validate: bool
    context: bool
    rules: str
    seed: int

    @classmethod
    def of(cls, nli: str, evaluator: str, split: str, options: Options) -> "GoldHeader":
        """The header of a gold side that is made with some options."""
        return cls(
            nli, evaluator, split, options.validate, options.context, options.rules, options.seed
        )


class _First(msgspec.Struct, forbid_unknown_fields=True):
    metadata: GoldHeader


def write_gold(header: GoldHeader, gold: list[GoldTurn], path: Path) -> None:
    """Write a gold side as JSON Lines: the header, and then one line for each turn."""
    with whole(path) as staging:
        staging.write_bytes(msgspec.json.Encoder().encode_lines([{"metadata": header}, *gold]))


def read_gold(path: Path, header: GoldHeader, turns: list[Turn]) -> list[GoldTurn]:
    """Read a gold side that must have been made for some turns, in one way.

    Args:
        path: The file, as `write_gold` writes it.
        header: How it must have been made.
        turns: The turns, each of which it must have.

    Returns:
        The gold side of each turn.

    Raises:
        ScoreError: The file cannot be read, was made otherwise, or lacks a turn.
    """
    try:
        first, *lines = path.read_bytes().splitlines()
    except (OSError, ValueError) as error:
        raise ScoreError(f"{path}: cannot be read as a gold side: {error}") from None
    found = decode(first, _First, f"{path}:1").metadata
    for key in GoldHeader.__struct_fields__:
        if getattr(found, key) != getattr(header, key):
            raise ScoreError(
                f"{path}:1: {key} is {getattr(found, key)!r}, expected {getattr(header, key)!r}"
            )
    rows = (decode(line, GoldTurn, f"{path}:{i}") for i, line in enumerate(lines, 2))
    by_turn = {row.turn_id: row for row in rows}
    for turn in turns:
        of_turn = by_turn.get(turn.turn_id)
        if of_turn is None or len(of_turn.actions) != len(turn.actions):
            have = "no such turn" if of_turn is None else f"{len(of_turn.actions)} actions"
            raise ScoreError(
                f"{path}: turn {turn.turn_id}: found {have}, expected {len(turn.actions)} actions"
            )
    return [by_turn[turn.turn_id] for turn in turns]
