"""What is written: never over an input or a device, and whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import Run
from ..sgdx_metric.frames import Row, written
from .conftest import refused

LONG = "x" * 300


@pytest.fixture
def score(tmp_path: Path, gold: dict[str, list[Row]]) -> tuple[object, ...]:
    """The words of a command that scores."""
    path = written(tmp_path / "v1.jsonl", gold["v1"])
    return ("score", "--predictions", f"v1={path}")


@pytest.mark.posix
@pytest.mark.parametrize(
    ("words", "fact"),
    [
        ("--output /dev/null", "--output /dev/null"),
        ("--output v1.jsonl", "--output v1.jsonl"),
        ("--output ./x/../v1.jsonl", "v1.jsonl"),
        ("--output linked", "--output linked"),
        ("--output ids --dialogues ids", "--output ids"),
        ("--output mine/test/schema.json --variant mine=mine", "schema.json"),
        ("--output v1.jsonl/s.json", "--output v1.jsonl"),
        (f"--output {LONG}", "File name too long"),
        (f"--output {LONG}/s.json", "File name too long"),
        (f"--output s.json --dialogues {LONG}", "File name too long"),
        (f"--output s.json --source {LONG}", LONG),
        (f"--output s.json --references {LONG}", LONG),
    ],
)
def test_an_output_that_must_not_be_written(
    tmp_path: Path, command: Run, score: tuple[object, ...], words: str, fact: str
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "mine" / "test").mkdir(parents=True)
    (tmp_path / "mine" / "test" / "schema.json").write_text("[]")
    (tmp_path / "ids").write_text("1_00000")
    (tmp_path / "linked").hardlink_to(tmp_path / "v1.jsonl")
    assert fact in refused(tmp_path, command, *score, *words.split())


@pytest.mark.posix
def test_inputs_are_not_written_over_and_no_devices(tmp_path: Path, command: Run) -> None:
    """/dev/zero has no end, and would fill the memory."""
    words = ("--source", "sample", "--variant", "v2", "--split", "test", "--output", tmp_path)
    assert command("sgdx_dataset", "export", *words).returncode == 0
    score = ("score", "--source", "sample", "--predictions", "v2=test", "--output")
    line = refused(tmp_path, command, *score, "test/dialogues_001.json")
    assert "test/dialogues_001.json" in line
    for _ in range(2):  # What the command itself has put beside them may be written again.
        assert command("sgdx_metric", *score, "test/scores.json").returncode == 0
    for words_of in (
        ("score", "--output", "s.json", "--predictions", "v1=/dev/zero"),
        ("compare", "/dev/zero", "/dev/zero"),
    ):
        line = refused(tmp_path, command, *words_of)
        assert line.endswith("/dev/zero: found a device, expected a file")


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file may become larger than 4 KB, which is an error as on a full disk is."""
    import resource  # which Windows lacks

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.posix
def test_a_full_disk(
    tmp_path: Path, command: Run, score: tuple[object, ...], small_files: None
) -> None:
    line = refused(tmp_path, command, *score, "--output", "s.json")
    assert line.startswith("sgdx: error: s.items.parquet: cannot be written: ")
    assert not [*tmp_path.glob("s.*")] and "File too large" in line
