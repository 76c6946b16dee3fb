"""A prefix goes to the Hub and comes back, with the T5 that it names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from baselines import publish

from ...hub import Hub, Repository
from ..conftest import command
from .test_generator import from_the_hub as from_the_hub

COMMIT = "a" * 40


@pytest.mark.slow
def test_a_prefix_is_pushed_and_loaded_in_five_lines(
    from_the_hub: Path, online: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By who has neither: the prefix and the T5 that it names are both downloaded."""
    place = tmp_path / "hub" / "models--me--tiny-t5" / "snapshots" / COMMIT
    base = {file.name: file.read_bytes() for file in place.iterdir()}
    online.repositories["models", "me/tiny-t5"] = Repository(False, [(COMMIT, base)])
    given = ("--model", from_the_hub, "--push-to-hub", "you/prefix")
    assert command(monkeypatch, publish, *given) == 0
    pushed = online.repositories["models", "you/prefix"].files
    assert {"README.md", "config.json", "prefix.safetensors", "run.json"} <= set(pushed)
    assert not {"prefix_networks.safetensors", "model.safetensors", "tokenizer.json"} & set(pushed)
    assert json.loads(pushed["config.json"])["sgdx"]["base"]["name"] == "me/tiny-t5"
    code = re.findall(r"```python\n(.*?)```", pushed["README.md"].decode(), re.DOTALL)[1]
    assert len(code.strip().splitlines()) == 5
    assert "load_generator('you/prefix')" in code

    def said(code: str, **changes: str) -> str:
        done = online.python(tmp_path / "fresh", "-c", code, token=None, **changes)
        assert done.returncode == 0, done.stderr
        return done.stdout

    here = code.replace("'you/prefix'", repr(str(from_the_hub)))
    local = said(here, HF_HUB_CACHE=str(tmp_path / "hub"), HF_HUB_OFFLINE="1")
    assert said(code) == local
    assert local.startswith("['")
