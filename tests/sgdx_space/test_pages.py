"""The Spaces in a real browser: Chromium without a window, the server on loopback.

The files that a push uploads are copied as a Space has them, and its app.py is run as a script.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import open_release, turn_tables
from sgdx_eval.install import space_files
from sgdx_eval.references import open_references

from ..browser import browser as browser
from ..conftest import ROOT
from ..sgdx_metric.conftest import gold as gold
from ..sgdx_metric.frames import Row, written

pytest.importorskip("gradio", reason="the Space needs gradio: pip install sgdx[app]")
By = pytest.importorskip("selenium.webdriver.common.by").By


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The Space of both metrics, running."""
    with served("sgdx_metric", tmp_path_factory.mktemp("hub")) as address:
        yield address


@contextmanager
def served(metric: str, folder: Path) -> Iterator[str]:
    """Run a metric's Space: the files that its push uploads, in a folder of their own."""
    space = folder / "space"
    space.mkdir()
    for path in space_files(ROOT / metric).values():
        shutil.copy(path, space)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = {
        "GRADIO_SERVER_NAME": "127.0.0.1",
        "GRADIO_SERVER_PORT": port,
        "GRADIO_TEMP_DIR": str(space / "uploads"),
    }
    process = subprocess.Popen(
        [sys.executable, "app.py"],
        cwd=space,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
    address = f"http://127.0.0.1:{port}"
    try:
        until(lambda: answers(address) or process.poll() is not None, 240)
        assert process.poll() is None
        yield address
    finally:
        process.terminate()
        process.wait(20)


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=2):  # noqa: S310
            return True
    except OSError:
        return False


def until(true: Callable[[], Any], seconds: float = 90) -> None:
    """Wait for what a page does in its own time."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.2)


@pytest.fixture
def page(url: str, browser: Any) -> Any:
    """The page as it opens, filled."""
    browser.get(url)
    until(lambda: "gold:" in text(browser) or browser.find_elements(By.CSS_SELECTOR, ".explain td"))
    return browser


def text(page: Any) -> str:
    return str(page.find_element(By.TAG_NAME, "body").text)


def table(page: Any) -> dict[str, list[str]]:
    """The rows of the figures, by their first cells."""
    script = """return [...document.querySelectorAll("#figures tr")].map(
        row => [...row.cells].map(cell => cell.innerText.replace(/\\s+/g, " ").trim()))"""
    return {first: rest for first, *rest in page.execute_script(script)}


def signature(page: Any) -> str:
    return str(page.find_element(By.CSS_SELECTOR, "textarea").get_property("value"))


def test_opens_with_the_sample(page: Any, gold: dict[str, list[Row]]) -> None:
    rows = table(page)
    assert "Frames: 273 all, 123 seen, 150 unseen" in text(page)
    assert re.fullmatch(r"\d\d\.\d\d ?\d\d\.\d\d to \d\d\.\d\d", rows["JGA_v1-5"][0])
    assert "|split:test|release:sample|frames:273|" in signature(page)
    names = sorted({row["frame_id"].rpartition("/")[2] for row in gold["original"]})
    assert set(names) <= rows.keys()


def test_explains_the_frame_that_is_chosen(page: Any) -> None:
    before = page.find_element(By.CSS_SELECTOR, ".explain").text
    assert "original" in before and "missing" in before
    page.find_element(By.CSS_SELECTOR, "input[role=combobox]").click()
    # A list that unfolds has its elements before their text is shown.
    options = "li[role=option]"
    until(lambda: any(one.text for one in page.find_elements(By.CSS_SELECTOR, options)[3:4]))
    option = page.find_elements(By.CSS_SELECTOR, options)[3]
    dialogue, turn, _ = option.text.strip().lstrip("✓ ").rsplit("/", 2)
    option.click()
    until(lambda: page.find_element(By.CSS_SELECTOR, ".explain").text != before)
    turns = open_references("sample", "test", {}).turns()[dialogue]  # the whole dialogue is there
    said = [one.text for one in page.find_elements(By.CSS_SELECTOR, ".talk p")]
    assert len(said) == len(turns)
    assert all(utterance in text for (_, utterance), text in zip(turns, said, strict=True))
    (now,) = page.find_elements(By.CSS_SELECTOR, ".talk .now")
    assert turns[int(turn)][1] in now.text and "original ✓" in now.text


def test_dropped_files_are_scored(page: Any, tmp_path: Path, gold: dict[str, list[Row]]) -> None:
    paths = [written(tmp_path / f"{variant}.jsonl", rows) for variant, rows in gold.items()]
    drop(page, *paths)
    until(lambda: table(page)["flips"][0].startswith("0.00"))
    assert table(page)["Cooking_1"] == ["100.00", "100.00", "0.00", "100.00", "0.00"]
    assert "missing" not in page.find_element(By.CSS_SELECTOR, ".explain").text


def test_a_bad_file_is_named(page: Any, tmp_path: Path, gold: dict[str, list[Row]]) -> None:
    rows = [gold["v1"][0] | {"slot_values": [{"slot": "<b>", "values": []}]}, *gold["v1"][1:]]
    drop(page, written(tmp_path / "broken.jsonl", rows))
    until(
        lambda: (
            "broken.jsonl:1: not a prediction row: Expected `array` of length >= 1" in text(page)
        )
    )
    assert str(tmp_path) not in text(page) and "/uploads/" not in text(page)
    # It is said once, and nothing of what was there before stands below it.
    assert text(page).count("not a prediction row") == 1
    below = "#figures td, textarea, .explain td, .talk p"
    assert not [e for e in page.find_elements(By.CSS_SELECTOR, below) if e.is_displayed()]


def drop(page: Any, *paths: Path) -> None:
    box = page.find_element(By.CSS_SELECTOR, "input[type=file]")
    box.send_keys("\n".join(map(str, paths)))


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


def test_generators_have_a_tab(page: Any, tmp_path: Path) -> None:
    """The corpus's own responses first, then dropped ones."""
    button(page, "Generation").click()
    table_of = "return document.querySelector('#faithfulness')?.innerText ?? ''"
    until(lambda: "SGSAcc" in page.execute_script(table_of))
    until(lambda: re.search(r"BLEU orig\s+100.0", page.execute_script(table_of)))
    turns = turn_tables(open_release("sample"), "test", "original", ["turn_id"]).to_pylist()
    rows = [{**row, "variant": "v2", "utterance": "So?"} for row in turns]
    silent = tmp_path / "silent.jsonl"
    silent.write_text("\n".join(map(json.dumps, rows)))
    responses = page.find_element(By.CSS_SELECTOR, "#responses input[type=file]")
    responses.send_keys(str(silent))
    line = "return document.querySelector('#generation-signature textarea').value"
    until(lambda: "|generator:v2|" in page.execute_script(line))
    button(page, "Published figures").click()
    until(lambda: "FT-T5" in text(page) and "most likely tok:none" in text(page))


def test_an_api_of_ones_own_is_tracked_under_two_variants(page: Any) -> None:
    button(page, "Your own API").click()
    until(lambda: page.find_element(By.ID, "track").is_displayed())
    page.find_element(By.ID, "track").click()
    rows = "return document.querySelector('#states table')?.innerText ?? ''"
    until(lambda: "Whatever you have is fine." in page.execute_script(rows))
    assert re.search(r"CoffeeBar\s+BrewPoint", page.execute_script(rows))


@pytest.mark.slow  # the tab is that of the Space of both metrics, which is tried above
def test_the_space_of_generation_has_its_card_and_a_tab_to_try_it(
    browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with served("sgsacc_metric", tmp_path_factory.mktemp("hub")) as address:
        browser.get(address)
        until(lambda: "Metric card: SGSAcc metric" in text(browser))
        assert "app_file" not in text(browser)  # the card's front matter
        button(browser, "Try it").click()
        table_of = "return document.querySelector('#faithfulness')?.innerText ?? ''"
        until(lambda: re.search(r"BLEU orig\s+100.0", browser.execute_script(table_of)))


def button(page: Any, words: str) -> Any:
    """The button with some words; Gradio has hidden copies of tabs beside those that are shown."""
    found = page.find_elements(By.XPATH, f"//button[contains(., '{words}')]")
    return next(one for one in found if one.is_displayed())


_AS_INSTALLED_FOR_EDITING = """
import runpy, sys
from importlib.machinery import PathFinder

class Editable:  # as setuptools finds an editable package: after everything on the path
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, path or [{root!r}])

sys.meta_path.append(Editable)
sys.path[0] = {folder!r}
import gradio
gradio.Blocks.launch = lambda *_, **__: print("launched")
runpy.run_path({app!r}, run_name="__main__")
"""


@pytest.mark.parametrize(
    "room", ["sgdx_metric", pytest.param("sgsacc_metric", marks=pytest.mark.slow)]
)
def test_an_app_runs_as_a_script_of_an_editable_package(room: str, tmp_path: Path) -> None:
    """The package is then found last, and a script of its name beside the app would come first."""
    folder = ROOT / room
    code = _AS_INSTALLED_FOR_EDITING.format(
        root=str(ROOT), folder=str(folder), app=str(folder / "app.py")
    )
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and done.stdout.endswith("launched\n"), done.stderr
