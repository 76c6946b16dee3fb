"""The calls that a model wrote into its text, where its server does not know their form.

``calls_in_text`` reads the forms of common models' templates, and says whether there is more that
looks like a call.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sgdx_dataset.io.json import check_value, parse_at

from .calls import Json, decode_arguments, parse_or_none

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


class Call(NamedTuple):
    """A call: the function's name, and the values of its arguments by their names."""

    name: str
    arguments: Json


def calls_in_text(text: str, tools: Sequence[Json] = ()) -> tuple[list[Call], bool]:
    """The calls that are written in a text, and whether more looks like a call and is not read.

    Known are a JSON object with ``name`` and ``arguments`` or ``parameters``, alone, in a list, in
    a tag such as ``<tool_call>`` or after one such as ``<|python_tag|>``; Mistral's
    ``[TOOL_CALLS]``, with a list or with name and ``[ARGS]``; ``<function=NAME>`` with JSON or with
    ``<parameter=KEY>``; and ``[get_weather(city="Rome")]``. ``tools`` are the functions that were
    offered, each with ``name`` and ``parameters``, whose types say what a value in a tag is.
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
                types = _properties(tools, name)
                arguments = {
                    key.strip(): _tagged_value(value, types.get(key.strip()))
                    for key, value in pairs
                }
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


def _properties(tools: Sequence[Json], name: str) -> Mapping[str, Any]:
    """The JSON schemas of a tool's parameters, by name."""
    for tool in tools:
        if tool.get("name") == name and isinstance(tool.get("parameters"), dict):
            properties = tool["parameters"].get("properties")
            return properties if isinstance(properties, dict) else {}
    return {}


def _tagged_value(text: str, schema: Any) -> Any:
    """A value in a tag, whose type its schema says; without one, JSON or the text as it is."""
    types = schema.get("type") if isinstance(schema, dict) else None
    types = types if isinstance(types, list) else [types]
    bare = text.strip()
    if bare == "null" and types != ["string"]:
        return None
    if types == ["boolean"] and bare.lower() in ("true", "false"):  # as Python writes them
        return bare.lower() == "true"
    value = None if types[0] and {*types} <= {"string", "null"} else parse_or_none(text)
    return text if value is None else value


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
