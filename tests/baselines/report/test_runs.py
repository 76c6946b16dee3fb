"""Reading runs, and which of them stand in one row and in one table."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from baselines.report.drawings import learning_curves
from baselines.report.gather import read_tracker
from baselines.report.provenance import data_marks, group_runs
from sgdx_dataset import SgdxError
from sgdx_metric.rows import ScoreError


def test_seeds_are_one_system_and_other_augmentations_are_not(runs: dict[str, Path]) -> None:
    (group,) = group_runs([read_tracker(path) for path in runs.values()])
    assert [(s.label, len(s.runs)) for s in group.systems] == [
        ("t5dst [2 seeds]", 2),
        ("t5dst + backtrans", 1),
        ("sgp_dst [random weights]", 1),
    ]
    assert group.marks == ["the small sample corpus, not SGD", "only 273 frames"]
    plain, backtrans, tiny = (system.first for system in group.systems)
    assert plain.key() != backtrans.key() and plain.key(True) == backtrans.key(True)
    assert plain.key(True) != tiny.key(True)


def test_a_system_that_was_asked_about_more_dialogues_is_the_same(runs: dict[str, Path]) -> None:
    """What was scored is told by the signature; a run may have answered more than that."""
    one, other = (read_tracker(runs[name]) for name in ("plain-0", "backtrans"))
    more = replace(other, facts={**other.facts, "dialogues": "600@ea505753"})
    assert more.key() == other.key() and more.key(True) == one.key(True)


def test_a_second_run_of_the_same_seed_is_a_row_of_its_own(runs: dict[str, Path]) -> None:
    again = [read_tracker(runs["plain-0"]), read_tracker(runs["plain-0"] / "scores.json")]
    (group,) = group_runs(again)
    names = [system.name for system in group.systems]
    assert len(names) == 2 and len(set(names)) == 2


def test_runs_scored_otherwise_are_in_another_group(runs: dict[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(runs["plain-1"], other)
    text = (other / "scores.json").read_text().replace("match:fuzzy-token-sort", "match:exact")
    (other / "scores.json").write_text(text)
    acts = tmp_path / "acts"
    shutil.copytree(runs["tiny"], acts)
    text = (acts / "scores.json").read_text().replace("system-acts:no", "system-acts:yes")
    (acts / "scores.json").write_text(text)
    groups = group_runs([read_tracker(path) for path in (runs["plain-0"], other, acts)])
    assert [[s.name for s in group.systems] for group in groups] == [
        ["t5dst", "sgp_dst"],
        ["t5dst"],
    ]
    assert list(groups[0].signatures.values()) == ["t5dst", "sgp_dst"]
    assert list(groups[1].signatures.values()) == [""]


def test_scores_alone_go_by_their_folder(runs: dict[str, Path], tmp_path: Path) -> None:
    shutil.copy(runs["plain-0"] / "scores.json", tmp_path / "scores.json")
    run = read_tracker(tmp_path / "scores.json")
    assert (run.name(), run.facts, run.predictions) == (tmp_path.name, {}, {})
    for variant in ("original", "v1", "v2", "v3", "v4", "v5"):  # beside it, not in a folder
        shutil.copy(runs["plain-0"] / "predictions" / f"{variant}.jsonl", tmp_path)
    run = read_tracker(tmp_path / "scores.json")
    assert len(run.predictions) == 6 and run.facts["tracker"] == "t5dst"


@pytest.mark.parametrize(
    ("parts", "frames", "marks"),
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
    parts: dict[str, str], frames: int, marks: list[str]
) -> None:
    assert data_marks(parts, frames) == marks


def test_oracles_say_so(runs: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(runs["backtrans"], tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    record["evaluation"] |= {"oracle": True, "augment": {"schemas": "oracle", "ratio": 0.5}}
    (tmp_path / "run" / "run.json").write_text(json.dumps(record))
    run = read_tracker(tmp_path / "run")
    named = replace(run, settings={"model": "encoders/minilm/model"})
    assert named.name() == "t5dst (minilm) + oracle x 0.5"  # "model" says nothing
    assert run.marks() == ["oracle: trained on v1 to v5"]
    assert run.name() == "t5dst + oracle x 0.5"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("paired"), "missing required field `paired`"),
        (lambda d: d["paired"]["frame_id"].pop(), "scores of original"),
        (lambda d: d["paired"]["frame_id"].append("x"), "frame id is 'x'"),
        (lambda d: d["paired"]["joint_goal_accuracy"].pop("v3"), "has the variants"),
        (lambda d: d.update(signature="sacrebleu|x"), "signature is 'sacrebleu|x'"),
        (lambda d: d["sgdx"].update(jga_orig="high"), "jga_orig"),
        (lambda d: d["paired"].update(frame_id=[]), "found no frames"),
    ],
)
def test_scores_that_cannot_be_read(
    change: object, message: str, runs: dict[str, Path], tmp_path: Path
) -> None:
    scores = json.loads((runs["plain-0"] / "scores.json").read_text())
    change(scores)  # type: ignore[operator]
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    with pytest.raises(ScoreError, match=message) as error:
        read_tracker(tmp_path)
    assert str(tmp_path) in str(error.value)


def test_a_folder_without_scores(runs: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(SgdxError, match=r"found no scores\.json, expected a run"):
        read_tracker(tmp_path)
    with pytest.raises(SgdxError, match="no such file or folder"):
        read_tracker(tmp_path / "nowhere")
    shutil.copytree(runs["plain-0"] / "predictions", tmp_path / "predictions")
    with pytest.raises(SgdxError, match=r"found predictions but no scores\.json, so the run is no"):
        read_tracker(tmp_path)


def test_learning_curves_are_those_of_the_logs(runs: dict[str, Path], tmp_path: Path) -> None:
    """Of a model of one part over minutes, of sub-models without times over steps."""
    one, parts = tmp_path / "one", tmp_path / "parts"
    shutil.copytree(runs["plain-0"], one)
    shutil.copytree(runs["tiny"], parts)
    lines = [{"step": 2, "loss": 4.0, "seconds": 30}, {"step": 2, "dev_joint_goal_accuracy": 0.25}]
    lines += [{"step": 4, "loss": 2.0, "seconds": 90}, {"step": 4, "dev_joint_goal_accuracy": 0.5}]
    (one / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    for name, loss in (("copy", 3.0), ("intent", 1.5)):
        (parts / name).mkdir()
        (parts / name / "log.jsonl").write_text(f'{{"step": 7, "loss": {loss}}}\n')
    (group,) = group_runs([read_tracker(path) for path in (one, parts, runs["backtrans"])])
    losses, sub_models, scores, nothing = learning_curves(group).axes
    drawn = [[line.get_xydata().tolist() for line in axes.lines] for axes in (losses, scores)]
    assert drawn == [[[[0.5, 4.0], [2.0, 2.0]]], [[[0.5, 25.0], [2.0, 50.0]]]]
    assert losses.get_xlabel() == "minutes of training"
    assert [line.get_xydata().tolist() for line in sub_models.lines] == [[[7, 3.0]], [[7, 1.5]]]
    assert [text.get_text() for text in sub_models.texts] == ["copy", "intent"]
    assert sub_models.get_xlabel() == "steps" and not nothing.lines[0].get_xydata().tolist()
    for name in ("copy", "intent"):
        (parts / name / "log.jsonl").write_text('{"step": 7, "loss": 3.0, "seconds": 45}\n')
    (parts / "log.jsonl").write_text('{"step": 14, "dev_joint_goal_accuracy": 0.5}\n')
    (group,) = group_runs([read_tracker(parts)])
    of_each, together = learning_curves(group).axes
    assert [line.get_xydata().tolist() for line in of_each.lines] == [[], [[0.75, 3]], [[0.75, 3]]]
    assert together.lines[0].get_xydata().tolist() == [[1.5, 50.0]]
    assert [text.get_text() for text in together.texts] == ["joined"]
    (one / "log.jsonl").write_text('{"step": 2, "loss": 4.0}\n{"loss": 1.0}\n')
    with pytest.raises(SgdxError, match=r"log\.jsonl:2: .* required field `step`"):
        read_tracker(one)


def test_without_a_log_there_is_no_curve(runs: dict[str, Path]) -> None:
    (group,) = group_runs([read_tracker(runs["plain-0"])])
    assert learning_curves(group) is None
