"""Whatever is wrong with what a user gives: one line that says it, exit status 2."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import BartConfig, BartForConditionalGeneration, BertConfig, BertModel

from baselines import predict, publish, train
from baselines.t5dst.tiny import tiny_tokenizer

from ...conftest import Run
from ..conftest import command, write_recipe

Refuse = Callable[..., str]


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refuse:
    """Run a command that must fail; its one line."""

    def run_it(module: Any, *arguments: object) -> str:
        assert command(monkeypatch, module, *arguments) == 2
        message = capsys.readouterr().err
        assert message.count("\n") == 1
        prefix = f"{module.__name__}: error: "
        assert message.startswith(prefix)
        return message.removeprefix(prefix)

    return run_it


@pytest.fixture
def recipe(tmp_path: Path) -> Callable[..., tuple[object, ...]]:
    """Arguments of train with a recipe that differs from the working one."""

    def arguments(**settings: Any) -> tuple[object, ...]:
        path = write_recipe(tmp_path / "recipe.yaml", **settings)
        return ("--config", path, "--output", tmp_path / "run")

    return arguments


Recipe = Callable[..., tuple[object, ...]]


def test_the_guard(refuse: Refuse, recipe: Recipe, tmp_path: Path) -> None:
    """Training on what models are judged on needs --oracle, and leaves nothing behind without."""
    message = refuse(train, *recipe(augment={"schemas": "oracle"}))
    assert message.startswith("augment: oracle has texts of variants that trackers are judged on")
    assert "give --oracle" in message
    assert not (tmp_path / "run").exists()


def test_an_oracle_says_so_everywhere(
    monkeypatch: pytest.MonkeyPatch, recipe: Recipe, tmp_path: Path
) -> None:
    arguments = (*recipe(augment={"schemas": "oracle"}, steps=1), "--oracle")
    assert command(monkeypatch, train, *arguments) == 0
    run = tmp_path / "run"
    assert json.loads((run / "run.json").read_text())["oracle"] is True
    (last,) = (run / "checkpoints").iterdir()
    assert json.loads((last / "state.json").read_text())["training"]["progress"]["oracle"] is True
    for folder in (run, last):
        assert json.loads((folder / "config.json").read_text())["sgdx"]["oracle"] is True
    card = (run / "README.md").read_text()
    assert "- oracle\n" in card
    assert "**Oracle: an upper bound.**" in card
    arguments = ("--model", run, "--config", "v3", "--split", "validation", "--output", run / "p")
    assert command(monkeypatch, predict, *arguments) == 0
    header = (run / "p" / "v3.jsonl").read_text().splitlines()[0]
    assert json.loads(header)["metadata"]["oracle"] is True


def test_an_unknown_augmentation(refuse: Refuse, recipe: Recipe) -> None:
    message = refuse(train, *recipe(), "--augment", "paraphrases")
    assert message.startswith("augment: paraphrases: no such folder, expected one of variants")


def test_an_unknown_format(refuse: Refuse, recipe: Recipe) -> None:
    assert "recipe.yaml: format 't6' is unknown, expected" in refuse(train, *recipe(format="t6"))


def test_no_room_for_the_schema_part(
    refuse: Refuse, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = refuse(train, *recipe(max_input=20))
    assert message.startswith("max_input: 20 tokens leave no room for the schema part '[domain] ")
    whole = recipe(steps=1, evaluate_frames=2)
    assert command(monkeypatch, train, *whole) == 0  # nothing is in its way


def test_not_an_encoder_decoder(refuse: Refuse, recipe: Recipe, tmp_path: Path) -> None:
    tiny = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, vocab_size=9)
    BertModel(tiny).save_pretrained(tmp_path / "bert")
    message = refuse(train, *recipe(model=str(tmp_path / "bert")))
    assert message.endswith("/bert: is a bert model, expected an encoder-decoder\n")


@pytest.mark.parametrize("token", ["pad_token", "eos_token"])
def test_a_tokenizer_without_pad_or_end(
    refuse: Refuse, recipe: Recipe, tmp_path: Path, trained: Path, token: str
) -> None:
    shutil.copytree(trained, tmp_path / "model", ignore=shutil.ignore_patterns("checkpoints"))
    path = tmp_path / "model" / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    del settings[token]
    path.write_text(json.dumps(settings))
    message = refuse(train, *recipe(model=str(tmp_path / "model")))
    assert message.endswith(f"/model: the tokenizer has no {token}, expected one\n")


def test_a_model_that_is_not_there(refuse: Refuse, recipe: Recipe) -> None:
    assert refuse(train, *recipe(model="./no/such")).startswith("./no/such: model cannot be loaded")


def test_weights_in_a_pickle(refuse: Refuse, recipe: Recipe, tmp_path: Path, trained: Path) -> None:
    shutil.copytree(trained, tmp_path / "model", ignore=shutil.ignore_patterns("checkpoints"))
    weights = tmp_path / "model" / "model.safetensors"
    weights.rename(weights.with_name("pytorch_model.bin"))
    assert "safetensors" in refuse(train, *recipe(model=str(tmp_path / "model")))


def test_another_run_s_folder(refuse: Refuse, recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").touch()
    message = refuse(train, *recipe())
    assert "run: holds another run's files, expected an empty folder" in message


def test_a_resume_with_other_settings(
    refuse: Refuse, recipe: Recipe, tmp_path: Path, trained: Path
) -> None:
    shutil.copytree(trained, tmp_path / "run")
    message = refuse(train, *recipe(seed=1), "--resume")
    assert message.endswith("run.json: settings.seed is 0, to resume it cannot be 1\n")


def test_nothing_to_resume(refuse: Refuse, recipe: Recipe) -> None:
    assert "found no run.json, expected a run to resume" in refuse(train, *recipe(), "--resume")


def test_a_logger_that_is_not_installed(
    refuse: Refuse, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    message = refuse(train, *recipe(log_with=["trackio"]))
    assert message == "log_with: trackio is not installed; pip install trackio\n"


def test_a_model_that_does_not_say_its_format(
    refuse: Refuse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any checkpoint can be asked with --format; BART here."""
    tokenizer = tiny_tokenizer(["a cab"], 300)
    tokenizer.save_pretrained(tmp_path / "bart")
    config = BartConfig(
        vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_ffn_dim=16, decoder_ffn_dim=16, encoder_attention_heads=2,
        decoder_attention_heads=2, pad_token_id=0, eos_token_id=1, decoder_start_token_id=1,
        max_position_embeddings=2100,
    )  # fmt: skip
    BartForConditionalGeneration(config).save_pretrained(tmp_path / "bart")
    arguments = ["--model", tmp_path / "bart", "--output", tmp_path / "o", "--config", "original"]
    assert "give --tracker" in refuse(predict, *arguments)
    arguments += ["--tracker", "t5dst"]
    assert "give --format" in refuse(predict, *arguments)
    arguments += ["--format", "d3st", "--max-input", 2048, "--max-target", 4]
    assert command(monkeypatch, predict, *arguments, "--split", "validation") == 0
    assert (tmp_path / "o" / "original.jsonl").exists()


def test_the_hub_out_of_reach(
    refuse: Refuse, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    shutil.copytree(trained, tmp_path / "model")
    message = refuse(publish, "--model", tmp_path / "model", "--push-to-hub", "me/tracker")
    assert message.startswith("me/tracker: cannot be uploaded: ")
    assert "secret" not in message
    assert "run.json: cannot be read: " in refuse(publish, "--model", tmp_path / "nothing")


def test_through_the_real_command(run: Run, tmp_path: Path) -> None:
    done = run("baselines.train", "--config", tmp_path / "none.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"baselines.train: error: {tmp_path / 'none.yaml'}: cannot be ")
