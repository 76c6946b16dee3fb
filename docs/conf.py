"""How Sphinx builds the documentation as a site: ``sphinx-build -W docs build/site``."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from sphinx.application import Sphinx

from sgdx_metric import __version__

ROOT = Path(__file__).parents[1]
# The workflow that builds the site knows the repository; elsewhere readers fill in their own name.
_PLACEHOLDER = "YOU/sgdx"
_NAME = os.environ.get("GITHUB_REPOSITORY", _PLACEHOLDER)
REPOSITORY = f"https://github.com/{_NAME}"

project = "sgdx"
author = "The sgdx authors"
release = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# What stands on the site for the README's picture, which names files for light and dark pages.
_PICTURES = """\
![\\1](pictures/wordings-light.svg){.only-light}
![\\1](pictures/wordings-dark.svg){.only-dark}"""
exclude_patterns = ["leaderboard.toml"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = f"sgdx {release}"
html_theme_options = {
    "source_repository": REPOSITORY,
    "source_branch": "main",
    "source_directory": "docs/",
}
myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the notebook has its outputs; a test runs it
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
napoleon_use_ivar = True  # else attributes that autodoc finds too are described twice
napoleon_use_rtype = False
suppress_warnings = ["myst.header"]


def _put_in_the_readme(app: Sphinx, page: str, text: list[str]) -> None:
    """The first page begins with the README, in which pages of the site are linked as such."""
    if page != "index":
        return
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = re.sub(r"<picture>.*?alt=\"(.*?)\".*?</picture>", _PICTURES, readme, flags=re.DOTALL)
    readme = re.sub(r"\]\((?!https?:|docs/|pictures/)", "](../", readme).replace("](docs/", "](")
    text[0] = text[0].replace("{{README}}", readme)


def _link_the_repository(app: Sphinx, page: str, text: list[str]) -> None:
    """Pages link to files of the repository beside ``docs/``; on the site these are at its host.

    Addresses of the repository have its own name.
    """
    if app.env.doc2path(page).suffix != ".md":
        return

    def there(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return f"]({REPOSITORY}/{kind}/main/{target}{anchor})"

    up = "../" * (1 + page.count("/"))
    text[0] = re.sub(rf"\]\({re.escape(up)}([^)#]+)(#[^)]*)?\)", there, text[0])
    text[0] = text[0].replace(f"github.com/{_PLACEHOLDER}", f"github.com/{_NAME}")
    text[0] = re.sub(r"`outputs/(reports/\w+/index.html)`", r'<a href="\1">\1</a>', text[0])


def _make_the_reports(app: Sphinx) -> None:
    """Run the commands of ``results.md`` that make reports; the site has them in ``reports/``."""
    if app.builder.format != "html":
        return
    for line in (ROOT / "docs" / "results.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("python -m baselines.report results/"):
            *command, output = shlex.split(line)[1:]
            folder = app.outdir / Path(output).relative_to("outputs")
            paths = [path for word in command for path in _expanded(word)]
            words = [sys.executable, *paths, folder]
            subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def _expanded(word: str) -> list[str | Path]:
    """A word of a command as a shell expands it."""
    return sorted(ROOT.glob(word)) if "*" in word else [word]


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", _make_the_reports)
    app.connect("source-read", _put_in_the_readme)
    app.connect("source-read", _link_the_repository)
