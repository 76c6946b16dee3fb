"""Reading runs, what they are called, and what must stand beside their scores."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_eval.report.inputs import read_tracker
from sgdx_eval.report.runs import data_caveats
from sgdx_metric.rows import ScoreError


def test_scores_alone_go_by_their_folder(runs: dict[str, Path], tmp_path: Path) -> None:
    scores = json.loads((runs["plain-0"] / "scores.json").read_text())
    del scores["predictions"]
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    run = read_tracker(tmp_path / "scores.json")
    assert run.system_name() == tmp_path.name
    assert (run.record.system, run.predictions) == ({}, {})
    for variant in ("original", "v1", "v2", "v3", "v4", "v5"):  # beside it, not in a folder
        shutil.copy(runs["plain-0"] / "predictions" / f"{variant}.jsonl", tmp_path)
    run = read_tracker(tmp_path / "scores.json")
    assert len(run.predictions) == 6
    assert read_tracker(runs["plain-0"]).record.system["tracker"] == "t5dst"


@pytest.mark.parametrize(
    ("parts", "frames", "caveats"),
    [
        ({"release": "e852981a"}, 36000, []),
        ({"release": "partial:2921/4201"}, 26802, ["partial data: 2,921 of 4,201 dialogues"]),
        (
            {"release": "e852981a", "dialogues": "200@1a2b3c4d"},
            900,
            ["a subset of 200 dialogues", "only 900 frames"],
        ),
    ],
)
def test_what_must_stand_beside_the_figures(
    parts: dict[str, str], frames: int, caveats: list[str]
) -> None:
    assert data_caveats(parts, frames) == caveats


def test_oracles_say_so(runs: dict[str, Path], tmp_path: Path) -> None:
    scores = json.loads((runs["backtrans"] / "scores.json").read_text())
    scores["signature"] = scores["signature"].replace("|ci:", "|oracle:yes|ci:")
    for header in scores["predictions"].values():
        header["system"]["augment"] = {"schemas": "oracle", "ratio": 0.5}
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    run = read_tracker(tmp_path)
    settings: dict[str, object] = {"model": "encoders/minilm/model"}
    named = replace(run, record=replace(run.record, settings=settings))
    assert named.system_name() == "t5dst (minilm), oracle x 0.5"  # "model" says nothing
    for number, data in ((None, "all of train"), (1217, "1,217 train dialogues")):
        recipe = replace(run.record, settings=settings | {"train_dialogues": number})
        assert replace(run, record=recipe).system_name() == f"t5dst, {data}, oracle x 0.5"
    assert run.system_caveats() == ["oracle: trained on v1 to v5"]
    assert run.system_name() == "t5dst, oracle x 0.5"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("paired"), "missing required field `paired`"),
        (lambda d: d["paired"]["frame_id"].pop(), "273 scores of original, expected 272"),
        (lambda d: d["paired"]["frame_id"].__setitem__(0, "x"), "frame id is 'x'"),
        (lambda d: d["paired"]["joint_goal_accuracy"].pop("v3"), "has original, v1, v2, v4, v5"),
        (lambda d: d.update(signature="sacrebleu|x"), "signature is 'sacrebleu|x'"),
        (lambda d: d["sgdx"].update(jga_orig="high"), "jga_orig"),
        (lambda d: d["paired"].update(frame_id=[]), "of any frame"),
    ],
)
def test_scores_that_cannot_be_read(
    change: object, message: str, runs: dict[str, Path], tmp_path: Path
) -> None:
    scores = json.loads((runs["plain-0"] / "scores.json").read_text())
    change(scores)  # type: ignore[operator]
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    with pytest.raises((ScoreError, SgdxError), match=message) as error:
        read_tracker(tmp_path)
    assert str(tmp_path) in str(error.value)


def test_a_folder_without_scores(runs: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(SgdxError, match=r"found no scores\.json"):
        read_tracker(tmp_path)
    with pytest.raises(SgdxError, match="no such file or folder"):
        read_tracker(tmp_path / "nowhere")
    shutil.copytree(runs["plain-0"] / "predictions", tmp_path / "predictions")
    with pytest.raises(SgdxError, match=r"found predictions but no scores\.json"):
        read_tracker(tmp_path)
