"""Turn rows: equal to a plain reading of the dialogue rows, however they are had."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from datasets import DatasetDict, concatenate_datasets

from sgdx_dataset import SgdxError, load, open_release, turn_tables, turns
from sgdx_dataset.__main__ import main
from sgdx_dataset.rows.columns import TURN_COLUMNS
from sgdx_dataset.rows.features import TURN_ROW
from sgdx_dataset.rows.turn_rows import domains_seen

from ..conftest import SCHEMAS, write

Json = Any


def plain(dialogue: Json, domains: set[str]) -> Iterator[Json]:
    """The turn rows of a dialogue row, as the contract words them."""
    schemas = {schema["service_name"]: schema for schema in dialogue["schemas"]}
    for index, turn in enumerate(dialogue["turns"]):
        if turn["speaker"] != "SYSTEM" or not turn["frames"]:
            continue
        frames = turn["frames"]
        first = schemas[frames[0]["service"]]
        before = dialogue["turns"][index - 1] if index else {"speaker": ""}
        calls = [frame["service_call"] for frame in frames if frame["service_call"]]
        yield {
            "turn_id": f"{dialogue['dialogue_id']}/{index}",
            "variant": dialogue["variant"],
            "service": first["service_name"],
            "seen": first["seen"],
            "seen_domain": first["original_name"].split("_")[0] in domains,
            "actions": [{"service": f["service"], **a} for f in frames for a in f["actions"]],
            "intent": calls[0]["method"] if calls else "",
            "schemas": [schemas[frame["service"]] for frame in frames],
            "prompt": before["utterance"] if before["speaker"] == "USER" else "",
            "utterance": turn["utterance"],
        }


@pytest.fixture(scope="module")
def domains() -> set[str]:
    return domains_seen(open_release("sample"))


@pytest.mark.parametrize("config", ["original", "v4"])
def test_rows_are_what_the_contract_says(config: str, domains: set[str]) -> None:
    test = load(config, "test")
    rows = turns(test)
    expected = [row for dialogue in test for row in plain(dialogue, domains)]
    assert rows.features == TURN_ROW and TURN_ROW.arrow_schema == TURN_COLUMNS
    assert list(rows) == expected
    table = turn_tables(open_release("sample"), "test", config)
    assert table.to_pylist() == expected
    columns = ["utterance", "turn_id", "seen_domain"]
    some = turn_tables(open_release("sample"), "test", config, columns)
    assert some.equals(table.select(columns))
    assert sum(len(row["schemas"]) > 1 for row in expected) == 2
    assert {row["seen"] for row in expected} == {True, False}


def test_slices_mixtures_streams_and_lists(domains: set[str]) -> None:
    mixed = concatenate_datasets([load("v1", "test").select(range(3, 9)), load("v5", "test")])
    mixed = mixed.shuffle(seed=7).select(range(9))
    expected = [row for dialogue in mixed for row in plain(dialogue, domains)]
    assert list(turns(mixed)) == expected
    assert list(turns(mixed.to_iterable_dataset(num_shards=2))) == expected
    assert turns(list(mixed)) == expected
    assert turns(mixed[0]) == list(plain(mixed[0], domains))
    assert list(turns(DatasetDict({"test": mixed}))["test"]) == expected


def test_the_domains_are_those_of_the_source_that_the_dialogues_are_from(
    mini: Path, domains: set[str]
) -> None:
    """Not those of the source that commands take by default, which is the sample here."""
    dialogues = load("v1", "test", mini)
    (row,) = {(row["seen"], row["seen_domain"]) for row in turns(dialogues)}
    assert row == (True, True)
    write(mini / "train" / "schema.json", [SCHEMAS["original"] | {"service_name": "Homes_1"}])
    write(mini / "test" / "schema.json", [SCHEMAS["original"] | {"service_name": "Flats_1"}])
    assert [row["seen_domain"] for row in turns(load("original", "test", mini))] == [False, False]
    assert "Flats" in domains


def test_what_is_read_of_a_small_release(mini: Path) -> None:
    """In v3 the slot ``intent`` keeps its name; the intent that is offered has another one."""
    rows = turn_tables(open_release(mini), "test", "v3").to_pylist()
    assert [row["turn_id"] for row in rows] == ["1_00000/1", "1_00001/1"]
    (row, _) = rows
    assert [(a["act"], a["slot"], a["values"]) for a in row["actions"]] == [
        ("INFORM_COUNT", "count", ["1"]),
        ("OFFER_INTENT", "intent", ["ViewFlat"]),
        ("REQUEST", "intent", ["buy"]),
        ("REQ_MORE", "", []),
    ]
    assert (row["service"], row["intent"]) == ("Flats_13", "GetFlat")
    assert (row["seen"], row["seen_domain"]) == (True, True)
    assert row["prompt"] == "I want to rent a flat in Ulm, in the Weststadt"


def test_turns_without_a_frame_or_a_prompt(mini: Path) -> None:
    path = mini / "test" / "dialogues_001.json"
    first, second = json.loads(path.read_text())
    first["turns"] = [first["turns"][1], {**first["turns"][1], "frames": []}, first["turns"][1]]
    path.write_text(json.dumps([first, second]))
    rows = turn_tables(open_release(mini), "test", "original").to_pylist()
    assert [(row["turn_id"], bool(row["prompt"])) for row in rows] == [
        ("1_00000/0", False),
        ("1_00000/2", False),
        ("1_00001/1", True),
    ]


def test_the_command_writes_the_rows(tmp_path: Path) -> None:
    chosen = tmp_path / "ids.txt"
    chosen.write_text("1_00003\n1_00001\n")
    words = ["turns", "--source", "sample", "--split", "dev", "--config", "v1", "v2"]
    assert main([*words, "--output", str(tmp_path / "all")]) == 0
    assert main([*words, "--dialogues", str(chosen), "--output", str(tmp_path / "some")]) == 0
    release = open_release("sample")
    for config in ("v1", "v2"):
        table = pq.read_table(tmp_path / "all" / f"{config}.parquet")
        assert table.schema.metadata[b"release"] == b"sample"
        rows = turn_tables(release, "dev", config).to_pylist()
        assert table.to_pylist() == rows
        some = pq.read_table(tmp_path / "some" / f"{config}.parquet").to_pylist()
        assert some == [r for r in rows if r["turn_id"].split("/")[0] in ("1_00001", "1_00003")]
        assert some


def test_what_cannot_be_used(domains: set[str]) -> None:
    test = load("v1", "test")
    with pytest.raises(SgdxError, match="found str, expected dialogue rows"):
        turns("test")
    with pytest.raises(SgdxError, match="found the columns turn_id"):
        turns(turns(test))
    with pytest.raises(SgdxError, match="column 'act'"):
        turn_tables(open_release("sample"), "test", "v1", ["act"])
    with pytest.raises(SgdxError, match="was seen in training, and its domain is not among"):
        turns(list(test), sorted(domains)[:1])


@pytest.mark.release
def test_counts_of_the_release(release_archive: Path) -> None:
    """The partial copy has 24,863 of the 42,297 test turns; 13 % are of unseen domains."""
    release = open_release(release_archive)
    if len(release.dialogue_files("test")) != 24:
        pytest.skip("these figures are of the partial copy with 24 test files")
    columns = ["seen", "seen_domain", "actions"]
    rows = turn_tables(release, "test", "original", columns).to_pylist()
    assert len(rows) == 24_863
    assert round(sum(not row["seen_domain"] for row in rows) / len(rows), 3) == 0.130
    assert round(sum(not row["seen"] for row in rows) / len(rows), 2) == 0.74
    acts = Counter(action["act"] for row in rows for action in row["actions"])
    shares = {act: round(count / len(rows), 2) for act, count in acts.most_common()}
    expected = {"OFFER": 0.53, "CONFIRM": 0.46, "REQUEST": 0.28, "INFORM": 0.19, "GOODBYE": 0.12}
    expected |= {"NOTIFY_SUCCESS": 0.11, "INFORM_COUNT": 0.09, "REQ_MORE": 0.07}
    assert shares == expected | {"OFFER_INTENT": 0.05, "NOTIFY_FAILURE": 0.01}
    actions = [action for row in rows for action in row["actions"]]
    assert round(len(actions) / len(rows), 1) == 1.9
    assert max(len(row["actions"]) for row in rows) == 7
    assert max(len(action["values"]) for action in actions) == 3
