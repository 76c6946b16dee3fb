"""Plots: the lines that are drawn are those of the runs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_eval.report.pictures import Plot, draw, new_figure
from sgdx_eval.report.plots import drop_beside_flips, learning_curves
from sgdx_eval.report.runs import Group, read_run

from .conftest import only_group, sgdx_part


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
    group = only_group(one, parts, runs["backtrans"])
    losses, sub_models, scores, nothing = learning_curves.draw(group).axes
    drawn = [[line.get_xydata().tolist() for line in axes.lines] for axes in (losses, scores)]
    assert drawn == [[[[0.5, 4.0], [2.0, 2.0]]], [[[0.5, 25.0], [2.0, 50.0]]]]
    assert losses.get_xlabel() == "minutes of training"
    assert [line.get_xydata().tolist() for line in sub_models.lines] == [[[7, 3.0]], [[7, 1.5]]]
    assert [text.get_text() for text in sub_models.texts] == ["copy", "intent"]
    assert sub_models.get_xlabel() == "steps" and not nothing.lines[0].get_xydata().tolist()
    for name in ("copy", "intent"):
        (parts / name / "log.jsonl").write_text('{"step": 7, "loss": 3.0, "seconds": 45}\n')
    (parts / "log.jsonl").write_text('{"step": 14, "dev_joint_goal_accuracy": 0.5}\n')
    group = only_group(parts)
    of_each, together = learning_curves.draw(group).axes
    assert [line.get_xydata().tolist() for line in of_each.lines] == [[], [[0.75, 3]], [[0.75, 3]]]
    assert together.lines[0].get_xydata().tolist() == [[1.5, 50.0]]
    assert [text.get_text() for text in together.texts] == ["joined"]
    (one / "log.jsonl").write_text('{"step": 2, "loss": 4.0}\n{"loss": "x"}\n')
    with pytest.raises(SgdxError, match=r"log\.jsonl:2"):
        read_run(one)


def test_the_drop_stands_beside_the_flips(group: Group, runs: dict[str, Path]) -> None:
    """A bar of each for each system, as long as its figure; none where a variant lacks."""
    figure = drop_beside_flips.draw(group)
    drops, flips = (list(bars) for bars in figure.axes[0].containers if hasattr(bars, "patches"))
    assert len(drops) == len(flips) == len(group.systems)
    expected = sgdx_part(runs["backtrans"])
    assert drops[1].get_width() == pytest.approx(100 * -expected["drop"])
    assert flips[1].get_width() == pytest.approx(100 * expected["flips"])


def test_a_long_remark_has_lines_and_a_picture_is_legible_on_a_phone(group: Group) -> None:
    remark = (
        "the small sample corpus, not SGD; answers that could not be read: 73 under v1, 73 under v2"
    )
    picture = draw(Plot("name", "A title", "A note.", lambda _: new_figure(4, 2)[0]), group, remark)
    assert picture is not None
    lines = [line for line in re.findall(r">([^<>]+)</text>", picture.inline) if " " in line]
    assert " ".join(lines) == remark and max(map(len, lines)) <= 60
    assert 'style="max-width: 418px; min-width: 331px"' in picture.inline  # of 288 points
