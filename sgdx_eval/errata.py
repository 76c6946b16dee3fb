"""Leave out slots of frames whose annotations in SGD contradict each other.

The list is `errata.tsv`, which rules found (`docs/errata.md`) for the original
schemas; a slot goes by its position in the schema under every wording.
"""

from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.columns import column
from sgdx_metric.variants import short_digest

_LIST = Path(__file__).with_name("errata.tsv")


class Errata(NamedTuple):
    """What of a split is left out."""

    # Positions in the schema of the slots of each frame, by the frame's id.
    positions: dict[str, set[int]]
    # The part `errata` of a signature, with a digest of the split's part of the list.
    mark: str


@cache
def read_errata(split: str) -> Errata:
    """Read the list of a split: "train", "validation" or "test"."""
    text = _LIST.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith(f"{split}\t")]
    positions: dict[str, set[int]] = defaultdict(set)
    for line in lines:
        _, dialogue_id, service, _, position, turns, _ = line.split("\t")
        for turn in turns.split(","):
            positions[f"{dialogue_id}/{turn}/{service}"].add(int(position))
    return Errata(dict(positions), f"left-out@{short_digest(lines)}")


def check_is_sgd(release: str | None) -> None:
    """Refuse references that are not of SGD, of which alone the list is, by their signature."""
    if release in ("sample", "many") or (release or "").startswith("unverified:"):
        raise SgdxError(
            f"--without-errata: found the references '{release}', expected those of SGD"
        )


def leave_out(
    frames: pa.Table, predictions: pa.Table, errata: Errata
) -> tuple[pa.Table, pa.Table, int]:
    """Frames and predictions of a variant without the slots of the list, and how many those are."""
    names: dict[str, set[str]] = {}
    listed = pa.array(sorted(errata.positions), pa.string())
    ids = column(frames, "frame_id").cast(pa.string())
    is_listed = pc.is_in(ids, value_set=listed)
    affected = frames.filter(is_listed).to_pylist()
    for row in affected:
        schema = row["schema_slots"]
        positions = errata.positions[row["frame_id"]]
        if max(positions) >= len(schema):
            raise SgdxError(
                f"--without-errata: frame {row['frame_id']} has {len(schema)} slots in its schema, "
                f"expected {max(positions) + 1} at least, as in SGD"
            )
        names[row["frame_id"]] = {schema[position]["name"] for position in positions}
        row["schema_slots"] = [
            slot for position, slot in enumerate(schema) if position not in positions
        ]
        _drop_values(row, names)
    predicted = pc.is_in(column(predictions, "frame_id").cast(pa.string()), value_set=listed)
    guesses = predictions.filter(predicted).to_pylist()
    for row in guesses:
        _drop_values(row, names)
    return (
        _joined(frames.filter(pc.invert(is_listed)), affected),
        _joined(predictions.filter(pc.invert(predicted)), guesses),
        sum(map(len, names.values())),
    )


def _drop_values(row: dict[str, Any], names: dict[str, set[str]]) -> None:
    """Take the values of the named slots of a frame out of a row's state."""
    dropped = names.get(row["frame_id"], set())
    row["slot_values"] = [item for item in row["slot_values"] if item["slot"] not in dropped]


def _joined(table: pa.Table, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.concat_tables([table, pa.Table.from_pylist(rows, table.schema)]).combine_chunks()
