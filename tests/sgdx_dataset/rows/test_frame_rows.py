"""Frame rows: equal to a plain reading of the dialogue rows, however the dataset is sliced."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from datasets import Value, concatenate_datasets

from sgdx_dataset import CONFIGS, SgdxError, frame_tables, frames, load, open_release, turns
from sgdx_dataset.rows.columns import DIALOGUE_COLUMNS, FRAME_COLUMNS
from sgdx_dataset.rows.features import DIALOGUE_ROW, FRAME_ROW
from sgdx_dataset.rows.frame_rows import frame_parts
from sgdx_dataset.rows.turn_rows import domains_seen

from ...conftest import ROOT

Json = Any


def plain(dialogue: Json) -> Iterator[Json]:
    """The frame rows of a dialogue row, as the contract words them."""
    schemas = {schema["service_name"]: schema for schema in dialogue["schemas"]}
    for index, turn in enumerate(dialogue["turns"]):
        for frame in turn["frames"] if turn["speaker"] == "USER" else []:
            schema = schemas[frame["service"]]
            slots = schema["slots"]
            after = dialogue["turns"][index + 1]["frames"] if dialogue["turns"][index + 1 :] else []
            calls = [one["service_call"] for one in after if one["service"] == frame["service"]]
            yield {
                "frame_id": f"{dialogue['dialogue_id']}/{index}/{schema['original_name']}",
                "variant": dialogue["variant"],
                "dialogue_id": dialogue["dialogue_id"],
                "turn": index,
                "service": frame["service"],
                "seen": schema["seen"],
                "history": [plain_turn(before) for before in dialogue["turns"][:index]],
                "utterance": turn["utterance"],
                "schema": schema,
                **frame["state"],
                "slots": frame["slots"],
                "service_call": calls[0] if calls else None,
                "schema_slots": [{k: s[k] for k in ("name", "is_categorical")} for s in slots],
                "canonical_values": plain_canonical(dialogue["turns"][: index + 1], frame["state"]),
            }


def plain_canonical(turns: Json, state: Json) -> Json:
    """What the values of a state's slots are to the API, as the acts of turns give it."""
    acts = [act for turn in turns for frame in turn["frames"] for act in frame["actions"]]
    slots = []
    for assigned in state["slot_values"]:
        canonical = [
            stands_for
            for act in acts
            for value, stands_for in zip(act["values"], act["canonical_values"])
            if value in assigned["values"] and stands_for not in assigned["values"]
        ]
        if canonical:
            slots.append({"slot": assigned["slot"], "values": list(dict.fromkeys(canonical))})
    return slots


def plain_turn(turn: Json) -> Json:
    system = turn["speaker"] == "SYSTEM"
    return {
        "speaker": turn["speaker"],
        "utterance": turn["utterance"],
        "actions": [
            {"service": frame["service"], **action}
            for frame in turn["frames"]
            for action in frame["actions"]
            if system
        ],
    }


@pytest.mark.parametrize("config", ["original", "v4"])
def test_rows_are_what_the_contract_says(config: str) -> None:
    test = load(config, "test")
    rows = frames(test)
    assert rows.features == FRAME_ROW
    assert list(rows) == [row for dialogue in test for row in plain(dialogue)]


def test_slices_shuffles_and_mixtures_of_variants() -> None:
    """A service may be there in several wordings at once; each dialogue has its own."""
    mixed = concatenate_datasets([load("v1", "test").select(range(3, 9)), load("v5", "test")])
    shuffled = mixed.shuffle(seed=7)
    expected = [row for dialogue in shuffled for row in plain(dialogue)]
    assert list(frames(shuffled)) == expected
    assert list(frames(shuffled.to_iterable_dataset(num_shards=2))) == expected


def test_no_gold_act_of_the_user_is_in_the_history() -> None:
    for row in frames(load("original", "test")):
        assert all(not turn["actions"] for turn in row["history"] if turn["speaker"] == "USER")


@pytest.mark.parametrize("config", CONFIGS)
def test_frame_tables_are_the_rows_of_load(config: str) -> None:
    release = open_release("sample")
    for split in release.splits(config):
        rows = frames(load(config, split))
        table = frame_tables(release, split, config)
        assert table.schema == FRAME_ROW.arrow_schema
        assert table.to_pylist() == list(rows)
        original = frame_tables(release, split, "original", ["frame_id"])["frame_id"].to_pylist()
        assert table["frame_id"].to_pylist() == original * len(release.variants(config))
        assert len(set(original)) == len(original)


def test_arrow_types_are_those_of_the_features() -> None:
    assert FRAME_ROW.arrow_schema == FRAME_COLUMNS
    assert DIALOGUE_ROW.arrow_schema == DIALOGUE_COLUMNS
    assert FRAME_ROW["turn"] == Value("int32")


@pytest.mark.parametrize("config", CONFIGS)
def test_columns_without_history_are_those_of_the_whole_rows(config: str) -> None:
    """They are read from fewer parts of the dialogues, which must not show."""
    release = open_release("sample")
    left_out = ("history", "schema", "service_call")
    columns = [name for name in FRAME_COLUMNS.names if name not in left_out]
    for split in release.splits(config):
        whole = frame_tables(release, split, config)
        for names in (columns, ["slot_values", "frame_id", "seen", "schema_slots"]):
            assert frame_tables(release, split, config, names).equals(whole.select(names))


def test_frame_parts_are_the_rows_file_by_file() -> None:
    release = open_release("sample")
    parts = list(frame_parts(release, "dev", "v2"))
    assert len(parts) == len(release.dialogue_files("validation")) == 2
    assert pa.concat_tables(parts).equals(frame_tables(release, "validation", "v2"))


def test_frame_tables_read_one_split_and_write_nothing(mini: Path, hugging_face_home: Path) -> None:
    before = sorted(hugging_face_home.rglob("*"))
    for split in ("train", "dev"):
        (mini / split / "dialogues_001.json").write_text("not read")
    release = open_release(mini)
    assert frame_tables(release, "test", "v2", ["service"])["service"].to_pylist() == 4 * [
        "Flats_12"
    ]
    assert sorted(hugging_face_home.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("devel", "v1", None), "unknown split 'devel', expected one of train, validation, test"),
        (("test", "v9", None), "unknown config 'v9', expected one of original, v1"),
        (("test", "backtrans", None), "sample: has no dialogues in test under backtrans"),
        (("test", "v1", ["act"]), "unknown column 'act', expected one of frame_id, variant"),
    ],
)
def test_frame_tables_of_what_there_is_not(arguments: tuple[Json, ...], message: str) -> None:
    with pytest.raises(SgdxError, match=message):
        frame_tables(open_release("sample"), *arguments)


def test_frames_of_all_splits_one_row_or_a_list() -> None:
    rows = load("v1")
    test = rows["test"]
    assert {split: len(of) for split, of in frames(rows).items()} == {
        split: len(frames(of)) for split, of in rows.items()
    }
    expected = [row for dialogue in test.select(range(2)) for row in plain(dialogue)]
    assert frames([test[0], test[1]]) == expected
    assert frames(test[0]) + frames(test[1]) == expected
    assert frames([]) == []


def test_rows_of_another_version_are_not_taken_from_the_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``datasets`` goes by the name of the function that makes them, and by nothing in it."""
    dialogues = load("v1", "test", "sample")
    made = [[of(dialogues)._fingerprint for _ in range(2)] for of in (frames, turns)]
    monkeypatch.setattr("sgdx_dataset.sgdx_dataset.VERSION", "9.9.9")
    for of, (first, again) in zip((frames, turns), made):
        assert first == again != of(dialogues)._fingerprint
    domains = domains_seen(open_release("sample"))
    assert turns(dialogues, domains)._fingerprint == turns(dialogues)._fingerprint
    assert turns(dialogues, {*domains, "Other"})._fingerprint != turns(dialogues)._fingerprint


def test_what_frames_does_not_take() -> None:
    test = load("v1", "test")
    taken = "expected dialogue rows: a Dataset, an IterableDataset, a DatasetDict, one row as"
    for wrong, found in (
        ("test", "found str, "),
        (7, "found int, "),
        (test[:2], "found no dialogue row: "),
        (frames(test), "found the columns frame_id, variant, dialogue_id"),
        ({"dialogue_id": "1_00000"}, "found the columns dialogue_id without variant, services"),
    ):
        with pytest.raises(SgdxError) as error:
            frames(wrong)
        assert str(error.value).startswith(found)
        assert taken in str(error.value)
        assert "\n" not in str(error.value)


def test_the_document_lists_all_columns_of_a_frame_row() -> None:
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    text = page.partition("## Frame rows")[2].partition("## Turn rows")[0]
    assert re.findall(r"^\| `(\w+)` \| (?:key|input|gold|scoring)", text, re.MULTILINE) == list(
        FRAME_ROW
    )
