"""The rules that join the sub-models' answers to a frame's state, in the order of the paper.

Pure functions of what was answered and what was predicted before; nothing here knows a model.
Source: Ruan et al. 2020 (arXiv 2002.00181), section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from .dialogues import NULL, Schema, State, Values

REQUESTED, SPAN, VALUE, CROSS, COPY = 0.9, 1.0, 0.8, 0.9, 0.85  # thresholds; more than these


class Span(NamedTuple):
    """The best span in the user's utterance: characters [start, end), P(start) + P(end)."""

    start: int
    end: int
    text: str
    score: float


class Scored(NamedTuple):
    """A value and its probability."""

    value: str
    score: float


@dataclass(frozen=True)
class Evidence:
    """What the sub-models answered of a frame; slots of which there is nothing are missing.

    intent: The most likely. requested: Probabilities. spans: Of free-form slots. values: The most
    likely of null, ``dontcare`` and the slot's values; None is null. cross: The known values of
    other services. copied: The latest value that the system gave.
    """

    intent: str = NULL
    requested: dict[str, float] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)
    values: dict[str, Scored | None] = field(default_factory=dict)
    cross: dict[str, list[Scored]] = field(default_factory=dict)  # none empty
    copied: dict[str, Scored] = field(default_factory=dict)


class FrameEvidence(NamedTuple):
    """What the rules go by: the schema, the service's previous predicted state, the answers."""

    schema: Schema
    previous: State
    evidence: Evidence


@dataclass(frozen=True)
class Outcome:
    """A frame's state while it comes about; saved: what the next turns will know of it."""

    intent: str = NULL
    requested: tuple[str, ...] = ()
    values: Values = field(default_factory=dict)
    saved: State = State()  # noqa: RUF009  # immutable

    def put(self, values: dict[str, str]) -> Outcome:
        """With these values in place of what the slots had."""
        return replace(self, values=self.values | {slot: [v] for slot, v in values.items()})

    def put_unset(self, values: dict[str, str]) -> Outcome:
        """With these values where slots have none."""
        return self.put({slot: v for slot, v in values.items() if slot not in self.values})


Rule = Callable[[FrameEvidence, Outcome], Outcome]


def set_intent(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """1: the intent model's answer."""
    return replace(outcome, intent=frame.evidence.intent)


def set_requested(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """2: slots that are requested with p > 0.9."""
    asked = (slot for slot, score in frame.evidence.requested.items() if score > REQUESTED)
    return replace(outcome, requested=tuple(asked))


def carry_over(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """3: start from the same service's previous predicted state."""
    return replace(outcome, values=dict(frame.previous.values))


def put_spans(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """4: spans with P(start) + P(end) > 1; of slots that claim one string the likeliest has it."""
    claims: dict[tuple[int, int], str] = {}
    spans = {slot: span for slot, span in frame.evidence.spans.items() if span.score > SPAN}
    for slot, span in spans.items():
        other = claims.setdefault((span.start, span.end), slot)
        if span.score > spans[other].score:
            claims[span.start, span.end] = slot
    return outcome.put({slot: spans[slot].text for slot in claims.values()})


def put_values(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """5: values (``dontcare`` is one) with p > 0.8, of slots that are not requested."""
    return outcome.put(
        {
            slot: found.value
            for slot, found in frame.evidence.values.items()
            if found and found.score > VALUE and slot not in outcome.requested
        }
    )


def copy_across(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """6: another service's likeliest value with p > 0.9, where a slot is unset."""
    best = {s: max(found, key=lambda f: f.score) for s, found in frame.evidence.cross.items()}
    return outcome.put_unset({s: found.value for s, found in best.items() if found.score > CROSS})


def copy_within(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """7: the system's latest value with p > 0.85, where a slot is unset."""
    copied = frame.evidence.copied.items()
    return outcome.put_unset({slot: found.value for slot, found in copied if found.score > COPY})


def drop_untracked(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """8: drop slots that no intent requires or has among its optional ones."""
    kept = {s: values for s, values in outcome.values.items() if s in frame.schema.tracked}
    return replace(outcome, values=kept)


def save(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """9: save the state: rule 3 starts from it in the service's next turn."""
    return replace(outcome, saved=State(outcome.intent, outcome.values, outcome.requested))


RULES: tuple[Rule, ...] = (
    set_intent,
    set_requested,
    carry_over,
    put_spans,
    put_values,
    copy_across,
    copy_within,
    drop_untracked,
    save,
)


def join(frame: FrameEvidence, rules: Sequence[Rule] = RULES) -> State:
    """A frame's state."""
    outcome = Outcome()
    for rule in rules:
        outcome = rule(frame, outcome)
    return outcome.saved
