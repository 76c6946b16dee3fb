"""What an import collects: tools, cases, variants, and what could not be expressed."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls, say
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import check_value, parse_json
from sgdx_dataset.io.yaml import parse_yaml_document
from sgdx_llm.functions import safe_names

from ..data import Case, Json, Rule, Source, Tool, Variant
from ..folder import CASES, SOURCE, VARIANTS, check_case, check_variant, write_project
from ..values import why_no_call_fits

_LONGEST_LIST = 20  # lines about what was left out
_MOST_TOOLS = 128  # which OpenAI's interface takes in one request


@dataclass
class Collection:
    """What is being imported."""

    # The form of the files, such as ``openapi``.
    form: str
    # How the cases' values are compared by default.
    rules: Rule = "exact"
    # Patterns as of a shell: a tool is taken if one fits its name, its path or a tag of it. Without
    # any, all are.
    only: Sequence[str] = ()
    # Whether models are shown each tool, or one that lists them.
    shown_as: Literal["tools", "skill"] = "tools"
    # By their ids.
    tools: dict[str, Tool] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    variants: list[Variant] = field(default_factory=list)
    # The SHA-256 of each file by its name.
    files: dict[str, str] = field(default_factory=dict)
    # What could not be expressed, a line for each.
    left_out: list[str] = field(default_factory=list)
    # Which names were changed, since providers do not take them or others have them.
    renamed: list[str] = field(default_factory=list)
    # What definitions say that models are not shown, by whose it is.
    beside: dict[str, Json] = field(default_factory=dict)
    servers: list[dict[str, str]] = field(default_factory=list)
    # What one should know of what was expressed.
    remarks: list[str] = field(default_factory=list)
    _fitting: set[str] = field(default_factory=set)  # patterns of `only` that fit a tool

    def add_file(self, path: Path, name: str = "") -> bytes:
        """Read a file, and note it."""
        data = read_input(path)
        self.files[name or path.name] = hashlib.sha256(data).hexdigest()
        return data

    def takes(self, *texts: str) -> bool:
        """Whether a tool with this name, path and tags is asked for."""
        fitting = {p for p in self.only if any(fnmatchcase(text, p) for text in texts)}
        self._fitting |= fitting
        return bool(fitting) or not self.only

    def write(self, folder: Path) -> None:
        """Write a new folder of tools."""
        for case in self.cases:
            check_case(case, self.tools, f"case {case.id}")
        for variant in self.variants:
            check_variant(variant, self.tools, self.cases, f"variant {variant.name}")
        write_project(folder, self.tools.values(), self.cases, self.source(), self.variants)

    def source(self) -> Source:
        """Where the tools and cases come from."""
        left_out, servers = tuple(self.left_out), tuple(self.servers)
        renamed = tuple(self.renamed)
        return Source(
            self.form,
            self.files,
            self.rules,
            left_out,
            renamed,
            self.beside,
            servers,
            self.shown_as,
        )

    def report_losses(self, source: Path | None) -> None:
        """Say what was left out, changed or is worth a remark; a file may list all of it."""
        listed = f", which {source} lists" if source else ""
        for line in self.left_out[:_LONGEST_LIST]:
            say("sgdx", f"left out: {line}")
        if len(self.left_out) > _LONGEST_LIST:
            rest = len(self.left_out) - _LONGEST_LIST
            say("sgdx", f"left out: {rest} more{listed}")
        if self.renamed:
            first, count = self.renamed[0], len(self.renamed)
            say("sgdx", f"renamed: {count}{listed}, such as {first}")
        for line in self.remarks:
            say("sgdx", line)
        if len(self.tools) > _MOST_TOOLS and self.shown_as == "tools":
            many = f"{len(self.tools)} tools, and some servers take at most {_MOST_TOOLS}"
            say("sgdx", f"found {many}: only (--only) takes some of them")

    def report(self, folder: Path) -> None:
        """Say what was left out, and what was written into the folder."""
        self.report_losses(folder / SOURCE)
        counts = [f"{len(self.tools)} tools"]
        counts += [f"{len(self.cases)} cases"] if self.cases else []
        counts += [f"{len(self.variants)} variants"] if self.variants else []
        print(f"{folder}: {', '.join(counts)}")
        if keys := Counter(key for record in self.beside.values() for key in record):
            kept = ", ".join(f"{key} of {n}" for key, n in keys.most_common())
            note = f"note: {folder / SOURCE} keeps what no model is shown: {kept}"
            print(escape_controls(note), file=sys.stderr)
        words = f"sgdx tools reword {folder} --with model:NAME --output {folder}/{VARIANTS}"
        run = f"sgdx tools run {folder} --model NAME --output {folder}-run"
        step = run if self.variants else words
        step = step if self.cases else f"write {folder / CASES}, then {step}"
        print(f"next: {step}", file=sys.stderr)

    def add_tools(self, tools: Iterable[Tool]) -> None:
        """Add tools.

        A name that providers do not take is changed. A tool whose schema is not understood is left
        out. Both are noted.
        """
        definitions = list(tools)
        for pattern in self.only:
            if pattern not in self._fitting:
                raise SgdxError(f"only: found no tool whose name, path or tag fits {pattern!r}")
        names, files = safe_names(tool.name for tool in definitions), ", ".join(self.files)
        files = files or ", ".join(server["name"] for server in self.servers)
        for tool in definitions:
            name, where = tool.name, f"tool {tool.name}"
            if names[name] in self.tools:
                self.left_out.append(f"{where}: found it twice: the second is left out")
                continue
            parameters = tool.parameters  # which say that they are an object, as servers want it
            kind = parameters.get("type")
            if kind is None or (isinstance(kind, list) and "object" in kind):
                parameters = {"type": "object", **parameters} | {"type": "object"}
            if parameters.keys() <= {"type", "$schema"} and parameters["type"] == "object":
                parameters = {}
            new = replace(tool, name=names[name], id=names[name], parameters=parameters)
            try:
                replace(new, id=name).layout  # noqa: B018 - which reads the whole schema
            except SgdxError as error:
                self.left_out.append(f"{error}: the tool is left out")
                continue
            if name != names[name]:
                self.renamed.append(
                    f"{where}: providers do not take its name: it is {names[name]} here"
                )
            if why := why_no_call_fits(parameters):
                self.remarks.append(f"{where}: no call of it can be right: {why}")
            self.tools[names[name]] = new
        if not self.tools:
            reason = f": {self.left_out[0]}" if self.left_out else ""
            raise SgdxError(f"{files}: found no tool, expected one at least{reason}")


def parse_document(data: bytes, path: Path, is_checked: bool = False) -> Any:
    """What a file in JSON or YAML has, perhaps without values that no JSON can have."""
    content: Any = (
        parse_json(data, object, str(path), "a file of tools")
        if data.lstrip()[:1] in (b"{", b"[")  # whose escapes YAML does not know
        else parse_yaml_document(data, str(path))
    )
    if is_checked:
        check_value(content, str(path))
    return content


def tool_records(content: Any, keys: tuple[str, ...], path: Path) -> list[Json]:
    """The records of a list of tools, or of an object that has one under one of some keys."""
    records, fault = content, "found no list"
    if isinstance(content, dict):
        there = [key for key in keys if key in content]
        records = content[there[0]] if there else None
        kind = type(records).__name__
        fault = f"found {kind if there else 'an object with ' + ', '.join(list(content)[:5])}"
    if not isinstance(records, list):
        raise SgdxError(f"{path}: {fault}, expected a list of tools, or one as {' or '.join(keys)}")
    for i, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise SgdxError(f"{path}: tool {i}: found {type(record).__name__}, expected an object")
    return records
