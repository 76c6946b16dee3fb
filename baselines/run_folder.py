"""The files of a run folder: ``run.json`` says how a model was made, ``log.jsonl`` how it went."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file, write_bytes
from sgdx_dataset.io.json import decode_json

# The folder of a run's new model while its files replace those of the one before.
READY = ".model.ready"
# The leaf of a record that may grow when a run is resumed, and those that determine nothing.
_STEPS, _FREE = "settings.steps", ("settings.expected", "settings.encoded")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file of a run folder."""
    return decode_json(read_file(path), dict[str, Any], str(path), "a file of a run")


def without_folders(name: str) -> str:
    """A name, or of a local path its last part, as the folders around that may be private."""
    return Path(name).resolve().name if Path(name).exists() else name


def public_settings(settings: Any) -> Any:
    """The settings of a recipe as files that may be published have them: without folders."""
    augment, also = settings.augment, settings.also
    if augment is not None:
        augment = replace(augment, schemas=without_folders(augment.schemas))
    if also is not None:
        also = replace(also, source=without_folders(also.source))
    changed: dict[str, Any] = {"model": without_folders(settings.model)}
    changed |= {"augment": augment, "also": also}
    if encoded := getattr(settings, "encoded", None):
        changed["encoded"] = without_folders(encoded)
    if starts := getattr(settings, "average", ()):
        changed["average"] = tuple(map(without_folders, starts))
    return replace(settings, **changed)


def check_output(output: Path, record: dict[str, Any], resume: bool) -> list[int]:
    """Check that a folder is free for a new run, or holds the run that is to be resumed."""
    # A resumed run may have more steps than it was begun with: it then trains longer, and its
    # record keeps the numbers of steps that it had before, which are returned.
    path = output / "run.json"
    if not resume:
        check_free(output)
        return []
    recorded = read_json(path).get("record") if path.exists() else None
    if recorded is None:  # an evaluation leaves a file without a record
        raise SgdxError(f"{path}: found no training, expected one to resume")
    extended: list[int] = recorded.pop("extended", [])
    before, now = _flat(recorded), _flat(msgspec.json.decode(msgspec.json.encode(record)))
    steps, more_steps = before.get(_STEPS), now.get(_STEPS)
    if steps and more_steps and steps < more_steps:
        extended = [*extended, steps]
        before[_STEPS] = more_steps
    for name in {**before, **now}:
        if name not in _FREE and before.get(name) != now.get(name):
            raise SgdxError(
                f"{path}: {name} is {before.get(name)!r}, to resume it cannot be {now.get(name)!r}"
            )
    return extended


def check_free(output: Path) -> None:
    """Refuse a folder with files, but for those that a start which failed may have left."""
    names = [path.name for path in output.iterdir()] if output.is_dir() else []
    begun = [name for name in names if name != "initial" and not name.startswith(".")]
    if output.is_file() or begun:
        raise SgdxError(
            f"{output}: holds another run's files, expected an empty folder; "
            "to continue that run, give --resume"
        )


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """The leaves of nested objects by their path, as in ``settings.augment.seed``."""
    if not isinstance(value, dict):
        return {name: value}
    return {
        key: leaf
        for inner, item in value.items()
        for key, leaf in _flat(item, f"{name}.{inner}" if name else inner).items()
    }


def append_log(output: Path, line: dict[str, Any]) -> None:
    """Append a line to the ``log.jsonl`` in a folder."""
    with (output / "log.jsonl").open("ab") as file:
        file.write(msgspec.json.encode(line) + b"\n")


def read_log(output: Path) -> list[dict[str, Any]]:
    """The lines of the ``log.jsonl`` in a folder, in order."""
    path = output / "log.jsonl"
    what = "a line of a training's log"  # a run that was killed may have written a part of its last
    return [
        decode_json(line, dict[str, Any], f"{path}:{number}", what)
        for number, line in enumerate(read_file(path).splitlines(), 1)
    ]


def trim_log(output: Path, step: int) -> None:
    """Remove the lines of ``log.jsonl`` after ``step``, the step at which a run resumes."""
    path = output / "log.jsonl"
    lines = read_file(path).splitlines(keepends=True) if path.exists() else []
    # A run that was killed may have written only part of its last line.
    whole = [line for line in lines if line.endswith(b"\n")]
    before = [line for line in whole if msgspec.json.decode(line)["step"] <= step]
    write_bytes(path, b"".join(before), renews=True)


def in_words(facts: Mapping[str, Any]) -> str:
    """Facts as words: numbers before their names, and groups of them after theirs.

    >>> in_words({"turns": 482, "cut": 0, "labels": {"changes": 390, "not_in_turn": 44}})
    '482 turns, 0 cut, labels: 390 changes, 44 not in turn'
    >>> in_words({"cut": {"of": 482, "inputs": 3}, "commit": "", "model": None})
    'cut: 3 inputs of 482'
    """
    words = []
    for key, value in facts.items():
        name = key.replace("_", " ")
        if isinstance(value, Mapping):
            group = in_words({k: count for k, count in value.items() if k != "of"})
            words.append(f"{name}: {group}" + (f" of {value['of']}" if "of" in value else ""))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            words.append(f"{value} {name}")
        elif value not in (None, ""):
            words.append(f"{name} {value}")
    return ", ".join(words)
