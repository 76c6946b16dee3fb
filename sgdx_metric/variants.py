"""Schema variants: which are the paper's, how a set of them is called, what marks a variant."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, takewhile
from typing import Any

ORIGINAL = "original"
PAPER_VARIANTS = ("v1", "v2", "v3", "v4", "v5")
RELEASED = (ORIGINAL, *PAPER_VARIANTS)
# Variants that mean what the original does, numbered: `control1` has a trivial edit of its words,
# `repeat2` the same words once more. What they flip no meaning flips: the floor of all flips.
# Of tools also what stands beside other words of them: `users1` has other words of what users say,
# and `both1` has both.
FLOORS = ("control", "repeat", "users", "both")
# So many variants of one's own are named one by one.
_FEW = 3


def own_variants(variants: Iterable[str]) -> list[str]:
    """The variants that are neither the original nor one of the paper's: the user's own."""
    return [name for name in variants if name not in (ORIGINAL, *PAPER_VARIANTS)]


def floor_of(variant: str) -> str:
    """Which of `FLOORS` a variant is one of; empty for any other."""
    stem = variant.rstrip("0123456789")
    return stem if stem in FLOORS and stem != variant else ""


def floors(variants: Iterable[str]) -> dict[str, list[str]]:
    """The controls and the repeats among variants, where there are any."""
    listed = list(variants)
    found = {floor: [name for name in listed if floor_of(name) == floor] for floor in FLOORS}
    return {floor: names for floor, names in found.items() if names}


def set_name(variants: Sequence[str]) -> str:
    """The name of a set: the original, the paper's variants, the user's own, of many `w1..w24`."""
    original = [ORIGINAL] if ORIGINAL in variants else []
    paper = [name for name in PAPER_VARIANTS if name in variants]
    named = ["v1..v5"] if len(paper) == len(PAPER_VARIANTS) else paper
    own = own_variants(variants)
    while own:
        first = own.pop(0)
        stem = first.rstrip("0123456789")
        # A stem and a number without leading zeros.
        numbered = re.compile(rf"{re.escape(stem)}(0|[1-9][0-9]{{0,8}})")
        numbers = {int(found[1]) for name in [first, *own] if (found := numbered.fullmatch(name))}
        run = list(takewhile(numbers.__contains__, count(min(numbers, default=0))))
        members = [f"{stem}{number}" for number in run]
        if len(run) > _FEW and first in members:
            named.append(f"{members[0]}..{members[-1]}")
            own = [name for name in own if name not in members]
        else:
            named.append(first)
    return "+".join([*original, *named])


def schema_digest(service: Mapping[str, Any]) -> str:
    """The SHA-256 of the words of a service's schema, as in frame rows or in `schema.json`."""
    words = {
        "service_name": service["service_name"],
        "description": service["description"],
        "slots": [
            [slot["name"], slot["description"], slot["possible_values"]]
            for slot in service["slots"]
        ],
        "intents": [[intent["name"], intent["description"]] for intent in service["intents"]],
    }
    return _sha256(json.dumps(words, sort_keys=True))


def names_digest(service: str, slots: Sequence[str]) -> str:
    """The same of a service whose schema is not at hand: of its name and its slots' names alone."""
    return _sha256(json.dumps([service, list(slots)]))


def fingerprint(digests: Iterable[str]) -> str:
    """The mark of a variant: 8 hex digits of a SHA-256 of its services' digests, in any order."""
    return short_digest(sorted(set(digests)))


def short_digest(lines: Iterable[str]) -> str:
    """The first 8 hex digits of the SHA-256 of some lines."""
    return _sha256("\n".join(lines))[:8]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
