"""Which services and dialogues each split has, and the files they are written to."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from .story import tell_story
from .talk import Talk, load_talks
from .wording import LANGUAGES, VARIANTS, Schema, Wordings, load_wordings, overlay, schema

Services = tuple[str, ...]

SEED = 20
ALONE: dict[str, dict[str, int]] = {  # split -> service -> dialogues about it alone
    "train": {
        "Bikes_1": 8,
        "Flats_1": 9,
        "Library_1": 8,
        "Museums_1": 8,
        "Parcels_1": 10,
        "Vets_1": 9,
    },
    "dev": {
        "Bikes_1": 4,
        "Cabs_1": 3,
        "Library_1": 4,
        "Repairs_1": 4,
    },
    "test": {
        "Cabs_1": 3,
        "Cooking_1": 4,
        "Flats_1": 4,
        "Library_2": 4,
        "Museums_1": 3,
        "Repairs_1": 4,
        "Vets_1": 4,
    },
}
TOGETHER: dict[str, list[Services]] = {  # split -> dialogues about several, one after the other
    "train": [
        *4 * [("Flats_1", "Parcels_1")],
        *3 * [("Museums_1", "Bikes_1")],
        *3 * [("Vets_1", "Museums_1")],
        *2 * [("Library_1", "Vets_1")],
        ("Flats_1", "Parcels_1", "Library_1"),
        ("Vets_1", "Museums_1", "Bikes_1"),
    ],
    "dev": [
        *2 * [("Bikes_1", "Cabs_1")],
        ("Library_1", "Repairs_1"),
        ("Bikes_1", "Repairs_1"),
    ],
    "test": [
        *3 * [("Museums_1", "Cabs_1")],
        *2 * [("Vets_1", "Cabs_1")],
        *2 * [("Cooking_1", "Museums_1")],
        ("Flats_1", "Cabs_1"),
        ("Library_2", "Cooking_1"),
        ("Flats_1", "Cabs_1", "Repairs_1"),
    ],
}


def files() -> Iterator[tuple[str, str]]:
    """The path of every file of the corpus, below its folder, and the file's text."""
    wordings, talks = load_wordings(), load_talks()
    for split in ALONE:
        yield from _schema_files(split, [wordings[name] for name in sorted(ALONE[split])])
        yield from _dialogue_files(split, talks)
    train = [wordings[name] for name in sorted(ALONE["train"])]
    for language in LANGUAGES:
        texts = {service["service_name"]: overlay(service, language) for service in train}
        yield f"backtrans/{language}.json", _overlay_text(texts)


def write(output: Path) -> None:
    """Write the corpus to the folder ``output``."""
    for path, text in files():
        file = output / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")


def _schema_files(split: str, services: list[Wordings]) -> Iterator[tuple[str, str]]:
    for variant in VARIANTS:
        folder = f"sgd_x/data/v{variant}/{split}" if variant else split
        schemas: list[Schema] = [schema(service, variant) for service in services]
        yield f"{folder}/schema.json", _list_text([json.dumps(s) for s in schemas])


def _dialogue_files(split: str, talks: dict[str, Talk]) -> Iterator[tuple[str, str]]:
    alone: list[Services] = [(name,) for name, count in ALONE[split].items() for _ in range(count)]
    for number, stories in enumerate((alone, TOGETHER[split]), start=1):
        dialogues = [
            _dialogue(split, f"{number}_{index:05d}", [talks[name] for name in services])
            for index, services in enumerate(stories)
        ]
        lines = [json.dumps(d, sort_keys=True, separators=(",", ":")) for d in dialogues]
        yield f"{split}/dialogues_{number:03d}.json", _list_text(lines)


def _dialogue(split: str, dialogue_id: str, talks: list[Talk]) -> dict[str, Any]:
    """Generate a dialogue; its random numbers follow from its split and id alone."""
    rng = Random(f"{SEED}/{split}/{dialogue_id}")  # noqa: S311 - no secret is made here
    turns = tell_story(rng, talks)
    return {"dialogue_id": dialogue_id, "services": [t.name for t in talks], "turns": turns}


def _list_text(lines: list[str]) -> str:
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _overlay_text(texts: dict[str, Any]) -> str:
    return json.dumps(texts, ensure_ascii=False, indent=1) + "\n"
