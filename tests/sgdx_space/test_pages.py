"""The Spaces in a real browser: Chromium without a window, the server on loopback.

The files that a push uploads are copied as a Space has them, and its app.py is run as a script.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset.options import UploadOptions
from sgdx_eval.install import push

from ..browser import browser as browser
from ..conftest import ROOT
from ..sgdx_metric.conftest import gold as gold
from ..sgdx_metric.frames import Row, written

pytest.importorskip("gradio", reason="the Space needs gradio: pip install sgdx[app]")
By = pytest.importorskip("selenium.webdriver.common.by").By


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The Space, running: the files that a push uploads, in a folder of their own."""
    space = tmp_path_factory.mktemp("spaces") / "space"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_REPOSITORY", "you/sgdx")  # from where a Space installs the package
        push("you/sgdx_metric", UploadOptions(output=space))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = {"GRADIO_SERVER_NAME": "127.0.0.1", "GRADIO_SERVER_PORT": port}
    environment["GRADIO_TEMP_DIR"] = str(space / "uploads")
    process = subprocess.Popen(
        [sys.executable, "app.py"],
        cwd=space,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            with urllib.request.urlopen(address, timeout=2):
                return True
        except OSError:
            return False

    try:
        until(lambda: answers() or process.poll() is not None, 240)
        assert process.poll() is None
        yield address
    finally:
        process.terminate()
        process.wait(20)


def until(true: Callable[[], Any], seconds: float = 90) -> None:
    """Wait for what a page does in its own time."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def page(url: str, browser: Any) -> Any:
    """The page, with a dialogue that the tracker has read; tests leave it at any tab."""
    browser.get(url)
    until(lambda: shown(browser, "#dialogue table"))
    return browser


def shown(page: Any, part: str) -> str:
    """The text of a part of the page."""
    return str(page.execute_script(f"return document.querySelector('{part}')?.innerText ?? ''"))


def test_opens_with_a_dialogue_and_how_often_the_tracker_is_wrong(page: Any) -> None:
    text = page.find_element(By.TAG_NAME, "body").text
    assert "one seed, partial data" in text and "% of its states" in text
    before = shown(page, "#dialogue table")
    assert "USER: I could do with a cab without sharing." in before and "v5: Cabs_15" in before
    for kind, colour in (("right", "191, 232, 198"), ("wrong", "248, 180, 180")):
        value = page.find_element(By.CSS_SELECTOR, f"#dialogue .{kind}")
        assert colour in value.value_of_css_property("background-color")
    choose(page, "Dialogue and service", 3)
    until(lambda: shown(page, "#dialogue table") not in ("", before))
    assert "--" not in text  # no option of a command


def choose(page: Any, label: str, number: int) -> None:
    """Take an option of a list that unfolds."""
    lists = page.find_elements(By.CSS_SELECTOR, f"input[aria-label^='{label}']")
    next(one for one in lists if one.is_displayed()).click()
    options = "li[role=option]"
    # Its elements are there before their text is shown.
    until(lambda: any(o.text for o in page.find_elements(By.CSS_SELECTOR, options)[number:]))
    page.find_elements(By.CSS_SELECTOR, options)[number].click()


def test_dropped_files_and_an_example_are_scored(
    page: Any, tmp_path: Path, gold: dict[str, list[Row]]
) -> None:
    button(page, "Scores").click()
    files = [written(tmp_path / f"{name}.jsonl", rows) for name, rows in gold.items()]
    box = page.find_element(By.CSS_SELECTOR, "input[type=file]")
    box.send_keys("\n".join(map(str, files)))
    until(lambda: re.search(r"JGA_worst\s+100\.00", shown(page, "#figures")))
    assert "|split:test|release:sample|frames:273|" in shown(page, "#figures")
    until(lambda: shown(page, "#details table"))
    assert not page.find_elements(By.CSS_SELECTOR, "#details .wrong")
    before = shown(page, "#details table")
    choose(page, "Dialogue and service, the most sensitive first", 3)
    until(lambda: shown(page, "#details table") not in ("", before))
    button(page, "Take an example").click()
    until(lambda: re.search(r"JGA_orig\s+31\.57", shown(page, "#figures")))
    until(lambda: page.find_elements(By.CSS_SELECTOR, "#details .wrong"))


def test_an_api_of_ones_own_is_tracked_under_two_variants(page: Any) -> None:
    button(page, "Your API").click()
    button(page, "Track").click()
    until(lambda: re.search(r"Cabs_1\s+Cabs_14", shown(page, "#states table")))
    assert not page.find_elements(By.CSS_SELECTOR, "#states .right, #states .wrong")


def test_nothing_is_fetched_from_elsewhere(page: Any, url: str) -> None:
    messages = (json.loads(entry["message"])["message"] for entry in page.get_log("performance"))
    fetched = {
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    }
    assert any(address.startswith(url) for address in fetched)
    outside = [a for a in fetched if a.startswith("http") and not a.startswith(url)]
    assert outside == []


def button(page: Any, words: str) -> Any:
    """The button with some words; Gradio has hidden copies of tabs beside those that are shown."""
    path = f"//button[starts-with(normalize-space(.), '{words}')]"
    until(lambda: any(one.is_displayed() for one in page.find_elements(By.XPATH, path)))
    return [one for one in page.find_elements(By.XPATH, path) if one.is_displayed()][-1]
