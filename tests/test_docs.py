"""Pages for people: links lead somewhere, commands can be copied, tables are as printed."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT, Run

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "baselines" / "README.md",
    ROOT / "sgdx_metric" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
BLOCK = re.compile(r"```bash\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")


def commands(page: Path) -> list[str]:
    return [line for block in BLOCK.findall(page.read_text()) for line in block.splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_commands(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if not link.startswith("http"):
            assert (page.parent / link).exists(), link
    for line in commands(page):
        assert "..." not in line
        assert "…" not in line
        for module in re.findall(r"-m ([\w.]+)", line):
            assert module == "pip" or "possible" in line or importlib.util.find_spec(module), line
        for path in re.findall(r"(baselines/[\w/]+\.yaml|constraints\.txt)", line):
            assert (ROOT / path).exists(), path


def help_of(words: list[str], patch: pytest.MonkeyPatch) -> str:
    """What a command prints with ``--help``, at any width."""
    module = importlib.import_module(words[0])
    if hasattr(module, "__path__"):
        module = importlib.import_module(f"{words[0]}.__main__")
    patch.setattr(sys, "argv", [*words, "--help"])
    patch.setenv("COLUMNS", "80")
    printed = io.StringIO()
    with pytest.raises(SystemExit) as end, contextlib.redirect_stdout(printed):
        module.main()
    assert not end.value.code
    return printed.getvalue()


def test_commands_name_options_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    helps: dict[str, str] = {}
    for line in (line for page in PAGES for line in commands(page)):
        found = re.search(r"-m (baselines|sgdx_dataset|sgdx_metric)(\.\w+)?( [a-z]+)?", line)
        if found is None or "possible_values" in line:
            continue
        words = [found[1] + (found[2] or ""), *(found[3] or "").split()]
        words += ["--tracker", "lexical"] if "lexical" in line else []
        if " ".join(words) not in helps:
            helps[" ".join(words)] = help_of(words, monkeypatch)
        for option in re.findall(r"(--[a-z-]+)", line[found.end() :]):
            assert option in helps[" ".join(words)], line
    assert len(helps) >= 8
    assert not any("``" in text for text in helps.values())


def test_the_readme_shows_what_the_demo_prints(run: Run) -> None:
    done: subprocess.CompletedProcess[str] = run("baselines.demo")
    assert done.returncode == 0, done.stderr
    (shown,) = re.findall(r"```\n(Joint goal.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert done.stdout.startswith(shown)
    assert done.stderr == ""
