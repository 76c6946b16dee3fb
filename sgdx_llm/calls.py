"""The calls of an answer, and of the messages before it, in whichever form they are written.

One reader for answers of servers, logs, lines of programs and batch files. It makes the form of
OpenAI's chat completions of the others: of OpenAI's Responses, of Anthropic's messages, of the
parts of OpenTelemetry's spans, and of what a program says. ``calls_in_text`` reads the forms in
which models write calls into their text, where their server does not know them.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sgdx_dataset.io.json import check_value, parse_at, parse_text

Json = dict[str, Any]

# Kinds of parts of a message, and of items of a conversation.
_TEXTS = ("text", "input_text", "output_text")
_CALLS = ("tool_call", "tool_use", "function_call")
_RESULTS = ("tool_call_response", "tool_result", "function_call_output")
_THOUGHTS = ("reasoning", "thinking", "redacted_thinking")  # later requests do not show them again
# Why an answer ended, in Responses' and Anthropic's words, as a chat completion says it.
_ENDS = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "failed": "error",
}
_OLD_ID = "function_call"  # old calls have no id; their result comes next

# A text is searched for calls no further: in characters, and in places where JSON may begin.
_LONGEST_TEXT, _MOST_PLACES = 100_000, 1000
# What stands before a call in a model's template, and after it.
_OPEN = re.compile(
    r"<tool_calls?>|<\|tool_calls?\|>|<\|python_(?:tag|start)\|>|\[TOOL_CALLS\]|functools(?=\[)"
    r"|<function=|<function_calls?>|<(?:antml:)?invoke |to=functions\."
    "|<\uff5ctool\u2581calls?\u2581begin\uff5c>"  # of DeepSeek
)
_CLOSED = re.compile(
    r"</tool_calls?>|<\|/?tool_calls?(?:_end)?\|>|<\|python_end\|>|<\|eo[mt]_id\|>|```(?:\w+)?"
)
_MARKED = re.compile(rf"(?:{_OPEN.pattern})\s*\Z")
_EMPTY = re.compile(rf"(?:{_OPEN.pattern})(?=[\s;,]*(?:\Z|{_OPEN.pattern}|{_CLOSED.pattern}))")
_PLACE = re.compile(r"[\[{]")
_TAGGED = re.compile(r"<function=([^>\s]+)>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_NAMED = re.compile(r"\[TOOL_CALLS\]\s*([\w.-]+)\s*(?:\[CALL_ID\][\w-]*)?(?:\[ARGS\])?\s*\Z")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_PYTHON = re.compile(r"\[?\s*[A-Za-z_][\w.]*\(")
_PYTHON_LIST = re.compile(r"\[\s*[A-Za-z_][\w.]{0,100}\(\s*\w{1,100}\s*=")
# A definition of a function, which has a description, is no call.
_JSON_CALL = re.compile(
    r'"name"\s*:(?:(?!"description")[^{}]){0,300}"(?:arguments|parameters)"\s*:'
)
# A model that thinks may draft an answer before it gives one. Its template may have written the
# opening tag into the prompt, so that the answer has the closing one alone.
_THOUGHT, _OPEN_THOUGHT = "</think>", "<think>"


class Call(NamedTuple):
    """A call: the function's name, and the values of its arguments by their names."""

    name: str
    arguments: Json


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


def with_plain_calls(message: Json) -> Json:
    """A message whose calls stand in ``tool_calls``, with an object in JSON as their arguments.

    The old ``function_call`` is one too, and its result, of the role ``function``, a tool's.
    """
    message = dict(message)
    old = message.pop("function_call", None)
    listed = message.pop("tool_calls", None)
    if old and not listed:
        listed = [{"id": _OLD_ID, "type": "function", "function": old}]
    if message.get("role") == "function":
        message |= {"role": "tool", "tool_call_id": _OLD_ID}
    if not listed:
        return message
    calls = []
    for call in listed:
        function = call["function"]
        arguments = function.get("arguments")
        values = decode_arguments(arguments)
        if not isinstance(arguments, str) or parse_or_none(arguments) != values:
            arguments = json.dumps(values, ensure_ascii=False)
        calls.append(call | {"function": function | {"arguments": arguments}})
    return message | {"tool_calls": calls}


def parse_or_none(text: str) -> Any:
    """The JSON in a text; None where it is none."""
    try:
        return parse_text(text)
    except ValueError:
        return None


def chat_messages(conversation: Any) -> list[Json]:
    """The messages of a request, of a span, or of one side of it, as OpenAI's chat takes them.

    Raises one of several errors, such as ``ValueError``, where there is more than text and calls.
    """
    if isinstance(conversation, dict):  # a request, of which Responses has `input`
        system = conversation.get("instructions", conversation.get("system"))
        listed = conversation["messages"] if "messages" in conversation else conversation["input"]
        return [*(chat_messages_of("system", system) if system else ()), *chat_messages(listed)]
    if isinstance(conversation, str):
        return [{"role": "user", "content": conversation}]
    messages: list[Json] = []
    for item in conversation:
        if "role" not in item:  # Responses list calls and results beside the messages
            messages += chat_messages_of("assistant", [item])
        else:
            messages += _of_message(item)
    return messages


def _of_message(message: Json) -> list[Json]:
    content = message.get("parts", message.get("content"))
    kept = {
        key: message[key]
        for key in ("tool_calls", "function_call", "tool_call_id", "name")
        if message.get(key)
    }
    if isinstance(content, str) or content is None:
        return [with_plain_calls({"role": message["role"], "content": content, **kept})]
    messages = chat_messages_of(message["role"], content)
    if kept:
        last = messages.pop() if messages else {"role": message["role"], "content": None}
        messages.append(with_plain_calls(last | kept))
    return messages


def chat_messages_of(role: str, content: Any) -> list[Json]:
    """The messages of parts: results first, each a message of its own, then text and calls."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts, calls, messages = [], [], []
    for part in parts:
        kind = part["type"]
        if kind in _TEXTS:
            texts.append(part["text"] if "text" in part else part["content"])
        elif kind in _CALLS:
            arguments = part.get("arguments", part.get("input"))
            text = json.dumps(decode_arguments(arguments), ensure_ascii=False)
            function = {"name": part["name"], "arguments": text}
            name = part.get("call_id") or part.get("id") or ""
            calls.append({"id": name, "type": "function", "function": function})
        elif kind in _RESULTS:
            found = [part[k] for k in ("output", "response", "result", "content") if k in part]
            result = found[0] if found else ""
            if isinstance(result, list) and all("text" in part for part in result):
                result = "\n".join(part["text"] for part in result)
            text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
            of = part.get("call_id") or part.get("tool_use_id") or part.get("id") or ""
            messages.append({"role": "tool", "tool_call_id": of, "content": text})
        elif kind == "refusal":
            texts.append(part["refusal"])
        elif kind not in _THOUGHTS:
            raise ValueError(f"a part of type {kind}")
    if texts or calls:
        more = {"tool_calls": calls} if calls else {}
        messages.append({"role": role, "content": "\n".join(texts) if texts else None, **more})
    return messages


def chat_completion(body: Any) -> Any:
    """An answer as a chat completion: one of Responses, of Anthropic's, or a program's ``calls``.

    What has none of these forms stays as it is; ``{"unread": WHY}`` where a part cannot be read.
    """
    if not isinstance(body, dict) or body.get("error"):
        return body
    if isinstance(body.get("calls"), list):
        calls = [{"type": "function", "function": call} for call in body["calls"]]
        return _completion({"content": None, "tool_calls": calls}, "stop")
    output = body.get("output", body.get("content"))
    if not isinstance(output, list) or "choices" in body:
        return body
    try:
        # An answer of Responses is a list of items, one of Anthropic's the parts of a message.
        messages = chat_messages(output) if "output" in body else chat_messages_of("", output)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        return {"unread": f"{error!r:.200}"}
    texts = [message["content"] for message in messages if message.get("content")]
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    why = body.get("stop_reason") or (body.get("incomplete_details") or {}).get("reason")
    end = _ENDS.get(why or body.get("status") or "", "stop")
    return {
        **{key: body[key] for key in ("model", "usage") if key in body},
        **_completion({"content": "\n".join(texts) or None, "tool_calls": calls}, end),
    }


def _completion(message: Json, end: str) -> Json:
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": end}]}


def _text(message: Json) -> str:
    """The text of a message, which may come in parts."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def has_text(message: Json) -> bool:
    """Whether a message has any text."""
    return bool(_text(message).strip())


def answer_text(message: Json) -> str:
    """The text of a message without the model's thinking: what comes after its last end."""
    text = _text(message)
    if parse_or_none(text) is not None:  # whose values may have any text
        return text
    return text.rpartition(_THOUGHT)[2].partition(_OPEN_THOUGHT)[0]


def listed_calls(message: Json) -> list[tuple[Any, Any]]:
    """The name and the arguments of each call of a message, as they are written.

    None stands for both where an entry is no call of a function.
    """
    listed = message.get("tool_calls")
    if not listed and message.get("function_call"):
        listed = [{"function": message["function_call"]}]
    content = message.get("content")
    if not listed and isinstance(content, list):  # as some gateways pass on Anthropic's
        listed = [
            {"function": {"name": part.get("name"), "arguments": part.get("input")}}
            for part in content
            if isinstance(part, dict) and part.get("type") in _CALLS
        ]
    if not isinstance(listed, list):
        return [(None, None)] if listed else []
    functions = [call.get("function") if isinstance(call, dict) else None for call in listed]
    return [
        (f.get("name"), f.get("arguments")) if isinstance(f, dict) else (None, None)
        for f in functions
    ]


def calls_in_text(text: str) -> tuple[list[Call], bool]:
    """The calls that are written in a text, and whether more looks like a call and is not read.

    Known are a JSON object with ``name`` and ``arguments`` or ``parameters``, alone, in a list, in
    a tag such as ``<tool_call>`` or after one such as ``<|python_tag|>``; Mistral's
    ``[TOOL_CALLS]``, with a list or with name and ``[ARGS]``; ``<function=NAME>`` with JSON or with
    ``<parameter=KEY>``; and ``[get_weather(city="Rome")]``.
    """
    if len(text) > _LONGEST_TEXT:
        return [], looks_like_calls(text)
    found: list[tuple[int, Call]] = []  # each with where it begins

    def read_tagged(match: re.Match[str]) -> str:
        name, inside = match.groups()
        try:
            if inside.strip().startswith("{"):
                arguments = decode_arguments(inside)
            else:
                within, close, after = inside.rpartition("</parameter>")
                pairs = _PARAMETER.findall(within + close)
                arguments = {key.strip(): _plain_value(value) for key, value in pairs}
                check_value(arguments)
                left = _PARAMETER.sub("", within + close) + after
                if left.strip() or len(arguments) < len(pairs):
                    return match[0]
        except ValueError:
            return match[0]
        found.append((match.start(), Call(name, arguments)))
        return " " * len(match[0])  # so that places stay

    tagged, close, rest = text.rpartition("</function>")
    rest = _TAGGED.sub(read_tagged, tagged + close) + rest
    for start, end, calls in _json_calls(rest):
        found += [(start, call) for call in calls]
        rest = rest[:start] + " " * (end - start) + rest[end:]
    if not found:
        bare = _CLOSED.sub("", _OPEN.sub("", text)).strip()
        calls = _python_calls(bare) if _PYTHON.match(bare) else []
        if calls:
            return calls, False
    # Of what was read, opening marks stay, with nothing behind them but the next mark.
    calls = [call for _, call in sorted(found, key=lambda one: one[0])]
    return calls, looks_like_calls(_EMPTY.sub(" ", rest))


def looks_like_calls(text: str) -> bool:
    """Whether a call may be written in a text, in a form that is known or not."""
    bare = text.strip()
    python = _PYTHON.match(bare) and bare.startswith("[") and bare.endswith(")]")
    forms = (_OPEN, _JSON_CALL, _PYTHON_LIST)
    return bool(python) or any(form.search(text) for form in forms)


def _json_calls(text: str) -> Iterator[tuple[int, int, list[Call]]]:
    """Where each JSON value that is a call or a list of calls begins and ends, and the calls."""
    start = 0
    for _ in range(_MOST_PLACES):
        place = _PLACE.search(text, start)
        if place is None:
            return
        begin = place.start()
        start = begin + 1
        before = text[max(begin - 200, 0) : begin]
        named = _NAMED.search(before)
        try:
            value, end = parse_at(text, begin)
            if named and isinstance(value, dict):
                begin -= len(before) - named.start()
                calls = [Call(named[1], decode_arguments(value))]
            else:
                is_marked = bool(_MARKED.search(before))
                values = value if isinstance(value, list) else [value]
                calls = [_json_call(one, is_marked) for one in values]
        except (ValueError, LookupError, TypeError, AttributeError):
            continue
        if calls:
            yield begin, end, calls
            start = end


def _json_call(value: Json, is_marked: bool) -> Call:
    """The call that a JSON object is; raises one of several errors where it is none."""
    value = value["function"] if isinstance(value.get("function"), dict) else value
    given = [value[key] for key in ("arguments", "parameters") if key in value]
    if not isinstance(value["name"], str) or "description" in value or not (given or is_marked):
        raise ValueError("no call")
    check_value(value["name"])
    return Call(value["name"], decode_arguments(given[0] if given else None))


def _plain_value(text: str) -> Any:
    """A value in a tag: JSON, or text that stands there as it is."""
    value = parse_or_none(text)
    return text if value is None and text.strip() != "null" else value


def _python_calls(text: str) -> list[Call]:
    """The calls in a list of Python, or a call alone, whose arguments are literals with names."""
    try:
        with warnings.catch_warnings():  # such as of a backslash in a text
            warnings.simplefilter("ignore")
            body = ast.parse(text, mode="eval").body
        listed: Sequence[ast.expr] = body.elts if isinstance(body, ast.List | ast.Tuple) else [body]
        calls = []
        for node in listed:
            if not isinstance(node, ast.Call) or node.args:
                return []
            arguments = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords if k.arg}
            if len(arguments) < len(node.keywords):
                return []
            # Tuples and sets are no JSON.
            name = ast.unparse(node.func).removesuffix(".call")  # as Llama calls built-in tools
            calls.append(Call(name, json.loads(json.dumps(arguments))))
            check_value(calls[-1].arguments)
            if not _NAME.fullmatch(calls[-1].name):
                return []
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return []
    return calls
