"""What pyproject.toml installs, and which room imports which."""

from __future__ import annotations

import ast
import re
import tomllib
from typing import Any

import pytest

from sgdx_metric.version import __version__

from .conftest import ROOT

# A room imports rooms of lower levels, and `sgsacc_metric` also `sgdx_metric`.
LEVELS = (
    ("sgdx_dataset",),
    ("sgdx_metric", "sgsacc_metric"),
    ("sgdx_eval",),
    ("sgdx_llm",),
    ("baselines", "sgdx_tools"),
    ("sgdx_space", "inspect_task", "lm_eval_task", "maintenance"),
)
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_file_that_a_package_reads_is_installed() -> None:
    data = project()["tool"]["setuptools"]["package-data"]
    rooms = [path.parent for path in ROOT.glob("*/__init__.py") if path.parent.name in LEVEL]
    for folder in rooms:
        installed = {path for pattern in data.get(folder.name, ()) for path in folder.glob(pattern)}
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix not in (".py", ".pyc", ".md"):
                assert path in installed or folder.name == "maintenance", path


def test_the_version_is_that_of_texts_that_name_it() -> None:
    """It stands in one place; the changelog begins with it, and pages install it by its tag."""
    assert re.findall(r"^## (.+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[0] == __version__
    for page in (ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")):
        tags = re.findall(r"YOU/sgdx(?:\.git)?@v([\d.]+\d)", page.read_text())
        assert {*tags} <= {__version__}, page


def test_what_entry_points_name_is_there() -> None:
    names = project()["project"]
    modules = [target.partition(":")[0] for target in names["scripts"].values()]
    modules += [target for group in names["entry-points"].values() for target in group.values()]
    assert "sgdx._registry" in modules
    for module in modules:
        file = ROOT / ("inspect_task" if module.startswith("sgdx.") else ".")
        assert (file / module.replace(".", "/")).with_suffix(".py").is_file(), module


@pytest.mark.parametrize("room", LEVEL)
def test_no_room_imports_one_above_it(room: str) -> None:
    """Where a file is imported; a door imports what it forwards to only when it is called."""
    for path in (ROOT / room).rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            modules = [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            modules += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            for other in {str(module).partition(".")[0] for module in modules}:
                below = LEVEL.get(other, -1) < LEVEL[room] or other == room
                metrics = room == "sgsacc_metric" and other == "sgdx_metric"
                assert (below or metrics) and other != "sgdx_cli", f"{path}: {other}"
