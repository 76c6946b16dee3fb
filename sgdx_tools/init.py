"""``sgdx tools init``: write ``sgdx.yaml`` for a server or a file of tools."""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import write_bytes

from .importing import form_of, import_files
from .testing import FILE


def init(source: str, output: Path, model: str, base_url: str | None) -> tuple[Path, int]:
    """Write ``sgdx.yaml`` into a folder, after reading the tools that it names.

    ``source`` is a file of tools, a folder of skills, or a server's command or address. Returns the
    file and the number of tools.
    """
    path = output / FILE
    if path.exists():
        raise SgdxError(f"{path}: exists already, expected a folder without it")
    file = Path(source)
    if file.exists():
        form, files = form_of(file)
        found = import_files(form, [files])
        named = os.path.relpath(files, output)  # as paths in the file are relative to its folder
    else:
        from .importing.mcp_servers import import_servers

        form, found, named = "mcp", import_servers([source]), source
    server = {"model": model, **({"base_url": base_url} if base_url else {})}
    content = {
        "tools": {form: named},
        "cases": "cases.jsonl",
        "models": [server],
        "variants": {**server, "count": 2},
        "gate": {"max_drop": 3},
    }
    output.mkdir(parents=True, exist_ok=True)
    write_bytes(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True).encode())
    return path, len(found.tools)
