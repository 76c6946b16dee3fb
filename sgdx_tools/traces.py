"""Cases from what a system did: logs of requests and answers, and OpenTelemetry's spans as JSON.

A case of a trace expects the calls that were made, right or wrong, and is marked as unreviewed
until a person has looked at it: the table of ``review.py`` lists them.

Read are JSON documents one after the other, as lines, lists or indented:
  - a request with its response, as ``{"request": ..., "response": ...}``, or as a batch has them,
    the one as ``body`` beside the other; of OpenAI's chat completions and Responses, and of
    Anthropic's messages;
  - spans as OTLP has them, as a console shows them or alone, with messages as the semantic
    conventions for generative AI have them (opentelemetry.io/docs/specs/semconv/gen-ai), in
    attributes or events, or in the attributes of OpenLLMetry or OpenInference.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import locked, read_input, write_bytes
from sgdx_dataset.io.json import parse_at, parse_text
from sgdx_llm.calls import chat_messages, chat_messages_of

from .data import Case, ExpectedCall, Json, digest
from .explain import calls_text, message_text
from .folder import CASES, check_case, read_tool_set
from .predictions import beginning, read_calls
from .review import TSV, read_table, write_table
from .values import as_expected

REVIEW = "review"  # the folder of the table
STRUCK = "struck.jsonl"  # beside it, what reviews have struck out
# The last says which cases the whole table had, in a digest of their ids.
_COLUMNS = ("id", "said", "expected", "table")
_TITLE = "Cases of traces and of models, for review"
_TEXT = """What was called in each conversation, or what the model that wrote it wants called. A
case expects these calls: are they right? Strike out the cases in which they are not, or mend them
in cases.jsonl. Give the saved table to sgdx tools cases FOLDER --review review.tsv."""
_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_SYSTEM, _CONVERSATION = "gen_ai.system_instructions", "gen_ai.conversation.id"
# Where messages stand in other attributes: each a number, then its parts, in dotted names.
_DOTTED = {
    "gen_ai.prompt": "gen_ai.completion",  # OpenLLMetry
    "llm.input_messages": "llm.output_messages",  # OpenInference
}
_ASKING = ("chat", "generate_content", "text_completion")  # operations of spans that are answered
# Events of earlier conventions, each of which is a message, and the roles of these.
_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE = "gen_ai.choice"
_ERRORS = (ValueError, TypeError, LookupError, AttributeError)


def add_traces(folder: Path, traces: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Add the cases of traces to a folder's; the paths that are written, and notes.

    The notes say what became of every record. ``SgdxError`` says why there is no case at all.
    """
    counts, notes = Counter[str](), list[str]()

    def found() -> Iterator[tuple[str, Case]]:
        for path in traces:
            for place, record in _records(path):
                if isinstance(record, dict) and record.get("$other"):
                    counts["other spans"] += 1
                    continue
                try:
                    case, is_like_calls = _case(record, place)
                except SgdxError as error:
                    counts["left out"] += 1
                    notes.append(f"left out: {error}")
                    continue
                counts["texts that look like calls"] += is_like_calls
                yield place, case

    return add_cases(folder, found(), counts, notes, ", ".join(map(str, traces)))


def add_cases(
    folder: Path,
    found: Iterable[tuple[str, Case]],
    counts: Counter[str],
    notes: list[str],
    whose: str,
) -> tuple[list[Path], list[str]]:
    """Add unreviewed cases, each with where it stands; the paths that are written, and notes.

    `counts` and `notes` say what was found besides, and `whose` where all of it is from.
    """
    with locked(folder):
        tool_set = read_tool_set(folder)
        table = folder / REVIEW / TSV
        unreviewed = {case.id for case in tool_set.all_cases if case.unreviewed}
        rows = [row for _, row in read_table(table, _COLUMNS)] if table.exists() else []
        if rows and rows[0][3] == digest(sorted(unreviewed)) and len(rows) < len(unreviewed):
            struck = f"found {len(unreviewed) - len(rows)} lines struck out, which would be lost"
            raise SgdxError(f"{table}: {struck}: expected that --review took it")
        cases = {case.id: case for case in tool_set.all_cases}
        # What a person has reviewed stays as it is, whatever was called in the same conversation.
        reviewed = {_digest(case.messages) for case in cases.values() if not case.unreviewed}
        known = {_key(case) for case in cases.values()}
        numbers = Counter[str]()  # by a name that several cases have, the last one of them
        gone = {*_struck(folder).splitlines()}
        for place, case in found:
            try:
                check_case(case, tool_set.tools, place)
            except SgdxError as error:
                counts["left out"] += 1
                notes.append(f"left out: {error}")
                continue
            if _key(case) in gone:
                counts["struck out before"] += 1
                continue
            if _key(case) in known or _digest(case.messages) in reviewed:
                counts["known already"] += 1
                continue
            counts["new cases"] += 1
            known.add(_key(case))
            name = case.id
            while case.id in cases:
                numbers[name] += 1
                case = msgspec.structs.replace(case, id=f"{name}-{numbers[name] + 1}")
            cases[case.id] = case
        said = ", ".join(f"{name} {number}" for name, number in counts.items() if number)
        if not counts["new cases"] + counts["known already"] + counts["struck out before"]:
            why = f"{said}; {notes[0]}" if notes else said or "the files are empty"
            raise SgdxError(f"{whose}: found no case: {why}")
        return _write(folder, list(cases.values())), [*notes, f"read: {said}"]


def review_cases(folder: Path, table: Path) -> int:
    """Take the cases that are left in a table as reviewed, and drop those that are not."""
    with locked(folder):
        tool_set = read_tool_set(folder)
        rows = [row for _, row in read_table(table, _COLUMNS)]
        left = {row[0] for row in rows}
        if unknown := sorted(left - {case.id for case in tool_set.all_cases}):
            raise SgdxError(f"{table}: case {unknown[0]} is not in {folder / CASES}")
        unreviewed = sorted(case.id for case in tool_set.all_cases if case.unreviewed)
        is_last = table.resolve() == (folder / REVIEW / TSV).resolve()
        if {row[3] for row in rows} != {digest(unreviewed)} and (rows or not is_last):
            expected = f"expected the last one, of {folder / REVIEW}"
            raise SgdxError(f"{table}: found a table of other cases, {expected}")
        kept, struck = list[Case](), _struck(folder)
        for case in tool_set.all_cases:
            if not case.unreviewed or case.id in left:
                kept.append(msgspec.structs.replace(case, unreviewed=False))
            else:
                struck += _key(case) + b"\n"
        # First what was struck out, so that nothing of a review is lost in between.
        write_bytes(folder / REVIEW / STRUCK, struck, renews=True)
        write_bytes(folder / CASES, msgspec.json.Encoder().encode_lines(kept), renews=True)
    return len(kept)


def _write(folder: Path, cases: Sequence[Case]) -> list[Path]:
    write_bytes(folder / CASES, msgspec.json.Encoder().encode_lines(cases), renews=True)
    unreviewed = [case for case in cases if case.unreviewed]
    table = digest(sorted(case.id for case in unreviewed))
    lines = []
    for case in unreviewed:
        said = "\n".join(f"{m['role']}: {message_text(m)}" for m in case.messages)
        expected = calls_text([msgspec.structs.asdict(call) for call in case.expect or ()])
        lines.append((case.id, said, expected, table))
    heads, place = _COLUMNS[:3], folder / REVIEW
    written = write_table(place, _COLUMNS, lines, _TITLE, _TEXT, heads, lambda line: line[:3], True)
    return [folder / CASES, *written]


def _struck(folder: Path) -> bytes:
    """The keys of cases that a person has struck out, a line each, so that none comes back."""
    path = folder / REVIEW / STRUCK
    return read_input(path) if path.exists() else b""


def _key(case: Case) -> bytes:
    """What makes two cases one: the conversation, and what was called."""
    return msgspec.json.encode([case.messages, case.expect], order="deterministic")


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    """Requests and spans, each with where it stands; of other spans ``{"$other": true}``."""
    for place, document in _documents(path):
        listed = document if isinstance(document, list) else [document]
        for i, record in enumerate(listed):
            where = f"{place}: [{i}]" if isinstance(document, list) else place
            try:
                spans = list(_spans(record))
            except _ERRORS:  # no span, which its case will say
                spans = []
            if not spans:
                yield where, record
            for number, attributes in enumerate(spans, 1):
                yield f"{where}: span {number}", attributes


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


def _spans(record: Any) -> Iterator[Json]:
    """The attributes of each span in a record, which may be one, with those of its events."""
    if not isinstance(record, dict):
        return
    parts = ("resourceSpans", "scopeSpans", "spans", "resourceLogs", "scopeLogs", "logRecords")
    for inner in parts:
        for part in record.get(inner) or ():
            yield from _spans(part)
    if "attributes" not in record or any(inner in record for inner in parts):
        return
    attributes = _attributes(record["attributes"])
    said, answers = [], []
    for event in record.get("events") or ():
        name, of_event = event.get("name"), _attributes(event.get("attributes") or {})
        if name in _EVENTS:
            said.append({"role": _EVENTS[name], **_of_event(of_event)})
        elif name == _CHOICE:
            answers.append({"role": "assistant", **_of_event(of_event)})
        else:
            attributes |= {k: v for k, v in of_event.items() if k.startswith("gen_ai.")}
    if said:
        attributes |= {_INPUT: said, **({_OUTPUT: answers} if answers else {})}
    operation = attributes.get("gen_ai.operation.name")
    kind = attributes.get("openinference.span.kind") or attributes.get("llm.request.type")
    is_model = any(key.startswith(("gen_ai.", "llm.")) for key in attributes)
    if not is_model or operation not in (None, *_ASKING) or kind not in (None, "LLM", "chat"):
        yield {"$other": True}
    else:
        yield {"$name": record.get("name", ""), **attributes}


def _of_event(attributes: Json) -> Json:
    """A message that is an event: its fields are attributes, or stand in one as text."""
    message = _json(attributes.get("message")) or attributes
    calls = _json(message.get("tool_calls"))
    fields = {"content": message.get("content")}
    fields |= {"tool_calls": calls} if calls else {}
    return fields | ({"tool_call_id": message["id"]} if message.get("id") and not calls else {})


def _attributes(written: Any) -> Json:
    """The attributes of a span or an event, as OTLP has them or as plain JSON."""
    if isinstance(written, list):
        return {item["key"]: _value(item["value"]) for item in written}
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


def _case(record: Any, place: str) -> tuple[Case, bool]:
    """The case of a request and its response, or of a span; whether a text looks like calls."""
    try:
        if not isinstance(record, dict):
            raise ValueError(f"found {json.dumps(record):.60}")
        if "$name" in record:
            messages, answer = _of_span(record)
            name, dialogue = "", record.get(_CONVERSATION, "")
        else:
            request = _body(record.get("request", record))
            if "messages" not in request and "input" not in request:
                raise ValueError(f"found no messages in {', '.join(request)[:100] or 'nothing'}")
            if request.get("previous_response_id"):
                raise ValueError("found previous_response_id, and not the conversation before it")
            if not record.get("response"):
                raise ValueError("found no response")
            messages = chat_messages(request)
            answer, name, dialogue = _body(record["response"]), record.get("custom_id", ""), ""
        calls, counts = read_calls(answer)
        if not messages:
            raise ValueError("found no messages")
        if counts["unread"]:
            raise ValueError(f"found the answer {beginning(answer)!r:.200}, which is unread")
    except _ERRORS as error:
        found = f"found no {error}" if isinstance(error, KeyError) else str(error)
        expected = "expected a request with messages and a response, or a span of a model's call"
        raise SgdxError(f"{place}: {found}, {expected}") from None
    expect = tuple(ExpectedCall(c.name, as_expected(c.arguments)) for c in calls)
    name = str(name) or f"{Path(place.split(':')[0]).stem}-{_digest(messages)}"
    case = Case(name, tuple(messages), expect or None, dialogue=str(dialogue), unreviewed=True)
    return case, bool(counts["text_calls"])


def _of_span(attributes: Json) -> tuple[list[Json], Json]:
    """The conversation of a span, and its answer as a chat completion."""
    said, answers, system = attributes.get(_INPUT), attributes.get(_OUTPUT), []
    if said is None:
        for asked, answered in _DOTTED.items():
            if listed := _dotted(attributes, asked):
                said, answers = listed, _dotted(attributes, answered)
    if said is None and isinstance(attributes.get("gen_ai.prompt"), str):  # of an older event
        said, answers = attributes["gen_ai.prompt"], attributes.get("gen_ai.completion")
    if said is None:
        raise ValueError(f"found the span {attributes['$name']!r} without content, which is off")
    if not answers:
        raise ValueError(f"found the span {attributes['$name']!r} without an answer")
    if parts := _json(attributes.get(_SYSTEM)):
        system = chat_messages_of("system", parts)
    (answer, *_) = _json(answers)
    end = answer.get("finish_reason")
    *_, message = chat_messages([{"role": "assistant", **answer}])
    choice = {"message": message, "finish_reason": end}
    return [*system, *chat_messages(_json(said))], {"choices": [choice]}


def _dotted(attributes: Json, prefix: str) -> list[Json]:
    """The messages that attributes have as ``PREFIX.0.role`` and the like."""
    tree: Json = {}
    for key, value in attributes.items():
        if key.startswith(f"{prefix}."):
            *path, last = key.removeprefix(f"{prefix}.").split(".")
            node = tree
            for step in path:
                node = node.setdefault(step, {})
            node[last] = value
    messages = []
    for node in _listed(tree):
        found = node.get("message", node)  # OpenInference has one step more
        contents = [part["message_content"] for part in _listed(found.get("contents", {}))]
        calls = []
        for of_call in _listed(found.get("tool_calls", {})):
            call = of_call.get("tool_call", of_call)
            function = call.get("function", call)
            calls.append(
                {
                    "id": call.get("id", ""),
                    "type": "function",
                    "function": {
                        "name": function["name"],
                        "arguments": function.get("arguments"),
                    },
                }
            )
        message = {"role": found["role"], "content": contents or found.get("content")}
        message |= {"tool_calls": calls} if calls else {}
        kept = {key: found[key] for key in ("tool_call_id", "finish_reason") if key in found}
        messages.append(message | kept)
    return messages


def _listed(tree: Json) -> list[Json]:
    """The values of a tree whose keys are numbers, in their order."""
    return [tree[key] for key in sorted(tree, key=int)]


def _json(value: Any) -> Any:
    """Messages, which a span may have as text."""
    return parse_text(value) if isinstance(value, str) else value


def _body(record: Json) -> Json:
    body: Json = record.get("body", record)
    return body


def _digest(messages: Sequence[Json]) -> str:
    return hashlib.sha256(json.dumps(messages).encode()).hexdigest()[:8]
