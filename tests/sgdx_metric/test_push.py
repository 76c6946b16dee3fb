"""The metrics pushed to a stand-in for the Hub as Spaces, and loaded from there by their names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from huggingface_hub import RepoCard

from sgdx_metric.__main__ import main

from ..conftest import EVALUATE
from ..hub import Hub

USE = """
metric = evaluate.load("you/sgdx_metric")
state = {"active_intent": "SearchHotel", "requested_slots": []}
rome = [{"slot": "town", "values": ["Rome"]}]
key = {"frame_id": "1_00000/0/Hotels_1", "variant": "original", **state}
slots = [{"name": "town", "is_categorical": False}]
reference = {**key, "service": "Hotels_1", "seen": True, "schema_slots": slots, "slot_values": rome}
result = metric.compute(predictions=[{**key, "slot_values": rome}], references=[reference])
generated = evaluate.load("you/sgsacc_metric", revision="v0.1.0")
print(json.dumps([result["jga_orig"], type(generated).__name__, list(generated.features)]))
"""
NAMES = ["sgdx_metric", "sgsacc_metric"]


def test_metrics_are_loaded_from_the_hub(
    online: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is one tagged commit that has what a Space needs."""
    for name in NAMES:
        assert main(["push", f"you/{name}"]) == 0
        assert capsys.readouterr().out == f"{online.url}/spaces/you/{name}\n"
        space = online.repositories["spaces", f"you/{name}"]
        assert len(space.commits) == 2
        assert space.tags == {"v0.1.0": space.commits[-1][0]}
        assert {f"{name}.py", "README.md", "requirements.txt"} <= space.files.keys()
        data = RepoCard(space.files["README.md"].decode()).data
        assert data["sdk"] == "gradio" and data["app_file"] in space.files
    words = ("-c", EVALUATE + USE)
    done = online.python(tmp_path / "home", *words, token=None, HF_EVALUATE_OFFLINE="0")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == [1.0, "SgsaccMetric", ["predictions", "references"]]
    asked = {path for _, path, _ in online.requests}
    assert "/spaces/you/sgdx_metric/resolve/main/sgdx_metric.py" in asked


def test_a_space_of_another_name_is_refused(
    online: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["push", "you/my_metric"]) == 2
    said = capsys.readouterr().err
    assert "you/my_metric" in said and said.count("\n") == 1
    assert online.requests == []
