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
    release = open_release(release_archive)
    turns = read_turns(turns_of(release, "test"), "original")
    partial = len(turns) == 24_863
    wanted = [checked_values(turn) for turn in turns]
    for turn, values in zip(turns, wanted, strict=True):
        assert all(contains_words(turn.utterance, value) for value in values)
        said = derived(turn)
        assert all(contains(said, value) for value in values)
    judged = [[candidates(turn, action) for action in turn.actions] for turn in turns]
    actions = [action for turn in turns for action in turn.actions]
    pool = ValuePool.from_turns(turns)
    drawn = [
        tamper(turn, i, pool)
        for turn in turns
        for i, action in enumerate(turn.actions)
        if action.values and action.act not in ("INFORM_COUNT", "REQUEST", "OFFER_INTENT")
    ]
    if partial:
        assert round(sum(map(bool, wanted)) / len(turns), 3) == 0.482
        without = sum(not any(of_turn) for of_turn in judged)
        assert round(without / len(turns), 3) == 0.066
        only = sum({action.act for action in turn.actions} == {"OFFER_INTENT"} for turn in turns)
        assert round(only / len(turns), 3) == 0.052
        assert (len(actions), len(drawn), drawn.count(None)) == (47_135, 29_133, 5)
        assert sum(len(sentences) for of_turn in judged for sentences in of_turn) == 93_015
