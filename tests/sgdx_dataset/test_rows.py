"""Frame rows and turn rows: equal to a plain reading of dialogue rows, however these are had."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import DatasetDict, Features, concatenate_datasets

from sgdx_dataset import (
    SgdxError,
    frame_tables,
    frames,
    load,
    open_release,
    turn_tables,
    turns,
)  # fmt: skip
from sgdx_dataset.__main__ import main
from sgdx_dataset.columns import FRAME_COLUMNS, TURN_COLUMNS
from sgdx_dataset.rows import domains_seen, frame_rows

from ..conftest import ROOT
from .conftest import SCHEMAS, write

Json = Any
DOMAINS = domains_seen(open_release("sample"))
FRAME_ROW, TURN_ROW = map(Features.from_arrow_schema, (FRAME_COLUMNS, TURN_COLUMNS))


def plain_frames(dialogue: Json) -> Iterator[Json]:
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


def plain_turns(dialogue: Json, domains: Collection[str]) -> Iterator[Json]:
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


class Kind(NamedTuple):
    """A kind of rows made of dialogue rows."""

    made: Callable[[Any], Any]
    tables: Callable[..., pa.Table]
    plain: Callable[[Json], Iterator[Json]]
    features: Features
    some: list[str]  # some columns, in another order


KINDS = {
    "frames": Kind(
        frames, frame_tables, plain_frames, FRAME_ROW, ["slot_values", "frame_id", "schema_slots"]
    ),
    "turns": Kind(
        turns,
        turn_tables,
        lambda dialogue: plain_turns(dialogue, DOMAINS),
        TURN_ROW,
        ["utterance", "turn_id", "seen_domain"],
    ),
}
of_kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@of_kinds
@pytest.mark.parametrize("config", ["v4", "backtrans"])
def test_rows_are_what_the_contract_says(kind: Kind, config: str) -> None:
    """Without what is long, they are read from fewer parts of the dialogues: it must not show."""
    release, long = open_release("sample"), ("history", "schema", "schemas", "service_call")
    brief = [name for name in kind.features if name not in long]
    for split in release.splits(config):
        dialogues = load(config, split)
        rows, table = kind.made(dialogues), kind.tables(release, split, config)
        assert rows.features == kind.features and table.schema == kind.features.arrow_schema
        expected = [row for dialogue in dialogues for row in kind.plain(dialogue)]
        assert list(rows) == table.to_pylist() == expected
        assert {row["seen"] for row in expected} == ({True} if split == "train" else {True, False})
        for alias in {split, {"validation": "dev"}.get(split, split)}:
            for columns in (kind.some, brief):
                some = kind.tables(release, alias, config, columns)
                assert some.equals(table.select(columns))


@of_kinds
def test_slices_mixtures_streams_and_lists(kind: Kind) -> None:
    """A service may be there in several variants at once; each dialogue has its own."""
    mixed = concatenate_datasets([load("v1", "test").select(range(3, 9)), load("v5", "test")])
    mixed = mixed.shuffle(seed=7).select(range(9))
    expected = [row for dialogue in mixed for row in kind.plain(dialogue)]
    assert list(kind.made(mixed)) == expected
    assert list(kind.made(mixed.to_iterable_dataset(num_shards=2))) == expected
    assert kind.made(list(mixed)) == expected
    assert kind.made(mixed[0]) == list(kind.plain(mixed[0]))
    assert kind.made([]) == []
    assert list(kind.made(DatasetDict({"test": mixed}))["test"]) == expected


@of_kinds
def test_what_cannot_be_used(kind: Kind) -> None:
    test = load("v1", "test")
    for wrong, found in (
        ("test", "str"),
        (7, "int"),
        (test[:2], "no dialogue row"),
        (kind.made(test), f"{next(iter(kind.features))}, variant"),
        ({"dialogue_id": "1_00000"}, "dialogue_id without variant, services"),
    ):
        with pytest.raises(SgdxError, match=f"^[^\n]*{found}[^\n]*$"):
            kind.made(wrong)
    for arguments, named in (
        (("devel", "v1", None), "'devel'"),
        (("test", "v9", None), "'v9'"),
        (("test", "backtrans", None), "sample: .*test under backtrans"),
        (("test", "v1", ["act"]), "'act'"),
    ):
        with pytest.raises(SgdxError, match=named):
            kind.tables(open_release("sample"), *arguments)


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_writes_the_rows(tmp_path: Path, kind: str) -> None:
    (tmp_path / "ids.txt").write_text("1_00003\n1_00001\n")
    words = [kind, "--source", "sample", "--split", "dev", "--config", "v1", "v2", "--output"]
    assert main([*words, str(tmp_path / "all")]) == 0
    chosen = ["--dialogues", str(tmp_path / "ids.txt")]
    assert main([*words, str(tmp_path / "some"), *chosen]) == 0
    files = sorted(path.name for path in (tmp_path / "all").iterdir())
    assert files == ["v1.parquet", "v2.parquet"]
    for config in ("v1", "v2"):
        table = pq.read_table(tmp_path / "all" / f"{config}.parquet")
        assert table.schema.metadata[b"release"] == b"sample"  # for the metric's signature
        rows = KINDS[kind].tables(open_release("sample"), "dev", config).to_pylist()
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
        turn("USER", {"noon": "12:00"}, "noon"),
        turn("SYSTEM", {"noon": "12 pm", "two": "2"}),
        turn("USER", {}, "noon", "12 pm"),
        turn("USER", {}, "two"),
        turn("USER", {"three": "3"}, "2"),
    ]
    rows = frame_rows({"dialogue_id": "1", "services": ["A_1"], "turns": turns})
    expected = [{"at": ["12:00"]}, {"at": ["12:00"]}, {"at": ["2"]}, {}]
    assert [row["canonical_values"] for row in rows] == expected
    turns = [turn("USER", {}, "noon"), turn("SYSTEM", {"noon": "12:00"})]
    (row,) = frame_rows({"dialogue_id": "1", "services": ["A_1"], "turns": turns})
    assert row["canonical_values"] == {}


def test_no_gold_act_of_the_user_is_in_the_history() -> None:
    for row in frames(load("original", "test")):
        assert all(not turn["actions"] for turn in row["history"] if turn["speaker"] == "USER")


def test_the_domains_are_those_of_the_source_that_the_dialogues_are_from(mini: Path) -> None:
    """Not those of the source that commands take by default, which is the sample here."""
    dialogues = load("v1", "test", mini)
    (row,) = {(row["seen"], row["seen_domain"]) for row in turns(dialogues)}
    assert row == (True, True)
    write(mini / "train" / "schema.json", [SCHEMAS["original"] | {"service_name": "Homes_1"}])
    write(mini / "test" / "schema.json", [SCHEMAS["original"] | {"service_name": "Flats_1"}])
    assert [row["seen_domain"] for row in turns(load("original", "test", mini))] == [False, False]
    dialogues = load("v1", "test", "sample")
    fingerprints = {turns(dialogues, {*DOMAINS, *more})._fingerprint for more in ([], ["Other"])}
    assert len(fingerprints) == 2 and turns(dialogues)._fingerprint in fingerprints
    with pytest.raises(SgdxError, match="was seen in training, and its domain is not among"):
        turns(list(dialogues), sorted(DOMAINS)[:1])


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
    shares = {act: round(count / len(rows), 2) for act, count in acts.most_common(4)}
    assert shares == {"OFFER": 0.53, "CONFIRM": 0.46, "REQUEST": 0.28, "INFORM": 0.19}
    assert round(acts.total() / len(rows), 1) == 1.9


def test_the_document_lists_all_columns_of_a_frame_row() -> None:
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    text = page.partition("## Frame rows")[2].partition("## Turn rows")[0]
    assert re.findall(r"^\| `(\w+)` \| (?:key|input|gold|scoring)", text, re.MULTILINE) == list(
        FRAME_ROW
    )
