"""Learning, the frozen encoder, the Hub's way to load, models that are none of this tracker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from baselines import predict, train
from baselines.encoders.load import load_encoder
from baselines.sgd_baseline.modeling import SgdBaselineModel
from baselines.sgd_baseline.settings import SgdOptions
from baselines.sgd_baseline.tracker import SgdTracker
from baselines.training.accelerator import make_accelerator

from ..conftest import Refuse, command, write_recipe


def log(output: Path, key: str) -> list[float]:
    lines = map(json.loads, (output / "log.jsonl").read_text().splitlines())
    return [line[key] for line in lines if key in line]


def test_loss_falls_on_the_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recipe = write_recipe(
        tmp_path / "r.yaml", "sgd_baseline", epochs=2, steps=48, log_every=8, evaluate_every=99
    )
    assert command(monkeypatch, train, "--config", recipe, "--output", tmp_path / "run") == 0
    losses = log(tmp_path / "run", "loss")
    assert losses[-1] < 0.75 * losses[0]


def test_the_frozen_encoder_is_the_one_that_training_began_with(trained: Path) -> None:
    before = load_encoder(str(trained / "initial"))[0].state_dict()
    model = SgdTracker.load(str(trained), SgdOptions(), make_accelerator()).model
    frozen = model.schema_encoder.state_dict()
    assert before.keys() == frozen.keys()
    assert all(torch.equal(tensor, frozen[name]) for name, tensor in before.items())
    tuned = model.encoder.state_dict()["embeddings.word_embeddings.weight"]
    assert not torch.equal(tuned, before["embeddings.word_embeddings.weight"])
    assert not any(p.requires_grad for p in model.schema_encoder.parameters())


def test_auto_model_takes_the_project_s_code(trained: Path) -> None:
    assert isinstance(AutoModel.from_pretrained(trained), SgdBaselineModel)
    assert AutoTokenizer.from_pretrained(trained).is_fast


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--model", "nowhere"), "nowhere: "),
        (("--model", "{trained}", "--config", "v9"), "v9"),
        (("--model", "{trained}", "--split", "exam"), "exam"),
        (("--model", "{bert}"), "run.json or config.json"),
        (("--model", "{bert}", "--tracker", "sgd_baseline"), "bert model"),
    ],
)
def test_bad_predictions(
    arguments: tuple[str, ...], named: str, trained: Path, tmp_path: Path, refuse: Refuse
) -> None:
    bert = tmp_path / "bert"
    SgdBaselineModel.from_pretrained(trained).encoder.save_pretrained(bert)
    filled = [word.format(trained=trained, bert=bert) for word in arguments]
    assert named in refuse(predict, *filled, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()
