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


def join(frame: FrameEvidence) -> State:
    """The state of a frame by the nine rules of the paper, in its order."""
    evidence = frame.evidence
    # 1 and 2: the likeliest intent, and the slots that are requested with p > 0.9. 8: values of
    # slots that no intent requires or has as optional are dropped. 9: what is returned is the
    # previous state of the service's next turn.
    tracked = {s: v for s, v in values_so_far(frame).items() if s in frame.schema.tracked}
    return State(evidence.intent, tracked, _requested(evidence))


def values_so_far(frame: FrameEvidence) -> Values:
    """The values that the answers so far give a frame: rules 3 to 7."""
    evidence, requested = frame.evidence, _requested(frame.evidence)
    # 3: the values of the service's previous predicted state are carried over.
    values = dict(frame.previous.values)
    # 4: spans with P(start) + P(end) > 1 are set. ``settle_claims`` comes first and leaves a string
    # that several slots claim to the likeliest.
    values |= {s: [span.text] for s, span in evidence.spans.items() if span.score > SPAN}
    # 5: values and ``dontcare`` with p > 0.8 are set, unless the slot is requested.
    for slot, best in evidence.values.items():
        if best and best.score > VALUE and slot not in requested:
            values[slot] = [best.value]
    # 6: unset slots get the likeliest value of another service, if p > 0.9.
    for slot, candidates in evidence.cross.items():
        likeliest = max(candidates, key=lambda candidate: candidate.score)
        if likeliest.score > CROSS:
            values.setdefault(slot, [likeliest.value])
    # 7: unset slots get the system's latest value, if p > 0.85.
    for slot, copied in evidence.copied.items():
        if copied.score > COPY:
            values.setdefault(slot, [copied.value])
    return values


def _requested(evidence: Evidence) -> tuple[str, ...]:
    return tuple(slot for slot, score in evidence.requested.items() if score > REQUESTED)


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
    intents, combined = submodels.intent(queries), submodels.combine(queries)
    frames: list[FrameEvidence] = []
    by_turn = groupby(zip(queries, intents, combined, strict=True), lambda of: id(of[0].turn))
    for _, of_turn in by_turn:  # the frames of a turn are adjacent
        claims = []
        for query, intent, answers in of_turn:
            schema = query.frame.schema
            previous = query.memory.state(schema.service_name)
            claims.append(FrameEvidence(schema, previous, Evidence(intent, *answers)))
        frames += settle_claims(claims)
    # A copied value matters only for a slot that is still unset after the earlier rules.
    for across in (True, False):
        candidates_of = cross_candidates if across else copy_candidates
        lists: list[list[Candidate]] = []
        for query, frame in zip(queries, frames):
            values = values_so_far(frame)
            candidates = candidates_of(*query, frame.evidence.intent)
            lists.append([one for one in candidates if one.slot not in values])
        chances = (submodels.cross if across else submodels.copy)(queries, lists)
        for index, (of_frame, scores) in enumerate(zip(lists, chances, strict=True)):
            found: dict[str, list[Scored]] = {}
            for candidate, score in zip(of_frame, scores, strict=True):
                found.setdefault(candidate.slot, []).append(Scored(candidate.values[0], score))
            evidence = frames[index].evidence
            if across:
                evidence = replace(evidence, cross=found)
            else:
                latest = {slot: scored[-1] for slot, scored in found.items()}
                evidence = replace(evidence, copied=latest)
            frames[index] = frames[index]._replace(evidence=evidence)
    return [join(frame) for frame in frames]
