"""Errors in the carried state in training: where they may be, and that the labels stay right."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from baselines.onepass.examples import FrameExamples, SchemaNoise, StateNoise
from baselines.onepass.frames import FrameInput, GoldFrame, Utterance
from baselines.onepass.labels import GIVEN, KEEP, labels_of, paths_of
from baselines.onepass.layout import Vocabulary
from baselines.onepass.teacher import Example, gold_answer
from sgdx_dataset.schema import Service

from .conftest import SYSTEM, frame_of

DROP, REPLACE = StateNoise(drop=1.0), StateNoise(replace=1.0)
RIGHT: dict[str, tuple[str, ...]] = {"time": ("7 pm",), "restaurant": ("Luigi's",)}


def gold(**values: tuple[str, ...]) -> GoldFrame:
    return GoldFrame("NONE", RIGHT | values, frozenset(), {})


def noised(frame: FrameInput, right: GoldFrame, noise: StateNoise) -> FrameInput:
    return noise.frame(frame, right, np.random.default_rng(0))


def test_a_confirmed_value_is_dropped_and_the_proposal_is_then_right(restaurants: Service) -> None:
    frame = frame_of(restaurants, confirmed=frozenset({"time"}))
    assert paths_of(frame, gold(), "time").statuses == {KEEP, GIVEN}
    dropped = noised(frame, gold(), DROP)
    assert dropped.carried == {"restaurant": "Luigi's"}
    assert paths_of(dropped, gold(), "time").statuses == {GIVEN}
    assert frame.carried == {"time": "7 pm", "restaurant": "Luigi's"}


def test_an_offer_alone_is_no_reason(restaurants: Service) -> None:
    """Else the model would learn to take offers that nobody has accepted."""
    frame = frame_of(restaurants)
    assert noised(frame, gold(), DROP).carried == frame.carried


def test_a_value_that_is_said_is_dropped(restaurants: Service) -> None:
    said = (Utterance("SYSTEM", SYSTEM, False), Utterance("USER", "Yes, at 7 pm.", True))
    dropped = noised(frame_of(restaurants, utterances=said, offered_now={}), gold(), DROP)
    assert dropped.carried == {"restaurant": "Luigi's"}
    (span,) = paths_of(dropped, gold(), "time").spans
    assert said[1].text[span.start : span.end] == "7 pm"
    part_of_a_word = (Utterance("USER", "Yes, at 17 pm.", True),)
    kept = frame_of(restaurants, utterances=part_of_a_word, offered_now={})
    assert noised(kept, gold(), DROP).carried == kept.carried


@pytest.mark.parametrize(("slot", "value"), [("time", "7 pm"), ("party_size", "2")])
def test_a_value_is_replaced_by_one_that_is_wrong(
    restaurants: Service, slot: str, value: str
) -> None:
    carried = {"time": "7 pm", "restaurant": "Luigi's", "party_size": "2"}
    frame = frame_of(restaurants, carried=carried, confirmed=frozenset({slot}))
    right = gold(party_size=("2",))
    replaced = noised(frame, right, REPLACE)
    assert {s for s in carried if replaced.carried[s] != carried[s]} == {slot}
    assert restaurants.slot(slot).admits(replaced.carried[slot])
    assert value not in replaced.carried[slot]
    assert KEEP not in paths_of(replaced, right, slot).statuses
    assert gold_answer(replaced, labels_of(replaced, right)).slots[slot].statuses[KEEP] == 0


def test_a_value_that_this_turn_changes_is_left(restaurants: Service) -> None:
    frame = frame_of(restaurants, confirmed=frozenset({"time"}))
    changed = gold(time=("8",))
    assert noised(frame, changed, DROP).carried == frame.carried


def test_noise_is_the_same_for_a_seed_and_another_for_another_batch(
    restaurants: Service, vocabulary: Vocabulary
) -> None:
    frame = frame_of(restaurants, confirmed=frozenset({"time", "restaurant"}))
    frames = [Example(frame, gold(), 2, 0)] * 8
    noise = StateNoise(drop=0.5, replace=0.2)
    made, again = (
        FrameExamples(frames, vocabulary, 512, SchemaNoise(), 0, noise) for _ in range(2)
    )
    one, two, other = (
        made.batch(np.arange(8)),
        again.batch(np.arange(8)),
        made.batch(np.arange(8)[::-1]),
    )
    assert all(torch.equal(tensor, two[name]) for name, tensor in one.items())
    assert one["input_ids"].tolist() != other["input_ids"].tolist()
    plain = FrameExamples(frames, vocabulary, 512, SchemaNoise(), 0).batch(np.arange(8))
    assert one["scored"].tolist() == plain["scored"].tolist()
    assert one["status_label"].sum() < plain["status_label"].sum()
    assert labels_of(frame, gold()).paths["time"].statuses == {KEEP, GIVEN}
