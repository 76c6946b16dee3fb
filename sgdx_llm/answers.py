"""Reading states from answers. Nothing here raises, whatever a model or a server writes.

Parts that cannot be used are left out and counted, and the counts are shown beside the scores.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sgdx_dataset.io.json import parse_at, parse_text
from sgdx_dataset.schema import DONTCARE, NONE_INTENT, Service, Slot, allowed_value

from .calls import answer_text, chat_completion, has_text, listed_calls
from .functions import STATE_KEYS, safe_names, slots_by_any_name
from .messages import Json
from .text_calls import calls_in_text

# The counts, in the order in which they are shown. From `from_text` to `extra_calls` they are
# about whole answers. A `from_text` answer was read from a text that has more in it, or in place of
# a call; one of `text_calls` looks like a call, and is none as it is text. An `unread` one has no
# state that can be read, so that the frame gets the empty state; it may be
# `empty`, `refused` by the model or a filter, a request that the server refused
# (`refused_requests`), or a call of another function (`wrong_names`). A `truncated` one reached the
# limit of tokens. `merged_calls` of the right function make one state with the first; `extra_calls`
# are passed over. The other counts are of parts of answers.
COUNTS = (
    "from_text", "text_calls", "unread", "truncated", "refused", "refused_requests", "empty",
    "wrong_names", "merged_calls", "extra_calls",
    "bad_values", "wrong_types", "unknown_slots", "unknown_intents", "unknown_requests",
)  # fmt: skip
# Why an answer is unread: the first of these counts that it has, else that it is `unreadable`.
_REASONS = ("truncated", "refused", "refused_requests", "empty", "wrong_names")
# A model's text is searched for JSON no further: in characters, and in braces that may open it.
_LONGEST_TEXT, _MOST_OBJECTS = 100_000, 1000
_SURROGATE = re.compile("[\ud800-\udfff]")


class Reading(NamedTuple):
    """What an answer says of the dialogue state."""

    # How often each of ``COUNTS`` occurred; those that did not are left out.
    counts: Counter[str]
    active_intent: str = NONE_INTENT  # name of the intent, or ``NONE``
    requested_slots: tuple[str, ...] = ()  # names of the slots that the user asks for
    # The value of each slot that is set, by the slot's name in the schema.
    slot_values: Mapping[str, str] = {}


def why_unread(counts: Mapping[str, int]) -> str:
    """Why an answer with these counts is unread: the name of another count, or ``unreadable``."""
    return next((reason for reason in _REASONS if counts.get(reason)), "unreadable")


def read_answer(body: Any, service: Service, in_call: bool) -> Reading:
    """Read the state from a completion, an error, or ``{"state": {...}}`` of another system."""
    if isinstance(body, dict) and "state" in body:
        return read_state(body["state"], service, Counter())
    counts: Counter[str] = Counter()
    message = _message(body, counts)
    arguments = _arguments(message, service.service_name, counts) if in_call else None
    if arguments is None:
        arguments = _find_object(answer_text(message), STATE_KEYS, counts, expected=not in_call)
    if arguments is None:
        counts["empty"] += int(_is_empty(message, counts))
        counts["unread"] += 1
        return Reading(+counts)
    return read_state(arguments, service, counts)


def read_state(arguments: Any, service: Service, counts: Counter[str]) -> Reading:
    """Read a state that is written as the arguments of ``functions.state_function``."""
    if not isinstance(arguments, dict) or not set(STATE_KEYS) & arguments.keys():
        counts["unread"] += 1
        counts["empty"] += int(arguments in ({}, None))
        return Reading(+counts)
    intent, written = NONE_INTENT, arguments.get("active_intent")
    if written is not None and written != "":
        names = [*(intent.name for intent in service.intents), NONE_INTENT]
        found = allowed_value(written, names) if isinstance(written, str) else None
        counts["unknown_intents"] += int(found is None)
        intent = found or NONE_INTENT
    listed = arguments.get("requested_slots")
    if listed is not None and not isinstance(listed, list):
        counts["wrong_types"] += 1
        listed = [listed]
    requested = []
    for name in listed or ():
        slot = slots_by_any_name(service).get(name) if isinstance(name, str) else None
        if slot is None:
            counts["unknown_requests"] += 1
        else:
            requested.append(slot.name)
    values = _read_values(arguments.get("slot_values"), service, service.tracked, counts)
    return Reading(+counts, intent, tuple(dict.fromkeys(requested)), values)


def calls_said(
    message: Json, counts: Counter[str], text_calls: bool, tools: Sequence[Json] = ()
) -> list[tuple[Any, Any]]:
    """The calls in the text of a message that lists none, where such calls count.

    None stands for the name and the arguments of what looks like a call and cannot be read. Where
    such calls do not count, as no client carries them out, it is counted that there are some.
    ``tools`` are the functions that were offered, each with ``name`` and ``parameters``.
    """
    if counts["truncated"]:  # a call that is whole in it may be one of several
        return []
    calls, has_more = calls_in_text(answer_text(message), tools)
    if not text_calls:
        counts["text_calls"] += int(bool(calls) or has_more)
        return []
    counts["from_text"] += int(bool(calls))
    return [*calls, *([(None, None)] if has_more else [])]


def _message(body: Any, counts: Counter[str]) -> Json:
    """The message of a completion's first choice; empty where there is none."""
    body = chat_completion(body)
    if not isinstance(body, dict):
        return {}
    error = body.get("error")
    if isinstance(error, dict) and error.get("code") == "content_filter":
        counts["refused"] += 1
    elif isinstance(error, dict) and "refused_with" in error:
        counts["refused_requests"] += 1
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return {}
    message = choice.get("message")
    counts["truncated"] += int(choice.get("finish_reason") == "length")
    refused = isinstance(message, dict) and bool(message.get("refusal"))
    counts["refused"] += int(refused or choice.get("finish_reason") == "content_filter")
    return message if isinstance(message, dict) else {}


def _is_empty(message: Json, counts: Counter[str]) -> bool:
    """Whether an answer has neither text nor calls, and nothing was refused."""
    is_refused = counts["refused"] or counts["refused_requests"]
    return not (has_text(message) or listed_calls(message) or is_refused)


def _arguments(message: Json, name: str, counts: Counter[str]) -> Any:
    """The arguments of the calls of a function, as those of one call; None if it is not called."""
    calls, names = listed_calls(message), (name, safe_names([name])[name])
    own_calls = [arguments for called, arguments in calls if called in names]
    if not own_calls:
        counts["wrong_names"] += int(bool(calls))
        counts["extra_calls"] += max(len(calls) - 1, 0)
        return None
    counts["extra_calls"] += len(calls) - len(own_calls)
    state, *others = (_decode_arguments(arguments, counts) for arguments in own_calls)
    for other in others:
        if not isinstance(state, dict) or not isinstance(other, dict):
            counts["extra_calls"] += 1
            continue
        # Two parts of a state make one: where both say the same thing, the second goes before.
        counts["merged_calls"] += 1
        merged = {**state, **{k: value for k, value in other.items() if value not in (None, "")}}
        if state.get("active_intent") and other.get("active_intent") == NONE_INTENT:
            merged["active_intent"] = state["active_intent"]
        first, second = state.get("slot_values"), other.get("slot_values")
        if isinstance(first, dict) and isinstance(second, dict):
            merged["slot_values"] = {**first, **second}
        first, second = state.get("requested_slots"), other.get("requested_slots")
        if isinstance(first, list) and isinstance(second, list):
            merged["requested_slots"] = [*first, *second]
        state = merged
    return state


def _decode_arguments(arguments: Any, counts: Counter[str]) -> Any:
    """The arguments of a call, which most servers send as JSON in a string."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return parse_text(arguments)
    except ValueError:
        return _find_object(arguments, (), counts, expected=False)


def _find_object(
    text: str, keys: Collection[str], counts: Counter[str], expected: bool
) -> Json | None:
    """The first JSON object in a text that has one of some keys, or any where there are none."""

    def object_at(text: str, start: int) -> tuple[Json | None, int]:
        try:
            value, end = parse_at(text, start)
        except ValueError:
            return None, start
        is_one = isinstance(value, dict) and (not keys or bool(value.keys() & set(keys)))
        return (value if is_one else None), end

    bare = text.strip()
    whole, end = object_at(bare, 0)
    if whole is not None and end == len(bare):
        counts["from_text"] += int(not expected)
        return whole
    if counts["truncated"]:  # what is whole in it may be a draft, or a part
        return None
    # A code fence needs no special case: the search finds the object inside it.
    text, start = text[:_LONGEST_TEXT], -1
    for _ in range(_MOST_OBJECTS):
        start = text.find("{", start + 1)
        if start < 0:
            return None
        found, _ = object_at(text, start)
        if found is not None:
            counts["from_text"] += 1
            return found
    return None


def _read_values(
    written: Any, service: Service, inputs: Collection[str], counts: Counter[str]
) -> dict[str, str]:
    """The values of slots, by name in the schema; only the slots in ``inputs`` may have one."""
    if not isinstance(written, dict):
        counts["wrong_types"] += int(written is not None)
        return {}
    values: dict[str, str] = {}
    for name, value_written in written.items():
        slot = slots_by_any_name(service).get(name)
        if slot is None or slot.name not in inputs:
            counts["unknown_slots"] += 1
        elif (value := _read_value(value_written, slot, counts)) is not None:
            values.setdefault(slot.name, value)
    return values


def _read_value(written: Any, slot: Slot, counts: Counter[str]) -> str | None:
    """A slot's value as text; None if the slot is unset or cannot have the value."""
    while isinstance(written, list) and written:  # some models write a list of variants
        written = written[0]
    if written is None or written == []:
        return None
    if isinstance(written, float) and written.is_integer() and abs(written) < 2**53:
        written = int(written)  # 2.0 is the value 2
    if not isinstance(written, (str, bool, int, float)):
        counts["wrong_types"] += 1
        return None
    text = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", str(written))
    if not text.strip():
        return None
    is_none = text.strip().casefold() in ("none", "null")
    if not slot.values:
        return None if is_none else text
    value = allowed_value(text, [*slot.values, DONTCARE])
    counts["bad_values"] += int(value is None and not is_none)
    return value
