"""What a run publishes: anyone can load it, its card's example runs, its table is the scores."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BartConfig,
    BartForConditionalGeneration,
)

from baselines import publish, train
from baselines.t5dst.formats import FORMATS
from baselines.t5dst.generate import greedy
from baselines.t5dst.inputs import special_tokens
from baselines.t5dst.tiny import tiny_tokenizer
from baselines.t5dst.tracker import T5Tracker

from ..conftest import command, write_recipe


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained, tmp_path / "model")
    return tmp_path / "model"


def test_the_card_s_example_runs_and_says_what_greedy_says(model: Path) -> None:
    command_line = ("--model", model)
    with pytest.MonkeyPatch.context() as patch:
        assert command(patch, publish, *command_line) == 0
    (_, code) = re.findall(r"```python\n(.*?)```", (model / "README.md").read_text(), re.DOTALL)
    environment = {**os.environ, "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    tokenizer = AutoTokenizer.from_pretrained(model)
    inputs = tokenizer(_prompts(code), return_tensors="pt", padding=True)
    mask = inputs["attention_mask"][:, None, None].bool()
    tokens = greedy(
        AutoModelForSeq2SeqLM.from_pretrained(model).eval(), inputs["input_ids"], mask, 6
    )
    expected = tokenizer.batch_decode(tokens, skip_special_tokens=True)
    assert ast.literal_eval(done.stdout) == expected


def _prompts(code: str) -> list[str]:
    assigned = [node for node in ast.parse(code).body if isinstance(node, ast.Assign)]
    (prompts,) = (a.value for a in assigned if ast.unparse(a.targets[0]) == "prompts")
    found: list[str] = ast.literal_eval(prompts)
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_an_example_of_ten_lines(name: str) -> None:
    code = T5Tracker.example("me/tracker", {"format": name, "max_target": 16})
    prompts = _prompts(code)
    assert len(prompts) == (1 if name.startswith("d3st") else 2)
    assert len(code.strip().splitlines()) - len(prompts) <= 10


def test_the_card_s_figures_are_the_scores(model: Path) -> None:
    figures = {"jga_orig": 0.5, "jga_v1-5": 0.25, "relative_difference": -0.5, "ss_jga": None}
    scores = {
        "sgdx": {**figures, "seen": figures, "unseen": {**figures, "jga_orig": 0.125}},
        "frames": {"all": 8, "seen": 5, "unseen": 3},
        "signature": "sgdx_metric|variants:original",
    }
    (model / "scores.json").write_text(json.dumps(scores))
    publish.publish(model, None)
    card = (model / "README.md").read_text()
    assert "| services | frames | JGA_orig | JGA_v1-5 | SS_JGA |" in card
    assert "| all | 8 | 50.00 | 25.00 | - |\n" in card
    assert "| unseen | 3 | 12.50 | 25.00 | - |\n" in card
    assert "`sgdx_metric|variants:original`" in card
    assert "- schema variants trained on: original\n" in card
    assert "license: apache-2.0\n" in card
    assert "optimizer: adafactor\n" in card
    assert "racle" not in card.replace("oracle: no", "")


def test_bart_trains_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer(["[USER] A cab, please. [SYSTEM] Where to?"], 300)
    tokenizer.save_pretrained(tmp_path / "bart")
    config = BartConfig(
        vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_ffn_dim=16, decoder_ffn_dim=16, encoder_attention_heads=2,
        decoder_attention_heads=2, pad_token_id=0, eos_token_id=1, decoder_start_token_id=1,
        forced_eos_token_id=1, max_position_embeddings=800,
    )  # fmt: skip
    BartForConditionalGeneration(config).save_pretrained(tmp_path / "bart")
    recipe = write_recipe(
        tmp_path / "r.yaml", model=str(tmp_path / "bart"), max_input=768, format="d3st", steps=8,
        learning_rate=0.05,
    )  # fmt: skip
    run = tmp_path / "run"
    assert command(monkeypatch, train, "--config", recipe, "--output", run) == 0
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in lines if "loss" in line]
    assert losses[-1] < losses[0]
    model = AutoModelForSeq2SeqLM.from_pretrained(run)
    assert model.generation_config.forced_eos_token_id is None
    assert torch.equal(model.lm_head.weight, model.get_input_embeddings().weight)


def test_special_tokens() -> None:
    assert special_tokens(tiny_tokenizer(["a"], 300)) == ([], [1])
