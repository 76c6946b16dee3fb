"""What states have beside the contract of all tasks, and arguments that no command takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from sgdx_metric.result import Result
from sgdx_metric.version import __version__

from ..conftest import Run
from ..sgdx_metric.frames import Row, written
from .conftest import SAMPLE_TEST, put, scored

Gold = dict[str, list[Row]]


def exported(command: Run, config: str, split: str = "test") -> None:
    """The gold states in the release's layout, in a folder CONFIG/test or CONFIG/dev."""
    words = ("--source", "sample", "--variant", config, "--split", split, "--output", config)
    assert command("sgdx_dataset", "export", *words).returncode == 0


def test_figures_by_hand(tmp_path: Path, command: Run, gold: Gold) -> None:
    """One frame in two is wrong under v1, always the same as nothing is shuffled."""
    wrong_row = {"active_intent": "?", "slot_values": []}
    v1 = [row if i % 2 else row | wrong_row for i, row in enumerate(gold["v1"])]
    put(tmp_path / "p", {**gold, "v1": v1}, system_acts=False)
    scores = scored(command, "p", "s.json")
    count = len(gold["original"])
    wrong = sum(bool(row["slot_values"]) for row in gold["v1"][::2])
    result = msgspec.convert(scores, Result)
    assert {f.items for f in result.figures if f.group == "all" and f.metric == "jga"} == {count}
    assert {f.group for f in result.figures} >= {"seen", "unseen", "Cabs_1"}
    assert result["jga_v1"] == pytest.approx(1 - wrong / count)
    assert result["jga_v1-5"] == pytest.approx(1 - wrong / count / 5)
    # Right under four of five: mean 0.8, sample standard deviation sqrt(0.2).
    assert result["ss_jga"] == pytest.approx(0.2**0.5 / 0.8 * wrong / count)
    assert result["slot_tagging_f1_v5"] == 1
    assert f"|frames:{count}|" in scores["signature"] and "|system-acts:no|" in scores["signature"]
    words = ("score", *SAMPLE_TEST, "--explain", "--predictions")
    printed = command("sgdx_metric", *words, "p").stdout
    assert ["JGA_orig", "100.00"] in [line.split()[:2] for line in printed.splitlines()]
    # Of one variant there is nothing to compare, and so no column and no words about it.
    printed = command("sgdx_metric", *words, "original=p/original.jsonl").stdout
    assert "every slot of its state is.\n" in printed
    assert not any(word in printed for word in ("JGA_v1-5", "JGA_flips"))
    # Of some services alone.
    chosen = ("--service", "Cabs_1", "Vets_1")
    some = scored(command, "p", "some.json", *chosen)
    ids = [row["frame_id"] for row in gold["v1"] if row["frame_id"].endswith(chosen[1:])]
    assert set(pq.read_table("some.items.parquet")["id"].to_pylist()) == set(ids)
    assert "|services:" in some["signature"]
    assert f"|services:Cabs_1+Vets_1|frames:{len(ids)}|" in some["signature"]


@pytest.mark.parametrize(("split", "folder"), [("test", "test"), ("validation", "dev")])
def test_exported_gold_is_perfect(split: str, folder: str, command: Run) -> None:
    exported(command, "v2", split)
    options = ("--source", "sample", "--split", folder)
    scores = scored(command, f"v2=v2/{folder}", "s.json", *options)
    assert {f["value"] for f in scores["figures"] if f["figure"] == "mean"} == {1.0}
    result = msgspec.convert(scores, Result)
    assert result["jga_orig"] is None and result["ss_jga"] is None
    assert f"|split:{split}|" in scores["signature"]


def test_rules_stand_in_the_signature(tmp_path: Path, command: Run, gold: Gold) -> None:
    path = written(tmp_path / "p.jsonl", gold["v1"], system_acts=True)
    rules = ("--no-fuzzy-match", "--joint-acc-across-turn")
    scores = scored(command, f"v1={path}", "s.json", *rules)
    assert scores["signature"] == (
        f"sgdx_metric|variants:v1|split:test|release:sample|frames:{len(gold['v1'])}|match:exact|"
        "joint:turn|zero-mean:0|sd:sample|canonical:said-so-far|system-acts:yes|"
        f"predictions:made-elsewhere|ci:95%-bootstrap-1000-seed-0|version:{__version__}"
    )
    assert msgspec.convert(scores, Result)["jga_v1"] == 1


def test_scoring_a_release_does_not_wait_for_datasets_pandas_or_torch(
    tmp_path: Path, gold: Gold
) -> None:
    """They take a second to import, and scoring needs nothing of them."""
    path = written(tmp_path / "v1.jsonl", gold["v1"])
    program = (
        "import runpy, sys, sgdx_dataset\n"
        "try:\n"
        "    runpy.run_module('sgdx_metric', run_name='__main__')\n"
        "except SystemExit as exit:\n"
        "    status = exit.code\n"
        "slow = {'datasets', 'huggingface_hub', 'pandas', 'torch'} & set(sys.modules)\n"
        "sys.exit(status or ' '.join(sorted(slow)) or 0)\n"
    )
    words = ["score", *SAMPLE_TEST, "--predictions", f"v1={path}", "--output", "s.json"]
    words = [sys.executable, "-c", program, *words]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "s.json").is_file()
