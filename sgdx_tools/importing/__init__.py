"""Tools from where they are, as a ``Collection``: the kind of a source is known by its content."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_input

if TYPE_CHECKING:
    from ..keys import Tools
    from .collection import Collection

Kind = Literal["server", "client", "skills", "openapi", "bfcl", "list"]
# What files of tools are called, which some file systems say are programs.
_TEXTS = (".toml", ".json", ".jsonl", ".yaml", ".yml", ".md", ".txt")


def import_source(
    given: Tools, answers: Sequence[Path] = (), with_headers: bool = False
) -> Collection:
    """Read the tools of sources, which are of one kind.

    They are a list of tools or an OpenAPI document, skills by their folder or a pattern, MCP
    servers by command or address, or cases of BFCL, whose answers are in files of their own.
    """
    from .collection import Collection, parse_document

    sources, only = given.sources(), given.patterns()
    kinds = {kind_of(source): source for source in sources}
    if len(kinds) != 1 or (len(sources) > 1 and {*kinds} & {"openapi", "list"}):
        found = ", ".join(f"{source} ({kind})" for kind, source in kinds.items()) or "none"
        raise SgdxError(f"found the sources {found}, expected one, or several of one kind")
    (kind,) = kinds
    fitting: dict[str, tuple[Kind, object]] = {
        "answers": ("bfcl", answers),
        "with-headers": ("openapi", with_headers),
        "as-tools": ("skills", given.as_),
        "start": ("server", given.start),
        "env": ("server", given.env),
        "headers": ("server", given.headers),
    }
    for option, (of, value) in fitting.items():
        if value and kind != of:
            raise SgdxError(f"{option}: found a source of the kind {kind}, expected {of}")
    if kind == "server":
        from .mcp_servers import import_started

        return import_started(given)
    if kind == "client":
        from .clients import client_servers
        from .mcp_servers import import_servers

        return import_servers([of for s in sources for of in client_servers(Path(s))], only)
    if kind == "skills":
        from .skills import import_skills

        return import_skills([skill_pattern(s) for s in sources], only, bool(given.as_))
    if kind == "bfcl":
        from .bfcl import import_bfcl

        if only:
            raise SgdxError("only: found cases of BFCL, which name their tools")
        return import_bfcl([Path(source) for source in sources], answers)
    path = Path(sources[0])
    if kind == "openapi":
        from .openapi import import_openapi

        return import_openapi(path, with_headers, only)
    from .tool_lists import import_list

    collection = Collection("list", only=only)
    import_list(parse_document(collection.add_file(path), path), path, collection)
    return collection


def kind_of(source: str) -> Kind:
    """What a source is; a name that is no file is a command of a server."""
    path = Path(source)
    if re.match(r"[A-Za-z][\w+.-]*://", source):
        return "server"
    if path.name == "SKILL.md" or path.is_dir() or ("*" in source and path.suffix == ".md"):
        return "skills"
    is_program = path.is_file() and os.access(path, os.X_OK) and path.suffix not in _TEXTS
    if not path.exists() or is_program:
        if path.suffix in _TEXTS and " " not in source.strip():
            raise SgdxError(f"{source}: found no such file, expected tools")
        return "server"
    data = read_input(path)
    first = data.lstrip().split(b"\n", 1)[0]
    if b'"question"' in first and b'"function"' in first:
        return "bfcl"
    from .clients import read_client, servers_in
    from .collection import parse_document

    is_known = b"ervers" in data and path.suffix in (".json", ".toml")
    if is_known and servers_in(read_client(path)) is not None:
        return "client"
    document = parse_document(data, path)
    is_openapi = isinstance(document, dict) and {"openapi", "swagger"} & document.keys()
    return "openapi" if is_openapi else "list"


def skill_pattern(source: str) -> str:
    """The pattern of files SKILL.md of a folder, or of one such file, or the pattern itself."""
    return str(Path(source) / "**" / "SKILL.md") if Path(source).is_dir() else source
