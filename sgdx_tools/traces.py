"""Cases from what a system did: logs of OpenAI's form, and OpenTelemetry's spans as JSON.

A case of a trace expects the calls that were made, right or wrong, and is marked as unreviewed
until a person has looked at it: the table of ``review.py`` lists them.

Read are, as lines or as one document:
  - a request with its response, as ``{"request": ..., "response": ...}``, or as a batch has them,
    the one as ``body`` beside the other;
  - spans of the semantic conventions for generative AI, 1.37 and later, as OTLP has them or alone
    (opentelemetry.io/docs/specs/semconv/gen-ai).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_input, write_bytes
from sgdx_dataset.io.json import parse_text

from .data import Case, ExpectedCall, Json
from .explain import calls_text, message_text
from .folder import CASES, check_case, read_tool_set
from .json_schema import Layout
from .predictions import read_calls
from .review import Page, read_table, write_table

REVIEW = "review"  # the folder of the table
_COLUMNS = ("id", "said", "expected")
_PAGE = Page(
    "Cases of traces, for review",
    "What was called in each conversation. A case expects these calls: were they right? Strike out "
    "the cases in which they were not, or mend them in cases.jsonl. Give the saved table to sgdx "
    "tools cases FOLDER --review review.tsv.",
    _COLUMNS,
)
_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_SYSTEM, _CONVERSATION = "gen_ai.system_instructions", "gen_ai.conversation.id"


def add_traces(folder: Path, traces: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Add the cases of traces to a folder's; written paths, and what is left out."""
    tool_set = read_tool_set(folder)
    tools, with_values = tool_set.tools, tool_set.source.rules != "bfcl"
    layouts = {i: Layout(tool.parameters, f"tool {i}") for i, tool in tools.items()}
    cases = {case.id: case for case in tool_set.all_cases}
    said, left_out = {_key(case) for case in cases.values()}, []
    for path in traces:
        for place, record in _records(path):
            try:
                case = _case(record, place)
                check_case(case, tools, layouts, place, with_values)
            except SgdxError as error:
                left_out.append(str(error))
                continue
            if _key(case) not in said:
                said.add(_key(case))
                number, name = 1, case.id
                while case.id in cases:
                    number += 1
                    case = msgspec.structs.replace(case, id=f"{name}-{number}")
                cases[case.id] = case
    return _write(folder, list(cases.values())), left_out


def review_cases(folder: Path, table: Path) -> int:
    """Take the cases that are left in a table as reviewed, and drop those that are not."""
    tool_set = read_tool_set(folder)
    left = {row[0] for _, row in read_table(table, _COLUMNS)}
    if unknown := sorted(left - {case.id for case in tool_set.all_cases}):
        raise SgdxError(f"{table}: case {unknown[0]} is not in {folder / CASES}")
    kept = [
        msgspec.structs.replace(case, unreviewed=False)
        for case in tool_set.all_cases
        if not case.unreviewed or case.id in left
    ]
    write_bytes(folder / CASES, msgspec.json.Encoder().encode_lines(kept))
    return len(kept)


def _write(folder: Path, cases: Sequence[Case]) -> list[Path]:
    write_bytes(folder / CASES, msgspec.json.Encoder().encode_lines(cases))
    lines = [
        (
            case.id,
            "\n".join(f"{m['role']}: {message_text(m)}" for m in case.messages),
            calls_text([msgspec.structs.asdict(call) for call in case.expect or ()]),
        )
        for case in cases
        if case.unreviewed
    ]
    return [
        folder / CASES,
        *write_table(folder / REVIEW, _COLUMNS, lines, _PAGE, lambda line: line),
    ]


def _key(case: Case) -> bytes:
    return msgspec.json.encode(case.messages, order="deterministic")


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    """Requests and spans, each with where it stands."""
    data = read_input(path)
    try:
        documents = [(str(path), parse_text(data.decode()))]
    except ValueError:
        documents = []
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                try:
                    documents.append((f"{path}:{number}", parse_text(line.decode())))
                except ValueError as error:
                    raise SgdxError(f"{path}:{number}: {error}, expected JSON") from None
    for place, document in documents:
        listed = document if isinstance(document, list) else [document]
        for i, record in enumerate(listed):
            where = f"{place}: [{i}]" if isinstance(document, list) else place
            try:
                spans = list(_spans(record))
            except (TypeError, LookupError, AttributeError):  # no span, which its case will say
                spans = []
            if not spans and isinstance(record, dict):
                yield where, record
            for number, attributes in enumerate(spans, 1):
                if _INPUT in attributes:  # others are no requests of models
                    yield f"{where}: span {number}", attributes


def _spans(record: Any) -> Iterator[Json]:
    """The attributes of each span in a record, which may be one."""
    if not isinstance(record, dict):
        return
    for inner in ("resourceSpans", "scopeSpans", "spans"):
        for part in record.get(inner) or ():
            yield from _spans(part)
    attributes = record.get("attributes")
    if isinstance(attributes, list):
        yield {item["key"]: _value(item["value"]) for item in attributes}
    elif isinstance(attributes, dict):
        yield attributes


def _value(value: Any) -> Any:
    """A value of OTLP, as ``{"stringValue": "..."}``, as plain JSON."""
    if "arrayValue" in value:
        return [_value(item) for item in value["arrayValue"].get("values", ())]
    if "kvlistValue" in value:
        return {i["key"]: _value(i["value"]) for i in value["kvlistValue"].get("values", ())}
    if "intValue" in value:  # which is text, as it may be longer than a JSON number
        return int(value["intValue"])
    return next(iter(value.values()), None)


def _case(record: Json, place: str) -> Case:
    """The case of a request and its response, or of a span."""
    try:
        if _INPUT in record:
            messages = [*_system(record), *_messages(_json(record[_INPUT]))]
            output = _messages(_json(record[_OUTPUT]))
            answer: Any = {"choices": [{"message": output[0]}]}
            name, dialogue = "", record.get(_CONVERSATION, "")
        else:
            request = _body(record.get("request", record))
            messages = [_plain(message) for message in request["messages"]]
            answer, name, dialogue = _body(record["response"]), record.get("custom_id", ""), ""
        reading = read_calls(answer)
        if not messages or reading.counts["unread"]:
            raise ValueError("no answer that can be read")
        expect = tuple(ExpectedCall(call.name, call.arguments) for call in reading.calls)
        name = str(name) or f"{Path(place.split(':')[0]).stem}-{_digest(messages)}"
        return Case(name, tuple(messages), expect or None, dialogue=str(dialogue), unreviewed=True)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        expected = "expected a request with messages and a response, or a span of a model's call"
        raise SgdxError(f"{place}: found {error!r:.100}, {expected}") from None


def _json(value: Any) -> Any:
    """Messages, which a span may have as text."""
    return parse_text(value) if isinstance(value, str) else value


def _body(record: Json) -> Json:
    body: Json = record.get("body", record)
    return body


def _digest(messages: Sequence[Json]) -> str:
    return hashlib.sha256(json.dumps(messages).encode()).hexdigest()[:8]


def _plain(message: Json) -> Json:
    """A message with what a case has of it; ``ValueError`` where it is more than text."""
    content = message.get("content")
    if isinstance(content, list):
        if kinds := {part.get("type") for part in content} - {"text", "input_text"}:
            raise ValueError(f"a part of type {min(map(str, kinds))}")
        content = "\n".join(part["text"] for part in content)
    kept: Json = {
        key: message[key] for key in ("tool_calls", "tool_call_id", "name") if key in message
    }
    return {"role": message["role"], "content": content, **kept}


def _system(attributes: Json) -> list[Json]:
    parts = _json(attributes.get(_SYSTEM)) or []
    text = "\n".join(part["content"] for part in parts if part.get("type") == "text")
    return [{"role": "system", "content": text}] if text else []


def _messages(listed: Sequence[Json]) -> list[Json]:
    """The messages of a span in OpenAI's form, in which each result is a message of its own."""
    messages: list[Json] = []
    for message in listed:
        texts, calls = [], []
        for part in message["parts"]:
            kind = part["type"]
            if kind == "text":
                texts.append(part["content"])
            elif kind == "tool_call":
                arguments = part.get("arguments", {})
                text = arguments if isinstance(arguments, str) else json.dumps(arguments)
                function = {"name": part["name"], "arguments": text}
                calls.append({"id": part.get("id") or "", "type": "function", "function": function})
            elif kind == "tool_call_response":
                result = part.get("response", part.get("result"))
                text = result if isinstance(result, str) else json.dumps(result)
                call = {"tool_call_id": part.get("id") or "", "content": text}
                messages.append({"role": "tool", **call})
            elif kind != "reasoning":  # which a later request does not show again
                raise ValueError(f"a part of type {kind}")
        if texts or calls:
            more = {"tool_calls": calls} if calls else {}
            content = "\n".join(texts) if texts else None
            messages.append({"role": message["role"], "content": content, **more})
    return messages
