"""The tab of a dialogue: right is green, wrong is red, and the measured share of wrong states."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sgdx_eval.explain import Line

pytest.importorskip("gradio", reason="the Space needs gradio: pip install sgdx[app]")

from sgdx_space import tracking
from sgdx_space.tracking import _value, introduction, track


@pytest.mark.parametrize(
    ("predicted", "score", "html"),
    [
        (["Rome"], 1.0, "<span class='right'>Rome</span> "),
        (["Roma"], 0.8, "<span class='right'>Roma</span> <small>right: Rome | Roma!</small>"),
        (["<b>"], 0.0, "<span class='wrong'>&lt;b&gt;</span> <small>right: Rome | Roma!</small>"),
        ([], 0.0, "<span class='wrong'>–</span> <small>right: Rome | Roma!</small>"),
        (["Rome"], None, "<span class='wrong'>Rome</span> <small>right: Rome | Roma!</small>"),
    ],
)
def test_right_and_wrong_values(predicted: list[str], score: float | None, html: str) -> None:
    line = Line(0, "city", "v1", "<town>", ["Rome", "Roma!"], predicted, score, "")
    assert _value(line) == f"<p><code>&lt;town&gt;</code> {html}</p>"


def test_a_dialogue_under_two_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tracker says is set; the gold values are those of the sample."""
    said: list[dict[str, Any]] = []

    def states(services: Any, utterances: Any) -> list[list[dict[str, Any]]]:
        said.extend({"services": [s.service_name for s in services], "text": t} for t in utterances)
        turns = len(utterances) // 2
        return [
            [
                {"active_intent": "", "requested_slots": [], "slot_values": {slot: ["73 Brewer's"]}}
                for _ in range(turns)
            ]
            for slot in ("destination", "target")
        ]

    monkeypatch.setattr(tracking, "states_of", states)
    html = track("1_00000/Cabs_1", "v4")
    assert said[0] == {
        "services": ["Cabs_1", "Cabs_14"],
        "text": "I could do with a cab without sharing.",
    }
    assert "<th>original: Cabs_1</th><th>v4: Cabs_14</th>" in html
    first, second, *_ = re.split("<td class='said'", html)[2:]  # after the first utterance
    assert "SYSTEM: Where may the driver take you?" in first and "<code>" not in first
    turn = re.split("<td class='said'", html)[1]
    assert "<code>destination</code> <span class='wrong'>73 Brewer&#x27;s</span>" in turn
    assert "<code>shared</code> <span class='wrong'>–</span> <small>right: False</small>" in turn
    assert "<code>target</code> <span class='right'>73 Brewer&#x27;s</span>" in second
    assert html.count("<td class='said'") == len(said)


def test_it_says_how_often_the_tracker_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """By results/onepass-shipped-no_acts and results/many-onepass-shipped-no_acts."""
    monkeypatch.delenv("SGDX_TRACKER", raising=False)
    text = introduction("{tracker}: {wrong}")
    assert text.startswith("onepass: ") and "(one seed, partial data)" in text
    assert "34.4 % of its states are wrong" in text and "38.9 % under" in text
    text = introduction("{wrong}", "services of kinds that SGD has not")
    assert "87.7 % of its states" in text and "88.9 % under" in text
    monkeypatch.setenv("SGDX_TRACKER", "YOU/tracker")
    assert introduction("{tracker}: {wrong}").startswith("tracker: How often it is wrong was not")
