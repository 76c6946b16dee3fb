"""Reading the calls in an answer. Nothing here raises, whatever a model or a program writes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from sgdx_llm.answers import call_in_text

from .predictions import MadeCall


class CallsReading(NamedTuple):
    """The calls of an answer; none where the answer is text, or cannot be read."""

    calls: tuple[MadeCall, ...]
    # How often each occurred: ``invalid``, the answer cannot be read; ``truncated``, it reached the
    # limit of tokens; ``refused`` by the server, a filter or the model; ``salvaged``, the call was
    # read from the answer's text.
    counts: Counter[str]


def read_calls(body: Any) -> CallsReading:
    """Read a chat completion, ``{"calls": ...}`` of a program, or ``{"error": ...}``."""
    counts: Counter[str] = Counter()
    try:
        calls = tuple(_calls(body, counts))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        counts["invalid"] += 1
        calls = ()
    if counts["truncated"] and not calls and not counts["invalid"]:
        counts["invalid"] += 1  # the limit may have been reached before a call began
    return CallsReading(calls, +counts)


def _calls(body: Any, counts: Counter[str]) -> Iterator[MadeCall]:
    """The calls; raises one of several errors where a part is not as it should be."""
    if "calls" in body:
        for call in body["calls"]:
            yield _call(call["name"], call.get("arguments", {}))
        return
    if body.get("error"):
        counts["refused"] += 1
        raise ValueError("an error in place of an answer")
    choice = body["choices"][0]
    message = choice["message"]
    if choice.get("finish_reason") == "length":
        counts["truncated"] += 1
    if choice.get("finish_reason") == "content_filter" or message.get("refusal"):
        counts["refused"] += 1
    for call in message.get("tool_calls") or ():
        yield _call(call["function"]["name"], call["function"].get("arguments", {}))
    if not message.get("tool_calls"):
        # The text consists of a call or has one in it; one that was cut off is none.
        name, arguments = call_in_text(message, Counter({"truncated": counts["truncated"]}))
        if isinstance(name, str) and isinstance(arguments, dict):
            counts["salvaged"] += 1
            yield MadeCall(name, arguments)


def _call(name: Any, arguments: Any) -> MadeCall:
    values = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    if not isinstance(name, str) or not isinstance(values, dict):
        raise ValueError("no call")
    return MadeCall(name, values)
