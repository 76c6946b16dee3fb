"""Explanations of calls: literal lines, flips, and the command on calls of the sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import frame_tables, open_release
from sgdx_eval.explain import explain, find_flips
from sgdx_eval.tasks import Calls
from sgdx_metric.calls import CALL_PREDICTION, CALL_REFERENCE
from sgdx_metric.signature import Rules

from ..conftest import Run
from ..sgdx_metric.call_rows import GOLD, STATE, call, reference, table

FRAME = "0/0/Cabs_1"
RIGHT = {"time": "6:15 pm", "riders": "2"}


def lines_of(made: dict[str, Any] | None, rules: Rules | None = None) -> list[tuple[Any, ...]]:
    """Aspect, expected, given, score and reason of each line."""
    true = table([reference(0, GOLD, **STATE)], CALL_REFERENCE)
    row = {"frame_id": FRAME, "variant": "original", "service_call": made}
    predicted = table([row], CALL_PREDICTION)
    lines = explain(FRAME, {"original": true}, {"original": predicted}, Calls(), rules or Rules())
    return [(line.aspect, line.reference, line.predicted, line.score, line.why) for line in lines]


TIME = ["quarter past six", "6:15 pm", "18:15"]  # as it was spoken, and the canonical value
ORDER = ["Cabs_1.OrderCab"]


def test_a_right_call() -> None:
    assert lines_of(call("OrderCab", **RIGHT)) == [
        ("call", [], [], 1, "product"),
        ("function", ORDER, ORDER, 1, "equal"),
        ("time", TIME, ["6:15 pm"], 1, "equal"),
        ("riders", ["2"], ["2"], 1, "equal"),
    ]
    assert lines_of(call("OrderCab", time="18:15", riders="2"))[2] == (
        "time", TIME, ["18:15"], 1, "canonical value",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("made", "wrong"),
    [
        (call("CancelCab", **RIGHT),
         ("function", ORDER, ["Cabs_1.CancelCab"], 0, "another intent")),
        (None, ("function", ORDER, [], 0, "no call")),
        (None, ("time", TIME, [], 0, "missing")),
        (call("OrderCab", "Zoos_1", time="6:15 pm"),
         ("function", ORDER, ["Zoos_1.OrderCab"], 0, "another API")),
        (call("OrderCab", "Zoos_1", time="6:15 pm"), ("time", TIME, [], 0, "missing")),
        (call("OrderCab", "Zoos_1", time="6:15 pm"),
         ("time", [], ["6:15 pm"], None, "of another API")),
        (call("OrderCab", time="6:15 pm", riders="two"), ("riders", ["2"], ["two"], 0, "differs")),
        (call("OrderCab", **RIGHT, shared="True"), ("shared", [], ["True"], 0, "extra")),
        (call("OrderCab", **RIGHT, shared="dontcare"),
         ("shared", [], ["dontcare"], 1, "no value: counts as left out")),
        (call("OrderCab", time="dontcare", riders="2"),
         ("time", TIME, ["dontcare"], 0, "missing: counts as left out")),
        (call("OrderCab", **RIGHT, colour="red"),
         ("colour", [], ["red"], None, "ignored: not a slot")),
        (call("OrderCab", time="6:15 am", riders="2"),
         ("time", TIME, ["6:15 am"], pytest.approx(0.86), 'fuzzy 86 against "6:15 pm"')),
    ],
)  # fmt: skip
def test_what_is_wrong(made: dict[str, Any] | None, wrong: tuple[Any, ...]) -> None:
    assert wrong in lines_of(made)


def test_without_fuzzy_match() -> None:
    lines = lines_of(call("OrderCab", time="6:15 am", riders="2"), Rules(use_fuzzy_match=False))
    assert ("time", TIME, ["6:15 am"], 0, "differs") in lines
    assert lines[0] == ("call", [], [], 0, "product")


def test_flips() -> None:
    """The first call flips as the function under v1 is another one, the second never."""
    true, predicted = {}, {}
    for name, method in (("original", "OrderCab"), ("v1", "CancelCab")):
        rows = [reference(0, GOLD, **STATE), reference(1, GOLD, **STATE)]
        true[name] = table(rows, CALL_REFERENCE)
        made = [call(method, **RIGHT), call("OrderCab", **RIGHT)]
        predicted[name] = table(
            [
                {"frame_id": f"{i}/0/Cabs_1", "variant": name, "service_call": one}
                for i, one in enumerate(made)
            ],
            CALL_PREDICTION,
        )
    (flip,), right, count = find_flips(true, predicted, Calls())
    assert (flip.frame_id, flip.right, flip.wrong) == (FRAME, ["original"], ["v1"])
    ((before, after),) = flip.changes
    assert (before.aspect, before.predicted, after.predicted, after.why) == (
        "function", ORDER, ["Cabs_1.CancelCab"], "another intent",
    )  # fmt: skip
    assert (right, count) == (1, 2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The sample's calls under two wordings; under v3 the first one is of no intent."""
    release = open_release("sample")
    for variant in ("original", "v3"):
        rows = frame_tables(release, "test", variant, ["frame_id", "service", "service_call"])
        lines: list[str] = []
        for row in rows.to_pylist():
            if row["service_call"]:
                made = {**row["service_call"], "service": row["service"]}
                if variant == "v3" and not lines:
                    made |= {"method": "Other"}
                fields = {"frame_id": row["frame_id"], "variant": variant, "service_call": made}
                lines.append(json.dumps(fields))
        (tmp_path / f"{variant}.jsonl").write_text("\n".join(lines))
    return tmp_path


def test_the_command(command: Run, folder: Path) -> None:
    words = ("explain", "--source", "sample", "--predictions", folder)
    first = json.loads((folder / "v3.jsonl").read_text().split("\n")[0])["frame_id"]
    flips = command("sgdx_metric", *words, "--flips")
    assert flips.returncode == 0, flips.stderr
    assert "Calls that are right under one wording and wrong under another" in flips.stdout
    assert "1 of 73 calls (1.37 %) flip; 72 are right under every wording (98.63 %)" in flips.stdout
    assert "another" in flips.stdout and max(map(len, flips.stdout.splitlines())) <= 80
    shown = command("sgdx_metric", *words, first)
    assert shown.returncode == 0, shown.stderr
    assert "user:" in shown.stdout and "another" in shown.stdout and "function" in shown.stdout
    changed = command("sgdx_metric", *words, "--changed", "original", "v3")
    assert "Accuracy of calls, in %" in changed.stdout
    assert "1 of 73 calls score less under v3 than under original" in changed.stdout


def test_a_frame_without_a_call(command: Run, folder: Path) -> None:
    words = ("explain", "--source", "sample", "--predictions", folder)
    first = json.loads((folder / "v3.jsonl").read_text().split("\n")[0])["frame_id"]
    dialogue = first.rsplit("/", 2)[0]
    rows = frame_tables(open_release("sample"), "test", "original", ["frame_id", "service_call"])
    silent = next(
        row["frame_id"]
        for row in rows.to_pylist()
        if row["service_call"] is None and row["frame_id"].startswith(f"{dialogue}/")
    )
    done = command("sgdx_metric", *words, silent)
    assert done.returncode == 2
    assert f"found no call after frame {silent}, expected one of the " in done.stderr
    assert first in done.stderr


def test_calls_and_states_are_not_explained_together(command: Run, folder: Path) -> None:
    state = {"active_intent": "NONE", "requested_slots": [], "slot_values": []}
    row = {"frame_id": "1/0/A_1", "variant": "original", **state}
    (folder / "original.jsonl").write_text(json.dumps(row))
    done = command("sgdx_metric", "explain", "--source=sample", "--predictions", folder, "--flips")
    assert done.returncode == 2
    assert "v3.jsonl:1" in done.stderr
