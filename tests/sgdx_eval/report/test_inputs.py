"""What is read for a report, and the reasons for which a run's analysis is left out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from baselines import evaluate
from sgdx_dataset.__main__ import main as dataset
from sgdx_dataset.release.open import SAMPLE
from sgdx_eval.report.inputs import Choice, read_inputs
from sgdx_eval.report.slots.breakage import costliest_rewordings

from ...baselines.conftest import command
from ...conftest import ROOT


def left_out(run: Path, source: str | None = None) -> str:
    """The one reason for which a run is not analysed."""
    inputs = read_inputs([run], Choice(source))
    (group,) = inputs.groups
    assert not group.analyses
    ((reason, names),) = inputs.not_analysed.items()
    assert names == ["sgp_dst"] and not inputs.left_out
    return reason


def test_errors_are_left_out_where_they_cannot_be_known(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs["tiny"], run)
    file = run / "predictions" / "v2.jsonl"
    text = file.read_text()
    file.unlink()
    assert left_out(run) == "there are no predictions beside scores.json"
    shutil.copy(run / "predictions" / "v3.jsonl", file)
    assert "v2.jsonl:1: metadata: variant is " in left_out(run)
    file.write_text(text.rsplit("\n", 1)[0])
    assert "1 of 273 frames are missing" in left_out(run)
    assert "no such source" in left_out(run, str(tmp_path / "nowhere"))


def test_the_source_that_predictions_name_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the default source, which lacks dialogues here; files name a folder without its path."""
    whole, part, run = tmp_path / "whole", tmp_path / "part", tmp_path / "run"
    shutil.copytree(SAMPLE, whole)
    shutil.copytree(SAMPLE, part)
    max(part.glob("test/dialogues_*.json")).unlink()
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))  # no other test writes there
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    arguments = ("--tracker", "lexical", "--config", "original", "--source", whole)
    assert command(monkeypatch, evaluate, *arguments, "--output", run) == 0
    monkeypatch.setenv("SGDX_SOURCE", str(part))
    inputs = read_inputs([run])
    assert inputs.left_out == [] and not inputs.not_analysed
    (group,) = inputs.groups
    assert list(group.analyses) == ["lexical"]


def test_other_data_is_told(runs: dict[str, Path], tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "sgdx_dataset" / "sample", source)
    (source / "test" / "dialogues_002.json").unlink()
    reason = left_out(runs["tiny"], str(source))
    assert str(source) in reason and "original" in reason and "of 273 frames" in reason


@pytest.mark.slow
def test_references_in_a_folder_give_the_same(runs: dict[str, Path], tmp_path: Path) -> None:
    arguments = ["--source", "sample", "--split", "test", "--output", str(tmp_path)]
    assert dataset(["frames", *arguments]) == 0
    release, folder = (
        read_inputs([runs["tiny"]], Choice(references=references)).groups[0].analyses["sgp_dst"]
        for references in (None, tmp_path)
    )
    assert release.errors and release.errors == folder.errors
    assert costliest_rewordings(release) == costliest_rewordings(folder)
    assert release.gold.origin.tolist() == folder.gold.origin.tolist()
    assert release.gold.kind.tolist() == folder.gold.kind.tolist()
