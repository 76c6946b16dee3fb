"""What setup.cfg installs: every file of the packages that is not Python is in ``package_data``."""

from __future__ import annotations

from collections.abc import Callable
from configparser import ConfigParser

import pytest

from sgdx_dataset.__main__ import main as dataset_main
from sgdx_metric.__main__ import main as metric_main
from sgsacc_metric.__main__ import main as sgsacc_main

from .conftest import ROOT


def test_every_file_that_a_package_reads_is_installed() -> None:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    for package, patterns in config["options.package_data"].items():
        folder = ROOT / package
        installed = {path for glob in patterns.split(",") for path in folder.glob(glob.strip())}
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix not in (".py", ".pyc", ".md"):
                assert path in installed, path


def test_packages_are_named_that_have_data() -> None:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    included = config["options.packages.find"]["include"].split()
    assert {f"{package}*" for package in config["options.package_data"]} <= set(included)


def test_what_entry_points_name_is_there() -> None:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    lines = "\n".join(config["options.entry_points"].values()).split("\n")
    modules = [line.split(" = ")[1].partition(":")[0] for line in lines if " = " in line]
    assert "baselines.llm.inspect_state" in modules
    for module in modules:
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file(), module


@pytest.mark.parametrize("main", [dataset_main, metric_main, sgsacc_main])
def test_help_calls_a_command_as_the_readme_does(
    main: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert capsys.readouterr().out.startswith(f"usage: python -m {main.__module__.split('.')[0]} ")
