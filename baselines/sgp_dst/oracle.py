"""Submodels that know the gold state, to see what each real submodel costs.

With all four of them the rules reach their upper bound; with one of them replaced by a model, the
difference is the model's. They read gold frames and are for diagnosis alone, never for prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from sgdx_dataset.schema import DONTCARE

from ..data.dialogues import Dialogue, Frame, Memory, State, UserTurn, Values
from .examples import from_elsewhere, new_values, taken_across, walk
from .questions import Candidate, text_of
from .rules import Scored, Span
from .tracking import Candidates, Queries, Said, Submodels


class Right(NamedTuple):
    """The right answers about a frame.

    Attributes:
        state: The gold state.
        said: What ``combine`` should answer.
        new: The values that are new in the turn.
        taken: The wordings of values that come from another service, by slot.
    """

    state: State
    said: Said
    new: Values
    taken: dict[str, set[str]]


def oracle(dialogues: Iterable[Dialogue]) -> Submodels:
    """The submodels that answer right.

    Args:
        dialogues: The dialogues to track, with gold annotations. What is new in a turn
            is new beside the gold state before it, so that no error of a model is mended later.
    """
    right: dict[tuple[int, str], Right] = {}
    for dialogue in dialogues:
        for memory, turn in walk(dialogue):
            for frame in turn.frames:
                right[_key(frame)] = _right(memory, turn, frame)

    def of(queries: Queries) -> list[Right]:
        return [right[_key(query.frame)] for query in queries]

    return Submodels(
        lambda queries: [each.state.intent for each in of(queries)],
        lambda queries: [each.said for each in of(queries)],
        lambda queries, candidates: _scores(of(queries), candidates, _is_new),
        lambda queries, candidates: _scores(of(queries), candidates, _is_taken),
    )


def _key(frame: Frame) -> tuple[int, str]:
    """What tells a frame from all others; each variant has schema objects of its own."""
    return id(frame.schema), frame.frame_id


def _right(memory: Memory, turn: UserTurn, frame: Frame) -> Right:
    assert frame.gold is not None  # noqa: S101  # the rows of a diagnosis have the gold columns
    schema, new, before = frame.schema, new_values(memory, frame), text_of(turn).user
    spans = {
        slot: Span(start + before, end + before, turn.user[start:end], 2.0)
        for slot, (start, end) in frame.gold.spans.items()
        if not schema.slot(slot).is_categorical
    }
    values: dict[str, Scored | None] = {
        slot: Scored(found[0], 1.0)
        for slot, found in new.items()
        if (schema.slot(slot).is_categorical or DONTCARE in found)
        and not from_elsewhere(memory, turn, frame, slot, found)
    }
    requested = dict.fromkeys(frame.gold.state.requested, 1.0)
    said = Said(requested, spans, values)
    return Right(frame.gold.state, said, new, taken_across(memory, turn, frame))


def _is_new(right: Right, candidate: Candidate) -> bool:
    return candidate.values[0] in right.new.get(candidate.slot, ())


def _is_taken(right: Right, candidate: Candidate) -> bool:
    return not right.taken.get(candidate.slot, set()).isdisjoint(candidate.values)


def _scores(
    right: list[Right], candidates: Candidates, is_right: Callable[[Right, Candidate], bool]
) -> list[list[float]]:
    return [
        [float(is_right(of_frame, candidate)) for candidate in each]
        for of_frame, each in zip(right, candidates, strict=True)
    ]
