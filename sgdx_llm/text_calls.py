"""The calls that a model wrote into its text, where its server does not know their form.

``calls_in_text`` reads the forms of common models' templates. One table, ``OPENINGS``, says how a
call begins in each. What begins so and is not read makes the text one that is not understood.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sgdx_dataset.io.json import check_value, parse_at

from .messages import Json, decode_arguments, parse_or_none

_VLLM = "https://github.com/vllm-project/vllm/blob/main/vllm/tool_parsers/"
_SGLANG = "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/function_call/"
_HUB = "https://huggingface.co/"
# How a call begins in the text of a model, and where that is from: a template or a server's parser.
# The marks of DeepSeek have a wide bar and a low line that are none of ASCII.
OPENINGS: tuple[tuple[str, str, str], ...] = (
    ("Hermes, Qwen", r"<tool_call>", f"{_VLLM}hermes_tool_parser.py"),
    ("Jamba, Nemotron", r"<tool_calls>|<TOOLCALL>", f"{_VLLM}jamba_tool_parser.py"),
    ("Llama 3.x", r"<\|python_tag\|>", f"{_VLLM}llama_tool_parser.py"),
    ("Llama 4", r"<\|python_start\|>", f"{_VLLM}llama4_pythonic_tool_parser.py"),
    ("Qwen3-Coder, Step 3.5", r"<function=", f"{_VLLM}qwen3coder_tool_parser.py"),
    ("Seed OSS", r"<seed:tool_call>", f"{_VLLM}seed_oss_tool_parser.py"),
    ("Qwen, old", "\u273fFUNCTION\u273f", "https://github.com/QwenLM/Qwen-Agent"),
    ("Mistral", r"\[TOOL_CALLS\]", f"{_VLLM}mistral_tool_parser.py"),
    ("Mistral, mark lost", r"[\w.-]{1,64}\[ARGS\]", f"{_VLLM}mistral_tool_parser.py"),
    ("Granite 3, 4", r"<\|tool_call\|>|<function_call>", f"{_VLLM}granite_tool_parser.py"),
    ("Phi-4-mini", r"functools(?=\[)", f"{_VLLM}phi4mini_tool_parser.py"),
    ("MiniMax M2, brackets", r"\[TOOL_CALL\]", f"{_HUB}MiniMaxAI/MiniMax-M2"),
    ("Olmo 3, Claude 2", r"<function_calls>", f"{_VLLM}olmo3_tool_parser.py"),
    (
        "DeepSeek V3, R1, V3.1",
        r"<\uff5ctool\u2581calls?\u2581begin\uff5c>",
        f"{_VLLM}deepseekv31_tool_parser.py",
    ),
    ("DeepSeek V3.2, V4", r"<\uff5cDSML\uff5c", f"{_VLLM}deepseekv32_tool_parser.py"),
    ("GLM 4.5", r"<arg_key>", f"{_VLLM}glm4_moe_tool_parser.py"),
    ("MiniMax M2", r"<minimax:tool_call>", f"{_VLLM}minimax_m2_tool_parser.py"),
    ("MiniMax, Step 3, Claude", r"<[\w:]{0,12}invoke\b", f"{_VLLM}step3_tool_parser.py"),
    (
        "Kimi K2",
        r"<\|tool_calls?(?:_section|_argument)?_begin\|>",
        f"{_VLLM}kimi_k2_tool_parser.py",
    ),
    ("Kimi K3", r"<\|open\|>(?:tools|call)\b", f"{_SGLANG}kimik3_format.py"),
    ("Gemma 4", r"<\|tool_call>", f"{_VLLM}gemma4_tool_parser.py"),
    ("FunctionGemma", r"<start_function_call>", f"{_VLLM}functiongemma_tool_parser.py"),
    ("Gemma 3, Gemini", r"```tool_code", "https://ai.google.dev/gemma/docs/capabilities"),
    ("Command R, A", r"<\|START_ACTION\|>", f"{_SGLANG}cohere_command4_detector.py"),
    (
        "gpt-oss",
        r"<\|channel\|>\s*commentary|\bto=functions\.|commentary to=",
        f"{_SGLANG}gpt_oss_detector.py",
    ),
    ("InternLM", r"<\|action_start\|>", f"{_VLLM}internlm2_tool_parser.py"),
    ("LFM 2", r"<\|tool_call_start\|>", f"{_VLLM}lfm2_tool_parser.py"),
    ("Apertus, Ling", r"<\|tools_prefix\|>", f"{_VLLM}apertus_tool_parser.py"),
    (
        "ReAct",
        r"^[ \t]*Action:.{1,200}\n{1,3}[ \t]*Action Input:",
        "https://arxiv.org/abs/2210.03629",
    ),
    # Any other mark that says so.
    (
        "others",
        r"<[|\uff5c/]?[\w:|\uff5c\u2581 -]{0,30}(?:tool|function)[_\u2581 -]?(?:calls?|use|sep)\b"
        r"|\[/?(?:TOOL|FUNCTION)_(?:REQUEST|CALLS?)\]|<\|(?:plugin|function|tool|action)\w*\|>"
        r"|<(?:use_mcp_)?tool(?:_name)?>",
        "",
    ),
)
# A text is searched for calls no further: in characters, and in places where JSON may begin.
_LONGEST_TEXT, _MOST_PLACES = 100_000, 1000
_OPEN = re.compile("|".join(f"(?:{form})" for _, form, _ in OPENINGS), re.MULTILINE)
# What stands around calls in a model's template, and says nothing of its own.
_AROUND = re.compile(
    r"</?(?:\w+[:_])?(?:tool|function)_calls?>|</?TOOLCALL>|(?:function)?<\uff5ctool_sep\uff5c>|<\|/?tool_calls?(?:_\w+)?\|?>"
    r"|<tool_call\|>|<(?:start|end)_function_call>|<\|python_(?:tag|start|end)\|>|<\|eo[mt]_id\|>"
    r"|</?\uff5cDSML\uff5c\w*>|<\uff5ctool[\u2581_]calls?[\u2581_](?:begin|end)\uff5c>"
    r"|<\|(?:START|END)_ACTION\|>|<\|(?:start|end|call|constrain)\|>|<\|action_(?:start|end)\|>"
    r"|<\|(?:plugin|interpreter)\|>|\[/?TOOL_CALLS?\]|functools(?=\[)|```(?:\w+)?"
    r"|<\uff5cend\u2581of\u2581sentence\uff5c>|</?seed:tool_call>|\u273fRETURN\u273f.*"
)
_PLACE = re.compile(r"[\[{]")
# Tags with a name, and their parameters; each has what may stand before its own.
_TAG = re.compile(
    r"<(?P<p>(?:[\w]+:|\uff5cDSML\uff5c)?)(?:function=(?P<f>[^>\s]+)"
    r"|invoke\s+name=\"(?P<i>[^\"]+)\")\s*>"
)
_PARAMETER = re.compile(
    r"<(?:[\w]+:|\uff5cDSML\uff5c)?parameter(?:=(?P<f>[^>]+)"
    r"|\s+name=\"(?P<i>[^\"]+)\"(?:\s+string=\"(?P<s>true|false)\")?)\s*>"
    r"\n?(?P<v>.*?)\n?</(?:[\w]+:|\uff5cDSML\uff5c)?parameter>",
    re.DOTALL,
)
_GLM = re.compile(r"<tool_call>\s*([\w.-]{1,64})\s*(?=<arg_key>|</tool_call>)")
_GLM_PAIR = re.compile(
    r"<arg_key>([^<]*)</arg_key>\s*<arg_value>((?:(?!</?arg_).)*)</arg_value>", re.DOTALL
)
# A name before its arguments as JSON, as each of some models writes it.
_N = r"(?:functions\.|default_api\.)?([A-Za-z_][\w.-]{0,63})"
_NAMED = re.compile(
    rf"(?:\[TOOL_CALLS\]\s*{_N}\s*(?:\[CALL_ID\][\w-]*)?(?:\[ARGS\])?"
    rf"|{_N}\[ARGS\]"
    rf"|{_N}:\d+\s*<\|tool_call_argument_begin\|>"
    rf"|<\uff5ctool\u2581call\u2581begin\uff5c>(?:function<\uff5ctool\u2581sep\uff5c>)?{_N}"
    r"\s*(?:<\uff5ctool\u2581sep\uff5c>)?\s*(?:```json)?"
    r"|(?:<\|start\|>)?(?:assistant)?\s*(?:<\|channel\|>)?\s*(?:commentary)?\s*\b"
    rf"to={_N}\s*(?:<\|channel\|>\s*commentary)?\s*(?:<\|constrain\|>)?\s*(?:json)?"
    r"\s*(?:<\|message\|>)?"
    rf"|\u273fFUNCTION\u273f:\s*{_N}\s*\u273fARGS\u273f:"
    rf"|^[ \t]*Action:[ \t]*{_N}[ \t]*\n{{1,3}}[ \t]*Action Input:)\s*\Z",
    re.MULTILINE,
)
_GEMMA = re.compile(r"call:\s*([\w.-]+)(?=\{)")  # with values that are no JSON
_QUOTED = re.compile(r'<\|"\|>(.*?)<\|"\|>|<escape>(.*?)<escape>|([\w.$-]+)(?=\s*:)', re.DOTALL)
_MARKED = re.compile(rf"(?:{_OPEN.pattern})\s*(?:```json)?\s*\Z", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_PYTHON = re.compile(r"\[?\s*(?:print\()?[A-Za-z_][\w.]*\(")
_PYTHON_LIST = re.compile(r"\[\s*[A-Za-z_][\w.]{0,100}\(\s*\w{1,100}\s*=")
# The keys of a call as an object. A definition of a function, which has a description, is none.
_NAMES, _ARGUMENTS = ("name", "tool_name", "recipient_name", "function", "tool", "action"), (
    "arguments", "parameters", "args", "action_input", "tool_input",
)  # fmt: skip
_BESIDE = {"id", "tool_call_id", "call_id", "type", "thought", "thoughts", "index"}
_JSON_CALL = re.compile(
    rf'"(?:{"|".join(_NAMES)})"\s*:\s*"(?:(?!"description")[^{{}}]){{0,300}}'
    rf'"(?:{"|".join(_ARGUMENTS)})"\s*:'
)


class Call(NamedTuple):
    """A call: the function's name, and the values of its arguments by their names."""

    name: str
    arguments: Json


def calls_in_text(text: str, tools: Sequence[Json] = ()) -> tuple[list[Call], bool]:
    """The calls that are written in a text, and whether more looks like a call and is not read.

    ``tools`` are the functions that were offered, each with ``name`` and ``parameters``, whose
    types say what a value in a tag is.
    """
    if len(text) > _LONGEST_TEXT:
        return [], looks_like_calls(text, tools)
    found: list[tuple[int, Call]] = []  # each with where it begins
    rest = text
    for readable in (_glm_calls, _tagged_calls, _gemma_calls, _json_calls):
        for start, end, calls in readable(rest, tools):
            found += [(start, call) for call in calls]
            rest = rest[:start] + " " * (end - start) + rest[end:]  # so that places stay
    calls = [call for _, call in sorted(found, key=lambda one: one[0])]
    if not calls:
        bare = _AROUND.sub("", text).strip()
        if python := _python_calls(bare) if _PYTHON.match(bare) else []:
            return python, False
        return [], looks_like_calls(text, tools)
    # Of what was read, the marks around it stay, with nothing between them.
    return calls, looks_like_calls(_between_marks(rest), tools)


def _between_marks(text: str) -> str:
    """What is left of a text from which calls were taken, without marks that hold nothing more."""
    parts, end = list[str](), 0
    marks = [*_AROUND.finditer(text)]
    for mark, after in zip(marks, [*marks[1:], None]):
        parts.append(text[end : mark.start()])
        end = mark.end()
        inside = text[end : after.start() if after else len(text)]
        closes = mark[0].startswith(("</", "<|/", "```")) or "end" in mark[0].lower()
        if inside.strip(" \t\r\n;,\"'[]") and not closes:
            parts.append(mark[0])
    return "".join([*parts, text[end:]])


def looks_like_calls(text: str, tools: Sequence[Json] = ()) -> bool:
    """Whether a call may be written in a text, in a form that is known or not."""
    bare = text.strip()
    python = _PYTHON.match(bare) and bare.startswith("[") and bare.endswith(")]")
    if python or any(form.search(text) for form in (_OPEN, _JSON_CALL, _PYTHON_LIST)):
        return True
    names = "|".join(re.escape(str(tool.get("name"))) for tool in tools)
    if not names:
        return False
    # An offered function's name before arguments, or as a value beside an object.
    before = rf"(?<![\w.-])(?:{names})\W{{0,30}}?(?:\{{\s*[\"'}}]|\(\s*(?:\w+\s*=|[\"'{{]|\)\s*\Z))"
    beside = rf"[\"'](?:{names})[\"']\s*,[^{{}}]{{0,60}}\{{|<(?:{names})>"
    return bool(re.search(f"{before}|{beside}", text))


_Found = Iterator[tuple[int, int, list[Call]]]


def _glm_calls(text: str, tools: Sequence[Json]) -> _Found:
    """Calls of GLM, with pairs of tags for keys and values: where each begins and ends."""
    for match in _GLM.finditer(text):
        following = _GLM.search(text, match.end())
        end = text.find("</tool_call>", match.end(), following.start() if following else len(text))
        inside = text[match.end() : max(end, match.end())]
        pairs = [(key.strip(), value, None) for key, value in _GLM_PAIR.findall(inside)]
        is_known = pairs or any(tool.get("name") == match[1] for tool in tools)
        if end < 0 or not is_known or _GLM_PAIR.sub("", inside).strip():
            continue
        if call := _of_pairs(match[1], pairs, tools):
            yield match.start(), end + len("</tool_call>"), [call]


def _tagged_calls(text: str, tools: Sequence[Json]) -> _Found:
    """Calls in a tag that has the name, with JSON or a tag for each parameter in it."""
    for match in _TAG.finditer(text):
        name, prefix = match["f"] or match["i"], match["p"]
        close = f"</{prefix}{'function' if match['f'] else 'invoke'}>"
        following = _TAG.search(text, match.end())
        end = text.rfind(close, match.end(), following.start() if following else len(text))
        if end < 0:
            continue
        inside = text[match.end() : end]
        try:
            if inside.strip().startswith("{"):
                yield match.start(), end + len(close), [Call(name, decode_arguments(inside))]
                continue
        except ValueError:
            continue
        last = inside.rfind("parameter>") + 1  # no value is searched for beyond the last one
        within, after = inside[: last + 9] if last else "", inside[last + 9 :] if last else inside
        found = [*_PARAMETER.finditer(within)]
        pairs = [((p["f"] or p["i"]).strip(), p["v"], p["s"]) for p in found]
        if (_PARAMETER.sub("", within) + after).strip():
            continue
        if call := _of_pairs(name, pairs, tools):
            yield match.start(), end + len(close), [call]


def _of_pairs(
    name: str, pairs: Sequence[tuple[str, str, Any]], tools: Sequence[Json]
) -> Call | None:
    """The call of a name with pairs of key and value; each says whether the value is a text."""
    types = _properties(tools, name)
    arguments = {}
    for key, value, is_text in pairs:
        schema = {"type": "string"} if is_text == "true" else types.get(key)
        arguments[key] = _tagged_value(value, schema)
    try:
        check_value(arguments)
    except ValueError:
        return None
    return Call(name, arguments) if len(arguments) == len(pairs) else None


def _gemma_calls(text: str, _: Sequence[Json]) -> _Found:
    """Calls of Gemma, whose texts stand between marks of their own and whose keys are bare."""

    def quoted(part: re.Match[str]) -> str:
        said = next((group for group in part.groups() if group is not None), "")
        return json.dumps(said, ensure_ascii=False)

    matches = [*_GEMMA.finditer(text)]
    for match, following in zip(matches, [*matches[1:], None]):
        within = text[match.end() : following.start() if following else len(text)]
        inside = re.split(r"<tool_call\|>|<end_function_call>", within, maxsplit=1)[0]
        try:
            call = Call(match[1], decode_arguments(_QUOTED.sub(quoted, inside)))
        except ValueError:
            continue
        yield match.start(), match.end() + len(inside), [call]


def _json_calls(text: str, _: Sequence[Json]) -> _Found:
    """Where each JSON value that is a call or a list of calls begins and ends, and the calls."""
    start = 0
    for _place in range(_MOST_PLACES):
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
                name = next(group for group in named.groups() if group)
                calls = [Call(name, decode_arguments(value))]
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
    key = next(key for key in (*_NAMES, "") if isinstance(value.get(key), str) or not key)
    given = [other for other in _ARGUMENTS if other in value]
    if key != "name" and value.keys() - {key, *given, *_BESIDE}:
        raise ValueError("no call")
    if "description" in value or not (given or (is_marked and key == "name")):
        raise ValueError("no call")
    check_value(value[key])
    name = value[key].removeprefix("functions.")
    return Call(name, decode_arguments(value[given[0]] if given else None))


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
    """The calls in a list of Python, or in lines, whose arguments are literals with names."""
    try:
        with warnings.catch_warnings():  # such as of a backslash in a text
            warnings.simplefilter("ignore")
            lines = ast.parse(text, mode="exec").body
        listed: list[ast.expr] = []
        for line in lines:
            if not isinstance(line, ast.Expr):
                return []
            value = line.value
            listed += value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
        calls = []
        for node in listed:
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
                (node,) = node.args  # as Gemma shows what it calls
            if not isinstance(node, ast.Call) or node.args:
                return []
            arguments = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords if k.arg}
            if len(arguments) < len(node.keywords):
                return []
            # Tuples and sets are no JSON. Llama calls built-in tools with .call, Gemini by module.
            name = ast.unparse(node.func).removesuffix(".call").removeprefix("default_api.")
            calls.append(Call(name, json.loads(json.dumps(arguments))))
            check_value(calls[-1].arguments)
            if not _NAME.fullmatch(calls[-1].name):
                return []
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return []
    return calls
