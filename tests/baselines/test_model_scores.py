"""Scores on a card are of the data that they name, and an oracle is called one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard

from baselines import evaluate, publish
from baselines.model_scores import scored_data

from ..conftest import ROOT
from .conftest import Refuse, command

ONE = ("--source", "sample", "--config", "original", "--output")


@pytest.fixture(scope="module")
def evaluated(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained model, with its scores of one dialogue under the original schemas."""
    folder = tmp_path_factory.mktemp("evaluated")
    run = folder / "run"
    shutil.copytree(trained, run)
    (folder / "one.txt").write_text("2_00000\n")
    arguments = ("--model", run, "--dialogues", folder / "one.txt", *ONE, run)
    with pytest.MonkeyPatch.context() as patch:
        assert command(patch, evaluate, *arguments) == 0
    return run


@pytest.fixture
def run(evaluated: Path, tmp_path: Path) -> Path:
    shutil.copytree(evaluated, tmp_path / "run")
    return tmp_path / "run"


def edited(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    scores = json.loads((run / "scores.json").read_text())
    change(scores)
    (run / "scores.json").write_text(json.dumps(scores))


def test_scores_of_an_oracle_that_do_not_say_so_are_refused(run: Path, refuse: Refuse) -> None:
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, "oracle": True}))
    before = (run / "README.md").read_bytes()
    assert str(run / "scores.json") in refuse(publish, "--model", run)
    assert (run / "README.md").read_bytes() == before
    (run / "scores.json").unlink()
    publish.publish(run, None)
    text = (run / "README.md").read_text()
    assert "**Oracle: an upper bound.**" in text and "Not scored yet." in text


def test_the_model_index_names_the_data_that_were_scored(run: Path) -> None:
    publish.publish(run, None)
    card = ModelCard.load(run / "README.md")
    names = {(r.dataset_name, r.dataset_split) for r in card.data.eval_results or []}
    assert names == {("sample corpus of sgdx, dialogues chosen: 1", "test")}
    line = "Scored on the test split of: sample corpus of sgdx, dialogues chosen: 1."
    assert line in card.text


def test_an_oracles_scores_make_the_card_an_oracles(run: Path) -> None:
    edited(run, lambda scores: scores.update(signature=f"{scores['signature']}|oracle:yes"))
    publish.publish(run, None)
    assert "**Oracle: an upper bound.**" in (run / "README.md").read_text()


COMMIT = "e852981ea91ca48b3735f35b0a88abf58b1c8e7e"


@pytest.mark.parametrize(
    ("rows", "signature", "expected"),
    [
        ("frames", f"split:test|release:{COMMIT}", ("SGD and SGD-X", "test", COMMIT)),
        (
            "frames",
            "split:test|release:partial:2921/4201|dialogues:292@b0e1edf2|frames:2738",
            (
                "SGD and SGD-X, a partial copy of 2921 of 4201 dialogues, dialogues chosen: 292",
                "test",
                None,
            ),
        ),
        (
            "frames",
            "split:validation|release:unverified:0123456789abcdef|services:Cabs_1+Homes_1",
            (
                "unverified data in the layout of SGD (0123456789abcdef), services chosen: "
                "Cabs_1, Homes_1",
                "validation",
                None,
            ),
        ),
        (
            "turns",
            "split:test|release:sample|turns:10@01234567",
            ("sample corpus of sgdx, turns chosen: 10", "test", None),
        ),
        ("turns", "split:test|release:sample|turns:76", ("sample corpus of sgdx", "test", None)),
        ("frames", "frames:3", ("unknown data", "unknown", None)),
    ],
)
def test_data_are_named_as_the_signature_says(
    rows: str, signature: str, expected: tuple[str, str, str | None]
) -> None:
    metric = {"frames": "sgdx_metric", "turns": "sgsacc_metric"}[rows]
    assert scored_data({"signature": f"{metric}|{signature}"}, rows) == expected


def test_a_partial_copy_of_sgd_is_called_one(run: Path) -> None:
    shutil.copy(ROOT / "results" / "onepass-minilm_all" / "scores.json", run)
    publish.publish(run, None)
    name = "SGD and SGD-X, a partial copy of 2921 of 4201 dialogues, dialogues chosen: 292"
    results = ModelCard.load(run / "README.md").data.eval_results or []
    assert {result.dataset_name for result in results} == {name}
