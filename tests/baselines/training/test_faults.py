"""Damaged models and runs, full disks, signals, two runs at once: one line, nothing left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from safetensors.torch import load_file, save_file

from baselines import evaluate, predict, publish, train
from baselines.command_line import run_command
from baselines.model_card import write_card
from baselines.t5dst.settings import T5Settings
from baselines.training.checkpoint import finish_replacing, load_strict, replace_files
from baselines.training.run_folder import locked
from baselines.training.settings import read_recipe
from sgdx_dataset import SgdxError

from ...mutations import broken, is_read, mutations
from ..conftest import RECIPES, command, write_recipe

LEXICAL = ("--tracker", "lexical", "--config", "original", "--source", "sample")
Refused = Callable[..., str]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Run a command that fails; returns the line that it prints on standard error."""

    def run(module: Any, *arguments: object) -> str:
        capsys.readouterr()
        assert command(monkeypatch, module, *arguments) == 2
        message = capsys.readouterr().err
        assert message.count("\n") == 1, message
        assert message.startswith(f"{module.__name__}: error: ")
        return message

    return run


def copied(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained, tmp_path / "model")
    return tmp_path / "model"


def without(tensors: dict[str, torch.Tensor]) -> None:
    for name in list(tensors)[::2]:
        del tensors[name]


def with_another(tensors: dict[str, torch.Tensor]) -> None:
    tensors["extra.weight"] = torch.zeros(2)


def misshapen(tensors: dict[str, torch.Tensor]) -> None:
    tensors["shared.weight"] = tensors["shared.weight"][:, :8].contiguous()


def with_no_numbers(tensors: dict[str, torch.Tensor]) -> None:
    tensors["shared.weight"][3, 1] = float("nan")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (with_no_numbers, "shared.weight has values that are no finite numbers"),
        (without, "model.safetensors lacks weights "),
        (with_another, "model.safetensors has the unknown weights extra.weight, expected"),
        (misshapen, "model.safetensors has misshapen weights "),
    ],
)
def test_weights_are_never_made_up(
    change: Callable[[dict[str, torch.Tensor]], None], expected: str,
    trained: Path, tmp_path: Path, refused: Refused,
) -> None:  # fmt: skip
    file = copied(trained, tmp_path) / "model.safetensors"
    tensors = load_file(file)
    change(tensors)
    save_file(tensors, file, {"format": "pt"})
    message = refused(predict, "--model", file.parent, "--output", tmp_path / "out")
    assert expected in message
    assert not (tmp_path / "out").exists()


def test_a_kill_between_two_files_of_a_model(
    trained: Path, tmp_path: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
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
    message = refused(predict, "--model", model, "--output", tmp_path / "out")
    assert f"{model}: found parts of two models" in message
    finish_replacing(model)  # as a training that goes on does
    assert contents() == new
    assert not list(model.glob(".model*"))


@pytest.mark.parametrize("size", [0, 5, 5000])
def test_a_file_of_weights_that_is_cut(
    size: int, trained: Path, tmp_path: Path, refused: Refused
) -> None:
    file = copied(trained, tmp_path) / "model.safetensors"
    os.truncate(file, size)
    message = refused(predict, "--model", file.parent, "--output", tmp_path / "out")
    assert f"{file.parent}: model cannot be loaded: " in message


def test_a_pretrained_encoder_may_lack_its_pooler_and_have_heads() -> None:
    def load(name: str, **options: Any) -> tuple[torch.nn.Module, dict[str, list[str]]]:
        assert options["trust_remote_code"] is False
        keys = {"missing_keys": ["pooler.dense.bias"], "unexpected_keys": ["cls.bias"]}
        return torch.nn.Linear(1, 1), keys | {"mismatched_keys": []}

    assert load_strict(load, "x", optional="pooler.")
    with pytest.raises(SgdxError, match=r"x: model.safetensors lacks weights pooler.dense.bias, "):
        load_strict(load, "x")


def test_code_of_a_model_is_never_run(
    trained: Path, tmp_path: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
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
        message = refused(predict, "--model", model, "--output", tmp_path / "out")
    os.close(answers[1])
    assert "model cannot be loaded" in message
    assert not (tmp_path / "ran").exists()


def test_a_record_that_is_none(trained: Path, tmp_path: Path, refused: Refused) -> None:
    model = copied(trained, tmp_path)
    (model / "run.json").write_text("{}")
    expected = "run.json: not the record of a training, as baselines.train writes it: "
    assert expected in refused(publish, "--model", model)
    recipe = write_recipe(tmp_path / "r.yaml")
    assert expected in refused(train, "--config", recipe, "--output", model, "--resume")


@pytest.mark.parametrize("content", ["", "{}", '{"training": {}, "optimizer": 1}'])
def test_a_checkpoints_state_that_is_none(
    content: str, trained: Path, tmp_path: Path, refused: Refused
) -> None:
    model = copied(trained, tmp_path)
    (state,) = model.glob("checkpoints/*/state.json")
    state.write_text(content)
    recipe = write_recipe(tmp_path / "r.yaml")
    message = refused(train, "--config", recipe, "--output", model, "--resume")
    assert f"{state}: not the state of a training: " in message


def test_a_log_that_is_cut(trained: Path, tmp_path: Path, refused: Refused) -> None:
    """As a run that was killed may leave it; resuming goes on all the same."""
    model = copied(trained, tmp_path)
    log = model / "log.jsonl"
    log.write_bytes(log.read_bytes()[:-3])
    assert (
        f"{log}:{len(log.read_bytes().splitlines())}: not a line of a training's log: "
        in refused(publish, "--model", model)
    )


FIGURES = {"jga_orig": 0.5, "jga_v1-5": 0.25, "ss_jga": 1.5, "jga_worst": 0.1, "flips": 0.2}
SHOWN = {
    "run.json": {
        "record": {
            "settings": {"tracker": "t5dst", "model": "tiny", "format": "t5dst"},
            "seen": {
                "train": ["original", "corrupt-1"],
                "augment": {"schemas": "corrupt", "ratio": 1.0, "seed": 0},
                "overlaps": 3,
            },
            "data": {"release": "sample", "train": {"frames": 10}, "dev": {"frames": 5}},
            "processes": 1,
        },
        "oracle": False,
        "versions": {"python": "3.11"},
        "evaluation": {"split": "test"},
    },
    "scores.json": {
        "sgdx": {**FIGURES, "seen": FIGURES, "unseen": FIGURES},
        "frames": {"all": 3, "seen": 2, "unseen": 1},
        "signature": "sgdx_metric|version:0",
    },
    "log.jsonl": {"step": 6, "dev_joint_goal_accuracy": 0.5},
}


@pytest.mark.parametrize("name", SHOWN)
def test_every_field_that_a_card_shows(name: str, tmp_path: Path) -> None:
    """Any place of a run's files with another value: shown, or refused in a line."""
    model = tmp_path / "model"
    model.mkdir()
    for file, value in SHOWN.items():
        (model / file).write_text(json.dumps(value))

    def show(data: bytes) -> None:
        (model / name).write_bytes(data)
        write_card(model, "you/model", "")

    @settings(max_examples=60, deadline=None)
    @given(data=mutations(SHOWN[name]))
    def check(data: bytes) -> None:
        is_read(show, data, f"{model}/")  # run.json and scores.json may contradict each other

    assert is_read(show, json.dumps(SHOWN[name]).encode(), "")
    assert "corrupt, ratio 1.0" in (model / "README.md").read_text()
    check()
    texts = broken(SHOWN[name])
    read = [how for how in texts if is_read(show, texts[how], f"{model / name}")]
    assert read == (["nothing"] if name == "log.jsonl" else [])


def test_every_field_of_a_recipe(tmp_path: Path) -> None:
    """JSON is YAML, which has more: a mark of the byte order, words for numbers, comments."""
    recipe = RECIPES["t5dst"] | {"augment": {"schemas": "backtrans", "ratio": 0.5, "seed": 1}}
    path = tmp_path / "recipe.yaml"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        read_recipe(path, T5Settings)

    @settings(max_examples=60, deadline=None)
    @given(data=mutations(recipe) | st.binary(max_size=50))
    def check(data: bytes) -> None:
        is_read(read, data, f"{path}: ")

    assert is_read(read, json.dumps(recipe).encode(), "")
    check()
    texts = broken(recipe)
    assert [how for how in texts if is_read(read, texts[how], f"{path}: ")] == ["byte order mark"]


# Each line stands for nine times what the line before it stands for.
LAUGHS = "a: &a [x]\n" + "".join(f"{b}: &{b} [{9 * f'*{a},'}]\n" for a, b in pairwise("abcdefghij"))

RECIPE = "".join(f"{name}: {value}\n" for name, value in RECIPES["t5dst"].items())
RECIPE = re.sub(r"\nsteps: .*", "\nsteps: 2", RECIPE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("seed: 1\nseed: 2\n", "found 'seed' twice, expected each setting once"),
        ("augment: {seed: 1, schemas: x, seed: 2}\n", "found 'seed' twice, expected each"),
        (LAUGHS, "missing required field `tracker`"),
        (RECIPE.replace("steps: 2", "steps: 99999999999999999999999"), "r.yaml: "),
        ("tracker: 5", "r.yaml: Expected `str`, got `int` - at `$.tracker`"),
        ("[" * 100_000 + "]" * 100_000, "found over 20 lists or mappings in each other"),
        ("a: &a [*a]\n", "r.yaml: "),
        ("!!python/object/apply:os.system ['touch ran']\n", "could not determine a constructor"),
    ],
)  # fmt: skip
def test_recipes_that_attack(text: str, expected: str, tmp_path: Path, refused: Refused) -> None:
    recipe = tmp_path / "r.yaml"
    recipe.write_text(text)
    message = refused(train, "--config", recipe, "--output", tmp_path / "run")
    assert expected in message
    assert [path.name for path in tmp_path.iterdir()] == ["r.yaml"]


def test_options_out_of_range(trained: Path, tmp_path: Path, refused: Refused) -> None:
    recipe = write_recipe(tmp_path / "r.yaml")
    message = refused(train, "--config", recipe, "--output", tmp_path / "run", "--seed", -1)
    assert message.endswith("--seed -1: expected 0 to 4294967295\n")
    some = ("--model", trained, "--output", tmp_path / "out")
    assert "--chunk-size: Expected `int` >= 1" in refused(predict, *some, "--chunk-size", 0)
    message = refused(predict, *LEXICAL, "--output", tmp_path / "out", "--precision", "bf16")
    assert "--precision bf16: lexical is not trained" in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", ["file/x", "n" * 300])
@pytest.mark.parametrize("module", [predict, evaluate, train])
def test_outputs_that_cannot_be(module: Any, place: str, tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "file").touch()
    recipe = write_recipe(tmp_path / "r.yaml")
    arguments = ("--config", recipe) if module is train else LEXICAL
    message = refused(module, *arguments, "--output", tmp_path / place)
    assert any(said in message for said in ("Not a directory", "File name too long"))


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let this process write no longer files, as on a disk that is full."""
    import resource  # which Windows lacks

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.posix
def test_a_full_disk(tmp_path: Path, refused: Refused) -> None:
    refused(predict, *LEXICAL, "--output", tmp_path / "no", "--split", "none")  # fills the cache
    with files_of_at_most(3000):
        message = refused(predict, *LEXICAL, "--output", tmp_path / "out")
    assert "File too large" in message
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []
    recipe = write_recipe(tmp_path / "r.yaml")
    with files_of_at_most(100_000):
        message = refused(train, "--config", recipe, "--output", tmp_path / "run")
    assert "cannot be written: " in message
    assert not list((tmp_path / "run").rglob("*.incomplete"))


@pytest.mark.parametrize("module", [predict, evaluate, train])
def test_a_second_run_in_a_folder_is_refused(module: Any, tmp_path: Path, refused: Refused) -> None:
    recipe = write_recipe(tmp_path / "r.yaml")
    arguments = ("--config", recipe) if module is train else LEXICAL
    place = tmp_path / "run" / ("predictions" if module is evaluate else "")
    with locked(place):
        message = refused(module, *arguments, "--output", tmp_path / "run")
        assert f"{place}: another run is writing here, expected a folder of its own" in message
        assert [path.name for path in place.iterdir()] == [".lock"]
    assert not (tmp_path / "run").exists()


@pytest.mark.posix
@pytest.mark.parametrize(
    ("number", "status", "line"),
    [(signal.SIGTERM, 143, "x: terminated\n"), (signal.SIGINT, 130, "x: interrupted\n")],
)
def test_signals_end_a_command_in_a_line(
    number: signal.Signals, status: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    assert run_command("x", lambda: signal.raise_signal(number)) == status
    assert capsys.readouterr().err == line
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before
