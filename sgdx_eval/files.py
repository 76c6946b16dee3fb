"""What is written: never over what is read, and whole or not at all."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import staged

# The files that are read in a folder of a release, or of predictions in its layout.
_LAYOUT = ("schema.json", "dialogues_*.json")


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path] = ()) -> None:
    """Refuse files that cannot be written, or are read too, before any work is done.

    Outputs go by the option that names them. Inputs are files, and folders of a release or of
    predictions in its layout.
    """
    taken = list(inputs)
    for option, output in outputs.items():
        if output is None:
            continue
        try:
            if output.exists() and not output.is_file():
                found = "a folder" if output.is_dir() else "no regular file"
                raise SgdxError(f"{option} {output}: found {found} there, expected a file")
        except OSError as error:  # such as a name that is too long
            raise SgdxError(f"{option} {output}: {error.strerror}") from None
        check_folder(option, output.parent)
        if any(_is_read(output, path) for path in taken):
            raise SgdxError(
                f"{option} {output}: found a file that the command reads or writes already, "
                "expected another name"
            )
        taken.append(output)


def _is_read(output: Path, source: Path) -> bool:
    """Whether a file is the one that is given, or is read where a folder is given."""
    if output.resolve() == source.resolve():
        return True
    if not output.exists():
        return False
    if source.is_dir():
        return any(output.samefile(file) for name in _LAYOUT for file in source.rglob(name))
    return source.exists() and output.samefile(source)


def check_folder(option: str, folder: Path) -> None:
    """Refuse a folder that could not be made or written to, before any work is done."""
    try:
        nearest = next(path for path in (folder, *folder.parents) if path.exists())
    except OSError as error:
        raise SgdxError(f"{option} {folder}: {error.strerror}") from None
    if not nearest.is_dir():
        raise SgdxError(f"{option} {folder}: {nearest} is a file, expected a folder")
    if not os.access(nearest, os.W_OK):
        raise SgdxError(f"{option} {folder}: found no right to write to {nearest}")


def write_scores(scores: Mapping[str, Any], output: Path) -> None:
    """Write scores.json, with `paired`, which `compare` reads, in one line at its end."""
    text = _indented({k: v for k, v in scores.items() if k != "paired"}).removesuffix("\n}")
    line = msgspec.json.encode(scores["paired"]).decode()
    with staged(output) as path:
        path.write_text(f'{text},\n  "paired": {line}\n}}\n', encoding="utf-8")


def write_json(result: Mapping[str, Any], output: Path) -> None:
    """Write indented JSON, for people and for programs."""
    with staged(output) as path:
        path.write_text(_indented(result) + "\n", encoding="utf-8")


def _indented(value: Mapping[str, Any]) -> str:
    # The encoder of the standard library is slow when it indents.
    return msgspec.json.format(json.dumps(value, allow_nan=False), indent=2)
