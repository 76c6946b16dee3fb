"""What setup.cfg installs: every file of the packages that is not Python is in ``package_data``."""

from __future__ import annotations

from configparser import ConfigParser

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
