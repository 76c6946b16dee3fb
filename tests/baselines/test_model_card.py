"""The model card: its figures are the scores."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from baselines import evaluate, publish

from .conftest import command


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
