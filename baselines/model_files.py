"""The files of a trained model, in a run folder or a repository on the Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
)
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import decode_json
from sgdx_dataset.push import check_hub

from .provenance import Provenance
from .run_folder import READY

Row = dict[str, Any]
AnyProvenance = TypeVar("AnyProvenance", bound=Provenance)


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


def model_provenance(model: str, revision: str | None = None) -> Provenance | None:
    """What a model was trained on, from its ``config.json``; None if it is none of this project."""
    stored = (read_json(model, "config.json", revision) or {}).get("sgdx")
    return None if stored is None else read_provenance(model, Provenance, revision)


def read_provenance(
    model: str, kind: type[AnyProvenance], revision: str | None = None
) -> AnyProvenance:
    """The provenance of a model of a system, from its ``config.json``."""
    config = read_json(model, "config.json", revision)
    if config is None:
        raise SgdxError(f"{model}: found no config.json, expected a model of sgdx train")
    try:
        return msgspec.convert(config.get("sgdx"), kind)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{model}: config.json: sgdx: {error}") from None


def read_json(model: str, name: str, revision: str | None = None) -> Row | None:
    """The content of a JSON file of a model; None if it has no such file."""
    path = model_file(model, name, revision)
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
    check_hub()
    try:
        validate_repo_id(model)  # a path that is not there is no question for the Hub
        return Path(hf_hub_download(model, name, revision=revision))
    except (OSError, HfHubHTTPError, HFValidationError) as error:
        # The Hub was reached and has the repository, which lacks the file.
        if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
            return None
        reason = str(error).strip().split("\n")[0]
        raise SgdxError(
            f"{model}: no such folder or repository: {Path.cwd()} has no folder of this name, and "
            f"from the Hub: {reason}"
        ) from None
