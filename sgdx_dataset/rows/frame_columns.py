"""The frames of many turns as an Arrow column: spans, actions, states, calls and results.

Each function gathers a part of the frames, with codes in place of names, and returns a function
that puts a variant's names in: a ``Column``. ``services`` is each frame's service as a code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ..release.dialogue import Action, Frame, ServiceCall, Span, State
from .arrays import code_array, list_array, offsets_of, scattered, struct_array
from .name_codes import INTENT_ACTS, Coder, Names

Column = Callable[[Names], pa.Array]


def frame_column(frames: Sequence[Frame], coder: Coder) -> Column:
    """Gather frames, laid end to end, into a column of records (``FRAME``)."""
    codes = [coder.services[frame.service] for frame in frames]
    services = code_array(codes)
    parts = {
        "slots": spans_column([frame.slots for frame in frames], codes, coder),
        "actions": _actions([frame.actions for frame in frames], codes, coder),
        "state": states_column([frame.state for frame in frames], codes, coder),
        "service_call": _calls([frame.service_call for frame in frames], codes, coder),
        "service_results": _results([frame.service_results for frame in frames], codes, coder),
    }
    return lambda names: struct_array(
        service=names.services.take(services),
        **{part: column(names) for part, column in parts.items()},
    )


def spans_column(spans: Sequence[list[Span]], services: list[int], coder: Coder) -> Column:
    """Gather the spans of frames."""
    codes = [
        coder.slots[s][span.slot] for s, frame_spans in zip(services, spans) for span in frame_spans
    ]
    start = code_array([span.start for frame_spans in spans for span in frame_spans])
    end = code_array([span.exclusive_end for frame_spans in spans for span in frame_spans])
    offsets, slots = offsets_of(spans), code_array(codes)
    return lambda names: list_array(
        offsets, struct_array(slot=names.slots.take(slots), start=start, exclusive_end=end)
    )


def _actions(actions: Sequence[list[Action]], services: list[int], coder: Coder) -> Column:
    flat = [(s, action) for s, frame_actions in zip(services, actions) for action in frame_actions]
    offsets = offsets_of(actions)
    act = pa.array([action.act for _, action in flat], pa.string())
    are_intents = [action.act in INTENT_ACTS and action.slot == "intent" for _, action in flat]
    slots = code_array(
        [
            coder.intent_slot if is_intent else coder.action_slots[s][action.slot]
            for is_intent, (s, action) in zip(are_intents, flat)
        ]
    )
    intents = [
        coder.intents[s] if is_intent else None for is_intent, (s, _) in zip(are_intents, flat)
    ]
    values = _action_values([action.values for _, action in flat], intents)
    canonical = _action_values([action.canonical_values for _, action in flat], intents)
    return lambda names: list_array(
        offsets,
        struct_array(
            act=act,
            slot=names.slots.take(slots),
            values=values(names),
            canonical_values=canonical(names),
        ),
    )


def _action_values(values: Sequence[list[str]], intents: Sequence[dict[str, int] | None]) -> Column:
    """The values of actions."""
    offsets = offsets_of(values)
    flat = pa.array([value for action_values in values for value in action_values], pa.string())
    named = [
        codes is not None for action_values, codes in zip(values, intents) for _ in action_values
    ]
    coded = code_array(
        [
            codes[value]
            for action_values, codes in zip(values, intents)
            if codes
            for value in action_values
        ]
    )
    mask = pa.array(named, pa.bool_())
    return lambda names: list_array(
        offsets, pc.replace_with_mask(flat, mask, names.intents.take(coded))
    )


def states_column(states: Sequence[State | None], services: list[int], coder: Coder) -> Column:
    """Gather the states of frames; null where there is none."""
    absent = pa.array([state is None for state in states], pa.bool_())
    stated = [(s, state) for s, state in zip(services, states) if state is not None]
    intents = scattered([coder.intents[s][state.active_intent] for s, state in stated], absent)
    requested = [state.requested_slots if state else [] for state in states]
    requested_codes = code_array(
        [coder.slots[s][x] for s, state in stated for x in state.requested_slots]
    )
    slot_values = [state.slot_values if state else {} for state in states]
    slot_codes = code_array([coder.slots[s][x] for s, state in stated for x in state.slot_values])
    variants = [values for _, state in stated for values in state.slot_values.values()]
    texts = pa.array([text for values in variants for text in values], pa.string())
    values = list_array(offsets_of(variants), texts)
    requested_offsets, offsets = offsets_of(requested), offsets_of(slot_values)
    return lambda names: struct_array(
        absent,
        active_intent=names.intents.take(intents),
        requested_slots=list_array(requested_offsets, names.slots.take(requested_codes)),
        slot_values=list_array(
            offsets, struct_array(slot=names.slots.take(slot_codes), values=values)
        ),
    )


def _calls(calls: Sequence[ServiceCall | None], services: list[int], coder: Coder) -> Column:
    absent = pa.array([call is None for call in calls], pa.bool_())
    called = [(s, call) for s, call in zip(services, calls) if call is not None]
    methods = scattered([coder.intents[s][call.method] for s, call in called], absent)
    parameters = [call.parameters if call else {} for call in calls]
    column = _slot_value_lists(parameters, services, coder)
    return lambda names: struct_array(
        absent, method=names.intents.take(methods), parameters=column(names)
    )


def _results(
    calls: Sequence[list[dict[str, str]] | None], services: list[int], coder: Coder
) -> Column:
    results = [frame_results or [] for frame_results in calls]
    offsets = offsets_of(results)
    repeated = [s for s, frame_results in zip(services, results) for _ in frame_results]
    column = _slot_value_lists(
        [result for frame_results in results for result in frame_results], repeated, coder
    )
    return lambda names: list_array(offsets, column(names))


def _slot_value_lists(pairs: Sequence[dict[str, str]], services: list[int], coder: Coder) -> Column:
    slots = code_array(
        [coder.slots[s][slot] for s, mapping in zip(services, pairs) for slot in mapping]
    )
    values = pa.array([value for mapping in pairs for value in mapping.values()], pa.string())
    offsets = offsets_of(pairs)
    return lambda names: list_array(
        offsets, struct_array(slot=names.slots.take(slots), value=values)
    )
