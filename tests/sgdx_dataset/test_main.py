"""The commands, as processes: what they write, one line per fault, exit status 2."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sgdx_dataset.rows.features import FRAME_ROW

from ..conftest import Run


def test_prepare_takes_configs_in_either_spelling(run: Run, mini: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    done = run("sgdx_dataset", "prepare", "--source", mini, "--cache-dir", cache, "--config", "v1")
    assert (done.returncode, done.stdout) == (0, f"{cache}/sgdx/v1/1.0.0/sgdx\n"), done.stderr
    configs = ["--config", "v2", "v3", "--config", "original"]
    done = run("sgdx_dataset", "prepare", "--source", mini, "--cache-dir", cache, *configs)
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (cache / "sgdx").iterdir()) == ["original", "v1", "v2", "v3"]


def test_export_one_split(run: Run, mini: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["export", "--source", mini, "--config", "v1", "--output", out, "--split"]
    done = run("sgdx_dataset", *command, "dev")  # the same as validation
    assert (done.returncode, done.stdout) == (0, f"{out}/dev\n"), done.stderr
    assert sorted(p.name for p in out.rglob("*")) == ["dev", "dialogues_001.json", "schema.json"]


def test_frames_writes_parquet(run: Run, tmp_path: Path) -> None:
    done = run("sgdx_dataset", "frames", "--split", "test", "--config", "v1", "v5", "--output", "f")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "f").iterdir()) == ["v1.parquet", "v5.parquet"]
    table = pq.read_table(tmp_path / "f" / "v5.parquet")
    assert table.column_names == list(FRAME_ROW)
    assert set(table["variant"].to_pylist()) == {"v5"}
    assert table.schema.metadata[b"release"] == b"sample"  # for the metric's signature


def test_frames_of_two_splits_do_not_mix(run: Run, mini: Path, tmp_path: Path) -> None:
    for split, rows in (("test", 4), ("train", 4)):
        arguments = ["--source", mini, "--split", split, "--config", "v1", "--output", split]
        assert run("sgdx_dataset", "frames", *arguments).returncode == 0
        assert pq.read_metadata(tmp_path / split / "v1.parquet").num_rows == rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["prepare", "--source", "/no/such"],
            "sgdx-dataset: error: /no/such: no such source, expected a directory, an archive,"
            " 'sample' or 'download'\n",
        ),
        (
            ["prepare", "--source", "sample", "--config", "v9"],
            "sgdx-dataset: error: unknown config 'v9', expected one of original, v1, v2, v3, v4,"
            " v5, backtrans\n",
        ),
        (
            ["export", "--config", "v1", "--split", "devel", "--output", "x"],
            "sgdx-dataset: error: unknown split 'devel', expected one of train, validation, test\n",
        ),
        (
            ["frames", "--split", "tset", "--output", "x"],
            "sgdx-dataset: error: unknown split 'tset', expected one of train, validation, test\n",
        ),
        (
            ["frames", "--split", "test", "--config", "w", "--output", "x"],
            "sgdx-dataset: error: unknown config 'w', expected one of original, v1, v2, v3, v4,"
            " v5, backtrans\n",
        ),
    ],
)
def test_one_line_per_fault(run: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run("sgdx_dataset", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
    assert list(tmp_path.iterdir()) == []


def test_a_source_without_test_schema(run: Run, mini: Path) -> None:
    (mini / "test" / "schema.json").unlink()
    done = run("sgdx_dataset", "prepare", "--source", mini)
    expected = f"{mini}: has no test/schema.json, expected the release's layout"
    assert (done.returncode, done.stderr) == (2, f"sgdx-dataset: error: {expected}\n")
