"""The Python door: rows in any form and files give the same scores."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sgdx_metric.api
from sgdx_dataset import SgdxError, frame_tables, open_release
from sgdx_dataset.release import SAMPLE
from sgdx_metric import Rules, ScoreError, score, score_files
from sgdx_metric.result import Result
from sgdx_metric.rows import Prediction, Reference, rows_table

from .frames import Row, six_variants, written

VARIANTS = ("original", "v1", "v2", "mine")
KEYS = ["frame_id", "variant", "active_intent", "requested_slots", "slot_values"]


@pytest.fixture(scope="module")
def own_variant(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A schema variant of the user's own, as a folder by name."""
    folder = tmp_path_factory.mktemp("mine") / "test"
    folder.mkdir()
    schema = (SAMPLE / "sgd_x" / "data" / "v3" / "test" / "schema.json").read_text()
    (folder / "schema.json").write_text(schema.replace("Door-to-door", "Comfortable"))
    return {"mine": folder.parent}


@pytest.fixture(scope="module")
def references(own_variant: dict[str, Path]) -> pa.Table:
    """All frame rows of some variants, with every column."""
    release = open_release("sample", own_variant)
    return pa.concat_tables(frame_tables(release, "test", variant) for variant in VARIANTS)


@pytest.fixture(scope="module")
def predictions(references: pa.Table) -> list[Row]:
    """The true states, every third without slots."""
    rows: list[Row] = references.select(KEYS).to_pylist()
    return [row | ({} if i % 3 else {"slot_values": []}) for i, row in enumerate(rows)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, predictions: list[Row]) -> Path:
    folder = tmp_path_factory.mktemp("predictions")
    for variant in VARIANTS:
        rows = [row for row in predictions if row["variant"] == variant]
        written(folder / f"{variant}.jsonl", rows)
    return folder


def alike(scores: Result) -> Any:
    """Scores without what is said of files, of which rows are none."""
    return scores.figures, scores.signature.replace("|as-stated:split+release", ""), scores.counts


def test_rows_in_each_form_score_as_the_files_do(
    tmp_path: Path,
    references: pa.Table,
    predictions: list[Row],
    files: Path,
    own_variant: dict[str, Path],
) -> None:
    expected = score_files(files, source="sample", own_variants=own_variant)
    guesses = pa.Table.from_pylist(predictions)

    def parquet(table: pa.Table) -> pd.DataFrame:
        pq.write_table(table, tmp_path / "rows.parquet")
        return pd.read_parquet(tmp_path / "rows.parquet")  # its lists are arrays then

    scores = score(predictions, references.to_pylist(), split="test", release="sample")
    assert scores.systems == {variant: {} for variant in expected.variants}
    assert alike(scores) == alike(expected)
    forms: list[Any] = [
        lambda table: datasets.Dataset.from_list(table.to_pylist()),
        lambda table: datasets.Dataset.from_list(table.to_pylist()).to_iterable_dataset(),
        lambda table: table,
        lambda table: pd.DataFrame(table.to_pylist()),
        parquet,
    ]
    some = pa.array(range(0, len(references), 12))
    for table, kind, side in (
        (guesses.take(some), Prediction, "predictions"),
        (references.take(some), Reference, "references"),
    ):
        of_list = rows_table(table.to_pylist(), kind, side)
        for make in forms:
            assert rows_table(make(table), kind, side).equals(of_list)
    # A variant of one's own is marked by its words; without its schema, by those that are there.
    less = score(guesses, references.drop_columns(["schema"]))
    assert less.figures == expected.figures
    pattern = r"\|variants:original\+mine@([0-9a-f]{8})\+v1\+v2\|"
    marks = [re.findall(pattern, result.signature) for result in (scores, less)]
    assert len(marks[0]) == len(marks[1]) == 1 and marks[0] != marks[1]
    assert 0 < (scores["jga_orig"] or 0) < 1


def test_rules_and_subset_reach_the_scores(
    tmp_path: Path, files: Path, references: pa.Table, predictions: list[Row]
) -> None:
    chosen = ["1_00001", "1_00000"]
    (tmp_path / "ids.json").write_text(json.dumps(chosen))
    options: dict[str, Any] = {
        "rules": Rules(use_fuzzy_match=False, joint_acc_across_turn=True, zero_mean="drop"),
        "split": "test",
    }
    file, ids = {"v1": files / "v1.jsonl"}, tmp_path / "ids.json"
    of_files = score_files(file, source="sample", dialogues=ids, **options)
    rows, true = (
        [row for row in side if row["variant"] == "v1"]
        for side in (predictions, references.to_pylist())
    )
    of_rows = score(rows, true, dialogues=chosen, release="sample", **options)
    assert of_rows.systems == {"v1": {}}
    assert alike(of_rows) == alike(of_files)
    for part in (
        "match:exact|joint:turn|zero-mean:drop",
        "dialogues:2@82354a53",
    ):
        assert f"|{part}|" in of_files.signature


def test_what_cannot_be_scored_is_named(tmp_path: Path) -> None:
    references, predictions = six_variants({"original": [True, False], "v2": [True, True]})
    for rows, fault in (
        (predictions[:-1], "v2: 1 of 2 frames .* 1_00001/0"),
        (pa.table({"variant": ["v1"]}), r"predictions\[0\]: .*`frame_id`"),
        (pa.table({"id": [1]}), "predictions: found the columns id, expected frame_id"),
        (pd.DataFrame({"frame_id": [1], "variant": ["v1"]}), r"predictions\[0\]: .*`int`"),
        (pd.DataFrame({"frame_id": [1, [2]], "variant": ["v1", "v1"]}), "predictions: .*frame_id"),
    ):
        with pytest.raises(ScoreError, match=fault):
            score(rows, references)
    with pytest.raises(SgdxError, match=r"none\.jsonl: No such file"):
        score_files({"v1": "none.jsonl"}, source="sample", output=tmp_path / "scores.json")
    assert not list(tmp_path.iterdir())


def test_examples_of_the_docstrings() -> None:
    results = doctest.testmod(sgdx_metric.api)
    assert results.attempted >= 8 and results.failed == 0


TEXT = st.text(max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT
    | TEXT.map(np.str_) | st.binary(max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner),
    max_leaves=4,
)  # fmt: skip
FRAME: Row = {
    "frame_id": "1_00000/0/Hotels_1", "variant": "v1", "active_intent": "FindHotel",
    "requested_slots": ["city"], "slot_values": [{"slot": "city", "values": ["Rome"]}],
    "service": "Hotels_1", "seen": True,
    "schema_slots": [{"name": "city", "is_categorical": False}],
}  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(st.booleans(), st.sampled_from([*FRAME]), VALUES)
def test_any_row_is_scored_or_refused_in_one_line(true: bool, key: str, value: Any) -> None:
    changed = FRAME | {key: value}
    try:
        scores = score([FRAME if true else changed], [changed if true else FRAME])
    except ScoreError as error:
        assert "\n" not in str(error)
    else:
        accuracy = scores[f"jga_{changed['variant']}".replace("original", "orig")]
        assert accuracy is None or 0 <= accuracy <= 1


def test_text_of_numpy_is_text() -> None:
    row = FRAME | {"active_intent": np.str_("FindHotel"), "frame_id": np.str_(FRAME["frame_id"])}
    assert score([row], [FRAME])["jga_v1"] == 1.0
