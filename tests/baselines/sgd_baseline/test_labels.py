"""Labels of the sample: each says what the gold state says, or is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset

from baselines.sgd_baseline.data import (
    Labels,
    TokenizedTurns,
    TurnExamples,
    by_turn,
    read_frames,
    read_labels,
)
from baselines.sgd_baseline.elements import ElementTable
from baselines.sgd_baseline.system import SgdTracker, best_spans, prediction_rows, read_changes
from baselines.tracker import joint_goal_accuracy


@pytest.fixture(scope="module")
def examples(tracker: SgdTracker, train_rows: Dataset) -> TurnExamples:
    frames = read_frames(train_rows)
    turns = TokenizedTurns(frames.texts, tracker.tokenizer, 64)
    table = ElementTable(frames.schemas)
    labels = read_labels(train_rows, frames, table, turns)
    vectors = torch.arange(len(table.pairs))[:, None].float()  # each says its place
    return TurnExamples(frames, by_turn(frames), turns, table, vectors, labels)


def labels_of(examples: TurnExamples) -> Labels:
    assert examples.labels is not None
    return examples.labels


def test_perfect_logits_give_the_gold_state(examples: TurnExamples, train_rows: Dataset) -> None:
    """Labels as logits, decoded and accumulated: only what is in no turn is lost."""
    everything = np.arange(len(examples.groups))
    batch, (_, asked) = examples.batch(everything), examples.questions(everything)
    sizes = {"intent": batch["intents"].shape[1], "value": batch["values"].shape[1]}
    logits = {
        name: torch.nn.functional.one_hot(
            batch[f"{name}_label"].clamp(min=0), sizes.get(name, 3)
        ).float()
        for name in ("intent", "value", "categorical_status", "free_status")
    }
    logits["requested"] = batch["requested_label"].float()
    turn = batch["turn"][batch["free_frame"][batch["span"]]]
    width = batch["input_ids"].shape[1]
    sides = examples.turns.batch_sides(examples.texts.tolist(), width)[turn]
    marks = (batch[f"{side}_label"] for side in ("start", "end"))
    start, end = (torch.nn.functional.one_hot(mark, width).float() * 9 for mark in marks)
    first, last = best_spans(start, end, sides)
    spans = list(zip(batch["span"].tolist(), first.tolist(), last.tolist()))
    assert [s for _, s, _ in spans].count(-1) == labels_of(examples).counts["not_in_turn"]
    changes = read_changes(examples, asked, logits, spans)
    rows = list(prediction_rows(examples, changes))
    assert [row["active_intent"] for row in rows] == list(train_rows["active_intent"])
    for row, gold in zip(rows, train_rows):
        assert set(row["requested_slots"]) == set(gold["requested_slots"])
        known = {given["slot"]: given["values"] for given in gold["slot_values"]}
        for given in row["slot_values"]:
            assert given["values"][0] in known[given["slot"]]
    # The ceiling of a tracker that reads two utterances and neither history nor other services.
    assert joint_goal_accuracy(train_rows, rows) == pytest.approx(0.6463, abs=1e-4)


def test_turns_where_nothing_changes_have_a_loss(
    examples: TurnExamples, tracker: SgdTracker
) -> None:
    """All heads get a gradient, for which processes would wait, and the frozen encoder none."""
    quiet = [i for i in range(60) if not len(examples.batch(np.array([i]))["span"])]
    batch = examples.batch(np.array(quiet[:4]))
    batch["elements"] = torch.randn(len(batch["elements"]), 64)
    tracker.train()
    output: Any = tracker(**batch)
    assert output.losses["start"] == output.losses["end"] == 0
    output.loss.backward()
    without = {name for name, p in tracker.named_parameters() if p.grad is None}
    frozen = {n for n, _ in tracker.named_parameters() if n.startswith("schema_encoder.")}
    tracker.zero_grad()
    tracker.train(False)
    assert without == frozen
