"""Dialogues as Arrow columns: parsed once, then named for every variant.

Variants differ from the original in names and schemas alone. So the functions here gather a level
of the dialogues into columns, names as codes, and return a function that puts the names in:
``Column``. Lists of a level are laid end to end; ``_lists`` cuts them up again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .dialogue import Action, Dialogue, Frame, ServiceCall, Span, State, Turn
from .errors import SgdxError
from .features import DIALOGUE_ROW
from .names import INTENT_ACTS, Coder, Names

Column = Callable[[Names], pa.Array]


def dialogue_columns(
    dialogues: Sequence[Dialogue], coder: Coder, path: str
) -> Callable[[Names], pa.Table]:
    """Gather dialogues into columns; the result makes a variant's table of dialogue rows.

    Raises:
        SgdxError: Naming ``path`` and the dialogue that names what its schema lacks.
    """
    try:
        return _dialogue_columns(dialogues, coder)
    except SgdxError:
        for dialogue in dialogues:  # which of them was it?
            try:
                _dialogue_columns([dialogue], coder)
            except SgdxError as error:
                raise SgdxError(f"{path}: dialogue {dialogue.dialogue_id}: {error}") from None
        raise


def _dialogue_columns(dialogues: Sequence[Dialogue], coder: Coder) -> Callable[[Names], pa.Table]:
    ids = pa.array([dialogue.dialogue_id for dialogue in dialogues], pa.string())
    services = _array([coder.services[s] for dialogue in dialogues for s in dialogue.services])
    service_offsets = _offsets(dialogue.services for dialogue in dialogues)
    for dialogue in dialogues:
        _check_frames(dialogue)
    turns = _turns([turn for dialogue in dialogues for turn in dialogue.turns], coder)
    turn_offsets = _offsets(dialogue.turns for dialogue in dialogues)

    def table(names: Names) -> pa.Table:
        columns = [
            ids,
            pa.repeat(names.variant, len(ids)),
            _lists(service_offsets, names.services.take(services)),
            _lists(service_offsets, names.schemas.take(services)),
            _lists(turn_offsets, turns(names)),
        ]
        return pa.table(columns, schema=DIALOGUE_ROW.arrow_schema)

    return table


def _check_frames(dialogue: Dialogue) -> None:
    """Rows are told apart by turn and service, and a service's schema is joined by dialogue."""
    services = set(dialogue.services)
    for index, turn in enumerate(dialogue.turns):
        framed = [frame.service for frame in turn.frames]
        if len(set(framed)) < len(framed):
            raise SgdxError(f"turn {index}: frames of {framed}, expected one frame a service")
        if not services.issuperset(framed):
            raise SgdxError(f"turn {index}: frames of {framed}, expected of {dialogue.services}")
        if turn.speaker not in ("USER", "SYSTEM"):
            raise SgdxError(f"turn {index}: speaker is {turn.speaker!r}, expected USER or SYSTEM")
        for frame in turn.frames:
            if (frame.service_call is None) != (frame.service_results is None):
                raise SgdxError(f"turn {index}: expected both service_call and service_results")


def _turns(turns: Sequence[Turn], coder: Coder) -> Column:
    speaker = pa.array([turn.speaker for turn in turns], pa.string())
    utterance = pa.array([turn.utterance for turn in turns], pa.string())
    frames = _frames([frame for turn in turns for frame in turn.frames], coder)
    offsets = _offsets(turn.frames for turn in turns)
    return lambda names: _struct(
        speaker=speaker, utterance=utterance, frames=_lists(offsets, frames(names))
    )


def _frames(frames: Sequence[Frame], coder: Coder) -> Column:
    codes = [coder.services[frame.service] for frame in frames]
    services = _array(codes)
    parts = {
        "slots": _spans([frame.slots for frame in frames], codes, coder),
        "actions": _actions([frame.actions for frame in frames], codes, coder),
        "state": _states([frame.state for frame in frames], codes, coder),
        "service_call": _calls([frame.service_call for frame in frames], codes, coder),
        "service_results": _results([f.service_results or [] for f in frames], codes, coder),
    }
    return lambda names: _struct(
        service=names.services.take(services),
        **{part: column(names) for part, column in parts.items()},
    )


def _spans(spans: Sequence[list[Span]], services: list[int], coder: Coder) -> Column:
    codes = [coder.slots[s][span.slot] for s, of in zip(services, spans) for span in of]
    start = _array([span.start for of in spans for span in of])
    end = _array([span.exclusive_end for of in spans for span in of])
    offsets, slots = _offsets(spans), _array(codes)
    return lambda names: _lists(
        offsets, _struct(slot=names.slots.take(slots), start=start, exclusive_end=end)
    )


def _actions(actions: Sequence[list[Action]], services: list[int], coder: Coder) -> Column:
    flat = [(s, action) for s, of in zip(services, actions) for action in of]
    offsets = _offsets(actions)
    act = pa.array([action.act for _, action in flat], pa.string())
    of_intents = [action.act in INTENT_ACTS and action.slot == "intent" for _, action in flat]
    slots = _array(
        [
            coder.intent_slot if of_intent else coder.action_slots[s][action.slot]
            for of_intent, (s, action) in zip(of_intents, flat)
        ]
    )
    intents = [coder.intents[s] if of else None for of, (s, _) in zip(of_intents, flat)]
    values = _action_values([action.values for _, action in flat], intents)
    canonical = _action_values([action.canonical_values for _, action in flat], intents)
    return lambda names: _lists(
        offsets,
        _struct(
            act=act,
            slot=names.slots.take(slots),
            values=values(names),
            canonical_values=canonical(names),
        ),
    )


def _action_values(values: Sequence[list[str]], intents: Sequence[dict[str, int] | None]) -> Column:
    """Actions' values, of which those that name intents (their codes are given) are renamed."""
    offsets = _offsets(values)
    flat = pa.array([value for of in values for value in of], pa.string())
    named = [codes is not None for of, codes in zip(values, intents) for _ in of]
    coded = _array([codes[value] for of, codes in zip(values, intents) if codes for value in of])
    mask = pa.array(named, pa.bool_())
    return lambda names: _lists(
        offsets, pc.replace_with_mask(flat, mask, names.intents.take(coded))
    )


def _states(states: Sequence[State | None], services: list[int], coder: Coder) -> Column:
    absent = pa.array([state is None for state in states], pa.bool_())
    some = [(s, state) for s, state in zip(services, states) if state is not None]
    intents = _scattered([coder.intents[s][state.active_intent] for s, state in some], absent)
    requested = [state.requested_slots if state else [] for state in states]
    asked = _array([coder.slots[s][x] for s, state in some for x in state.requested_slots])
    slot_values = [state.slot_values if state else {} for state in states]
    slot_codes = _array([coder.slots[s][x] for s, state in some for x in state.slot_values])
    spoken = [values for _, state in some for values in state.slot_values.values()]
    values = _lists(_offsets(spoken), pa.array([v for of in spoken for v in of], pa.string()))
    requested_offsets, offsets = _offsets(requested), _offsets(slot_values)
    return lambda names: _struct(
        absent,
        active_intent=names.intents.take(intents),
        requested_slots=_lists(requested_offsets, names.slots.take(asked)),
        slot_values=_lists(offsets, _struct(slot=names.slots.take(slot_codes), values=values)),
    )


def _calls(calls: Sequence[ServiceCall | None], services: list[int], coder: Coder) -> Column:
    absent = pa.array([call is None for call in calls], pa.bool_())
    some = [(s, call) for s, call in zip(services, calls) if call is not None]
    methods = _scattered([coder.intents[s][call.method] for s, call in some], absent)
    parameters = [call.parameters if call else {} for call in calls]
    column = _slot_value_lists(parameters, services, coder)
    return lambda names: _struct(
        absent, method=names.intents.take(methods), parameters=column(names)
    )


def _results(results: Sequence[list[dict[str, str]]], services: list[int], coder: Coder) -> Column:
    offsets = _offsets(results)
    repeated = [s for s, of in zip(services, results) for _ in of]
    column = _slot_value_lists([result for of in results for result in of], repeated, coder)
    return lambda names: _lists(offsets, column(names))


def _slot_value_lists(pairs: Sequence[dict[str, str]], services: list[int], coder: Coder) -> Column:
    slots = _array([coder.slots[s][slot] for s, of in zip(services, pairs) for slot in of])
    values = pa.array([value for of in pairs for value in of.values()], pa.string())
    offsets = _offsets(pairs)
    return lambda names: _lists(offsets, _struct(slot=names.slots.take(slots), value=values))


def _array(integers: list[int]) -> pa.Int32Array:
    return pa.array(integers, pa.int32())


def _offsets(lists: Iterable[Sized]) -> pa.Int32Array:
    lengths = np.fromiter(map(len, lists), np.int32)
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def _lists(offsets: pa.Int32Array, values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(offsets, values)


def _struct(absent: pa.BooleanArray | None = None, **fields: pa.Array) -> pa.StructArray:
    return pa.StructArray.from_arrays(list(fields.values()), list(fields), mask=absent)


def _scattered(codes: list[int], absent: pa.BooleanArray) -> pa.Int32Array:
    """``codes`` at the places that are not absent, null at the others."""
    present = pc.invert(absent)
    return pc.replace_with_mask(pa.nulls(len(absent), pa.int32()), present, _array(codes))
