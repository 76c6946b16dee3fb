"""The shipped sample corpus: what it promises to hold, and that its generator wrote it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

Json = Any

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "sgdx_dataset" / "sample"
SPLITS = ("train", "dev", "test")
VARIANTS = ("v1", "v2", "v3", "v4", "v5")
LANGUAGES = ("zh", "ja", "ko")
INTENT_ACTS = {"INFORM_INTENT", "OFFER_INTENT"}


def load(path: str) -> Json:
    return json.loads((SAMPLE / path).read_text(encoding="utf-8"))


def schemas(split: str, variant: str = "") -> list[Json]:
    folder = f"sgd_x/data/{variant}/{split}" if variant else split
    return list(load(f"{folder}/schema.json"))


def dialogues(split: str) -> list[Json]:
    files = sorted((SAMPLE / split).glob("dialogues_*.json"))
    return [d for file in files for d in load(f"{split}/{file.name}")]


def frames(split: str) -> Iterator[tuple[Json, Json]]:
    """Every turn of a split with each of its frames."""
    for dialogue in dialogues(split):
        for turn in dialogue["turns"]:
            for frame in turn["frames"]:
                yield turn, frame


def turn_of(split: str, dialogue_id: str, index: int) -> Json:
    return next(d for d in dialogues(split) if d["dialogue_id"] == dialogue_id)["turns"][index]


def renaming(split: str, variant: str, service: str) -> dict[str, str]:
    pairs = zip(schemas(split), schemas(split, variant), strict=True)
    old, new = next(pair for pair in pairs if pair[0]["service_name"] == service)
    return {a["name"]: b["name"] for a, b in zip(old["slots"], new["slots"], strict=True)}


def renamed_one_by_one(values: dict[str, list[str]], new: dict[str, str]) -> dict[str, list[str]]:
    """What goes wrong when keys are renamed in turn."""
    left = dict(values)
    for slot in sorted(new):
        if slot in left:
            left[new[slot]] = left.pop(slot)
    return left


def test_files_are_what_the_generator_writes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "maintenance.sample_corpus", "--output", str(tmp_path)]
    subprocess.run(command, check=True, cwd=ROOT)
    written = {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*.json")}
    shipped = {p.relative_to(SAMPLE): p.read_bytes() for p in SAMPLE.rglob("*.json")}
    assert set(written) == set(shipped)
    assert [path for path in written if written[path] != shipped[path]] == []


def test_size() -> None:
    assert sum(path.stat().st_size for path in SAMPLE.rglob("*.json")) < 1_000_000


@pytest.mark.parametrize(
    ("split", "counts"),
    [("train", (66, 482, 492)), ("dev", (19, 133, 137)), ("test", (36, 265, 273))],
)
def test_counts(split: str, counts: tuple[int, int, int]) -> None:
    turns = [t for d in dialogues(split) for t in d["turns"] if t["speaker"] == "USER"]
    assert (len(dialogues(split)), len(turns), sum(len(t["frames"]) for t in turns)) == counts


def test_services_of_the_splits() -> None:
    names = {split: {s["service_name"] for s in schemas(split)} for split in SPLITS}
    assert names["dev"] - names["train"] == {"Cabs_1", "Repairs_1"}
    assert names["test"] - names["train"] == {"Cabs_1", "Cooking_1", "Library_2", "Repairs_1"}
    assert names["test"] & names["train"] == {"Flats_1", "Museums_1", "Vets_1"}
    for split in SPLITS:
        assert {name for d in dialogues(split) for name in d["services"]} == names[split]


def test_a_service_has_one_schema_everywhere() -> None:
    for variant in ("", *VARIANTS):
        seen: dict[str, Json] = {}
        for schema in (s for split in SPLITS for s in schemas(split, variant)):
            assert seen.setdefault(schema["service_name"], schema) == schema


def test_turns_alternate_and_services_are_used() -> None:
    for dialogue in (d for split in SPLITS for d in dialogues(split)):
        speakers = [turn["speaker"] for turn in dialogue["turns"]]
        assert speakers == ["USER", "SYSTEM"] * (len(speakers) // 2)
        used = {f["service"] for t in dialogue["turns"] for f in t["frames"]}
        assert used == set(dialogue["services"])


@pytest.mark.parametrize("split", SPLITS)
def test_spans_are_spoken_values(split: str) -> None:
    count = 0
    for turn, frame in frames(split):
        said = {(a["slot"], value) for a in frame["actions"] for value in a["values"]}
        for span in frame["slots"]:
            text = turn["utterance"][span["start"] : span["exclusive_end"]]
            assert (span["slot"], text) in said
            if turn["speaker"] == "USER":
                assert text in frame["state"]["slot_values"][span["slot"]]
            count += 1
    assert count > 100


@pytest.mark.parametrize("split", SPLITS)
def test_every_name_is_in_its_schema(split: str) -> None:
    by_name = {schema["service_name"]: schema for schema in schemas(split)}
    for _, frame in frames(split):
        schema = by_name[frame["service"]]
        slots = {slot["name"] for slot in schema["slots"]}
        intents = {intent["name"] for intent in schema["intents"]}
        for action in frame["actions"]:
            if action["act"] in INTENT_ACTS:
                assert (action["slot"], set(action["values"]) - intents) == ("intent", set())
            else:
                assert action["slot"] in slots | {"", "count"}
        if call := frame.get("service_call"):
            assert call["method"] in intents and set(call["parameters"]) <= slots
            assert all(set(row) <= slots for row in frame["service_results"])
        assert ("service_call" in frame) == ("service_results" in frame)


@pytest.mark.parametrize("split", SPLITS)
def test_states_hold_what_intents_take(split: str) -> None:
    by_name = {schema["service_name"]: schema for schema in schemas(split)}
    for _, frame in (pair for pair in frames(split) if pair[0]["speaker"] == "USER"):
        schema, state = by_name[frame["service"]], frame["state"]
        takes = {s for i in schema["intents"] for s in [*i["required_slots"], *i["optional_slots"]]}
        assert set(state["slot_values"]) <= takes
        assert state["active_intent"] in {"NONE", *(i["name"] for i in schema["intents"])}
        assert state["requested_slots"] == sorted(state["requested_slots"])
        possible = {s["name"]: s["possible_values"] for s in schema["slots"]}
        for slot, values in state["slot_values"].items():
            assert values == sorted(set(values)) and values
            assert not possible[slot] or values[0] in [*possible[slot], "dontcare"]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("split", SPLITS)
def test_variants_line_up_with_the_original(split: str, variant: str) -> None:
    for old, new in zip(schemas(split), schemas(split, variant), strict=True):
        assert new["service_name"] == old["service_name"] + variant[1]
        slots = renaming(split, variant, old["service_name"])
        assert len(set(slots.values())) == len(old["slots"]) == len(new["slots"])
        for a, b in zip(old["slots"], new["slots"], strict=True):
            assert (a["is_categorical"], a["possible_values"]) == (
                b["is_categorical"],
                b["possible_values"],
            )
        for a, b in zip(old["intents"], new["intents"], strict=True):
            assert a["is_transactional"] == b["is_transactional"]
            assert [slots[s] for s in a["required_slots"]] == b["required_slots"]
            assert {slots[s]: v for s, v in a["optional_slots"].items()} == b["optional_slots"]
            assert [slots[s] for s in a["result_slots"]] == b["result_slots"]


def test_all_six_descriptions_of_an_element_differ() -> None:
    for split in SPLITS:
        six = [schemas(split, variant) for variant in ("", *VARIANTS)]
        for services in zip(*six, strict=True):
            for key in ("slots", "intents"):
                for elements in zip(*(service[key] for service in services), strict=True):
                    assert len({element["description"] for element in elements}) == 6


# Vets_1: v2 is a chain (animal -> pet, pet -> patient), v3 a swap (animal <-> pet).
@pytest.mark.parametrize(
    ("split", "dialogue_id", "index", "animal", "pet"),
    [("train", "1_00045", 8, "rabbit", "Biscuit"), ("test", "2_00004", 8, "bird", "Captain Fluff")],
)
def test_chain_and_swap_of_vets(
    split: str, dialogue_id: str, index: int, animal: str, pet: str
) -> None:
    state = turn_of(split, dialogue_id, index)["frames"][0]["state"]["slot_values"]
    assert (state["animal"], state["pet"]) == ([animal], [pet])
    chain, swap = (renaming(split, variant, "Vets_1") for variant in ("v2", "v3"))
    assert (chain["animal"], chain["pet"]) == ("pet", "patient")
    assert (swap["animal"], swap["pet"]) == ("pet", "animal")
    spoilt = renamed_one_by_one(state, chain)
    assert spoilt["patient"] == [animal] and "pet" not in spoilt
    spoilt = renamed_one_by_one(state, swap)
    assert spoilt["animal"] == [animal] and "pet" not in spoilt


def test_chain_of_parcels() -> None:
    new = renaming("train", "v4", "Parcels_1")
    assert (new["destination"], new["receiver"]) == ("receiver", "addressee")
    state = turn_of("train", "1_00037", 8)["frames"][0]["state"]["slot_values"]
    assert state["receiver"] == ["Priya", "Priya Raman"]
    assert renamed_one_by_one(state, new)["addressee"] == ["400 Canyon Drive"]


@pytest.mark.parametrize(
    ("split", "dialogue_id", "asked", "told"),
    [("train", "1_00010", ["buy", "rent"], "rent"), ("test", "2_00007", ["buy", "rent"], "buy")],
)
def test_slot_called_intent(split: str, dialogue_id: str, asked: list[str], told: str) -> None:
    opening, request, answer = (turn_of(split, dialogue_id, index) for index in range(3))
    acts = {a["act"]: a for a in request["frames"][0]["actions"] if a["slot"] == "intent"}
    assert acts["REQUEST"]["values"] == asked
    (inform,) = (a for a in answer["frames"][0]["actions"] if a["slot"] == "intent")
    assert (inform["act"], inform["values"]) == ("INFORM", [told])
    assert answer["frames"][0]["state"]["slot_values"]["intent"] == [told]
    (stated,) = (a for a in opening["frames"][0]["actions"] if a["slot"] == "intent")
    assert (stated["act"], stated["values"]) == ("INFORM_INTENT", ["FindFlat"])
    new = [renaming(split, variant, "Flats_1")["intent"] for variant in VARIANTS]
    assert new == ["aim", "purpose", "rent_or_buy", "kind_of_deal", "tenure"]


def test_turns_with_two_frames() -> None:
    user = turn_of("test", "2_00003", 16)
    assert [frame["service"] for frame in user["frames"]] == ["Vets_1", "Cabs_1"]
    for split in SPLITS:
        speakers = [
            t["speaker"] for d in dialogues(split) for t in d["turns"] if len(t["frames"]) > 1
        ]
        assert {"USER", "SYSTEM"} == set(speakers)


def test_value_carried_to_another_service() -> None:
    cab = turn_of("test", "2_00003", 16)["frames"][1]
    assert cab["state"]["slot_values"]["destination"] == ["12 Kettle Lane"]
    assert "destination" not in {action["slot"] for action in cab["actions"]}


@pytest.mark.parametrize("split", SPLITS)
def test_phenomena(split: str) -> None:
    """dontcare, spoken variants, questions, failures with no results, letters beyond ASCII."""
    states = [f["state"] for t, f in frames(split) if t["speaker"] == "USER"]
    values = [v for state in states for v in state["slot_values"].values()]
    results = [f["service_results"] for _, f in frames(split) if "service_call" in f]
    assert ["dontcare"] in values
    assert any(len(forms) > 1 for forms in values)
    assert any(state["requested_slots"] for state in states)
    assert [] in results and any(results)
    assert any(not turn["utterance"].isascii() for turn, _ in frames(split))


@pytest.mark.parametrize("language", LANGUAGES)
def test_overlays(language: str) -> None:
    overlay, services = load(f"backtrans/{language}.json"), schemas("train")
    assert list(overlay) == [service["service_name"] for service in services]
    for service in services:
        texts = overlay[service["service_name"]]
        assert texts["description"]["text"] != service["description"]
        for key, style in (("slots", r"[a-z][a-z0-9_]*"), ("intents", r"([A-Z][a-z]*)+")):
            elements = {element["name"]: element for element in service[key]}
            assert set(texts[key]) <= set(elements)
            for name, changed in texts[key].items():
                assert changed and set(changed) <= {"name", "description"}
                for field, pair in changed.items():
                    assert set(pair) == {"pivot", "text"} and not pair["pivot"].isascii()
                    assert pair["text"] != elements[name][field]
            names = [texts[key].get(n, {}).get("name", {}).get("text", n) for n in elements]
            assert len(set(names)) == len(names)
            assert all(re.fullmatch(style, name) for name in names)
