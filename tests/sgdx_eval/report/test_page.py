"""The files of the page: what they say, hostile text, and the page in a browser."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdx_eval.gold import Gold
from sgdx_eval.report.page import render_html, render_markdown
from sgdx_eval.report.plots import Picture
from sgdx_eval.report.slots import Error, Words
from sgdx_eval.report.verdict import Verdict
from sgdx_eval.tables import Cell, table

from ...browser import browser as browser
from .conftest import Row, forget, reported, write_run


class Tags(HTMLParser):
    """The start tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_files(made: Path) -> None:
    names = {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()}
    plots = ("by_variant", "drop_beside_flips", "by_turn")
    figures = {f"figures/{name}.{kind}" for name in plots for kind in ("svg", "png")}
    assert names == {"errors.jsonl", "index.html", "report.md", *figures}
    assert (made / "index.html").stat().st_size < 2_000_000
    assert (made / "figures" / "by_turn.png").read_bytes().startswith(b"\x89PNG")
    svg = (made / "figures" / "by_variant.svg").read_text()
    assert "<script" not in svg and "<img" not in svg and "$bad$" in svg


def test_what_must_be_said_is_said(made: Path) -> None:
    for name in ("index.html", "report.md"):
        text = (made / name).read_text()
        assert "only 273 frames" in text and "he small sample corpus, not SGD" in text
        assert "random weights" in text and "2 seeds" in text and "this run is left out" in text
        signature = "sgdx_metric|variants:original+v1+v2+v3+v4+v5|split:test"
        assert text.replace("<wbr>", "").count(signature) == 1
        assert text.count("SS: schema sensitivity") == 1
        for part in ("Training on other words", "SPLAT Large", "82.8", "without system acts"):
            assert part in text


def page_of(text: str) -> dict[str, Any]:
    """A page in which every text that comes from runs or data is this one."""
    shown = table(text, [text, text], [[Cell(text, text), Cell(text, text)]] * 2)
    words, frame_id = Words(text, text), f"d/1/{text.replace('/', ' ')}"
    error = Error(
        text, frame_id, True, text, text, text, text, text, words, words, text, text
    )  # fmt: skip
    said = Verdict([Cell(text, text)], text, [(text,) * 4])
    part = {
        "title": text, "caveats": [text], "verdict": said, "tables": [shown],
        "pictures": [Picture("name", "Title", "A note.", b"<svg/>", b"", 9)],
        "rewordings": [shown], "classes": [shown], "mistakes": [[[error]]],
        "number_of_mistakes": 1, "errors": [error], "paths": [(text, text)],
        "signatures": {text.replace("|", ""): text},  # A part of it may be on a line of its own.
    }  # fmt: skip
    return {
        "title": text, "systems": text, "parts": [part, part], "warning": text, "command": text,
        "published": [shown], "left_out": [text], "not_analysed": [text], "meanings": [text],
    }  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.text("<>&\"'`|\\*_[]()#!-=/ aZ\n\x1b\u202e", min_size=1, max_size=30))
def test_every_text_of_others_stays_text(text: str) -> None:
    """The tags and attributes are those of a harmless text, and rows of Markdown stay rows."""
    plain, page = (Tags(render_html(page_of(of))).tags for of in ("a", text))
    assert [name for name, _ in page] == [name for name, _ in plain]
    assert [{*attrs} for _, attrs in page] == [{*attrs} for _, attrs in plain]
    written = render_markdown(page_of(text))
    assert "<" not in re.sub(r"(?<!\\)`[^`\n]*`", "", written)
    assert "\x1b" not in written and "\u202e" not in written
    rows = [line for line in written.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line.replace("\\\\", ""))) for line in rows} == {3}


def test_one_variant_alone_has_a_report(
    sample: Gold, gold: dict[str, list[Row]], tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", sample, {"v2": gold["v2"]}, forget(0, 0.1), tracker="x")
    assert reported(run, "--output", tmp_path / "out") == 0
    text = (tmp_path / "out" / "report.md").read_text()
    assert "| x (without system acts) | all | 273 |" in text and "Only v2 was scored" in text
    assert "Verdict" not in text and "Variant by variant" not in text


def test_a_report_of_a_choice(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (runs["tiny"], "--service", "Vets_1", "--source", "sample", "--quiet")
    assert reported(*words, "--output", tmp_path / "out") == 0
    text = (tmp_path / "out" / "report.md").read_text()
    # What scores.json has of all frames is not shown of some.
    assert "official metrics" not in text and "--service Vets_1" in text
    assert re.search(r"\|dialogues:\d+@[0-9a-f]{8}\|services:Vets_1\|frames:\d+\|", text)
    lines = (tmp_path / "out" / "errors.jsonl").read_text().splitlines()
    assert lines and all(json.loads(line)["frame_id"].endswith("/Vets_1") for line in lines)
    assert reported(runs["tiny"], "--service", "Nowhere_1", "--output", tmp_path / "x") == 2
    assert "Nowhere_1" in capsys.readouterr().err
    assert reported(runs["tiny"], "--output", runs["tiny"] / "scores.json") == 2
    assert "is a file, expected a folder" in capsys.readouterr().err


# ---- in a browser


@pytest.fixture
def page(made: Path, browser: Any) -> Any:
    browser.get("about:blank")  # a page that is opened again may be there before it has loaded
    browser.get((made / "index.html").as_uri())
    return browser


def test_in_a_browser(page: Any) -> None:
    assert page.title == "Dialogue state trackers under reworded schemas"  # no script of others ran
    assert [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"] == []
    sent = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    urls = [
        m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"
    ]
    own = {"chrome", "chrome-untrusted"}  # of the tab that the browser opens with
    assert {url.partition(":")[0] for url in urls} <= {"file", "data", *own}
    widths = "return [...document.images].map((image) => image.naturalWidth)"
    assert all(page.execute_script(widths))


@pytest.mark.parametrize(("list_id", "first"), [("errors-0", 20), ("rewordings-0-1", 10)])
def test_all_of_a_list_can_be_seen_and_searched(page: Any, list_id: str, first: int) -> None:
    at_first, found, all_shown, is_hidden, none, told = page.execute_script(
        """
        const form = document.querySelector(`form[data-for=${arguments[0]}]`);
        const list = document.getElementById(arguments[0]);
        const items = [...list.querySelectorAll(form.dataset.items)];
        const shown = () => items.filter((item) => item.checkVisibility());
        const search = (text) => {
            form.querySelector("input").value = text;
            form.querySelector("input").dispatchEvent(new Event("input", {bubbles: true}));
            return shown().map((item) => item.textContent.toLowerCase());
        };
        const first = shown().length;
        const found = search("Vets_1 V3");
        search("");
        form.querySelector("button").click();
        const all = shown().length;
        return [first, found, all === items.length && all, form.querySelector("button").hidden,
            search("ZZZ nothing has this").length, form.querySelector("output").value];
        """,
        list_id,
    )
    assert at_first == first < all_shown and is_hidden
    assert found and all("vets_1" in text and "v3" in text for text in found)
    assert (none, told) == (0, f"0 of {all_shown} shown")


CONTRAST = """
    const light = (text) => {
        const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((part) => {
            const value = part / 255;
            return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = light(getComputedStyle(document.body).backgroundColor);
    const texts = [...document.querySelectorAll("p, td, th, small, a, label, code")];
    return [paper, Math.min(...texts.map((one) => {
        const ink = light(getComputedStyle(one).color);
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    }))];
"""
WIDTHS = """
    const table = document.querySelector(".scroll");
    return [document.documentElement.scrollWidth, table.scrollWidth <= table.clientWidth];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_both_schemes_on_a_desk_and_on_a_phone(page: Any, scheme: str) -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    found = []
    for width in (1280, 390):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == 390}
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        found.append(page.execute_script(WIDTHS))
    # Nothing is wider than the page, and at a desk the main table is whole.
    assert found[0][0] <= 1280 and found[0][1] and found[1][0] == 390
    paper, contrast = page.execute_script(CONTRAST)
    assert (paper > 0.5) == (scheme == "light")
    assert contrast >= 4.5  # WCAG 2.2, level AA
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


DRAW = """
import io, sys
from sgdx_eval.report.plots import _STYLE, _new, own_style
with own_style(_STYLE):
    figure = _new(2, 2)
    figure.subplots().set_title("$5 and $6")
    figure.savefig(io.BytesIO(), format="svg")
print("drawn")
"""


@pytest.mark.parametrize(
    ("settings", "drawn"),
    [(b"text.usetex: True\nfont.size: 40", True), (b"font.size: \xff", False)],
)
def test_pictures_need_nothing_of_the_users_own_settings(
    settings: bytes, drawn: bool, tmp_path: Path
) -> None:
    """A backend that is not there, and a matplotlibrc with LaTeX, or one that is no text."""
    (tmp_path / "matplotlibrc").write_bytes(settings)
    environment = {**os.environ, "MPLBACKEND": "module://nowhere.backend"}
    words = [sys.executable, "-c", DRAW]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.stdout == "drawn\n") == drawn
    assert drawn or "matplotlibrc" in done.stderr.splitlines()[-1]
