"""Put a metric where ``evaluate.load("YOU/NAME")`` finds it: a Space of the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path

import sgdx_metric
from sgdx_dataset.hub.upload import upload
from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.version import __version__

from .install import script_files

FOLDER = Path(sgdx_metric.__file__).parent
# Patterns of all files that a push has ever uploaded: what no longer belongs there is removed.
_UPLOADED = ("*.py", "README.md", "requirements.txt")


def push(repo_id: str, private: bool = False, folder: Path = FOLDER) -> str:
    """Upload a metric as a Space.

    ``evaluate`` looks in the Space for a script of the Space's name. The upload is tagged with the
    package's version, so that ``evaluate.load(repo_id, revision="v0.1.0")`` stays the same.

    Args:
        repo_id: The Space, such as ``you/sgdx_metric``; it is created if need be.
        private: Whether to create it as a private one.
        folder: The folder of the metric, whose name is that of its script.

    Returns:
        The address of the Space.

    Raises:
        SgdxError: The Space's name is not the metric's.
        SgdxError: One of the reasons of ``sgdx_dataset.hub.upload.upload``.
    """
    if repo_id.rpartition("/")[2] != folder.name:
        raise SgdxError(
            f"{repo_id}: found another name than the metric's, expected YOU/{folder.name}, since "
            "evaluate.load looks for a script of the Space's name"
        )
    return upload(
        space_files(folder),
        repo_id,
        "space",
        own=_UPLOADED,
        mark=f"{folder.name}.py",
        message=f"{folder.name}, version {__version__}",
        private=private,
        tag=f"v{__version__}",
        sdk="gradio",
    )


def space_files(folder: Path = FOLDER) -> dict[str, Path]:
    """The files of a metric's Space, by their names in it.

    They are the metric's script with the files that `evaluate` copies along with it, the page's
    entry point `app.py`, the card, and the requirements, which name the package for all else.
    """
    script = folder / f"{folder.name}.py"
    names = ("app.py", "README.md", "requirements.txt")
    paths = [*script_files(script), *(folder / name for name in names)]
    return {path.name: path for path in paths}
