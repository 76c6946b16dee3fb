"""The model card: its figures are the scores, of the data that it names; oracles are called so."""

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


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained, tmp_path / "model")
    return tmp_path / "model"


def test_an_evaluated_run_shows_its_scores_on_its_card(
    model: Path, three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = model
    record = json.loads((run / "run.json").read_text())["record"]
    some = ("--config", "original", "v1", "v2", "--dialogues", three)
    arguments = ("--model", run, "--source", "sample", "--output", run, *some)
    assert command(monkeypatch, evaluate, *arguments) == 0
    found = json.loads((run / "run.json").read_text())
    assert found["record"] == record
    assert found["evaluation"]["configs"] == ["original", "v1", "v2"]
    assert command(monkeypatch, publish, "--model", run) == 0
    card = ModelCard.load(run / "README.md")
    metadata = card.data.to_dict()
    assert metadata["datasets"] == ["sgdx"]
    assert metadata["metrics"] == ["sgdx_metric"]
    assert "base_model" not in metadata  # it was made on the spot
    scores = json.loads((run / "scores.json").read_text())["sgdx"]
    expected = {
        "JGA_orig": scores["jga_orig"],
        "JGA_v1-5": scores["jga_v1-5"],
        "SS_JGA": scores["ss_jga"],
        "JGA_worst": scores["jga_worst"],
        "flips": scores["flips"],
    }
    results = {r.metric_name: r.metric_value for r in card.data.eval_results or []}
    assert results == {n: round(100 * v, 2) for n, v in expected.items() if v is not None}
    assert "JGA_orig" in results
    assert {r.dataset_split for r in card.data.eval_results or []} == {"test"}
    assert {r.dataset_type for r in card.data.eval_results or []} == {"sgdx"}


def test_the_card_s_figures_are_the_scores(model: Path) -> None:
    figures = {"jga_orig": 0.5, "jga_v1-5": 0.25, "ss_jga": None, "jga_worst": None, "flips": 0.125}
    scores = {
        "sgdx": {**figures, "seen": figures, "unseen": {**figures, "jga_orig": 0.125}},
        "frames": {"all": 8, "seen": 5, "unseen": 3},
        "signature": "sgdx_metric|variants:original",
    }
    (model / "scores.json").write_text(json.dumps(scores))
    publish.publish(model, None)
    card = (model / "README.md").read_text()
    assert "| services | frames | JGA_orig | JGA_v1-5 | SS_JGA | JGA_worst | flips |" in card
    assert "| all | 8 | 50.00 | 25.00 | – | – | 12.50 |\n" in card
    assert "| unseen | 3 | 12.50 | 25.00 | – | – | 12.50 |\n" in card
    assert "`sgdx_metric|variants:original`" in card
    assert "- schema variants trained on: original\n" in card
    assert "license: apache-2.0\n" in card
    assert "optimizer: adafactor\n" in card
    assert "racle" not in card.replace("oracle: no", "")


def test_a_card_names_the_base_model(model: Path) -> None:
    run = json.loads((model / "run.json").read_text())
    run["record"]["settings"]["model"] = "google-t5/t5-base"
    (model / "run.json").write_text(json.dumps(run))
    publish.publish(model, None)
    assert ModelCard.load(model / "README.md").data.base_model == "google-t5/t5-base"


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
