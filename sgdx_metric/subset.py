"""Some dialogues of a split, where not all of it is scored."""

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from .columns import column
from .rows import ScoreError
from .variants import short_digest


@dataclass(frozen=True)
class Subset:
    """The dialogues of a split that are scored."""

    dialogue_ids: Collection[str]
    # How many dialogues of the split the data has.
    available: int


def dialogues_mark(dialogue_ids: Collection[str]) -> str:
    """The number of dialogues and the first 8 hex digits of a SHA-256 of their sorted ids."""
    ids = sorted(set(dialogue_ids))
    return f"{len(ids)}@{short_digest(ids)}"


def subset_of(references: pa.Table, dialogue_ids: Collection[str], where: str) -> Subset:
    """Choose dialogues of the split of some references; a fault is of the list `where`."""
    if not dialogue_ids:
        raise ScoreError(f"{where}: found no dialogue ids, expected one at least")
    available = dialogue_ids_of(references)
    if lacking := [dialogue_id for dialogue_id in dialogue_ids if dialogue_id not in available]:
        raise ScoreError(
            f"{where}: {len(lacking)} of {len(dialogue_ids)} dialogues are not in the references, "
            f"the first is {lacking[0]}; is the list for another split?"
        )
    return Subset(tuple(dialogue_ids), len(available))


def only_dialogues(rows: pa.Table, subset: Subset) -> pa.Table:
    """The rows, references or predictions, of a subset's dialogues."""
    dialogue_ids = pa.array(sorted(subset.dialogue_ids), pa.string())
    return rows.filter(pc.is_in(_dialogues(column(rows, "frame_id")), value_set=dialogue_ids))


def only_services(rows: pa.Table, services: Collection[str]) -> pa.Table:
    """The rows, references or predictions, of services, which go by their original names."""
    names = pc.replace_substring_regex(column(rows, "frame_id").cast(pa.string()), "^.*/", "")
    return rows.filter(pc.is_in(names, value_set=pa.array(sorted(services), pa.string())))


def dialogue_ids_of(rows: pa.Table) -> set[str]:
    """The ids of the dialogues that rows belong to."""
    return set(pc.unique(_dialogues(column(rows, "frame_id"))).to_pylist())


def _dialogues(frame_ids: pa.Array) -> pa.Array:
    """The dialogue that each frame id begins with [frames]."""
    return pc.replace_substring_regex(frame_ids.cast(pa.string()), "(/[^/]*){2}$", "")
