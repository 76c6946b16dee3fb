"""The whole test split of the real release: what is known of it, and the copies' figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from baselines.copies import derived
from sgdx_dataset import open_release
from sgdx_eval.tasks.turns import read_turns, turns_of
from sgsacc_metric.candidates import candidates
from sgsacc_metric.negatives import ValuePool, tamper
from sgsacc_metric.ser import checked_values, contains, contains_words

pytestmark = pytest.mark.release


@pytest.mark.slow
def test_gold_and_derived_utterances_of_the_test_split(release_archive: Path) -> None:
    """The gold utterances have every value that SER looks for, as whole words too."""
    turns = read_turns(turns_of(open_release(release_archive), "test"), "original")
    wanted = [checked_values(turn) for turn in turns]
    for turn, values in zip(turns, wanted, strict=True):
        assert all(contains_words(turn.utterance, value) for value in values)
        said = derived(turn)
        assert all(contains(said, value) for value in values)
    if len(turns) != 24_863:  # the counts below are those of the partial release
        return
    pool = ValuePool.from_turns(turns)
    drawn = [
        tamper(turn, i, pool)
        for turn in turns
        for i, action in enumerate(turn.actions)
        if action.values and action.act not in ("INFORM_COUNT", "REQUEST", "OFFER_INTENT")
    ]
    judged = [[candidates(turn, action) for action in turn.actions] for turn in turns]
    without = sum(not any(of_turn) for of_turn in judged)
    only = sum({action.act for action in turn.actions} == {"OFFER_INTENT"} for turn in turns)
    shares = [round(count / len(turns), 3) for count in (sum(map(bool, wanted)), without, only)]
    assert shares == [0.482, 0.066, 0.052]
    assert (sum(map(len, judged)), len(drawn), drawn.count(None)) == (47_135, 29_133, 5)
    assert sum(len(sentences) for of_turn in judged for sentences in of_turn) == 93_015
