"""Pages for people: links lead somewhere, commands can be copied, tables are as printed."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import re
import shlex
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import msgspec
import pytest

from baselines.training.settings import find_recipe
from baselines.use import SHIPPED_MODEL
from maintenance.front_picture import SYSTEMS
from sgdx_dataset.release.open import open_release
from sgdx_metric.cli.results import read_results
from sgsacc_metric.cli.files import read_scores as read_generation_scores

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


def help_of(words: list[str], patch: pytest.MonkeyPatch) -> str:
    """What a command prints with ``--help`` at 80 columns."""
    module = importlib.import_module(words[0])
    if hasattr(module, "__path__"):
        module = importlib.import_module(f"{words[0]}.__main__")
    patch.setattr(sys, "argv", [*words, "--help"])
    patch.setenv("COLUMNS", "80")
    printed = io.StringIO()
    with pytest.raises(SystemExit) as end, contextlib.redirect_stdout(printed):
        module.main()
    assert not end.value.code
    return printed.getvalue()


def test_commands_name_options_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    helps: dict[str, str] = {}
    for line in (line for page in PAGES for line in commands(page)):
        found = re.search(
            r"-m (baselines|sgdx_dataset|sgdx_metric|sgdx_tools)((?:\.\w+)+)?( [a-z]+)?", line
        )
        if found is None or "possible_values" in line:
            continue
        words = [found[1] + (found[2] or ""), *(found[3] or "").split()]
        words += ["--tracker", "lexical"] if "lexical" in line else []
        words += ["--tracker", "t2g2"] if "--model outputs/t2g2" in line else []
        # The help of a command that is given a model has the options of its tracker too.
        words += ["--model", str(SHIPPED_MODEL)] if "--model models/onepass --acts" in line else []
        if " ".join(words) not in helps:
            helps[" ".join(words)] = help_of(words, monkeypatch)
        for option in re.findall(r"(--[a-z-]+)", line[found.end() :]):
            assert option in helps[" ".join(words)], line
    assert len(helps) >= 8
    assert not any("``" in text for text in helps.values())
    assert max(len(line) for text in helps.values() for line in text.splitlines()) <= 80


def test_the_readme_shows_what_the_demo_prints(run: Run) -> None:
    done: subprocess.CompletedProcess[str] = run("baselines.demo")
    assert done.returncode == 0, done.stderr
    (shown,) = re.findall(r"```\n(Joint goal.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert done.stdout.startswith(shown)
    assert done.stderr == ""


def test_the_readmes_commands_run(run: Run, tmp_path: Path) -> None:
    """Those that need neither a network nor a server nor training, in the order of the page."""
    (tmp_path / "sgdx-project").symlink_to(ROOT)
    programs = "baselines.demo", "sgdx_dataset", "sgdx_metric", "sgdx_tools", "baselines.report"
    lines = [line for line in commands(ROOT / "README.md") if "outputs/model" not in line]
    words = [shlex.split(line, comments=True)[2:] for line in lines if line.startswith("python -m")]
    runnable = [line for line in words if line[0] in programs]
    assert len(runnable) >= 5
    for line in runnable:
        done = run(*line)
        assert done.returncode == 0, (line, done.stderr)
    assert (tmp_path / "outputs" / "report" / "index.html").is_file()


# Of the tables of results, by what their scores' signature says of the data: each row's tracker and
# its folder.
RESULTS = {
    "dialogues:292@": [
        ("lexical", "lexical"),
        ("sgd_baseline", "sgd_baseline-minilm_all"),
        ("sgp_dst", "sgp_dst-minilm_tenth"),
        ("sgp_dst", "sgp_dst-minilm_quarter"),
        ("sgp_dst", "sgp_dst-minilm_quarter_backtrans"),
        ("sgp_dst", "sgp_dst-minilm_all"),
        ("onepass", "onepass-minilm_cpu"),
        ("onepass", "onepass-minilm_all"),
        ("onepass", "onepass-5000_steps"),
        ("onepass", "../models/onepass"),
        ("onepass", "onepass-shipped-no_acts"),
    ],
    "dialogues:600@": [
        ("lexical", "lexical-600"),
        ("sgp_dst", "sgp_dst-minilm_quarter-600"),
    ],
    "frames:26802|": [
        ("lexical", "lexical-whole_test"),
        ("sgd_baseline", "sgd_baseline-minilm_cpu"),
        ("sgd_baseline", "sgd_baseline-minilm_backtrans"),
        ("onepass", "onepass-5000_steps-whole_test"),
        ("onepass", "onepass-shipped-whole_test"),
    ],
}
PARTIAL = "|split:test|release:partial:2921/4201|"


# The runs of the table of single settings, in its order: what follows "onepass-600_steps".
SETTINGS = ("", "-no_noise", "-no_backtrans", "-descriptions", "-acts", "-no_ema", "-oracle")


def test_the_finding_of_the_readme_is_that_of_its_scores() -> None:
    """Its sentence has four figures of the best system in the picture above it."""
    results = read_results(ROOT / next(iter(SYSTEMS.values())) / "scores.json")
    sgdx = results.scores.sgdx
    figures = (sgdx.jga_orig, sgdx.jga_v1_5, sgdx.jga_worst, sgdx.flips)
    first, reworded, worst, flips = (f"{100 * (figure or 0):.1f}" for figure in figures)
    drop = f"{float(first) - float(reworded):.0f}"
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"loses {drop} points on average ({first} to {reworded})" in text
    assert f"only {worst} % of its answers are right under all six wordings, and {flips} %" in text
    assert f"({len(results.dialogue_ids())} dialogues of the partial" in text


def test_figures_of_the_results_are_those_of_their_scores() -> None:
    lines = (ROOT / "docs" / "results.md").read_text().splitlines()
    begins = [
        n for n, line in enumerate(lines) if line.startswith("| tracker | JGA_orig | JGA_v1-5")
    ]
    for begin, data in zip(begins, RESULTS, strict=True):
        for (name, run), line in zip(RESULTS[data], lines[begin + 2 :]):
            row = [cell.strip() for cell in line.split("|")[1:-1]]
            assert row[0].startswith(f"`{name}`")
            scores = read_results(ROOT / "results" / run / "scores.json").scores
            assert PARTIAL + data in scores.signature
            figures = msgspec.to_builtins(scores.sgdx)
            for key, cell in zip(("jga_orig", "jga_v1-5", "ss_jga", "jga_worst", "flips"), row[1:]):
                ends = figures["confidence"][key]
                numbers = [figures[key], *(ends if "(" in cell else [])]
                assert [float(x) for x in re.findall(r"[\d.]+", cell)] == [
                    pytest.approx(100 * number, abs=0.0501) for number in numbers
                ]
        assert not lines[begin + 2 + len(RESULTS[data])].startswith("|")


def test_the_worst_case_of_every_run_is_that_of_its_scores() -> None:
    lines = (ROOT / "docs" / "results.md").read_text().splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("| run | frames | JGA_orig"))
    rows = list(takewhile(lambda line: line.startswith("|"), lines[begin + 2 :]))
    for line in rows:
        name, _, *cells = [cell.strip() for cell in line.split("|")[1:-1]]
        run = "../models/onepass" if name == "`onepass`, shipped" else name.strip("`")
        scores = read_results(ROOT / "results" / run / "scores.json").scores.sgdx
        original, reworded = scores.jga_orig or 0, scores.jga_v1_5 or 0
        figures = [original, reworded, original - reworded]
        for group in (scores, scores.seen, scores.unseen):
            figures += [group.jga_worst or 0, group.flips or 0]
        shown = [float(number) for cell in cells for number in cell.split(",")]
        assert shown == [pytest.approx(100 * figure, abs=0.0501) for figure in figures]
    trackers = [
        path
        for path in (ROOT / "results").glob("*/scores.json")
        if not path.parent.name.startswith("generation-")
    ]
    assert len(rows) == len(trackers) + 1  # the shipped model's scores lie beside it


def test_figures_of_single_settings_are_those_of_their_scores() -> None:
    lines = (ROOT / "docs" / "results.md").read_text().splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("| trained | JGA_orig"))
    rows = list(takewhile(lambda line: line.startswith("|"), lines[begin + 2 :]))
    for name, line in zip(SETTINGS, rows, strict=True):
        path = ROOT / "results" / f"onepass-600_steps{name}" / "scores.json"
        figures = msgspec.to_builtins(read_results(path).scores.sgdx)
        keys = ("jga_orig", "jga_v1-5", "ss_jga", "jga_worst", "flips")
        shown = [float(cell) for cell in line.split("|")[2:7]]
        assert shown == [pytest.approx(100 * figures[key], abs=0.0501) for key in keys]


def test_figures_of_generators_are_those_of_their_scores() -> None:
    lines = (ROOT / "docs" / "results.md").read_text().splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("| generator | BLEU_orig"))
    for name, line in zip(("gold", "templates", "derived", "empty"), lines[begin + 2 :]):
        system, *cells = [cell.strip() for cell in line.split("|")[1:-1]]
        assert system == f"`{name}`"
        path = ROOT / "results" / f"generation-{name}" / "scores.json"
        scores = read_generation_scores(path)
        assert PARTIAL + "dialogues:292@b0e1edf2|turns:2551|" in scores.signature
        assert "|nli:lexical (no model)|" in scores.signature
        content = json.loads(path.read_text())
        sgdx, scales = content["sgdx"], content["conventions"]["original"]
        figures = [scales[scale]["bleu"] for scale in ("13a", "13a-lc", "intl", "none")]
        figures.append(sgdx["bleu_v1-5"])
        keys = ("ser_orig", "ser_v1-5", "changed", "sgsacc_orig", "sgsacc_v1-5", "flips")
        figures += [100 * sgdx[key] for key in keys]
        assert list(map(float, cells)) == [pytest.approx(figure, abs=0.0501) for figure in figures]
    text = " ".join("\n".join(lines).split())
    gold = json.loads((ROOT / "results/generation-gold/scores.json").read_text())
    metrics = gold["variants"]["original"]["#ALL_SERVICES"]
    for key in ("coverage", "validated", "validated_without_offers", "ser_agreement"):
        assert f"{100 * metrics[key]:.1f} %" in text, key


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
