"""A source that has a part alone, such as the test split of one's own API."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError, frame_tables, open_release

from ..conftest import Run


@pytest.fixture
def test_alone(mini: Path) -> Path:
    """The test split of a corpus, without other splits and variants."""
    for name in ("train", "dev", "sgd_x", "backtrans"):
        shutil.rmtree(mini / name, ignore_errors=True)
    return mini


GAPS = (
    "the source has no train split, no validation split, no v1 to v5; every service counts as "
    "unseen"
)


def test_a_folder_with_a_test_split_alone_is_a_source(test_alone: Path, tmp_path: Path) -> None:
    release = open_release(test_alone)
    assert (release.configs(), release.scored_variants()) == (("original",), ["original"])
    assert (release.splits("original"), release.gaps()) == (["test"], GAPS)
    assert release.seen_services() == set()
    assert release.version("test").startswith("unverified:")
    assert len(release.data_digest("test", "original")) == 16
    assert not any(frame_tables(release, "test", "original")["seen"].to_pylist())
    (tmp_path / "ours.json").write_text("{}")
    own = {"ours": tmp_path / "ours.json"}
    assert open_release(test_alone, own).scored_variants() == ["original", "ours"]
    for split, config in (("train", "original"), ("test", "v3")):
        with pytest.raises(SgdxError, match=f"^{test_alone}: .*{config}"):
            frame_tables(release, split, config)


def test_variants_and_gaps(mini: Path) -> None:
    assert open_release("sample").scored_variants() == ["original", "v1", "v2", "v3", "v4", "v5"]
    assert open_release("sample").gaps() == ""
    shutil.rmtree(mini / "sgd_x/data/v2")
    assert open_release(mini).gaps() == "the source has no v2"
    assert open_release(mini).scored_variants() == ["original", "v1", "v3", "v4", "v5"]


def test_commands_say_what_it_lacks_and_go_on(test_alone: Path, tmp_path: Path, run: Run) -> None:
    """From the folder to scores: the frames, a tracker's predictions, and what they score."""
    source, predictions = ("--source", test_alone), tmp_path / "predictions"
    service = open_release(test_alone).schema("test", "original")[0].service_name
    for arguments in (
        ("sgdx_dataset", "prepare", *source, "--cache-dir", tmp_path / "cache"),
        ("sgdx_dataset", "frames", *source, "--split", "test", "--output", tmp_path / "frames"),
        ("sgdx_dataset", "show", *source),
        ("sgdx_dataset", "show", *source, "--schema", service),
        ("baselines.predict", *source, "--tracker", "lexical", "--output", predictions),
        ("sgdx_metric", "score", *source, "--predictions", predictions),
        ("sgdx_cli", "ask", "estimate", *source, "--model", "m"),
    ):
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count(f"note: {GAPS}\n") == 1
    assert [file.name for file in (tmp_path / "frames").iterdir()] == ["original.parquet"]
    assert [file.name for file in predictions.glob("*.jsonl")] == ["original.jsonl"]
