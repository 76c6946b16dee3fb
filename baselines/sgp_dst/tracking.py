"""Tracking of dialogues: the submodels are asked, and the rules make states of their answers.

The submodels are functions here, so that a test or a diagnosis can replace them, such as by ones
that answer from the gold state (``teacher``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from sgdx_dataset.io.progress import advance

from ..data.dialogues import Dialogue, Frame, Memory, OpenTurn, State, UserTurn, track_in_step
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
        for memory, _, so_far in turns:
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
