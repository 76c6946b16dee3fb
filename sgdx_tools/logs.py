"""Readers of logs: a request, a span or a list of messages as a conversation and its answer.

``FORMS`` is the table of the forms, each known by its content. A reader takes a record and gives
the parts of it that are calls of a model. What it does not understand raises an error that names
the part, so that a record is read whole or left out with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import parse_at, parse_text
from sgdx_llm.messages import nested, read_messages

from .data import Json

# Where a record has its request, its response, and messages.
_REQUEST = ("request", "request_body", "requestBody", "full_request", "body")
_RESPONSE = ("response", "response_body", "responseBody", "full_response")
_MESSAGES = ("messages", "conversations", "contents")
ERRORS = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


class Asked(NamedTuple):
    """A model that was asked, and what it answered."""

    # As a request has it: ``messages``, and what is said before them.
    request: Json
    # In any form that ``sgdx_llm.calls`` reads.
    answer: Any
    # What the log calls it, and the dialogue that it is of; empty where it does not say.
    name: str = ""
    dialogue: str = ""


class Form(NamedTuple):
    """A form of logs."""

    # The keys that a record of it has; one of each.
    keys: Sequence[Sequence[str]]
    # Gives what a record has of a model's calls, none where it is of something else.
    read: Callable[[Json], Iterator[Asked]]


def read_records(path: Path) -> Iterator[tuple[str, Asked | str | None]]:
    """What each record of a file says, with its place; None for what is no call of a model.

    A text in place of one says why it cannot be read.
    """
    for place, document in _documents(path):
        records = [*_records(document)]
        for number, record in enumerate(records, 1):
            where = place if len(records) == 1 else f"{place}: record {number}"
            try:
                found = list(_asked(record))
            except ERRORS as error:
                yield where, f"found no {error}" if isinstance(error, KeyError) else str(error)
                continue
            if not found:
                yield where, None
            yield from ((where, one) for one in found)


# Keys of what holds records: pages of an interface, traces, and exports of spans.
_HOLDERS = (
    *("resourceSpans", "scopeSpans", "instrumentationLibrarySpans", "batches", "trace", "spans"),
    *("resourceLogs", "scopeLogs", "logRecords", "observations", "runs", "child_runs", "data"),
)


def _records(document: Any) -> Iterator[Any]:
    """The records of a document, which may be lists, pages or traces in each other."""
    if isinstance(document, list) and not _is_messages(document):
        for part in document:
            yield from _records(part)
        return
    held = [key for key in _HOLDERS if isinstance(document, dict) and _holds(document.get(key))]
    for key in held:
        yield from _records(document[key])
    if not held or "run_type" in document:  # a run, which has others beside it
        yield document


def _holds(part: Any) -> bool:
    if isinstance(part, dict):
        return any(_holds(part.get(key)) for key in _HOLDERS)
    return isinstance(part, list) and all(isinstance(item, dict) for item in part)


def _documents(path: Path) -> Iterator[tuple[str, Any]]:
    """The JSON documents of a file, one after the other, each with its file and line."""
    try:
        text = read_input(path).decode()
    except ValueError as error:
        raise SgdxError(f"{path}: {error}, expected JSON") from None
    end, line = 0, 1
    while bare := text[end:].lstrip():
        start = len(text) - len(bare)
        line += text.count("\n", end, start)
        try:
            document, end = parse_at(text, start)
        except ValueError as error:
            raise SgdxError(f"{path}:{line}: {error}, expected JSON") from None
        yield f"{path}:{line}", document
        line += text.count("\n", start, end)


def _asked(record: Any) -> Iterator[Asked]:
    """What a record says, by the first form that it has the keys of."""
    if _is_messages(record):
        record = {"messages": record}
    if not isinstance(record, dict):
        raise ValueError(f"found {json.dumps(record):.60}, expected a request, a span or messages")
    for form in FORMS:
        if all(any(key in record for key in keys) for keys in form.keys):
            yield from form.read(record)
            return
    raise ValueError(f"found no form of logs in the keys {', '.join(record)[:100] or 'of nothing'}")


def _is_messages(record: Any) -> bool:
    """Whether a list is a conversation, and not a list of records."""
    return isinstance(record, list) and any(
        isinstance(m, dict) and ({"role", "content"} <= m.keys() or _is_langchain(m))
        for m in record
    )


def _is_langchain(message: Json) -> bool:
    kinds = ("human", "ai", "system", "tool")
    return bool(message.get("lc")) or (
        message.get("type") in kinds and bool({"data", "content"} & message.keys())
    )


def plain(value: Any) -> Any:
    """A value that may be JSON in a text, as logs have it; another text stays as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    return parse_text(value)


# ---- requests with their responses


def _pairs(record: Json) -> Iterator[Asked]:
    """A request with its response, whatever its provider, as gateways and batches log them."""
    response = plain(record[_key(record, _RESPONSE)])
    if not response:
        raise ValueError("found no response")
    known = response if isinstance(response, dict) else {}
    status = known.get("status_code", known.get("status", 200))
    if isinstance(status, int) and status != 200:
        raise ValueError(f"found the status {status}")
    request, answer = _body(record[_key(record, _REQUEST)]), _body(response)
    if not isinstance(request, dict):
        raise ValueError(f"found the request {json.dumps(request):.60}")
    name = str(record.get("custom_id") or "")
    for choice in _choices(answer):
        yield Asked(request, choice, name)


def _key(record: Json, keys: Sequence[str]) -> str:
    return next(key for key in keys if key in record)


def _body(part: Any) -> Any:
    """A request or a response, which may be JSON in a text, or stand in a batch's line."""
    part = plain(part)
    return plain(part["body"]) if isinstance(part, dict) and "body" in part else part


def _choices(answer: Any) -> Iterator[Any]:
    """The answer, or one for each of its choices where several were asked for."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or len(choices) < 2:
        yield answer
    else:
        yield from (answer | {"choices": [choice]} for choice in choices)


def _gateway(record: Json) -> Iterator[Asked]:
    """A request's own fields with the response beside them, as LiteLLM logs them."""
    for choice in _choices(_body(record["response"])):
        yield Asked(record | {"messages": plain(record["messages"])}, choice)


def _bedrock(record: Json) -> Iterator[Asked]:
    """A line of Bedrock's log of invocations."""
    request, answer = record["input"], record["output"]
    if "inputBodyJson" not in request or "outputBodyJson" not in answer:
        raise ValueError(
            "found no inputBodyJson and outputBodyJson, as of bodies that are too long"
        )
    yield Asked(request["inputBodyJson"], answer["outputBodyJson"], record.get("requestId", ""))


def _stored(record: Json) -> Iterator[Asked]:
    """A stored completion of OpenAI, whose messages are listed beside it."""
    listed = record.get("messages", record.get("input_messages", record.get("input")))
    if listed is None:
        raise ValueError("found a completion without its messages, which are a list of their own")
    if isinstance(listed, dict):  # an answer to messages.list
        listed = listed.get("data")
    listed = [
        {**m, "content": m.get("content_parts") or m.get("content")} if isinstance(m, dict) else m
        for m in plain(listed)
    ]
    for choice in _choices({"choices": record["choices"]}):
        yield Asked({"messages": listed}, choice, str(record.get("id") or ""))


def _conversation(record: Json) -> Iterator[Asked]:
    """Messages of which the last is the answer: lines for fine-tuning, states of LangGraph."""
    listed = plain(record[_key(record, _MESSAGES)])
    *before, last = listed if isinstance(listed, list) else [None]
    roles = [message["role"] for message in read_messages([last])]
    if roles[-1:] != ["assistant"]:
        raise ValueError(f"found the last message of {roles or 'nobody'}, expected the answer")
    yield Asked({**record, **dict.fromkeys(_MESSAGES), "messages": before}, _answer_of([last]))


def _preference(record: Json) -> Iterator[Asked]:
    """A line for fine-tuning by preference: the answer that was preferred."""
    preferred = record["preferred_output"]
    yield Asked(record["input"], {"output": preferred})


# ---- runs and observations


def _langsmith(record: Json) -> Iterator[Asked]:
    """A run of LangSmith, or a call of Weave."""
    if record.get("run_type", "llm") != "llm":
        return
    if record.get("error") or record.get("exception"):
        raise ValueError(f"found the error {record.get('error', '')!r:.100}")
    inputs, outputs = plain(record["inputs"]), plain(record.get("outputs", record.get("output")))
    if not isinstance(inputs, dict) or not isinstance(outputs, dict):
        raise ValueError("found inputs or outputs that are no objects")
    listed = plain(inputs["messages"])
    if isinstance(listed, list) and len(listed) == 1 and isinstance(listed[0], list):
        (listed,) = listed  # one of a batch
    facts = (record.get("extra") or {}).get("metadata") or {}
    for choice in _choices(outputs):
        answer = _answer_of([choice]) if "lc" in choice or "type" in choice else choice
        dialogue = str(facts.get("thread_id") or facts.get("session_id") or "")
        yield Asked(inputs | {"messages": listed}, answer, "", dialogue)


def _observation(record: Json) -> Iterator[Asked]:
    """An observation of Langfuse, or what else has the input and the output of a model."""
    kind = str(record.get("type", record.get("object", "llm")))
    if kind.lower() not in ("generation", "llm", "chat", "chat_model", "response", "embedding"):
        return
    said, answer = plain(record["input"]), plain(record["output"])
    if not said or not answer:
        raise ValueError(f"found no {'output' if said else 'input'}")
    is_request = isinstance(said, dict) and "role" not in said
    request = said if is_request else {"messages": [said] if isinstance(said, dict) else said}
    dialogue = str(record.get("sessionId", record.get("session_id")) or "")
    system = {"instructions": record["instructions"]} if record.get("instructions") else {}
    is_message = isinstance(answer, str | list) or "role" in answer
    for choice in _choices(_answer_of(answer) if is_message else answer):
        yield Asked(system | request, choice, "", dialogue)


def _agent(record: Json) -> Iterator[Asked]:
    """A span of OpenAI's Agents SDK."""
    data = record["span_data"]
    if data.get("type") in ("generation", "response"):
        yield from _observation({"input": None, "output": None, **data})


def _alone(record: Json) -> Iterator[Asked]:
    """A response that stands without what was asked."""
    raise ValueError("found a response without its request, which has the messages")
    yield


# ---- spans of OpenTelemetry

_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_SYSTEM, _CONVERSATION = "gen_ai.system_instructions", "gen_ai.conversation.id"
# Where messages stand in other attributes, as trees: OpenLLMetry's, OpenInference's, Vercel's
# and MLflow's.
_PLACES = (
    (_INPUT, _OUTPUT),
    ("gen_ai.prompt", "gen_ai.completion"),
    ("llm.input_messages", "llm.output_messages"),
    ("ai.prompt.messages", "ai.response"),
    ("mlflow.spanInputs", "mlflow.spanOutputs"),
)
_ASKING = ("chat", "generate_content", "text_completion")  # operations of spans that are answered
_LIKE = ("gen_ai", "llm", "ai", "mlflow")  # what attributes of models begin with
_KINDS = (None, "LLM", "chat", "CHAT_MODEL", "INTERNAL", "CLIENT", "SPAN_KIND_CLIENT")
# Events of earlier conventions, each of which is a message, and the roles of these.
_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE = "gen_ai.choice"


def _span(record: Json) -> Iterator[Asked]:
    """A span of a model's call, whose messages stand in attributes or events."""
    flat, said, answers = _events(record)
    tree = nested(flat)
    if not _is_of_model(record, tree, bool(said)):
        return
    for asked, answered in () if said else _PLACES:
        if (found := _at(tree, asked)) is not None:
            said, answers = plain(found), plain(_at(tree, answered))
            break
    if not said or not answers:
        name = f"the span {record.get('name', '')!r:.60}"
        attributes = ", ".join(key for key in flat if key.startswith(_LIKE))
        lacks = "an answer" if said else f"messages in {attributes:.200}"
        raise ValueError(f"found {name} without {lacks}")
    system = plain(_at(tree, _SYSTEM))
    request = said if isinstance(said, dict) else {"messages": said}
    answer = answers if isinstance(said, dict) and "choices" in answers else _answer_of(answers)
    of_system = {"system": system} if system else {}
    yield Asked(request | of_system, answer, "", str(_at(tree, _CONVERSATION) or ""))


def _events(record: Json) -> tuple[Json, Any, Any]:
    """A span's attributes, with those of its events, and its events that are messages, answers."""
    flat = _attributes(record.get("attributes", record.get("tags")))
    listed = record.get("events") or ()
    events = [(e.get("name", ""), _attributes(e.get("attributes") or {})) for e in listed]
    if isinstance(listed := plain(flat.get("events")), list):  # of Pydantic AI
        events += [(event.get("event.name", ""), event) for event in listed]
    for name, of in events:
        if name not in _EVENTS and name != _CHOICE:
            flat |= {key: value for key, value in of.items() if key.startswith("gen_ai.")}
    said = [_message_of(of, _EVENTS[name]) for name, of in events if _EVENTS.get(name)]
    return flat, said, [_message_of(of, "") for name, of in events if name == _CHOICE]


def _is_of_model(record: Json, tree: Json, has_messages: bool) -> bool:
    """Whether a span is that of a request of a model, and not of a program around it."""
    if not str(_at(tree, "ai.operationId") or ".do").rpartition(".")[2].startswith("do"):
        return False  # of Vercel's, the span around that of the model
    kinds = ("openinference.span.kind", "llm.request.type", "mlflow.spanType")
    kind = next((found for key in kinds if (found := _at(tree, key))), record.get("span_kind"))
    return (
        (has_messages or any(key in tree for key in _LIKE))
        and _at(tree, "gen_ai.operation.name") in (None, *_ASKING)
        and str(plain(kind)).strip('"') in map(str, _KINDS)
    )


def _at(tree: Json, path: str) -> Any:
    """What stands at a dotted path of a tree; None for nothing."""
    part: Any = tree
    for step in path.split("."):
        part = part.get(step) if isinstance(part, dict) else None
    return part


def _message_of(fields: Json, role: str) -> Json:
    """A message that is an event: its fields are attributes, or stand in one as text."""
    message = plain(fields.get("message")) or plain(fields.get("body")) or fields
    calls = plain(message.get("tool_calls"))
    found = {"role": role or "assistant", "content": message.get("content")}
    found |= {"tool_calls": calls} if calls else {}
    for key in ("id", "tool_call_id"):
        if role == "tool" and message.get(key):
            found["tool_call_id"] = message[key]
    ends = fields.get("finish_reason", message.get("finish_reason"))
    return found | ({"finish_reason": ends} if ends else {})


def _answer_of(answers: Any) -> Json:
    """Messages as one answer, which has ended for the reason of the last that says one."""
    if isinstance(answers, dict) and not {"role", "message", "content"} & answers.keys():
        calls, text = plain(answers.get("toolCalls")) or [], answers.get("text")  # Vercel's
        end = answers.get("finishReason", "stop")
        answers = [{"content": text or None, "tool_calls": calls, "finish_reason": end}]
    listed = answers if isinstance(answers, list) else [answers]
    messages: list[Json] = [m if isinstance(m, dict) else {"content": m} for m in listed]
    messages = [nested(m) if any("." in key for key in m) else m for m in messages]
    messages = [m["message"] if isinstance(m.get("message"), dict) else m for m in messages]
    ends: list[Any] = []
    for message in messages:
        inner: Any = message.get("kwargs", message.get("data", message))
        facts = inner.get("response_metadata") or inner
        keys = ("finish_reason", "stop_reason", "stopReason", "done_reason")
        ends += [facts[key] for key in keys if key in facts]
    is_plain = not any({"type", "lc", "from"} & message.keys() for message in messages)
    kept = [({"role": "assistant"} if is_plain else {}) | message for message in messages]
    return {"output": kept, **({"status": ends[-1]} if ends else {})}


def _attributes(written: Any) -> Json:
    """The attributes of a span or an event, as OTLP has them or as plain JSON."""
    if isinstance(written, list):
        return {
            item["key"]: _value(item["value"]) if isinstance(item["value"], dict) else item["value"]
            for item in written
        }
    return dict(written)


def _value(value: Any) -> Any:
    """A value of OTLP, as ``{"stringValue": "..."}``, as plain JSON."""
    if "arrayValue" in value:
        return [_value(item) for item in value["arrayValue"].get("values", ())]
    if "kvlistValue" in value:
        return {i["key"]: _value(i["value"]) for i in value["kvlistValue"].get("values", ())}
    if "intValue" in value:  # which is text, as it may be longer than a JSON number
        return int(value["intValue"])
    return next(iter(value.values()), None)


# By the keys of a record, the first that fits.
FORMS: tuple[Form, ...] = (
    Form((("schemaType",), ("input",), ("output",)), _bedrock),
    Form((("inputs",), ("outputs", "output")), _langsmith),
    Form((("run_type",),), _langsmith),
    Form((("span_data",),), _agent),
    Form((("messages",), ("response",)), _gateway),
    Form((_REQUEST, _RESPONSE), _pairs),
    Form((("preferred_output",), ("input",)), _preference),
    Form((("choices",), ("messages", "input_messages", "input", "object")), _stored),
    Form((("input",), ("output",)), _observation),
    Form((("attributes", "tags"),), _span),
    Form((_MESSAGES,), _conversation),
    Form((_RESPONSE,), _alone),
)
