"""The guard of generators: what reaches one, and what one may be trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from datasets import Dataset

from baselines.data.turns import (
    GOLD,
    IDENTITY,
    INPUTS,
    generate,
    input_columns,
    training_columns,
    training_turns,
    turn_rows,
)
from baselines.system import Generator, Predictions
from baselines.t2g2.generator import T2G2Generator
from baselines.t2g2.settings import T2G2Settings
from baselines.training.settings import Augment
from baselines.training.task import Provenance
from sgdx_dataset import SgdxError, load

Row = dict[str, Any]
BACKTRANS = ["backtrans-ja", "backtrans-ko", "backtrans-zh"]
SETTINGS = T2G2Settings(
    tracker="t2g2", model="tiny", max_input=64, max_target=16, steps=1, batch_size=1,
    token_budget=64, optimizer="adamw", learning_rate=1.0, save_every=1, evaluate_every=1, seed=3,
)  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> Dataset:
    return turn_rows(load("v2", "test", "sample"), "test", "sample")


def generator_that(look: Callable[[Row], Any], *reads: str) -> Generator:
    """A generator that declares some inputs and looks at something of each row."""

    class Looking(Generator):
        NAME: ClassVar[str] = "looking"
        READS: ClassVar[tuple[str, ...]] = reads

        def predict(self, rows: Dataset, chunks: Path) -> Predictions:
            return Predictions([{"saw": look(row)} for row in rows], {})

    return Looking()


@pytest.mark.parametrize("column", [*GOLD, "prompt", "seen", "seen_domain"])
def test_a_generator_that_looks_at_gold_fails(rows: Dataset, column: str, tmp_path: Path) -> None:
    with pytest.raises(KeyError, match=column):
        generate(generator_that(lambda row: row[column], *INPUTS), rows, tmp_path)


@pytest.mark.parametrize("column", [*GOLD, "prompt"])
def test_a_generator_cannot_declare_gold(rows: Dataset, column: str, tmp_path: Path) -> None:
    greedy = generator_that(lambda row: row[column], "actions", column)
    with pytest.raises(SgdxError, match=f"asks to read {column}, expected only actions, intent"):
        generate(greedy, rows, tmp_path)


def test_what_is_declared_is_all_that_is_there(rows: Dataset) -> None:
    assert input_columns(rows, ["actions"]).column_names == [*IDENTITY, "actions"]
    assert input_columns(rows, ()).column_names == list(IDENTITY)
    shown = training_columns(rows, T2G2Generator.READS)
    both = {"original_actions", "original_intent"}
    assert set(shown.column_names) == {*IDENTITY, "actions", "intent", "schemas", *both, *GOLD}
    assert shown["utterance"] == rows["utterance"]
    assert set(T2G2Generator.READS) <= set(INPUTS)


def test_the_original_names_have_the_same_acts_and_values(rows: Dataset) -> None:
    original = turn_rows(load("original", "test", "sample"), "test", "sample")
    by_id = {row["turn_id"]: row for row in original.remove_columns("schemas")}
    renamed = 0
    for row in rows.remove_columns("schemas"):
        assert row["original_actions"] == by_id[row["turn_id"]]["actions"]
        assert row["original_intent"] == by_id[row["turn_id"]]["intent"]
        assert row["dialogue_id"] == row["turn_id"].rpartition("/")[0]
        for own, first in zip(row["actions"], row["original_actions"], strict=True):
            assert own["act"] == first["act"]
            renamed += own["slot"] != first["slot"]
    assert renamed > 50
    assert original["actions"] == original["original_actions"]


def settings(schemas: str) -> T2G2Settings:
    return msgspec.structs.replace(SETTINGS, augment=Augment(schemas=schemas))


def test_training_reads_the_original_schemas_alone() -> None:
    training = training_turns(SETTINGS, "sample", oracle=False)
    assert training.provenance == Provenance(tracker="t2g2", seed=3)
    assert training.rows.unique("variant") == ["original"]
    assert len(training.rows) == 482


def test_augmented_each_turn_is_there_once_under_each_schema() -> None:
    training = training_turns(settings("backtrans"), "sample", oracle=False)
    met = Counter(zip(training.rows["variant"], training.rows["turn_id"]))
    assert set(met.values()) == {1}
    assert training.rows.unique("variant") == ["original", *BACKTRANS]
    assert len(met) == 4 * 482
    assert training.provenance.train == ("original", *BACKTRANS)
    assert not training.provenance.oracle


def test_variants_that_are_judged_on_are_refused_in_the_trackers_words() -> None:
    with pytest.raises(SgdxError, match="^augment: oracle "):
        training_turns(settings("oracle"), "sample", oracle=False)


def test_few_shot_dialogues_are_the_same_under_all_schemas() -> None:
    some = msgspec.structs.replace(settings("backtrans"), train_dialogues=5)
    rows = training_turns(some, "sample", oracle=False).rows
    dialogues = {
        variant: {d for v, d in zip(rows["variant"], rows["dialogue_id"]) if v == variant}
        for variant in ("original", *BACKTRANS)
    }
    assert {len(of) for of in dialogues.values()} == {5}
    assert len(set(map(frozenset, dialogues.values()))) == 1
