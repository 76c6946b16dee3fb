"""The report as a log: its data, its size, hostile text, and the page in a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ..browser import browser as browser
from .conftest import RIGHT, call, command, rows, write_rows

HOSTILE = "</script><script>document.title = 'stolen'</script><img src=x onerror=alert(1)>"
WRONG = call("reserve", guests=5, place={"town": HOSTILE})


def data_of(page: Path) -> dict[str, Any]:
    """What the page shows."""
    found = re.search(r'id="data">(.*?)</script>', page.read_text(), re.S)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.fixture
def page(folder: Path, tmp_path: Path) -> Path:
    """The page of two models, of which the second is wrong in a case and cannot be read in one."""
    good = write_rows(tmp_path / "good", rows())
    other = rows([("v1", "a", WRONG)])
    for row in other:
        if (row["id"], row["variant"]) == ("d", "v2"):
            row |= {"unread": True, "said": "<tool_call>{"}
    runs = ("--predictions", good, write_rows(tmp_path / "bad", other))
    assert command("report", folder, *runs, "--output", tmp_path / "page.html") == 0
    return tmp_path / "page.html"


def test_every_case_under_every_variant_of_every_model(page: Path) -> None:
    data = data_of(page)
    assert [model["name"] for model in data["models"]] == ["good", "bad"]
    assert data["models"][1]["headline"].endswith(
        "-> 75.00 under other words, right under all 50.00"
    )
    cells = [case["cells"]["bad"] for case in data["cases"]]
    assert [{name: cell["is"] for name, cell in of.items()} for of in cells] == [
        {"original": "right", "v1": "wrong", "v2": "right"},
        {"original": "right", "v1": "right", "v2": "right"},
        {"original": "right", "v1": "right", "v2": "right"},
        {"original": "right", "v1": "right", "v2": "unread"},
    ]
    assert cells[3]["v2"]["said"] == "<tool_call>{"
    cell = cells[0]["v1"]
    expected, made = (json.loads(data["texts"][i]) for i in (*cell["expected"], *cell["made"]))
    assert expected == RIGHT["v1"]["a"][0] and made == WRONG[0]
    assert cell["differs"][0] == "found 5, expected 4: guests"
    blamed = [data["words"]["v1"][i][:2] for i in cell["blamed"]]
    assert blamed == [["book", "people"], ["book", "place.city"]]
    assert data["cases"][0]["said"] == [["user", "Four in Rome"]]


def test_the_page_in_a_browser(page: Path, browser: Any) -> None:
    browser.get(page.as_uri())
    assert browser.title == "api under other words"  # no script of others ran
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys

    def active() -> Any:
        return browser.switch_to.active_element

    shown = """return [...document.querySelectorAll("#matrix tbody tr")]
        .filter((row) => row.checkVisibility()).map((row) => row.cells[0].firstChild.data)"""
    choose = """const select = document.getElementById("filters").elements[arguments[0]];
        select.value = arguments[1]; select.dispatchEvent(new Event("input", {bubbles: true}))"""

    assert browser.execute_script(shown) == ["a", "b", "c", "d"]
    for kind, model, expected in [
        ("lost", "", ["a", "d"]),
        ("lost", "good", []),
        ("unread", "bad", ["d"]),
        ("", "", ["a", "b", "c", "d"]),
    ]:
        browser.execute_script(choose, "kind", kind)
        browser.execute_script(choose, "model", model)
        assert browser.execute_script(shown) == expected
    browser.execute_script(choose, "words", "ROME four")
    assert browser.execute_script(shown) == ["a"]
    browser.execute_script(choose, "words", "")

    # The keyboard: to the second model's v1, open, look, on to the next cell, and back.
    browser.execute_script("""document.querySelector('#matrix [tabindex="0"]').focus()""")
    for _ in range(4):
        active().send_keys(keys.ARROW_RIGHT)
    assert active().get_attribute("aria-label") == "a, bad, v1: wrong"
    active().send_keys(keys.ENTER)
    dialog = browser.find_element("css selector", "dialog")
    assert dialog.is_displayed() and "Four in Rome" in dialog.text
    assert HOSTILE in dialog.text.replace("\n", "")
    marked = [mark.text.strip() for mark in dialog.find_elements("css selector", "pre mark")]
    assert marked[:2] == ['"guests": 4,', '"town": "Rome"']
    words = [row.text for row in dialog.find_elements("css selector", ".blamed")]
    assert words == [
        "book people people: How many come guests: How many guests",
        "book place.city city town",
    ]
    active().send_keys(keys.ARROW_RIGHT)
    assert dialog.find_element("css selector", "h2").text == "a · v2 · bad · right"
    active().send_keys(keys.ESCAPE)
    assert not dialog.is_displayed()
    assert active().get_attribute("aria-label") == "a, bad, v2: right"

    unread = browser.find_element("css selector", '[aria-label="d, bad, v2: unread"]')
    browser.execute_script("arguments[0].click()", unread)
    assert "<tool_call>{" in dialog.text and "no call" in dialog.text  # the latter is expected
    active().send_keys(keys.ESCAPE)

    phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    browser.execute_script("document.querySelector('#matrix td button').click()")
    assert dialog.size["width"] <= 390
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
