"""Counts of dialogues as on the release's page (``dstc8.md``, "Dataset Statistics").

The page does not define its counts. With the definitions of ``counts`` they come out exactly for
the single-domain dialogues of dev and test.
"""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from ..io.progress import progress
from ..release.release import Release
from ..rows.dialogue_rows import dialogue_tables, steps
from ..schema import NONE_INTENT, Service
from .tally import Tally, add, tally


def dialogue_statistics(release: Release) -> dict[str, Any]:
    """Count what the original dialogues of a release hold.

    Returns:
        ``counts``: by split, those of ``single``-domain, ``multi``-domain and ``combined``
        dialogues, as far as the split has them.
    """
    seen = release.seen_services()
    statistics: dict[str, Any] = {"counts": {}}
    with progress("Counting", steps(release, ["original"])):
        tallies = {split: _tallies(release, split) for split in release.splits("original")}
    for split, kinds in tallies.items():
        services = release.schema(split, "original").services
        statistics["counts"][split] = {k: counts(t, services, seen) for k, t in kinds.items()}
    return statistics


def counts(tally: Tally, services: list[Service], seen: set[str]) -> dict[str, float]:
    """The page's counts, and the user turns and frames that trackers are scored on.

    Tokens are delimited by white space and lower-cased. A slot counts when it occurs in a state, a
    request or a span; an informable slot, when it occurs in a state. Slot values are the
    lower-cased texts of spans; informable slot values, the lower-cased values in
    states. Intents are the active ones; intents of the same name in a domain count once.
    """
    present = [service for service in services if service.service_name in tally["services"]]
    unseen = [service for service in present if service.service_name not in seen]
    dialogues, turns = tally["lengths"].total(), tally["speakers"].total()
    tokens = tally["words"].total()
    return {
        "dialogues": dialogues,
        "turns": turns,
        "user_turns": tally["speakers"]["USER"],
        "user_frames": tally["intents"].total(),
        "tokens": tokens,
        "turns_per_dialogue": turns / dialogues,
        "tokens_per_turn": tokens / turns if turns else 0.0,
        "unique_tokens": len(tally["words"]),
        "slots": len(tally["state_slots"].keys() | tally["other_slots"].keys()),
        "informable_slots": len(tally["state_slots"]),
        "slot_values": len(tally["span_values"]),
        "informable_slot_values": len(tally["state_values"]),
        "domains": len({domain(service.service_name) for service in present}),
        "services": len(present),
        "seen_services": len(present) - len(unseen),
        "unseen_services": len(unseen),
        "intents": len({(domain(s), i) for s, i in tally["intents"] if i != NONE_INTENT}),
    }


def domain(service: str) -> str:
    """The domain of a service: ``"Hotels"`` for ``"Hotels_2"``."""
    return service.rpartition("_")[0] or service


def _tallies(release: Release, split: str) -> dict[str, Tally]:
    """Tallies of ``single``-domain (one service), ``multi``-domain and ``combined`` dialogues."""
    kinds: dict[str, Tally] = {"single": {}, "multi": {}, "combined": {}}
    for _, table in dialogue_tables(release, split, "original"):
        single = pc.equal(pc.list_value_length(table["services"]), 1)
        for kind, mask in (("single", single), ("multi", pc.invert(single))):
            of_kind = table.filter(mask)
            if len(of_kind):
                counted = tally(of_kind)
                add(kinds[kind], counted)
                add(kinds["combined"], counted)
    return {kind: total for kind, total in kinds.items() if total}
