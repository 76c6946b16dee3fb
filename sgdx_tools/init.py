"""``sgdx tools init``: write ``sgdx.yaml`` for a server or a file of tools."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import write_bytes
from sgdx_dataset.io.secrets import note_addresses, take_out

from .importing import import_source, kind_of, skill_pattern
from .keys import FILE, SCHEMA_LINE, Tools


def init(
    source: str,
    output: Path,
    model: str,
    base_url: str | None,
    env: Mapping[str, str],
    headers: Mapping[str, str],
) -> tuple[Path, int]:
    """Write ``sgdx.yaml`` into a folder, after reading the tools that it names.

    ``source`` is a file of tools, a folder of skills, or a server's command or address. ``env`` and
    ``headers`` are the server's, and written, so that each has a variable in place of a key.
    Returns the file and the number of tools.
    """
    path = output / FILE
    if path.exists():
        raise SgdxError(f"{path}: exists already, expected a folder without it")
    access = {key: dict(of) for key, of in (("env", env), ("headers", headers)) if of}
    for key, of in access.items():
        for name, value in of.items():
            if not re.search(r"\$\{\w+\}", value):  # which may be a key, and is not said
                raise SgdxError(f"{key}: {name}: found no ${{NAME}}, expected no key in {FILE}")
    found = import_source(Tools(source, env=dict(env), headers=dict(headers)))
    # Paths in the file are relative to its folder.
    is_path = kind_of(source) != "server"
    named = os.path.relpath(skill_pattern(source), output) if is_path else source
    found.report_losses(None)
    note_addresses(base_url or "")
    server = {"model": model, **({"base_url": base_url} if base_url else {})}
    content = {
        "tools": {"source": named, **access} if access else named,
        "cases": "cases.jsonl",
        "models": [server],
        "variants": {**server, "count": 2},
        "gate": {"max_drop": 3},
    }
    shown = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    text = f"{SCHEMA_LINE}\n{shown}"
    if take_out(text) != text:
        expected = "expected it in a variable, as --env or --header takes it"
        raise SgdxError(f"{path}: found a key in the command or address to write, {expected}")
    write_bytes(path, text.encode())
    return path, len(found.tools)
