"""Pushing the dataset to a stand-in for the Hub, and loading it from there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import DatasetCard

from sgdx_dataset import load

from ..conftest import Run
from ..hub import TOKEN, Hub, serve
from .conftest import WITHOUT_US

LOAD = """
from datasets import get_dataset_config_names, load_dataset

out = {"configs": get_dataset_config_names("you/sgdx")}
rows = load_dataset("you/sgdx", "v3", split="test")
stream = load_dataset("you/sgdx", "v3", split="test", streaming=True)
out["same"] = list(stream) == list(rows)
out["last"] = rows[-1]
out["count"] = len(rows)
out["tagged"] = load_dataset("you/sgdx", "v3", split="test", revision="v1.0.0")[-1] == rows[-1]
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with serve() as started:
        yield started


@pytest.fixture(scope="module")
def pushed(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Hub:
    push = ("-m", "sgdx_dataset", "push", "you/sgdx", "--source", "sample")
    done = hub.python(tmp_path_factory.mktemp("home"), *push)
    assert (done.returncode, done.stdout) == (0, f"{hub.url}/datasets/you/sgdx\n"), done.stderr
    assert TOKEN not in done.stderr
    return hub


def test_what_was_pushed_loads_and_streams_without_this_package(
    pushed: Hub, tmp_path: Path
) -> None:
    done = pushed.python(tmp_path / "home", "-c", WITHOUT_US + LOAD, token=None)
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout.splitlines()[-1])
    assert sorted(out["configs"]) == ["backtrans", "original", "v1", "v2", "v3", "v4", "v5"]
    rows = load("v3", "test", "sample")
    assert (out["count"], out["last"], out["same"]) == (36, rows[-1], True)
    assert out["tagged"]


def test_it_is_one_commit_with_a_tag_and_a_card_of_its_own_name(pushed: Hub) -> None:
    repository = pushed.repositories["datasets", "you/sgdx"]
    assert len(repository.commits) == 2  # the Hub's own, and one of everything
    assert repository.tags == {"v1.0.0": repository.commits[-1][0]}
    card = DatasetCard(repository.files["README.md"].decode())
    assert 'load_dataset("you/sgdx", "v3", split="test")' in card.text
    splits = {
        entry["config_name"]: {split["name"]: split["num_examples"] for split in entry["splits"]}
        for entry in card.data["dataset_info"]
    }
    assert splits.pop("backtrans") == {"train": 198}
    whole = {"train": 66, "validation": 19, "test": 36}
    assert splits == dict.fromkeys(["original", "v1", "v2", "v3", "v4", "v5"], whole)


def test_without_a_token_nothing_is_built(run: Run) -> None:
    done = run("sgdx_dataset", "push", "you/sgdx", "--source", "sample", HF_TOKEN="")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "sgdx: error: you/sgdx: found no access token for the Hub, expected one "
        "with the right to write; log in with hf auth login, or set HF_TOKEN"
    ]
