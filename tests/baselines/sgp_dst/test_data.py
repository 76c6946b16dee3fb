"""From frames to examples, sequences and labels, and the score by which checkpoints are chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import RobertaConfig, set_seed

from baselines.data.dialogues import read_dialogues
from baselines.encoders import corpus_texts, tiny_tokenizer
from baselines.sgp_dst.data import (
    EASY,
    EXAMPLES,
    HARD,
    MORE_EXAMPLES,
    POSITIVE,
    SYSTEM,
    Example,
    Sequences,
    Vocabulary,
)
from baselines.sgp_dst.modeling import Answers, CombineModel, CopyModel, IntentModel, SgpConfig
from baselines.sgp_dst.questions import Question, TurnText, combine_prompt, intent_prompt
from baselines.sgp_dst.rules import Answer, Span
from baselines.sgp_dst.settings import Part
from baselines.sgp_dst.training import (
    READS,
    TrainingData,
    decision_f1,
    decisions,
    decode,
    stratified,
)
from sgdx_dataset import SgdxError, frames, load
from sgdx_dataset.tracker_inputs import training_columns

from .schemas import CABS

# Of each part, on the sample: its examples by kind, the sums of their labels, and those of their
# questions' features.
FROZEN: dict[str, tuple[dict[int, int], list[int], int]] = {
    "intent": ({POSITIVE: 492}, [359], 0),
    "combine": ({EASY: 4212, SYSTEM: 421, HARD: 341, POSITIVE: 327}, [25558, 31511, 567, 45], 2502),
    "copy": ({EASY: 698, POSITIVE: 86, HARD: 51}, [86], 4849),
    "cross": ({EASY: 321, HARD: 32, POSITIVE: 11}, [11], 7020),
}


def made(part: Part, rows: Any, how: Any) -> Iterator[Example]:
    for dialogue in read_dialogues(rows):
        yield from how[part](dialogue) if part in how else ()


@pytest.mark.parametrize("part", FROZEN)
def test_the_examples_of_the_sample(part: Part) -> None:
    rows = training_columns(frames(load("original", "train", "sample")), READS)
    examples = [*made(part, rows, EXAMPLES), *made(part, rows, MORE_EXAMPLES)]
    kinds = Counter(e.kind for e in examples)
    labels = [sum(column) for column in zip(*(e.labels for e in examples))]
    assert (kinds, labels, sum(e.question.bits for e in examples)) == FROZEN[part]


_WORDS = """sys usr null do not care tag sort keep jump none # : ? , . shared destination Whether
others ride along True False Where to the ride goes Bath please Call a cab OrderCab Look up
PlanRide"""
VOCABULARY = Vocabulary(tiny_tokenizer([_WORDS] * 3))
SAID = TurnText("sys : Where to? usr : Bath, please", 22)


def sequences(*questions: Question, limit: int = 144) -> Sequences:
    return Sequences(questions, VOCABULARY, limit)


def tokens(made: Sequences, index: int) -> list[str]:
    return list(VOCABULARY.tokenizer.convert_ids_to_tokens(made.table(index)[0].tolist()))


def test_a_batch() -> None:
    made = sequences(
        Question(SAID, combine_prompt(CABS, "shared"), 4),
        Question(SAID, intent_prompt(CABS, "NONE", True)),
    )
    assert " ".join(tokens(made, 0)) == (
        "[CLS] sys : Where to ? usr : Bath , please null [SEP] sort # shared # Whether others ride"
        " along [SEP] null [SEP] do not care [SEP] True [SEP] False [SEP]"
    )
    batch = made.batch(np.array([0, 1]))
    assert batch["attention_mask"].sum(1).tolist() == made.lengths.tolist() == [32, 29]
    elements = [0] + [-1] * 11 + [0] * 10 + [1, 0, 2, 2, 2, 0, 3, 0, 4, 0]
    assert batch["elements"][0].tolist() == elements
    assert batch["present"].tolist() == [[True] * 4, [True] * 3 + [False]]
    assert batch["features"][0].tolist() == [4] * 32
    assert batch["token_type_ids"][0].tolist() == [0] * 13 + [1] * 19
    features = dict(zip(tokens(made, 1), batch["features"][1].tolist()))
    assert (features["none"], features["Call"], features["[CLS]"]) == (1, 0, 0)


def test_the_last_tokens_of_a_turn_survive() -> None:
    made = sequences(Question(SAID, combine_prompt(CABS, "shared")), limit=26)
    assert " ".join(tokens(made, 0)).startswith("[CLS] : Bath , please null [SEP] sort # shared #")
    assert tokens(made, 0)[-2:] == ["False", "[SEP]"]
    turn = made.turn(0)
    assert (made.lengths.tolist(), made.cut, turn.user, turn.end) == ([26], 1, 2, 5)
    assert turn.tokens(6, 11) is None  # "Where" was cut
    shorter = sequences(Question(SAID, combine_prompt(CABS, "shared")), limit=24).turn(0)
    assert (shorter.user, shorter.end) == (1, 3)  # and of the user's words the first
    with pytest.raises(SgdxError, match="max_tokens: 22 leave no room.*'sort # shared # Whether"):
        sequences(Question(TurnText("sys : usr : a", 12), combine_prompt(CABS, "shared")), limit=22)


def training_data(part: Part, examples: Any, tokenizer: Any) -> TrainingData:
    seen = SimpleNamespace(max_tokens=160)
    sub: Any = SimpleNamespace(vocabulary=Vocabulary(tokenizer), PART=part, seen=seen)
    return TrainingData(examples, sub)


@pytest.mark.parametrize("split", ["train", "test"])
def test_every_gold_span_is_tokens_and_back(split: str) -> None:
    """Of the sample, system turns' too."""
    rows = training_columns(frames(load("original", split, "sample")), READS)
    tokenizer = tiny_tokenizer(corpus_texts(rows))
    examples = [*made("combine", rows, EXAMPLES), *made("combine", rows, MORE_EXAMPLES)]
    data = training_data("combine", examples, tokenizer)
    spans = np.flatnonzero(data.labels[:, 0] >= 0)
    assert len(spans) > 200
    for index in spans.tolist():
        start, end = data.labels[index, :2].tolist()
        turn = data.sequences.turn(index)
        found = turn.tokens(start, end)
        assert found is not None
        assert turn.characters(*found) == (start, end)
        assert data.batch(np.array([index]))["labels"][0, :2].tolist() == list(found)
    assert data.facts["examples"]["missed_spans"] == 0


SURE = Span(4, 8, "Bath", 1.1)


def test_only_sure_answers_are_decisions() -> None:
    assert decisions("intent", Answer(2, 0.3, 0.1), False) == {("intent", 2)}
    unsure, sure = Answer(3, 0.79, 0, 0.89, SURE), Answer(3, 0.81, 0, 0.89, SURE)
    assert decisions("combine", unsure, True) == set()
    assert decisions("combine", sure, True) == {("value", 3)}
    assert decisions("combine", Answer(0, 0.99, 0, 0.91, SURE), False) == {
        ("requested",), ("span", 4, 8),
    }  # fmt: skip
    assert decisions("combine", sure._replace(requested=0.91), True) == {("requested",)}  # rule 5
    dontcare = Answer(1, 0.9, 0.9, 0.1, SURE)
    assert decisions("combine", dontcare, False) == {("value", 1)}  # it is put after the span
    weak = SURE._replace(score=1.0)
    assert decisions("combine", Answer(0, 0.9, 0, 0, weak), False) == set()


@pytest.mark.parametrize(("part", "least"), [("copy", 0.85), ("cross", 0.9)])
def test_f1_counts_what_is_sure_enough_as_often_as_it_occurs(part: Part, least: float) -> None:
    rows = training_columns(frames(load("original", "validation", "sample")), READS)
    data = training_data(part, made(part, rows, EXAMPLES), VOCABULARY.tokenizer)
    positive = float((data.kinds == POSITIVE).mean())
    assert 0.01 < positive < 0.3

    def sure(probability: float) -> Any:
        """A submodel that says yes with one probability, whatever it reads."""
        logits = torch.tensor([1 - probability, probability]).log()
        model: Any = SimpleNamespace(PART=part, device=torch.device("cpu"))
        model.answer = lambda sequences, indices: decode(
            Answers(logits=logits.expand(len(indices), 2)), sequences, indices
        )
        return model

    for most in (30, 10**6):  # as frequent in a balanced sample as in all of dev
        sample = stratified(data.kinds, most)
        score = [decision_f1(sure(p), data, sample) for p in (least - 0.01, least + 0.01)]
        # What is likeliest is not always sure enough for rules 6 and 7.
        assert score == pytest.approx([0, 2 * positive / (1 + positive)], abs=1e-6)


BATCH = {
    "input_ids": torch.tensor([[2, 11, 12, 3, 20, 21, 3, 30, 3, 0]]),
    "attention_mask": torch.tensor([[1] * 9 + [0]]),
    "token_type_ids": torch.tensor([[0] * 4 + [1] * 5 + [0]]),
    "features": torch.zeros(1, 10, dtype=torch.long),
    "elements": torch.tensor([[0, -1, -1, 0, 1, 1, 0, 2, 0, 0]]),
    "present": torch.tensor([[True, True]]),
}


def submodel(kind: type[Any]) -> Any:
    set_seed(0)
    encoder = RobertaConfig(
        vocab_size=60, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=16, type_vocab_size=1, max_position_embeddings=40,
    )  # fmt: skip
    return kind(SgpConfig(encoder=encoder.to_dict()))


@pytest.mark.parametrize(
    ("kind", "labels"), [(IntentModel, [[1]]), (CombineModel, [[1, 2, 1, 0]]), (CopyModel, [[1]])]
)
def test_an_encoder_without_segments_or_pooler_in_half_precision(
    kind: type[Any], labels: list[list[int]]
) -> None:
    """With checkpointing all weights have a gradient, for which processes would wait."""
    model = submodel(kind)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(**BATCH, labels=torch.tensor(labels)).loss
    loss.backward()
    gradients = [p.grad for p in model.parameters()]
    assert all(g is not None and torch.isfinite(g).all() for g in gradients)


@pytest.mark.parametrize("kind", [IntentModel, CombineModel])
def test_the_score_of_an_element_does_not_depend_on_the_others(kind: type[Any]) -> None:
    model = submodel(kind).eval()
    other = BATCH | {"input_ids": torch.tensor([[2, 11, 12, 3, 20, 21, 3, 40, 3, 0]])}
    first, second = (model(**batch).logits[0].tolist() for batch in (BATCH, other))
    assert first[0] == pytest.approx(second[0], abs=1e-6)
    assert first[1] != second[1]


def test_no_span_of_an_utterance_that_is_empty() -> None:
    made = sequences(
        Question(TurnText("sys : Where to? usr : ", 22), combine_prompt(CABS, "shared"))
    )
    tokens = torch.zeros(1, int(made.lengths[0]))
    says = Answers(logits=torch.zeros(1, 4), start=tokens, end=tokens, requested=torch.zeros(1, 2))
    assert decode(says, made, np.array([0]))[0].span is None
