"""The page and the Markdown: what they say, hostile text, and the page in a browser."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest


class Tags(HTMLParser):
    """The start tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_needs_nothing_else_and_has_one_script(made: Path) -> None:
    page = (made / "index.html").read_text()
    tags = Tags(page).tags
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
