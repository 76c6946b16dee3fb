"""Accuracy of API calls: literal scores, sensitivity, and files that cannot be scored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sgdx_metric.calls import CALL_PREDICTION, CALL_REFERENCE, report_calls, score_calls
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.errors import ScoreError
from sgdx_metric.figures import over_variants, variant_differences
from sgdx_metric.signature import Setup
from sgdx_metric.units import Items, Scores

from .call_rows import GOLD, REFERENCES, STATE, call, predictions, reference, table

TRUE = table(REFERENCES, CALL_REFERENCE)
RIGHT = call("OrderCab", time="6:15 pm", riders="2")


@pytest.mark.parametrize(
    ("made", "name", "arguments"),
    [
        (RIGHT, 1, 1),
        (call("OrderCab", time="18:15", riders="2"), 1, 1),
        (call("OrderCab", riders="2", time="past six quarter"), 1, 1),
        (call("OrderCab", time="6:15 am", riders="2"), 1, 0.86),
        (call("OrderCab", time="18:16", riders="2"), 1, 0.5),
        (call("OrderCab", time="6:15 pm"), 1, 0),
        (call("OrderCab", time="6:15 pm", riders="two"), 1, 0),
        (call("OrderCab", time="6:15 pm", riders="2", shared="True"), 1, 0),
        (call("OrderCab", time="6:15 pm", riders="2", unknown="x"), 1, 1),
        (call("OrderCab", time="6:15 pm", riders="2", shared="dontcare"), 1, 1),
        (call("OrderCab", time="dontcare", riders="2"), 1, 0),
        (call("CancelCab", time="6:15 pm", riders="2"), 0, 1),
        (call("OrderCab", "Cabs_2", time="6:15 pm", riders="2"), 0, 0),
        (None, 0, 0),
    ],
)
def test_a_call(made: dict[str, Any] | None, name: float, arguments: float) -> None:
    found = score_calls(TRUE, predictions(made, RIGHT), "original")
    assert found.frame_id.to_pylist() == ["0/0/Cabs_1", "1/0/Cabs_1"]
    scores = [found.scores[f"call{part}_accuracy"].tolist() for part in ("_name", "_argument", "")]
    assert scores[0] == [name, 1]
    assert scores[1:] == [[pytest.approx(of), 1] for of in (arguments, name * arguments)]
    assert (found.seen.tolist(), found.decision) == ([True, False], None)


def test_the_decision_to_call_stands_apart() -> None:
    """It is one of turns: where another service is called, there was nothing to decide."""
    found = score_calls(TRUE, predictions(RIGHT, None, RIGHT), "original")
    assert found.decision == {"precision": 0.5, "recall": 0.5}
    assert found.scores["call_accuracy"].tolist() == [1, 0]
    once = score_calls(TRUE, predictions(RIGHT, None, None), "original")
    assert once.decision == {"precision": 1.0, "recall": 0.5}
    other = {**reference(0, None, **STATE), "frame_id": "0/0/Zoos_1", "service": "Zoos_1"}
    rows = table([REFERENCES[0], other], CALL_REFERENCE)
    for calls in ((RIGHT, None), (None, RIGHT)):
        predicted = [
            {"frame_id": frame_id, "variant": "original", "service_call": one}
            for frame_id, one in zip(("0/0/Cabs_1", "0/0/Zoos_1"), calls, strict=True)
        ]
        found = score_calls(rows, table(predicted, CALL_PREDICTION), "original")
        assert found.decision is None
        assert found.scores["call_accuracy"].tolist() == [calls[0] is RIGHT]


def cases(by_variant: dict[str, list[float]], dialogue: Ints) -> Scores:
    """Scores of cases by variant, and the number of each case's dialogue [cases]."""
    count = len(dialogue)
    ids = pa.array(map(str, range(count)), pa.string())
    items = Items(ids, dialogue, np.arange(count), np.array([""] * count, dtype=object), {})
    rows: Floats = np.array([*by_variant.values()], dtype=float)
    return Scores([*by_variant], items, {"score": rows})


def test_figures_over_variants() -> None:
    scores = {
        name: score_calls(TRUE, predictions(RIGHT, None if name == "v1" else RIGHT), name)
        for name in ("original", "v1", "v2", "v3", "v4", "v5")
    }
    found = report_calls(scores, 3, Setup("test", "sample"))
    figures = found["calls"]["call_accuracy"]
    assert (figures["original"], figures["by_variant"]["v1"]) == (1.0, 0.5)
    assert figures["v1-5"] == pytest.approx(0.9) and figures["drop"] == pytest.approx(-0.1)
    # Scores 0, 1, 1, 1, 1: mean 0.8, sample deviation 0.4472; the other call never varies.
    assert figures["sensitivity"] == pytest.approx((0.2**0.5) / 0.8 / 2)
    # One of the two calls is wrong under v1 alone.
    assert (figures["worst"], figures["flips"]) == (0.5, 0.5)
    assert figures["confidence"]["worst"] == [0, 1] and figures["unseen"]["flips"] == 1
    assert figures["confidence"]["drop"] == pytest.approx([-0.2, 0.0])
    assert (figures["seen"]["drop"], figures["unseen"]["v1-5"]) == (0.0, pytest.approx(0.8))
    assert found["calls"]["task_success"]["worst"] == 0.5
    assert found["calls"]["task_success"]["unseen"]["by_variant"]["v1"] == 0.0
    assert (found["differences"]["v1"]["difference"], found["dialogues"]) == (-0.5, 2)
    data = "variants:original+v1+v2+v3+v4+v5|split:test|release:sample|frames:2|"
    assert found["signature"].startswith(f"sgdx_metric|task:calls|{data}")


def test_figures_over_any_variants() -> None:
    """Three dialogues with two calls each, under the original and two variants of one's own."""
    dialogue = np.array([0, 0, 1, 1, 2, 2])
    scores = {
        "original": [1.0, 1, 1, 1, 1, 0],
        "mine": [1.0, 1, 1, 0, 1, 0],
        "theirs": [1.0, 1, 0, 0, 1, 0],
    }
    figures = over_variants(cases(scores, dialogue), "score")
    assert figures["by_variant"] == pytest.approx({"original": 5 / 6, "mine": 4 / 6, "theirs": 0.5})
    assert figures["original"] == pytest.approx(5 / 6)
    assert figures["reworded"] == pytest.approx(7 / 12)
    assert figures["drop"] == pytest.approx(-0.25)
    assert figures["v1-5"] is None
    assert (figures["worst"], figures["flips"]) == (0.5, pytest.approx(2 / 6))
    # Of the reworded, only the third call varies: 1 and 0, mean 0.5, sample deviation 0.7071.
    assert figures["sensitivity"] == pytest.approx(2**0.5 / 6)
    # Drawn with replacement, all three are the dialogue that loses 3 of 4 in one of 27 draws.
    assert figures["confidence"]["drop"] == pytest.approx([-0.75, 0.0])
    # Of the 8 ways to swap dialogues, all are as far: only the second dialogue differs.
    assert figures["p"] == 1.0
    found = variant_differences(cases(scores, dialogue), "score")
    # The dialogues lose 0, 2 and 0 of 2 calls: all three may be the second one, or none.
    assert list(found) == ["mine", "theirs"]
    assert found["theirs"]["difference"] == pytest.approx(-2 / 6)
    assert (found["theirs"]["low"], found["theirs"]["high"]) == (-1.0, 0.0)
    mine = cases({"mine": scores["mine"]}, dialogue)
    assert variant_differences(mine, "score")["mine"]["p"] is None


def test_undefined_scores_and_single_variants() -> None:
    figures = over_variants(cases({"mine": [1.0, np.nan, 0.0]}, np.arange(3)), "score")
    assert figures["by_variant"] == {"mine": 0.5}
    assert figures["reworded"] == 0.5
    assert {figures[key] for key in ("original", "drop", "p", "worst", "sensitivity")} == {None}
    nothing = over_variants(cases({"original": [], "v1": []}, np.array([], dtype=int)), "score")
    assert nothing["drop"] is None and nothing["by_variant"] == {"original": None, "v1": None}


def test_frames_that_do_not_fit() -> None:
    for rows, message in (
        (predictions(GOLD), "predictions for v: 1 of 2 calls .* 1/0/"),
        (predictions(GOLD, GOLD, GOLD, GOLD), "1 of 4 calls"),
        (pa.concat_tables([predictions(GOLD, GOLD)] * 2), "2 of 2 calls"),
    ):
        with pytest.raises(ScoreError, match=message):
            score_calls(TRUE, rows, "v")
    with pytest.raises(ScoreError, match="^references for v: "):
        score_calls(table(REFERENCES[2:], CALL_REFERENCE), predictions(), "v")
