"""Schema variants: which are the paper's, how a set of them is called, what marks a wording."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

ORIGINAL = "original"
PAPER_VARIANTS = ("v1", "v2", "v3", "v4", "v5")


def own_wordings(variants: Iterable[str]) -> list[str]:
    """The variants that are neither the original nor one of the paper's: the user's own."""
    return [name for name in variants if name not in (ORIGINAL, *PAPER_VARIANTS)]


def wider_set(variants: Sequence[str]) -> str:
    """The name of all reworded variants together, such as `v1..v5+mine`.

    The name is empty where there is no variant beside the paper's, or only one reworded variant.
    """
    paper = [name for name in PAPER_VARIANTS if name in variants]
    own = own_wordings(variants)
    if not own or len(paper) + len(own) < 2:
        return ""
    named = ["v1..v5"] if len(paper) == len(PAPER_VARIANTS) else paper
    return "+".join([*named, *own])


def worst_sets(variants: Sequence[str]) -> dict[str, list[str]]:
    """The sets of wordings over which the worst case is taken, by the name of the set.

    Args:
        variants: The variants that are given.

    Returns:
        Under the empty name the original and v1 to v5, where all six are given. Where other
        variants than these six are given, and at least two, all of them under a name such as
        `original+v1..v5+mine`.
    """
    six = [ORIGINAL, *PAPER_VARIANTS]
    sets = {"": six} if set(six) <= set(variants) else {}
    if set(variants) != set(six) and len(variants) > 1:
        paper = [name for name in PAPER_VARIANTS if name in variants]
        named = ["v1..v5"] if len(paper) == len(PAPER_VARIANTS) else paper
        original = [ORIGINAL] if ORIGINAL in variants else []
        sets["+".join([*original, *named, *own_wordings(variants)])] = list(variants)
    return sets


def schema_digest(service: Mapping[str, Any]) -> str:
    """The SHA-256 of the words of a service's schema, in hex.

    Args:
        service: A service as frame rows have it in `schema`, or as a release's `schema.json`; the
            names and descriptions of the service, its slots and its intents are taken, and the
            possible values.
    """
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
    """The fingerprint of a wording: the first 8 hex digits of a SHA-256 of its services' digests.

    Args:
        digests: What `schema_digest` returned for each service, in any order, perhaps repeated.
    """
    return short_digest(sorted(set(digests)))


def short_digest(lines: Iterable[str]) -> str:
    """The first 8 hex digits of the SHA-256 of some lines."""
    return _sha256("\n".join(lines))[:8]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
