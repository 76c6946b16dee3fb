"""Rows: what reaches a tracker or a generator, how one fails that asks for more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
import pytest
from datasets import Dataset, concatenate_datasets

from baselines.data import rows as turns
from baselines.predicting import predict as track
from baselines.settings import TrainingSettings
from baselines.system import SYSTEMS, System, get_system
from baselines.t2g2.system import T2G2Generator
from sgdx_dataset import SgdxError, load
from sgdx_dataset import frames as frame_rows
from sgdx_dataset import tracker_inputs as inputs

Row = dict[str, Any]
BLIND = ("history", "utterance", "schema")
GOLD = {
    "frames": [*inputs.GOLD, "seen", "schema_slots"],
    "turns": ["utterance", "prompt", "seen", "seen_domain"],
}
EACH = [(kind, column) for kind, columns in GOLD.items() for column in columns]


@pytest.fixture(scope="module")
def rows() -> dict[str, Dataset]:
    data = load("v2", "test", "sample")
    return {"frames": frame_rows(data), "turns": turns.turn_rows(data, "test", "sample")}


# What a prediction must have, of a frame or a turn.
NEEDED = ("frame_id", "turn_id", "utterance", "variant", "active_intent", "requested_slots")


def predict(kind: str, rows: Dataset, look: Callable[[Row], Any], *reads: str) -> list[Any]:
    """What a system saw that declares some inputs and looks at something of each row."""

    class Looking(System):
        NAME: ClassVar[str] = "looking"
        ROWS: ClassVar[Any] = kind
        READS: ClassVar[tuple[str, ...]] = reads

        def track(self, rows: Dataset) -> list[Any]:
            return [
                dict.fromkeys((*NEEDED, "slot_values"), "") | {"saw": look(row)} for row in rows
            ]

    return [row["saw"] for row in track(Looking(), rows).rows]


def last_acts(row: Row) -> Any:
    return [turn["actions"] for turn in row["history"]]


@pytest.mark.parametrize(("kind", "column"), EACH)
def test_nobody_sees_or_declares_gold(rows: dict[str, Dataset], kind: str, column: str) -> None:
    columns = inputs.INPUTS if kind == "frames" else turns.TURN_INPUTS
    with pytest.raises(KeyError, match=column):
        predict(kind, rows[kind], lambda row: row[column], *columns)
    with pytest.raises(SgdxError, match=f"asks to read {column}, "):
        predict(kind, rows[kind], lambda row: row[column], column)


def test_acts_are_for_those_who_declare_them(rows: dict[str, Dataset]) -> None:
    given = rows["frames"]
    with pytest.raises(KeyError, match="actions"):
        predict("frames", given, last_acts, *BLIND)
    seen = predict("frames", given, last_acts, *BLIND, "system_acts")
    assert seen == [last_acts(row) for row in given]
    assert sum(len(acts) for saw in seen for acts in saw) > 300


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_declares_inputs_alone(name: str) -> None:
    system_class = get_system(name)
    assert name == system_class.NAME
    known = inputs.INPUTS if system_class.ROWS == "frames" else turns.TURN_INPUTS
    assert set(system_class.READS) <= set(known)
    assert ("system_acts" in system_class.READS) is (name in ("lexical", "sgp_dst", "onepass"))


def test_training_sees_gold_besides(rows: dict[str, Dataset]) -> None:
    shown = inputs.training_columns(rows["frames"], BLIND)
    assert set(shown.column_names) == {*inputs.IDENTITY, *BLIND, *inputs.GOLD}
    assert "actions" not in shown[5]["history"][0]
    assert shown["slot_values"] == rows["frames"]["slot_values"]
    shown = turns.visible(rows["turns"], T2G2Generator, gold=True)
    own = ("actions", "intent", "schemas", "original_actions", "original_intent", "utterance")
    assert set(shown.column_names) == {*turns.TURN, *own}
    assert shown["utterance"] == rows["turns"]["utterance"]


def test_without_acts_everything_else_stays(rows: dict[str, Dataset]) -> None:
    """In whole splits, in selections and in splits one after the other; dicts and Arrow alike."""
    whole = rows["frames"]
    some = whole.select([7, 3, 100, 101])
    for given in (whole, some, concatenate_datasets([some, whole]), whole.select(range(5, 60))):
        bare = inputs.input_columns(given, BLIND)
        assert bare["frame_id"] == given["frame_id"]
        expected = [
            [{"speaker": t["speaker"], "utterance": t["utterance"]} for t in row["history"]]
            for row in given
        ]
        assert list(bare["history"]) == expected
        assert bare.with_format("arrow")[:]["history"].to_pylist() == expected
        assert list(bare["schema"]) == list(given["schema"])


def test_the_original_names_have_the_same_acts_and_values(rows: dict[str, Dataset]) -> None:
    original = turns.turn_rows(load("original", "test", "sample"), "test", "sample")
    by_id = {row["turn_id"]: row for row in original.remove_columns("schemas")}
    renamed = 0
    for row in rows["turns"].remove_columns("schemas"):
        assert row["original_actions"] == by_id[row["turn_id"]]["actions"]
        assert row["original_intent"] == by_id[row["turn_id"]]["intent"]
        assert row["dialogue_id"] == row["turn_id"].rpartition("/")[0]
        for own, first in zip(row["actions"], row["original_actions"], strict=True):
            assert own["act"] == first["act"]
            renamed += own["slot"] != first["slot"]
    assert renamed > 50
    assert original["actions"] == original["original_actions"]


RECIPE = TrainingSettings(
    tracker="sgp_dst", model="tiny", steps=1, batch_size=1, token_budget=1, optimizer="adamw",
    learning_rate=0.1, save_every=1, evaluate_every=1, train_dialogues=7, seed=3,
)  # fmt: skip


def test_the_same_dialogues_are_drawn_under_all_schemas() -> None:
    parts = [frame_rows(load(config, "validation", "sample")) for config in ("original", "v1")]
    rows = concatenate_datasets(parts)
    some = turns.random_dialogues(rows, RECIPE)
    drawn = set(zip(some["variant"], some["dialogue_id"]))
    ids = {dialogue for _, dialogue in drawn}
    assert len(ids) == 7 and drawn == {(v, i) for v in ("original", "v1") for i in ids}
    whole = list(zip(rows["variant"], rows["dialogue_id"], rows["frame_id"]))
    kept = list(zip(some["variant"], some["dialogue_id"], some["frame_id"]))
    assert kept == [row for row in whole if row[1] in ids]  # whole and in order
    other = turns.random_dialogues(rows, msgspec.structs.replace(RECIPE, seed=4))
    assert set(other["dialogue_id"]) != ids
    everything = msgspec.structs.replace(RECIPE, train_dialogues=None)
    assert len(turns.random_dialogues(rows, everything)) == len(rows)
    many = msgspec.structs.replace(RECIPE, train_dialogues=10**6)
    with pytest.raises(
        SgdxError, match="train_dialogues: 1000000, found 1[0-9] dialogues in train"
    ):
        turns.random_dialogues(rows, many)
