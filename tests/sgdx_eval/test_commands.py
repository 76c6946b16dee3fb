"""`python -m sgdx_metric` on the shipped sample."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pyarrow.parquet as pq
import pytest

from sgdx_dataset import open_release
from sgdx_dataset.release.open import SAMPLE as SOURCE
from sgdx_metric.scoring import METRICS

from ..conftest import Run
from ..sgdx_metric.frames import Row, written
from .conftest import Subject, put

SAMPLE = ("--source", "sample", "--split", "test")
SCORE = ("sgdx_metric", "score", "--source", "sample", "--split", "test", "--output", "s.json")


def test_score_writes_json_and_prints_a_table(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    arguments = []
    for variant, rows in gold.items():
        # One frame in two is wrong under v1, always the same as nothing is shuffled.
        kept = [
            row if variant != "v1" or i % 2 else row | {"active_intent": "?", "slot_values": []}
            for i, row in enumerate(rows)
        ]
        path = written(tmp_path / f"{variant}.jsonl", kept, variant=variant, system_acts=False)
        arguments += ["--predictions", f"{variant}={path}"]
    done = command(*SCORE, *arguments)
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "s.json").read_text())
    count = len(gold["original"])
    wrong = sum(bool(row["slot_values"]) for row in gold["v1"][::2])
    assert scores["frames"]["all"] == count
    assert scores["frames"]["seen"] > 0 and scores["frames"]["unseen"] > 0
    assert scores["sgdx"]["by_variant"]["v1"] == pytest.approx(1 - wrong / count)
    assert scores["sgdx"]["jga_v1-5"] == pytest.approx(1 - wrong / count / 5)
    # Right under four of five: mean 0.8, sample standard deviation sqrt(0.2).
    assert scores["sgdx"]["ss_jga"] == pytest.approx(0.2**0.5 / 0.8 * wrong / count)
    assert scores["variants"]["v5"]["#ALL_SERVICES"]["slot_tagging_f1"] == 1
    assert f"|frames:{count}|" in scores["signature"] and "|system-acts:no|" in done.stdout
    assert scores["signature"] in done.stdout
    assert ["JGA_orig", "100.00"] in [line.split()[:2] for line in done.stdout.splitlines()]
    tables = done.stdout.partition("sgdx_metric|")[0].splitlines()
    assert all(len(line) <= 80 for line in tables)
    assert sorted(p.name for p in tmp_path.glob("*.json")) == ["s.json"]


def test_exported_gold_is_perfect(tmp_path: Path, command: Run) -> None:
    out = ("--config", "v2", "--split", "test", "--output", tmp_path)
    exported = command("sgdx_dataset", "export", "--source", "sample", *out)
    assert exported.returncode == 0, exported.stderr
    done = command(*SCORE, "--predictions", f"v2={tmp_path / 'test'}")
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "s.json").read_text())
    means = scores["variants"]["v2"]["#ALL_SERVICES"]
    assert set(means.values()) == {1.0}
    assert scores["sgdx"]["jga_orig"] is None and scores["sgdx"]["ss_jga"] is None


def test_rules_stand_in_the_signature(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    path = written(tmp_path / "p.jsonl", gold["v1"], system_acts=True)
    rules = ("--no-fuzzy-match", "--joint-acc-across-turn", "--zero-mean", "drop")
    done = command(*SCORE, "--predictions", f"v1={path}", *rules)
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "s.json").read_text())
    assert scores["signature"] == (
        f"sgdx_metric|variants:v1|split:test|release:sample|frames:{len(gold['v1'])}|match:exact|"
        "joint:turn|zero-mean:drop|sd:sample|canonical:said-so-far|system-acts:yes|"
        "predictions:made-elsewhere|"
        "ci:95%-bootstrap-1000-seed-0|version:0.1.0"
    )
    assert scores["variants"]["v1"]["#ALL_SERVICES"]["joint_goal_accuracy"] == 1


def test_variants_of_ones_own(tmp_path: Path, command: Run) -> None:
    """Sensitivity over any variants under its own name: here one worded like v2, and v1."""
    arguments: list[object] = []
    for variant, config in {"mine": "v2", "v1": "v1"}.items():
        out = ("--config", config, "--split", "test", "--output", tmp_path / variant)
        exported = command("sgdx_dataset", "export", "--source", "sample", *out)
        assert exported.returncode == 0, exported.stderr
        arguments += ["--predictions", f"{variant}={tmp_path / variant / 'test'}"]
    done = command(*SCORE, *arguments, "--variant", f"mine={tmp_path / 'mine'}")
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "s.json").read_text())
    assert scores["sgdx"]["by_variant"] == {"mine": 1, "v1": 1}
    assert scores["sgdx"]["ss_jga"] is None  # It is of the paper's variants, and v1 is alone.
    assert scores["sgdx"]["ss_jga(v1+mine)"] == 0
    assert re.search(r"\|variants:mine@[0-9a-f]{8}\+v1\|", scores["signature"])


def test_some_services_alone(tmp_path: Path, command: Run, gold: dict[str, list[Row]]) -> None:
    path = written(tmp_path / "p.jsonl", gold["v1"])
    words = ("--predictions", f"v1={path}", "--service", "Cabs_1", "Vets_1")
    done = command(*SCORE, *words)
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "s.json").read_text())
    services = [frame_id.rpartition("/")[2] for frame_id in scores["paired"]["frame_id"]]
    expected = [row["frame_id"].rpartition("/")[2] for row in gold["v1"]]
    assert set(services) == {"Cabs_1", "Vets_1"}
    assert len(services) == sum(name in ("Cabs_1", "Vets_1") for name in expected)
    assert f"|services:Cabs_1+Vets_1|frames:{len(services)}|" in scores["signature"]
    (tmp_path / "s.json").unlink()
    line = failed(tmp_path, command, "--predictions", f"v1={path}", "--service", "Cabs_11")
    assert "--service Cabs_11" in line and "Cabs_1," in line
    changed = ("sgdx_metric", "explain", "--changed", "v1", "v2", *SAMPLE, *words)
    other = written(tmp_path / "q.jsonl", gold["v2"])
    done = command(*changed, "--predictions", f"v2={other}")
    assert f"0 of {len(services)} frames score less" in done.stdout
    done = command(*changed, "--predictions", f"v2={other}", "--service", "Cabs_11")
    assert done.returncode == 2 and "--service Cabs_11" in done.stderr


def test_system_acts_are_set_where_the_predictions_do_not_say(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    silent = written(tmp_path / "v1.jsonl", gold["v1"])
    saying = written(tmp_path / "v2.jsonl", gold["v2"], system_acts=True)
    both = ("--predictions", f"v1={silent}", "--predictions", f"v2={saying}")
    line = failed(tmp_path, command, *both, "--system-acts", "no")
    assert "--system-acts no: the predictions for v2 say 'yes' themselves" in line
    done = command(*SCORE, *both, "--system-acts", "yes")
    assert done.returncode == 0, done.stderr
    assert "|system-acts:yes|" in json.loads((tmp_path / "s.json").read_text())["signature"]


def test_another_variants_predictions_are_suspected(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    rows = [row | {"variant": "v1"} for row in gold["v4"]]
    path = written(tmp_path / "p.jsonl", [row | {"slots": None} for row in rows])
    done = command(*SCORE, "--predictions", f"v1={path}")
    assert done.returncode == 0
    assert re.fullmatch(
        r"warning: v1: \d+ % of the predicted slots are not in its schemas; are these the "
        r"predictions for another variant\?\n",
        done.stderr,
    )
    scores = json.loads((tmp_path / "s.json").read_text())
    predicted = sum(len(row["slot_values"]) for row in rows)
    assert scores["predicted_slots"] == {"v1": predicted}
    assert f"v1: ignored {scores['ignored_slots']['v1']} predicted slots (" in done.stdout


def test_the_services_of_a_wrong_frame_id_s_turn_are_named(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    rows = [*gold["v1"]]
    rows[0] = rows[0] | {"frame_id": "1_00000/0/Cabs_11"}
    line = failed(tmp_path, command, "--predictions", f"v1={written(tmp_path / 'p.jsonl', rows)}")
    assert line.endswith(
        "that turn has 1_00000/0/Cabs_1: an id ends in the service's original name"
    )


def test_dev_is_validation(tmp_path: Path, command: Run) -> None:
    out = ("--config", "v2", "--split", "validation", "--output", tmp_path)
    exported = command("sgdx_dataset", "export", "--source", "sample", *out)
    assert exported.returncode == 0, exported.stderr
    done = command(*SCORE, "--split", "dev", "--predictions", f"v2={tmp_path / 'dev'}")
    assert done.returncode == 0, done.stderr
    assert "|split:validation|" in json.loads((tmp_path / "s.json").read_text())["signature"]


def failed(tmp_path: Path, command: Run, *arguments: object) -> str:
    """The one line of a command that must fail and leave nothing."""
    done = command(*SCORE, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert not (tmp_path / "s.json").exists()
    (line,) = done.stderr.splitlines()
    return line


def test_predictions_are_refused_before_the_source_is_opened(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """The source does not exist, which would be the error if it had been opened."""
    good = written(tmp_path / "v1.jsonl", gold["v1"])
    bad = written(tmp_path / "v2.jsonl", gold["v1"])
    dev = written(tmp_path / "v3.jsonl", gold["v3"], split="validation")
    both = ("--source", "nowhere", "--predictions", f"v1={good}", "--predictions")
    for arguments, message in (
        (("v2=none.jsonl",), "none.jsonl: No such file or directory"),
        ((f"v2={bad}",), "v2.jsonl:1: variant is 'v1', not 'v2'"),
        ((f"v3={dev}",), "v3.jsonl:1: metadata: split is "),
        ((f"v2={tmp_path}",), "found no dialogues_*.json"),
    ):
        assert message in failed(tmp_path, command, *both, *arguments)
    line = failed(tmp_path, command, "--source", "nowhere", "--predictions", f"v1={good}")
    assert line.startswith("sgdx_metric: error: nowhere: no such source")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--predictions", "p.jsonl"],
            "--predictions p.jsonl: found no such folder",
        ),
        (["--predictions", "v1=.", "--predictions", "v1=q"], "variant 'v1' appears twice"),
        (["--predictions", "v1=nowhere"], "nowhere: No such file or directory"),
        (["--predictions", "v1=p", "--split", "all"], "argument --split: invalid choice: 'all'"),
        ([], "the following arguments are required: --predictions"),
        (["--predictions", "v1=p", "--per-frame", "f.csv"], "name ending in .parquet or .jsonl"),
        (["--predictions", "v1=p", "--zero-mean", "nan"], "argument --zero-mean: invalid choice"),
        (["--predictions", "v1=p", "--variant", "mine"], "--variant mine: expected NAME=PATH"),
        (
            ["--predictions", "v1=p", "--references", "f"],
            "--references f: found --source or --",
        ),
        (["--predictions", "v1=p", "--output", "."], "--output .: found a folder"),
    ],
)
def test_bad_arguments(tmp_path: Path, command: Run, arguments: list[str], message: str) -> None:
    (tmp_path / "p").touch()
    line = failed(tmp_path, command, *arguments)
    assert line.startswith("sgdx_metric: error: ") and message in line


def test_scoring_a_release_does_not_wait_for_datasets_pandas_or_torch(
    tmp_path: Path, gold: dict[str, list[Row]]
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
    words = [sys.executable, "-c", program, *SCORE[1:], "--predictions", f"v1={path}"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "s.json").is_file()


def test_a_wording_is_the_same_where_the_data_are(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """Rows of some dialogues have some of the services, whose fingerprint is another one."""
    (tmp_path / "mine.json").write_text('{"Cabs_1": {"description": "Rides"}}')
    (tmp_path / "ids.txt").write_text("1_00000\n")
    release = open_release("sample", {"mine": str(tmp_path / "mine.json")})
    rows = [
        {**row, "variant": "mine"}
        for row in gold["original"]
        if row["frame_id"].startswith("1_00000/")
    ]
    header = {"data": release.data_digest("test", "mine"), "wording": "of all services"}
    path = written(tmp_path / "p.jsonl", rows, **header)
    config = ("--source", "sample", "--variant", "mine=mine.json", "--config", "mine")
    choice = ("--split", "test", "--dialogues", "ids.txt")
    made = command("sgdx_dataset", "frames", *config, *choice, "--output", "rows")
    assert made.returncode == 0, made.stderr
    inputs = ("--references", "rows", "--predictions", f"mine={path}")
    done = command("sgdx_metric", "score", "--output", "s.json", *inputs)
    assert done.returncode == 0, done.stderr
    assert "predictions:" not in json.loads((tmp_path / "s.json").read_text())["signature"]


def test_a_seen_service_that_is_lost_changes_the_signature(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    copytree(SOURCE, tmp_path / "source")
    schema = tmp_path / "source" / "train" / "schema.json"
    evaluated = {row["frame_id"].split("/")[-1] for row in gold["original"]}
    services = json.loads(schema.read_text())
    lost = next(s for s in services if s["service_name"] in evaluated)
    schema.write_text(json.dumps([s for s in services if s != lost]))
    for file in (tmp_path / "source" / "sgd_x").glob("data/*/train/schema.json"):
        file.unlink()
    path = written(tmp_path / "p.jsonl", gold["original"])
    done = command(*SCORE, "--source", "source", "--predictions", f"original={path}")
    assert done.returncode == 0, done.stderr
    assert "|release:unverified:" in json.loads((tmp_path / "s.json").read_text())["signature"]


def test_per_frame_scores_have_the_means_of_scores_json(
    tmp_path: Path, command: Run, subjects: dict[str, Subject]
) -> None:
    predictions = put(tmp_path / "p", subjects["state"].bad)
    done = command(*SCORE, "--predictions", predictions, "--per-frame", "f.parquet")
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "s.json").read_text())
    frames = pq.read_table("f.parquet").to_pandas()
    assert list(frames.columns) == ["frame_id", "variant", "service", "seen", *METRICS]
    for variant, rows in frames.groupby("variant"):
        means = rows[list(METRICS)].mean()
        expected = scores["variants"][variant]["#ALL_SERVICES"]
        assert dict(means) == pytest.approx({metric: expected[metric] for metric in METRICS})
    # Undefined is null: no value in the state, no average.
    assert frames["average_goal_accuracy"].isna().any()
