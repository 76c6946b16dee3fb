"""A conversation: the messages of any interface, as one list in the form of OpenAI's chat.

``read_messages`` knows the messages and parts of OpenAI's chat completions and Responses, of
Anthropic, Bedrock, Gemini, LangChain, and of OpenTelemetry's and OpenInference's spans. What it
does not know raises ``ValueError`` with its name, so that nothing of a conversation is lost
without a word. ``checked`` refuses what a provider would refuse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any

from sgdx_dataset.io.json import check_value, parse_text

Json = dict[str, Any]

# Who speaks, by the words of all interfaces.
_ROLES = {
    **{role: role for role in ("system", "developer", "user", "assistant", "tool")},
    **{"human": "user", "function": "tool"},  # the second of OpenAI's first calls
    **dict.fromkeys(("ai", "model", "gpt", "chatbot"), "assistant"),
}
# What a part of a message is, by its type, or by its key where it has no type.
_KINDS = {
    **dict.fromkeys(("text", "input_text", "output_text", "refusal"), "text"),
    **dict.fromkeys(("tool_call", "tool_use", "function_call", "tool-call"), "call"),
    **dict.fromkeys(("toolUse", "functionCall"), "call"),
    **dict.fromkeys(("tool_call_response", "tool_result", "function_call_output"), "result"),
    **dict.fromkeys(("tool-result", "toolResult"), "result"),
    **dict.fromkeys(("functionResponse", "function_response"), "result"),
    # Later requests do not show thoughts again, and marks of a cache say nothing.
    **dict.fromkeys(("reasoning", "thinking", "redacted_thinking", "reasoningContent"), "thought"),
    **dict.fromkeys(("thought", "cachePoint"), "thought"),
}
# Under which of its keys a part has what.
_TEXT = ("text", "content", "refusal")
_ID = ("call_id", "tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "id")
_NAME, _ARGUMENTS = ("name", "toolName", "tool_name"), ("arguments", "input", "args")
_RESULT = ("output", "response", "result", "content")
_CALL_TYPES = ("function", *(kind for kind, what in _KINDS.items() if what == "call"))
# Objects and lists beside a message's text and calls that say nothing to the model.
_BESIDE = re.compile(
    r"annotations|audio_tokens|cache_control|citations|example|id|lc_.*|logprobs|.*metadata|"
    r"provider_.*|providerOptions|reasoning.*|thinking.*|usage|additional_kwargs|artifact|"
    r"response_.*"
)
# What a result may hold that is no text: its data would be sent as text.
_MEDIA = re.compile(r"(input_|output_)?(image|audio|video|file|document|media)(_url)?|resource")
_MEDIA_KEYS = {
    *(
        "source",
        "data",
        "image_url",
        "file_data",
        "file_id",
        "file",
        "input_audio",
        "image",
        "blob",
    ),
    *("inlineData", "inline_data", "fileData", "resource"),
}
_DATA_ADDRESS = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,")
# Where a request has its messages, and what it says before them.
_LISTS = ("messages", "input", "contents")
_SYSTEM = ("instructions", "system", "systemInstruction", "system_instruction")
# What stands for a conversation, or for a part of it, that is not in the request.
_ELSEWHERE = ("previous_response_id", "conversation", "cachedContent", "cached_content")


def conversation_of(request: Json) -> list[Json]:
    """The checked messages of a request to any interface."""
    if elsewhere := [key for key in _ELSEWHERE if request.get(key)]:
        raise ValueError(f"found {elsewhere[0]}, and not the conversation that it stands for")
    key = next((key for key in _LISTS if request.get(key)), None)
    if key is None:
        raise ValueError(f"found no messages in {', '.join(request)[:100] or 'nothing'}")
    listed = request[key]
    system = next((request[key] for key in _SYSTEM if request.get(key)), None)
    before = [] if system is None else [_system(system)]
    return checked([*before, *read_messages(listed)])


def _system(written: Any) -> Json:
    parts = written.get("parts", written.get("content")) if isinstance(written, dict) else written
    (message,) = read_messages([{"role": "system", "content": parts}])
    return message


def read_messages(listed: Any) -> list[Json]:
    """Messages in OpenAI's form, of a list in any; not checked yet.

    Raises one of several errors, such as ``ValueError``, about what is not known.
    """
    if isinstance(listed, str):
        return [{"role": "user", "content": listed}]
    if not isinstance(listed, list):
        raise ValueError(f"found {json.dumps(listed):.60}, expected messages")
    return [message for item in listed for message in _messages_of(_plain(item))]


def _plain(item: Any) -> Json:
    """A message whose role is under ``role``, of one in the structure of some program."""
    if isinstance(item, str):
        return {"role": "user", "content": item}
    if not isinstance(item, dict):
        raise ValueError(f"found {json.dumps(item):.60}, expected a message")
    if any("." in key for key in item):  # such as message.role, of tables of Phoenix
        item = nested(item)
    if "role" in item or "message" in item:
        inner = item.get("message")
        return item if "role" in item or not isinstance(inner, dict) else _plain(inner)
    if "from" in item:  # ShareGPT
        return {"role": item["from"], "content": item.get("value")}
    if isinstance(inner := item.get("kwargs"), dict) and item.get("lc"):  # LangChain's own JSON
        kind = re.sub(r"Message(Chunk)?$", "", str((item.get("id") or [""])[-1])).lower()
        return {**inner, "role": inner.get("role", kind)}
    if isinstance(inner := item.get("data"), dict):  # LangChain's messages_to_dict
        return {**inner, "role": item.get("type")}
    if item.get("type") in _KINDS:  # Responses list calls and results beside the messages
        return {"role": "assistant", "content": [item]}
    role = re.sub(r"MessageChunk$", "", str(item.get("type"))).lower()  # LangChain's, flat
    return {**item, "role": role if "type" in item else None}


def nested(flat: Json) -> Json:
    """An object whose keys are dotted paths as a tree; keys that are numbers make lists."""
    tree: Json = {}
    for key, value in flat.items():
        *path, last = key.split(".")
        node = tree
        for step in path:
            inner = node.get(step)
            node[step] = node = inner if isinstance(inner, dict) else {}
        if not isinstance(node.get(last), dict):  # what has more below it is no value itself
            node[last] = value
    return {key: _lists(value) for key, value in tree.items()}


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {key: _lists(part) for key, part in value.items()}
    if inner and all(key.isdecimal() for key in inner):
        return [inner[key] for key in sorted(inner, key=int)]
    return inner


def _messages_of(message: Json) -> Iterator[Json]:
    """The messages of one: its results first, each a message of its own, then text and calls."""
    role = _ROLES.get(str(message.get("role") or "").lower())
    if role is None:
        raise ValueError(f"found a message of role {message.get('role')!r:.60}")
    known = ("role", "parts", "content", "contents", "tool_calls", "function_call", "type")
    for key, value in message.items():
        is_more = key not in known and isinstance(value, dict | list) and bool(value)
        if is_more and not _BESIDE.fullmatch(key):
            raise ValueError(f"found {key} in a message")
    keys = ("parts", "content", "contents", "refusal")
    content = next((message[key] for key in keys if message.get(key)), message.get("content"))
    parts = content if isinstance(content, list) else [content]
    name = {"name": message["name"]} if message.get("name") else {}
    if role == "tool" and not any(isinstance(p, dict) and _kind(p)[1] == "result" for p in parts):
        of = _first(message, _ID[1:-1]) or ""
        yield _result({"tool_call_id": of, "content": content, **name})
        return
    texts, calls, results = read_parts(content)
    extra = message.get("additional_kwargs")  # LangChain's, what the provider said
    listed = [read_call(call) for call in _calls_of(message) or _calls_of(extra or {})]
    ids = {call["id"] for call in listed if call["id"]}
    if listed and (doubled := [call for call in calls if call["id"] not in ids]):
        raise ValueError(f"found the call of {doubled[0]['function']['name']} beside tool_calls")
    calls = listed or calls
    yield from results
    if texts or calls or content in (None, []):
        named = name if role == "user" else {}
        of_calls = {"tool_calls": calls} if calls else {}
        yield {"role": role, "content": "\n".join(texts) if texts else None, **named, **of_calls}


def _calls_of(message: Json) -> list[Any]:
    """The calls that a message lists beside its content."""
    if message.get("invalid_tool_calls"):
        raise ValueError("found invalid_tool_calls")
    old, listed = message.get("function_call"), message.get("tool_calls") or []
    if not isinstance(listed, list):
        raise ValueError(f"found the calls {json.dumps(listed):.60}")
    return listed or ([old] if old else [])


def read_parts(content: Any, is_result: bool = False) -> tuple[list[str], list[Json], list[Json]]:
    """The texts, calls and results of a message's content."""
    texts, calls, results = list[str](), list[Json](), list[Json]()
    if content is None:
        return texts, calls, results
    parts = content if isinstance(content, list) else [content]
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        if not isinstance(part, dict):
            raise ValueError(f"found the part {json.dumps(part):.60}")
        part = part.get("message_content", part)  # OpenInference has one step more
        kind, what = _kind(part)
        if what == "text":
            texts.append(str(_first(part, _TEXT) or ""))
        elif what == "call":
            calls.append(read_call(part if "type" in part else part[kind]))
        elif what == "result":
            results.append(_result(part if "type" in part else part[kind]))
        elif what is None and is_result and "json" in part:
            texts.append(json.dumps(part["json"], ensure_ascii=False))
        elif what is None:
            raise ValueError(f"found a part of type {kind}")
    return texts, calls, results


def _kind(part: Json) -> tuple[str, str | None]:
    """The type or the key of a part, and what that is; None where it is not known."""
    if isinstance(part.get("type"), str):
        return part["type"], _KINDS.get(part["type"])
    if part.get("thought") is True:  # of Gemini: a text that the model has thought
        return "thought", "thought"
    found = [key for key in part if key in _KINDS and key not in ("thought", "refusal")]
    kind = found[0] if len(found) == 1 else ", ".join(part) or "nothing"
    return kind, _KINDS.get(kind)


def read_call(written: Any) -> Json:
    """A call in OpenAI's form; its ``id`` is empty where it has none."""
    written = nested(written) if any("." in key for key in written) else written
    call = written.get("tool_call", written)
    if call.get("type", "function") not in _CALL_TYPES:
        raise ValueError(f"found a call of type {call['type']!r:.60}")
    function = call["function"] if isinstance(call.get("function"), dict) else call
    name = _first(function, _NAME)
    if not isinstance(name, str) or not name:
        raise ValueError("found a call without a name")
    arguments = decode_arguments(_first(function, _ARGUMENTS))
    text = json.dumps(arguments, ensure_ascii=False)
    own = str(_first(call, _ID) or "")
    return {"id": own, "type": "function", "function": {"name": name, "arguments": text}}


def _result(part: Json) -> Json:
    """The message of a call's result. Pictures and files in it are refused."""
    found = _first(part, _RESULT)
    if isinstance(found, dict) and found.keys() == {"type", "value"}:  # Vercel's
        found = found["value"]
    refuse_media(found)
    if isinstance(found, list) and found and all(isinstance(p, dict) for p in found):
        with suppress(ValueError):  # data of the tool's own
            found = "\n".join(read_parts(found, is_result=True)[0])
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    name = {"name": part["name"]} if part.get("name") else {}
    of = str(_first(part, _ID) or "")
    return {"role": "tool", "tool_call_id": of, "content": "" if found is None else text, **name}


def refuse_media(value: Any) -> None:
    """Raise ``ValueError`` where a result has a picture or a file in it."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            kind = part.get("type")
            is_media = isinstance(kind, str) and _MEDIA.fullmatch(kind)
            keys = _MEDIA_KEYS & part.keys()
            if (is_media and keys) or keys & {"inlineData", "inline_data", "fileData"}:
                raise ValueError(f"found {kind or sorted(keys)[0]} in the result of a call")
            if any(isinstance(part.get(key), dict) and "source" in part[key] for key in keys):
                raise ValueError(f"found {sorted(keys)[0]} in the result of a call")
            pending += part.values()
        elif isinstance(part, list):
            pending += part
        elif isinstance(part, str) and _DATA_ADDRESS.search(part[:1000]):
            raise ValueError("found a file in the result of a call")


def _first(record: Json, keys: Iterable[str]) -> Any:
    """The value of the first key that a record has one for."""
    return next((record[key] for key in keys if record.get(key) is not None), None)


def decode_arguments(written: Any) -> Json:
    """The arguments of a call, most often JSON in a text; ``ValueError`` where they are none.

    A call without arguments has them as null, ``""``, ``[]``, the same in a text, or not at all.
    """
    values = parse_text(written) if isinstance(written, str) and written.strip() else written
    if values is None or values in ([], {}) or (isinstance(values, str) and not values.strip()):
        return {}
    if not isinstance(values, dict):
        raise ValueError(f"found the arguments {written!r:.100}, expected an object")
    check_value(values)
    return values


# ---- what a provider takes


def checked(messages: Iterable[Json]) -> list[Json]:
    """Messages in OpenAI's form that a provider takes; ``ValueError`` says where one would not.

    The calls of a turn stand in one message, each has an id, and its result follows. Ids are made
    where there are none; a result without one is that of the next call, of its name if it has one.
    """
    listed = list[Json]()
    pending, made = dict[str, str](), count(1)  # calls without a result yet: the name by the id
    for i, original in enumerate(messages):
        where, message = f"messages[{i}]", dict(original)
        if message.get("role") == "function":  # of OpenAI's first calls
            message["role"] = "tool"
        role, old = message.get("role"), message.pop("function_call", None)
        calls = message.pop("tool_calls", None) or (
            [{"type": "function", "function": old}] if old else []
        )
        if not isinstance(role, str) or role not in {*_ROLES.values()}:
            expected = ", ".join(dict.fromkeys(_ROLES.values()))
            raise ValueError(f"{where}: role is {role!r:.60}, expected one of {expected}")
        if calls and (role != "assistant" or not isinstance(calls, list)):
            raise ValueError(f"{where}: found the tool_calls {calls!r:.60} of the role {role}")
        _check_content(message, bool(calls), where)
        if role == "tool":
            listed.append(message | {"tool_call_id": _result_of(message, pending, where)})
            continue
        if pending and role != "assistant":
            raise ValueError(f"{where}: {_without_result(pending)}")
        if calls:
            message["tool_calls"] = _with_ids(calls, pending, made, where)
        before = listed[-1] if listed else {}
        if role == before.get("role") == "assistant" and (calls or before.get("tool_calls")):
            listed[-1] = _joined(before, message)  # parts of one turn
        else:
            listed.append(message)
    if pending:
        raise ValueError(f"messages: {_without_result(pending)}")
    if not listed:
        raise ValueError("found no messages")
    return listed


def _result_of(message: Json, pending: dict[str, str], where: str) -> str:
    """The id of the call whose result a message is, which is pending no more."""
    of, name = message.get("tool_call_id"), message.get("name")
    if not of:
        named = [call for call, function in pending.items() if function == name]
        of = next(iter(named or pending), None)
    if not isinstance(of, str) or pending.pop(of, None) is None:
        raise ValueError(f"{where}: found a result of {of or name!r:.60}, and no such call")
    return of


def _without_result(pending: dict[str, str]) -> str:
    call, name = next(iter(pending.items()))
    return f"the call {call} of {name} has no result"


def _with_ids(
    calls: list[Any], pending: dict[str, str], made: Iterator[int], where: str
) -> list[Json]:
    """The calls of a message, each with an id, which are pending now."""
    listed = []
    for written in calls:
        try:
            call = _plain_call(written)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise ValueError(f"{where}: tool_calls: {error}") from None
        if call.get("id") in pending:
            raise ValueError(f"{where}: two calls have the id {call['id']}")
        if not call.get("id"):
            free = next(name for n in made if (name := f"call_{n}") not in pending)
            call = {"id": free} | call | {"id": free}
        pending[call["id"]] = call["function"]["name"]
        listed.append(call)
    return listed


def _check_content(message: Json, has_calls: bool, where: str) -> None:
    content, role = message.get("content"), message["role"]
    if content is None and not has_calls:
        raise ValueError(f"{where}: content: found none, expected text")
    if not isinstance(content, str | list | None):
        raise ValueError(f"{where}: content: found {content!r:.100}, expected text")
    for part in content if isinstance(content, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in ("text", "refusal") and (role != "user" or not isinstance(kind, str)):
            raise ValueError(f"{where}: content: found a part {kind!r:.60} of the role {role}")


def _plain_call(call: Json) -> Json:
    """A call whose arguments are an object as JSON; what is that already stays as it is."""
    function = call["function"]
    if not isinstance(function["name"], str):
        raise ValueError(f"found the name {function['name']!r:.60}")
    arguments = function.get("arguments")
    values = decode_arguments(arguments)
    if not isinstance(arguments, str) or parse_or_none(arguments) != values:
        arguments = json.dumps(values, ensure_ascii=False)
    return call | {"function": function | {"arguments": arguments}}


def _joined(first: Json, second: Json) -> Json:
    """Two messages of one turn as one."""
    texts = [m["content"] for m in (first, second) if m.get("content")]
    if any(not isinstance(text, str) for text in texts):
        texts = [part for text in texts for part in _as_parts(text)]
        content: Any = texts
    else:
        content = "\n".join(texts) or None
    calls = [call for m in (first, second) for call in m.get("tool_calls", ())]
    return {**first, **second, "content": content, "tool_calls": calls}


def _as_parts(content: Any) -> list[Json]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def parse_or_none(text: str) -> Any:
    """The JSON in a text; None where it is none."""
    try:
        return parse_text(text)
    except ValueError:
        return None
