"""The example on the card of a T5 tracker runs with transformers alone."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from baselines.t5dst.formats import FORMATS
from baselines.t5dst.generate import greedy
from baselines.t5dst.tracker import T5Tracker


def test_the_card_s_example_says_what_greedy_says(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (_, code) = re.findall(r"```python\n(.*?)```", (trained / "README.md").read_text(), re.DOTALL)
    assert "baselines" not in code
    capsys.readouterr()
    exec(code, {})  # noqa: S102
    said = ast.literal_eval(capsys.readouterr().out.splitlines()[-1])
    tokenizer = AutoTokenizer.from_pretrained(trained)
    inputs = tokenizer(_prompts(code), return_tensors="pt", padding=True)
    mask = inputs["attention_mask"][:, None, None].bool()
    model = AutoModelForSeq2SeqLM.from_pretrained(trained).eval()
    tokens = greedy(model, inputs["input_ids"], mask, 6)
    assert said == tokenizer.batch_decode(tokens, skip_special_tokens=True)


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
