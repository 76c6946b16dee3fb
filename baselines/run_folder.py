"""The files of a run folder, and of a model on the Hub.

``run.json`` says how a model was made, ``log.jsonl`` how it went, ``config.json`` what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file, write_bytes
from sgdx_dataset.io.json import decode_json

from .settings import Provenance

Row = dict[str, Any]
AnyProvenance = TypeVar("AnyProvenance", bound=Provenance)

# The folder of a run's new model while its files replace those of the one before.
READY = ".model.ready"
# The leaf of a record that may grow when a run is resumed, and those that determine nothing.
_STEPS, _FREE = "settings.steps", ("settings.expected", "settings.encoded")


def read_json(model: str | Path, name: str, revision: str | None = None) -> Row | None:
    """The content of a JSON file of a run or a model; None if it has no such file."""
    path = model_file(str(model), name, revision)
    if path is None:
        return None
    return decode_json(read_file(path), Row, str(path), "a record or configuration")


def model_file(model: str, name: str, revision: str | None = None) -> Path | None:
    """The local path of a file of a model, downloaded if need be; None if it has no such file."""
    folder = Path(model)
    if folder.is_dir():
        if (folder / READY).exists():
            raise SgdxError(
                f"{model}: found parts of two models, because its training was stopped while it "
                "replaced one by the next, expected one; continue with sgdx train --resume"
            )
        return folder / name if (folder / name).is_file() else None
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    from sgdx_dataset.push import check_hub

    check_hub()
    try:
        validate_repo_id(model)  # a path that is not there is no question for the Hub
        return Path(hf_hub_download(model, name, revision=revision))
    except (OSError, ValueError) as error:  # as all errors of the Hub are
        # The Hub was reached and has the repository, which lacks the file.
        if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
            return None
        reason = str(error).strip().split("\n")[0]
        raise SgdxError(
            f"{model}: no such folder or repository: {Path.cwd()} has no folder of this name, and "
            f"from the Hub: {reason}"
        ) from None


def recorded_name(model: str) -> str:
    """The name of the system that a run folder or a repository on the Hub belongs to."""
    for file, keys in (("run.json", ("record", "seen")), ("config.json", ("sgdx",))):
        found: Any = read_json(model, file)
        for key in (*keys, "tracker"):
            found = found.get(key) if isinstance(found, dict) else None
        if found and ":" in str(found):  # a model must not choose which code is imported
            raise SgdxError(f"{model}: is of the tracker {found}; name it with --tracker {found}")
        if found:
            return str(found)
    raise SgdxError(
        f"{model}: found no tracker's name in run.json or config.json, expected a model of "
        "sgdx train; for another give --tracker"
    )


def recorded_settings(model: str) -> Row:
    """The recipe that a model was trained with, from its ``run.json``; empty if it has none."""
    run = read_json(model, "run.json") or {}
    settings: Row = run.get("record", {}).get("settings", {})
    return settings


def read_provenance(
    model: str, kind: type[AnyProvenance], revision: str | None = None
) -> AnyProvenance:
    """What a model of this project was trained on, from its ``config.json``."""
    config = read_json(model, "config.json", revision)
    if config is None:
        raise SgdxError(f"{model}: found no config.json, expected a model of sgdx train")
    try:
        return msgspec.convert(config.get("sgdx"), kind)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{model}: config.json: sgdx: {error}") from None


def without_folders(name: str) -> str:
    """A name, or of a local path its last part, as the folders around that may be private."""
    return Path(name).resolve().name if Path(name).exists() else name


def public_settings(settings: Any) -> Any:
    """The settings of a recipe as files that may be published have them: without folders."""
    augment, also = settings.augment, settings.also
    changed: Row = {"model": without_folders(settings.model)}
    if augment is not None:
        changed["augment"] = replace(augment, schemas=without_folders(augment.schemas))
    if also is not None:
        changed["also"] = replace(also, source=without_folders(also.source))
    if encoded := getattr(settings, "encoded", None):
        changed["encoded"] = without_folders(encoded)
    if starts := getattr(settings, "average", ()):
        changed["average"] = tuple(map(without_folders, starts))
    return replace(settings, **changed)


def check_output(output: Path, record: Row, resume: bool) -> list[int]:
    """Check that a folder is free for a new run, or holds the run that is to be resumed."""
    # A resumed run may have more steps than it was begun with: it then trains longer, and its
    # record keeps the numbers of steps that it had before, which are returned.
    if not resume:
        check_free(output)
        return []
    path = output / "run.json"  # read also where parts of two models are, which the run sorts out
    recorded = decode_json(read_file(path), Row, str(path), "a record").get("record")
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


def _flat(value: Any, name: str = "") -> Row:
    """The leaves of nested objects by their path, as in ``settings.augment.seed``."""
    if not isinstance(value, dict):
        return {name: value}
    return {
        key: leaf
        for inner, item in value.items()
        for key, leaf in _flat(item, f"{name}.{inner}" if name else inner).items()
    }


def append_log(output: Path, line: Row) -> None:
    """Append a line to the ``log.jsonl`` in a folder."""
    with (output / "log.jsonl").open("ab") as file:
        file.write(msgspec.json.encode(line) + b"\n")


def read_log(output: Path) -> list[Row]:
    """The lines of the ``log.jsonl`` in a folder, in order."""
    path = output / "log.jsonl"
    what = "a line of a training's log"  # a run that was killed may have written a part of its last
    return [
        decode_json(line, Row, f"{path}:{number}", what)
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
