"""The page and the Markdown: what they say, hostile text, and the page in a browser."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ...browser import browser as browser


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
        signature = "sgdx_metric|variants:original+v1+v2+v3+v4+v5|split:test"
        assert text.replace("<wbr>", "").count(signature) == 1
        assert text.count("SS: schema sensitivity") == 1
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
        const form = document.querySelector("form[data-for^=errors]");
        const list = document.getElementById(form.dataset.for);
        const items = [...list.querySelectorAll("[data-item]")];
        const shown = () => items.filter((item) => item.checkVisibility());
        const dialogues = () => [...list.children].filter((item) => item.checkVisibility()).length;
        const choose = (name, value) => {
            form.elements[name].value = value;
            form.elements[name].dispatchEvent(new Event("input", {bubbles: true}));
        };
        const counts = [items.length, shown().length];
        choose("kind", "missed");
        const missed = shown().map((item) => item.dataset.kind);
        choose("kind", "");
        const again = shown().length;
        form.querySelector("button").click();
        const all = [shown().length, dialogues(), form.querySelector("button").hidden];
        form.querySelector("input").value = "ZZZ nothing has this";
        form.querySelector("input").dispatchEvent(new Event("input", {bubbles: true}));
        return [counts, missed, again, all, shown().length, dialogues(),
            form.querySelector("output").value];
    """)
    (count, first), missed, again, (all_shown, dialogues, is_hidden), none, no_dialogue, told = (
        result
    )
    assert first == again == 20 < count == all_shown
    assert 1 < dialogues < count and is_hidden
    assert all("missed" in kinds.split("|") for kinds in missed) and 20 < len(missed) <= count
    assert (none, no_dialogue, told) == (0, 0, f"0 of {count} shown")


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


def test_print_opens_what_is_folded_and_has_no_forms(page: Any) -> None:
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    visible = """return [...document.querySelectorAll(arguments[0])].filter(
        (one) => one.checkVisibility()).length"""
    assert page.execute_script(visible, "form, nav, button") == 0
    assert page.execute_script(visible, ".errors [data-item]") >= 20
    tables = "return document.querySelectorAll('details .scroll table').length"
    assert page.execute_script(visible, "details .scroll table") == page.execute_script(tables) > 3
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_the_file_of_errors_has_all(made: Path) -> None:
    lines = [json.loads(line) for line in (made / "errors.jsonl").read_text().splitlines()]
    page = (made / "index.html").read_text()
    assert len(lines) > page.count("data-item") > 50
    assert {line["class"] for line in lines} >= {"missed", "intent"}
    assert all(line["counts_in_jga"] == (line["class"] != "intent") for line in lines)
    missed = next(line for line in lines if line["class"] == "missed")
    assert missed["reference"] and not missed["predicted"] and missed["user_utterance"]
    assert missed["original"]["name"] and missed["variant"] in ("v1", "v2", "v3", "v4", "v5")
