"""The Python door: rows in any form give the scores that files of them have."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import datasets
import msgspec
import pandas as pd
import pyarrow as pa
import pytest

import sgsacc_metric.api
from sgdx_dataset import open_release, turn_tables
from sgdx_eval.inputs import Inputs
from sgdx_eval.score import score as score_task
from sgdx_eval.tasks.turns import Turns
from sgsacc_metric import Options, score

from .turns import turn


def prediction_rows(copies: Path) -> list[dict[str, Any]]:
    """The derived copy's rows under two variants."""
    lines = [
        line
        for variant in ("original", "v1")
        for line in (copies / "derived" / f"{variant}.jsonl").read_text().splitlines()[1:]
    ]
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def expected(copies: Path) -> dict[str, Any]:
    """The scores of the files."""
    return score_task(Turns(nli="lexical"), Inputs(copies / "derived", source="sample"))


@pytest.mark.parametrize("form", ["list", "dataset", "arrow", "pandas"])
def test_rows_in_each_form_score_as_the_files_do(
    form: str, copies: Path, expected: dict[str, Any]
) -> None:
    make = {
        "list": pa.Table.to_pylist,
        "dataset": lambda table: datasets.Dataset.from_list(table.to_pylist()),
        "arrow": lambda table: table,
        "pandas": lambda table: pd.DataFrame(table.to_pylist()),
    }[form]
    references = turn_tables(open_release("sample"), "test", "original")
    predictions = pa.Table.from_pylist(prediction_rows(copies))
    scores = score(
        make(predictions), make(references), split="test", release="sample", nli="lexical"
    )
    line = expected["signature"].replace("|ci:", "|predictions:made-elsewhere|ci:")
    of_no_file: dict[str, Any] = {"original": {}, "v1": {}}
    assert scores == {**expected, "signature": line, "predictions": of_no_file}
    assert 0 < scores["sgdx"]["sgsacc_orig"] < 1


def test_options_reach_the_scores() -> None:
    row = msgspec.to_builtins(turn())
    said = {"turn_id": row["turn_id"], "variant": "v3", "utterance": row["utterance"]}
    scores = score([said], [row], nli="lexical", options=Options(context=False))
    assert "|context:no|" in scores["signature"]


def test_examples_of_the_docstrings() -> None:
    results = doctest.testmod(sgsacc_metric.api)
    assert results.attempted >= 9
    assert results.failed == 0
