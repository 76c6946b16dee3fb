"""The model card: its figures are the scores, of the data that it names; oracles are called so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard

from baselines import evaluate, publish
from baselines.model_scores import scored_data

from ..conftest import ROOT
from .conftest import Refuse, command


@pytest.fixture(scope="module")
def evaluated(trained: Path, three: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained model, with its scores of three dialogues under three schemas."""
    run = tmp_path_factory.mktemp("evaluated") / "run"
    shutil.copytree(trained, run)
    arguments = ("--model", run, "--source", "sample", "--dialogues", three, "--output", run)
    with pytest.MonkeyPatch.context() as patch:
        assert command(patch, evaluate, *arguments, "--config", "original", "v1", "v2") == 0
    return run


@pytest.fixture
def run(evaluated: Path, tmp_path: Path) -> Path:
    shutil.copytree(evaluated, tmp_path / "run")
    return tmp_path / "run"


def edited(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def results_of(run: Path) -> list[Any]:
    return ModelCard.load(run / "README.md").data.eval_results or []


def test_an_evaluated_run_shows_its_scores_on_its_card(run: Path, trained: Path) -> None:
    found, before = (json.loads((each / "run.json").read_text()) for each in (run, trained))
    assert found["record"] == before["record"]
    assert found["evaluation"]["configs"] == ["original", "v1", "v2"]
    publish.publish(run, None)
    card = ModelCard.load(run / "README.md")
    metadata = card.data.to_dict()
    assert (metadata["datasets"], metadata["metrics"]) == (["sgdx"], ["sgdx_metric"])
    assert "base_model" not in metadata  # it was made on the spot
    scores = json.loads((run / "scores.json").read_text())["sgdx"]
    names = {"JGA_orig": "jga_orig", "JGA_v1-5": "jga_v1-5", "SS_JGA": "ss_jga"}
    names |= {"JGA_worst": "jga_worst", "flips": "flips"}
    assert {result.metric_name: result.metric_value for result in results_of(run)} == {
        name: round(100 * scores[key], 2) for name, key in names.items() if scores[key] is not None
    }
    data = "sample corpus of sgdx, dialogues chosen: 3"
    assert {(r.dataset_type, r.dataset_name, r.dataset_split) for r in results_of(run)} == {
        ("sgdx", data, "test")
    }
    assert f"Scored on the test split of: {data}." in card.text


def test_the_card_s_figures_are_the_scores(run: Path) -> None:
    figures = {"jga_orig": 0.5, "jga_v1-5": 0.25, "ss_jga": None, "jga_worst": None, "flips": 0.125}
    scores = {
        "sgdx": {**figures, "seen": figures, "unseen": {**figures, "jga_orig": 0.125}},
        "frames": {"all": 8, "seen": 5, "unseen": 3},
        "signature": "sgdx_metric|variants:original",
    }
    (run / "scores.json").write_text(json.dumps(scores))
    publish.publish(run, None)
    card = (run / "README.md").read_text()
    assert "| services | frames | JGA_orig | JGA_v1-5 | SS_JGA | JGA_worst | flips |" in card
    assert "| all | 8 | 50.00 | 25.00 | – | – | 12.50 |\n" in card
    assert "| unseen | 3 | 12.50 | 25.00 | – | – | 12.50 |\n" in card
    assert "`sgdx_metric|variants:original`" in card
    assert "- schema variants trained on: original\n" in card
    assert "license: apache-2.0\n" in card
    assert "optimizer: adafactor\n" in card
    assert "racle" not in card.replace("oracle: no", "")


def test_a_card_names_the_base_model(run: Path) -> None:
    record = json.loads((run / "run.json").read_text())["record"]
    settings = record["settings"] | {"model": "google-t5/t5-base"}
    edited(run / "run.json", record=record | {"settings": settings})
    publish.publish(run, None)
    assert ModelCard.load(run / "README.md").data.base_model == "google-t5/t5-base"


def test_scores_of_an_oracle_that_do_not_say_so_are_refused(run: Path, refuse: Refuse) -> None:
    edited(run / "run.json", oracle=True)
    before = (run / "README.md").read_bytes()
    assert str(run / "scores.json") in refuse(publish, "--model", run)
    assert (run / "README.md").read_bytes() == before
    (run / "scores.json").unlink()
    publish.publish(run, None)
    text = (run / "README.md").read_text()
    assert "**Oracle: an upper bound.**" in text and "Not scored yet." in text


def test_an_oracles_scores_make_the_card_an_oracles(run: Path) -> None:
    signature = json.loads((run / "scores.json").read_text())["signature"]
    edited(run / "scores.json", signature=f"{signature}|oracle:yes")
    publish.publish(run, None)
    assert "**Oracle: an upper bound.**" in (run / "README.md").read_text()


PARTIAL = "SGD and SGD-X, a partial copy of 2921 of 4201 dialogues, dialogues chosen: 292"
COMMIT = "e852981ea91ca48b3735f35b0a88abf58b1c8e7e"


@pytest.mark.parametrize(
    ("rows", "signature", "expected"),
    [
        ("frames", f"split:test|release:{COMMIT}", ("SGD and SGD-X", "test", COMMIT)),
        ("frames", "split:test|release:partial:2921/4201|dialogues:292@b0e1edf2|frames:2738",
         (PARTIAL, "test", None)),
        ("frames", "split:validation|release:unverified:0123456789abcdef|services:Cabs_1+Homes_1",
         ("unverified data in the layout of SGD (0123456789abcdef), services chosen: Cabs_1, "
          "Homes_1", "validation", None)),
        ("turns", "split:test|release:sample|turns:10@01234567",
         ("sample corpus of sgdx, turns chosen: 10", "test", None)),
        ("turns", "split:test|release:sample|turns:76", ("sample corpus of sgdx", "test", None)),
        ("frames", "frames:3", ("unknown data", "unknown", None)),
    ],
)  # fmt: skip
def test_data_are_named_as_the_signature_says(
    rows: str, signature: str, expected: tuple[str, str, str | None]
) -> None:
    metric = {"frames": "sgdx_metric", "turns": "sgsacc_metric"}[rows]
    assert scored_data({"signature": f"{metric}|{signature}"}, rows) == expected


def test_a_partial_copy_of_sgd_is_called_one(run: Path) -> None:
    shutil.copy(ROOT / "results" / "onepass-minilm_all" / "scores.json", run)
    publish.publish(run, None)
    assert {result.dataset_name for result in results_of(run)} == {PARTIAL}
