"""What pyproject.toml installs: every file of the packages that is not Python is package data."""

from __future__ import annotations

import tomllib
from typing import Any

from .conftest import ROOT


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_file_that_a_package_reads_is_installed() -> None:
    for package, patterns in project()["tool"]["setuptools"]["package-data"].items():
        folder = ROOT / package
        installed = {path for pattern in patterns for path in folder.glob(pattern)}
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix not in (".py", ".pyc", ".md"):
                assert path in installed, path


def test_what_entry_points_name_is_there() -> None:
    names = project()["project"]
    modules = [target.partition(":")[0] for target in names["scripts"].values()]
    modules += [target for group in names["entry-points"].values() for target in group.values()]
    assert "sgdx._registry" in modules
    for module in modules:
        file = ROOT / ("inspect_task" if module.startswith("sgdx.") else ".")
        assert (file / module.replace(".", "/")).with_suffix(".py").is_file(), module
