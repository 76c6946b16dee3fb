"""Pages for people: links lead somewhere, commands can be copied, tables are as printed."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from baselines.training.settings import find_recipe
from sgdx_cli import program
from sgdx_dataset.release.open import open_release
from sgdx_eval.results import stored

from .conftest import ROOT, Run

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "baselines" / "README.md",
    ROOT / "sgdx_metric" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
BLOCK = re.compile(r"```bash\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")


def commands(page: Path) -> list[str]:
    blocks = [block.replace("\\\n", "") for block in BLOCK.findall(page.read_text())]
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_commands(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if not link.startswith("http"):
            assert (page.parent / link).exists(), link
    for line in commands(page):
        assert "..." not in line
        assert "…" not in line
        for module in re.findall(r"-m ([\w.]+)", line):
            assert module == "pip" or "possible" in line or importlib.util.find_spec(module), line
        for recipe in re.findall(r"--config (\w+/\w+)(?= |$)", line):
            assert find_recipe(recipe).is_file(), recipe
        for path in re.findall(r"(baselines/[\w/]+\.yaml|constraints\.txt)", line):
            assert (ROOT / path).exists(), path


def parsed(line: str) -> list[str]:
    """The words of a line after ``sgdx``, as a shell gives them to the command."""
    return [*takewhile(lambda word: word not in (">", "|", "&&"), shlex.split(line, comments=True))]


def test_commands_can_be_given_so() -> None:
    lines = [line for page in PAGES for line in commands(page)]
    calls = [parsed(line) for line in lines if line.startswith("sgdx ")]
    for words in calls:
        program().parse_args(words[1:], exit_on_error=False, print_error=False)
    assert len(calls) >= 60


def test_the_readme_shows_what_the_demo_prints(run: Run) -> None:
    done: subprocess.CompletedProcess[str] = run("sgdx_cli", "demo")
    assert done.returncode == 0, done.stderr
    (shown,) = re.findall(r"```\n(Frames: .*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert done.stdout.startswith(shown)
    assert done.stderr == ""


def test_the_readmes_commands_run(run: Run, tmp_path: Path) -> None:
    """Those that need neither a network nor a server nor training, in the order of the page."""
    (tmp_path / "sgdx-project").symlink_to(ROOT)
    lines = [line for line in commands(ROOT / "README.md") if "outputs/model" not in line]
    words = [parsed(line)[1:] for line in lines if line.startswith("sgdx ")]
    runnable = [line for line in words if line[0] not in ("train", "predict", "evaluate")]
    assert len(runnable) >= 5
    for line in runnable:
        done = run("sgdx_cli", *line)
        assert done.returncode == 0, (line, done.stderr)
    assert (tmp_path / "outputs" / "report" / "index.html").is_file()


# The folders of the rows of the tables of results, by what their signatures say of the data.
RESULTS = {
    "dialogues:292@": [
        "lexical", "sgd_baseline-minilm_all", "sgp_dst-minilm_tenth", "sgp_dst-minilm_quarter",
        "sgp_dst-minilm_quarter_backtrans", "sgp_dst-minilm_all", "onepass-minilm_cpu",
        "onepass-minilm_all", "onepass-5000_steps", "../models/onepass", "onepass-shipped-no_acts",
    ],
    "dialogues:600@": ["lexical-600", "sgp_dst-minilm_quarter-600"],
    "frames:26802|": [
        "lexical-whole_test", "sgd_baseline-minilm_cpu", "sgd_baseline-minilm_backtrans",
        "onepass-5000_steps-whole_test", "onepass-shipped-whole_test",
    ],
}  # fmt: skip
# The runs of the table of single settings, in its order: what follows "onepass-600_steps".
SETTINGS = ("", "-no_noise", "-no_backtrans", "-descriptions", "-acts", "-no_ema", "-oracle")
KEYS = ("jga_orig", "jga_v1-5", "ss_jga", "jga_worst", "flips")


def tables(head: str) -> list[list[list[str]]]:
    """The tables of results.md whose head begins so: the cells of each row."""
    lines = (ROOT / "docs" / "results.md").read_text().splitlines()
    rows = [
        takewhile(lambda line: line.startswith("|"), lines[number + 2 :])
        for number, line in enumerate(lines)
        if line.startswith(head)
    ]
    return [[[cell.strip() for cell in row.split("|")[1:-1]] for row in table] for table in rows]


def scores_of(run: str) -> Any:
    path = ROOT / "results" / run / "scores.json"
    return stored(path)


def shows(cells: list[str], figures: list[float]) -> bool:
    """Whether cells have these figures, which are in percent."""
    shown = [float(number) for number in re.findall(r"-?\d[\d.]*", " ".join(cells))]
    return shown == [pytest.approx(figure, abs=0.0501) for figure in figures]


def test_the_finding_of_the_readme_is_that_of_its_scores() -> None:
    """Its sentence has four figures of the best system in the picture above it."""
    sgdx = scores_of("../models/onepass")["sgdx"]
    text = " ".join((ROOT / "README.md").read_text().split())
    first, reworded, worst, flips = (
        f"{100 * sgdx[key]:.1f}" for key in ("jga_orig", "jga_v1-5", "jga_worst", "flips")
    )
    for shown in (f"({first} to {reworded})", f"{worst} %", f"{flips} %"):
        assert shown in text


@pytest.mark.parametrize("number", range(len(RESULTS)))
def test_figures_of_trackers_are_those_of_their_scores(number: int) -> None:
    data, runs = [*RESULTS.items()][number]
    rows = tables("| tracker | JGA_orig | JGA_v1-5")[number]
    for run, row in zip(runs, rows, strict=True):
        scores = scores_of(run)
        assert f"|split:test|release:partial:2921/4201|{data}" in scores["signature"]
        for key, cell in zip(KEYS, row[1:]):
            ends = scores["sgdx"]["confidence"][key] if "(" in cell else []
            assert shows([cell], [100 * end for end in (scores["sgdx"][key], *ends)]), (run, cell)


def test_figures_of_all_runs_are_those_of_their_scores() -> None:
    (rows,) = tables("| run | frames | JGA_orig")
    for name, frames, *cells in rows:
        run = "../models/onepass" if name == "`onepass`, shipped" else name.strip("`")
        scores = scores_of(run)
        sgdx = scores["sgdx"]
        figures = [sgdx["jga_orig"], sgdx["jga_v1-5"], sgdx["jga_orig"] - sgdx["jga_v1-5"]]
        for group in (sgdx, sgdx["seen"], sgdx["unseen"]):
            figures += [group["jga_worst"], group["flips"]]
        assert shows(cells, [100 * abs(figure) for figure in figures]), name
        assert int(frames.replace(",", "")) == scores["frames"]["all"]
    runs = [path.parent.name for path in (ROOT / "results").glob("*/scores.json")]
    trackers = [run for run in runs if not run.startswith("generation-")]
    assert len(rows) == len(trackers) + 1  # the shipped model's scores lie beside it


def test_figures_of_single_settings_are_those_of_their_scores() -> None:
    (rows,) = tables("| trained | JGA_orig")
    for name, row in zip(SETTINGS, rows, strict=True):
        sgdx = scores_of(f"onepass-600_steps{name}")["sgdx"]
        assert shows(row[1:6], [100 * sgdx[key] for key in KEYS]), name


def test_figures_of_generators_are_those_of_their_scores() -> None:
    (rows,) = tables("| generator | BLEU_orig")
    for name, row in zip(("gold", "templates", "derived", "empty"), rows):
        scores = scores_of(f"generation-{name}")
        sgdx, scales = scores["sgdx"], scores["conventions"]["original"]
        figures = [scales[scale]["bleu"] for scale in ("13a", "13a-lc", "intl", "none")]
        figures.append(sgdx["bleu_v1-5"])
        keys = ("ser_orig", "ser_v1-5", "changed", "sgsacc_orig", "sgsacc_v1-5", "flips")
        assert shows(row[1:], figures + [100 * sgdx[key] for key in keys]), name
    metrics = scores_of("generation-gold")["variants"]["original"]["#ALL_SERVICES"]
    text = (ROOT / "docs" / "results.md").read_text()
    for key in ("coverage", "validated", "validated_without_offers", "ser_agreement"):
        assert f"{100 * metrics[key]:.1f} %" in " ".join(text.split()), key


@pytest.mark.release
def test_results_hold_no_weights_and_no_texts(release_archive: Path) -> None:
    files = [path for path in (ROOT / "results").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".json", ".jsonl", ".yaml"}
    written = "\n".join(path.read_text() for path in files)
    chosen = json.loads((ROOT / "results" / "test-600.json").read_text())["ids"]
    release = open_release(release_archive)
    said = [
        turn["utterance"]
        for file in release.dialogue_files("test")
        for dialogue in json.loads(release.read(file))
        if dialogue["dialogue_id"] in chosen
        for turn in dialogue["turns"][:4]
    ]
    assert len(said) == 4 * len(chosen)
    assert not [text for text in said if len(text) > 20 and text in written]
