"""Which columns of frame rows a tracker sees; nothing else decides it.

It guards against two leaks: gold states in prediction, and system dialogue acts in a tracker that
does not declare to read them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pyarrow as pa
from datasets import Dataset, DatasetInfo, Features, Value

from .io.errors import SgdxError

IDENTITY = ("frame_id", "variant", "dialogue_id", "turn", "service")  # visible to every tracker
SYSTEM_ACTS = "system_acts"  # the dialogue acts of the system turns, which are part of the history
INPUTS = ("history", "utterance", "schema", SYSTEM_ACTS)  # what a tracker may declare to read
GOLD = ("active_intent", "requested_slots", "slot_values", "slots")  # visible in training only
_TEXT_FIELDS = [("speaker", pa.string()), ("utterance", pa.string())]  # of a turn without acts


def input_columns(rows: Dataset, reads: Sequence[str]) -> Dataset:
    """Frame rows with only the columns that identify a frame and those that a tracker reads."""
    return _selected(rows, reads, ())


def training_columns(rows: Dataset, reads: Sequence[str]) -> Dataset:
    """Like ``input_columns``, with the gold state besides: for training, never for prediction."""
    return _selected(rows, reads, GOLD)


def _selected(rows: Dataset, reads: Sequence[str], gold: Sequence[str]) -> Dataset:
    if wrong := [name for name in reads if name not in INPUTS]:
        raise SgdxError(
            f"a tracker asks to read {', '.join(wrong)}, expected only {', '.join(INPUTS)}"
        )
    columns = [*IDENTITY, *(name for name in reads if name != SYSTEM_ACTS), *gold]
    rows = rows.select_columns(columns)
    return rows if SYSTEM_ACTS in reads or "history" not in reads else _without_acts(rows)


def _without_acts(rows: Dataset) -> Dataset:
    """The rows with a history of speakers and utterances alone; no text is copied for it."""
    table: pa.Table = rows.with_format("arrow")[:].replace_schema_metadata(None)
    index = table.schema.get_field_index("history")
    history = table["history"].cast(pa.list_(pa.struct(_TEXT_FIELDS)))
    turn = {"speaker": Value("string"), "utterance": Value("string")}
    features = Features({**rows.features, "history": [turn]})
    fingerprint = hashlib.sha256(f"{rows._fingerprint} without acts".encode()).hexdigest()[:16]
    return Dataset(
        table.set_column(index, "history", history),
        DatasetInfo(features=features),
        fingerprint=fingerprint,
    )
