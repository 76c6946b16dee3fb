"""A teacher for each submodel: it answers from the gold state, to measure what a model costs.

With four teachers the rules reach their upper bound. With one teacher replaced by a trained
submodel, the difference is that submodel's. Teachers read gold frames and are for diagnosis alone,
never for prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from sgdx_dataset.schema import DONTCARE

from ..data.dialogues import Dialogue, Frame, Memory, State, UserTurn, Values
from .examples import is_from_elsewhere, new_values, turns_with_memory, unspoken_values
from .questions import Candidate, text_of
from .rules import Scored, Span
from .tracking import Candidates, CombineAnswers, Queries, Submodels


class GoldAnswers(NamedTuple):
    """The right answers about a frame.

    Attributes:
        state: The gold state.
        combine: What ``combine`` should answer.
        new: The values that are new in the turn, by slot.
        unspoken: The wordings of new values that come from another service, by slot.
    """

    state: State
    combine: CombineAnswers
    new: Values
    unspoken: dict[str, set[str]]


def gold_submodels(dialogues: Iterable[Dialogue]) -> Submodels:
    """Four submodels that answer from the gold state.

    Args:
        dialogues: The dialogues to track, with gold annotations. A value is new in a turn if the
            gold state before lacks it, so the teachers do not mend an earlier error of a model.
    """
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
    assert frame.gold is not None  # noqa: S101  # the rows of a diagnosis have the gold columns
    schema, new, before = frame.schema, new_values(memory, frame), text_of(turn).user
    spans = {
        slot: Span(start + before, end + before, turn.user[start:end], 2.0)
        for slot, (start, end) in frame.gold.spans.items()
        if not schema.slot(slot).is_categorical
    }
    values: dict[str, Scored | None] = {
        slot: Scored(wordings[0], 1.0)
        for slot, wordings in new.items()
        if (schema.slot(slot).is_categorical or DONTCARE in wordings)
        and not is_from_elsewhere(memory, turn, frame, slot, wordings)
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
