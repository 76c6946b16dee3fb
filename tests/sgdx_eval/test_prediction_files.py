"""Prediction files: which are meant, what is written and read, and that a file is of one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sgdx_eval.predictions import (
    Header,
    finished_names,
    prediction_paths,
    read_predictions,
    system_acts,
    with_frame_ids,
    write_predictions,
)

from ..sgdx_metric.frames import Row, prediction, reference, reference_table

HEADER = Header(
    variant="v1", split="test", system={"model": "m", "system_acts": False, "tracks": ("a",)}
)


def test_predictions_are_kept_while_their_header_would_be_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "v1.jsonl"
    assert finished_names(tmp_path, {"v1": HEADER}) == []
    write_predictions(path, replace(HEADER, counts={"frames": 1}, versions={"torch": "2"}), [])
    assert finished_names(tmp_path, {"v1": HEADER, "v2": HEADER}) == ["v1"]
    assert str(tmp_path) in capsys.readouterr().err
    cases: list[tuple[dict[str, Any], str]] = [
        ({"data": "0123456789abcdef"}, "data"),
        ({"oracle": True}, "oracle"),
        ({"system": {**HEADER.system, "model": "n"}}, "model"),
        ({"system": {"model": "m", "tracks": ["a"]}}, "system_acts"),
        ({"system": {**HEADER.system, "seed": 1}}, "seed"),
    ]
    for changes, key in cases:
        assert finished_names(tmp_path, {"v1": replace(HEADER, **changes)}) == []
        assert f"{tmp_path}: predicting again, as the {key} of v1 " in capsys.readouterr().err
    path.write_text("no header")
    assert finished_names(tmp_path, {"v1": HEADER}) == []


@pytest.mark.parametrize(
    ("stated", "expected"),
    [([True, True], "yes"), ([False, None], "mixed"), ([False], "no"), ([None, "yes"], "unknown")],
)
def test_whether_dialogue_acts_were_used(stated: list[Any], expected: str) -> None:
    headers = {str(i): Header(system={"system_acts": acts}) for i, acts in enumerate(stated)}
    assert system_acts(headers) == expected


GOOD = json.dumps(prediction({"city": ["Rome"]}))
KNOWN = ("original", "v1", "v2", "mine")


def written(path: Path, *lines: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


# ---- the layout of the release


def frame(service: str, values: dict[str, list[str]]) -> Row:
    state = {"active_intent": "FindHotel", "requested_slots": [], "slot_values": values}
    return {"service": service, "slots": [], "actions": [], "state": state}


def turn(speaker: str, *frames: Row) -> Row:
    return {"speaker": speaker, "utterance": "any", "frames": list(frames)}


def dialogue(*turns: Row) -> str:
    named = {"dialogue_id": "1_00000", "services": ["Hotels_11", "Banks_21"]}
    return json.dumps([named | {"turns": turns}])


FIRST = turn("USER", frame("Hotels_11", {"city": ["Rome"]}))
SECOND = turn("USER", frame("Banks_21", {}), frame("Hotels_11", {"city": ["Pisa"]}))
IDS = ["1_00000/0/Hotels_1", "1_00000/2/Banks_2", "1_00000/2/Hotels_1"]
REFERENCES = reference_table(
    *(reference(frame_id=frame_id, service=f"{frame_id.split('/')[-1]}1") for frame_id in IDS)
)


@pytest.mark.parametrize(
    "turns",
    [
        (FIRST, turn("SYSTEM", {"service": "Hotels_11", "slots": 7}), SECOND),
        (FIRST, SECOND),  # the system's turns are no matter
        (turn("SYSTEM"), FIRST, turn("SYSTEM"), turn("SYSTEM"), SECOND),
    ],
)
def test_directory_gives_the_rows_of_jsonl(tmp_path: Path, turns: tuple[Row, ...]) -> None:
    written(tmp_path / "dialogues_001.json", dialogue(*turns))
    written(tmp_path / "dialogues_and_metrics.json", "the official scorer's")
    rows = with_frame_ids(read_predictions(tmp_path, "test", "v1"), REFERENCES).to_pylist()
    expected = [
        prediction(values, frame_id, variant="v1", slots=[])
        for values, frame_id in zip([{"city": ["Rome"]}, {}, {"city": ["Pisa"]}], IDS)
    ]
    assert rows == expected


# ---- which files are meant


def test_a_folder_has_the_paths_of_the_known_variants(tmp_path: Path) -> None:
    for name in ("v1.jsonl", "original.jsonl", "README.md", "run.json", "scores.json", "v9.jsonl"):
        written(tmp_path / name, "any")
    for name in ("mine", "shards"):
        written(tmp_path / name / "dialogues_001.json", "[]")
    assert list(prediction_paths(tmp_path, KNOWN).items()) == [
        ("original", tmp_path / "original.jsonl"),
        ("v1", tmp_path / "v1.jsonl"),
        ("mine", tmp_path / "mine"),
    ]


def test_a_folder_may_have_a_sign_of_equality_in_its_name(tmp_path: Path) -> None:
    path = written(tmp_path / "lr=3e-4" / "v1.jsonl", GOOD)
    for given in ([str(path.parent)], [f"v1={path}"]):
        assert prediction_paths(given, KNOWN) == {"v1": path}


def test_a_file_that_states_another_variant_than_its_name_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "v1.jsonl", GOOD)
    written(tmp_path / "v6.jsonl", '{"metadata": {"variant": "v1"}}', GOOD)
    written(tmp_path / "answers.jsonl", '{"key": "x"}')
    prediction_paths(tmp_path, ["original", "v1"], notes=True)
    (line,) = capsys.readouterr().err.splitlines()
    assert "v6" in line and "answers" not in line
