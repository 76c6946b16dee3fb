"""The tab of a dialogue: right is green, wrong is red, and the measured share of wrong states."""

from __future__ import annotations

import re

import pytest

from sgdx_eval.explain import Line

pytest.importorskip("gradio", reason="the Space needs gradio: pip install sgdx[app]")

from sgdx_space.tracking import _value, introduction, track


@pytest.mark.parametrize(
    ("predicted", "score", "html"),
    [
        (["Rome"], 1.0, "<span class='right'>Rome</span> "),
        (["<b>"], 0.0, "<span class='wrong'>&lt;b&gt;</span> <small>right: Rome | Roma!</small>"),
        (["Rome"], None, "<span class='wrong'>Rome</span> <small>right: Rome | Roma!</small>"),
    ],
)
def test_right_and_wrong_values(predicted: list[str], score: float | None, html: str) -> None:
    line = Line(0, "city", "v1", "<town>", ["Rome", "Roma!"], predicted, score, "")
    assert _value(line) == f"<p><code>&lt;town&gt;</code> {html}</p>"


def test_a_dialogue_under_two_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGDX_TRACKER", "lexical")
    html = track("1_00000/Cabs_1", "v4")
    assert "<th>original: Cabs_1</th><th>v4: Cabs_14</th>" in html
    first, system, second, *_ = re.split("<td class='said'", html)[1:]
    assert "I could do with a cab without sharing." in first
    assert "<code>active intent</code> <span class='right'>BeDriven</span>" in first
    assert "<code>pool</code> <span class='wrong'>–</span> <small>right: False</small>" in first
    assert "SYSTEM: Where may the driver take you?" in system and "<code>" not in system
    value = "<span class='right'>Brewer&#x27;s Yard</span> <small>right: 73 Brewer&#x27;s Yard"
    for name in ("destination", "target"):
        assert f"<code>{name}</code> {value}</small>" in second


def test_it_says_how_often_the_tracker_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """By results/onepass-shipped-no_acts and results/many-onepass-shipped-no_acts."""
    monkeypatch.delenv("SGDX_TRACKER", raising=False)
    text = introduction("{tracker}: {wrong}")
    assert text.startswith("onepass: ") and "(one seed, partial data)" in text
    assert "34.4 % of its states are wrong" in text and "38.9 % under" in text
    monkeypatch.setenv("SGDX_TRACKER", "YOU/tracker")
    assert introduction("{tracker}: {wrong}").startswith("tracker: How often it is wrong was not")
