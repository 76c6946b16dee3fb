"""Options and commands that every task has, and options that only some have."""

import json
from pathlib import Path

import pytest

from baselines.copies import copy_system, generate
from sgdx_eval.requested import DEFAULT_CONFIGS, RequestedData

from ..conftest import Run

SCORE = ("sgdx_metric", "score", "--source", "sample", "--predictions")


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Responses derived from the actions of the sample's test turns, under all six variants."""
    folder = tmp_path_factory.mktemp("turns")
    generate(copy_system("derived"), RequestedData("sample", "test"), DEFAULT_CONFIGS, folder)
    return folder


@pytest.fixture
def states(tmp_path: Path) -> Path:
    row = {"frame_id": "1_00000/0/Cabs_1", "variant": "v1", "active_intent": "NONE"}
    (tmp_path / "v1.jsonl").write_text(json.dumps(row | {"requested_slots": [], "slot_values": []}))
    return tmp_path / "v1.jsonl"


def test_services_of_turns(turns: Path, command: Run) -> None:
    for name, services in (("all", ()), ("cabs", ("--service", "Cabs_1"))):
        done = command(*SCORE, turns, "--output", f"{name}.json", *services)
        assert done.returncode == 0, done.stderr
    every, cabs = (json.loads(Path(f"{name}.json").read_text()) for name in ("all", "cabs"))
    assert (cabs["counts"]["turns"]["all"], every["counts"]["turns"]["all"]) == (48, 265)
    assert "|services:Cabs_1|turns:48@" in cabs["signature"]
    for variant, groups in cabs["variants"].items():
        assert groups["#ALL_SERVICES"] == every["variants"][variant]["Cabs_1"]
    done = command(*SCORE, turns, "--service", "Cabs_2")
    assert (done.returncode, done.stdout) == (2, "") and "Cabs_2" in done.stderr


@pytest.mark.parametrize(
    ("predictions", "option"),
    [
        ("turns", "--system-acts no"),
        ("turns", "--no-fuzzy-match"),
        ("turns", "--zero-mean drop"),
        ("turns", "--joint-acc-across-turn"),
        ("states", "--nli lexical"),
        ("states", "--seed 1"),
        ("states", "--no-validation"),
    ],
)
def test_a_task_has_no_options_of_others(
    turns: Path, states: Path, command: Run, predictions: str, option: str
) -> None:
    path = turns if predictions == "turns" else f"v1={states}"
    done = command(*SCORE, path, *option.split(), "--output", "s.json")
    assert (done.returncode, done.stdout) == (2, "") and option.split()[0] in done.stderr
    assert not Path("s.json").exists()


def test_turns_that_flip_or_get_worse(turns: Path, command: Run) -> None:
    words = ("sgdx_metric", "explain", "--source", "sample", "--predictions", turns)
    done = command(*words, "--nli", "lexical", "--flips")
    assert done.returncode == 0, done.stderr
    assert "15 of 265 turns (5.66 %) flip; 234 are" in done.stdout and "2_00009/17" in done.stdout
    done = command(*words, "--nli", "lexical", "--changed", "original", "v5")
    assert done.returncode == 0, done.stderr
    assert ["2_00009/17", "100.00", "0.00"] in [line.split() for line in done.stdout.splitlines()]
    done = command(*words, "--changed", "original", "mine")
    assert (done.returncode, done.stdout) == (2, "") and "mine" in done.stderr
