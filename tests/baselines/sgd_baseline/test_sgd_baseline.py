"""The SGD baseline: its labels, spans and embeddings, and what one pass of the encoder is for."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from datasets import Dataset, concatenate_datasets
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import one_hot
from transformers import PreTrainedTokenizerFast

from baselines.data.dialogues import Gold, State, prediction_rows, read_dialogues
from baselines.encoders import corpus_texts, load_encoder, tiny_encoder, tiny_tokenizer
from baselines.predicting import predict as track
from baselines.sgd_baseline.data import (
    ACTIVE,
    SYSTEM,
    UNCHANGED,
    USER,
    TurnExamples,
    find_span,
    labels_of,
    tokenize_turns,
)
from baselines.sgd_baseline.elements import embed, read_elements
from baselines.sgd_baseline.modeling import IGNORED
from baselines.sgd_baseline.settings import Options, Settings
from baselines.sgd_baseline.system import SgdTracker, add_up, best_spans, read_changes
from baselines.tracker import joint_goal_accuracy, with_steps
from sgdx_dataset import frames, load
from sgdx_dataset.schema import Service, read_service
from sgdx_dataset.tracker_inputs import training_columns

from ...conftest import intent, slot
from ..conftest import RECIPES, train_once


@pytest.fixture(scope="module")
def train_rows() -> Dataset:
    return frames(load("original", "train", "sample"))


@pytest.fixture(scope="module")
def tracker(train_rows: Dataset, tmp_path_factory: pytest.TempPathFactory) -> SgdTracker:
    """A tiny one, untrained."""
    model = tmp_path_factory.mktemp("model")
    for part in tiny_encoder(corpus_texts(train_rows), hidden=64):
        part.save_pretrained(model)
    recipe = RECIPES["sgd_baseline"] | {"model": str(model)}
    tracker: SgdTracker = SgdTracker.start(msgspec.convert(recipe, Settings)).train(False)
    tracker.options = Options(batch_size=8, chunk_size=16)
    return tracker


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


SIDES = ([-1, 0, 0, 0, -1, 1, 1, 1, -1, -1], [-1, -1, 1, 1, 1, 1, 1, 1, -1, -1])


@given(st.integers(0, 1000), st.sampled_from(SIDES))
def test_best_spans_are_those_of_trying_all_and_may_be_not_in_the_turn(
    seed: int, sides: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    start, end = (torch.from_numpy(rng.normal(scale=2, size=(1, 10))) for _ in range(2))
    begins, ends = (
        np.exp(each) / np.exp(each).sum() for each in (start[0].numpy(), end[0].numpy())
    )
    sums = {
        (i, j): begins[i] + ends[j]
        for i in range(10)
        for j in range(i, 10)
        if sides[i] == sides[j] >= 0 or i == j == 0
    }
    best = max(sums, key=lambda span: sums[span])
    first, last = best_spans(start, end, torch.tensor([sides]))
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


def cabs(description: str) -> Service:
    first = slot("to", "Where to") | {"possible_values": ["Galway"]}  # examples of a free-form one
    of = [intent("OrderCab", "Call a cab", [], []), intent("FindCab", "Look for one", [], [])]
    slots = [first, slot("seats", "How many", "1", "2")]
    named = {"service_name": "Cabs_9", "description": description}
    return read_service({**named, "slots": slots, "intents": of})


def test_the_annotated_one_of_equal_words_is_learnt(tokenizer: PreTrainedTokenizerFast) -> None:
    (turn,) = tokenize_turns([("", "to to to")], tokenizer, 80)
    (elements,), _ = read_elements([cabs("Rides")])
    new = {"to": ["to"]}
    labels = labels_of(Gold(State("FindCab", new), {"to": [(3, 5)]}), new, elements, turn)
    assert (labels.intent, labels.free.tolist()) == (2, [[ACTIVE, 3, 3, 0]])
    assert labels.categorical.tolist() == [[UNCHANGED, IGNORED, 0]]


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
    assert elements[1].value_numbers == elements[0].value_numbers
    read.clear()
    # Where a long pair is cut is the released code's choice: the longer of the two loses its end.
    short, long = "where to", " ".join(["where"] * 200)
    whole, other = embed([(short, long), (short, long + " to")], tracker, tracker.tokenizer)
    hook.remove()
    assert read == [80, 80] and torch.equal(whole, other)


def test_variants_together_are_variants_apart_for_one_pass_of_the_encoder(
    tracker: SgdTracker,
) -> None:
    parts = [frames(load(of, "test", "sample")).select(range(60)) for of in ("original", "v2")]
    test_rows = concatenate_datasets(parts)
    passes: list[int] = []
    hook = tracker.encoder.register_forward_hook(
        lambda module, given, named, output: passes.append(len(named["input_ids"])),
        with_kwargs=True,
    )
    together = track(tracker, test_rows).rows
    of_all = list(passes)
    apart = []
    for part in parts:
        passes.clear()
        apart += track(tracker, part).rows
        assert passes == of_all
    hook.remove()
    assert together == apart
    turns = {(*(turn["utterance"] for turn in row["history"][-1:]), row["utterance"])
             for row in test_rows}  # fmt: skip
    assert sum(of_all) == len(turns) <= len(test_rows) / 2
    assert [row["frame_id"] for row in together] == list(test_rows["frame_id"])
    assert [row["variant"] for row in together] == list(test_rows["variant"])
    # An untrained model says something, and not the same under each schema's words.
    values = {str(row["slot_values"]) for row in together}
    assert len(values) > 10


def test_epochs_are_whole_whatever_the_data() -> None:
    """Under an augmentation that doubles the turns, there are twice as many steps."""
    recipe = msgspec.convert(RECIPES["sgd_baseline"] | {"epochs": 3, "steps": None}, Settings)
    turns = np.full(40, 8)
    assert with_steps(recipe, turns, 1).steps == 9  # 3 x (16 + 16 + 8 turns)
    assert with_steps(recipe, np.tile(turns, 2), 1).steps == 15
    assert with_steps(recipe, turns, 2).steps == 8  # 3 x 5 batches of 8 turns, by twos
    halves = msgspec.structs.replace(recipe, accumulation=2)
    assert with_steps(halves, turns, 1).steps == 8
    small = msgspec.structs.replace(recipe, token_budget=8 * 8)
    assert with_steps(small, turns, 1).steps == 15
    assert with_steps(msgspec.structs.replace(recipe, steps=4), turns, 1).steps == 4


def test_the_frozen_encoder_is_the_one_that_training_began_with(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    trained = train_once(tmp_path_factory, "sgd_baseline")
    before = load_encoder(str(trained / "initial"))[0].state_dict()
    model = SgdTracker.from_pretrained(trained)
    frozen = model.schema_encoder.state_dict()
    assert before.keys() == frozen.keys()
    assert all(torch.equal(tensor, frozen[name]) for name, tensor in before.items())
    tuned = model.encoder.state_dict()["embeddings.word_embeddings.weight"]
    assert not torch.equal(tuned, before["embeddings.word_embeddings.weight"])
    assert not any(p.requires_grad for p in model.schema_encoder.parameters())
