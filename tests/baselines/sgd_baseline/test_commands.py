"""The commands: a run's folder, resuming, prediction files, the Hub's way to load, bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from baselines import evaluate, predict, train
from baselines.encoders.load import load_encoder
from baselines.sgd_baseline.card_example import example as card_example
from baselines.sgd_baseline.modeling import SgdBaselineModel
from baselines.sgd_baseline.settings import SgdOptions, SgdSettings
from baselines.sgd_baseline.tracker import SgdTracker
from baselines.training.accelerator import make_accelerator
from baselines.training.settings import find_recipe, read_recipe

from ...conftest import Run
from ..conftest import LAUNCH, STATE, command, kill_at, state_of_the_cards_dialogue, write_recipe


def log(output: Path, key: str) -> list[float]:
    lines = map(json.loads, (output / "log.jsonl").read_text().splitlines())
    return [line[key] for line in lines if key in line]


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def test_a_run_s_folder(trained: Path) -> None:
    run = json.loads((trained / "run.json").read_text())
    assert run["oracle"] is False
    assert run["turns"] == 482
    assert run["labels"] == {"changes": 390, "not_in_schema": 0, "not_in_turn": 44}
    assert len(log(trained, "loss")) == len(log(trained, "dev_joint_goal_accuracy")) == 2
    card = (trained / "README.md").read_text()
    assert "trust_remote_code=True" in card
    assert not (trained / "dev").exists()


def test_loss_falls_on_the_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recipe = write_recipe(
        tmp_path / "r.yaml", "sgd_baseline", epochs=2, steps=48, log_every=8, evaluate_every=99
    )
    assert command(monkeypatch, train, "--config", recipe, "--output", tmp_path / "run") == 0
    losses = log(tmp_path / "run", "loss")
    assert losses[-1] < 0.75 * losses[0]


def test_a_killed_training_ends_in_the_same_weights(
    monkeypatch: pytest.MonkeyPatch,
    trained: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    recipe = write_recipe(tmp_path / "recipe.yaml", "sgd_baseline")
    arguments = ("--config", recipe, "--output", tmp_path / "run")
    with monkeypatch.context() as patch:
        kill_at(patch, 5)
        assert command(patch, train, *arguments) == 130
    printed = capsys.readouterr()
    assert printed.err.splitlines()[-1] == (
        f"baselines.train: interrupted at step 5 of 8; the last checkpoint is {tmp_path}/run/"
        f"checkpoints/step-00000004; continue with: python -m baselines.train --config {recipe} "
        f"--output {tmp_path}/run --resume"
    )
    opening, first, second, *_ = printed.out.splitlines()
    assert opening == "training sgd_baseline on sample"
    assert first.startswith("8 steps of 16 examples in fp32, 1 process on 1 thread of ")
    assert second == (
        "learns from 482 turns, 0 cut, labels: 390 changes, 0 not in schema, 44 not in turn"
    )
    assert command(monkeypatch, train, *arguments, "--resume") == 0
    assert weights(tmp_path / "run/checkpoints/step-00000008") == weights(
        trained / "checkpoints/step-00000008"
    )
    assert weights(tmp_path / "run") == weights(trained)


def test_the_frozen_encoder_is_the_one_that_training_began_with(trained: Path) -> None:
    before = load_encoder(str(trained / "initial"))[0].state_dict()
    model = SgdTracker.load(str(trained), SgdOptions(), make_accelerator()).model
    frozen = model.schema_encoder.state_dict()
    assert before.keys() == frozen.keys()
    assert all(torch.equal(tensor, frozen[name]) for name, tensor in before.items())
    tuned = model.encoder.state_dict()["embeddings.word_embeddings.weight"]
    assert not torch.equal(tuned, before["embeddings.word_embeddings.weight"])
    assert not any(p.requires_grad for p in model.schema_encoder.parameters())


def test_prediction_files(
    monkeypatch: pytest.MonkeyPatch, trained: Path, three: Path, tmp_path: Path
) -> None:
    shared = ("--config", "original", "v3", "--dialogues", three, "--output", tmp_path)
    assert command(monkeypatch, evaluate, "--model", trained, *shared) == 0
    files = tmp_path / "predictions"
    assert {path.name for path in files.iterdir()} == {"original.jsonl", "v3.jsonl"}
    lines = (files / "v3.jsonl").read_text().splitlines()
    metadata = json.loads(lines[0])["metadata"]
    said = {
        "tracker": "sgd_baseline",
        "system_acts": False,
        "reads": "the system's last utterance and the user's, and no dialogue act",
        "tracks": ["active_intent", "requested_slots", "slot_values"],
        "max_turn": 64,
    }
    assert {name: metadata["system"][name] for name in said} == said
    assert (metadata["variant"], metadata["split"], metadata["oracle"]) == ("v3", "test", False)
    assert len(lines) == 1 + 26
    # Both configs at once: half as many turns again as there are would show here.
    assert metadata["counts"]["frames"] == 2 * 26 > 2 * metadata["counts"]["turns"]
    assert "system-acts:no" in json.loads((tmp_path / "scores.json").read_text())["signature"]
    (checkpoint,) = (trained / "checkpoints").iterdir()
    assert command(monkeypatch, evaluate, "--model", checkpoint, *shared) == 0
    again = json.loads((files / "v3.jsonl").read_text().splitlines()[0])["metadata"]
    assert again["system"]["model"] == str(checkpoint)


def test_auto_model_takes_the_project_s_code(trained: Path) -> None:
    assert isinstance(AutoModel.from_pretrained(trained), SgdBaselineModel)
    assert AutoTokenizer.from_pretrained(trained).is_fast


def test_the_card_s_example_runs_without_the_project(
    monkeypatch: pytest.MonkeyPatch, trained: Path, tmp_path: Path
) -> None:
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
    assert set(numbers(done.stdout)) == {
        "intent", "requested", "categorical_status", "value", "free_status", "start", "end",
    }  # fmt: skip


def numbers(printed: str) -> dict[str, Any]:
    """A printed dict of lists of numbers."""
    found: dict[str, Any] = json.loads(printed.replace("'", '"'))
    return found


@pytest.mark.slow
def test_two_processes(run: Run, tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path / "r.yaml", "sgd_baseline", steps=2, evaluate_every=2)
    arguments = ("baselines.train", "--config", recipe, "--output", "out")
    done = run(*LAUNCH, *arguments)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out" / "run.json").read_text())["record"]["processes"] == 2
    assert len(log(tmp_path / "out", "dev_joint_goal_accuracy")) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"augment": {"schemas": "oracle"}}, "give --oracle"),
        ({"static_shapes": True}, "static_shapes: services differ in size, expected false"),
        ({"max_turn": 8}, "max_turn"),
        ({"max_turn": 4096}, "max_turn: is 4096, the encoder reads 512 tokens"),
        ({"model": "nowhere"}, "nowhere: model cannot be loaded"),
        ({"formats": "t5"}, "formats"),
    ],
)
def test_bad_recipes(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    settings: dict[str, Any],
    message: str,
) -> None:
    recipe = write_recipe(tmp_path / "r.yaml", "sgd_baseline", **settings)
    assert command(monkeypatch, train, "--config", recipe, "--output", tmp_path / "run") == 2
    (line,) = [x for x in capsys.readouterr().err.splitlines() if "error" in x]
    assert line.startswith("baselines.train: error: ")
    assert message in line
    assert not (tmp_path / "run" / "run.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--model", "nowhere"), "nowhere: no such folder or repository: "),
        (("--model", "nowhere"), " has no folder of this name, and from the Hub: "),
        (("--model", "{trained}", "--config", "v9"), "v9"),
        (("--model", "{bert}"), "found no tracker's name in run.json or config.json"),
        (
            ("--model", "{bert}", "--tracker", "sgd_baseline"),
            "is a bert model, expected one of sgd_baseline",
        ),
        (("--model", "{trained}", "--split", "exam"), "exam"),
    ],
)
def test_bad_predictions(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    trained: Path,
    tmp_path: Path,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    bert = tmp_path / "bert"
    SgdBaselineModel.from_pretrained(trained).encoder.save_pretrained(bert)
    filled = [word.format(trained=trained, bert=bert) for word in arguments]
    output = tmp_path / "out"
    assert command(monkeypatch, predict, *filled, "--output", output) == 2
    (line,) = [x for x in capsys.readouterr().err.splitlines() if "error" in x]
    assert line.startswith("baselines.predict: error: ")
    assert message in line
    assert not output.exists()


def test_the_papers_recipe() -> None:
    paper = read_recipe(find_recipe("sgd_baseline/paper"), SgdSettings)
    assert (paper.learning_rate, paper.batch_size, paper.max_turn) == (1e-4, 32, 80)
    assert (paper.weight_decay, paper.epsilon, paper.bias_correction) == (0.01, 1e-6, False)
    assert (paper.dropout, paper.epochs, paper.steps) == (0.1, 80, None)


def test_the_card_tracks_a_dialogue(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(state_of_the_cards_dialogue(trained, capsys)) == STATE
