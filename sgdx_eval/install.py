"""Put a metric where `evaluate.load(NAME)` finds it from any directory, off line too."""

import hashlib
import os
import shutil
from pathlib import Path

from evaluate.loading import get_imports, init_dynamic_modules

import sgdx_metric
from sgdx_dataset.io.files import staged

SCRIPT = Path(sgdx_metric.__file__).with_name("sgdx_metric.py")


def install(script: Path = SCRIPT) -> Path:
    """Copy a metric's core into the Hugging Face modules cache (`HF_MODULES_CACHE`).

    `evaluate` looks up a plain name as <cache>/evaluate_modules/metrics/evaluate-metric--<name>/
    <64 hex digits>/<name>.py and takes the newest. The command line's files are not needed there.

    Args:
        script: The metric's script; its stem is the metric's name.

    Returns:
        The folder of the copy.
    """
    files = script_files(script)
    home = Path(init_dynamic_modules()) / "metrics" / f"evaluate-metric--{script.stem}"
    home.mkdir(parents=True, exist_ok=True)
    for package in (home.parent, home):
        (package / "__init__.py").touch()
    digest = hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
    target = home / digest
    if not _is_whole(target, files):
        shutil.rmtree(target, ignore_errors=True)
        with staged(target) as folder:
            folder.mkdir()
            (folder / "__init__.py").touch()
            for file in files:
                shutil.copyfile(file, folder / file.name)
    os.utime(target / script.name)
    return target


def _is_whole(copy: Path, files: list[Path]) -> bool:
    """Whether a copy has every file as it is, which the name of its folder does not tell."""
    copies = [copy / file.name for file in files]
    return all(path.is_file() for path in [copy / "__init__.py", *copies]) and all(
        path.read_bytes() == file.read_bytes() for path, file in zip(copies, files, strict=True)
    )


def script_files(script: Path) -> list[Path]:
    """A metric's script, and the files beside it that `evaluate` copies with it."""
    imports = get_imports(str(script))
    return [
        script,
        *(script.with_name(f"{name}.py") for kind, name, *_ in imports if kind == "internal"),
    ]
