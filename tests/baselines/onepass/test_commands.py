"""The commands with settings that only this tracker has; others are in ``test_trackers``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from transformers import AutoModel, AutoTokenizer

from baselines import predict, train
from baselines.onepass.modeling import OnePassModel
from baselines.system import get_trainable

from ..conftest import command, write_recipe
from ..training import broken_off


def test_the_hub_s_classes_read_a_run(trained: Path) -> None:
    assert get_trainable("onepass").NAME == "onepass"  # makes its classes known to transformers
    assert isinstance(AutoModel.from_pretrained(trained), OnePassModel)
    tokenizer = AutoTokenizer.from_pretrained(trained)
    assert tokenizer.tokenize("[SLOT] [TOLD]") == ["[SLOT]", "[TOLD]"]


def test_without_acts_and_with_changed_schemas(
    monkeypatch: pytest.MonkeyPatch, three: Path, tmp_path: Path
) -> None:
    recipe = write_recipe(
        tmp_path / "r.yaml", "onepass", acts=False, utterances=4, steps=2, evaluate_frames=4,
        shuffle=True, drop_names=0.2, drop_descriptions=0.2,
    )  # fmt: skip
    run, out = tmp_path / "run", tmp_path / "out"
    assert command(monkeypatch, train, "--config", recipe, "--output", run) == 0
    arguments = ("--model", run, "--config", "v1", "--dialogues", three, "--output", out)
    assert command(monkeypatch, predict, *arguments) == 0
    metadata = json.loads((out / "v1.jsonl").read_text().splitlines()[0])["metadata"]["system"]
    assert metadata["system_acts"] is metadata["acts"] is False
    assert (metadata["tracker"], metadata["utterances"]) == ("onepass", 4)


def test_all_settings_together(
    monkeypatch: pytest.MonkeyPatch, three: Path, tmp_path: Path
) -> None:
    """One model for dialogues with acts and without; it is the same after a resume."""
    recipe = write_recipe(
        tmp_path / "r.yaml", "onepass", acts="sometimes", drop_carried=0.2, replace_carried=0.1,
        ema=0.9, drop_descriptions=0.2, augment={"schemas": "backtrans", "ratio": 0.2}, steps=6,
        save_every=4, evaluate_every=6, evaluate_frames=20, log_every=2,
    )  # fmt: skip
    run = tmp_path / "run"
    arguments = ("--config", recipe, "--output")
    assert command(monkeypatch, train, *arguments, run) == 0
    assert command(monkeypatch, broken_off, *arguments, tmp_path / "again") == 0
    first, second = (
        (folder / "model.safetensors").read_bytes() for folder in (run, tmp_path / "again")
    )
    assert first == second
    config = json.loads((run / "config.json").read_text())
    assert config["sgdx"]["acts"] == "sometimes"
    written = {}
    for acts in ("true", "false"):
        options = ("--model", run, "--config", "v3", "--acts", acts, "--dialogues", three)
        assert command(monkeypatch, predict, *options, "--output", tmp_path / acts) == 0
        lines = (tmp_path / acts / "v3.jsonl").read_text().splitlines()
        metadata = json.loads(lines[0])["metadata"]["system"]
        assert metadata["system_acts"] is (acts == "true")
        assert metadata["acts"] == "sometimes"
        written[acts] = lines[1:]
    assert len(written["true"]) == len(written["false"]) == 26
    assert written["true"] != written["false"]
