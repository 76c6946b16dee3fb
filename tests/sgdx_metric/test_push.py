"""The metrics pushed to a stand-in for the Hub as Spaces, and loaded from there by their names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import RepoCard

from ..conftest import EVALUATE
from ..hub import TOKEN, Hub, serve

PUSH = """
import runpy
name = sys.argv[1]
sys.argv[1:] = ["push", sys.argv[2]]
runpy.run_module(name, run_name="__main__")
"""
USE = """
metric = evaluate.load(sys.argv[1], *sys.argv[2:3])
state = {"active_intent": "SearchHotel", "requested_slots": []}
rome = [{"slot": "town", "values": ["Rome"]}]
key = {"frame_id": "1_00000/0/Hotels_1", "variant": "original", **state}
slots = [{"name": "town", "is_categorical": False}]
reference = {**key, "service": "Hotels_1", "seen": True, "schema_slots": slots, "slot_values": rome}
result = metric.compute(predictions=[{**key, "slot_values": rome}], references=[reference])
print(json.dumps(result["jga_orig"]))
"""

GENERATED = """
metric = evaluate.load(sys.argv[1], *sys.argv[2:3])
print(json.dumps([type(metric).__name__, list(metric.features)]))
"""
NAMES = ["sgdx_metric", "sgsacc_metric"]


def command(
    hub: Hub, home: Path, script: str, *arguments: str, token: str | None = TOKEN
) -> tuple[int, str, str]:
    words = ("-c", EVALUATE + script, *arguments)
    done = hub.python(home, *words, token=token, HF_EVALUATE_OFFLINE="0")
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with serve() as hub:
        for name in NAMES:
            home = tmp_path_factory.mktemp("home")
            status, out, err = command(hub, home, PUSH, name, f"you/{name}")
            assert (status, out) == (0, f"{hub.url}/spaces/you/{name}\n"), err
        yield hub


@pytest.mark.parametrize(
    ("name", "script", "result"),
    [
        ("sgdx_metric", USE, 1.0),
        ("sgsacc_metric", GENERATED, ["SgsaccMetric", ["predictions", "references"]]),
    ],
)
def test_a_metric_is_loaded_from_the_hub(
    pushed: Hub, tmp_path: Path, name: str, script: str, result: object
) -> None:
    status, out, err = command(pushed, tmp_path, script, f"you/{name}", token=None)
    assert status == 0, err
    assert json.loads(out.splitlines()[-1]) == result
    asked = [path for _, path, _ in pushed.requests if path.endswith(f"/{name}.py")]
    assert f"/spaces/you/{name}/resolve/main/{name}.py" in asked


@pytest.mark.parametrize("name", NAMES)
def test_a_space_has_what_it_needs_in_one_tagged_commit(pushed: Hub, name: str) -> None:
    space = pushed.repositories["spaces", f"you/{name}"]
    assert len(space.commits) == 2
    assert space.tags == {"v0.1.0": space.commits[-1][0]}
    assert {f"{name}.py", "README.md", "requirements.txt"} <= space.files.keys()
    data = RepoCard(space.files["README.md"].decode()).data
    assert data["sdk"] == "gradio"
    assert data["app_file"] in space.files


def test_a_space_of_another_name_is_refused(tmp_path: Path) -> None:
    with serve() as hub:
        status, _, err = command(hub, tmp_path, PUSH, "sgdx_metric", "you/my_metric")
        assert status == 2
        assert "you/my_metric" in err and err.count("\n") == 1
        assert hub.requests == []
