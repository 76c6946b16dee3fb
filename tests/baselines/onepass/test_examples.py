"""Training examples: the oracle's ceilings, what no path leads to, random changes of schemas."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest
from datasets import Dataset

from baselines.data.dialogues import prediction_rows, read_dialogues
from baselines.encoders import corpus_texts, tiny_tokenizer
from baselines.onepass.data import Answer, CandidateSpan, SlotAnswer, decode
from baselines.onepass.examples import Example, FrameExamples, gold_examples
from baselines.onepass.frames import (
    DONTCARE,
    FROM,
    GIVEN,
    KEEP,
    STATUSES,
    Reading,
    TextSpan,
    labels_of,
)
from baselines.onepass.layout import Vocabulary
from baselines.onepass.modeling import LOWEST
from baselines.onepass.system import ALL
from baselines.recipes import find_recipe, read_recipe
from baselines.tracker import joint_goal_accuracy
from sgdx_dataset import frames, load
from sgdx_dataset.tracker_inputs import SYSTEM_ACTS, training_columns

ACTS, TEXT = Reading(acts=True, utterances=2), Reading(acts=False, utterances=4)


def walked(rows: Dataset, reading: Reading) -> tuple[list[Example], list[dict[str, Any]]]:
    """The examples of frame rows, and what the right answers predict."""
    reads = ALL if reading.acts else tuple(part for part in ALL if part != SYSTEM_ACTS)
    seen = training_columns(rows, reads)
    dialogues = list(read_dialogues(seen))
    examples, states = gold_examples(dialogues, reading)
    predicted = [row for pair in zip(dialogues, states) for row in prediction_rows(*pair)]
    return examples, predicted


@pytest.fixture(scope="module")
def rows() -> Dataset:
    return frames(load("original", "test", "sample"))


@pytest.fixture(scope="module")
def examples(rows: Dataset) -> list[Example]:
    return walked(rows, ACTS)[0]


@pytest.fixture(scope="module")
def vocabulary(rows: Dataset) -> Vocabulary:
    return Vocabulary(tiny_tokenizer(corpus_texts(rows)))


def made(examples: list[Example], vocabulary: Vocabulary, **changes: Any) -> FrameExamples:
    recipe = read_recipe(find_recipe("onepass/smoke"))
    return FrameExamples(examples, vocabulary, msgspec.structs.replace(recipe, **changes))


@pytest.mark.parametrize(
    ("reading", "ceiling", "counts"),
    [
        (ACTS, 0.9927, [1401, 70, 223, 95, 75, 9, 2807]),
        (TEXT, 0.9560, [1392, 70, 0, 137, 75, 1, 3642]),
        (Reading(False, 2), 0.8095, [1363, 70, 0, 123, 75, 1, 3720]),
    ],
)
def test_labels_decode_to_the_gold_state(
    rows: Dataset, reading: Reading, ceiling: float, counts: list[int]
) -> None:
    """But for values that no path leads to; intents and requested slots are all there.

    The paths that are right are counted: to keep a value, dontcare, one that the system gave, spans
    of a text, possible values and those of other services; and where the spans begin.
    """
    examples, predicted = walked(rows, reading)
    labels = [labels_of(example.frame, example.gold) for example in examples]
    paths = [slot for of_frame in labels for slot in of_frame.paths.values()]
    found = [sum(status in slot.statuses for slot in paths) for status in (KEEP, DONTCARE, GIVEN)]
    found += [sum(len(getattr(p, of)) for p in paths) for of in ("spans", "values", "known")]
    found += [sum(span.start for slot in paths for span in slot.spans)]
    assert found == counts
    assert joint_goal_accuracy(rows, predicted) == pytest.approx(ceiling, abs=1e-4)
    assert len(examples) == len(rows) == 273
    for row, gold in zip(predicted, rows, strict=True):
        assert row["active_intent"] == gold["active_intent"]
        assert {*row["requested_slots"]} == {*gold["requested_slots"]}


def answered(example: Example, rng: np.random.Generator) -> Answer:
    """An answer at random: of each slot a status that it may have, and spans that overlap."""
    frame, slots = example.frame, {}
    last, text = len(frame.utterances) - 1, frame.utterances[-1].text
    for name in frame.schema.slots_by_name:
        logits = rng.normal(size=STATUSES)
        logits[GIVEN] = logits[GIVEN] if frame.system_offer(name) else LOWEST
        logits[FROM] = logits[FROM] if frame.known else LOWEST
        starts, scores = rng.integers(len(text), size=3), -np.sort(rng.random(3))
        spans = [TextSpan(last, start, start + 1 + rng.integers(20)) for start in starts.tolist()]
        slots[name] = SlotAnswer(
            rng.random(),
            tuple(logits.tolist()),
            tuple(map(CandidateSpan, spans, scores.tolist())),
            int(rng.integers(len(frame.schema.slot(name).values) or 1)),
            int(rng.integers(len(frame.known) or 1)),
        )
    return Answer(str(rng.choice([*frame.schema.intents_by_name])), slots)


def test_answers_at_random_mean_what_they_meant(examples: list[Example]) -> None:
    """The states of all frames, with and without a bias, are recorded; each rule is in some."""
    rng = np.random.default_rng(0)
    states = []
    for bias, example in itertools.product((0.0, 0.7), examples):
        states.append(decode(example.frame, answered(example, rng), bias))
    values = Counter(value for state in states for [value] in state.values.values())
    assert (len(values), values["dontcare"], sum(len(s.requested) for s in states)) == (
        467,
        960,
        2080,
    )
    assert hashlib.sha256(json.dumps(states).encode()).hexdigest()[:16] == "7bc8b5faf69ced61"


def test_cut_schemas_have_all_labels(examples: list[Example], vocabulary: Vocabulary) -> None:
    whole, cut = (made(examples[:40], vocabulary, max_tokens=limit) for limit in (512, 128))
    assert len(cut.lengths) > len(whole.lengths) and cut.lengths.max() <= 128
    one, other = (each.batch(np.arange(len(each.lengths))) for each in (whole, cut))
    for name in ("requested_label", "status_label", "value_label"):
        assert one[name].sum() == other[name].sum()
    assert (other["intent_label"] >= 0).sum() == 40  # of the first parts


def test_noise_in_schemas_and_states(examples: list[Example], vocabulary: Vocabulary) -> None:
    """Some names, descriptions and carried values lack; the same examples always get the same."""
    some = {"drop_names": 0.2, "drop_descriptions": 0.3, "drop_carried": 0.5}
    shapes = []
    for noise in ({}, some, some, {"replace_carried": 1.0}):
        batch = made(examples[:80], vocabulary, **noise).batch(np.arange(80))
        keeps = int(batch["status_label"][:, KEEP].sum())
        has = int((batch["input_ids"] == vocabulary.markers["[HAS]"]).sum())
        shapes.append((int(batch["attention_mask"].sum()), has, keeps))
    # Tokens, carried values, and slots that are right to be kept.
    assert shapes == [(12238, 84, 377), (10294, 81, 374), (10294, 81, 374), (12236, 84, 371)]


def test_the_question_stands_beside_a_slot_that_is_asked_for(rows: Dataset) -> None:
    asking, _ = walked(rows, Reading(acts=True, utterances=2, questions=True))
    first = next(example.frame for example in asking if example.frame.asked)
    assert first.question == first.utterances[0].text != ""
