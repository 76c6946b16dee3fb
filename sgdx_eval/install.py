"""Put a metric where `evaluate.load` finds it: the cache of this machine, or a Space of the Hub."""

import hashlib
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from evaluate.loading import get_imports, init_dynamic_modules

import sgdx_metric
import sgsacc_metric
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import staged
from sgdx_dataset.push import upload
from sgdx_metric.version import __version__

METRICS = [Path(*metric.__path__) for metric in (sgdx_metric, sgsacc_metric)]
# Patterns of all files that a push has ever uploaded: what no longer belongs there is removed.
_UPLOADED = ("*.py", "README.md", "requirements.txt")


def install(folder: Path = METRICS[0]) -> Path:
    """Copy a metric's core into the Hugging Face modules cache (`HF_MODULES_CACHE`).

    `evaluate` looks up a plain name as <cache>/evaluate_modules/metrics/evaluate-metric--<name>/
    <64 hex digits>/<name>.py and takes the newest. The command line's files are not needed there.
    """
    files = script_files(folder)
    home = Path(init_dynamic_modules()) / "metrics" / f"evaluate-metric--{folder.name}"
    home.mkdir(parents=True, exist_ok=True)
    for package in (home.parent, home):
        (package / "__init__.py").touch()
    digest = hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
    target = home / digest
    copies = [target / file.name for file in files]
    if not (target / "__init__.py").is_file() or not all(
        copy.is_file() and copy.read_bytes() == file.read_bytes()
        for copy, file in zip(copies, files)
    ):
        shutil.rmtree(target, ignore_errors=True)
        with staged(target) as staging:
            staging.mkdir()
            (staging / "__init__.py").touch()
            for file in files:
                shutil.copyfile(file, staging / file.name)
    os.utime(copies[0])
    return target


def script_files(folder: Path) -> list[Path]:
    """A metric's script, and the files beside it that `evaluate` copies with it."""
    script = folder / f"{folder.name}.py"
    imports = get_imports(str(script))
    return [script, *(folder / f"{name}.py" for kind, name, *_ in imports if kind == "internal")]


def push(repo_id: str, private: bool = False) -> str:
    """Upload a metric as a Space, such as ``you/sgdx_metric``; return the Space's address.

    The upload is tagged with the package's version, so that
    ``evaluate.load(repo_id, revision="v0.1.0")`` stays the same.
    """
    folders = {folder.name: folder for folder in METRICS}
    folder = folders.get(repo_id.rpartition("/")[2])
    if folder is None:
        names = " or ".join(f"YOU/{name}" for name in folders)
        raise SgdxError(
            f"{repo_id}: found another name than a metric's, expected {names}, since "
            "evaluate.load looks for a script of the Space's name"
        )
    with TemporaryDirectory() as space:
        for name, path in space_files(folder).items():
            shutil.copyfile(path, Path(space) / name)
        return upload(
            Path(space),
            repo_id,
            "space",
            own=_UPLOADED,
            mark=f"{folder.name}.py",
            message=f"{folder.name}, version {__version__}",
            private=private,
            tag=f"v{__version__}",
            sdk="gradio",
        )


def space_files(folder: Path) -> dict[str, Path]:
    """The files of a metric's Space by name: its script, page, card and requirements."""
    others = ("app.py", "README.md", "requirements.txt")
    paths = [*script_files(folder), *(folder / name for name in others)]
    return {path.name: path for path in paths}
