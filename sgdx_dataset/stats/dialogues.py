"""Counts of dialogues as on the release's page (``dstc8.md``, "Dataset Statistics").

The page does not define its counts. With the definitions here they come out exactly for the
single-domain dialogues of dev and test: tokens are delimited by white space and lower-cased. A slot
counts when it occurs in a state, a request or a span; an informable slot, when it occurs in a
state. Slot values are the texts of spans; informable slot values, the values in states. Intents are
the active ones; intents of the same name in a domain count once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from ..io.progress import progress
from ..release.dialogue import BriefFrame, Dialogue
from ..release.release import Release
from ..rows.dialogue_rows import parse_files
from ..rows.gold_rows import gold_columns
from ..rows.name_codes import Coder
from ..schema import NONE_INTENT


class Tally:
    """What dialogues hold: numbers of what is counted, and sets of what counts once."""

    def __init__(self) -> None:
        self.numbers: Counter[str] = Counter()
        self.sets: defaultdict[str, set[Any]] = defaultdict(set)

    def add(self, dialogue: Dialogue[BriefFrame]) -> None:
        """Count a dialogue."""
        self.numbers["dialogues"] += 1
        self.sets["services"].update(dialogue.services)
        for turn in dialogue.turns:
            words = turn.utterance.lower().split()
            self.numbers.update(turns=1, user_turns=turn.speaker == "USER", tokens=len(words))
            self.sets["words"].update(words)
            for frame in turn.frames:
                self._add_frame(frame, turn.utterance)

    def _add_frame(self, frame: BriefFrame, utterance: str) -> None:
        for span in frame.slots:
            self.sets["slots"].add((frame.service, span.slot))
            self.sets["span_values"].add(utterance[span.start : span.exclusive_end].lower())
        if (state := frame.state) is not None:
            self.numbers["user_frames"] += 1
            self.sets["intents"].add((domain(frame.service), state.active_intent))
            self.sets["slots"].update((frame.service, slot) for slot in state.requested_slots)
            for slot, values in state.slot_values.items():
                self.sets["state_slots"].add((frame.service, slot))
                self.sets["state_values"].update(value.lower() for value in values)

    def merge(self, other: Tally) -> None:
        """Count what another tally has."""
        self.numbers.update(other.numbers)
        for name, values in other.sets.items():
            self.sets[name] |= values


def dialogue_statistics(release: Release) -> dict[str, Any]:
    """The counts of the original dialogues, by split: single- and multi-domain, and combined."""
    splits, seen = release.splits("original"), release.seen_services()
    with progress("Counting", sum(len(release.dialogue_files(split)) for split in splits)):
        kinds = {split: _tallies(release, split) for split in splits}
    return {
        "counts": {
            split: {kind: counts(tally, seen) for kind, tally in tallies.items()}
            for split, tallies in kinds.items()
        }
    }


def _tallies(release: Release, split: str) -> dict[str, Tally]:
    """Tallies of dialogues with one service, with several, and of both, where there are any."""
    kinds = {"single": Tally(), "multi": Tally()}

    def gather(dialogues: list[Dialogue[BriefFrame]], coder: Coder, path: str) -> None:
        gold_columns(dialogues, coder, path)  # It refuses names that the schema lacks.
        for dialogue in dialogues:
            kinds["single" if len(dialogue.services) == 1 else "multi"].add(dialogue)

    for _ in parse_files(release, split, BriefFrame, gather):
        pass
    combined = Tally()
    for tally in kinds.values():
        combined.merge(tally)
    found = {kind: tally for kind, tally in kinds.items() if tally.numbers}
    return {**found, "combined": combined}


def counts(tally: Tally, seen: set[str]) -> dict[str, float]:
    """The page's counts, and the user turns and frames that trackers are scored on."""
    numbers, sets = tally.numbers, tally.sets
    turns, services = numbers["turns"], sets["services"]
    return {
        "dialogues": numbers["dialogues"],
        "turns": turns,
        "user_turns": numbers["user_turns"],
        "user_frames": numbers["user_frames"],
        "tokens": numbers["tokens"],
        "turns_per_dialogue": turns / numbers["dialogues"],
        "tokens_per_turn": numbers["tokens"] / turns if turns else 0.0,
        "unique_tokens": len(sets["words"]),
        "slots": len(sets["state_slots"] | sets["slots"]),
        "informable_slots": len(sets["state_slots"]),
        "slot_values": len(sets["span_values"]),
        "informable_slot_values": len(sets["state_values"]),
        "domains": len(set(map(domain, services))),
        "services": len(services),
        "seen_services": len(services & seen),
        "unseen_services": len(services - seen),
        "intents": sum(intent != NONE_INTENT for _, intent in sets["intents"]),
    }


def domain(service: str) -> str:
    """The domain of a service: ``"Hotels"`` for ``"Hotels_2"``."""
    return service.rpartition("_")[0] or service
