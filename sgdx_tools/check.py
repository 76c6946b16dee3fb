"""A linter for tools: what in them contradicts itself, or leaves a model nothing to go by.

No model is asked, and nothing is guessed from letters: a rule is told where two parts of a
definition cannot both be right, or where what tells tools apart is missing. docs/check.md has the
rules, and those that were tried and cost nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.yaml import parse_yaml_document
from sgdx_eval.tables import print_line, table, terminal, to_terminal
from sgdx_metric.version import __version__

from .data import Json, Project, Tool
from .folder import TOOLS
from .importing import import_source, kind_of, skill_pattern
from .json_schema import Node
from .keys import Tools
from .project import load_tools
from .values import why_no_call_fits

SARIF_MARK = b'"name": "sgdx tools check"'
# What each rule finds; the first two make every call wrong.
RULES = {
    "no_call": "No call can be right: a required part of the schema allows no value.",
    "unknown_name": "A name is required that no property has.",
    "other_type": "The description says another type than the schema.",
    "other_values": "The description lists other values than the enum, or the default is not one.",
    "other_range": "The description says another range than the schema, or the default is beyond.",
    "other_default": "The description says another default than the schema.",
    "optional": "The description says optional, and the schema requires it.",
    "same_words": "Two tools have the same description, which then tells nothing apart.",
    "no_words": "A tool has no description.",
}
# Those that cost a model nothing that could be told, by docs/check.md, and can be right.
OFF = frozenset({"other_type", "other_values", "other_range", "other_default", "optional"})


class Finding(NamedTuple):
    """A tool, or a part of it, that a rule applies to."""

    tool: str
    path: str
    rule: str
    text: str


def find(project: Project, also: Collection[str] = ()) -> list[Finding]:
    """What is wrong with the tools, in the order of the rules; those that are off only if named."""
    found: dict[str, list[Finding]] = {rule: [] for rule in RULES}
    said: dict[str, str] = {}  # the first tool of each description
    for i, tool in project.tools.items():
        for path, rule, text in _faults(tool):
            found[rule].append(Finding(i, path, rule, text))
        text = " ".join(tool.description.split())
        if not text:
            found["no_words"].append(Finding(i, "", "no_words", "has no description"))
        elif (other := said.setdefault(text, i)) != i:
            why = f"its description is that of {other}"
            found["same_words"].append(Finding(i, "", "same_words", why))
    looked_at = [rule for rule in RULES if rule not in OFF or rule in also]
    return [finding for rule in looked_at for finding in found[rule]]


def _faults(tool: Tool) -> Iterator[tuple[str, str, str]]:
    """The path, the rule and the text of each fault of a tool's schema."""
    layout = tool.layout
    if why := why_no_call_fits(tool.parameters):
        yield "", "no_call", why
    required: dict[str, set[str]] = {}  # by the path of an object
    for node in layout.nodes.values():
        names = {name for name in node.schema.get("required", ()) if isinstance(name, str)}
        required.setdefault(node.path, set()).update(names)
        is_open = {"patternProperties", "$dynamicRef"} & node.schema.keys()
        for name in sorted(names - layout.names([node.path]).keys()):
            if not is_open and node.schema.get("type") != "array":
                text = f"requires {name!r}, which is none of its properties"
                yield node.path, "unknown_name", text
    for node in layout.nodes.values():
        is_required = node.name in required.get(node.parent, ())
        for rule, text in dict.fromkeys(_contradictions(node, is_required)):
            yield node.path, rule, text


# What descriptions call types, and the types that they are.
_TYPES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("integer", "whole number"), ("integer", "number")),
    **dict.fromkeys(("number", "float", "decimal"), ("integer", "number")),
    "string": ("string",),
    **dict.fromkeys(("boolean", "bool"), ("boolean",)),
    **dict.fromkeys(("array", "list"), ("array", "object")),  # which may have a list
    "object": ("object",),
}
_KINDS = "|".join(sorted(_TYPES, key=len, reverse=True))
# A type is meant at the beginning, after "must be", or in brackets, and not in "a list name".
_END = r"(?=\s*(?:$|[.,;:()\n]|that\b|which\b|between\b|from\b|with\b|in\b|representing\b))"
_TYPE = re.compile(
    rf"(?:^(?:an?|the)?\s*({_KINDS}){_END}|\b(?:must be|given as|passed as) an? ({_KINDS}){_END}"
    rf"|\(({_KINDS})\)|^(?:an?|the)?\s*(list|array)(?=\s+of\b))",
    re.I,
)
_ANY_TYPE = re.compile(rf"\b({_KINDS})s?\b", re.I)
_WRITTEN = re.compile("separat|comma|delimit|json|line|string", re.I)  # of lists in a text
_WORD = r"(?:\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`|[\w.+/-]+)"
_LISTED = re.compile(
    rf"\b(?:one of|either|allowed values(?: are)?|possible values(?: are)?):?\s+[\[(]?"
    rf"({_WORD}(?:\s*(?:,\s*or|,\s*and|,|\bor\b|\band\b|\|)\s*{_WORD})+)\s*[\])]?\s*(?:[.;)\n]|$)",
    re.I,
)
# A number of no unit, by which it would be another one: "1,000" is, and "10 minutes" is not.
_NUMBER = (
    r"(-?\d+(?:,\d{3})*(?:\.\d+)?)(?![\d,.]*\d)(?!\s*(?:%|[kmg]\b|[kmg]i?b\b|m?s\b|hundred|thousand"
    r"|million|billion|percent|byte|second|minute|hour|day|week|month|year|sec\b|min\b))"
)
_RANGE = re.compile(rf"\b(?:between|from)\s+{_NUMBER}\s+(?:and|to)\s+{_NUMBER}(?![\w%.-]*\d)", re.I)
_LEAST = re.compile(rf"\b(?:at least|minimum(?: of| is|:)?|min:?)\s+{_NUMBER}\b", re.I)
_MOST = re.compile(rf"\b(?:at most|maximum(?: of| is|:)?|max:?|up to)\s+{_NUMBER}\b", re.I)
_DEFAULT = re.compile(
    rf"\bdefaults?(?:\s+(?:to|is|value is)|\s*[:=])\s*(?:({_NUMBER})\b|\"([^\"]+)\"|'([^']+)'"
    rf"|`([^`]+)`|\b(true|false)\b)",
    re.I,
)


def _contradictions(node: Node, is_required: bool) -> Iterator[tuple[str, str]]:
    """Where the description of a part and its schema cannot both be right."""
    schema = node.schema
    text = schema.get("description") or ""
    kinds = schema.get("type", [])
    kinds = {kinds} if isinstance(kinds, str) else {*filter(lambda k: isinstance(k, str), kinds)}
    if (found := _TYPE.search(text)) and kinds - {"null"}:
        named = next(filter(None, found.groups())).lower()
        is_written = named in ("list", "array", "object") and _WRITTEN.search(text)
        others = {kind for word in _ANY_TYPE.findall(text) for kind in _TYPES[word.lower()]}
        if not kinds & others and not is_written:
            own_kinds = " or ".join(sorted(kinds))
            yield "other_type", f"its description says {named}, and its type is {own_kinds}"
    values = schema.get("enum")
    if values and (found := _LISTED.search(text)):
        words = (word.strip("\"'`").rstrip(".") for word in re.findall(_WORD, found[1]))
        listed = {word.casefold() for word in words if word not in _JOINS}
        known = {str(value).casefold() for value in values if value is not None}
        if listed & known and listed != known:
            other = sorted(listed ^ known)
            which = "its enum lacks" if other[0] in listed else "its description lacks"
            yield "other_values", f"{which} {other[0]!r}, of the values that the other lists"
    if kinds & {"integer", "number"}:
        yield from (("other_range", why) for why in _ranges(text, schema))
    if (found := _search(_DEFAULT, text)) and "default" in schema:
        said = next(filter(None, found.groups()))
        own = schema["default"]
        if isinstance(own, str | int | float) and not _is_equal(said, own):
            why = f"its description says the default {said}, and its schema {own!r:.60}"
            yield "other_default", why
    own = schema.get("default")
    if own is not None and values and own not in values:
        yield "other_values", f"its default {own!r:.60} is not in its enum"
    if is_required and re.search(r"^\s*optional[.:,]|[(\[]optional[)\]]", text, re.I):
        yield "optional", "its description says optional, and it is required"


_JOINS = ("or", "and")


def _search(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match that holds always: no condition stands before it in its sentence."""
    for found in pattern.finditer(text):
        if not re.search(r"\b(if|when|unless)\b[^.;]*$", text[: found.start()], re.I):
            return found
    return None


def _ranges(text: str, schema: Json) -> Iterator[str]:
    """Where the limits that a description names are others than those of the schema."""
    both = _search(_RANGE, text)
    for side, alone, group in (("minimum", _LEAST, 1), ("maximum", _MOST, 2)):
        said = both[group] if both else (_search(alone, text) or {1: None})[1]
        found = None if said is None else float(said.replace(",", ""))
        own = schema.get(side)
        if found is not None and isinstance(own, int | float) and found != own:
            yield f"its description says the {side} {said}, and its schema {own}"
        default = schema.get("default")
        if found is None or not isinstance(default, int | float):
            continue
        is_out = default < found if side == "minimum" else default > found
        if is_out and own is None:
            yield f"its default {default} is beyond the {side} {said} of its description"


def _is_equal(said: str, own: object) -> bool:
    """Whether a text says a default."""
    try:
        return float(said.replace(",", "")) == float(str(own))
    except ValueError:
        return said.casefold() == str(own).casefold()


def read_any_tools(source: str) -> Project:
    """The tools of a project, or of any source that `import` knows; a server's have no file."""
    path = Path(source)
    document = None
    if path.suffix in (".yaml", ".yml") and path.is_file():
        document = parse_yaml_document(read_input(path), source)
    is_file = isinstance(document, dict) and isinstance(document.get("tools"), str | dict)
    if is_file or (path / TOOLS).exists():
        return load_tools(path)
    collection = import_source(Tools(source))
    collection.report_losses(None)
    place = "" if kind_of(source) == "server" else skill_pattern(source)
    return Project(place, collection.tools)


def show_check(project: Project, findings: Sequence[Finding]) -> None:
    """Print the findings."""
    console = terminal()
    count = len(project.tools)
    print_line(f"{len(findings)} findings in {count} tools\n", console)
    rows = [[f"{of.tool} {of.path}".rstrip(), of.text, of.rule] for of in findings]
    if rows:
        heads = ["tool and part", "finding", "rule"]
        to_terminal(table("", heads, rows, heads), console)


def as_sarif(project: Project, findings: Sequence[Finding]) -> dict[str, Any]:
    """The findings in SARIF 2.1.0 (OASIS), as code scanning reads them.

    A finding stands at the first line of its file that has the tool's name.
    """
    # Tools of a server stand in no file: code scanning shows them at the file that names it.
    path = Path(project.path or "sgdx.yaml")
    file = path / TOOLS if path.is_dir() else path
    lines = read_input(file).decode(errors="replace").splitlines() if file.is_file() else []
    if findings and not project.path and not lines:
        note = "found no sgdx.yaml here: code scanning shows no findings about a server's tools"
        print(f"note: {note}", file=sys.stderr)
    results = []
    for found in findings:
        at = (i for i, line in enumerate(lines, 1) if found.tool in line)
        uri = quote(file.as_posix())
        place = {"artifactLocation": {"uri": uri}, "region": {"startLine": next(at, 1)}}
        name = f"{found.tool} {found.path}".rstrip()
        logical = [{"fullyQualifiedName": name}]
        location: dict[str, Any] = {"logicalLocations": logical}
        location |= {"physicalLocation": place} if project.path or lines else {}
        results.append(
            {
                "ruleId": found.rule,
                "level": "error" if found.rule in ("no_call", "unknown_name") else "warning",
                "message": {"text": f"{name}: {found.text}"},
                "locations": [location],
            }
        )
    rules = [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()]
    driver = {"name": "sgdx tools check", "version": __version__, "rules": rules}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    run = {"tool": {"driver": driver}, "results": results}
    return {"$schema": schema, "version": "2.1.0", "runs": [run]}
