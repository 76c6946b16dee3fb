"""Turn rows for training, model selection and generation, and which columns a generator sees.

Generators read turns of the system instead of frames of the user. This is the only place that
decides which columns reach a generator. It guards against two leaks: gold utterances in generation,
and evaluation schemas in training.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from datasets import Dataset, DatasetInfo, Features, Value, concatenate_datasets

from sgdx_dataset import SgdxError, load, open_release, turns
from sgdx_dataset.columns import TURN_COLUMNS
from sgdx_dataset.rows import domains_seen
from sgdx_dataset.source import resolve_source

from ..system import Predictions, System
from ..training.settings import Settings
from .frames import Training, checked, training_rows

IDENTITY = ("turn_id", "variant", "dialogue_id", "service")  # visible to every generator
ORIGINAL = ("original_actions", "original_intent")
# What a generator may declare to read. ``original`` are the actions and the intent in the names of
# the original schemas, by which hand-written templates are found; they have the same values.
INPUTS = ("actions", "intent", "schemas", "original")
GOLD = ("utterance",)  # visible in training only


def turn_rows(dialogues: Dataset, split: str, source: str | None) -> Dataset:
    """The turn rows of dialogue rows, with what ``IDENTITY`` and ``INPUTS`` name besides."""
    domains = domains_seen(open_release(resolve_source(source)))
    rows = turns(dialogues, domains)
    same = set(dialogues.unique("variant")) == {"original"}
    original = rows if same else turns(load("original", split, source), domains)
    return concatenate_datasets([rows, _more_columns(rows, original)], axis=1)


def _more_columns(rows: Dataset, original: Dataset) -> Dataset:
    """The columns ``dialogue_id`` and ``ORIGINAL`` of turn rows."""
    ids = list(rows["turn_id"])
    row_of = {name: index for index, name in enumerate(original["turn_id"])}
    # A left join by `turn_id`: `take` at a null index, of a turn that the originals lack, is null.
    matches = pa.array([row_of.get(name) for name in ids], pa.int64())
    named = original.select_columns(["actions", "intent"]).with_format("arrow")[:]
    joined = [named[name].take(matches) for name in ("actions", "intent")]
    features = Features(
        {
            "dialogue_id": Value("string"),
            "original_actions": Features.from_arrow_schema(TURN_COLUMNS)["actions"],
            "original_intent": Value("string"),
        }
    )
    dialogue_ids = [name.rpartition("/")[0] for name in ids]
    table = pa.table(dict(zip(features, [pa.array(dialogue_ids, pa.string()), *joined])))
    state = f"{rows._fingerprint} {original._fingerprint} more columns"
    fingerprint = hashlib.sha256(state.encode()).hexdigest()[:16]
    return Dataset(table, DatasetInfo(features=features), fingerprint=fingerprint)


def input_columns(rows: Dataset, reads: Sequence[str]) -> Dataset:
    """Turn rows with only the columns that identify a turn and those that a generator reads."""
    return _selected(rows, reads, ())


def generate(generator: System, rows: Dataset, chunks: Path) -> Predictions:
    """Generate with a generator, which gets only the columns that it declares to read."""
    return checked(generator, generator.predict(input_columns(rows, generator.READS), chunks))


def training_columns(rows: Dataset, reads: Sequence[str]) -> Dataset:
    """Like ``input_columns``, but with the gold utterance: for training, never for generation."""
    return _selected(rows, reads, GOLD)


def _selected(rows: Dataset, reads: Sequence[str], gold: Sequence[str]) -> Dataset:
    if wrong := [name for name in reads if name not in INPUTS]:
        raise SgdxError(
            f"a generator asks to read {', '.join(wrong)}, expected only {', '.join(INPUTS)}"
        )
    columns = [name for name in reads if name != "original"]
    columns += ORIGINAL if "original" in reads else ()
    return rows.select_columns([*IDENTITY, *columns, *gold])


def training_turns(settings: Settings, source: str | None, oracle: bool) -> Training:
    """Turn rows of the train split under the original schemas, then under the augmentation's."""
    return training_rows(settings, source, oracle, turn_rows)


def dev_turns(source: str | None) -> Dataset:
    """Turn rows of the dev split under the original schemas."""
    return turn_rows(load("original", "validation", source), "validation", source)


def describe(rows: Dataset) -> dict[str, Any]:
    """The number of turns and a SHA-256 of their identities, for the record of a run."""
    names = "\n".join(f"{v} {i}" for v, i in zip(rows["variant"], rows["turn_id"]))
    return {"turns": len(rows), "sha256": hashlib.sha256(names.encode()).hexdigest()}
