"""Variants of the user's own: schemas, a few new words, and overlays by way of another language."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import datasets
import pytest

from sgdx_dataset import SgdxError, find_variants, frames, load, prepare
from sgdx_dataset.configs import CONTROLS, SAME_WORDS
from sgdx_dataset.export import export
from sgdx_dataset.release import open_release
from sgdx_dataset.schema import Service
from sgdx_metric.variants import floors

from ..conftest import ROOT, Run
from .conftest import SCHEMAS, service, write

Json = Any
MINE = service("Homes_1", ("ville", "quartier", "but"), ("TrouverAppart", "VisiterAppart"))
WORDS: Json = {
    "Flats_1": {
        "description": "finds homes",
        "slots": {"city": "town", "area": {"name": "city", "description": "part of it"}},
        "intents": {"FindFlat": "SearchHome", "VisitFlat": {"description": "see it"}},
    }
}
REGION = {"name": {"pivot": "区域", "text": "region"}}
OVERLAY: Json = {
    "Flats_1": {
        "description": {"pivot": "租房", "text": "rents flats"},
        "slots": {"area": REGION},
        "intents": {"FindFlat": {"description": {"pivot": "找公寓", "text": "look for flats"}}},
    }
}


@pytest.fixture
def own(tmp_path: Path) -> dict[str, Path]:
    """A variant of the test schema alone, a rewording file and an overlay, by name."""
    write(tmp_path / "own" / "test" / "schema.json", [MINE])
    write(tmp_path / "mine.json", WORDS)
    write(tmp_path / "made" / "zh.json", OVERLAY)
    paths = {"own": "own", "mine": "mine.json", "zh": "made/zh.json"}
    return {name: tmp_path / path for name, path in paths.items()}


def words_of(service: Service) -> Json:
    find, visit = service.intents
    return (
        " ".join(element.name for element in service.elements),
        service.descriptions,
        (find.required_slots, find.optional_slots, find.result_slots, visit.required_slots),
    )


def test_only_what_a_file_has_is_changed_and_intents_follow(
    mini: Path, own: dict[str, Path]
) -> None:
    release = open_release(mini, own)
    for split in release.splits("mine"):
        assert words_of(release.schema(split, "mine")[0]) == (
            "town city intent SearchHome VisitFlat",
            ["finds homes", "city", "part of it", "intent", "find", "see it"],
            (["town", "intent"], {"city": "dontcare"}, ["town", "city", "intent"], ["city"]),
        )
    assert words_of(release.schema("train", "zh")[0]) == (
        "city region intent FindFlat VisitFlat",
        ["rents flats", "city", "area", "intent", "look for flats", "visit"],
        (["city", "intent"], {"region": "dontcare"}, ["city", "region", "intent"], ["region"]),
    )


def test_dialogues_follow(mini: Path, own: dict[str, Path], tmp_path: Path, cache: Path) -> None:
    """A variant that was prepared loads as the release's do, and anew when its file changes."""
    prepare(mini, [*own], own)
    for name, split, slots, intent, made in (
        ("own", "test", ["quartier", "ville", "but"], "TrouverAppart", "Homes_1"),
        ("mine", "test", ["city", "town", "intent"], "SearchHome", "Flats_1"),
        ("zh", "train", ["region", "city", "intent"], "FindFlat", "Flats_1"),
    ):
        rows = load(name, split, mini, own)
        assert (rows[0]["variant"], rows[0]["schemas"][0]["original_name"]) == (name, "Flats_1")
        frame = frames(rows)[0]
        assert [pair["slot"] for pair in frame["slot_values"]] == slots
        assert (frame["active_intent"], frame["requested_slots"]) == (intent, [slots[0]])
        assert {slot["name"] for slot in frame["schema_slots"]} == set(slots)
        loaded = datasets.load_dataset("sgdx", name, split=split)
        assert [(row["variant"], row["services"]) for row in loaded] == [(name, [made])] * 2
    for name, split, file in (("own", "test", "own/test/schema.json"), ("zh", "train", own["zh"])):
        path = tmp_path / file
        path.write_text(re.sub("quartier|region", "quarter", path.read_text()))
        assert load(name, split, mini, own)[0]["schemas"][0]["slots"][1]["name"] == "quarter"


def test_controls_and_repeats_mean_what_the_original_does(mini: Path) -> None:
    write(mini / "dev" / "schema.json", [SCHEMAS["original"] | {"description": "Rents a Flat."}])
    variants = dict.fromkeys(CONTROLS, "control") | {"repeat2": "repeat"}
    release = open_release(mini, variants)
    of = {name: release.schema("validation", name)[0] for name in ("original", *variants)}
    assert {name: service.description for name, service in of.items()} == {
        "original": "Rents a Flat.",
        "control1": "Rents a Flat",
        "control2": "rents a flat.",
        "control3": "The Rents a Flat.",
        "control4": "Rents a Flat. (value)",
        "control5": "Rents  a  Flat.",
        "repeat2": "Rents a Flat.",
    }
    for worded in of.values():
        assert [e.name for e in worded.elements] == [e.name for e in of["original"].elements]
    # The metrics, which are a room of their own, know them by their names.
    known = floors(["v1", "control", "original", *CONTROLS, *SAME_WORDS["repeat"]])
    assert {floor: tuple(names) for floor, names in known.items()} == SAME_WORDS
    assert release.scored_variants()[-6:] == [*variants]
    rows = load("control4", "test", mini, variants)
    assert rows[0]["schemas"][0]["slots"][0]["description"] == "city (value)"
    digests = {release.data_digest("test", name) for name in ("original", "repeat2")}
    assert len(digests) == 1 and release.data_digest("test", "control1") not in digests


def test_names_that_are_taken(mini: Path, own: dict[str, Path]) -> None:
    """Also what looks like one: full-width letters, and a Cyrillic one."""
    for name in ("original", "backtrans-zh", "a/b", "V1", "\uff56\uff11", "\u043eld", "Repeat2"):
        with pytest.raises(SgdxError, match=f"variant '{name}': "):
            open_release(mini, {name: own["own"]})


def test_the_documents_example(run: Run, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "variants.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    (command,) = re.findall(r"```bash\nsgdx (.*?)\n```", text)
    (tmp_path / "mine.json").write_text(example, encoding="utf-8")
    done = run("sgdx_cli", *command.split())
    assert (done.returncode, done.stdout) == (0, "mine/test\n"), done.stderr
    schema = json.loads((tmp_path / "mine" / "test" / "schema.json").read_text())
    (vets,) = (service for service in schema if service["service_name"] == "Vets_1")
    assert [slot["name"] for slot in vets["slots"]][:3] == ["town", "animal", "practice"]
    assert vets["intents"][0]["name"] == "SearchAnimalDoctor"


def test_variants_in_a_folder(mini: Path, own: dict[str, Path]) -> None:
    folder = own["zh"].parent
    for name in ("b", "b/c", "a", "v1"):
        write(folder / name / "train" / "schema.json", [SCHEMAS["v1"]])
    write(folder / "without-train" / "test" / "schema.json", [MINE])
    found = find_variants(folder)
    assert list(found.items()) == [
        ("a", folder / "a"),
        ("b", folder / "b"),
        ("made-v1", folder / "v1"),  # v1 is the benchmark's
        ("zh", folder / "zh.json"),
    ]
    release = open_release(mini, found)
    assert release.own_variants == ("a", "b", "made-v1", "zh")
    assert [release.splits(name) for name in found] == 4 * [["train"]]
    assert find_variants(folder / "b") == {"b": folder / "b"}  # is a variant itself
    assert find_variants(folder / "zh.json") == {"zh": folder / "zh.json"}  # an overlay is one too
    with pytest.raises(SgdxError, match=f"^{folder}/nowhere: has no variant"):
        find_variants(folder / "nowhere")
    write(folder / "zh" / "train" / "schema.json", [SCHEMAS["v1"]])
    with pytest.raises(SgdxError, match=r"zh\.json: is variant zh as .*/zh is"):
        find_variants(folder)


def test_every_train_dialogue_comes_once_a_language(mini: Path, tmp_path: Path) -> None:
    with pytest.raises(SgdxError, match=r"expected backtrans/\*.json"):
        load("backtrans", "train", mini)
    write(mini / "backtrans" / "zh.json", OVERLAY)
    write(mini / "backtrans" / "ja.json", {"Flats_1": {}})
    rows = load("backtrans", "train", mini)
    assert list(zip(rows["dialogue_id"], rows["variant"])) == [
        *(("1_00000", "backtrans-ja"), ("1_00001", "backtrans-ja")),
        *(("1_00000", "backtrans-zh"), ("1_00001", "backtrans-zh")),
    ]
    _, place = export(open_release(mini), "backtrans", tmp_path / "out")
    assert place == tmp_path / "out" / "backtrans-zh" / "train"
    (first, _) = json.loads((place / "dialogues_001.json").read_text())
    state = first["turns"][0]["frames"][0]["state"]
    assert state["slot_values"] == {"region": ["Weststadt"], "city": ["Ulm"], "intent": ["rent"]}
