"""The T5 tracker: batches, shuffling, lengths, its card, and the models that it refuses."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from transformers import BertConfig, BertModel

from baselines import train
from baselines.predicting import predict as track
from baselines.t5dst import system as tracker_module
from baselines.t5dst.model import tiny_t5, tiny_tokenizer
from baselines.t5dst.settings import Seen
from baselines.t5dst.system import T5Tracker
from sgdx_dataset import frames, load

from ..conftest import Recipe, Refuse


def test_shuffled_prediction_reads_its_answers_by_the_order_that_it_showed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tracker that always answers with the first option sets other values for another seed."""
    rows = frames(load("v2", "test", "sample")).select(range(30))
    tokenizer = tiny_tokenizer(rows["utterance"], 400)
    seen = Seen(tracker="t5dst", format="d3st", max_input=512, max_target=8)
    first = f"[states] {' '.join(f'{n}={n}a' for n in range(30))} [intents] [req_slots]"
    monkeypatch.setattr(tracker_module, "texts_of", lambda _, tokens: [first] * len(tokens))
    monkeypatch.setattr(tracker_module, "generate", lambda _, prompts, *__: prompts["input_ids"])
    found = {}
    for seed in (None, 1, 2):
        tracker = T5Tracker.completed(tiny_t5(len(tokenizer)).eval(), tokenizer, seen, shuffle=seed)
        assert tracker.describe()["shuffle"] == seed
        found[seed] = track(tracker, rows).rows
    slots = {row["frame_id"]: row["schema"]["slots"] for row in rows}
    for seed, predicted in found.items():
        given = [
            (value["values"][0], slot["possible_values"])
            for row in predicted
            for value in row["slot_values"]
            for slot in slots[row["frame_id"]]
            if slot["name"] == value["slot"] and slot["possible_values"]
        ]
        assert given and all(value in options for value, options in given)
        assert all(value == options[0] for value, options in given) == (seed is None)
    assert found[1] != found[2]


@pytest.mark.parametrize("fact", ["bert", "pad_token", "eos_token"])
def test_models_that_cannot_be_trained(
    fact: str, refuse: Refuse, recipe: Recipe, tmp_path: Path
) -> None:
    """An encoder alone, and tokenizers that lack a token."""
    model = tmp_path / "model"
    small: dict[str, Any] = {
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "vocab_size": 9,
    }
    made: Any = BertModel(BertConfig(**small)) if fact == "bert" else tiny_t5(300)
    made.save_pretrained(model)
    tiny_tokenizer(["a cab"], 300).save_pretrained(model)
    settings = json.loads((model / "tokenizer_config.json").read_text())
    settings.pop(fact, None)
    (model / "tokenizer_config.json").write_text(json.dumps(settings))
    message = refuse(train, *recipe(model=str(model)))
    assert message.startswith(f"{model}: ") and fact in message
    assert not (tmp_path / "run").exists()


def test_the_card_s_example_says_what_the_tracker_says(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (_, code) = re.findall(r"```python\n(.*?)```", (trained / "README.md").read_text(), re.DOTALL)
    assert "baselines" not in code
    capsys.readouterr()
    exec(code, {})  # noqa: S102
    said = ast.literal_eval(capsys.readouterr().out.splitlines()[-1])
    assigned = [node for node in ast.parse(code).body if isinstance(node, ast.Assign)]
    (prompts,) = (a.value for a in assigned if ast.unparse(a.targets[0]) == "prompts")
    assert len(said) == len(ast.literal_eval(prompts))
