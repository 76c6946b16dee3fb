"""A choice of dialogues and services: the figures are those of the chosen items alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_eval.report.figures import Figures
from sgdx_eval.report.inputs import Choice
from sgdx_eval.report.runs import System
from sgdx_metric import __main__ as metric

from ...baselines.conftest import command
from .conftest import read, reported


@pytest.fixture(scope="module")
def subset(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with every second dialogue."""
    path = tmp_path_factory.mktemp("ids") / "half.txt"
    path.write_text("\n".join(read(runs["tiny"]).results.dialogue_ids()[::2]))
    return path


@pytest.mark.parametrize("services", [(), ("Vets_1",)])
def test_figures_are_those_of_score(
    services: tuple[str, ...], subset: Path, runs: dict[str, Path], tmp_path: Path
) -> None:
    """The same choice, scored by the metric's own command, gives the same figures."""
    out = tmp_path / "scores.json"
    words = ["score", "--source", "sample", "--predictions", runs["tiny"] / "predictions"]
    words += ["--dialogues", subset, *(w for s in services for w in ("--service", s))]
    with pytest.MonkeyPatch.context() as patch:
        assert command(patch, metric, *words, "--output", out) == 0
    expected = json.loads(out.read_text())
    run = Choice(dialogues=subset, services=services).of(read(runs["tiny"]))
    keys = run.results.task.keys(run.results.scores())
    estimates = Figures(System("x", [run])).estimates()
    assert len(run.results.raw.items.ids) == expected["frames"]["all"]
    for key in keys[2:]:
        assert estimates[key].value == pytest.approx(expected["sgdx"][key])
        assert estimates[key].interval == pytest.approx(expected["sgdx"]["confidence"][key])
    stated = dict(part.split(":", 1) for part in expected["signature"].split("|")[1:])
    for part in ("dialogues", "services", "frames"):
        assert run.results.parts.get(part) == stated.get(part)


def test_a_report_of_a_choice(subset: Path, runs: dict[str, Path], tmp_path: Path) -> None:
    words = (runs["tiny"], "--dialogues", subset, "--service", "Vets_1", "--source", "sample")
    assert reported(*words, "--output", tmp_path / "out") == 0
    text = (tmp_path / "out" / "report.md").read_text()
    assert "All official metrics" not in text and "--service Vets_1" in text
    assert re.search(r"\|dialogues:\d+@[0-9a-f]{8}\|services:Vets_1\|frames:\d+\|", text)
    lines = (tmp_path / "out" / "errors.jsonl").read_text().splitlines()
    assert lines and all(json.loads(line)["frame_id"].endswith("/Vets_1") for line in lines)


def test_a_service_that_is_not_there(runs: dict[str, Path]) -> None:
    with pytest.raises(SgdxError, match="Nowhere_1"):
        Choice(services=["Nowhere_1"]).of(read(runs["tiny"]))
