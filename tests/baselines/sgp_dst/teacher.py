"""A teacher for each submodel of SGP-DST, which answers from the gold state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from baselines.data.dialogues import Dialogue, Frame, Memory, State, UserTurn, Values
from baselines.sgp_dst.data import is_from_elsewhere, new_values, turns_with_memory, unspoken_values
from baselines.sgp_dst.questions import Candidate, text_of
from baselines.sgp_dst.rules import Candidates, CombineAnswers, Queries, Scored, Span, Submodels
from sgdx_dataset.schema import DONTCARE


class GoldAnswers(NamedTuple):
    """The right answers about a frame."""

    state: State
    combine: CombineAnswers
    new: Values  # the values that are new in the turn, by slot
    unspoken: dict[str, set[str]]  # variants of new values that come from another service, by slot


def gold_submodels(dialogues: Iterable[Dialogue]) -> Submodels:
    """Four submodels that answer from the gold states of dialogues."""
    answers: dict[tuple[int, str], GoldAnswers] = {}
    for dialogue in dialogues:
        for memory, turn in turns_with_memory(dialogue):
            for frame in turn.frames:
                answers[_key(frame)] = _gold_answers(memory, turn, frame)

    def lookup(queries: Queries) -> list[GoldAnswers]:
        return [answers[_key(query.frame)] for query in queries]

    return Submodels(
        lambda queries: [gold.state.intent for gold in lookup(queries)],
        lambda queries: [gold.combine for gold in lookup(queries)],
        lambda queries, candidates: _scores(lookup(queries), candidates, _is_new),
        lambda queries, candidates: _scores(lookup(queries), candidates, _is_unspoken),
    )


def _key(frame: Frame) -> tuple[int, str]:
    """What tells a frame from all others; each variant has schema objects of its own."""
    return id(frame.schema), frame.frame_id


def _gold_answers(memory: Memory, turn: UserTurn, frame: Frame) -> GoldAnswers:
    assert frame.gold is not None
    schema, new, before = frame.schema, new_values(memory, frame), text_of(turn).user
    spans = {
        slot: Span(start + before, end + before, turn.user[start:end], 2.0)
        for slot, [*_, (start, end)] in frame.gold.spans.items()
        if not schema.slot(slot).is_categorical
    }
    values: dict[str, Scored | None] = {
        slot: Scored(variants[0], 1.0)
        for slot, variants in new.items()
        if (schema.slot(slot).is_categorical or DONTCARE in variants)
        and not is_from_elsewhere(memory, turn, frame, slot, variants)
    }
    requested = dict.fromkeys(frame.gold.state.requested, 1.0)
    combine = CombineAnswers(requested, spans, values)
    return GoldAnswers(frame.gold.state, combine, new, unspoken_values(memory, turn, frame))


def _is_new(gold: GoldAnswers, candidate: Candidate) -> bool:
    return candidate.values[0] in gold.new.get(candidate.slot, ())


def _is_unspoken(gold: GoldAnswers, candidate: Candidate) -> bool:
    return not gold.unspoken.get(candidate.slot, set()).isdisjoint(candidate.values)


def _scores(
    answers: list[GoldAnswers],
    candidates: Candidates,
    is_copied: Callable[[GoldAnswers, Candidate], bool],
) -> list[list[float]]:
    """Probability 1 for each candidate that is copied, 0 for the others; a list for each frame."""
    return [
        [float(is_copied(gold, candidate)) for candidate in of_frame]
        for gold, of_frame in zip(answers, candidates, strict=True)
    ]
