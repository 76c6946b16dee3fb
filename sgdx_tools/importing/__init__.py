"""Tools in the forms of providers, servers and documents, as a ``Collection``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
