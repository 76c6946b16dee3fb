"""Rewording files: a few new words that make a variant of every split."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError, load
from sgdx_dataset.release.open import open_release

from ...conftest import ROOT, Run
from ..conftest import SCHEMAS, write

Json = Any
WORDS = {
    "Flats_1": {
        "description": "finds homes",
        "slots": {"city": "town", "area": {"name": "city", "description": "part of it"}},
        "intents": {"FindFlat": "SearchHome", "VisitFlat": {"description": "see it"}},
    }
}


@pytest.fixture
def words(tmp_path: Path) -> Path:
    write(tmp_path / "mine.json", WORDS)
    return tmp_path / "mine.json"


def test_it_makes_a_variant_of_every_split(mini: Path, words: Path) -> None:
    release = open_release(mini, {"mine": words})
    assert release.splits("mine") == ["train", "validation", "test"]
    for split in release.splits("mine"):
        (service,) = release.schema(split, "mine").services
        assert (service.service_name, service.description) == ("Flats_1", "finds homes")
        assert [(slot.name, slot.description) for slot in service.slots] == [
            ("town", "city"),
            ("city", "part of it"),
            ("intent", "intent"),
        ]
        find, visit = service.intents
        assert (find.name, find.description) == ("SearchHome", "find")
        assert (visit.name, visit.description) == ("VisitFlat", "see it")
        assert find.required_slots == ["town", "intent"]
        assert find.optional_slots == {"city": "dontcare"}
        assert find.result_slots == ["town", "city", "intent"]


def test_dialogues_follow(mini: Path, words: Path) -> None:
    frame = load("mine", "test", mini, {"mine": words})[0]["turns"][0]["frames"][0]
    assert frame["state"]["active_intent"] == "SearchHome"
    assert frame["state"]["requested_slots"] == ["city"]
    assert [v["slot"] for v in frame["state"]["slot_values"]] == ["city", "town", "intent"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Flat_1": {}}, "service Flat_1 is not in the source's schemas, expected one of Flats_1"),
        (
            {"Flats_1": {"slots": {"citty": "town"}}},
            "service Flats_1: slot citty is not in its schema, expected one of city, area, intent",
        ),
        (
            {"Flats_1": {"intents": {"Find": "Search"}}},
            "service Flats_1: intent Find is not in its schema, expected one of FindFlat,"
            " VisitFlat",
        ),
        (
            {"Flats_1": {"slots": {"city": 3}}},
            "service Flats_1: slot city: Expected `object`, got `int`",
        ),
        (
            {"Flats_1": {"slots": {"city": {"nam": "town"}}}},
            "service Flats_1: slot city: Object contains unknown field `nam`",
        ),
        (
            {"Flats_1": {"slotz": {}}},
            "service Flats_1: Object contains unknown field `slotz`",
        ),
        (
            {"Flats_1": {"intents": {"FindFlat": "NONE"}}},
            "service Flats_1: intent FindFlat: name is 'NONE', expected words other than NONE",
        ),
        (
            {"Flats_1": {"slots": {"city": " "}}},
            "service Flats_1: slot city: name is ' ', expected words other than NONE",
        ),
        (
            {"Flats_1": {"slots": {"city": "area"}}},
            "service Flats_1: slot area appears twice, expected distinct names",
        ),
    ],
)
def test_an_error_names_the_file_and_the_element(
    mini: Path, words: Path, changes: Json, message: str
) -> None:
    write(words, changes)
    with pytest.raises(SgdxError) as error:
        open_release(mini, {"mine": words})
    assert str(error.value) == f"{words}: {message}"


def test_an_error_in_a_schema_names_the_users_file(mini: Path, tmp_path: Path) -> None:
    file = tmp_path / "own" / "test" / "schema.json"
    write(file, [SCHEMAS["v1"] | {"slots": []}])
    with pytest.raises(SgdxError) as error:
        load("own", "test", mini, {"own": tmp_path / "own"})
    assert str(error.value).startswith(
        f"{file}: service Flats_11: number of slots is 0, expected 3"
    )


def test_the_documents_example(run: Run, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "wordings.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    (command,) = re.findall(r"```bash\npython -m (.*?)\n```", text)
    (tmp_path / "mine.json").write_text(example, encoding="utf-8")
    done = run(*command.split())
    assert (done.returncode, done.stdout) == (0, "mine/test\n"), done.stderr
    schema = json.loads((tmp_path / "mine" / "test" / "schema.json").read_text())
    (vets,) = (service for service in schema if service["service_name"] == "Vets_1")
    assert [slot["name"] for slot in vets["slots"]][:3] == ["town", "animal", "practice"]
    assert vets["intents"][0]["name"] == "SearchAnimalDoctor"
