"""What the report says first agrees with scores.json and with what the predictions lose."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgdx_eval.references import References
from sgdx_eval.report.figures import Estimate, Figures
from sgdx_eval.report.inputs import Choice, read_inputs
from sgdx_eval.report.page import Verdict
from sgdx_eval.report.runs import Group, Run
from sgdx_eval.report.sections import view_of
from sgdx_eval.report.verdict import verdict

from .conftest import Row, only_group, sgdx_part, values, with_state, write_run


def said(group: Group) -> Verdict:
    """What is said of a group."""
    made = verdict(group, view_of(group))
    assert made is not None
    return made


def test_the_leader_and_what_rewording_costs_it(group: Group, runs: dict[str, Path]) -> None:
    made, scores = said(group), sgdx_part(runs["backtrans"])
    assert not made.costly
    lead, above, average, worst, all_six = made.sentences
    assert lead.text.startswith(f"t5dst, backtrans: {100 * scores['jga_v1-5']:.1f} % joint goal")
    low, high = scores["confidence"]["jga_v1-5"]
    assert lead.detail == f"{100 * low:.1f} to {100 * high:.1f}"
    a, b = (sgdx_part(runs[name])["jga_v1-5"] for name in ("plain-0", "plain-1"))
    points = 100 * (scores["jga_v1-5"] - (a + b) / 2)
    assert above.text.startswith(f"That is {points:.1f} points") and above.text.endswith(", t5dst")
    low, high = map(float, above.detail.split(" to "))
    assert low < points < high
    drop = 100 * (scores["jga_orig"] - scores["jga_v1-5"])
    assert average.text.startswith(f"Rewording costs it {drop:.1f} points")
    name = min(("v1", "v2", "v3", "v4", "v5"), key=lambda name: scores["by_variant"][name])
    assert f"is {name}: {100 * scores['by_variant'][name]:.1f} %, " in worst.text
    assert all_six.text.endswith(f"it has {100 * scores['jga_worst']:.1f} %")


def test_an_oracle_leads_only_oracles(
    group: Group, runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    oracles = {runs["backtrans"]}
    monkeypatch.setattr(Run, "oracle", property(lambda run: run.path in oracles))
    assert said(group).sentences[0].text.startswith("t5dst: ")
    oracles.update(runs.values())
    assert said(group).sentences[0].text.startswith("t5dst, backtrans: ")


def test_a_lead_that_may_be_chance_is_none(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    little = {"jga_v1-5": Estimate(0.01, (-0.001, 0.021))}
    monkeypatch.setattr("sgdx_eval.report.verdict.system_differences", lambda *_: little)
    second = said(group).sentences[1]
    assert "cannot be told" in second.text and second.detail == "-0.1 to 2.1"


def test_a_gain_is_no_negative_cost(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    estimates = Figures.estimates
    gained = {"loss": Estimate(-0.031, (-0.066, 0.004))}
    monkeypatch.setattr(Figures, "estimates", lambda *of: estimates(*of) | gained)
    average = said(group).sentences[2]
    assert "gains it 3.1 points" in average.text and average.detail == "-0.4 to 6.6"


def test_the_words_that_cost_most(
    sample: References, gold: dict[str, list[Row]], tmp_path: Path
) -> None:
    """A tracker that forgets one slot under v2: its frames are lost, and none is won."""

    def change(variant: str, row: Row) -> None:
        if variant == "v2" and row["frame_id"].endswith("/Vets_1"):
            state = values(row)
            state.pop(sample.schemas("v2")["Vets_1"].slots[0].name, None)
            with_state(row, state)

    run = write_run(tmp_path / "run", sample, gold, change, tracker="x")
    made = said(read_inputs([run], Choice("sample")).groups[0])
    assert made.sentences[0].text.startswith("x: ") and "cost it most" in made.costly_title
    (words,) = made.costly
    before, after = (sample.schemas(name)["Vets_1"].slots[0] for name in ("original", "v2"))
    assert (words.where, words.before, words.after) == ("Vets_1, v2", before.name, after.name)
    lost = sum(
        before.name in values(row) for row in gold["original"] if row["frame_id"].endswith("Vets_1")
    )
    assert words.cost.startswith(f"{lost} frames (")
    low, _, high = words.cost.partition("(")[2].rstrip(")").partition(" to ")
    assert 0 <= int(low) < lost < int(high)


def test_no_verdict_without_all_rewordings(
    sample: References, gold: dict[str, list[Row]], tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", sample, {"v2": gold["v2"]}, lambda *_: None, tracker="x")
    assert verdict(only_group(run), view_of(only_group(run))) is None
