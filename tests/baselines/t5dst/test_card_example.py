"""The example on the card of a T5 tracker runs with transformers alone."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
)

from baselines import publish
from baselines.t5dst.formats import FORMATS
from baselines.t5dst.generate import greedy
from baselines.t5dst.tracker import T5Tracker

from ..conftest import command


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
