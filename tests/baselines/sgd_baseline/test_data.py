"""Labels that say what the gold state says, spans, and embeddings that are computed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import one_hot
from transformers import PreTrainedTokenizerFast

from baselines.data.dialogues import prediction_rows, read_dialogues
from baselines.encoders import tiny_tokenizer
from baselines.sgd_baseline.data import SYSTEM, USER, TurnExamples, find_span, tokenize_turns
from baselines.sgd_baseline.elements import embed, read_elements
from baselines.sgd_baseline.system import SgdTracker, add_up, best_spans, read_changes
from baselines.tracker import joint_goal_accuracy
from sgdx_dataset.schema import Service, read_service
from sgdx_dataset.tracker_inputs import training_columns

from ...conftest import intent, slot


@pytest.fixture(scope="module")
def examples(tracker: SgdTracker, train_rows: Dataset) -> TurnExamples:
    return tracker.examples(train_rows)


def test_perfect_logits_give_the_gold_state(examples: TurnExamples, train_rows: Dataset) -> None:
    """Labels as logits, decoded and added up: only what is in no turn is lost."""
    everything = np.arange(len(examples.groups))
    batch, (_, asked) = examples.batch(everything), examples.questions(everything)
    sizes = {"intent": batch["intents"].shape[1], "value": batch["values"].shape[1]}
    logits = {
        name: one_hot(batch[f"{name}_label"].clamp(min=0), sizes.get(name, 3)).float()
        for name in ("intent", "value", "categorical_status", "free_status")
    }
    logits["requested"] = batch["requested_label"].float()
    turns = batch["turn"][batch["free_frame"][batch["span"]]].tolist()
    ends = (batch[f"{name}_label"].tolist() for name in ("start", "end"))
    spans = {
        number: examples.turns[turn].text(first, last)
        for number, turn, first, last in zip(batch["span"].tolist(), turns, *ends)
        if first  # 0 is [CLS]
    }
    assert len(turns) - len(spans) == examples.facts["labels"]["not_in_turn"] > 0
    changes = read_changes(examples, asked, logits, spans)
    dialogues = read_dialogues(training_columns(train_rows, SgdTracker.READS))
    rows = [row for one in dialogues for row in prediction_rows(one, add_up(one, changes))]
    for row, gold in zip(rows, train_rows, strict=True):
        assert row["active_intent"] == gold["active_intent"]
        assert set(row["requested_slots"]) == set(gold["requested_slots"])
        known = {given["slot"]: given["values"] for given in gold["slot_values"]}
        assert all(given["values"][0] in known[given["slot"]] for given in row["slot_values"])
    # The ceiling of a tracker that reads two utterances and neither history nor other services.
    assert joint_goal_accuracy(train_rows, rows) == pytest.approx(0.6463, abs=1e-4)


def test_turns_where_nothing_changes_have_a_loss(
    examples: TurnExamples, tracker: SgdTracker
) -> None:
    """All heads get a gradient, for which processes would wait, and the frozen encoder none."""
    quiet = [i for i in range(60) if not len(examples.batch(np.array([i]))["span"])]
    tracker.train()
    output: Any = tracker(**examples.batch(np.array(quiet[:4])))
    assert output.losses["start"] == output.losses["end"] == 0
    output.loss.backward()
    without = {name for name, p in tracker.named_parameters() if p.grad is None}
    tracker.zero_grad()
    tracker.train(False)
    assert without == {n for n, _ in tracker.named_parameters() if n.startswith("schema_encoder.")}


SIDES = [-1, 0, 0, 0, -1, 1, 1, 1, -1, -1]


@given(st.integers(0, 1000))
def test_best_spans_are_those_of_trying_all_and_may_be_not_in_the_turn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    start, end = (torch.from_numpy(rng.normal(scale=2, size=(1, 10))) for _ in range(2))
    begins, ends = (
        np.exp(each) / np.exp(each).sum() for each in (start[0].numpy(), end[0].numpy())
    )
    sums = {
        (i, j): begins[i] + ends[j]
        for i in range(10)
        for j in range(i, 10)
        if SIDES[i] == SIDES[j] >= 0 or i == j == 0
    }
    best = max(sums, key=lambda span: sums[span])
    first, last = best_spans(start, end, torch.tensor([SIDES]))
    assert (first.item(), last.item()) == (best if best != (0, 0) else (-1, -1))


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return tiny_tokenizer(["Where to?", "To Galway, at 6.", "To Galway."] * 9, 200)


@pytest.mark.parametrize(
    ("texts", "cut", "whole"),
    [
        (("Where to? " * 30, "To Galway."), True, (12, 14, "To Galway.")),  # the shorter one stays
        (("Where to?", "To Galway. " * 30), True, (1, 3, "Where to?")),
        (("", "To Galway."), False, (2, 4, "To Galway.")),
    ],
)
def test_the_limit(
    tokenizer: PreTrainedTokenizerFast, texts: tuple[str, str], cut: bool, whole: Any
) -> None:
    (turn,) = tokenize_turns([texts], tokenizer, 16)
    assert (turn.cut, len(turn.sides)) == (cut, 16 if cut else 6)
    first, last, text = whole
    assert turn.text(first, last) == text


@pytest.mark.parametrize(
    ("system", "user", "values", "said", "side"),
    [
        ("Where to?", "To Galway, at 6.", ["Galway"], "Galway", USER),
        ("To Galway?", "Yes.", ["Cork", "Galway"], "Galway", SYSTEM),
        ("To Galway?", "To Galway.", ["Galway"], "Galway", USER),
        ("At 6?", "At 16 or 6.", ["6"], "6", USER),  # not within 16
        ("", "Somewhere else.", ["Galway"], None, None),
        ("", "Galways", ["Galway"], None, None),
    ],
)
def test_find_span(
    tokenizer: PreTrainedTokenizerFast, system: str, user: str, values: list[str],
    said: str | None, side: int | None,
) -> None:  # fmt: skip
    (turn,) = tokenize_turns([(system, user)], tokenizer, 80)
    span = find_span(turn, values, [])
    found = None if span is None else (turn.text(*span), turn.sides[span[0]])
    assert found == (None if said is None else (said, side))


def test_the_marked_one_of_equal_words(tokenizer: PreTrainedTokenizerFast) -> None:
    (turn,) = tokenize_turns([("", "to to to")], tokenizer, 80)
    assert find_span(turn, ["to"], [(3, 5)]) == (3, 3)


def cabs(description: str) -> Service:
    first = slot("to", "Where to") | {"possible_values": ["Galway"]}  # examples of a free-form one
    of = [intent("OrderCab", "Call a cab", [], []), intent("FindCab", "Look for one", [], [])]
    slots = [first, slot("seats", "How many", "1", "2")]
    named = {"service_name": "Cabs_9", "description": description}
    return read_service({**named, "slots": slots, "intents": of})


def test_embedded_once_and_alike_in_a_batch_and_alone(tracker: SgdTracker) -> None:
    read: list[int] = []
    hook = tracker.schema_encoder.register_forward_hook(
        lambda module, given, named, output: read.extend(named["attention_mask"].sum(1).tolist()),
        with_kwargs=True,
    )
    _, pairs = read_elements([cabs("Rides")])
    vectors = [tracker._embeddings(pairs) for _ in range(2)]
    assert len(read) == 6 and torch.equal(*vectors)
    for pair, vector in zip(pairs, vectors[0]):
        inputs = tracker.tokenizer(*pair, return_tensors="pt")
        alone = tracker.schema_encoder(**inputs).last_hidden_state[0, 0]
        torch.testing.assert_close(vector, alone, rtol=1e-4, atol=1e-5)
    read.clear()
    elements, pairs = read_elements([cabs("Rides"), cabs("Journeys")])
    tracker._embeddings(pairs)
    assert len(read) == 4  # what is about the service alone
    assert elements[1].numbers["values"].tolist() == elements[0].numbers["values"].tolist()
    read.clear()
    # Where a long pair is cut is the released code's choice: the longer of the two loses its end.
    short, long = "where to", " ".join(["where"] * 200)
    whole, other = embed([(short, long), (short, long + " to")], tracker, tracker.tokenizer)
    hook.remove()
    assert read == [80, 80] and torch.equal(whole, other)
