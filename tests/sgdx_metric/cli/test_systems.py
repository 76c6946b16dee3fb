"""What predictions say of the system that made them, and that scores.json repeats it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_metric.cli.systems import Metadata, check_one_system

from ...conftest import Run
from ..frames import Row, written

SCORE = ("sgdx_metric", "score", "--source", "sample", "--split", "test", "--output", "s.json")


def test_scores_json_repeats_what_predictions_say(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    about = {"model": "runs/a", "tracker": "t5dst", "weights": "c0ffee", "seed": 3, "oracle": False}
    headers: dict[str, Row] = {"original": {**about, "system_acts": True, "notes": {}}, "v1": {}}
    words = [
        f"--predictions={name}={written(tmp_path / name, gold[name], **header)}"
        for name, header in headers.items()
    ]
    done = command(*SCORE, *words)
    assert (done.returncode, done.stderr) == (0, "")
    scores = json.loads((tmp_path / "s.json").read_text())
    assert scores["predictions"] == {"original": {**about, "system_acts": True}, "v1": {}}
    assert "|system-acts:mixed|predictions:made-elsewhere|ci:" in scores["signature"]


def test_an_oracle_is_told(tmp_path: Path, command: Run, gold: dict[str, list[Row]]) -> None:
    path = written(tmp_path / "v1.jsonl", gold["v1"], oracle=True)
    done = command(*SCORE, f"--predictions=v1={path}")
    assert done.returncode == 0
    assert done.stderr == (
        "warning: the predictions are of an oracle: the model was trained on schemas that it is "
        "evaluated on\n"
    )
    scores = json.loads((tmp_path / "s.json").read_text())
    assert scores["predictions"]["v1"]["oracle"] is True
    assert "|system-acts:unknown|oracle:yes|predictions:made-elsewhere|ci:" in scores["signature"]
    assert "|oracle:yes|" in done.stdout


def test_two_models_are_not_scored_together(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    one = written(tmp_path / "original.jsonl", gold["original"], model="A")
    other = written(tmp_path / "v1.jsonl", gold["v1"], model="B", oracle=True)
    done = command(*SCORE, f"--predictions=original={one}", f"--predictions=v1={other}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        'sgdx_metric: error: predictions for v1: model is "B", and "A" in those for original: '
        "expected the predictions of one system\n"
    )
    assert not (tmp_path / "s.json").exists()


@pytest.mark.parametrize(
    ("one", "other", "key"),
    [
        ({"model": "A"}, {"model": "B"}, "model"),
        ({"weights": "1", "model": "A"}, {"weights": "2", "model": "A"}, "weights"),
        ({"weights": "1", "model": "here"}, {"weights": "1", "model": "there"}, None),
        ({"weights": "1", "model": "A"}, {"model": "B"}, "model"),
        ({"tracker": "lexical"}, {"tracker": "t5dst"}, "tracker"),
        ({"seed": 1}, {"seed": 2}, "seed"),
        ({"oracle": True}, {"oracle": False}, "oracle"),
        ({"oracle": True}, {}, None),
        ({"model": {"name": "A"}}, {"model": {"name": "B"}}, "model"),
        ({}, {}, None),
    ],
)
def test_which_statements_are_of_one_system(
    one: dict[str, Any], other: dict[str, Any], key: str | None
) -> None:
    said = {"original": Metadata(), "v1": Metadata(**one), "v2": Metadata(**other)}
    if key is None:
        check_one_system(said)
        return
    with pytest.raises(SgdxError, match=rf"^predictions for v2: {key} is .* in those for v1"):
        check_one_system(said)
