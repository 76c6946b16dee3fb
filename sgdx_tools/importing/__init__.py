"""Tools in the forms of providers, servers and documents, as a ``Collection``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import decode_json
from sgdx_dataset.io.yaml import parse_yaml_document

if TYPE_CHECKING:
    from .collection import Collection


def import_files(
    form: str,
    files: Sequence[str | Path],
    only: Sequence[str] = (),
    with_headers: bool = False,
    as_tools: bool = False,
) -> Collection:
    """Read a file of a form, openai, anthropic, mcp or openapi, or patterns of files of skills.

    `with_headers` is of openapi, and `as_tools` of skills.
    """
    if form == "skills":
        from .skills import import_skills

        return import_skills([str(file) for file in files], only, as_tools)
    if form == "openapi":
        from .openapi import import_openapi

        return import_openapi(Path(files[0]), with_headers, only)
    from .tool_lists import import_list

    return import_list(form, Path(files[0]), only)


def form_of(path: Path) -> tuple[str, Path]:
    """The form of a file of tools, or of a folder of skills, and the file or their pattern."""
    if path.is_dir() or path.name == "SKILL.md":
        return "skills", path / "**" / "SKILL.md" if path.is_dir() else path
    data = read_input(path)
    is_json = data.lstrip()[:1] in (b"{", b"[")  # whose escapes YAML does not know
    document: Any = (
        decode_json(data, object, str(path), "a file of tools")
        if is_json
        else parse_yaml_document(data, str(path))
    )
    if isinstance(document, dict) and ("openapi" in document or "swagger" in document):
        return "openapi", path
    listed = document  # or an object that has the list, as a request or an answer
    for key in ("result", "tools"):
        listed = listed.get(key, listed) if isinstance(listed, dict) else listed
    first = listed[0] if isinstance(listed, list) and listed else None
    fields = first if isinstance(first, dict) else {}
    keys = {"inputSchema": "mcp", "input_schema": "anthropic"}
    return next((form for key, form in keys.items() if key in fields), "openai"), path
