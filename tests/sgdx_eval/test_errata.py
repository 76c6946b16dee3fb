"""Slots whose annotations contradict each other are left out of the frames that are listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError, frame_tables, open_release
from sgdx_eval.errata import Errata, leave_out, read_errata
from sgdx_metric.scoring import score_frames

from ..conftest import ROOT, Run
from ..sgdx_metric.frames import (
    Row,
    prediction,
    prediction_table,
    reference,
    reference_table,
    written,
)

FIRST, SECOND = "1_00000/0/Hotels_1", "1_00000/2/Hotels_1"
TRUE = {"city": ["Rome"], "stars": ["3"]}


def test_a_listed_slot_counts_no_longer_whatever_its_name() -> None:
    """The stars are the third slot; under another wording they go by another name."""
    schema = {"town": False, "title": False, "rating": True, "wireless": True}
    rated = {"town": ["Rome"], "rating": ["3"]}
    frames = reference_table(reference(TRUE, FIRST), reference(rated, SECOND, schema))
    guesses = prediction_table(
        prediction({"town": ["Rome"], "rating": ["4"], "odd": ["1"]}, SECOND),
        prediction({"city": ["Rome"], "stars": ["4"]}, FIRST),
    )
    errata = Errata({SECOND: {2}, "9/0/Hotels_1": {0}}, "")
    true, predicted, count = leave_out(frames, guesses, errata)
    assert count == 1
    scores = score_frames(true, predicted, "v1")
    assert scores.frame_id.to_pylist() == [FIRST, SECOND]
    assert scores.scores["joint_goal_accuracy"].tolist() == [0, 1]
    assert scores.scores["average_goal_accuracy"].tolist() == [0.5, 1]
    # The slot that the schema never had is ignored as ever, and the listed one is not.
    assert (scores.ignored_slots, scores.predicted_slots) == (1, 4)
    before = score_frames(frames, guesses, "v1").scores["joint_goal_accuracy"]
    assert before.tolist() == [0, 0]


def test_a_schema_that_is_not_that_of_sgd_is_refused() -> None:
    frames, guesses = reference_table(reference(TRUE)), prediction_table(prediction(TRUE))
    with pytest.raises(SgdxError, match="has 4 slots in its schema, expected 13 at least"):
        leave_out(frames, guesses, Errata({FIRST: {12}}, ""))


def test_the_list_of_a_split() -> None:
    errata = read_errata("test")
    assert errata.positions["18_00022/4/Flights_4"] == {12}
    assert len(errata.positions) == 303
    assert errata.mark == "left-out@5ecb80b2"


def test_the_list_has_ids_and_no_texts() -> None:
    lines = (ROOT / "sgdx_eval" / "errata.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    assert len(rows) == 584 and rows == sorted(rows)
    assert {row[0] for row in rows} == {"train", "validation", "test"}
    kinds = {kind for row in rows for kind in row[6].split(",")}
    assert kinds == {"offered", "lost", "unsaid", "same words"}
    for _, dialogue_id, service, slot, position, turns, _ in rows:
        assert dialogue_id.replace("_", "").isdigit() and position.isdigit()
        assert service.replace("_", "").isalnum() and slot.replace("_", "").isalnum()
        numbers = list(map(int, turns.split(",")))
        assert numbers == sorted(set(numbers))


def test_the_sample_has_no_errata(tmp_path: Path, command: Run, gold: dict[str, list[Row]]) -> None:
    path = written(tmp_path / "v1.jsonl", gold["v1"])
    done = command("sgdx_metric", "score", "--source", "sample", "--predictions", f"v1={path}",
                   "--without-errata", "--output", "s.json")  # fmt: skip
    assert done.returncode == 2 and not Path("s.json").exists()
    assert "--without-errata: found the references 'sample', expected those of SGD" in done.stderr


@pytest.mark.release
def test_a_dialogue_of_sgd(tmp_path: Path, release_archive: Path, command: Run) -> None:
    """The state that nobody could tell is left out, under the original wording and another."""
    release = open_release(str(release_archive))
    keys = ["frame_id", "variant", "active_intent", "requested_slots", "slot_values"]
    arguments = []
    for variant in ("original", "v5"):
        rows = frame_tables(release, "test", variant, [*keys, "schema_slots"]).to_pylist()
        chosen = [row for row in rows if row["frame_id"].startswith("18_00022/")]
        for row in chosen:
            schema = row.pop("schema_slots")
            if row["frame_id"].endswith("/Flights_4"):
                unsaid = schema[12]["name"]
                row["slot_values"] = [s for s in row["slot_values"] if s["slot"] != unsaid]
        path = written(tmp_path / f"{variant}.jsonl", chosen)
        arguments += ["--predictions", f"{variant}={path}"]
    (tmp_path / "ids.txt").write_text("18_00022\n")
    words = ("sgdx_metric", "score", "--source", release_archive, "--dialogues", "ids.txt")
    assert command(*words, *arguments, "--output", "with.json").returncode == 0
    done = command(*words, *arguments, "--without-errata", "--output", "without.json")
    assert done.returncode == 0, done.stderr
    assert "note: 5 slots of frames under each variant are left out" in done.stderr
    scores = [json.loads((tmp_path / name).read_text()) for name in ("with.json", "without.json")]
    by_variant = [result["sgdx"]["by_variant"] for result in scores]
    assert by_variant[1] == {"original": 1, "v5": 1}
    assert max(by_variant[0].values()) < 1
    assert "|errata:left-out@5ecb80b2|frames:" in scores[1]["signature"]
    done = command("sgdx_metric", "compare", "with.json", "without.json")
    assert done.returncode == 2
    assert "errata is 'left-out@5ecb80b2' in the signature, and 'counted' in that of" in done.stderr
