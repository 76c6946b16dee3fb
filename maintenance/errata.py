"""List the annotations of SGD that contradict each other, as sgdx_metric/errata.tsv has them.

Each rule finds turns of the user in which the annotation of a slot contradicts another annotation,
or what is said. docs/errata.md has the outcome, and how many entries of a sample were true. A line
of the list is a slot of a service in a dialogue, with the turns in which the state carries the
contradiction along. It has no words of SGD.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from sgdx_dataset import open_release
from sgdx_dataset.release.dialogue import Action, Dialogue, Frame, State, read_dialogues
from sgdx_dataset.release.release import Release
from sgdx_dataset.schema import Service

_SPLITS = ("train", "validation", "test")
# Words by which a user says that a slot's value does not matter, or asks for something else.
_INDIFFERENT = re.compile(
    r"\b(any\w*|either|whatever|whichever|wherever|whenever|prefer\w*|care|mind|matter\w*|"
    r"particular|picky|flexible|open|up to you|all|both|every|random|some\w*|fine|okay|ok|bothered|"
    r"specific|important|irrelevant|need|regardless|fussy|surprise|or|concern|worries|indifferent|"
    r"have to|variety|no|other|else|another)\b"
)


class UserFrame(NamedTuple):
    """A turn of the user and a service, with what came before.

    Attributes:
        split, dialogue_id, turn, service: Where it is.
        utterance: What the user says.
        actions: The user's acts.
        state: The state after the turn.
        before: The state after the user's turn before; empty in the first one.
        system: The system's acts for the service in the turn before.
        offer: What the system's last offer has: values by slot.
        calls: The intents that the system has called so far.
        alone: Whether no other service was talked of before, whose values the user could mean.
    """

    split: str
    dialogue_id: str
    turn: int
    service: str
    utterance: str
    actions: list[Action]
    state: State
    before: State
    system: list[Action]
    offer: dict[str, list[str]]
    calls: frozenset[str]
    alone: bool

    def acts(self) -> set[str]:
        """The names of the user's acts."""
        return {action.act for action in self.actions}

    def informed(self) -> set[str]:
        """The slots whose values the user says."""
        return {action.slot for action in self.actions if action.act == "INFORM"}

    def changes(self) -> dict[str, list[str]]:
        """The slots that get a value, or another one, with their values."""
        old = self.before.slot_values
        return {
            slot: values
            for slot, values in self.state.slot_values.items()
            if not set(values) & set(old.get(slot, []))
        }


class Erratum(NamedTuple):
    """A slot whose annotation contradicts another one, from a turn of the user on."""

    rule: str
    split: str
    dialogue_id: str
    turn: int
    service: str
    slot: str


_NOTHING = State("NONE", [], {})


def user_frames(split: str, dialogue: Dialogue[Frame]) -> Iterator[UserFrame]:
    """The turns of the user in a dialogue, a service at a time."""
    states: dict[str, State] = {}
    offers: dict[str, dict[str, list[str]]] = {}
    calls: dict[str, set[str]] = defaultdict(set)
    system: dict[str, list[Action]] = {}
    for turn, spoken in enumerate(dialogue.turns):
        if spoken.speaker == "SYSTEM":
            system = {frame.service: frame.actions for frame in spoken.frames}
            for frame in spoken.frames:
                if offer := _values(frame.actions, "OFFER"):
                    offers[frame.service] = offer
                if frame.service_call:
                    calls[frame.service].add(frame.service_call.method)
            continue
        for frame in spoken.frames:
            service, state = frame.service, frame.state or _NOTHING
            yield UserFrame(
                split, dialogue.dialogue_id, turn, service, spoken.utterance, frame.actions,
                state, states.get(service, _NOTHING),
                system.get(service, []), offers.get(service, {}), frozenset(calls[service]),
                alone=states.keys() <= {service},
            )  # fmt: skip
            states[service] = state


def _values(actions: Sequence[Action], act: str) -> dict[str, list[str]]:
    """The values, spoken and canonical, by slot, of one kind of act."""
    return {
        action.slot: [*action.values, *action.canonical_values]
        for action in actions
        if action.act == act and action.slot
    }


def unsaid(frames: Sequence[UserFrame], _: dict[str, Service]) -> Iterator[Erratum]:
    """The user is annotated to find a value indifferent, and says no word to that effect."""
    for frame in frames:
        for slot, values in _values(frame.actions, "INFORM").items():
            if values[0] == "dontcare" and not _INDIFFERENT.search(frame.utterance.lower()):
                yield _erratum("unsaid", frame, slot)


def same_words(frames: Sequence[UserFrame], _: dict[str, Service]) -> Iterator[Erratum]:
    """The same words after the same state and the same acts of the system change other slots.

    Only the first service of a dialogue is looked at, as words such as "there" may mean what was
    said to another. What at most half of the turns with these words have is listed.
    """
    groups: dict[object, list[UserFrame]] = defaultdict(list)
    for frame in filter(lambda frame: frame.alone, frames):
        words = re.sub(r"\W+", " ", frame.utterance.lower()).strip()
        state = str(sorted(frame.before.slot_values.items()))
        groups[frame.service, words, state, str(frame.system)].append(frame)
    for group in groups.values():
        for slot in sorted({slot for frame in group for slot in frame.changes()}):
            values = [str(frame.changes().get(slot)).lower() for frame in group]
            counts = Counter(values)
            for frame, value in zip(group, values):
                if 2 * counts[value] <= len(group):
                    yield _erratum("same words", frame, slot)


def lost(frames: Sequence[UserFrame], _: dict[str, Service]) -> Iterator[Erratum]:
    """After a call was made, a new intent of the service has lost its values here, and not there.

    Both are listed: the turns of a service in which an intent follows another one whose call was
    made, where some of them have lost values that were there before, and others have kept them.
    """
    groups: dict[tuple[str, str, str], list[UserFrame]] = defaultdict(list)
    for frame in frames:
        old, new = frame.before.active_intent, frame.state.active_intent
        if old in frame.calls and new not in (old, "NONE") and frame.before.slot_values:
            groups[frame.service, old, new].append(frame)
    for group in groups.values():
        gone = [set(frame.before.slot_values) - set(frame.state.slot_values) for frame in group]
        if all(gone) or not any(gone):
            continue
        for frame in group:
            for slot in sorted(set().union(*gone) & set(frame.before.slot_values)):
                if slot not in frame.informed():
                    yield _erratum("lost", frame, slot)


def offered(frames: Sequence[UserFrame], services: dict[str, Service]) -> Iterator[Erratum]:
    """An offer is taken, and a slot of it is treated otherwise than train always treats it.

    What train does is counted over its services of the same domain whose slot has the same name and
    the same part in their intents: their state takes the offered value in every such turn, or in
    none. Slots that had a value before, or whose value the user says, are passed over.
    """
    taken: dict[tuple[object, ...], set[bool]] = defaultdict(set)
    turns = []
    for frame in frames:
        if "SELECT" not in frame.acts():
            continue
        for slot in frame.offer:
            if slot in frame.before.slot_values or slot in frame.informed():
                continue
            key = frame.service.split("_")[0], slot, _part(services[frame.service], slot)
            takes = slot in frame.state.slot_values
            turns.append((key, frame, slot, takes))
            if frame.split == "train":
                taken[key].add(takes)
    for key, frame, slot, takes in turns:
        if len(taken[key]) == 1 and takes not in taken[key]:
            yield _erratum("offered", frame, slot)


def _part(service: Service, slot: str) -> frozenset[tuple[bool, bool]]:
    """Of each intent that has a slot, whether it needs the slot and whether it is transactional."""
    return frozenset(
        (slot in intent.required_slots, intent.is_transactional)
        for intent in service.intents
        if slot in {*intent.required_slots, *intent.optional_slots}
    )


def _erratum(rule: str, frame: UserFrame, slot: str) -> Erratum:
    return Erratum(rule, frame.split, frame.dialogue_id, frame.turn, frame.service, slot)


RULES: tuple[Callable[[Sequence[UserFrame], dict[str, Service]], Iterator[Erratum]], ...] = (
    offered, lost, unsaid, same_words,
)  # fmt: skip


def read_frames(release: Release) -> list[UserFrame]:
    """The turns of the user in all dialogues of a release."""
    return [
        frame
        for split in _SPLITS
        for file in release.dialogue_files(split)
        for dialogue in read_dialogues(release.read(file), file, Frame)
        for frame in user_frames(split, dialogue)
    ]


def read_services(release: Release) -> dict[str, Service]:
    """The services of all splits, by name."""
    return {
        service.service_name: service
        for split in _SPLITS
        for service in release.schema(split, "original").services
    }


def lines(frames: Sequence[UserFrame], services: dict[str, Service]) -> Iterator[str]:
    """The list: split, dialogue, service, slot, its position in the schema, turns and rules."""
    series: dict[tuple[str, str, str], list[UserFrame]] = defaultdict(list)
    for frame in frames:
        series[frame.split, frame.dialogue_id, frame.service].append(frame)
    turns: dict[tuple[str, str, str, str], set[int]] = defaultdict(set)
    rules: dict[tuple[str, str, str, str], set[str]] = defaultdict(set)
    for rule in RULES:
        for erratum in rule(frames, services):
            service_turns = series[erratum.split, erratum.dialogue_id, erratum.service]
            turns[erratum[1:3] + erratum[4:]].update(carried(service_turns, erratum))
            rules[erratum[1:3] + erratum[4:]].add(erratum.rule)
    for split, dialogue_id, service, slot in sorted(turns):
        key = split, dialogue_id, service, slot
        position = [item.name for item in services[service].slots].index(slot)
        numbers = ",".join(map(str, sorted(turns[key])))
        names = ",".join(sorted(rules[key]))
        yield f"{split}\t{dialogue_id}\t{service}\t{slot}\t{position}\t{numbers}\t{names}"


def carried(series: Sequence[UserFrame], erratum: Erratum) -> Iterator[int]:
    """The turns from an erratum's own on, as long as the state says the same of its slot."""
    values: set[str] | None = None
    for frame in series:
        if frame.turn < erratum.turn:
            continue
        now = set(frame.state.slot_values.get(erratum.slot, []))
        if values is not None and now != values and not now & values:
            return
        yield frame.turn
        values = now


def main() -> None:
    """Print the list of the source that is named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m maintenance.errata", description=__doc__)
    text = "Read this copy of the SGD release, a directory or an archive."
    parser.add_argument("source", metavar="SOURCE", help=text)
    release = open_release(parser.parse_args().source)
    for line in lines(read_frames(release), read_services(release)):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
