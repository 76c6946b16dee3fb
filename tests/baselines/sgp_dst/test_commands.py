"""A tracker of four models: what of it is published, and what if one is missing."""

from __future__ import annotations

import shutil
from pathlib import Path

from baselines.data.frames import whole_dialogues
from baselines.model_card import published
from baselines.sgp_dst.submodels import PARTS
from sgdx_dataset import frames, load


def test_dev_is_whole_dialogues() -> None:
    rows = frames(load("original", "validation", "sample"))
    some = whole_dialogues(rows, 50)
    ids = set(some["dialogue_id"])
    assert 25 <= len(some) <= 75
    assert some["frame_id"] == [r["frame_id"] for r in rows if r["dialogue_id"] in ids]
    assert whole_dialogues(rows, 10**6)["frame_id"] == rows["frame_id"]


def test_what_is_published(trained: Path, tmp_path: Path) -> None:
    """The four models and what tells of them; nothing of other folders, such as predictions."""
    shutil.copytree(trained, tmp_path / "run")
    (tmp_path / "run" / "test").mkdir()
    (tmp_path / "run" / "test" / "scores.json").write_text("{}")
    files = set(published(tmp_path / "run", PARTS))
    own = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    logs = ("log.jsonl", "modeling.py", "run.json")
    in_parts = {f"{part}/{name}" for part in PARTS for name in (*own, *logs)}
    assert files == in_parts | {"README.md", "log.jsonl", "modeling.py", "run.json"}
