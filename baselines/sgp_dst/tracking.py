"""Tracking turn by turn: what the encoders' answers and the rules make of a dialogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

import torch

from sgdx_dataset.io.progress import advance

from ..data.dialogues import Dialogue, Frame, Memory, OpenTurn, State, UserTurn, track_in_step
from ..training.batching import Ints
from .questions import Candidate, copy_candidates, cross_candidates
from .rules import (
    RULES,
    Evidence,
    FrameEvidence,
    Scored,
    Span,
    apply,
    copy_across,
    copy_within,
    join,
    settle_claims,
)
from .sequences import Sequences


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
