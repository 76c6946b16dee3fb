"""Calls of the sample corpus as cases, and its variants as those of tools."""

from __future__ import annotations

from pathlib import Path

from sgdx_dataset import frame_tables, open_release
from sgdx_tools.data import Words
from sgdx_tools.folder import read_project
from sgdx_tools.importing.sgd import import_sgd

VARIANTS = ("v1", "v2", "v3", "v4", "v5")


def test_every_call_is_expected_once() -> None:
    collection = import_sgd(["v2"], "sample")
    rows = frame_tables(open_release("sample"), "test", "v2").to_pylist()
    calls = {row["frame_id"]: row for row in rows if row["service_call"] is not None}
    assert sum(len(case.expect or ()) for case in collection.cases) == len(calls) == 73
    for frame_id, row in calls.items():
        turn = frame_id.rsplit("/", 1)[0]
        (case,) = [case for case in collection.cases if case.id == turn]
        assert case.dialogue == turn.rsplit("/", 1)[0]
        assert case.messages[-1] == {"role": "user", "content": row["utterance"]}
        assert len(case.messages) == len(row["history"]) + 1
        name = f"{row['service']}__{row['service_call']['method']}"
        (call,) = [call for call in case.expect or () if call.name == name]
        assert name in (case.tools or ())
        canonical = {p["slot"]: p["value"] for p in row["service_call"]["parameters"]}
        assert call.arguments.keys() == canonical.keys()
        for slot, value in call.arguments.items():
            values = value["any_of"] if isinstance(value, dict) else [value]
            assert values[-1] == canonical[slot] and len(set(values)) == len(values)


def test_values_are_accepted_as_they_were_said() -> None:
    (case,) = [case for case in import_sgd(["original"], "sample").cases if case.id == "1_00002/10"]
    (call,) = case.expect or ()
    assert call.name == "Cabs_1__OrderCab"
    assert call.arguments == {
        "destination": "Kirchgasse 12",
        "passengers": "1",
        "pickup_time": {"any_of": ["11:30 am", "half eleven", "11:30"]},
        "shared": "False",
    }


def test_variants_are_variants_with_the_tools_of_the_variant(tmp_path: Path) -> None:
    collection = import_sgd(["original", *VARIANTS], "sample")
    variants = collection.variants
    folder = tmp_path / "api"
    collection.write(folder)
    assert list(read_project(folder).variants) == ["original", *VARIANTS]
    for variant in variants:
        tools = import_sgd([variant.name], "sample").tools
        assert [words.name for words in variant.tools.values()] == list(tools)
        for words in variant.tools.values():
            tool = tools[words.name or ""]
            assert words.description == tool.description
            parameters = tool.parameters["properties"]
            assert list(words.parameters.values()) == [
                Words(name, schema["description"]) for name, schema in parameters.items()
            ]


def test_chosen_dialogues(tmp_path: Path) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("1_00002\n")
    cases = import_sgd(["original"], "sample", dialogues=ids).cases
    assert {case.dialogue for case in cases} == {"1_00002"}
