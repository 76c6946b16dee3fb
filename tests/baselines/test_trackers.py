"""What every tracker that learns does alike: train, go on, predict, refuse, and run from a card."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from baselines import evaluate, predict, train
from baselines.sgp_dst.submodels import PARTS
from baselines.training import chunks
from sgdx_dataset.io.files import write_bytes
from sgdx_dataset.release.open import SAMPLE

from ..conftest import Run
from .conftest import (
    LAUNCH,
    RECIPES,
    SUBMODEL,
    Refuse,
    change_the_data,
    command,
    kill_at,
    train_once,
    write_recipe,
)

TRACKERS = ("onepass", "sgd_baseline", "sgp_dst", "t5dst")


@pytest.fixture
def folder(tracker: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of the test's tracker."""
    return train_once(tmp_path_factory, tracker)


FACTS: dict[str, dict[str, Any]] = {
    "onepass": {"examples": 492, "labels": {"slots": 3139, "without_path": 11}},
    "sgd_baseline": {
        "turns": 482, "labels": {"changes": 390, "not_in_schema": 0, "not_in_turn": 44},
    },
    "sgp_dst": {},
    "t5dst": {},
}  # fmt: skip


@pytest.mark.parametrize("tracker", TRACKERS)
def test_a_run_s_folder(tracker: str, folder: Path) -> None:
    run = json.loads((folder / "run.json").read_text())
    assert run["oracle"] is False
    assert run.items() >= FACTS[tracker].items()
    assert re.fullmatch(r"1 process on \d+ threads? of \S.*", run["hardware"])
    assert f"- hardware: {run['hardware']}\n" in (folder / "README.md").read_text()
    models = [folder / part for part in PARTS] if tracker == "sgp_dst" else [folder]
    for model in models:
        config = json.loads((model / "config.json").read_text())
        assert config["sgdx"]["tracker"] == tracker
        assert config["sgdx"].get("part", model.name) == model.name
        lines = [json.loads(line) for line in (model / "log.jsonl").read_text().splitlines()]
        assert [line["step"] for line in lines if "loss" in line][-1] == run["record"]["settings"][
            "steps"
        ]
        assert all(line["loss"] > 0 for line in lines if "loss" in line)
        assert any(key.startswith("dev_") for line in lines for key in line)
    assert not (folder / "dev").exists()


@pytest.mark.parametrize("tracker", TRACKERS)
def test_the_card_tracks_a_dialogue(
    tracker: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = (folder / "README.md").read_text()
    assert "2147483647" not in card
    assert "license: apache-2.0\n" in card
    capsys.readouterr()
    exec(re.findall(r"```python\n(.*?)```", card, re.DOTALL)[0], {})  # noqa: S102
    state = ast.literal_eval(capsys.readouterr().out.splitlines()[-1])
    assert state.keys() == {"active_intent", "requested_slots", "slot_values"}


@pytest.mark.parametrize("tracker", ["onepass", "sgd_baseline", "sgp_dst"])
def test_the_card_s_second_example_runs_without_the_project(
    tracker: str, folder: Path, tmp_path: Path
) -> None:
    """In a process that cannot import it: the code beside the weights is enough."""
    examples = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    hidden = "import sys\nsys.modules['baselines'] = sys.modules['sgdx_dataset'] = None\n"
    (tmp_path / "use.py").write_text(hidden + examples[1])
    done = subprocess.run(
        [sys.executable, "-P", "use.py"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        | {"HF_MODULES_CACHE": str(tmp_path / "modules")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    said = ast.literal_eval(done.stdout.splitlines()[-1])
    if tracker == "onepass":
        assert said.keys() == {"intent", "requested", "status", "destination", "shared"}
        assert said["destination"]
        assert {len(said["requested"]), len(said["status"])} == {2}
    elif tracker == "sgd_baseline":
        assert said.keys() == {
            "intent", "requested", "categorical_status", "value", "free_status", "start", "end",
        }  # fmt: skip
    else:
        assert 0 <= said <= 1


def weights(folder: Path) -> dict[str, bytes]:
    """The models in a run's folder and in its checkpoints, to the byte."""
    files = folder.rglob("*.safetensors")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    ("tracker", "changes"),
    [
        ("onepass", {}),
        ("sgd_baseline", {}),
        ("sgp_dst", {}),  # in the first of its four models
        ("t2g2", {}),
        ("t2g2", {"prefix": 3, "prefix_hidden": 16}),
    ],
)
def test_a_killed_training_ends_in_the_same_weights(
    tracker: str,
    changes: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
) -> None:
    whole = train_once(tmp_path_factory, tracker, **changes)
    recipe = write_recipe(tmp_path / "recipe.yaml", tracker, **changes)
    arguments = ("--config", recipe, "--output", tmp_path / "run")
    with monkeypatch.context() as patch:
        kill_at(patch, RECIPES[tracker]["steps"] - 1)
        assert command(patch, train, *arguments) == 130
    assert not list((tmp_path / "run").rglob("README.md"))
    assert command(monkeypatch, train, *arguments, "--resume") == 0
    assert weights(tmp_path / "run") == weights(whole)


SAYS: dict[str, dict[str, Any]] = {
    "onepass": {"system_acts": True, "acts": True, "train": ["original"]},
    "sgd_baseline": {
        "system_acts": False, "max_turn": 64,
        "tracks": ["active_intent", "requested_slots", "slot_values"],
    },
    "sgp_dst": {"system_acts": True, "train": ["original"], "augment": None, "overlaps": 0},
}  # fmt: skip


@pytest.mark.parametrize("tracker", SAYS)
def test_predictions_are_scored_and_say_whose_they_are(
    tracker: str, folder: Path, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = ("--config", "original", "v3", "--dialogues", three, "--output", tmp_path)
    files = tmp_path / "predictions"
    for model in (folder, *folder.glob("checkpoints/step-*")):  # the last one's are made again
        assert command(monkeypatch, evaluate, "--model", model, *some, "--shard-size", 20) == 0
        assert {path.name for path in files.iterdir()} == {"original.jsonl", "v3.jsonl"}
        header, *rows = map(json.loads, (files / "v3.jsonl").read_text().splitlines())
        said = header["metadata"]
        assert (said["variant"], said["split"], said["oracle"]) == ("v3", "test", False)
        assert said["system"].items() >= ({"model": str(model)} | SAYS[tracker]).items()
        assert len(rows) == 26
    acts = "yes" if SAYS[tracker]["system_acts"] else "no"
    signature = json.loads((tmp_path / "scores.json").read_text())["signature"]
    assert f"system-acts:{acts}" in signature


def stopped_prediction(model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Stop a prediction after its first chunk, which then gets an intent put in by hand.

    Args:
        model: The model that predicts.
        folder: A new folder for a copy of the sample corpus and for the predictions, ``out``.
        monkeypatch: Restores what is changed to stop it.

    Returns:
        The arguments of the prediction but for the value of ``--output``.
    """
    shutil.copytree(SAMPLE, folder / "source")
    (folder / "two.txt").write_text("1_00000\n2_00000\n")
    arguments: list[object] = [
        *("--model", model, "--source", folder / "source", "--dialogues", folder / "two.txt"),
        *("--config", "original", "--chunk-size", 1, "--output"),
    ]

    def write_first(path: Path, content: bytes) -> None:
        if path.name != "000000.json":
            raise KeyboardInterrupt
        write_bytes(path, re.sub(rb'("active_intent":")[^"]*', rb"\1Xanadu", content))

    with monkeypatch.context() as patch:
        patch.setattr(chunks, "write_bytes", write_first)
        assert command(patch, predict, *arguments, folder / "out") == 130
    return arguments


@pytest.mark.parametrize("tracker", ["onepass", "sgp_dst"])
def test_a_stopped_prediction_goes_on_where_the_data_are_the_same(
    tracker: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    same, changed = tmp_path / "same", tmp_path / "changed"
    arguments = stopped_prediction(folder, same, monkeypatch)
    assert command(monkeypatch, predict, *arguments, same / "out") == 0
    assert "Xanadu" in (same / "out" / "original.jsonl").read_text()
    arguments = stopped_prediction(folder, changed, monkeypatch)
    change_the_data(changed / "source")
    for output in (changed / "out", tmp_path / "new"):
        assert command(monkeypatch, predict, *arguments, output) == 0
    predictions = (changed / "out" / "original.jsonl").read_bytes()
    assert predictions == (tmp_path / "new" / "original.jsonl").read_bytes()
    assert b"Xanadu" not in predictions


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tracker", "task"), [("sgd_baseline", ()), ("sgp_dst", ("--task", "cross"))]
)
def test_two_processes(tracker: str, task: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path / "r.yaml", tracker, steps=2, evaluate_every=2)
    done = run(*LAUNCH, "baselines.train", "--config", recipe, "--output", "out", *task)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "out" / "/".join(task[1:]) / "run.json").read_text())["record"]
    assert record["processes"] == 2


def of_parts(**changes: Any) -> dict[str, Any]:
    return {"parts": dict.fromkeys(PARTS, SUBMODEL | changes)}


@pytest.mark.parametrize(
    ("tracker", "settings", "named"),
    [
        ("onepass", {"static_shapes": True}, "static_shapes"),
        ("onepass", {"drop_names": 0.6, "drop_descriptions": 0.6}, "drop_names"),
        ("onepass", {"max_tokens": 1024}, "max_tokens: 1024"),
        ("sgd_baseline", {"augment": {"schemas": "oracle"}}, "--oracle"),
        ("sgd_baseline", {"static_shapes": True}, "static_shapes"),
        ("sgd_baseline", {"max_turn": 8}, "max_turn"),
        ("sgd_baseline", {"max_turn": 4096}, "max_turn"),
        ("sgd_baseline", {"model": "nowhere"}, "nowhere: "),
        ("sgd_baseline", {"formats": "t5"}, "formats"),
        ("sgp_dst", {"augment": {"schemas": "oracle"}}, "--oracle"),
        ("sgp_dst", of_parts(epochs=0), "epochs"),
        ("sgp_dst", {"parts": {"intent": SUBMODEL}}, "$.parts"),
        ("sgp_dst", {"model": "/nowhere/bert"}, "/nowhere/bert: "),
        ("sgp_dst", of_parts(max_tokens=12), "max_tokens: 12 "),
        ("t2g2", {"input": "t2g2"}, "templates: "),
        ("t2g2", {"templates": "x"}, "templates: "),
        ("t2g2", {"input": "gold"}, "$.input"),
        ("t2g2", {"prefix": 3, "gradient_checkpointing": True}, "gradient_checkpointing: "),
        ("t2g2", {"prefix": 0}, "$.prefix"),
    ],
)
def test_a_recipe_at_fault(
    tracker: str, settings: dict[str, Any], named: str, refuse: Refuse, tmp_path: Path
) -> None:
    recipe = write_recipe(tmp_path / "r.yaml", tracker, **settings)
    assert named in refuse(train, "--config", recipe, "--output", tmp_path / "run")
    assert not (tmp_path / "run" / "run.json").exists()
