"""How Sphinx builds the documentation as a site: ``sphinx-build -W docs build/site``."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pygments.formatters import HtmlFormatter
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.highlighting import PygmentsBridge

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
# What stands on the site for a picture, which names files for light and dark pages.
_PICTURES = """\
![\\2](pictures/\\1-light.svg){.only-light}
![\\2](pictures/\\1-dark.svg){.only-dark}"""
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
autodoc_preserve_defaults = True  # as the code has them, such as Setup(), and not all their fields
napoleon_use_ivar = True  # else attributes that autodoc finds too are described twice
napoleon_use_rtype = False
suppress_warnings = ["myst.header"]


class LineFormatter(HtmlFormatter):
    """Puts every line of code into an element of its own, so that a style can indent its rest."""

    def wrap(self, source: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """A block of code with its tags; as of Pygments, 1 stands before a line of it."""
        lines = (
            (is_line, f'<span class="line">{text}</span>' if is_line else text)
            for is_line, text in source
        )
        return super().wrap(lines)


PygmentsBridge.html_formatter = LineFormatter


def _put_in_the_readme(app: Sphinx, page: str, text: list[str]) -> None:
    """The first page begins with the README, in which pages of the site are linked as such."""
    if page != "index":
        return
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = re.sub(r"\]\((?!https?:|docs/)", "](../", readme).replace("](docs/", "](")
    text[0] = text[0].replace("{{README}}", readme)


def _show_pictures(app: Sphinx, page: str, text: list[str]) -> None:
    """The README and the results have pictures for light pages and for dark pages."""
    picture = r"<picture>.*?pictures/([\w-]+)-dark.*?alt=\"(.*?)\".*?</picture>"
    text[0] = re.sub(picture, _PICTURES, text[0], flags=re.DOTALL)


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


# What is one thing to read in a table: an interval, and a score whose name has a range in it.
_ONE_THING = re.compile(r"\(-?[\d.]+ to -?[\d.]+\)|(?<!`)\b[A-Za-z]+_v1-5\b(?!`)")


def _keep_figures_whole(app: Sphinx, page: str, text: list[str]) -> None:
    """No line of a table ends within an interval or the name of a score."""
    lines = text[0].split("\n")
    text[0] = "\n".join(
        _ONE_THING.sub(r'<span class="whole">\g<0></span>', line) if line[:1] == "|" else line
        for line in lines
    )


def _make_the_reports(app: Sphinx) -> None:
    """Run the commands of the results that make reports; the site has them in ``reports/``.

    They run in a folder that has links to what they read, so that the reports name files as the
    commands do, and not by where the site is built.
    """
    if app.builder.format != "html":
        return
    commands = [
        shlex.split(line)[1:]
        for page in sorted((ROOT / "docs").glob("results-*.md"))
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("sgdx report results/")
    ]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for inputs in ("results", "models"):
            (folder / inputs).symlink_to(ROOT / inputs)
        for command in commands:
            words = [part for word in command for part in _expanded(word)]
            done = subprocess.run(
                [sys.executable, "-m", "sgdx_cli", *words],
                cwd=folder,
                env=os.environ | {"PYTHONPATH": path},
                capture_output=True,
            )
            if done.returncode:
                raise ExtensionError(f"{shlex.join(command)}: {done.stderr.decode()}")
        shutil.copytree(folder / "outputs" / "reports", app.outdir / "reports", dirs_exist_ok=True)


def _expanded(word: str) -> list[str]:
    """A word of a command as a shell expands it in the root of the repository."""
    if "*" not in word:
        return [word]
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(word))


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", _make_the_reports)
    app.connect("source-read", _put_in_the_readme)
    app.connect("source-read", _show_pictures)
    app.connect("source-read", _link_the_repository)
    app.connect("source-read", _keep_figures_whole)
