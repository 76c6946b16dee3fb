"""The rules that combine the submodels' answers into a state, and tracking turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple

import torch

from sgdx_dataset.io.progress import advance
from sgdx_dataset.schema import NONE_INTENT, Service

from ..batching import Ints
from ..data.dialogues import (
    Dialogue,
    Frame,
    Memory,
    OpenTurn,
    State,
    UserTurn,
    Values,
    track_in_step,
)
from .data import Sequences
from .questions import Candidate, copy_candidates, cross_candidates

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


class Answer(NamedTuple):
    """The answer of a submodel to a question."""

    number: int  # of the most likely class, from 0
    score: float  # probability of this class
    yes: float  # probability of class 1, which is "yes" in a question with two classes
    requested: float = 0.0  # probability that the slot is requested; only from ``combine``
    span: Span | None = None  # the best one, only from ``combine``; None for an empty utterance


def decode(answers: Any, sequences: Sequences, batch: Ints) -> list[Answer]:
    """Decode the answers to a batch of questions."""
    probabilities = answers.logits.softmax(-1)
    scores, numbers = probabilities.max(-1)
    columns = [numbers.tolist(), scores.tolist(), probabilities[:, 1].tolist()]
    if answers.start is not None:
        columns.append(answers.requested.softmax(-1)[:, 1].tolist())
        columns.append(_spans(answers, sequences, batch))
    return [Answer(*row) for row in zip(*columns)]


def _spans(answers: Any, sequences: Sequences, batch: Ints) -> list[Span | None]:
    """The best span for each question; None where the user's utterance is empty."""
    user = torch.tensor([sequences.user(index) for index in batch.tolist()])
    user = user.to(answers.start.device)
    best = best_spans(answers.start.softmax(-1), answers.end.softmax(-1), user)
    spans: list[Span | None] = []
    for index, first, last, score in zip(batch.tolist(), *(column.tolist() for column in best)):
        if score == -torch.inf:
            spans.append(None)  # the user's utterance is empty
            continue
        start, end = sequences.characters(index, first, last)
        text = sequences.text(index)[start:end]
        spans.append(Span(start, end, text, score))
    return spans


def best_spans(
    start: torch.Tensor, end: torch.Tensor, user: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """First token, last token and P(start) + P(end) of the likeliest spans, [sequences] each."""
    # The probabilities are [sequences, tokens], ``user`` the tokens [begin, end) of the utterance
    # [sequences, 2]. The sum is -inf where the utterance is empty.
    tokens = torch.arange(start.shape[1], device=start.device)
    outside = (tokens < user[:, :1]) | (tokens >= user[:, 1:])
    # The running maximum gives each token the best start up to it, so one pass tries all ends.
    begun, first = start.masked_fill(outside, -torch.inf).cummax(1)
    score, last = (begun + end.masked_fill(outside, -torch.inf)).max(1)
    return first.gather(1, last[:, None])[:, 0], last, score


class FrameQuery(NamedTuple):
    """A frame whose state is to be predicted."""

    memory: Memory
    turn: UserTurn
    frame: Frame


class CombineAnswers(NamedTuple):
    """The answers of ``combine`` for a frame, as they are explained at ``rules.Evidence``."""

    requested: dict[str, float]
    spans: dict[str, Span]
    values: dict[str, Scored | None]


Queries = Sequence[FrameQuery]
Candidates = Sequence[Sequence[Candidate]]


class Submodels(NamedTuple):
    """The four submodels as functions of frames that do not depend on each other."""

    intent: Callable[[Queries], list[str]]
    combine: Callable[[Queries], list[CombineAnswers]]
    # The probability that each candidate of a frame is copied, in [0, 1]: ``copy`` is for those of
    # the frame's own service, ``cross`` for those of others.
    copy: Callable[[Queries, Candidates], list[list[float]]]
    cross: Callable[[Queries, Candidates], list[list[float]]]


def track_dialogues(submodels: Submodels, dialogues: Sequence[Dialogue]) -> list[list[State]]:
    """Predict the state of every frame of several dialogues, without any gold states."""

    def predict(turns: Sequence[OpenTurn]) -> list[State]:
        queries: list[FrameQuery] = []
        for memory, so_far in turns:
            memory.add_system_turn(so_far[-1].acts)
            queries += [FrameQuery(memory, so_far[-1], frame) for frame in so_far[-1].frames]
        states = predict_states(submodels, queries)
        advance(len(states))
        return states

    return track_in_step(dialogues, predict)


def predict_states(submodels: Submodels, queries: Queries) -> list[State]:
    """Predict the states of frames that do not depend on each other."""
    # A copied value matters only for a slot that is still unset after the earlier rules.
    frames = _first_evidence(submodels, queries)
    for rule, candidates, ask in (
        (copy_across, cross_candidates, submodels.cross),
        (copy_within, copy_candidates, submodels.copy),
    ):
        before = RULES[: RULES.index(rule)]
        lists: list[list[Candidate]] = []
        for query, frame in zip(queries, frames):
            values = apply(frame, before).values
            in_frame = candidates(*query, frame.evidence.intent)
            lists.append([candidate for candidate in in_frame if candidate.slot not in values])
        answers = ask(queries, lists)
        frames = [
            _with_copies(frame, rule is copy_across, of_frame, scores)
            for frame, of_frame, scores in zip(frames, lists, answers, strict=True)
        ]
    return [join(frame) for frame in frames]


def _first_evidence(submodels: Submodels, queries: Queries) -> list[FrameEvidence]:
    """The evidence of ``intent`` and ``combine``; no two frames of a turn claim one string."""
    intents, combined = submodels.intent(queries), submodels.combine(queries)
    frames: list[FrameEvidence] = []
    for query, intent, answers in zip(queries, intents, combined, strict=True):
        schema = query.frame.schema
        previous = query.memory.state(schema.service_name)
        frames.append(FrameEvidence(schema, previous, Evidence(intent, *answers)))
    # The frames of a turn are adjacent.
    settled: list[FrameEvidence] = []
    for _, turn in groupby(zip(queries, frames), lambda pair: id(pair[0].turn)):
        settled += settle_claims([frame for _, frame in turn])
    return settled


def _with_copies(
    frame: FrameEvidence, across: bool, candidates: Sequence[Candidate], scores: Sequence[float]
) -> FrameEvidence:
    """The evidence of a frame, with candidates for copying and their probabilities added."""
    by_slot: dict[str, list[Scored]] = {}
    for candidate, score in zip(candidates, scores, strict=True):
        by_slot.setdefault(candidate.slot, []).append(Scored(candidate.values[0], score))
    if across:
        evidence = replace(frame.evidence, cross=by_slot)
    else:
        latest = {slot: values[-1] for slot, values in by_slot.items()}
        evidence = replace(frame.evidence, copied=latest)
    return frame._replace(evidence=evidence)
