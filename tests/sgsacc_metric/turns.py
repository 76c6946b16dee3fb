"""Small turns to score, and scripted models of entailment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sgdx_dataset.schema import Intent, Service, Slot
from sgsacc_metric.nli import Pair
from sgsacc_metric.rows import Action, Turn

CITY = Slot("city", "City of the hotel.", False, [])
STARS = Slot("star_rating", "How many stars the hotel has", True, ["1", "2", "3", "4", "5"])
WIFI = Slot("has_wifi", "Whether the hotel has wifi", True, ["True", "False"])
PETS = Slot("pets_allowed", "Are pets allowed?", True, ["True", "False"])
NONSTOP = Slot("is_nonstop", "Flight is direct", True, ["True", "False"])
VISIBILITY = Slot("private_visibility", "Hidden from others", True, ["False", "True"])
KIND = Slot("intent", "Rent or buy", True, ["rent", "buy"])
HOTELS = Service(
    "Hotels_1",
    "Find and book hotels",
    [CITY, STARS, WIFI, PETS, NONSTOP, VISIBILITY, KIND],
    [
        Intent("FindHotel", "Search for a hotel.", False, ["city"], {}, ["city", "has_wifi"]),
        Intent("BookHotel", "Book a room", True, ["city"], {}, []),
    ],
)


def act(name: str, slot: str = "", *values: str, canonical: Sequence[str] = ()) -> Action:
    return Action("Hotels_1", name, slot, [*values], [*(canonical or values)])


def turn(*actions: Action, **others: Any) -> Turn:
    """A turn in which the system confirms a hotel in Rome, unless told otherwise."""
    settings: dict[str, Any] = {
        "turn_id": "1_00000/1",
        "variant": "original",
        "service": "Hotels_1",
        "seen": True,
        "seen_domain": True,
        "actions": [*(actions or (act("CONFIRM", "city", "Rome"),))],
        "utterance": "A hotel in Rome?",
        "schemas": [HOTELS],
        "prompt": "Find me a hotel.",
    }
    return Turn(**(settings | others))


YES, NO = (0.9, 0.06, 0.04), (0.1, 0.6, 0.3)
# The gold utterance of `turn()`, the sentences of its action, and the utterance in its context.
GOLD = "A hotel in Rome?"
LONG, SHORT = "City of the hotel is Rome.", "City is Rome."
CONTEXT = "Find me a hotel. City of the hotel. A hotel in Rome?"


class Script:
    """A model of entailment that knows some pairs, and fails on any other."""

    name = "script"

    def __init__(self, answers: dict[Pair, tuple[float, float, float]]) -> None:
        self.answers = answers
        self.calls: list[list[Pair]] = []

    def __call__(self, pairs: Sequence[Pair]) -> list[tuple[float, float, float]]:
        self.calls.append([*pairs])
        return [self.answers[pair] for pair in pairs]


CITIES = ("Rome", "Pisa", "Siena", "Bari")


def four_turns() -> list[Turn]:
    """Four turns of two dialogues, one of an unseen service of a seen domain."""
    made = []
    for i, city in enumerate(CITIES):
        made.append(
            turn(
                act("CONFIRM", "city", city),
                turn_id=f"1_0000{i // 2}/{1 + 2 * (i % 2)}",
                service="Hotels_1" if i < 3 else "Hotels_2",
                seen=i < 3,
                utterance=f"A hotel in {city} , is that right ?",
                prompt="",
            )
        )
    return made
