"""The whole test split of the real release, against the rules written down directly."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sgdx_eval.references import open_references
from sgdx_metric.robustness import group_means, report
from sgdx_metric.scoring import score_frames
from sgdx_metric.signature import OFFICIAL, Rules, Setup

from . import slow
from .frames import prediction_table, with_errors


@pytest.mark.release
@pytest.mark.slow
def test_every_metric_of_every_group(release_archive: Path) -> None:
    opened = open_references(str(release_archive), "test", {})
    references = opened.rows("v5")
    rows = references.to_pylist()
    chance = random.Random(0)  # noqa: S311
    guesses = [with_errors(row, chance) for row in rows]
    predictions = prediction_table(*guesses)
    for rules in (OFFICIAL, Rules(use_fuzzy_match=False, joint_acc_across_turn=True)):
        flags = rules.use_fuzzy_match, rules.joint_acc_across_turn
        expected = slow.group_means(rows, guesses, *flags)
        scores = score_frames(references, predictions, "v5", rules)
        found = group_means(scores, rules)
        assert set(found) == set(expected) and len(found) > 30
        for group, means in expected.items():
            known = {metric: mean for metric, mean in found[group].items() if mean is not None}
            assert known == pytest.approx(means, abs=1e-12, rel=0), group
        assert 0 < expected["#ALL_SERVICES"]["joint_goal_accuracy"] < 1
    line = report({"v5": scores}, Setup("test", opened.release, rules))["signature"]
    dialogues = len({row["frame_id"].split("/")[0] for row in rows})
    assert dialogues == 4201 or f"|release:partial:{dialogues}/4201|" in line
