"""What rewording breaks: what is right under the original words and wrong under others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from sgdx_eval.tables import Cell, interval
from sgdx_metric.columns import Floats
from sgdx_metric.statistics import RESAMPLES, drawn, middle, with_replacement
from sgdx_metric.variants import ORIGINAL

from .scores import Element, Gold, RunScores, Singles, Words, values_elsewhere

MISSED, WRONG_VALUE, WRONG_SLOT, INVENTED, INTENT, COPIED = CLASSES = (
    "missed",
    "wrong value",
    "wrong slot",
    "invented",
    "intent",
    "copied from another service",
)
SLOT_CLASSES = tuple(kind for kind in CLASSES if kind != INTENT)  # those that JGA counts
MEANINGS = {
    MISSED: "the slot has a value and none is predicted",
    WRONG_VALUE: "another value is predicted for the slot",
    WRONG_SLOT: "the value is predicted for another slot, or another slot's value for this one",
    INVENTED: "the slot has no value and one is predicted",
    INTENT: "another active intent is predicted",
    COPIED: "the value that is predicted is one of another service's state in the dialogue",
}
_State = dict[str, list[str]]  # the values of each slot


class Error(msgspec.Struct, frozen=True, rename={"kind": "class"}):
    """One slot or intent of a frame that is right under the original and wrong under a variant."""

    system: str
    frame_id: str
    # Whether the service is in the original train split.
    seen: bool
    variant: str
    # One of CLASSES.
    kind: str
    counts_in_jga: bool
    original: Words
    reworded: Words
    # The values under the variant; empty for none. Of a reference this is the first spoken variant.
    reference: str
    predicted: str
    # For a wrong slot, the name of the other slot under the variant.
    other_slot: str
    # The system's turn before the user's turn, and that turn; empty where they are not at hand.
    system_utterance: str
    user_utterance: str

    @property
    def place(self) -> tuple[str, int, str]:
        """The dialogue's id, the index of the turn, and the original name of the service."""
        dialogue_id, turn, service = self.frame_id.rsplit("/", 2)
        return dialogue_id, int(turn), service


@dataclass(frozen=True)
class Analysis:
    """What a system does slot by slot."""

    gold: Gold
    runs: Sequence[RunScores]
    # What breaks in the first run.
    errors: Sequence[Error]


# What the systems of a group do, by the system's name; a system whose predictions or data are not
# at hand is not there.
Analyses = Mapping[str, Analysis]


def analyse(system: str, predictions: Sequence[Mapping[str, Path]], gold: Gold) -> Analysis:
    """Score the prediction files of each run of a system, and find what its rewordings break."""
    runs: list[RunScores] = []
    errors: list[Error] = []
    for paths in predictions:
        scores: dict[str, Singles] = {}
        for variant in gold.variants:
            predicted, scores[variant] = gold.score(variant, paths[variant])
            if not runs and variant != ORIGINAL and ORIGINAL in scores:
                errors += find_errors(system, gold, scores, variant, predicted)
        runs.append(scores)
    return Analysis(gold, runs, errors)


def find_errors(
    system: str, gold: Gold, scores: RunScores, variant: str, predicted: pa.Table
) -> Iterator[Error]:
    """What a variant breaks, given the predictions under it, frame by frame.

    A slot counts where all slots of its frame score 1 under the original and it scores less under
    the variant. An intent counts where it is right under the original and wrong under the variant.
    """
    before, after = scores[ORIGINAL], scores[variant]
    wrong_slots = np.bincount(gold.frame, ~gold.is_intent & (before < 1))  # [frames]
    was_right = np.where(gold.is_intent, before == 1, wrong_slots[gold.frame] == 0)
    broken = np.flatnonzero(was_right & (after < 1))
    broken = broken[np.argsort(gold.frame[broken], kind="stable")]  # the intent of a frame first
    frames, row = np.unique(gold.frame[broken], return_inverse=True)
    columns = ["active_intent", "slot_values"]
    references, predictions = (
        table.select(columns).take(frames).to_pylist()
        for table in (gold.rows(variant).table, predicted)
    )
    for answer, at in zip(broken.tolist(), row.tolist()):
        frame = int(gold.frame[answer])
        frame_id = gold.frames.ids[frame].as_py()
        dialogue_id, turn, service = frame_id.rsplit("/", 2)
        element = gold.elements[gold.element[answer]]
        words = gold.words(element, variant)
        if element.is_intent:
            right, wrong = (rows[at]["active_intent"] for rows in (references, predictions))
            details = INTENT, right, wrong, ""
        else:
            elsewhere = values_elsewhere(gold.states[dialogue_id], service, int(turn) + 1)
            states = _state(references[at]), _state(predictions[at])
            details = classify(words.name, *states, elsewhere)
        texts = ["", *(text for _, text in gold.turns.get(dialogue_id, []))]
        yield Error(
            system,
            frame_id,
            bool(gold.frames.seen[frame]),
            variant,
            details[0],
            details[0] != INTENT,
            gold.words(element, ORIGINAL),
            words,
            *details[1:],
            *([*texts[int(turn) : int(turn) + 2], "", ""][:2]),
        )


def _state(row: Mapping[str, Any]) -> _State:
    return {item["slot"]: item["values"] for item in row["slot_values"]}


def classify(
    slot: str, gold: _State, predicted: _State, elsewhere: set[str]
) -> tuple[str, str, str, str]:
    """The class of a slot's error, its reference, what is predicted, and the other slot if any."""
    expected, got = gold.get(slot, []), predicted.get(slot, [])
    values = expected[0] if expected else "", got[0] if got else ""
    # The value of this slot went to another one, which has no such value ...
    for other, other_got in predicted.items():
        other_expected = set(gold.get(other, []))
        if other != slot and set(other_got) & set(expected) and not set(other_got) & other_expected:
            return WRONG_SLOT, *values, other
    # ... or this slot has the value of another one, which was not predicted there.
    for other, expected_there in gold.items():
        got_there = set(predicted.get(other, []))
        if other != slot and set(expected_there) & set(got) and not set(expected_there) & got_there:
            return WRONG_SLOT, *values, other
    if not got:
        return MISSED, *values, ""
    if got[0] in elsewhere:
        return COPIED, *values, ""
    return (WRONG_VALUE if expected else INVENTED), *values, ""


class Mistake(NamedTuple):
    """A slot or intent of a dialogue that rewording breaks, in one turn or more."""

    # The first error under any variant, and the errors under each variant that has any, by turn.
    first: Error
    variants: Sequence[Sequence[Error]]

    @property
    def reference(self) -> str:
        """What is right, in the original words; empty for nothing."""
        return self.first.original.name if self.first.kind == INTENT else self.first.reference


def find_mistakes(errors: Sequence[Error]) -> list[Mistake]:
    """The errors of a system put together, in the order of dialogues and turns."""
    # By dialogue, service, the slot or intent, and which of the two it is.
    alike: dict[tuple[str, str, Words, bool], dict[str, list[Error]]] = {}
    for error in errors:
        dialogue_id, _, service = error.place
        key = dialogue_id, service, error.original, error.kind == INTENT
        alike.setdefault(key, {}).setdefault(error.variant, []).append(error)
    mistakes = []
    for by_variant in alike.values():
        variants = [sorted(of_variant, key=_turn) for of_variant in by_variant.values()]
        mistakes.append(Mistake(min((errors[0] for errors in variants), key=_turn), variants))
    return sorted(mistakes, key=lambda mistake: mistake.first.place[:2])


def _turn(error: Error) -> int:
    return error.place[1]


def choose_mistakes(mistakes: Sequence[Mistake], count: int) -> list[Mistake]:
    """Choose so that systems, classes, services and slots have their share, longest ones first.

    They are dialogue by dialogue, the dialogues by what was chosen first.
    """
    # How many of its slot, service, class and system come before each.
    before: list[tuple[list[int], Mistake]] = []
    counts: Counter[tuple[str, ...]] = Counter()
    for mistake in sorted(mistakes, key=lambda m: -sum(map(len, m.variants))):
        first = mistake.first
        key = first.system, mistake.variants[0][0].kind, first.place[2], first.original.name
        of_key = [key[:n] for n in (4, 3, 2, 1)]
        before.append(([counts[part] for part in of_key], mistake))
        counts.update(of_key)
    by_dialogue: dict[str, list[Mistake]] = {}
    for _, mistake in sorted(before, key=lambda pair: pair[0])[:count]:
        by_dialogue.setdefault(mistake.first.place[0], []).append(mistake)
    return [
        mistake
        for of_dialogue in by_dialogue.values()
        for mistake in sorted(of_dialogue, key=lambda mistake: _turn(mistake.first))
    ]


class Rewording(NamedTuple):
    """What the new words of one slot or intent cost under one variant."""

    element: Element
    variant: str
    # The name and description under the original and under the variant.
    before: Words
    after: Words
    # Frames in which it is right under the original and wrong under the variant, and in which it
    # is the other way round; means over the runs.
    lost: float
    won: float
    # The 95 % interval of the frames lost less those won, over dialogues.
    interval: tuple[float, float] | None = None

    @property
    def net(self) -> float:
        """Frames lost less frames won."""
        return self.lost - self.won

    def net_cell(self) -> Cell:
        """The net loss with its interval."""
        return Cell(format_count(self.net), interval(self.interval, "{:,.0f}".format))


def format_count(value: float) -> str:
    """A number of frames, with one decimal where it is a mean that is no whole number."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def lost_and_won(gold: Gold, scores: RunScores, variant: str) -> Floats:
    """How many frames each slot and intent loses, and wins, under a variant [2, elements]."""
    before, after = scores[ORIGINAL] == 1, scores[variant] == 1
    changed = before & ~after, after & ~before
    counts = [
        np.bincount(gold.element[answers], minlength=len(gold.elements)) for answers in changed
    ]
    return np.array(counts, dtype=np.float64)


def costliest_rewordings(analysis: Analysis) -> list[Rewording]:
    """The rewordings with more frames lost than won, by that difference; intervals not yet."""
    gold = analysis.gold
    rewordings = []
    for variant in gold.variants[1:] if ORIGINAL in gold.variants else ():
        lost, won = np.mean([lost_and_won(gold, run, variant) for run in analysis.runs], axis=0)
        for i in np.flatnonzero(lost > won).tolist():
            element = gold.elements[i]
            if element.position >= 0:
                before, after = (gold.words(element, name) for name in (ORIGINAL, variant))
                rewordings.append(Rewording(element, variant, before, after, lost[i], won[i]))
    return sorted(rewordings, key=_costliest_first)


def _costliest_first(r: Rewording) -> tuple[Any, ...]:
    return -r.net, -r.lost, r.element.service, r.variant, r.element.position, r.element.is_intent


def with_intervals(analysis: Analysis, rewordings: Sequence[Rewording]) -> list[Rewording]:
    """The same rewordings with their intervals, which come from one bootstrap."""
    if not rewordings:
        return []
    gold = analysis.gold
    # Of a choice of frames, only the dialogues that have any are drawn.
    dialogues, dialogue = np.unique(gold.frames.dialogue, return_inverse=True)
    by_dialogue = []
    for rewording in rewordings:
        answers = np.flatnonzero(gold.element == gold.elements.index(rewording.element))
        # What is lost in each frame less what is won there: 1, 0 or -1, a mean over the runs.
        net = np.mean(
            [
                (run[ORIGINAL][answers] == 1) * 1.0 - (run[rewording.variant][answers] == 1)
                for run in analysis.runs
            ],
            axis=0,
        )
        by_dialogue.append(np.bincount(dialogue[gold.frame[answers]], net, len(dialogues)))
    nets = np.stack(by_dialogue, axis=1)  # [dialogues, rewordings]
    names = list(map(str, range(len(rewordings))))
    draws = drawn(with_replacement, len(dialogues), RESAMPLES)
    sums = np.concatenate([weights @ nets for weights in draws])  # [draws, rewordings]
    intervals = {name: middle(of_one) for name, of_one in zip(names, sums.T)}
    return [
        r._replace(interval=(ends[0], ends[1])) if (ends := intervals.get(name)) else r
        for name, r in zip(names, rewordings, strict=True)
    ]
