"""The services and their wordings (``services/*.toml``) as schemas and overlays."""

import tomllib
from pathlib import Path
from typing import Any

Wordings = dict[str, Any]  # one parsed services/*.toml
Schema = dict[str, Any]  # one service as the release's schema.json has it

LANGUAGES = ("zh", "ja", "ko")
VARIANTS = range(6)  # 0 is the original


def load_wordings() -> dict[str, Wordings]:
    """All services by their original name, in alphabetical order."""
    files = sorted((Path(__file__).parent / "services").glob("*.toml"))
    parsed = [tomllib.loads(file.read_text(encoding="utf-8")) for file in files]
    return {wordings["service_name"]: wordings for wordings in parsed}


def schema(wordings: Wordings, variant: int = 0) -> Schema:
    """The service under one variant's wording, keys in the release's order."""
    renamed = {slot["name"][0]: slot["name"][variant] for slot in wordings["slots"]}
    return {
        "service_name": wordings["service_name"] + (str(variant) if variant else ""),
        "description": wordings["description"][variant],
        "slots": [_slot(slot, variant) for slot in wordings["slots"]],
        "intents": [_intent(intent, variant, renamed) for intent in wordings["intents"]],
    }


def _slot(slot: Wordings, variant: int) -> Schema:
    return {
        "name": slot["name"][variant],
        "description": slot["description"][variant],
        "is_categorical": "possible_values" in slot,
        "possible_values": slot.get("possible_values", []),
    }


def _intent(intent: Wordings, variant: int, renamed: dict[str, str]) -> Schema:
    return {
        "name": intent["name"][variant],
        "description": intent["description"][variant],
        "is_transactional": intent["is_transactional"],
        "required_slots": [renamed[slot] for slot in intent["required_slots"]],
        "optional_slots": {renamed[slot]: v for slot, v in intent["optional_slots"].items()},
        "result_slots": [renamed[slot] for slot in intent["result_slots"]],
    }


def overlay(wordings: Wordings, language: str) -> dict[str, Any]:
    """The service's back-translated texts, keyed by original names, unchanged ones left out."""
    return {
        **_back(wordings, language),
        "slots": _backs(wordings["slots"], language),
        "intents": _backs(wordings["intents"], language),
    }


def _backs(elements: list[Wordings], language: str) -> dict[str, Any]:
    backs = {element["name"][0]: _back(element, language) for element in elements}
    return {name: back for name, back in backs.items() if back}


def _back(element: Wordings, language: str) -> dict[str, dict[str, str]]:
    pairs = element.get("back", {}).get(language, {})
    return {key: {"pivot": pivot, "text": text} for key, (pivot, text) in pairs.items()}
