"""Dialogue, frame and turn rows: equal to a plain reading, however they are had; faults are named.

That all names are replaced is tested against the release's own converter, in ``test_export``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import DatasetDict, Features, concatenate_datasets

from sgdx_dataset import SgdxError, frame_tables, frames, load, open_release, turn_tables, turns
from sgdx_dataset.__main__ import main
from sgdx_dataset.columns import FRAME_COLUMNS, TURN_COLUMNS
from sgdx_dataset.rows import domains_seen, frame_rows

from ..conftest import ROOT
from .conftest import SCHEMAS, write

Json = Any
DOMAINS = domains_seen(open_release("sample"))


def plain_frames(dialogue: Json) -> Iterator[Json]:
    """The frame rows of a dialogue row, as the contract words them."""
    schemas = {schema["service_name"]: schema for schema in dialogue["schemas"]}
    turns = dialogue["turns"]
    for index, turn in enumerate(turns):
        for frame in turn["frames"] if turn["speaker"] == "USER" else []:
            schema = schemas[frame["service"]]
            after = turns[index + 1]["frames"] if turns[index + 1 :] else []
            calls = [one["service_call"] for one in after if one["service"] == frame["service"]]
            history = [
                {
                    "speaker": before["speaker"],
                    "utterance": before["utterance"],
                    "actions": plain_actions(before) if before["speaker"] == "SYSTEM" else [],
                }
                for before in turns[:index]
            ]
            yield {
                "frame_id": f"{dialogue['dialogue_id']}/{index}/{schema['original_name']}",
                "variant": dialogue["variant"],
                "dialogue_id": dialogue["dialogue_id"],
                "turn": index,
                "service": frame["service"],
                "seen": schema["seen"],
                "history": history,
                "utterance": turn["utterance"],
                "schema": schema,
                **frame["state"],
                "slots": frame["slots"],
                "service_call": calls[0] if calls else None,
                "schema_slots": [
                    {key: slot[key] for key in ("name", "is_categorical")}
                    for slot in schema["slots"]
                ],
                "canonical_values": plain_canonical(turns[: index + 1], frame["state"]),
            }


def plain_actions(turn: Json) -> list[Json]:
    return [{"service": f["service"], **action} for f in turn["frames"] for action in f["actions"]]


def plain_canonical(turns: Json, state: Json) -> Json:
    """What the values of a state's slots are to the API, as the acts of turns give it."""
    acts = [act for turn in turns for act in plain_actions(turn)]
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


def plain_turns(dialogue: Json, domains: Collection[str] = DOMAINS) -> Iterator[Json]:
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
            "actions": plain_actions(turn),
            "intent": calls[0]["method"] if calls else "",
            "schemas": [schemas[frame["service"]] for frame in frames],
            "prompt": before["utterance"] if before["speaker"] == "USER" else "",
            "utterance": turn["utterance"],
        }


Made = Callable[[Any], Any]
Plain = Callable[[Json], Iterator[Json]]
# By kind: rows of dialogue rows, tables of a release, the contract, the columns.
KINDS: dict[str, tuple[Made, Callable[..., pa.Table], Plain, pa.Schema]] = {
    "frames": (frames, frame_tables, plain_frames, FRAME_COLUMNS),
    "turns": (turns, turn_tables, plain_turns, TURN_COLUMNS),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("config", ["v4", "backtrans"])
def test_rows_are_what_the_contract_says(kind: str, config: str) -> None:
    """Without what is long, they are read from fewer parts of the dialogues: it must not show."""
    made, tables, plain, columns = KINDS[kind]
    release, long = open_release("sample"), ("history", "schema", "schemas", "service_call")
    brief = [name for name in columns.names if name not in long]
    for split in release.splits(config):
        dialogues = load(config, split)
        rows, table = made(dialogues), tables(release, split, config)
        assert rows.features == Features.from_arrow_schema(columns) and table.schema == columns
        expected = [row for dialogue in dialogues for row in plain(dialogue)]
        assert list(rows) == table.to_pylist() == expected
        assert {row["seen"] for row in expected} == ({True} if split == "train" else {True, False})
        alias = {"validation": "dev"}.get(split, split)
        for some in (brief, brief[:1:-2]):
            assert tables(release, alias, config, some).equals(table.select(some))


@pytest.mark.parametrize("kind", KINDS)
def test_slices_mixtures_streams_and_lists(kind: str) -> None:
    """A service may be there in several variants at once; each dialogue has its own."""
    made, tables, plain, columns = KINDS[kind]
    mixed = concatenate_datasets([load("v1", "test").select(range(3, 9)), load("v5", "test")])
    mixed = mixed.shuffle(seed=7).select(range(9))
    expected = [row for dialogue in mixed for row in plain(dialogue)]
    assert list(made(mixed)) == expected
    assert list(made(mixed.to_iterable_dataset(num_shards=2))) == expected
    assert made(list(mixed)) == made(mixed[:]) == expected
    assert made(mixed[0]) == list(plain(mixed[0]))
    assert made([]) == []
    assert list(made(DatasetDict({"test": mixed}))["test"]) == expected
    # What is none of these is refused.
    for wrong, found in (
        (7, "int"),
        (made(mixed), f"{columns.names[0]}, variant"),
        ({"dialogue_id": "1_00000"}, "dialogue_id without variant, services"),
    ):
        with pytest.raises(SgdxError, match=f"^[^\n]*{found}[^\n]*$"):
            made(wrong)
    with pytest.raises(SgdxError, match="'act'"):
        tables(open_release("sample"), "test", "v1", ["act"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_writes_the_rows(tmp_path: Path, kind: str) -> None:
    (tmp_path / "ids.txt").write_text("1_00003\n1_00001\n")
    words = f"export {kind} --source sample --split dev --variant v1 v2 --output {tmp_path}"
    assert main(f"{words}/all".split()) == 0
    assert main(f"{words}/some --dialogues {tmp_path}/ids.txt".split()) == 0
    files = sorted(path.name for path in (tmp_path / "all").iterdir())
    assert files == ["v1.parquet", "v2.parquet"]
    for config in ("v1", "v2"):
        table = pq.read_table(tmp_path / "all" / f"{config}.parquet")
        assert table.schema.metadata[b"release"] == b"sample"  # for the metric's signature
        rows = KINDS[kind][1](open_release("sample"), "dev", config).to_pylist()
        assert table.to_pylist() == rows
        some = pq.read_table(tmp_path / "some" / f"{config}.parquet").to_pylist()
        ids = ("1_00001", "1_00003")
        assert some and some == [row for row in rows if next(iter(row.values()))[:7] in ids]


def test_a_value_has_the_canonical_forms_that_were_said_so_far() -> None:
    """By either speaker, about any slot; what the state has itself is not among them."""

    def turn(speaker: str, said: Json, *values: str) -> Json:
        acts = [
            {"act": "INFORM", "slot": "x", "values": [value], "canonical_values": [canonical]}
            for value, canonical in said.items()
        ]
        frame = {"service": "A_1", "slots": [], "actions": acts}
        state = {"active_intent": "NONE", "requested_slots": [], "slot_values": {"at": [*values]}}
        of_user = {"state": state} if speaker == "USER" else {}
        return {"speaker": speaker, "utterance": "", "frames": [{**frame, **of_user}]}

    turns = [
        turn("USER", {}, "noon"),  # what is said later does not count
        turn("USER", {"noon": "12:00"}, "noon"),
        turn("SYSTEM", {"noon": "12 pm", "two": "2"}),
        turn("USER", {}, "noon", "12 pm"),
        turn("USER", {}, "two"),
        turn("USER", {"three": "3"}, "2"),
    ]
    rows = frame_rows({"dialogue_id": "1", "services": ["A_1"], "turns": turns})
    expected = [{}, {"at": ["12:00"]}, {"at": ["12:00"]}, {"at": ["2"]}, {}]
    assert [row["canonical_values"] for row in rows] == expected


def test_the_domains_are_those_of_the_source_that_the_dialogues_are_from(mini: Path) -> None:
    """Not those of the source that commands take by default, which is the sample here."""
    (row,) = {(row["seen"], row["seen_domain"]) for row in turns(load("v1", "test", mini))}
    assert row == (True, True)
    write(mini / "train" / "schema.json", [SCHEMAS["original"] | {"service_name": "Homes_1"}])
    assert [row["seen_domain"] for row in turns(load("original", "test", mini))] == [False, False]
    dialogues = load("v1", "test", "sample")
    fingerprints = {turns(dialogues, {*DOMAINS, *more})._fingerprint for more in ([], ["Other"])}
    assert len(fingerprints) == 2 and turns(dialogues)._fingerprint in fingerprints
    with pytest.raises(SgdxError, match="was seen in training, and its domain is not among"):
        turns(list(dialogues), sorted(DOMAINS)[:1])


def test_the_document_lists_all_columns_of_a_frame_row() -> None:
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    text = page.partition("## Frame rows")[2].partition("## Turn rows")[0]
    listed = re.findall(r"^\| `(\w+)` \| (?:key|input|gold|scoring)", text, re.MULTILINE)
    assert listed == FRAME_COLUMNS.names


def test_unseen_is_decided_on_the_original_name(mini: Path) -> None:
    for path in mini.rglob("train/schema.json"):
        path.write_text(path.read_text().replace("Flats_1", "Flats_7"))
    for config in ("original", "v1"):
        assert set(frame_tables(open_release(mini), "test", config)["seen"].to_pylist()) == {False}
