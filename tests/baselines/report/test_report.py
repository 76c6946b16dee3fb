"""The command: its files, what it leaves out and says, hostile text, and the page in a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from baselines.report import __main__ as report
from baselines.report.data import ReferenceData
from baselines.report.inputs import read_inputs
from sgdx_dataset.__main__ import main as dataset

from ...conftest import ROOT
from ..conftest import command
from .conftest import Row, forget, write_run

HOSTILE = (
    "</script><script>document.title='hacked'</script><img src=x onerror=alert(1)>|`\x1b[31m\u202e"
)


def reported(*arguments: object) -> int:
    with pytest.MonkeyPatch.context() as patch:
        return command(patch, report, *arguments)


@pytest.fixture(scope="module")
def hostile(
    tmp_path_factory: pytest.TempPathFactory, sample: ReferenceData, gold: dict[str, list[Row]]
) -> Path:
    """A run whose predictions, and what they say of themselves, try to break the page."""

    def change(variant: str, row: Row) -> None:
        if variant != "original" and row["slot_values"]:
            row["slot_values"][0]["values"] = [HOSTILE + "x" * 5000]
            row["active_intent"] = HOSTILE

    folder = tmp_path_factory.mktemp("hostile") / "run"
    return write_run(folder, sample, gold, change, tracker=f"$bad$ {HOSTILE}", seed=0)


WITHOUT_TORCH = """
import sys
for name in ("torch", "transformers", "accelerate"):
    sys.modules[name] = None
from baselines.report import __main__ as report
sys.exit(report.main())
"""


@pytest.fixture(scope="module")
def made(runs: dict[str, Path], hostile: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of all runs, made by a process in which an import of torch would fail."""
    folder = tmp_path_factory.mktemp("made") / "report"
    broken = tmp_path_factory.mktemp("broken")
    words = map(str, (*runs.values(), hostile, broken, "--output", folder))
    command = [sys.executable, "-c", WITHOUT_TORCH, *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert "found no scores.json" in line and line.endswith("this run is left out")
    assert len(done.stdout.splitlines()) == 14
    return folder


class Tags(HTMLParser):
    """The start tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_files(made: Path) -> None:
    names = sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file())
    figures = ("augmentation", "flips", "jga_by_variant", "services", "turns", "words_changed")
    assert names == sorted(
        ["index.html", "report.md", *(f"figures/{f}.{e}" for f in figures for e in ("svg", "png"))]
    )
    assert (made / "index.html").stat().st_size < 2_000_000
    assert (made / "figures" / "flips.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_needs_nothing_else_and_has_one_script(made: Path) -> None:
    page = (made / "index.html").read_text()
    tags = Tags(page).found
    assert [name for name, _ in tags if name == "script"] == ["script"]
    assert not {"img", "link", "iframe", "object", "embed", "base"} & {name for name, _ in tags}
    links = [v for _, attrs in tags for k, v in attrs.items() if k in ("src", "href", "xlink:href")]
    assert links and all(link and link.startswith("#") for link in links)
    assert not [attrs for _, attrs in tags if any(key.startswith("on") for key in attrs)]
    ids = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in links if link} <= set(ids)
    assert page.count("<th scope=") + page.count('<th class="number" scope=') > 50


def test_what_must_be_said_is_said(made: Path) -> None:
    for name in ("index.html", "report.md"):
        text = (made / name).read_text()
        assert "only 273 frames" in text and "he small sample corpus, not SGD" in text
        assert "random weights" in text and "2 seeds" in text
        assert "this run is left out" in text
        # Every table that a signature belongs to has one.
        count = text.count("sgdx_metric|variants:original+v1+v2+v3+v4+v5|split:test")
        assert count >= 7
        for part in ("Training on other words", "said by: the user", "SPLAT Large", "82.8"):
            assert part in text


def test_markdown_has_no_markup_of_others(made: Path) -> None:
    text = (made / "report.md").read_text()
    assert "<script" not in text and "<img" not in text and "\x1b" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows and all(row.endswith("|") for row in rows)
    for line in text.splitlines():
        if line.startswith("!["):
            assert re.fullmatch(r"!\[[^\]]+\]\(figures/\w+\.svg\)", line)


def test_a_figure_is_escaped(made: Path) -> None:
    svg = (made / "figures" / "flips.svg").read_text()
    assert "<script" not in svg and "<img" not in svg and "$bad$" in svg


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{nowhere}", "--output", "{out}"], "nowhere: no such file or folder"),
        (["{out}", "--output", "{out}"], "found no scores.json"),
        (["--output", "{out}"], "found no RUN"),
        (["{run}"], "found no --output"),
        (["{run}", "--output", "{file}"], "is a file, expected a folder"),
        (["{run}", "--output", "{out}", "--references", "{out}", "--source", "sample"], "--source"),
        (["{nowhere}", "{out}", "--output", "{out}"], "found no run that can be read"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: list[str],
    message: str,
    runs: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = {
        "nowhere": tmp_path / "nowhere",
        "out": tmp_path / "out",
        "file": runs["tiny"] / "scores.json",
        "run": runs["tiny"],
    }
    paths["out"].mkdir()
    assert reported(*(argument.format(**paths) for argument in arguments)) == 2
    error = capsys.readouterr().err.splitlines()
    assert message in error[-1] and error[-1].startswith("baselines.report: error: ")
    assert not list(paths["out"].iterdir())


def left_out(run: Path, source: str | None = None) -> str:
    """The one reason for which a run is not analysed."""
    inputs = read_inputs([run], source, None)
    (analysed,) = inputs.trackers
    assert not analysed.analyses
    (reason,) = inputs.left_out
    assert "sgp_dst" in reason and reason.endswith("left out")
    return reason


def test_errors_are_left_out_where_they_cannot_be_known(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs["tiny"], run)
    file = run / "predictions" / "v2.jsonl"
    text = file.read_text()
    file.unlink()
    assert "found no predictions of original beside scores.json" in left_out(run)
    shutil.copy(run / "predictions" / "v3.jsonl", file)
    assert "variant is 'v3', not 'v2'" in left_out(run)
    file.write_text(text.rsplit("\n", 1)[0])
    assert "1 of 273 frames are missing" in left_out(run)
    file.write_text(re.sub('"slot_values": .*', '"slot_values": []}', text))
    assert "score otherwise on sample than scores.json says" in left_out(run)
    assert "no such source" in left_out(run, str(tmp_path / "nowhere"))


def test_other_data_is_told(runs: dict[str, Path], tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "sgdx_dataset" / "sample", source)
    (source / "test" / "dialogues_002.json").unlink()
    reason = left_out(runs["tiny"], str(source))
    assert str(source) in reason and "of the run's 273 frames under original" in reason


@pytest.mark.slow
def test_references_in_a_folder_give_the_same(runs: dict[str, Path], tmp_path: Path) -> None:
    arguments = ["--source", "sample", "--split", "test", "--output", str(tmp_path)]
    assert dataset(["frames", *arguments]) == 0
    release, folder = (
        read_inputs([runs["tiny"]], None, references).trackers[0].analyses["sgp_dst"]
        for references in (None, tmp_path)
    )
    assert release.breakages and release.breakages == folder.breakages
    assert release.changes == folder.changes
    assert release.origins.tolist() == folder.origins.tolist()
    assert release.kinds.tolist() == folder.kinds.tolist()


def test_one_variant_alone_has_a_report(
    sample: ReferenceData, gold: dict[str, list[Row]], tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", sample, {"v2": gold["v2"]}, forget(0, 0.1), tracker="x")
    assert reported(run, "--output", tmp_path / "out") == 0
    text = (tmp_path / "out" / "report.md").read_text()
    assert "There is nothing to list" in text and "| x | all | 273 | – | – | – | – |" in text
    assert "Of v1 to v5 only v2 was scored, so there is no JGA_v1-5" in text


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="pip install selenium")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("no browser: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    profile = tmp_path_factory.mktemp("profile")
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield opened
    opened.quit()


@pytest.fixture
def page(made: Path, browser: Any) -> Any:
    browser.get((made / "index.html").as_uri())
    return browser


def test_in_a_browser(page: Any) -> None:
    assert page.title == "Dialogue state trackers under reworded schemas"  # no script of others ran
    assert [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"] == []
    sent = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    urls = [
        m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"
    ]
    assert {url.partition(":")[0] for url in urls} <= {"file", "data", "chrome"}


def test_filter_and_search(page: Any) -> None:
    result = page.execute_script("""
        const form = document.querySelector("form[data-for^=examples]");
        const items = [...document.getElementById(form.dataset.for).children];
        const shown = () => items.filter((item) => item.checkVisibility());
        const counts = [items.length, shown().length];
        const choose = (name, value) => {
            form.elements[name].value = value;
            form.elements[name].dispatchEvent(new Event("input", {bubbles: true}));
        };
        choose("kind", "missed");
        const missed = shown().map((item) => item.dataset.kind);
        form.querySelector("input").value = "ZZZ nothing has this";
        form.querySelector("input").dispatchEvent(new Event("input", {bubbles: true}));
        return [counts, missed, shown().length, form.querySelector("output").value];
    """)
    (count, first), missed, none, told = result
    assert count == first > 50
    assert set(missed) == {"missed"} and len(missed) < count
    assert (none, told) == (0, f"0 of {count} shown")


CONTRAST = """
    const light = (text) => {
        const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((part) => {
            const value = part / 255;
            return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = light(getComputedStyle(document.body).backgroundColor);
    const texts = [...document.querySelectorAll("p, td, th, small, a, label, code, svg text")];
    return [paper, Math.min(...texts.map((one) => {
        const style = getComputedStyle(one);
        const ink = light(one.namespaceURI.endsWith("svg") ? style.fill : style.color);
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    }))];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_both_schemes_and_on_a_phone(page: Any, scheme: str) -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    size = {"width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    paper, contrast = page.execute_script(CONTRAST)
    assert (paper > 0.5) == (scheme == "light")
    assert contrast >= 4.5  # WCAG 2.2, level AA
    width = "return [document.documentElement.scrollWidth, innerWidth]"
    assert page.execute_script(width) == [390, 390]
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_print_has_all_errors_and_no_forms(page: Any) -> None:
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    visible = """return [...document.querySelectorAll(arguments[0])].filter(
        (one) => one.checkVisibility()).length"""
    assert page.execute_script(visible, "form, nav") == 0
    assert page.execute_script(visible, ".errors > li") > 50
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
