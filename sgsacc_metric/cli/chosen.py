"""Scoring some turns of a split: those of some dialogues, or single ones."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from sgdx_dataset.subset import read_dialogue_ids
from sgdx_metric.rows import ScoreError

from ..rows import Turn

_TURN_ID = re.compile(r".+/\d+")


def read_turn_ids(path: Path) -> list[str]:
    """Read which turns are chosen, such as the 10,000 that a paper has drawn.

    Args:
        path: A JSON list of turn ids, or a text file with one id a line.

    Returns:
        The ids in the file's order, each once.

    Raises:
        ScoreError: The file cannot be read, or has no id or something that is none.
    """
    try:
        text = path.read_text(encoding="utf-8")
        listed = text.lstrip().startswith("[")
        ids = msgspec.json.decode(text, type=list[str]) if listed else text.split()
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise ScoreError(f"{path}: cannot be read as a list of turn ids: {error}") from None
    odd = next((one for one in ids if not _TURN_ID.fullmatch(one)), None)
    if odd is not None or not ids:
        found = "no turn id" if odd is None else f"'{odd}'"
        raise ScoreError(f"{path}: found {found}, expected DIALOGUE/TURN, as in 1_00000/5")
    return list(dict.fromkeys(ids))


def choose(turns: Sequence[Turn], dialogues: Path | None, single: Path | None) -> list[Turn]:
    """The turns that are scored, each of which must be there.

    Args:
        turns: All turns of the split.
        dialogues: A file of the dialogues whose turns are chosen; None for all of them.
        single: A file of the turns that are chosen; None for all turns of the dialogues.

    Raises:
        ScoreError: A file is none, a dialogue or a turn is not there, or no turn is left.
        SgdxError: The file of dialogues is none.
    """
    found = list(turns)
    if dialogues is not None:
        ids = read_dialogue_ids(dialogues)
        _check("dialogues", ids, {turn.dialogue_id for turn in turns}, dialogues)
        chosen = {*ids}
        found = [turn for turn in found if turn.dialogue_id in chosen]
    if single is not None:
        ids = read_turn_ids(single)
        _check("turns", ids, {turn.turn_id for turn in turns}, single)
        chosen = {*ids}
        found = [turn for turn in found if turn.turn_id in chosen]
    if not found:
        raise ScoreError(f"{single}: none of these turns is of the dialogues of {dialogues}")
    return found


def _check(what: str, ids: Sequence[str], known: Collection[str], path: Path) -> None:
    if lacking := [one for one in ids if one not in known]:
        raise ScoreError(
            f"{path}: {len(lacking)} of {len(ids)} {what} are not in the references, the first is"
            f" {lacking[0]}; is the list for another split?"
        )
