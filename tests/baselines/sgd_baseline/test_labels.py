"""Labels of the sample: each says what the gold state says, or is counted."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from datasets import Dataset

from baselines.sgd_baseline.batches import TurnExamples
from baselines.sgd_baseline.decode import best_spans, prediction_rows, read_changes
from baselines.sgd_baseline.frames import by_turn, read_frames
from baselines.sgd_baseline.labels import ACTIVE, IS_DONTCARE, Labels, read_labels
from baselines.sgd_baseline.modeling import CLS, IGNORED
from baselines.sgd_baseline.schema_embeddings import ElementTable
from baselines.sgd_baseline.states import differences
from baselines.sgd_baseline.tracker import SgdTracker
from baselines.sgd_baseline.turns import TokenizedTurns
from baselines.training.evaluation import joint_goal_accuracy


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


def test_labels_say_what_the_state_says(examples: TurnExamples, train_rows: Dataset) -> None:
    """Reads the labels back, slot by slot, and compares them with the rows' gold state."""
    frames, table, columns = examples.frames, examples.table, labels_of(examples).columns
    states = [{s["slot"]: s["values"] for s in state} for state in train_rows["slot_values"]]
    changes = list(differences(map(frames.group, range(len(frames))), states))
    at = {"categorical": 0, "free": 0}
    not_in_turn = 0
    for index, (row, changed) in enumerate(zip(train_rows, changes, strict=True)):
        service = table.services[frames.service[index]]
        intents = ["NONE", *service.intents]
        assert intents[columns["intent"][index]] == row["active_intent"]
        for slot, choices in zip(service.categorical, service.values):
            place = at["categorical"]
            at["categorical"] += 1
            requested = columns["categorical_requested"][place]
            assert requested == (slot in row["requested_slots"])
            status, value = columns["categorical_status"][place], columns["value"][place]
            assert status == expected_status(slot, changed)
            assert (value != IGNORED) == (status == ACTIVE)
            if status == ACTIVE:
                assert choices[value] == changed[slot][0]
        for slot in service.free:
            place = at["free"]
            at["free"] += 1
            assert columns["free_requested"][place] == (slot in row["requested_slots"])
            status = columns["free_status"][place]
            assert status == expected_status(slot, changed)
            start, end = columns["start"][place], columns["end"][place]
            if status != ACTIVE or start == CLS:
                assert start == end == (CLS if status == ACTIVE else IGNORED)
                not_in_turn += status == ACTIVE
                continue
            said = examples.turns.turn(frames.text[index]).text(start, end)
            assert said in changed[slot]
    counts = labels_of(examples).counts
    assert at == {"categorical": len(columns["value"]), "free": len(columns["start"])}
    assert counts["changes"] == sum(map(len, changes))
    assert counts["not_in_schema"] == 0
    assert 0 < counts["not_in_turn"] == not_in_turn < 0.15 * counts["changes"]


def expected_status(slot: str, changed: Any) -> int:
    if slot not in changed:
        return 0
    return IS_DONTCARE if changed[slot] == ["dontcare"] else ACTIVE


def test_perfect_logits_give_the_gold_state(examples: TurnExamples, train_rows: Dataset) -> None:
    """Labels as logits, decoded and accumulated: only what is in no turn is lost."""
    everything = range(len(examples.groups))
    batch, (_, asked) = examples.training_batch(everything), examples.batch(everything)
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
