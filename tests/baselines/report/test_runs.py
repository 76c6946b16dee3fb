"""Reading runs, what they are called, and what must stand beside their scores."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from baselines.report.inputs import read_tracker
from baselines.report.run_files import read_record
from baselines.report.runs import data_caveats
from sgdx_dataset import SgdxError
from sgdx_metric.report import with_digest
from sgdx_metric.rows import ScoreError


def test_scores_alone_go_by_their_folder(runs: dict[str, Path], tmp_path: Path) -> None:
    shutil.copy(runs["plain-0"] / "scores.json", tmp_path / "scores.json")
    run = read_tracker(tmp_path / "scores.json")
    assert run.system_name() == tmp_path.name
    assert (run.record.metadata, run.predictions) == ({}, {})
    for variant in ("original", "v1", "v2", "v3", "v4", "v5"):  # beside it, not in a folder
        shutil.copy(runs["plain-0"] / "predictions" / f"{variant}.jsonl", tmp_path)
    run = read_tracker(tmp_path / "scores.json")
    assert len(run.predictions) == 6 and run.record.metadata["tracker"] == "t5dst"


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
    shutil.copytree(runs["backtrans"], tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    record["evaluation"] |= {"oracle": True, "augment": {"schemas": "oracle", "ratio": 0.5}}
    (tmp_path / "run" / "run.json").write_text(json.dumps(record))
    run = read_tracker(tmp_path / "run")
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
        (lambda d: d["paired"]["frame_id"].pop(), "scores of 272 frames, the signature says 273"),
        (lambda d: d["paired"]["frame_id"].append("x"), "frame id is 'x'"),
        (lambda d: d["paired"]["joint_goal_accuracy"].pop("v3"), "no scores of v3"),
        (lambda d: d["variants"].pop("v3"), "'variants' has original, v1, v2, v4, v5"),
        (lambda d: d.update(signature="sacrebleu|x"), "signature is 'sacrebleu|x'"),
        (lambda d: d["sgdx"].update(jga_orig="high"), "jga_orig"),
        (lambda d: d["paired"].update(frame_id=[]), r"length >= 1 .* `\$\.paired\.frame_id`"),
    ],
)
def test_scores_that_cannot_be_read(
    change: object, message: str, runs: dict[str, Path], tmp_path: Path
) -> None:
    scores = json.loads((runs["plain-0"] / "scores.json").read_text())
    change(scores)  # type: ignore[operator]
    del scores["sha256"]  # as in a file of an earlier version
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


@pytest.mark.parametrize("key", ["tracker", "model"])
def test_predictions_that_say_no_text_of_themselves(key: str, tmp_path: Path) -> None:
    path = tmp_path / "v1.jsonl"
    path.write_text(json.dumps({"metadata": {"model": "m", "tracker": "t", key: 5}}) + "\n")
    with pytest.raises(SgdxError, match=f"{key} .* 5"):
        read_record(tmp_path / "scores.json", {"v1": path})


def test_a_record_of_another_system_than_was_scored(runs: dict[str, Path], tmp_path: Path) -> None:
    """The report names systems after it."""
    shutil.copytree(runs["plain-0"], tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    record = json.loads(path.read_text())
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())
    del scores["sha256"]
    facts = {"tracker": "t5dst", "weights": "a" * 64, "train": ["original"]}
    scores["predictions"] = dict.fromkeys(scores["variants"], facts)
    (tmp_path / "run" / "scores.json").write_text(json.dumps(with_digest(scores)))
    assert read_tracker(tmp_path / "run").system_name()
    for key, value in {"tracker": "onepass", "weights": "f" * 64, "train": ["v1"]}.items():
        changed = {**record, "evaluation": {**record["evaluation"], key: value}}
        path.write_text(json.dumps(changed))
        with pytest.raises(SgdxError, match=f"scores.json: {key} is .* in the predictions of orig"):
            read_tracker(tmp_path / "run")
    path.unlink()  # so the header of the predictions beside the scores tells
    predictions = tmp_path / "run" / "predictions" / "original.jsonl"
    header, rows = predictions.read_text().split("\n", 1)
    predictions.write_text(header.replace('"t5dst"', '"onepass"', 1) + "\n" + rows)
    with pytest.raises(SgdxError, match="and 'onepass' in the files beside it"):
        read_tracker(tmp_path / "run")


def test_what_scores_were_made_from_stands_beside_them(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    """Scores of an earlier version, and those of predictions that say nothing of themselves."""
    scores = json.loads((runs["plain-0"] / "scores.json").read_text())
    line = scores["signature"]
    for signature, has_digest, caveats in (
        (line, True, []),
        (line, False, ["unverified"]),
        (line.replace("|predictions:verified", "|predictions:unverified"), True, ["unverified"]),
        (line.replace("|predictions:verified", ""), True, ["made elsewhere"]),
    ):
        changed = {**scores, "signature": signature}
        del changed["sha256"]
        changed = with_digest(changed) if has_digest else changed
        (tmp_path / "scores.json").write_text(json.dumps(changed))
        assert read_tracker(tmp_path).system_caveats() == caveats
    (tmp_path / "scores.json").write_text(json.dumps({**scores, "signature": line + "x"}))
    with pytest.raises(SgdxError, match="was changed after it was scored"):
        read_tracker(tmp_path)
