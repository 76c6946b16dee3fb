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
from typing import Any, NamedTuple

import pytest
import torch
from datasets import concatenate_datasets
from safetensors.torch import load_file

from baselines import evaluate, predict, train
from baselines import predicting as chunks
from baselines.predicting import predict as track
from baselines.sgp_dst.settings import PARTS
from baselines.system import get_trainable
from sgdx_dataset import frames, load
from sgdx_dataset.io.files import write_bytes
from sgdx_dataset.release import SAMPLE
from sgdx_dataset.tracker_inputs import training_columns

from .conftest import RECIPES, command, kill_at, train_once, write_recipe

# Every setting of onepass that a training could forget.
ALL: dict[str, Any] = {
    "acts": "sometimes", "drop_carried": 0.2, "replace_carried": 0.1, "ema": 0.9,
    "drop_descriptions": 0.2, "augment": {"schemas": "backtrans", "ratio": 0.2},
}  # fmt: skip
KINDS = {"noise": ALL}


@pytest.fixture
def folder(tracker: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of the test's tracker, or of one of the kinds above."""
    name, _, kind = tracker.partition(", ")
    return train_once(tmp_path_factory, name, **(KINDS[kind] if kind else {}))


def losses(folder: Path) -> list[list[tuple[int, float]]]:
    """The losses that the models of a run have logged, with their steps."""
    logs = [map(json.loads, path.open()) for path in sorted(folder.rglob("log.jsonl"))]
    return [[(line["step"], line["loss"]) for line in log if "loss" in line] for log in logs]


# The losses of the steps up to each third one, of sgp_dst those of combine, copy, cross and intent.
LOSSES: dict[str, list[list[float]]] = {
    "onepass": [[7.5276, 5.0671, 4.3760, 4.8722]],
    "sgd_baseline": [[1.4828, 1.3110, 1.3790]],
    "sgp_dst": [
        [7.2089, 7.3360, 7.1811, 6.9032], [0.7563, 0.6451, 0.6687, 0.6198],
        [0.5699, 0.5704, 0.3180, 0.6537], [1.2987, 1.1892, 1.0456, 1.0739], [],
    ],
    "t5dst": [[6.4301, 5.5835, 4.2887, 3.6699]],
    "t2g2": [[6.9759, 6.5169, 6.7556, 6.3647]],
    "onepass, noise": [[8.7278, 5.9675, 7.0835, 6.8563]],
}  # fmt: skip


@pytest.mark.parametrize("tracker", LOSSES)
def test_losses_are_what_they_were(tracker: str, folder: Path) -> None:
    """Texts, tokens, labels, the model, its loss and the steps all enter them."""
    found = [[loss for _, loss in model] for model in losses(folder)]
    for one, expected in zip(found, LOSSES[tracker], strict=True):
        assert one == pytest.approx(expected, rel=2e-3)  # CPUs round differently


class Says(NamedTuple):
    """What the files of a run and of its predictions say."""

    run: dict[str, Any]
    system: dict[str, Any]
    acts: str  # in the signature of its scores


SAYS = {
    "onepass": Says(
        {"examples": 492, "labels": {"slots": 3139, "without_path": 11}},
        {"system_acts": True, "acts": True, "train": ["original"]}, "yes",
    ),
    "sgd_baseline": Says(
        {"turns": 482, "labels": {"changes": 390, "not_in_schema": 0, "not_in_turn": 44}},
        {"system_acts": False, "max_turn": 64,
         "tracks": ["active_intent", "requested_slots", "slot_values"]}, "no",
    ),
    "sgp_dst": Says(
        {}, {"system_acts": True, "train": ["original"], "augment": None, "overlaps": 0}, "yes",
    ),
    "t5dst": Says(
        {}, {"system_acts": False, "format": "t5dst", "seed": 0, "tracks": ["slot_values"]}, "no",
    ),
}  # fmt: skip


@pytest.mark.parametrize("tracker", SAYS)
def test_a_run_its_card_and_its_predictions_say_whose_they_are(
    tracker: str, folder: Path, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    run, card = json.loads((folder / "run.json").read_text()), (folder / "README.md").read_text()
    assert run["oracle"] is False
    assert run.items() >= SAYS[tracker].run.items()
    assert re.fullmatch(r"1 process on \d+ threads? of \S.*", run["hardware"])
    assert f"- hardware: {run['hardware']}\n" in card
    assert "2147483647" not in card and "license: apache-2.0\n" in card
    for model in [folder / part for part in PARTS] if tracker == "sgp_dst" else [folder]:
        config = json.loads((model / "config.json").read_text())
        assert config["sgdx"]["tracker"] == tracker
        assert config["sgdx"].get("part", model.name) == model.name
        assert losses(model)[0][-1][0] == run["record"]["settings"]["steps"]
        assert '"dev_' in (model / "log.jsonl").read_text()
    assert not (folder / "dev").exists()
    # Where it was trained is private; the card names the folder until the model is pushed.
    private = str(folder.parent).encode()
    files = [file for file in folder.rglob("*.*") if file.name != "README.md"]
    assert not [file for file in files if private in file.read_bytes()]
    capsys.readouterr()
    exec(re.findall(r"```python\n(.*?)```", card, re.DOTALL)[0], {})  # noqa: S102
    state = ast.literal_eval(capsys.readouterr().out.splitlines()[-1])
    assert state.keys() == {"active_intent", "requested_slots", "slot_values"}

    some = ("--variant", "original", "v3", "--dialogues", three, "--output", tmp_path)
    assert command(monkeypatch, evaluate, "--model", folder, *some) == 0
    files = [*(tmp_path / "predictions").iterdir()]
    assert {path.name for path in files} == {"original.jsonl", "v3.jsonl"}
    v3 = tmp_path / "predictions" / "v3.jsonl"
    header, *rows = map(json.loads, v3.read_text().splitlines())
    said = header["metadata"]
    about = said["task"], said["variant"], said["split"], said["oracle"]
    assert about == ("state", "v3", "test", False)
    assert said["system"].items() >= ({"model": folder.name} | SAYS[tracker].system).items()
    packages = {"python", "torch", "transformers", "accelerate", "datasets"}
    assert set(said["versions"]) == packages
    assert [row["variant"] for row in rows] == ["v3"] * 26
    signature = json.loads((tmp_path / "scores.json").read_text())["signature"]
    assert f"system-acts:{SAYS[tracker].acts}" in signature


def test_the_cards_second_examples_run_without_the_project(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """In a process that cannot import it: the code beside the weights is enough."""
    script = "import sys\nsys.modules['baselines'] = sys.modules['sgdx_dataset'] = None\n"
    for tracker in ("onepass", "sgd_baseline", "sgp_dst"):
        card = (train_once(tmp_path_factory, tracker) / "README.md").read_text()
        script += re.findall(r"```python\n(.*?)```", card, re.DOTALL)[1] + "print('next')\n"
    (tmp_path / "use.py").write_text(script)
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
    onepass, baseline, cross = (
        ast.literal_eval(said.splitlines()[-1]) for said in done.stdout.split("\nnext\n")[:3]
    )
    assert onepass.keys() == {"intent", "requested", "status", "destination", "shared"}
    assert onepass["destination"]
    assert {len(onepass["requested"]), len(onepass["status"])} == {2}
    assert baseline.keys() == {
        "intent", "requested", "categorical_status", "value", "free_status", "start", "end",
    }  # fmt: skip
    assert 0 <= cross <= 1


def weights(folder: Path) -> dict[str, bytes]:
    """The models in a run's folder and in its checkpoints, to the byte."""
    files = folder.rglob("*.safetensors")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


# The second in the first of its four models.
@pytest.mark.parametrize(("tracker", "changes"), [("onepass", ALL), ("sgp_dst", {})])
def test_a_killed_training_ends_in_the_same_weights(
    tracker: str, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path,
) -> None:  # fmt: skip
    whole = train_once(tmp_path_factory, tracker, **changes)
    recipe = write_recipe(tmp_path / "recipe.yaml", tracker, **changes)
    arguments = ("--recipe", recipe, "--output", tmp_path / "run")
    with monkeypatch.context() as patch:
        kill_at(patch, RECIPES[tracker]["steps"] - 1)
        assert command(patch, train, *arguments) == 130
    assert not list((tmp_path / "run").rglob("README.md"))
    assert command(monkeypatch, train, *arguments, "--resume") == 0
    assert weights(tmp_path / "run") == weights(whole)
    assert losses(tmp_path / "run") == losses(whole)
    if "ema" in changes:  # the model is the mean of the weights, which go on by themselves
        (last,) = (whole / "checkpoints").iterdir()
        own, mean = (load_file(last / f"{name}.safetensors") for name in ("model", "average"))
        best = load_file(whole / "model.safetensors")
        assert all(torch.equal(best[name], mean[name]) for name in best)
        assert any(not torch.equal(best[name], own[name]) for name in best)


def test_a_model_for_dialogues_with_acts_and_without(
    three: Path, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run = train_once(tmp_path_factory, "onepass", **ALL)
    written = {}
    for acts in ("true", "false"):
        some = ("--model", run, "--variant", "v3", "--acts", acts, "--dialogues", three)
        assert command(monkeypatch, predict, *some, "--output", tmp_path / acts) == 0
        header, *written[acts] = (tmp_path / acts / "v3.jsonl").read_text().splitlines()
        system = json.loads(header)["metadata"]["system"]
        assert (system["system_acts"], system["acts"]) == (acts == "true", "sometimes")
        assert (len(system["train"]), system["augment"]["schemas"]) == (4, "backtrans")
    assert len(written["true"]) == len(written["false"]) == 26
    assert written["true"] != written["false"]


def states(predicted: list[dict[str, Any]]) -> list[tuple[str, list[str], list[Any]]]:
    return [(row["active_intent"], row["requested_slots"], row["slot_values"]) for row in predicted]


@pytest.mark.parametrize("tracker", ["onepass", "sgd_baseline", "sgp_dst"])
def test_gold_batches_chunks_and_other_variants_change_nothing(
    tracker: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REQUESTED", "SPAN", "VALUE", "CROSS", "COPY"):  # which few heads of seconds pass
        monkeypatch.setattr(f"baselines.sgp_dst.rules.{name}", 0.02)
    system = get_trainable(tracker)
    whole, small = (
        system.from_pretrained(folder, **options)
        for options in ({}, {"batch_size": 2, "chunk_size": 1, "token_budget": 512})
    )
    parts = [frames(load(config, "test", "sample")).select(range(30)) for config in ("v2", "v5")]
    rows = concatenate_datasets(parts)
    together = track(whole, rows, tmp_path / "together").rows
    apart = [track(small, part, tmp_path / str(i)).rows for i, part in enumerate(parts)]
    assert states([*apart[0], *apart[1]]) == states(together)
    seeing = [*whole.track(training_columns(rows, system.READS))]
    assert states(seeing) == states(together)
    assert [row["frame_id"] for row in together] == list(rows["frame_id"])
    assert [row["variant"] for row in together] == list(rows["variant"])
    assert len({str(state) for state in states(together)}) > 3


# How each makes its rows of chunks is its own; how chunks are kept is the same for all.
@pytest.mark.parametrize("tracker", ["onepass"])
def test_a_stopped_prediction_goes_on_where_the_data_are_the_same(
    tracker: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, stops, written = tmp_path / "source", [""], list[str]()
    shutil.copytree(SAMPLE, source)
    (source / "two.txt").write_text("1_00000\n2_00000\n")
    some = (
        "--model", folder, "--source", source, "--dialogues", source / "two.txt",
        "--variant", "original", "--chunk-size", 1, "--output",
    )  # fmt: skip

    def write(path: Path, content: bytes) -> None:
        if stops and path.name != "000000.json":
            raise KeyboardInterrupt
        written.append(path.name)
        write_bytes(path, content)

    def predicted(name: str) -> list[str]:
        written.clear()
        status = command(monkeypatch, predict, *some, tmp_path / name)
        assert status == (130 if stops else 0)
        return [*written]

    monkeypatch.setattr(chunks, "write_bytes", write)
    assert predicted("stopped") == predicted("changed") == ["000000.json"]
    stops.clear()
    every = predicted("whole")
    assert len(every) > 1
    assert predicted("stopped") == every[1:]
    first, second = (tmp_path / name / "original.jsonl" for name in ("whole", "stopped"))
    assert first.read_bytes() == second.read_bytes()
    assert not (tmp_path / "stopped" / "chunks").exists()
    for file in (source / "test").glob("dialogues_*.json"):
        file.write_text(file.read_text().replace("Thank", "Thanx"))
    assert predicted("changed") == every
