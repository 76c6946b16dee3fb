"""Damaged models and runs, full disks, signals, two runs at once: one line, nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from baselines import evaluate, predict, publish, train
from baselines.checkpoint import finish_replacing, replace_files
from sgdx_dataset.io.files import locked

from ..conftest import Refuse, write_recipe

LEXICAL = ("--tracker", "lexical", "--variant", "original", "--source", "sample")


def copied(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained, tmp_path / "model")
    return tmp_path / "model"


WEIGHTS: dict[str, tuple[Any, str]] = {
    "no numbers": (lambda t: t | {"shared.weight": t["shared.weight"] / 0}, "shared.weight"),
    "too few": (lambda t: {name: t[name] for name in [*t][1::2]}, "model.safetensors"),
    "too many": (lambda t: t | {"extra.weight": torch.zeros(2)}, "extra.weight"),
    "misshapen": (
        lambda t: t | {"shared.weight": t["shared.weight"][:, :8].contiguous()},
        "model.safetensors",
    ),
    "cut off": (5000, ""),
}


@pytest.mark.parametrize("fault", WEIGHTS)
def test_weights_are_never_made_up(
    fault: str, trained: Path, tmp_path: Path, refuse: Refuse
) -> None:
    file = copied(trained, tmp_path) / "model.safetensors"
    change, named = WEIGHTS[fault]
    if isinstance(change, int):
        os.truncate(file, change)
    else:
        save_file(change(load_file(file)), file, {"format": "pt"})
    message = refuse(predict, "--model", file.parent, "--output", tmp_path / "out")
    assert message.startswith(str(file.parent)) and named in message
    assert not (tmp_path / "out").exists()


def test_a_kill_between_two_files_of_a_model(
    trained: Path, tmp_path: Path, refuse: Refuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The configuration is the new model's then, and the weights are the old one's."""
    model = copied(trained, tmp_path)
    old = {name: (model / name).read_bytes() for name in ("config.json", "model.safetensors")}
    new = {name: content.replace(b"0", b"1") for name, content in old.items()}

    def write(folder: Path) -> None:
        for name, content in new.items():
            (folder / name).write_bytes(content)

    def contents() -> dict[str, bytes]:
        return {name: (model / name).read_bytes() for name in old}

    replace = Path.replace

    def killed(file: Path, target: Path) -> Path:
        if target == model / "model.safetensors":
            raise KeyboardInterrupt
        return replace(file, target)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "replace", killed)
        replace_files(model, write)
    assert contents() == new | {"model.safetensors": old["model.safetensors"]}
    message = refuse(predict, "--model", model, "--output", tmp_path / "out")
    assert message.startswith(f"{model}: ")
    finish_replacing(model)  # as a training that goes on does
    assert contents() == new
    assert not list(model.glob(".model*"))


def test_code_of_a_model_is_never_run(
    trained: Path, tmp_path: Path, refuse: Refuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if someone says yes."""
    model = copied(trained, tmp_path)
    config = json.loads((model / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Config"}}
    (model / "config.json").write_text(json.dumps(config))
    (model / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Config: pass\n")
    answers = os.pipe()
    os.write(answers[1], b"y\n" * 9)
    with os.fdopen(answers[0]) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        refuse(predict, "--model", model, "--output", tmp_path / "out")
    os.close(answers[1])
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("file", "content", "module"),
    [
        ("run.json", "{", publish),
        ("run.json", "{", train),
        ("scores.json", '{"sgdx": 1}', publish),
        ("log.jsonl", '{"step": 4}\n{"step": 6', publish),  # as a run that was killed leaves it
        ("checkpoints/step-00000012/state.json", "", train),
    ],
)
def test_a_file_of_a_run_that_is_damaged_is_named(
    file: str, content: str, module: Any, trained: Path, tmp_path: Path, refuse: Refuse
) -> None:
    model = copied(trained, tmp_path)
    (model / file).write_text(content)
    recipe = write_recipe(tmp_path / "r.yaml")
    words = ("--recipe", recipe, "--resume", "--output") if module is train else ("--model",)
    assert refuse(module, *words, model).startswith(f"{model / file}:")


@pytest.mark.posix
def test_a_full_disk(tmp_path: Path, refuse: Refuse) -> None:
    """This process can write no longer files than that for a while."""
    import resource  # which Windows lacks

    refuse(predict, *LEXICAL, "--output", tmp_path / "no", "--split", "none")  # fills the cache
    recipe = write_recipe(tmp_path / "r.yaml")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size, module, words in (
        (3000, predict, LEXICAL),
        (100_000, train, ("--recipe", recipe)),
    ):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            refuse(module, *words, "--output", tmp_path / "out")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert not list((tmp_path / "out").rglob("*.incomplete"))
        assert not list((tmp_path / "out").rglob("original.jsonl"))


@pytest.mark.parametrize("module", [predict, evaluate, train])
def test_a_folder_that_is_taken(module: Any, tmp_path: Path, refuse: Refuse) -> None:
    """By a file, or by another run, which goes on."""
    recipe = write_recipe(tmp_path / "r.yaml")
    arguments = ("--recipe", recipe) if module is train else LEXICAL
    assert "r.yaml/x" in refuse(module, *arguments, "--output", recipe / "x")
    place = tmp_path / "run" / ("predictions" if module is evaluate else "")
    with locked(place):
        message = refuse(module, *arguments, "--output", tmp_path / "run")
        assert message.startswith(f"{place}: ")
        assert [path.name for path in place.iterdir()] == [".lock"]
    assert not (tmp_path / "run").exists()
