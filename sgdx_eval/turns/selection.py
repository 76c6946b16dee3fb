"""Which turns of a split are scored: those of some dialogues, or single ones."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from sgdx_dataset.io.files import read_input
from sgdx_dataset.subset import read_dialogue_ids
from sgdx_metric.rows import ScoreError
from sgdx_metric.variants import short_digest
from sgsacc_metric.rows import Turn

_TURN_ID = re.compile(r".+/\d+")


def read_turn_ids(path: Path) -> list[str]:
    """Read a list of turns, such as the 10,000 that a paper has drawn.

    Args:
        path: A JSON list of turn ids, or a text file with one id a line.

    Returns:
        The ids in the file's order, each once.
    """
    try:
        text = read_input(path).decode()
        is_json = text.lstrip().startswith("[")
        ids = msgspec.json.decode(text, type=list[str]) if is_json else text.split()
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        raise ScoreError(f"{path}: cannot be read as a list of turn ids: {error}") from None
    malformed = [turn_id for turn_id in ids if not _TURN_ID.fullmatch(turn_id)]
    if malformed or not ids:
        fault = f"'{malformed[0]}'" if malformed else "no turn id"
        raise ScoreError(f"{path}: found {fault}, expected DIALOGUE/TURN, as in 1_00000/5")
    return list(dict.fromkeys(ids))


def select_turns(
    turns: Sequence[Turn],
    split: str,
    dialogues: Path | None,
    single: Path | None,
    stated: Sequence[str] = (),
) -> list[Turn]:
    """The turns that are scored, each of which must be there.

    Args:
        turns: All turns of the split.
        split: `train`, `validation` or `test`.
        dialogues: A file of the dialogues whose turns are scored; None for those of `stated`.
        single: A file of the turns that are scored; None for all turns of the dialogues.
        stated: The ids of the dialogues that the predictions say they are of; none for all.
    """
    selected = list(turns)
    ids = list(stated) if dialogues is None else read_dialogue_ids(dialogues, split)
    where = "predictions" if dialogues is None else str(dialogues)
    if ids:
        _check("dialogues", ids, {turn.dialogue_id for turn in turns}, where)
        in_file = {*ids}
        selected = [turn for turn in selected if turn.dialogue_id in in_file]
    if single is not None:
        ids = read_turn_ids(single)
        _check("turns", ids, {turn.turn_id for turn in turns}, str(single))
        in_file = {*ids}
        selected = [turn for turn in selected if turn.turn_id in in_file]
    if not selected:
        raise ScoreError(f"{single}: none of these turns is of the dialogues of {where}")
    return selected


def turns_mark(turns: Sequence[Turn]) -> str:
    """What tells chosen turns from others, as signatures have it: their number and a digest."""
    ids = sorted(turn.turn_id for turn in turns)
    return f"{len(ids)}@{short_digest(ids)}"


def _check(what: str, ids: Sequence[str], available: Collection[str], where: str) -> None:
    if missing := [id_ for id_ in ids if id_ not in available]:
        raise ScoreError(
            f"{where}: {len(missing)} of {len(ids)} {what} are not in the references, the first is"
            f" {missing[0]}; is the list for another split?"
        )
