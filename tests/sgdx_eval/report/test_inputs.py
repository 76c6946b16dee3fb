"""What is read for a report, and the reasons for which a run's analysis is left out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sgdx_dataset.__main__ import main as dataset
from sgdx_eval.report.inputs import Choice, read_inputs
from sgdx_eval.report.slots.breakage import costliest_rewordings


def left_out(run: Path, source: str | None = None) -> str:
    """The one reason for which a run is not analysed."""
    inputs = read_inputs([run], Choice(source))
    (group,) = inputs.groups
    assert not group.analyses
    (reason,) = inputs.not_analysed
    assert "sgp_dst" in reason and not inputs.left_out
    return reason


def test_errors_are_left_out_where_they_cannot_be_known(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs["tiny"], run)
    file = run / "predictions" / "v2.jsonl"
    text = file.read_text()
    file.unlink()
    assert left_out(run).endswith("there are no predictions beside scores.json")
    shutil.copy(run / "predictions" / "v3.jsonl", file)
    assert "v2.jsonl:1: metadata: variant is " in left_out(run)
    file.write_text(text.rsplit("\n", 1)[0])
    assert "1 of 273 frames are missing" in left_out(run)
    assert "no such source" in left_out(run, str(tmp_path / "nowhere"))


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
