"""A choice of dialogues and services: the figures are those of the chosen frames alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_eval.report.choice import FrameChoice, choose_frames
from sgdx_eval.report.inputs import read_tracker
from sgdx_metric import __main__ as metric

from ...baselines.conftest import command
from .conftest import reported


@pytest.fixture(scope="module")
def subset(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with every second dialogue."""
    ids = read_tracker(runs["tiny"]).results.dialogue_ids()[::2]
    path = tmp_path_factory.mktemp("ids") / "half.txt"
    path.write_text("\n".join(ids))
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
    run = choose_frames(read_tracker(runs["tiny"]), FrameChoice(subset, services))
    scores = run.results.stored
    assert scores.frames == {k: expected["frames"][k] for k in ("all", "seen", "unseen")}
    for key in ("jga_orig", "jga_v1_5", "ss_jga", "jga_worst", "flips"):
        name = key.replace("v1_5", "v1-5")
        assert getattr(scores.sgdx, key) == pytest.approx(expected["sgdx"][name])
        assert scores.sgdx.confidence[name] == pytest.approx(expected["sgdx"]["confidence"][name])
    stated = dict(part.split(":", 1) for part in expected["signature"].split("|")[1:])
    parts = run.signature_parts
    for key in ("dialogues", "services", "frames"):
        assert parts.get(key) == stated.get(key)


def test_a_report_of_a_choice(subset: Path, runs: dict[str, Path], tmp_path: Path) -> None:
    words = (runs["tiny"], "--dialogues", subset, "--service", "Vets_1")
    assert reported(*words, "--output", tmp_path / "out") == 0
    text = (tmp_path / "out" / "report.md").read_text()
    assert "All official metrics" not in text
    assert re.search(r"\|dialogues:\d+@[0-9a-f]{8}\|services:Vets_1\|frames:\d+\|", text)
    lines = (tmp_path / "out" / "errors.jsonl").read_text().splitlines()
    assert lines and all(json.loads(line)["frame_id"].endswith("/Vets_1") for line in lines)
    assert "--service Vets_1" in text


def test_a_service_that_is_not_there(runs: dict[str, Path]) -> None:
    with pytest.raises(SgdxError, match="--service Nowhere_1: found no frame of it, expected one"):
        choose_frames(read_tracker(runs["tiny"]), FrameChoice(services=["Nowhere_1"]))
