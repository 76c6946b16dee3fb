"""The leaderboard is made of the scores in results and of the figures that papers give."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sgdx_eval.leaderboard import render
from sgdx_eval.result import write_result
from sgdx_eval.tasks import TASKS
from sgdx_metric.figures import figures
from sgdx_metric.result import Result
from sgdx_metric.units import Scores, index_frames

from ..conftest import ROOT

STATES = (
    "sgdx_metric|variants:original+v1+v2+v3+v4+v5|split:test|release:partial:2921/4201|frames:900|"
    "match:fuzzy-token-sort|joint:frame|zero-mean:0"
)

LLM = {"tracker": "llm"}  # which does not say whether it is an oracle


def add(
    folder: Path,
    signature: str = STATES,
    run: Any = None,
    system: Any = None,
    reworded: Sequence[float] = (1, 0, 0, 0),
) -> None:
    """Write the folder of a row: of four frames two are right, and those given when reworded."""
    folder.mkdir(parents=True)
    names = signature.partition("variants:")[2].partition("|")[0].split("+")
    right = np.array([[1.0, 1, 0, 0] if name == "original" else [*reworded] for name in names])
    items = index_frames(pa.array([f"d{i}/0/S_1" for i in range(4)]), np.array([False] * 4))
    scores = Scores(names, items, {"jga": right})
    task = "turns" if "task:turns" in signature else "state"
    result = Result(
        task=task,
        signature=signature,
        figures=figures(scores, TASKS["state"].metrics) if task == "state" else [],
        systems={"original": {"oracle": None if system == LLM else False, "system": system or {}}},
    )
    write_result(result, scores, folder / "scores.json")
    if run:
        (folder / "run.json").write_text(json.dumps(run))


def rows(page: str, heading: str) -> list[str]:
    """The rows of the table under a heading, without intervals."""
    lines = page.partition(f"### {heading}\n\n")[2].partition("\n\n")[0].splitlines()
    return [re.sub(r" \([+-]?[\d.]+ to [^)]+\)", "", line) for line in lines[2:]]


def test_the_page_is_made_of_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this fails, `sgdx leaderboard` writes the page."""
    monkeypatch.chdir(ROOT)
    made = render([Path("results"), Path("models")], Path("docs"))
    assert (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8") == made


ALL = "Partial data: 2,921 of 4,201 dialogues; only 4 frames"
SUBSET = "Partial data: 2,921 of 4,201 dialogues; a subset of 292 dialogues; only 4 frames"


def test_rows_of_trackers(tmp_path: Path) -> None:
    results = tmp_path / "results"
    settings = {"augment": {"schemas": "backtrans", "ratio": 0.2}, "train_dialogues": 1217}
    add(results / "first", run={"record": {"settings": settings}})
    better = {"tracker": "mine", "train": ["original"], "augment": None}
    add(results / "better", f"{STATES}|system-acts:yes", system=better, reworded=[1, 1, 1, 0])
    add(results / "worse", f"{STATES}|system-acts:yes", system=better)
    larger = better | {"model": "runs/large", "weights": "w"}
    control = f"{STATES.replace('v1+v2+v3+v4+v5', 'control1')}|system-acts:yes"
    add(results / "larger", f"{STATES}|system-acts:yes", system=larger, reworded=[1, 1, 0, 0])
    (results / "larger" / "model.safetensors").touch()
    add(results / "control" / "any", control, system=larger, reworded=[1, 0, 0, 0])
    (results / "encoders.json").write_text('{"large": "Large, 1B"}')
    add(results / "deaf", f"{STATES}|system-acts:no", system=better)
    also = better | {"also": {"source": "many", "share": 0.5}}
    add(results / "more", f"{STATES}|system-acts:yes", system=also)
    add(results / "model", system=LLM, reworded=[0] * 4)
    add(results / "old", run={"evaluation": {}}, reworded=[0] * 4)
    of_subset = STATES.replace("|frames:900", "|dialogues:292@b0e1edf2|frames:90")
    add(results / "few", of_subset + "|predictions:made-elsewhere")
    page = render([results], tmp_path / "docs")
    alike = "50.0 | 25.0 | -25.0 | 25.0 | 25.0 | 0.0 | – | –"
    none = "50.0 | 0.0 | -50.0 | 0.0 | 50.0 | 0.0 | – | –"
    assert rows(page, ALL) == [
        "| [better](../results/better) | 50.0 | 75.0 | +25.0 | 50.0 | 25.0 | 0.0 | – | – "
        "| original | yes | – |",
        "| [larger](../results/larger) | 50.0 | 50.0 | 0.0 | 50.0 | 0.0 | 0.0 | 25.0 | Large, 1B "
        "| original | yes | weights |",
        f"| [deaf](../results/deaf) | {alike} | original | no | – |",
        f"| [first](../results/first) | {alike} "
        "| original + backtrans x 0.2, 1,217 dialogues | – | – |",
        f"| [more](../results/more) | {alike} | original + many | yes | – |",
        f"| [model](../results/model) | {none} | – (oracle: unknown) | – | – |",
        f"| [old](../results/old) | {none} | – | – | – |",
    ]
    assert rows(page, SUBSET) == [f"| [few](../results/few) | {alike} | – | – | – |"]
    interval = page.partition("[better]")[2].split("|")[2]
    low, high = map(float, re.findall(r"[\d.]+", interval)[1:])
    assert 0 <= low < 75 < high <= 100
