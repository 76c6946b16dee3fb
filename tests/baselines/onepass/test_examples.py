"""Training examples: the oracle's ceilings, what no path leads to, random changes of schemas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset

from baselines.data.dialogues import prediction_rows, read_dialogues
from baselines.encoders import corpus_texts, tiny_tokenizer
from baselines.onepass.examples import (
    Example,
    FrameExamples,
    SchemaNoise,
    all_examples,
    drop_acts_of_some,
    gold_examples,
)
from baselines.onepass.frames import Reading
from baselines.onepass.layout import Vocabulary, part_lengths, sequences
from baselines.onepass.system import READS
from baselines.task import joint_goal_accuracy
from sgdx_dataset import frames, load
from sgdx_dataset.tracker_inputs import SYSTEM_ACTS, training_columns

ACTS, TEXT = Reading(acts=True, utterances=2), Reading(acts=False, utterances=4)


def walked(rows: Dataset, reading: Reading) -> tuple[list[Example], float]:
    """The examples of frame rows, and the joint goal accuracy of the right answers."""
    reads = READS if reading.acts else tuple(part for part in READS if part != SYSTEM_ACTS)
    seen = training_columns(rows, reads)
    dialogues = list(read_dialogues(seen))
    examples, states = gold_examples(dialogues, reading)
    predicted = [row for pair in zip(dialogues, states) for row in prediction_rows(*pair)]
    return examples, joint_goal_accuracy(rows, predicted)


@pytest.fixture(scope="module")
def rows() -> Dataset:
    return frames(load("original", "test", "sample"))


@pytest.fixture(scope="module")
def examples(rows: Dataset) -> list[Example]:
    return walked(rows, ACTS)[0]


@pytest.fixture(scope="module")
def vocabulary(rows: Dataset) -> Vocabulary:
    return Vocabulary(tiny_tokenizer(corpus_texts(rows)))


@pytest.mark.parametrize(
    ("reading", "ceiling"), [(ACTS, 0.9927), (TEXT, 0.9560), (Reading(False, 2), 0.8095)]
)
def test_the_ceiling_on_the_sample(rows: Dataset, reading: Reading, ceiling: float) -> None:
    examples, accuracy = walked(rows, reading)
    assert accuracy == pytest.approx(ceiling, abs=1e-4)
    assert len(examples) == len(rows) == 273


@pytest.mark.release
@pytest.mark.slow
@pytest.mark.parametrize(
    ("reading", "ceiling"), [(ACTS, 0.9945), (Reading(False, 2), 0.9270), (TEXT, 0.9800)]
)
def test_the_ceiling_on_the_release(
    release_archive: Path, reading: Reading, ceiling: float
) -> None:
    """About a minute each; the figures are of the partial release, which has 26,802 test frames."""
    rows = frames(load("original", "test", str(release_archive)))
    assert walked(rows, reading)[1] == pytest.approx(ceiling, abs=0.003)


def test_a_third_of_the_dialogues_has_no_acts(rows: Dataset) -> None:
    """Their frames are those of a tracker without acts; the others are those of one with acts."""
    seen = training_columns(rows, READS)
    dialogues = list(read_dialogues(seen))
    thinned = list(drop_acts_of_some(dialogues, 3))
    silent = [not any(turn.acts for turn in dialogue.turns) for dialogue in thinned]
    assert 0.2 < np.mean(silent) < 0.45
    assert silent == [not any(t.acts for t in d.turns) for d in drop_acts_of_some(dialogues, 3)]
    for dialogue, is_silent in zip(thinned, silent):
        (mixed, _), (plain, _) = (
            gold_examples([dialogue], reading)
            for reading in (Reading("sometimes", 2), TEXT if is_silent else ACTS)
        )
        assert [one.frame.key for one in mixed] == [one.frame.key for one in plain]
    mixed = all_examples(thinned, Reading("sometimes", 2))
    assert len(mixed) == len(rows)
    assert any(example.frame.offered_now for example in mixed)
    assert any(len(example.frame.utterances) == 4 for example in mixed)


@pytest.mark.parametrize("limit", [512, 128])
def test_lengths_are_those_of_the_sequences(
    examples: list[Example], vocabulary: Vocabulary, limit: int
) -> None:
    """Frames of one sequence are counted and not made; dialogues are cut at half the limit."""
    for example in examples[:40]:
        made = [len(part.ids) for part in sequences(example.frame, vocabulary, limit)]
        assert part_lengths(example.frame, vocabulary, limit) == made


def test_a_batch_is_always_changed_alike(examples: list[Example], vocabulary: Vocabulary) -> None:
    noise = SchemaNoise(shuffle=True, drop_names=0.3, drop_descriptions=0.3)
    made, again = (FrameExamples(examples, vocabulary, 512, noise, 0) for _ in range(2))
    other = FrameExamples(examples, vocabulary, 512, noise, 1)
    indices = np.array([5, 2, 9])
    first, second, third = (each.batch(indices) for each in (made, again, other))
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.items())
    assert not torch.equal(first["input_ids"], third["input_ids"])


def test_names_or_descriptions_are_dropped(examples: list[Example]) -> None:
    schema, rng = examples[0].frame.schema, np.random.default_rng(0)
    slot = schema.slots[0].name
    described = schema.slot(slot).description

    def slots(noise: SchemaNoise) -> dict[str, str]:
        variant = noise.variant(schema, rng)
        return {} if variant is None else dict(variant.slots)

    assert slots(SchemaNoise(drop_names=1.0))[slot] == described
    assert slots(SchemaNoise(drop_descriptions=1.0))[slot] == slot.replace("_", " ")
    assert slots(SchemaNoise()) == {}
    shuffled = list(slots(SchemaNoise(shuffle=True)))
    assert shuffled != list(schema.slots_by_name) and {*shuffled} == {*schema.slots_by_name}
    half = SchemaNoise(drop_names=0.5, drop_descriptions=0.5)
    assert 35 < sum(slots(half)[slot] == described for _ in range(100)) < 65


def test_shuffled_elements_have_their_labels(
    examples: list[Example], vocabulary: Vocabulary
) -> None:
    plain = FrameExamples(examples, vocabulary, 512, SchemaNoise(), 0)
    shuffled = FrameExamples(examples, vocabulary, 512, SchemaNoise(shuffle=True), 0)
    indices = np.arange(40)
    one, two = plain.batch(indices), shuffled.batch(indices)
    assert not torch.equal(one["input_ids"], two["input_ids"])
    for name in ("requested_label", "status_label", "value_label", "scored"):
        assert one[name].sum() == two[name].sum()


def test_parts_of_a_long_schema_have_all_labels(
    examples: list[Example], vocabulary: Vocabulary
) -> None:
    whole = FrameExamples(examples[:40], vocabulary, 512, SchemaNoise(), 0)
    cut = FrameExamples(examples[:40], vocabulary, 128, SchemaNoise(), 0)
    assert len(cut.lengths) > len(whole.lengths)
    assert cut.lengths.max() <= 128
    one = whole.batch(np.arange(len(whole.lengths)))
    two = cut.batch(np.arange(len(cut.lengths)))
    for name in ("requested_label", "status_label", "value_label"):
        assert one[name].sum() == two[name].sum()
    assert (two["intent_label"] >= 0).sum() == 40  # of the first parts
