"""What the report says first agrees with scores.json and with what the predictions lose."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgdx_eval.references import References
from sgdx_eval.report.inputs import read_inputs, read_tracker
from sgdx_eval.report.numbers import Estimate, changes_by_variant, headline_estimates
from sgdx_eval.report.runs import TrackerRun
from sgdx_eval.report.systems import TrackerGroup, TrackerSystem, group_runs
from sgdx_eval.report.verdict import tracker_verdict
from sgdx_eval.tables import Cell

from .conftest import Row, sgdx_part, values, with_state, write_run


def test_the_leader_and_what_rewording_costs_it(group: TrackerGroup, runs: dict[str, Path]) -> None:
    verdict = tracker_verdict(group, {})
    assert verdict is not None and not verdict.costly
    scores = sgdx_part(runs["backtrans"])
    lead, above, average, worst, all_six = verdict.sentences
    assert lead.text == f"t5dst, backtrans: {100 * scores['jga_v1-5']:.1f} % JGA under other words"
    low, high = scores["confidence"]["jga_v1-5"]
    assert lead.detail == f"{100 * low:.1f} to {100 * high:.1f}"
    a, b = (sgdx_part(runs[name])["jga_v1-5"] for name in ("plain-0", "plain-1"))
    points = 100 * (scores["jga_v1-5"] - (a + b) / 2)
    assert above.text == f"That is {points:.1f} points above the next, t5dst"
    low, high = map(float, above.detail.split(" to "))
    assert low < points < high
    drop = 100 * (scores["jga_orig"] - scores["jga_v1-5"])
    assert average.text.startswith(f"Rewording costs it {drop:.1f} points on average")
    variant = min(("v1", "v2", "v3", "v4", "v5"), key=lambda name: scores["by_variant"][name])
    assert worst.text.startswith(
        f"It falls most under {variant}, to {100 * scores['by_variant'][variant]:.1f}"
    )
    assert all_six.text.endswith(f"it has {100 * scores['jga_worst']:.1f} %")


def test_an_oracle_leads_only_oracles(
    group: TrackerGroup, runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    oracles = {runs["backtrans"]}
    monkeypatch.setattr(TrackerRun, "oracle", property(lambda run: run.path in oracles))
    verdict = tracker_verdict(group, {})
    assert verdict is not None and verdict.sentences[0].text.startswith("t5dst: ")
    oracles.update(runs.values())
    verdict = tracker_verdict(group, {})
    assert verdict is not None and verdict.sentences[0].text.startswith("t5dst, backtrans: ")


def test_a_lead_that_may_be_chance_is_none(
    group: TrackerGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    def little(first: TrackerSystem, second: TrackerSystem) -> dict[str, Estimate]:
        return {"jga_v1-5": Estimate(0.01, (-0.001, 0.021))}

    monkeypatch.setattr("sgdx_eval.report.verdict.paired_differences", little)
    verdict = tracker_verdict(group, {})
    assert verdict is not None
    assert verdict.sentences[1] == Cell(
        "The next, t5dst, cannot be told from it: 1.0 points lower",
        "-0.1 to 2.1",
    )


def test_a_gain_is_no_negative_cost(group: TrackerGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    def gained(system: TrackerSystem) -> dict[str, Estimate]:
        return headline_estimates(system) | {"drop": Estimate(-0.031, (-0.066, 0.004))}

    monkeypatch.setattr("sgdx_eval.report.verdict.headline_estimates", gained)
    verdict = tracker_verdict(group, {})
    assert verdict is not None
    average = verdict.sentences[2]
    assert average.text.startswith("Rewording gains it 3.1 points on average")
    assert average.detail == "-0.4 to 6.6"


def test_changes_are_paired_with_the_original(group: TrackerGroup) -> None:
    changes, scores = changes_by_variant(group.systems[1]), headline_estimates(group.systems[1])
    assert list(changes) == ["v1", "v2", "v3", "v4", "v5"]
    mean = sum(change.value for change in changes.values()) / 5
    assert scores["drop"].value == pytest.approx(-mean)
    for change in changes.values():
        assert change.interval and change.interval[0] <= change.value <= change.interval[1]


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
    (tracked,) = read_inputs([run], "sample", None).trackers
    verdict = tracker_verdict(tracked.group, tracked.analyses)
    assert verdict is not None and verdict.sentences[0].text.startswith("x: ")
    (words,) = verdict.costly
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
    (group,) = group_runs([read_tracker(run)])
    assert tracker_verdict(group, {}) is None
