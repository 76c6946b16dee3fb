"""What the tests of scores share: three tasks on the sample, and commands in this process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from baselines.copies import copy_system, generate
from sgdx_dataset.__main__ import main as dataset
from sgdx_eval.requested import RequestedData
from sgdx_metric.__main__ import main as metric
from sgdx_metric.result import Result
from sgsacc_metric.__main__ import main as responses

from ..conftest import Run
from ..sgdx_metric.conftest import gold
from ..sgdx_metric.frames import Row, written
from ..sgsacc_metric.conftest import copies

__all__ = ["copies", "gold"]

MAINS = {"sgdx_dataset": dataset, "sgdx_metric": metric, "sgsacc_metric": responses}
VARIANTS = ("original", "v1")
SAMPLE_TEST = ("--source", "sample", "--split", "test")
Rows = Mapping[str, list[Row]]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    """Run `python -m MODULE ...` in an empty directory, in this process."""
    monkeypatch.chdir(tmp_path)

    def run_main(module: object, *arguments: object) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        status: str | int | None
        try:
            status = MAINS[str(module)]([str(argument) for argument in arguments])
        except SystemExit as exit:
            status = exit.code
        return subprocess.CompletedProcess([], int(status or 0), *capfd.readouterr())

    return run_main


@dataclass(frozen=True)
class Subject:
    """Predictions of the sample's test split under two variants: right ones, and worse ones."""

    task: str
    # All are right; and every third is wrong under v1.
    good: Rows
    bad: Rows

    @property
    def id(self) -> str:
        """The key of a row's id."""
        return "turn_id" if self.task == "turns" else "frame_id"

    @property
    def kind(self) -> str:
        """What the rows of the data are that it is scored against."""
        return "turns" if self.task == "turns" else "frames"

    def mains(self, scores: Mapping[str, Any]) -> dict[str, float]:
        """The main figure of a scores.json under each variant."""
        main = "ser" if self.task == "turns" else "jga"
        result = msgspec.convert(scores, Result)
        return {name: f.value or 0.0 for name, f in result.by_variant(main).items()}

    def of(self, dialogues: tuple[str, ...]) -> Rows:
        """The good rows of some dialogues."""
        return {
            name: [row for row in rows if row[self.id].startswith(dialogues)]
            for name, rows in self.good.items()
        }


def put(folder: Path, rows: Rows, **header: Any) -> Path:
    """A folder with a file of predictions for each variant, with a header if one is given."""
    folder.mkdir(exist_ok=True)
    for name, of_variant in rows.items():
        written(folder / f"{name}.jsonl", of_variant, **header)
    return folder


def _worse(rows: Rows, **changes: Any) -> Rows:
    """The rows with changes of every third one under v1."""
    v1 = [row | changes if i % 3 == 2 else row for i, row in enumerate(rows["v1"])]
    return {**rows, "v1": v1}


@pytest.fixture(scope="session")
def subjects(
    gold: dict[str, list[Row]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Subject]:
    """The tasks that are scored against SGD."""
    states = {name: gold[name] for name in VARIANTS}
    folder, data = tmp_path_factory.mktemp("turns"), RequestedData("sample", "test")
    turns = {}
    for path in generate(copy_system("gold"), data, list(VARIANTS), folder):
        lines = path.read_text().splitlines()[1:]
        turns[path.stem] = list(map(json.loads, lines))
    return {
        "state": Subject("state", states, _worse(states, slot_values=[])),
        "turns": Subject("turns", turns, _worse(turns, utterance="")),
    }


@pytest.fixture(params=["state", "turns"])
def subject(request: pytest.FixtureRequest, subjects: dict[str, Subject]) -> Subject:
    """Each task in turn."""
    return subjects[request.param]


@pytest.fixture(scope="session")
def scores_files(
    subjects: dict[str, Subject], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Path, Path]]:
    """The scores.json of the good and of the bad predictions of each task."""
    folder, made = tmp_path_factory.mktemp("scores"), {}
    for name, subject in subjects.items():
        made[name] = folder / f"{name}-good.json", folder / f"{name}-bad.json"
        for path, rows in zip(made[name], (subject.good, subject.bad), strict=True):
            words = ["--predictions", str(put(folder / path.stem, rows)), "--output", str(path)]
            assert metric(["score", *SAMPLE_TEST, "--quiet", *words]) == 0
    return made


def refused(tmp_path: Path, command: Run, *words: object) -> str:
    """The one line of a command that must fail, print nothing else and change no file."""
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = command("sgdx_metric", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    (line,) = done.stderr.splitlines()
    assert line.startswith("sgdx: error: ")
    return line


def scored(command: Run, predictions: object, name: str, *options: object) -> dict[str, Any]:
    """The scores.json of a command that must succeed."""
    words: list[object] = (
        [] if "--source" in options or "--references" in options else [*SAMPLE_TEST]
    )
    verb = ("responses", "score") if {"--nli", "--turns"} & {*options} else ("score",)
    words = [*verb, *words, "--predictions", predictions, "--output", name, *options]
    done = command("sgdx_metric", *words)
    assert done.returncode == 0, done.stderr
    scores: dict[str, Any] = json.loads(Path(name).read_text())
    return scores
