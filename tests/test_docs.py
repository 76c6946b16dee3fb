"""Pages for people: links lead somewhere, commands can be copied, tables are as printed."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import shlex
from itertools import takewhile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from baselines.recipes import find_recipe
from maintenance import numbers
from sgdx_cli import main, program
from sgdx_dataset.release import open_release

from .conftest import ROOT

ROOMS = ("baselines", "sgdx_metric", "sgsacc_metric", "models", "maintenance/gpu")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(ROOT / room / "README.md" for room in ROOMS),
    *sorted((ROOT / "docs").glob("*.md")),
]
BLOCK = re.compile(r"```bash\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!http)([^)#]*)#?([^)]*)\)")


def anchors(page: Path) -> list[str]:
    """What a link may name behind ``#``: the page's headings, as sites write them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


def commands(page: Path) -> list[str]:
    blocks = [block.replace("\\\n", "") for block in BLOCK.findall(page.read_text())]
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_commands(page: Path) -> None:
    for link, anchor in LINK.findall(page.read_text()):
        target = page.parent / link if link else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), (link, anchor)
    for line in commands(page):
        assert "..." not in line
        assert "…" not in line
        for module in re.findall(r"(?<!pytest -n 1) -m ([\w.]+)", line):
            assert module == "pip" or "possible" in line or importlib.util.find_spec(module), line
        for recipe in re.findall(r"--recipe (\w+/\w+)(?= |$)", line):
            assert find_recipe(recipe).is_file(), recipe
        for path in re.findall(r"(baselines/[\w/]+\.yaml|constraints\.txt)", line):
            assert (ROOT / path).exists(), path


def test_tests_that_are_named_are_there() -> None:
    """A file without a folder lies in that of the file before it, as in `tests/a/b.py`, `c.py`."""
    folder, named = ROOT, 0
    for name in re.findall(r"`([\w/]+\.py)`", (ROOT / "docs" / "reliability.md").read_text()):
        if name.startswith("tests/"):
            folder = (ROOT / name).parent
        named += name != "slow.py"
        assert (folder / Path(name).name).is_file(), name
    assert named > 20


def test_what_the_reference_names_is_there() -> None:
    """Modules, and the functions and members of them; else the site cannot be built."""
    text = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    modules = re.findall(r"automodule:: ([\w.]+)\n   :members:(.*)", text)
    functions = [name.rpartition(".")[::2] for name in re.findall(r"autofunction:: (\S+)", text)]
    assert len(modules) + len(functions) >= 9
    for module, names in [*modules, *functions]:
        for name in re.findall(r"\w+", names):
            assert hasattr(importlib.import_module(module), name), (module, name)


def parsed(line: str) -> list[str]:
    """The words of a line after ``sgdx``, as a shell gives them to the command."""
    return [*takewhile(lambda word: word not in (">", "|", "&&"), shlex.split(line, comments=True))]


def test_commands_can_be_given_so() -> None:
    lines = [line for page in PAGES for line in commands(page)]
    calls = [parsed(line) for line in lines if line.startswith("sgdx ") and "$" not in line]
    for words in calls:
        program().parse_args(words[1:], exit_on_error=False, print_error=False)
    assert len(calls) >= 60


def test_the_readmes_commands_run_and_the_demo_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that need neither a network nor a server nor training, in the order of the page."""
    monkeypatch.chdir(tmp_path)
    for folder in ("results", "models"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    lines = [line for line in commands(ROOT / "README.md") if "outputs/model" not in line]
    words = [parsed(line)[1:] for line in lines if line.startswith("sgdx ")]
    runnable = [line for line in words if line[0] not in ("train", "predict", "evaluate")]
    assert len(runnable) >= 5 and runnable[0] == ["demo"]
    for line in runnable:
        assert not main(line), line
        if line == ["demo"]:
            printed = capsys.readouterr()
            page = (ROOT / "README.md").read_text()
            (shown,) = re.findall(r"```\n(Under other words .*?)```", page, re.DOTALL)
            # Lines of progress may come first, where the machine is slow.
            assert shown in printed.out and printed.err == ""
    assert (tmp_path / "outputs" / "report" / "index.html").is_file()


@pytest.mark.parametrize("page", numbers.PAGES, ids=lambda page: page.name)
def test_every_number_is_written_from_its_file(page: Path) -> None:
    """If not, `python -m maintenance.numbers` writes the page; then read its sentences."""
    text = page.read_text(encoding="utf-8")
    assert numbers.written(text) == text
    found = [*numbers.numbers(page)]
    assert found and not [of for of in found if not of.file]
    # A comment that begins a line ends the paragraph, and what follows is no Markdown.
    assert not re.findall(r"^\s*<!--(?!table )", text, re.MULTILINE)


def test_numbers_that_no_file_holds_are_found(tmp_path: Path) -> None:
    """A number that was changed, one without a mark, and a cell; names and code are no numbers."""
    page = tmp_path / "page.md"
    given = "SGD-X `v1` and `7` of 2022: <!--shipped:jga_orig/d-->1 (0 to 2) % (see 8), 12.5.\n"
    table = "\n<!--table . jga_worst&jga_flips-->\n| <!--shipped-->a | b | c |\n"
    page.write_text(numbers.written(given + table))
    assert "<!--shipped:jga_orig/d-->77.0 (73.8 to 80.4) % (see 8), 12.5." in page.read_text()
    assert page.read_text().endswith("| <!--shipped-->a | b | 59.5, 24.4 |\n")
    shipped = "models/onepass/scores.json"
    assert [(of.text, of.file) for of in numbers.numbers(page)] == [
        ("77.0 (73.8 to 80.4)", shipped), ("8", ""), ("12.5", ""), ("b; 59.5, 24.4", shipped),
    ]  # fmt: skip


@pytest.mark.parametrize("page", ["README.md", "docs/results.md"])
def test_the_finding_of_a_page_has_its_figures(page: str) -> None:
    """What it begins with is of the best system of the picture above, with its floor."""
    marks = ("drop/n", "worst", "flips")
    text = (ROOT / page).read_text()
    for mark in marks:
        assert re.search(rf"<!--shipped:jga_{mark}/?d?s?-->\d", text), mark
    assert "<!--control/onepass-shipped:jga_flips_control" in text


@pytest.mark.release
def test_results_hold_no_weights_and_no_texts(release_archive: Path) -> None:
    files = [path for path in (ROOT / "results").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".json", ".jsonl", ".yaml", ".parquet"}
    tables = (path for path in files if path.suffix == ".parquet")
    texts = {
        name
        for path in tables
        for field in pq.read_schema(path)
        if not (pa.types.is_floating(field.type) or pa.types.is_integer(field.type))
        for name in [field.name]
    }
    assert texts <= {"id", "service", "seen", "seen_domains", "variant"}
    written = "\n".join(p.read_text() for p in files if p.suffix != ".parquet")
    # Each once, and no ids: a search for every text takes seconds otherwise.
    sentences = "\n".join({part for part in re.split('["\n]', written) if " " in part.strip(", :")})
    chosen = json.loads((ROOT / "results" / "test-600.json").read_text())["ids"]
    release = open_release(release_archive)
    said = [
        turn["utterance"]
        for file in release.dialogue_files("test")
        for dialogue in json.loads(release.read(file))
        if dialogue["dialogue_id"] in chosen
        for turn in dialogue["turns"][:2]
    ]
    assert len(said) == 2 * len(chosen)
    assert not [text for text in said if len(text) > 20 and text in sentences]
