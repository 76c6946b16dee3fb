"""Back-translated schemas: overlays, and the config that is made with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError, frames, load
from sgdx_dataset.hub.export import export
from sgdx_dataset.release.open import SAMPLE, open_release

from ..conftest import write

Json = Any
AREA = {"name": {"pivot": "区域", "text": "region"}}


def overlay(mini: Path, language: str, service: Json, name: str = "Flats_1") -> None:
    write(mini / "backtrans" / f"{language}.json", {name: service})


def test_only_what_the_overlay_has_is_changed(mini: Path) -> None:
    overlay(
        mini,
        "zh",
        {
            "slots": {"area": AREA},
            "intents": {"FindFlat": {"description": {"pivot": "找公寓", "text": "look for flats"}}},
        },
    )
    release = open_release(mini)
    (service,) = release.schema("train", "backtrans-zh").services
    (original,) = release.schema("train", "original").services
    assert [slot.name for slot in service.slots] == ["city", "region", "intent"]
    assert [slot.description for slot in service.slots] == ["city", "area", "intent"]
    assert [(i.name, i.description) for i in service.intents] == [
        ("FindFlat", "look for flats"),
        ("VisitFlat", "visit"),
    ]
    assert service.intents[0].optional_slots == {"region": "dontcare"}
    assert service.intents[1].required_slots == ["region"]
    assert (service.service_name, service.description) == ("Flats_1", original.description)


def test_every_train_dialogue_comes_once_a_language(mini: Path) -> None:
    overlay(mini, "zh", {"slots": {"area": AREA}})
    overlay(mini, "ja", {})
    rows = load("backtrans", "train", mini)
    assert list(zip(rows["dialogue_id"], rows["variant"])) == [
        ("1_00000", "backtrans-ja"),
        ("1_00001", "backtrans-ja"),
        ("1_00000", "backtrans-zh"),
        ("1_00001", "backtrans-zh"),
    ]
    slots = [[pair["slot"] for pair in row["slot_values"]] for row in frames(rows)]
    assert slots[0] == ["area", "city", "intent"]
    assert slots[-1] == ["region", "city", "intent"]
    assert [s["name"] for s in frames(rows)[-1]["schema_slots"]] == ["city", "region", "intent"]


def test_the_sample_has_three_languages() -> None:
    rows = load("backtrans", source="sample")
    assert {split: len(part) for split, part in rows.items()} == {"train": 3 * 66}
    assert set(rows["train"]["variant"]) == {"backtrans-zh", "backtrans-ja", "backtrans-ko"}
    for language in ("zh", "ja", "ko"):
        (SAMPLE / "backtrans" / f"{language}.json").read_text(encoding="utf-8")


def test_a_language_is_exported_to_its_own_folder(mini: Path, tmp_path: Path) -> None:
    overlay(mini, "ko", {"slots": {"area": AREA}})
    (place,) = export(open_release(mini), "backtrans", tmp_path)
    assert place == tmp_path / "backtrans-ko" / "train"
    (service,) = json.loads((place / "schema.json").read_text())
    assert [slot["name"] for slot in service["slots"]] == ["city", "region", "intent"]
    (first, _) = json.loads((place / "dialogues_001.json").read_text())
    state = first["turns"][0]["frames"][0]["state"]
    assert state["slot_values"] == {"region": ["Weststadt"], "city": ["Ulm"], "intent": ["rent"]}


@pytest.mark.parametrize(
    ("service", "name", "message"),
    [
        ({}, "Cabs_1", "backtrans/zh.json: service Cabs_1 is not in"),
        ({"slots": {"rent": AREA}}, "Flats_1", "service Flats_1: slot rent is not in its schema"),
        (
            {"slots": {"city": {"nam": AREA}}},
            "Flats_1",
            "Flats_1: slot city: .*`nam`",
        ),
        (
            {"slots": {"city": {"name": {"pivot": "", "text": "area"}}}},
            "Flats_1",
            "service Flats_1: slot area appears twice",
        ),
    ],
)
def test_a_faulty_overlay_is_named(mini: Path, service: Json, name: str, message: str) -> None:
    overlay(mini, "zh", service, name)
    with pytest.raises(SgdxError, match=message):
        load("backtrans", "train", mini)


def test_a_source_without_overlays(mini: Path) -> None:
    with pytest.raises(SgdxError, match=r"has no backtrans/\*.json, expected overlays for backtr"):
        load("backtrans", "train", mini)
    assert "backtrans" not in open_release(mini).configs()
