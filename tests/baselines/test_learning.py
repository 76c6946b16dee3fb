"""Each system learns four dialogues by heart: what it reads, learns, keeps and says fits together.

The training is the real one, of a small model without dropout, and dev has the same dialogues.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from transformers import T5Config, T5ForConditionalGeneration, set_seed

from baselines import train
from baselines.encoders import corpus_texts, tiny_encoder
from baselines.t5dst.model import tiny_tokenizer
from sgdx_dataset import frames, load
from sgdx_dataset.configs import VARIANTS
from sgdx_dataset.release import SAMPLE

from .conftest import command, write_recipe

ONE_SERVICE = ("1_00006", "1_00021", "1_00031", "1_00034")
TWO_SERVICES = ("1_00006", "1_00021", "1_00031", "2_00006")  # values go from one to the other
PART = {"epochs": 900, "warmup": 0.1, "max_tokens": 144}
NEVER = 10**6
T5: dict[str, Any] = {"optimizer": "adamw", "batch_size": 32, "schedule": "constant"}


class ByHeart(NamedTuple):
    """What is trained, and what is expected of it."""

    dialogues: tuple[str, ...]
    changes: dict[str, Any]  # of the recipe
    highest: list[float]  # the mean of each model's last two losses, of sgp_dst in order of names
    lowest: float  # the score on dev


SYSTEMS = {
    "onepass": ByHeart(
        TWO_SERVICES, {"dropout": 0.0, "epochs": 900, "steps": 80, "batch_size": 8}, [0.1], 1.0
    ),
    "sgd_baseline": ByHeart(
        TWO_SERVICES,
        {"dropout": 0.0, "epochs": 900, "steps": 120, "batch_size": 32, "learning_rate": 0.01},
        [0.05], 0.6,  # the highest that it can have: it reads neither history nor other services
    ),
    "sgp_dst": ByHeart(
        TWO_SERVICES,
        {"steps": None, "batch_size": 32, "learning_rate": 0.002, "parts": {
            "intent": PART | {"steps": 60}, "combine": PART | {"steps": 80},
            "copy": PART | {"steps": 80}, "cross": PART | {"steps": 40},
        }},
        [5.0, 0.2, 0.2, 0.3], 0.1,  # so few steps of random weights find few spans
    ),
    "t5dst": ByHeart(
        ONE_SERVICE,
        T5 | {"max_input": 320, "max_target": 12, "steps": 100, "learning_rate": 0.01}, [0.2], 0.5,
    ),
    "t2g2": ByHeart(
        ONE_SERVICE,
        T5 | {"train_dialogues": None, "max_target": 48, "steps": 80, "learning_rate": 0.02},
        [0.1], 0.7,
    ),
}  # fmt: skip


def source_of(ids: tuple[str, ...], folder: Path) -> Path:
    """A source whose train and dev split have the same few dialogues."""
    shutil.copytree(SAMPLE, folder)
    files = sorted((folder / "train").glob("dialogues_*.json"))
    dialogues = [dialogue for file in files for dialogue in json.loads(file.read_text())]
    for file in files:
        file.unlink()
    chosen = [dialogue for dialogue in dialogues if dialogue["dialogue_id"] in ids]
    (folder / "train" / "dialogues_001.json").write_text(json.dumps(chosen))
    for of_variant in (folder, *(folder / "sgd_x" / "data" / variant for variant in VARIANTS)):
        shutil.rmtree(of_variant / "dev")
        shutil.copytree(of_variant / "train", of_variant / "dev")
    return folder


def save_model(kind: str, source: Path, folder: Path) -> Path:
    """Save an encoder or a T5 of random weights that has no dropout."""
    texts = list(corpus_texts(frames(load("original", "train", str(source)))))
    model: Any
    if kind == "bert":
        model, tokenizer = tiny_encoder(texts, hidden=64)
        model.config.hidden_dropout_prob = model.config.attention_probs_dropout_prob = 0.0
    else:
        tokenizer = tiny_tokenizer(texts, 600)
        config = T5Config(
            vocab_size=600, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4,
            pad_token_id=0, eos_token_id=1, dropout_rate=0.0,
        )  # fmt: skip
        config.decoder_start_token_id = 0
        set_seed(0)
        model = T5ForConditionalGeneration(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


# Those that take as long as all others: of four models, and of the most steps of a generator.
SLOW = ("sgp_dst", "t5dst")


@pytest.mark.parametrize(
    "tracker",
    [pytest.param(of, marks=[pytest.mark.slow] if of in SLOW else []) for of in SYSTEMS],
)
def test_four_dialogues_are_learnt_by_heart(
    tracker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = SYSTEMS[tracker]
    source = source_of(system.dialogues, tmp_path / "source")
    kind = "t5" if tracker in ("t5dst", "t2g2") else "bert"
    common = {
        "model": str(save_model(kind, source, tmp_path / "model")), "learning_rate": 0.003,
        "schedule": "linear", "token_budget": 32_000, "log_every": 10, "save_every": NEVER,
        "evaluate_every": NEVER, "evaluate_frames": 99,
    }  # fmt: skip
    recipe = write_recipe(tmp_path / "r.yaml", tracker, **common | system.changes)
    run = tmp_path / "run"
    words = ("--recipe", recipe, "--source", source, "--output", run)
    assert command(monkeypatch, train, *words) == 0
    logs = [list(map(json.loads, path.open())) for path in sorted(run.rglob("log.jsonl"))]
    losses = [[line["loss"] for line in log if "loss" in line] for log in logs]
    learnt = [of_model[-2:] for of_model in losses if of_model]
    for last, highest in zip(learnt, system.highest, strict=True):
        assert sum(last) / 2 <= highest
    (score,) = (value for name, value in logs[-1][-1].items() if name.startswith("dev_"))
    assert score >= system.lowest
