"""What pyproject.toml installs: every file of the packages that is not Python is package data."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any

import pytest

from sgdx_dataset.__main__ import main as dataset_main
from sgdx_metric.__main__ import main as metric_main
from sgsacc_metric.__main__ import main as sgsacc_main

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


def test_packages_are_named_that_have_data() -> None:
    options = project()["tool"]["setuptools"]
    included = options["packages"]["find"]["include"]
    assert {f"{package}*" for package in options["package-data"]} <= set(included)


def test_what_entry_points_name_is_there() -> None:
    names = project()["project"]
    modules = [target.partition(":")[0] for target in names["scripts"].values()]
    modules += [target for group in names["entry-points"].values() for target in group.values()]
    assert "sgdx._registry" in modules
    for module in modules:
        file = ROOT / ("inspect_task" if module.startswith("sgdx.") else ".")
        assert (file / module.replace(".", "/")).with_suffix(".py").is_file(), module


@pytest.mark.parametrize("main", [dataset_main, metric_main, sgsacc_main])
def test_help_calls_a_command_as_the_readme_does(
    main: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert capsys.readouterr().out.startswith(f"usage: python -m {main.__module__.split('.')[0]} ")
