"""The commands: a run's folder, resuming, prediction files, the card's example, bad input."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModel, AutoTokenizer

from baselines import predict, train
from baselines.onepass.card_example import example as card_example
from baselines.onepass.modeling import OnePassModel

from ..conftest import check_that_chunks_are_of_their_data, command, kill_at, write_recipe
from ..training import broken_off


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def test_a_run_s_folder(trained: Path) -> None:
    run = json.loads((trained / "run.json").read_text())
    assert run["oracle"] is False
    assert run["examples"] == 492
    assert run["labels"] == {"slots": 3139, "without_path": 11}
    assert re.fullmatch(r"1 process on \d+ threads? of \S.*", run["hardware"])
    card = (trained / "README.md").read_text()
    assert f"- hardware: {run['hardware']}\n" in card
    assert "trust_remote_code=True" in card
    assert isinstance(AutoModel.from_pretrained(trained), OnePassModel)
    tokenizer = AutoTokenizer.from_pretrained(trained)
    assert tokenizer.tokenize("[SLOT] [TOLD]") == ["[SLOT]", "[TOLD]"]


def test_a_killed_training_ends_in_the_same_weights(
    monkeypatch: pytest.MonkeyPatch, trained: Path, tmp_path: Path
) -> None:
    recipe = write_recipe(tmp_path / "recipe.yaml", "onepass")
    arguments = ("--config", recipe, "--output", tmp_path / "run")
    with monkeypatch.context() as patch:
        kill_at(patch, 9)
        assert command(patch, train, *arguments) == 130
    assert command(monkeypatch, train, *arguments, "--resume") == 0
    assert weights(tmp_path / "run") == weights(trained)


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
    assert weights(tmp_path / "again") == weights(run)
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


def test_chunks_of_changed_data_are_predicted_again(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_that_chunks_are_of_their_data(trained, tmp_path, monkeypatch)


def test_prediction_files(
    monkeypatch: pytest.MonkeyPatch, trained: Path, three: Path, tmp_path: Path
) -> None:
    arguments = ("--model", trained, "--config", "v3", "--dialogues", three, "--output", tmp_path)
    assert command(monkeypatch, predict, *arguments) == 0
    lines = (tmp_path / "v3.jsonl").read_text().splitlines()
    metadata = json.loads(lines[0])["metadata"]["system"]
    assert metadata["system_acts"] is metadata["acts"] is True
    assert metadata["train"] == ["original"]
    assert len(lines) == 1 + 26


def test_the_card_s_example_runs_without_the_project(trained: Path, tmp_path: Path) -> None:
    """In a process that cannot import it: the code beside the weights is enough."""
    example = card_example(str(trained))
    assert example.strip() in (trained / "README.md").read_text()
    environment = {name: v for name, v in os.environ.items() if name != "PYTHONPATH"}
    script = "import sys\nsys.modules['baselines'] = sys.modules['sgdx_dataset'] = None\n" + example
    (tmp_path / "use.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "-P", "use.py"],
        cwd=tmp_path,
        env=environment | {"HF_MODULES_CACHE": str(tmp_path / "modules")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    printed = ast.literal_eval(done.stdout.splitlines()[-1])
    assert printed.keys() == {"intent", "requested", "status", "destination", "shared"}
    assert printed["destination"]
    assert {len(printed["requested"]), len(printed["status"])} == {2}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"static_shapes": True}, "static_shapes: schemas differ in size, expected false"),
        (
            {"drop_names": 0.6, "drop_descriptions": 0.6},
            "drop_names and drop_descriptions: expected 1 or less together",
        ),
        ({"max_tokens": 1024}, "reads 512 tokens, expected max_tokens: 1024"),
    ],
)
def test_bad_recipes(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    settings: dict[str, Any],
    message: str,
) -> None:
    recipe = write_recipe(tmp_path / "r.yaml", "onepass", **settings)
    assert command(monkeypatch, train, "--config", recipe, "--output", tmp_path / "run") == 2
    assert message in capsys.readouterr().err
