"""What trackers do slot by slot: what rewording breaks, and which words cost most."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from sgdx_dataset import SgdxError
from sgdx_metric.columns import Floats
from sgdx_metric.errors import ScoreError
from sgdx_metric.statistics import stand_out
from sgdx_metric.units import Items
from sgdx_metric.variants import ORIGINAL, floor_of, own_variants

from ..explain import judge_values
from ..gold import STATES, Gold, Turns, open_gold
from ..predictions import NO_HEADER, read_predictions, with_frame_ids
from ..result import Scored as ScoredResult
from ..tables import NO_VALUE, Column, Table, percent, printable, table
from .runs import Group, System

# The classes of errors, and what they mean.
CLASSES = {
    "missed": "the slot has a value and none is predicted",
    "wrong value": "another value is predicted for the slot",
    "wrong slot": "the value is predicted for another slot, or another slot's value for this one",
    "invented": "the slot has no value and one is predicted",
    "copied from another service": "the value that is predicted is one of another service's state "
    "in the dialogue",
}
State = Mapping[str, list[str]]  # the values of each slot


class Words(msgspec.Struct, frozen=True):
    """What a slot is called under a variant."""

    name: str
    description: str


class Error(msgspec.Struct, frozen=True, rename={"kind": "class"}):
    """A slot that is wrong under a variant, in a frame that is right under the original words."""

    system: str
    frame_id: str
    # Whether the service is in the original train split.
    seen: bool
    variant: str
    kind: str  # one of CLASSES
    # The values under the variant; empty for none. Of a reference this is the first spoken variant.
    reference: str
    predicted: str
    # For a wrong slot, the name of the other slot under the variant.
    other_slot: str
    original: Words
    reworded: Words
    # The system's turn before the user's turn, and that turn; empty where they are not at hand.
    system_utterance: str
    user_utterance: str

    @property
    def place(self) -> tuple[str, int, str]:
        """The dialogue's id, the index of the turn, and the original name of the service."""
        dialogue, turn, service = self.frame_id.rsplit("/", 2)
        return dialogue, int(turn), service


class Rewording(NamedTuple):
    """What the new words of one slot cost under one variant."""

    service: str
    variant: str
    before: Words
    after: Words
    # Frames in which it is right under the original and wrong under the variant, and in which it
    # is the other way round; means over the runs.
    lost: float
    won: float
    # How likely chance makes the largest loss of all rewordings as large.
    chance: float


class Analysis(NamedTuple):
    """What a system does slot by slot."""

    # What breaks in the first run.
    errors: Sequence[Error]
    # The slots whose new words lose more frames than they win, the costliest first.
    rewordings: Sequence[Rewording]
    # How many rewordings change any frame, and how many of them win more than they lose.
    looked_at: int = 0
    won: int = 0


def analyse_group(
    group: Group, source: str | None, references: Path | None
) -> tuple[dict[str, Analysis], dict[str, str]]:
    """What a group's trackers do slot by slot, by their names, and why one is not there.

    The references are those of a source or a folder, by default those that runs name. Only a folder
    has the user's own variants.
    """
    opened: dict[str, Gold] = {}  # by what was stated
    analyses, reasons = dict[str, Analysis](), dict[str, str]()
    for system in group.systems:
        results = system.first.result
        # Headers matter only where neither a source nor references are given.
        headers = {} if source or references else results.headers
        names = [name for name in results.result.variants if not floor_of(name)]
        own = [] if references else own_variants(names)
        variants = [name for name in names if name not in own]
        stated = {name: headers.get(name, NO_HEADER) for name in variants}
        key = str({name: (of.source, of.data) for name, of in stated.items()})
        if not all(run.predictions for run in system.runs):
            reasons[system.name] = "there are no predictions beside scores.json"
            continue
        try:
            if key not in opened:
                split = None if references else system.first.split
                opened[key] = open_gold(source, split, {}, STATES, stated, references)
            analyses[system.name] = analyse(system, opened[key], variants)
            if own:
                which = f"{system.name} under {printable(', '.join(own))}"
                reasons[which] = "no source has these words; --references takes frames that do"
        except (SgdxError, ScoreError) as error:
            reasons[system.name] = str(error)
    return analyses, reasons


class Scored(NamedTuple):
    """The frames of a variant, by their ids: the states, and what each slot of a schema scores."""

    gold: Mapping[str, State]
    predicted: Mapping[str, State]
    scores: Mapping[str, list[float]]


def score_slots(data: Gold, split: str, variant: str, path: Path, results: ScoredResult) -> Scored:
    """Score a prediction file on the frames of some results."""
    rows, schemas = data.rows(variant), data.schemas(variant)
    ids = results.scores.items.ids.to_pylist()
    gold = _states(rows)
    predicted = _states(with_frame_ids(read_predictions(path, split, variant), rows))
    scores: dict[str, list[float]] = {}
    for whose, states in ((data.name, gold), (str(path), predicted)):
        if lacking := [frame_id for frame_id in ids if frame_id not in states]:
            raise SgdxError(
                f"{whose}: {len(lacking)} of {len(ids)} frames of {variant} are missing, the first "
                f"is {lacking[0]}"
            )
    judged: dict[tuple[object, ...], float] = {}  # An error stays in the state for many turns.
    for frame_id, service in zip(ids, results.scores.items.service):
        scores[frame_id] = []
        for slot in schemas[service].slots:
            right = gold[frame_id].get(slot.name, [])
            found = predicted[frame_id].get(slot.name, [])
            key = slot.is_categorical, tuple(right), tuple(found)
            if key not in judged:
                judged[key] = judge_values(right, found, slot.is_categorical, results.rules)[0]
            scores[frame_id].append(judged[key])
    return Scored(gold, predicted, scores)


def _states(rows: pa.Table) -> dict[str, State]:
    listed = zip(rows["frame_id"].to_pylist(), rows["slot_values"].to_pylist())
    return {frame_id: {item["slot"]: item["values"] for item in of} for frame_id, of in listed}


def analyse(system: System, data: Gold, variants: Sequence[str]) -> Analysis:
    """Score the prediction files of each run of a system, and find what its rewordings break.

    An error is a slot that scores less than 1 under a variant, in a frame whose slots all score 1
    under the original.
    """
    results, split = system.first.result, system.first.split
    if ORIGINAL not in variants:
        return Analysis([], [])
    # What every slot of a service is called, by the service and the variant.
    words = {
        (service, variant): [Words(slot.name, slot.description) for slot in schema.slots]
        for variant in variants
        for service, schema in data.schemas(variant).items()
    }
    items, errors = results.scores.items, list[Error]()
    # Of a choice of frames, only the dialogues that have any are drawn.
    dialogues, dialogue = np.unique(items.dialogue, return_inverse=True)
    number = dict(zip(items.ids.to_pylist(), dialogue.tolist()))
    # By service, place in its schema and variant, how often a slot is lost and won in each dialogue
    # [2, dialogues].
    changes: dict[tuple[str, int, str], Floats] = {}
    for run in system.runs:
        scored = {
            name: score_slots(data, split, name, run.predictions[name], results)
            for name in variants
        }
        for variant, reworded in scored.items():
            for frame_id, before in scored[ORIGINAL].scores.items():
                for place, (was, now) in enumerate(zip(before, reworded.scores[frame_id])):
                    if (was == 1) != (now == 1):
                        key = frame_id.rpartition("/")[2], place, variant
                        counts = changes.setdefault(key, np.zeros((2, len(dialogues))))
                        counts[int(now == 1), number[frame_id]] += 1 / len(system.runs)
        if run is system.first:
            errors = list(_errors(system.name, scored, words, items, data.turns()))
    nets = [counts[0].sum() - counts[1].sum() for counts in changes.values()]
    won = sum(net < 0 for net in nets)
    return Analysis(errors, _costly(changes, words), len(changes), won)


def _errors(
    system: str,
    by_variant: Mapping[str, Scored],
    words: Mapping[tuple[str, str], Sequence[Words]],
    items: Items,
    turns: Mapping[str, Turns],
) -> Iterator[Error]:
    """The slots that are wrong under each variant in frames that are right under the original."""
    original, seen = by_variant[ORIGINAL], dict(zip(items.ids.to_pylist(), items.seen.tolist()))
    # By dialogue the turn, the service and the values of each state.
    states = defaultdict[str, list[tuple[int, str, set[str]]]](list)
    for frame_id in original.scores:
        dialogue, turn, service = frame_id.rsplit("/", 2)
        values = {value for spoken in original.gold[frame_id].values() for value in spoken}
        states[dialogue].append((int(turn), service, values))
    for variant, scored in by_variant.items():
        for frame_id, before in original.scores.items():
            broken = [place for place, score in enumerate(scored.scores[frame_id]) if score < 1]
            if not broken or min(before) < 1:
                continue
            dialogue, turn, service = frame_id.rsplit("/", 2)
            elsewhere = {
                value
                for earlier, other, values in states[dialogue]
                if other != service and earlier <= int(turn)
                for value in values
            }
            heard = ["", *(text for _, text in turns.get(dialogue, []))]
            said = [*heard[int(turn) : int(turn) + 2], "", ""][:2]
            for place in broken:
                old, new = words[service, ORIGINAL][place], words[service, variant][place]
                of_frame = scored.gold[frame_id], scored.predicted[frame_id]
                kind = classify(new.name, *of_frame, elsewhere)
                yield Error(system, frame_id, seen[frame_id], variant, *kind, old, new, *said)


def _costly(
    changes: Mapping[tuple[str, int, str], Floats],
    words: Mapping[tuple[str, str], Sequence[Words]],
) -> list[Rewording]:
    """The slots whose new words lose more frames than they win, the costliest first."""
    if not changes:
        return []
    net = np.stack([counts[0] - counts[1] for counts in changes.values()])  # [slots, dialogues]
    chance = stand_out(net)
    rewordings = []
    for (key, counts), likely in zip(changes.items(), chance):
        lost, won = counts.sum(axis=1)
        if lost - won > 1e-9:
            service, place, variant = key
            old, new = words[service, ORIGINAL][place], words[service, variant][place]
            of_frames = float(lost), float(won), float(likely)
            rewordings.append(Rewording(service, variant, old, new, *of_frames))
    return sorted(rewordings, key=lambda r: (r.won - r.lost, -r.lost, r.service, r.variant))


def classify(
    slot: str, gold: State, predicted: State, elsewhere: set[str]
) -> tuple[str, str, str, str]:
    """The class of a slot's error, its reference, what is predicted, and the other slot if any."""
    expected, got = gold.get(slot, []), predicted.get(slot, [])
    values = expected[0] if expected else "", got[0] if got else ""
    # The value of this slot went to another one, which has no such value ...
    for other, other_got in predicted.items():
        other_expected = set(gold.get(other, []))
        if other != slot and set(other_got) & set(expected) and not set(other_got) & other_expected:
            return "wrong slot", *values, other
    # ... or this slot has the value of another one, which was not predicted there.
    for other, expected_there in gold.items():
        got_there = set(predicted.get(other, []))
        if other != slot and set(expected_there) & set(got) and not set(expected_there) & got_there:
            return "wrong slot", *values, other
    if not got:
        return "missed", *values, ""
    if got[0] in elsewhere:
        return "copied from another service", *values, ""
    return "wrong value" if expected else "invented", *values, ""


def choose_mistakes(errors: Sequence[Error], most: int) -> tuple[list[list[list[Error]]], int]:
    """Some mistakes, each a list by variant of its errors by turn, and how many there are.

    A mistake is a slot of a dialogue that is wrong under one variant or more. Systems, classes and
    services take turns, each with its longest mistake first.
    """
    mistakes: dict[tuple[str, str, str, Words], dict[str, list[Error]]] = {}
    for error in sorted(errors, key=lambda error: error.place[:2]):
        key = error.system, error.place[0], error.place[2], error.original
        mistakes.setdefault(key, {}).setdefault(error.variant, []).append(error)
    ranks: Counter[tuple[str, ...]] = Counter()
    ranked: list[tuple[int, list[list[Error]]]] = []
    for by_variant in sorted(mistakes.values(), key=lambda of: -sum(map(len, of.values()))):
        listed = sorted(by_variant.values(), key=lambda errors: errors[0].variant)
        first = listed[0][0]
        alike = first.system, first.kind, first.place[2]
        ranked.append((ranks[alike], listed))
        ranks[alike] += 1
    chosen = sorted(ranked, key=lambda pair: pair[0])[:most]
    return [listed for _, listed in chosen], len(mistakes)


def error_classes(analyses: Mapping[str, Analysis]) -> list[Table]:
    """How many slots the reworded schemas break, by class; nothing where they break none."""
    counts = [Counter(error.kind for error in of.errors) for of in analyses.values()]
    if not any(counts):
        return []
    rows = []
    for kind, meaning in CLASSES.items():
        row = [kind, meaning]
        for of_system in counts:
            total = of_system.total()
            share = percent(of_system[kind] / total, 1) if total else NO_VALUE
            row += [f"{of_system[kind]:,}", share]
        rows.append(row)
    note = (
        "An error is a slot that scores less than 1 under a reworded schema, in a frame whose "
        "slots are all right under the original one. It counts once for each frame and variant. "
        "With several seeds these are the errors of the first run."
    )
    heads = [Column(name, system) for system in analyses for name in ("errors", "%")]
    return [table("Errors by class", ["class", "which is", *heads], rows, ["which is"], note=note)]
