"""Predictions: the same from one process, two, or a killed one; never from the gold state."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertModel

from baselines import evaluate, predict

from ..conftest import Run
from .conftest import LAUNCH, Refuse, command, train_once

LEXICAL = ("--tracker", "lexical", "--source", "sample")
SMALL = ("--config", "original", "v5", "--chunk-size", 10, "--batch-size", 5)


@pytest.fixture(scope="module")
def predicted(trained: Path, three: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Predictions of one process for three dialogues, original and v5."""
    folder = tmp_path_factory.mktemp("predicted")
    arguments = ("--model", trained, "--dialogues", three, "--output", folder, *SMALL)
    with pytest.MonkeyPatch.context() as patch:
        assert command(patch, predict, *arguments) == 0
    return folder


def test_a_tiny_model_is_asked_on_one_thread(
    trained: Path, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless ``OMP_NUM_THREADS`` says otherwise, as on a busy machine its threads wait for long."""
    arguments = ("--model", trained, "--dialogues", three, "--config", "v5", "--output")
    try:
        torch.set_num_threads(2)
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        assert command(monkeypatch, predict, *arguments, tmp_path / "two") == 0
        assert torch.get_num_threads() == 2
        monkeypatch.delenv("OMP_NUM_THREADS")
        assert command(monkeypatch, predict, *arguments, tmp_path / "one") == 0
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(1)


@pytest.mark.slow
def test_two_processes_predict_what_one_does(
    predicted: Path, trained: Path, three: Path, run: Run, tmp_path: Path
) -> None:
    done = run(
        *LAUNCH, "baselines.predict", "--model", trained, "--dialogues", three,
        "--output", "two", *SMALL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("original.jsonl", "v5.jsonl"):
        assert (tmp_path / "two" / name).read_bytes() == (predicted / name).read_bytes()


WRONG: dict[str, tuple[Any, tuple[object, ...], str]] = {
    "nothing named": (predict, (), "--model nor --tracker"),
    "no such tracker": (predict, ("--tracker", "simple"), "'simple'"),
    "a tracker that is trained": (evaluate, ("--tracker", "sgp_dst"), "--tracker sgp_dst: "),
    "out of range": (predict, ("--model", "{trained}", "--batch-size", 0), "--batch-size"),
    "no chunks": (predict, ("--model", "{trained}", "--chunk-size", 0), "--chunk-size"),
    "of another kind": (evaluate, ("--model", "{trained}", "--shuffle", "x"), "--shuffle"),
    "no precision to choose": (predict, (*LEXICAL, "--precision", "bf16"), "--precision bf16: "),
    "no path": (predict, (*LEXICAL, "--variant", "mine"), "--variant mine: expected NAME=PATH"),
    "no such model": (predict, ("--model", "nowhere"), "nowhere: "),
    "no such wording": (predict, ("--model", "{trained}", "--config", "v9"), "v9"),
    "no such split": (predict, ("--model", "{trained}", "--split", "exam"), "exam"),
    "no model of the project": (predict, ("--model", "{bert}"), "run.json or config.json"),
    "another tracker's model": (
        predict, ("--model", "{bert}", "--tracker", "sgd_baseline"), "bert model",
    ),
    "another run's folder": (evaluate, (*LEXICAL, "--output", "{bert}/../other"), "run.json: "),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_line(
    name: str, trained: Path, tmp_path: Path, refuse: Refuse
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.json").write_text("[]")
    tiny = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, vocab_size=9)
    BertModel(tiny).save_pretrained(tmp_path / "bert")
    module, words, named = WRONG[name]
    arguments = [str(word).format(trained=trained, bert=tmp_path / "bert") for word in words]
    assert named in refuse(module, "--output", tmp_path / "o", *arguments)
    assert not (tmp_path / "o").exists()


def test_a_missing_sub_model_is_named(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, refuse: Refuse
) -> None:
    whole, part = train_once(tmp_path_factory, "sgp_dst"), tmp_path / "copy"
    shutil.copytree(whole, part, ignore=shutil.ignore_patterns("checkpoints", "cross"))
    assert f"{part / 'cross'}: " in refuse(predict, "--model", part, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()
