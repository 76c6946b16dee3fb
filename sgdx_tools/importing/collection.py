"""What an import collects: tools, cases, wordings, and what could not be expressed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from baselines.llm.functions import safe_names
from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import parse_json

from ..data import Case, Json, Rule, Source, Tool, Wording
from ..json_schema import Layout

Record = TypeVar("Record", bound=msgspec.Struct)


@dataclass
class Collection:
    """What is being imported.

    Attributes:
        form: The form of the files, such as ``openapi``.
        rules: How the cases' values are compared by default.
        tools: The tools by their ids.
        cases: The cases.
        wordings: The wordings.
        files: The SHA-256 of each file by its name.
        left_out: What could not be expressed, a line for each.
    """

    form: str
    rules: Rule = "exact"
    tools: dict[str, Tool] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    wordings: list[Wording] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    @property
    def source(self) -> Source:
        """Where the tools and cases come from."""
        return Source(self.form, self.files, self.rules, tuple(self.left_out))

    def add_file(self, path: Path) -> bytes:
        """Read a file, and note it.

        Raises:
            SgdxError: It cannot be read.
        """
        data = read_input(path)
        self.files[path.name] = hashlib.sha256(data).hexdigest()
        return data

    def leave_out(self, what: str) -> None:
        """Note what could not be expressed."""
        self.left_out.append(what)

    def add_tools(self, tools: Iterable[tuple[str, str, Json]]) -> None:
        """Add tools by name, description and parameters.

        A name that providers do not take is changed. A tool whose schema is not understood is left
        out. Both are noted.

        Raises:
            SgdxError: Two tools have one name, or there is no tool that can be used.
        """
        definitions = list(tools)
        names = safe_names(name for name, _, _ in definitions)
        for name, description, parameters in definitions:
            where = f"tool {name}"
            if names[name] in self.tools:
                raise SgdxError(f"{self._file}: {where}: found it twice, expected distinct names")
            try:
                Layout(parameters, where).check()
            except SgdxError as error:
                self.leave_out(f"{error}: the tool is left out")
                continue
            if name != names[name]:
                self.leave_out(f"{where}: providers do not take its name: it is {names[name]} here")
            self.tools[names[name]] = Tool(names[name], description, parameters)
        if not self.tools:
            reason = f": {self.left_out[0]}" if self.left_out else ""
            raise SgdxError(f"{self._file}: found no tool, expected one at least{reason}")

    @property
    def _file(self) -> str:
        return ", ".join(self.files)


def read_json(collection: Collection, path: Path, what: str) -> Any:
    """Read a JSON file that is imported.

    Args:
        collection: Where the file is noted.
        path: The file.
        what: What it should be, for error messages.

    Raises:
        SgdxError: It cannot be read or is not JSON.
    """
    content: Any = parse_json(collection.add_file(path), object, str(path), what)
    return content


def tool_records(content: Any, keys: tuple[str, ...], path: Path) -> list[Json]:
    """The records of tools of a file that is a list of them, or an object with the list in it.

    Args:
        content: What the file holds.
        keys: The keys that such an object may have for the list.
        path: The file, for error messages.

    Raises:
        SgdxError: There is no such list, or an item of it is no object.
    """
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


def read_record(
    record: Mapping[str, Any], kind: type[Record], where: str
) -> tuple[Record, list[str]]:
    """Read a record of a tool; returns it and the keys that it has beyond the type's.

    Raises:
        SgdxError: A field is missing or of another type, or the name is empty.
    """
    try:
        read = msgspec.convert(record, kind)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{where}: {error}") from None
    if not record["name"]:
        raise SgdxError(f"{where}: name: found it empty, expected a name")
    return read, [key for key in record if key not in kind.__struct_encode_fields__]
