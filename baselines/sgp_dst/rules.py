"""The rules that combine the submodels' answers into the state of a frame, in the paper's order.

A rule is a pure function of the answers and the service's previous state; it needs no model.
Source: Ruan et al. 2020 (arXiv 2002.00181), section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sgdx_dataset.schema import NONE_INTENT, Service

from ..data.dialogues import State, Values

# Thresholds that the score of an answer must exceed.
REQUESTED, SPAN, VALUE, CROSS, COPY = 0.9, 1.0, 0.8, 0.9, 0.85


class Span(NamedTuple):
    """The best span for a slot in the user's utterance."""

    start: int  # first character in the turn's text
    end: int  # character after the last one
    text: str
    score: float  # P(start) + P(end)


class Scored(NamedTuple):
    """A value and its probability in [0, 1]."""

    value: str
    score: float


@dataclass(frozen=True)
class Evidence:
    """The answers of the submodels for a frame; the keys of all dictionaries are names of slots."""

    intent: str = NONE_INTENT
    requested: dict[str, float] = field(default_factory=dict)  # its probability
    spans: dict[str, Span] = field(default_factory=dict)  # the best span for each free-form slot
    # The most likely of the possible values and ``dontcare``, or None for no value.
    values: dict[str, Scored | None] = field(default_factory=dict)
    cross: dict[str, list[Scored]] = field(default_factory=dict)  # of other services; never empty
    copied: dict[str, Scored] = field(default_factory=dict)  # the system's latest value


class FrameEvidence(NamedTuple):
    """The input of the rules."""

    schema: Service
    previous: State  # predicted, of the service after its previous user turn
    evidence: Evidence


@dataclass(frozen=True)
class Outcome:
    """The state of a frame while the rules are applied."""

    intent: str = NONE_INTENT
    requested: tuple[str, ...] = ()
    values: Values = field(default_factory=dict)  # that are set so far
    # The final state, which the service's next turn starts from.
    saved: State = State()  # noqa: RUF009  # immutable

    def replace_values(self, values: dict[str, str]) -> Outcome:
        """A copy with other values for some slots."""
        return replace(self, values=self.values | {slot: [v] for slot, v in values.items()})

    def fill_unset(self, values: dict[str, str]) -> Outcome:
        """A copy with values for those of the slots that have none yet."""
        return self.replace_values(
            {slot: v for slot, v in values.items() if slot not in self.values}
        )


Rule = Callable[[FrameEvidence, Outcome], Outcome]


def set_intent(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """Rule 1: take the most likely intent."""
    return replace(outcome, intent=frame.evidence.intent)


def set_requested(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """Rule 2: take the slots that are requested with p > 0.9."""
    asked = (slot for slot, score in frame.evidence.requested.items() if score > REQUESTED)
    return replace(outcome, requested=tuple(asked))


def carry_over(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """Rule 3: start from the values of the service's previous predicted state."""
    return replace(outcome, values=dict(frame.previous.values))


def put_spans(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """Rule 4: set spans with P(start) + P(end) > 1."""
    # ``settle_claims`` comes first and leaves a string that several slots claim to the likeliest.
    spans = frame.evidence.spans.items()
    return outcome.replace_values({slot: span.text for slot, span in spans if span.score > SPAN})


def put_values(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """Rule 5: set values and ``dontcare`` with p > 0.8, unless the slot is requested."""
    return outcome.replace_values(
        {
            slot: best.value
            for slot, best in frame.evidence.values.items()
            if best and best.score > VALUE and slot not in outcome.requested
        }
    )


def copy_across(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """Rule 6: fill unset slots with the likeliest value of another service, if p > 0.9."""
    cross = frame.evidence.cross.items()
    best = {slot: max(values, key=lambda value: value.score) for slot, values in cross}
    return outcome.fill_unset({slot: v.value for slot, v in best.items() if v.score > CROSS})


def copy_within(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """Rule 7: fill unset slots with the system's latest value, if p > 0.85."""
    copied = frame.evidence.copied.items()
    return outcome.fill_unset({slot: value.value for slot, value in copied if value.score > COPY})


def drop_untracked(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """Rule 8: drop slots that no intent requires or has as optional."""
    tracked = {s: values for s, values in outcome.values.items() if s in frame.schema.tracked}
    return replace(outcome, values=tracked)


def save(frame: FrameEvidence, outcome: Outcome) -> Outcome:
    """Rule 9: save the state, from which rule 3 starts in the service's next turn."""
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


def settle_claims(frames: Sequence[FrameEvidence]) -> list[FrameEvidence]:
    """Leave each string to the slot, of any frame of a turn, that claims it most likely."""
    best: dict[str, Span] = {}
    for frame in frames:
        for span in frame.evidence.spans.values():
            if span.text not in best or span.score > best[span.text].score:
                best[span.text] = span
    settled = []
    for frame in frames:
        spans = {s: span for s, span in frame.evidence.spans.items() if span is best[span.text]}
        settled.append(frame._replace(evidence=replace(frame.evidence, spans=spans)))
    return settled


def apply(frame: FrameEvidence, rules: Sequence[Rule]) -> Outcome:
    """Apply rules in order."""
    outcome = Outcome()
    for rule in rules:
        outcome = rule(frame, outcome)
    return outcome


def join(frame: FrameEvidence, rules: Sequence[Rule] = RULES) -> State:
    """Apply the rules in order; returns the predicted state of the frame."""
    return apply(frame, rules).saved
