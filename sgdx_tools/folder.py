"""Reading, checking and writing a folder of tools, their cases and their variants."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file, read_input, staged, write_bytes
from sgdx_dataset.io.json import check_value, decode_json, parse_json, pretty_json
from sgdx_llm.messages import checked
from sgdx_metric.variants import ORIGINAL

from .data import (
    Case,
    ElementId,
    ExpectedCall,
    Json,
    Project,
    Source,
    Tool,
    ToolWords,
    Variant,
    Words,
    digest,
)
from .json_schema import check_name
from .renaming import WordedTools, clash
from .values import why_none_is_right, with_plain_alternatives

TOOLS, CASES, VARIANTS, SOURCE = "tools.json", "cases.jsonl", "variants", "source.json"
_LOCKED, _LOCK_MARK = "locked_tools", b'"locked_tools"'
_MADE_BY, _VERSION, _MENTIONS, _SAID = "$made_by", "$tools", "$mentions", "$said"
# A variant's name is the name of a file and the first part of a request's id.
_VARIANT_NAME = re.compile(r"[A-Za-z0-9_.+-]{1,100}")


def read_project(folder: Path) -> Project:
    """Read and check a folder of tools, in which only ``tools.json`` has to be."""
    if not folder.is_dir():
        raise SgdxError(f"{folder}: found no folder, expected one with {TOOLS}")
    tools = read_tools(folder / TOOLS)
    cases_file, source_file = folder / CASES, folder / SOURCE
    source = Source()
    if source_file.exists():
        data = read_input(source_file)
        source = parse_json(data, Source, str(source_file), "where tools come from")
    cases = read_cases(cases_file, tools) if cases_file.exists() else ()
    paths = sorted((folder / VARIANTS).glob("*.json"))
    variants = [read_variant(path, tools, cases) for path in paths]
    project = Project(str(folder), tools, cases, source=source, cases_file=cases_file)
    return with_variants(project, variants)


def with_variants(
    project: Project, variants: Iterable[Variant], cases: Sequence[Case] | None = None
) -> Project:
    """A project under some variants, perhaps with some of its cases alone; all fit its tools.

    It says of which cases no valid call is right under a variant.
    """
    tools, source = project.tools, project.source
    cases = project.all_cases if cases is None else cases
    by_name = {ORIGINAL: Variant(ORIGINAL), **{variant.name: variant for variant in variants}}
    gone: dict[str, dict[str, str]] = {}
    for name, variant in by_name.items():
        worded, version = WordedTools(tools, variant), variant.version
        for case in () if version is None else cases:
            for call, new in zip(case.expect or (), worded.expect(case) or ()):
                if call.name not in (version or ()):
                    why = f"there is no tool {call.name}"
                else:
                    tool = worded.tool(call.name)
                    why = why_none_is_right(new.arguments, tool, case.extra == "refuse")
                    why = why and f"{new.name}: {why}"
                if why:
                    gone.setdefault(name, {}).setdefault(case.id, why)
    left_out: dict[str, str] = {}
    if source.leaves_out:
        for name, whys in gone.items():
            left_out |= {i: f"{name}: {why}" for i, why in whys.items() if i not in left_out}
        gone = {}
    kept = tuple(case for case in cases if case.id not in left_out)
    of_cases = {"cases": kept, "all_cases": tuple(cases), "left_out": left_out, "gone": gone}
    return replace(project, variants=by_name, **of_cases)


def write_project(
    folder: Path,
    tools: Iterable[Tool],
    cases: Iterable[Case] = (),
    source: Source | None = None,
    variants: Iterable[Variant] = (),
) -> None:
    """Write a new folder of tools, completely or not at all."""
    if folder.exists():
        raise SgdxError(f"{folder}: exists already, expected a new folder")
    files = {TOOLS: pretty_json([_record(tool) for tool in tools], 1)}
    if lines := list(cases):
        files[CASES] = msgspec.json.Encoder().encode_lines(lines)
    if source is not None:
        files[SOURCE] = pretty_json(source, 1)
    files |= {f"{VARIANTS}/{variant.name}.json": _file_of(variant) for variant in variants}
    with staged(folder) as staging:
        for name, content in files.items():
            (staging / name).parent.mkdir(parents=True, exist_ok=True)
            (staging / name).write_bytes(content)


def _record(tool: Tool) -> Json:
    """A tool as ``tools.json`` has it."""
    own_id = {} if tool.id == tool.name else {"id": tool.id}
    words = {"name": tool.name, "description": tool.description}
    more: Json = {"strict": True} if tool.strict else {}
    more |= {"rival_of": tool.rival_of} if tool.rival_of else {}
    return {**own_id, **words, "parameters": tool.parameters, **more}


# ---- tools


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
        check_value(tool.parameters, where)
        try:
            tool.layout  # noqa: B018 - which reads the whole schema
        except SgdxError as error:
            raise SgdxError(f"{place}: {error}") from None
        tools[tool.id] = tool
    return tools


def write_lock(path: Path, tools: Mapping[str, Tool], servers: Sequence[Mapping[str, str]]) -> None:
    """Write the words of tools, and a digest of each, so that `test --locked` sees what drifts."""
    records = [{"digest": digest([tool]), **_record(tool)} for tool in tools.values()]
    write_bytes(path, pretty_json({"servers": servers, _LOCKED: records}, 1), mark=_LOCK_MARK)


def read_lock(path: Path) -> dict[str, Tool]:
    """The tools of a lock; one whose words were changed by hand is refused."""
    if not path.exists():
        raise SgdxError(f"{path}: found no such file, expected that of 'sgdx tools lock'")
    lock = parse_json(read_input(path), dict[str, Any], str(path), "a lock")
    records = lock.get(_LOCKED)
    if not isinstance(records, list) or not all(isinstance(of, dict) for of in records):
        raise SgdxError(f"{path}: found no {_LOCKED}, expected what 'sgdx tools lock' writes")
    digests = [record.pop("digest", None) for record in records]
    tools = _tools([msgspec.Raw(msgspec.json.encode(of)) for of in records], str(path))
    for tool, known in zip(tools.values(), digests):
        if digest([tool]) != known:
            raise SgdxError(
                f"{path}: tool {tool.id}: found other words than its digest is of, expected those "
                "that 'sgdx tools lock' wrote"
            )
    return tools


# ---- cases


def read_cases(path: Path, tools: Mapping[str, Tool]) -> tuple[Case, ...]:
    """Read ``cases.jsonl``, whose cases may expect only calls that are valid."""
    cases: dict[str, Case] = {}
    worded, distinct = WordedTools(tools, Variant(ORIGINAL)), set[tuple[str, ...] | None]()
    for number, line in enumerate(read_input(path).splitlines(), 1):
        if not line.strip():
            continue
        case = parse_json(line, Case, f"{path}:{number}", "a case")
        where = f"{path}:{number}: case {case.id}"
        try:
            messages = checked(case.messages)
        except ValueError as error:
            raise SgdxError(f"{where}: {error}") from None
        expect = case.expect and tuple(
            ExpectedCall(call.name, with_plain_alternatives(call.arguments)) for call in case.expect
        )
        case = replace(case, messages=tuple(messages), expect=expect)
        check_value([case.messages, [call.arguments for call in case.expect or ()]], where)
        if case.id in cases or not case.id:
            raise SgdxError(f"{where}: expected an id that no other case has")
        cases[case.id] = case
        check_case(case, tools, where)
        if case.tools not in distinct:
            _check_distinct_names(worded, case.tools, where)
            distinct.add(case.tools)
    return tuple(cases.values())


def check_case(case: Case, tools: Mapping[str, Tool], where: str) -> None:
    """Raise ``SgdxError`` where a case speaks of a tool or an argument that there is not."""
    named_by = {"tools": case.tools or (), "forbid": case.forbid, "results": case.results}
    for key, named in named_by.items():
        for tool in named:
            if tool not in tools:
                raise SgdxError(f"{where}: {key}: found {tool!r}, which is no tool's id")
    ids: Collection[str] = tools if case.tools is None else case.tools
    if len(set(ids)) < len(ids):
        raise SgdxError(f"{where}: tools: found a tool twice, expected each once")
    called = [(call.name, "expect") for call in case.expect or ()]
    for i, message in enumerate(case.messages):
        names = [call["function"]["name"] for call in message.get("tool_calls") or ()]
        called += [(name, f"messages[{i}]: tool_calls") for name in names]
    if case.expect is not None and not case.expect:
        raise SgdxError(f"{where}: expect: found no calls, expected null where none is to be made")
    if case.expect and case.forbid:
        raise SgdxError(f"{where}: forbid: found calls to expect, expected null beside it")
    for name, place in called:
        if name not in ids:
            known = f"expected one of {', '.join(ids)}"
            raise SgdxError(f"{where}: {place}: {name!r} is no tool of the case, {known}")
    for call in case.expect or ():
        is_whole = case.extra == "refuse"
        if why := why_none_is_right(call.arguments, tools[call.name], is_whole):
            raise SgdxError(f"{where}: expect: {call.name}: {why}")


# ---- variants


def read_variant(path: Path, tools: Mapping[str, Tool], cases: Sequence[Case] = ()) -> Variant:
    """Read a variant: ``{tool id: {"name", "description", "parameters": {path: {...}}}}``.

    Beside the tools, ``$made_by`` says who found the words, ``$tools`` has another version, and
    ``$mentions`` is false where texts that speak of a name keep the old one, and ``$said`` has what
    users say last, by case.
    """
    records = parse_json(read_file(path), dict[str, msgspec.Raw], str(path), "a variant")
    made_by = records.pop(_MADE_BY, msgspec.Raw(b'""'))
    mentions = records.pop(_MENTIONS, msgspec.Raw(b"true"))
    said = decode_json(
        records.pop(_SAID, msgspec.Raw(b"{}")), dict[str, str], f"{path}: {_SAID}", "texts by case"
    )
    known = {case.id for case in cases}
    if unknown := [i for i in said if i not in known or not said[i].strip()]:
        found = f"found {unknown[0]!r}"
        raise SgdxError(f"{path}: {_SAID}: {found}, expected texts of cases that there are")
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
    has_mentions = decode_json(mentions, bool, f"{path}: {_MENTIONS}", "true or false")
    variant = Variant(path.stem, words, author, version, has_mentions, said)
    check_variant(variant, tools, cases, str(path))
    return variant


def write_variant(path: Path, variant: Variant) -> Path:
    """Write a variant's file, completely or not at all; returns its path."""
    write_bytes(path, _file_of(variant))
    return path


def _file_of(variant: Variant) -> bytes:
    made_by = {_MADE_BY: variant.made_by} if variant.made_by else {}
    version = variant.version
    tools = {} if version is None else {_VERSION: [_record(tool) for tool in version.values()]}
    mentions = {} if variant.mentions else {_MENTIONS: False}
    said = {_SAID: variant.said} if variant.said else {}
    return pretty_json({**made_by, **mentions, **said, **variant.tools, **tools}, 1)


def check_variant(
    variant: Variant, tools: Mapping[str, Tool], cases: Iterable[Case], where: str
) -> None:
    """Refuse a variant that does not fit the tools, or makes two names of a case one."""
    if not _VARIANT_NAME.fullmatch(variant.name) or variant.name == ORIGINAL:
        expected = f"expected letters, digits, _ . + and -, and not {ORIGINAL}"
        raise SgdxError(f"{where}: the variant's name is {variant.name!r}, {expected}")
    words = (
        ((i, path), new)
        for i, of_tool in variant.tools.items()
        for path, new in {"": of_tool, **of_tool.parameters}.items()
    )
    check_words(words, tools, where)
    for i, of_tool in variant.tools.items():
        names = {path: new.name for path, new in of_tool.parameters.items() if new.name is not None}
        for path, members in tools[i].layout.members.items() if names else ():
            place = f"{where}: tool {i}: properties of {path or 'the tool'}"
            new_names: dict[str, str] = {}
            for name, paths in members.items():
                new_names[name], *others = sorted({names.get(p, name) for p in paths})
                if others:
                    nodes, found = " and ".join(paths), [new_names[name], *others]
                    raise SgdxError(f"{place}: {nodes} are one property, found {found} for it")
            if both := clash(new_names):
                clashing = f"{' and '.join(both)} are both {new_names[both[0]]!r}"
                raise SgdxError(f"{place}: {clashing}, expected distinct names")
    sets = dict.fromkeys([None, *(case.tools for case in cases)] if cases else [None])
    worded = WordedTools(tools, variant)
    shared = len({tool.name for tool in tools.values()}) < len(tools)
    for ids in sets:
        if ids is not None or not shared:  # tools that share a name stand in no case together
            _check_distinct_names(worded, ids, where)


def check_words(
    words: Iterable[tuple[ElementId, Words]], tools: Mapping[str, Tool], where: str
) -> None:
    """Refuse new words of what is not in the tools, and names that it cannot have."""
    for (i, path), new in words:
        record = f"{where}: tool {i}"
        if i not in tools:
            raise SgdxError(f"{record} is not in {TOOLS}, expected one of {', '.join(tools):.300}")
        elements = tools[i].elements
        if path not in elements:
            known = ", ".join(filter(None, elements))
            expected = f"expected one of {known}" if known else "the tool has no parameters"
            raise SgdxError(f"{record}: path {path} is not in the tool, {expected[:500]}")
        record += f": path {path}" if path else ""
        if new.name is not None and not elements[path].name:
            raise SgdxError(f"{record}: found a name, expected a description alone")
        if new.name is not None:
            check_name(new.name, record)


def _check_distinct_names(worded: WordedTools, ids: Collection[str] | None, where: str) -> None:
    """Refuse words under which two tools that a model sees together have one name."""
    names = {i: worded.name(i) for i in worded.shown(ids)}
    if both := clash(names):
        found = f"tools {' and '.join(both)} are both called {names[both[0]]!r}"
        raise SgdxError(f"{where}: {found}, expected distinct names")
