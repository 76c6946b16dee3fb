"""Reading, checking and writing a folder of tools, their cases and their variants."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file, read_input, staged, write_bytes
from sgdx_dataset.io.json import check_value, decode_json, parse_json
from sgdx_llm.calls import with_plain_calls
from sgdx_metric.variants import ORIGINAL

from .data import Case, ExpectedCall, Json, Rule, Source, Tool, ToolSet, ToolWords, Variant
from .json_schema import Layout, check_name
from .renaming import WordedTools
from .values import fault as no_valid_call
from .values import with_plain_alternatives

TOOLS, CASES, VARIANTS, SOURCE = "tools.json", "cases.jsonl", "variants", "source.json"
_MADE_BY, _VERSION = "$made_by", "$tools"
_ROLES = ("system", "developer", "user", "assistant", "tool")
# A variant's name is the name of a file and the first part of a request's id.
_VARIANT_NAME = re.compile(r"[A-Za-z0-9_.+-]{1,100}")


def read_tool_set(folder: Path) -> ToolSet:
    """Read and check a folder of tools, in which only ``tools.json`` has to be."""
    if not folder.is_dir():
        raise SgdxError(f"{folder}: found no folder, expected one with {TOOLS}")
    tools = read_tools(folder / TOOLS)
    cases_file, source_file = folder / CASES, folder / SOURCE
    source = Source()
    if source_file.exists():
        data = read_input(source_file)
        source = parse_json(data, Source, str(source_file), "where tools come from")
    cases = read_cases(cases_file, tools, source.rules) if cases_file.exists() else ()
    variants = {ORIGINAL: Variant(ORIGINAL)}
    for path in sorted((folder / VARIANTS).glob("*.json")):
        variants[path.stem] = read_variant(path, tools, cases)
    left_out = {
        case.id: f"{name}: {why}"
        for name, variant in variants.items()
        if variant.version is not None
        for case in cases
        if (why := _why_never_right(case, variant, tools, source.rules))
    }
    kept = tuple(case for case in cases if case.id not in left_out)
    return ToolSet(str(folder), tools, kept, variants, source, cases, left_out)


def _why_never_right(case: Case, variant: Variant, tools: Mapping[str, Tool], rules: Rule) -> str:
    """Why no valid call of another version's tools is right in a case; empty where one can be."""
    assert variant.version is not None  # noqa: S101
    worded = WordedTools(tools, variant)
    for call, new in zip(case.expect or (), worded.expect(case) or ()):
        if call.name not in variant.version:
            return f"there is no tool {call.name}"
        layout = Layout(worded.tool(call.name).parameters, f"tool {new.name}")
        if why := no_valid_call(new.arguments, layout, with_values=rules != "bfcl"):
            return f"{new.name}: {why}"
    return ""


def write_tool_set(
    folder: Path,
    tools: Iterable[Tool],
    cases: Iterable[Case] = (),
    source: Source | None = None,
    variants: Iterable[Variant] = (),
) -> None:
    """Write a new folder of tools, completely or not at all."""
    if folder.exists():
        raise SgdxError(f"{folder}: exists already, expected a new folder")
    with staged(folder) as staging:
        staging.mkdir()
        (staging / TOOLS).write_bytes(_pretty([_record(tool) for tool in tools]))
        if lines := list(cases):
            (staging / CASES).write_bytes(msgspec.json.Encoder().encode_lines(lines))
        if source is not None:
            (staging / SOURCE).write_bytes(_pretty(source))
        for variant in variants:
            write_variant(staging / VARIANTS / f"{variant.name}.json", variant)
        try:
            read_tool_set(staging)
        except SgdxError as error:
            raise SgdxError(str(error).replace(str(staging), str(folder))) from None


def _record(tool: Tool) -> Json:
    """A tool as ``tools.json`` has it."""
    own_id = {} if tool.id == tool.name else {"id": tool.id}
    words = {"name": tool.name, "description": tool.description}
    more: Json = {"strict": True} if tool.strict else {}
    more |= {"rival_of": tool.rival_of} if tool.rival_of else {}
    return {**own_id, **words, "parameters": tool.parameters, **more}


def read_tools(path: Path) -> dict[str, Tool]:
    """Read ``tools.json``: the tools by their ids."""
    records = parse_json(read_input(path), list[msgspec.Raw], str(path), "a list of tools")
    return _tools(records, str(path))


def _tools(records: Sequence[msgspec.Raw], place: str) -> dict[str, Tool]:
    if not records:
        raise SgdxError(f"{place}: found no tools, expected one at least")
    tools: dict[str, Tool] = {}
    for number, record in enumerate(records, 1):
        tool = decode_json(record, Tool, f"{place}: tool {number}", "a tool")
        where = f"{place}: tool {tool.id}"
        check_name(tool.name, where)
        if tool.id in tools:
            raise SgdxError(f"{where}: found this id twice, expected distinct ids")
        _check_values(tool.parameters, where)
        Layout(tool.parameters, where).check()
        tools[tool.id] = tool
    return tools


def read_cases(path: Path, tools: Mapping[str, Tool], rules: Rule) -> tuple[Case, ...]:
    """Read ``cases.jsonl``, whose cases may expect only calls that are valid.

    The rule ``bfcl`` takes values of other types than the schema's too.
    """
    cases: dict[str, Case] = {}
    layouts = {i: Layout(tool.parameters, f"tool {i}") for i, tool in tools.items()}
    distinct = set[tuple[str, ...] | None]()
    for number, line in enumerate(read_input(path).splitlines(), 1):
        if line.strip():
            record = f"{path}:{number}"
            case = parse_json(line, Case, record, "a case")
            where = f"{record}: case {case.id}"
            case = _plain(case, where)
            _check_values([case.messages, [call.arguments for call in case.expect or ()]], where)
            if case.id in cases or not case.id:
                raise SgdxError(f"{where}: expected an id that no other case has")
            check_case(case, tools, layouts, where, with_values=rules != "bfcl")
            if case.tools not in distinct:
                check_distinct_names(case.tools, tools, Variant(ORIGINAL), where)
                distinct.add(case.tools)
            cases[case.id] = case
    return tuple(cases.values())


def _plain(case: Case, where: str) -> Case:
    """A case in the one form that all others read: of earlier calls, and of expected values."""
    messages = []
    for i, message in enumerate(case.messages):
        try:
            messages.append(with_plain_calls(message))
        except ValueError as error:
            raise SgdxError(f"{where}: messages[{i}]: {error}") from None
        except (TypeError, LookupError, AttributeError):  # no message, as its check will say
            messages.append(message)
    expect = case.expect and tuple(
        ExpectedCall(call.name, with_plain_alternatives(call.arguments)) for call in case.expect
    )
    return msgspec.structs.replace(case, messages=tuple(messages), expect=expect)


def _check_values(values: Any, where: str) -> None:
    try:
        check_value(values)
    except SgdxError as error:
        raise SgdxError(f"{where}: {error}") from None


def check_case(
    case: Case,
    tools: Mapping[str, Tool],
    layouts: Mapping[str, Layout],
    where: str,
    with_values: bool,
) -> None:
    """Raise ``SgdxError`` where a case speaks of a tool or an argument that there is not."""
    for key, named in {"tools": case.tools or (), "forbid": case.forbid}.items():
        for tool in named:
            if tool not in tools:
                raise SgdxError(f"{where}: {key}: found {tool!r}, which is no tool's id")
    ids: Collection[str] = tools if case.tools is None else case.tools
    if len(set(ids)) < len(ids):
        raise SgdxError(f"{where}: tools: found a tool twice, expected each once")
    for i, message in enumerate(case.messages):
        _check_message(message, ids, f"{where}: messages[{i}]")
    if case.expect is not None and not case.expect:
        raise SgdxError(f"{where}: expect: found no calls, expected null where none is to be made")
    if case.expect and case.forbid:
        raise SgdxError(f"{where}: forbid: found calls to expect, expected null beside it")
    for call in case.expect or ():
        _check_called(call.name, ids, f"{where}: expect")
        if why := no_valid_call(call.arguments, layouts[call.name], with_values):
            raise SgdxError(f"{where}: expect: {call.name}: {why}")


class _Function(msgspec.Struct):
    name: str
    arguments: str = "{}"


class _Call(msgspec.Struct):
    function: _Function
    id: str = ""


class _Message(msgspec.Struct):
    """What is needed of a message; it may have more."""

    role: str
    content: str | list[Any] | None = None
    tool_calls: list[_Call] | None = None


def _check_message(message: Json, ids: Collection[str], where: str) -> None:
    try:
        read = msgspec.convert(message, _Message)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{where}: {error}") from None
    if read.role not in _ROLES:
        raise SgdxError(f"{where}: role is {read.role!r}, expected one of {', '.join(_ROLES)}")
    for call in read.tool_calls or ():
        _check_called(call.function.name, ids, f"{where}: tool_calls")
        arguments = call.function.arguments.encode()
        decode_json(arguments, dict[str, Any], f"{where}: arguments", "an object")


def _check_called(name: str, ids: Collection[str], where: str) -> None:
    if name not in ids:
        known = ", ".join(ids)
        raise SgdxError(f"{where}: {name!r} is no tool of the case, expected one of {known}")


def read_variant(path: Path, tools: Mapping[str, Tool], cases: Iterable[Case] = ()) -> Variant:
    """Read a variant: ``{tool id: {"name", "description", "parameters": {path: {...}}}}``.

    Beside the tools, ``$made_by`` says who found the words, and ``$tools`` has another version.
    """
    records = parse_json(read_file(path), dict[str, msgspec.Raw], str(path), "a variant")
    made_by = records.pop(_MADE_BY, msgspec.Raw(b'""'))
    version = None
    if _VERSION in records:
        place = f"{path}: {_VERSION}"
        listed = decode_json(records.pop(_VERSION), list[msgspec.Raw], place, "a list of tools")
        version = _tools(listed, place)
    words = {
        tool: decode_json(record, ToolWords, f"{path}: tool {tool}", "new words of a tool")
        for tool, record in records.items()
    }
    author = decode_json(made_by, str, f"{path}: {_MADE_BY}", "text")
    variant = Variant(path.stem, words, author, version)
    check_variant(variant, tools, cases, str(path))
    return variant


def write_variant(path: Path, variant: Variant) -> Path:
    """Write a variant's file, completely or not at all; returns its path."""
    made_by = {_MADE_BY: variant.made_by} if variant.made_by else {}
    version = variant.version
    tools = {} if version is None else {_VERSION: [_record(tool) for tool in version.values()]}
    write_bytes(path, _pretty({**made_by, **variant.tools, **tools}), renews=True)
    return path


def check_variant(
    variant: Variant, tools: Mapping[str, Tool], cases: Iterable[Case], where: str
) -> None:
    """Refuse a variant that does not fit the tools, or makes two names of a case one."""
    if not _VARIANT_NAME.fullmatch(variant.name) or variant.name == ORIGINAL:
        expected = f"expected letters, digits, _ . + and -, and not {ORIGINAL}"
        raise SgdxError(f"{where}: the variant's name is {variant.name!r}, {expected}")
    for i, words in variant.tools.items():
        record = f"{where}: tool {i}"
        if i not in tools:
            raise SgdxError(f"{record} is not in {TOOLS}, expected one of {', '.join(tools):.300}")
        if words.name is not None:
            check_name(words.name, record)
        if words.parameters:
            Layout(tools[i].parameters, record).check_words(words.parameters, record)
    sets = dict.fromkeys([None, *(case.tools for case in cases)] if cases else [None])
    shared = len({tool.name for tool in tools.values()}) < len(tools)
    for ids in sets:
        if ids is not None or not shared:  # tools that share a name stand in no case together
            check_distinct_names(ids, tools, variant, where)


def check_distinct_names(
    ids: Collection[str] | None, tools: Mapping[str, Tool], variant: Variant, where: str
) -> None:
    """Refuse a variant under which two tools that a model sees together have one name."""
    first: dict[str, str] = {}
    worded = WordedTools(tools, variant)
    for i in worded.shown(ids):
        name = worded.name(i)
        other = first.setdefault(name, i)
        if other != i:
            raise SgdxError(
                f"{where}: tools {other} and {i} are both called {name!r}, expected distinct names"
            )


def _pretty(content: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"
