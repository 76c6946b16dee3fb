"""Pages for people: links lead somewhere, commands can be copied, tables are as printed."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from baselines.settings import find_recipe
from sgdx_cli import main, program
from sgdx_dataset.release import open_release
from sgdx_eval.compare import compare
from sgdx_eval.result import Scored, read_result
from sgdx_metric.result import Result

from .conftest import ROOT

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


def parsed(line: str) -> list[str]:
    """The words of a line after ``sgdx``, as a shell gives them to the command."""
    return [*takewhile(lambda word: word not in (">", "|", "&&"), shlex.split(line, comments=True))]


def test_commands_can_be_given_so() -> None:
    lines = [line for page in PAGES for line in commands(page)]
    calls = [parsed(line) for line in lines if line.startswith("sgdx ") and "$" not in line]
    for words in calls:
        program().parse_args(words[1:], exit_on_error=False, print_error=False)
    assert len(calls) >= 60


def test_the_readme_shows_what_the_demo_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not main(["demo"])
    page = (ROOT / "README.md").read_text()
    (shown,) = re.findall(r"```\n(Under other words .*?)```", page, re.DOTALL)
    printed = capsys.readouterr()
    assert printed.out.startswith(shown) and printed.err == ""


def test_the_readmes_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that need neither a network nor a server nor training, in the order of the page."""
    monkeypatch.chdir(tmp_path)
    for folder in ("results", "models"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    lines = [line for line in commands(ROOT / "README.md") if "outputs/model" not in line]
    words = [parsed(line)[1:] for line in lines if line.startswith("sgdx ")]
    runnable = [line for line in words if line[0] not in ("train", "predict", "evaluate")]
    assert len(runnable) >= 5
    for line in runnable:
        assert not main(line), line
    assert (tmp_path / "outputs" / "report" / "index.html").is_file()


# The folders of the rows of the tables of trackers, by what their signatures say of the data.
RESULTS = {
    "dialogues:292@": [
        "lexical", "sgd_baseline-minilm_all", "sgp_dst-minilm_tenth", "sgp_dst-minilm_quarter",
        "sgp_dst-minilm_quarter_backtrans", "sgp_dst-minilm_all", "onepass-minilm_cpu",
        "onepass-minilm_all", "onepass-5000_steps", "onepass-10000_steps", "../models/onepass",
        "onepass-base",
    ],
    "frames:26802|": [
        "lexical-whole_test", "sgd_baseline-minilm_cpu", "sgd_baseline-minilm_backtrans",
        "onepass-5000_steps-whole_test", "onepass-10000_steps-whole_test",
    ],
}  # fmt: skip
SHIPPED = ("../models/onepass", "onepass-shipped-no_acts")
# Of the table of services never seen.
NEVER_SEEN = (
    "many-lexical", "many-onepass-10000_steps-no_acts", "many-onepass-10000_steps",
    "many-onepass-shipped-no_acts", "many-onepass-shipped",
    "many-onepass-base-112_services-no_acts", "many-onepass-base-112_services",
    "many-onepass-base-no_acts", "many-onepass-base",
)  # fmt: skip
# The runs of the table of single settings, in its order: what follows "onepass-600_steps".
SETTINGS = ("", "-no_noise", "-no_backtrans", "-descriptions", "-acts", "-no_ema", "-oracle")
KEYS = ("jga_orig", "jga_v1-5", "ss_jga", "ss_jga_nonzero", "jga_worst", "flips")


def tables(page: str, head: str) -> list[list[list[str]]]:
    """The tables of a page of results whose head begins so: the cells of each row."""
    lines = (ROOT / "docs" / f"results-{page}.md").read_text().splitlines()
    rows = [
        takewhile(lambda line: line.startswith("|"), lines[number + 2 :])
        for number, line in enumerate(lines)
        if line.startswith(head)
    ]
    return [[[cell.strip() for cell in row.split("|")[1:-1]] for row in table] for table in rows]


def scores_of(run: str) -> Result:
    return read_result(ROOT / "results" / run / "scores.json").result


def values_of(result: Result, keys: Sequence[str], group: str = "all") -> list[float]:
    """Figures by name, in percent but for BLEU."""
    found = [result.figure(key, group) for key in keys]
    return [(1 if f.metric == "bleu" else 100) * (f.value or 0.0) for f in found if f]


def shows(cells: list[str], figures: list[float]) -> bool:
    """Whether cells have these figures, which are in percent."""
    shown = [float(number) for number in re.findall(r"-?\d[\d.]*", " ".join(cells))]
    return shown == [pytest.approx(figure, abs=0.0501) for figure in figures]


def shows_with_intervals(cells: list[str], run: str, keys: Sequence[str]) -> bool:
    found = [scores_of(run).figure(key) for key in keys]
    ends = [(f.value, *(f.interval or ())) for f in found if f]
    return shows(cells, [100 * (part or 0.0) for of in ends for part in of])


@pytest.mark.parametrize("page", ["README.md", "docs/results.md"])
def test_the_finding_of_a_page_is_that_of_its_scores(page: str) -> None:
    """Its sentences have five figures of the best system in the picture above them."""
    result = scores_of("../models/onepass")
    text = " ".join((ROOT / page).read_text().split())
    first, reworded, worst, flips = (
        f"{value:.1f}"
        for value in values_of(result, ("jga_orig", "jga_v1-5", "jga_worst", "flips"))
    )
    lost = f"{-100 * (result['drop'] or 0):.1f} points"
    for shown in (f"({first} to {reworded}", lost, f"{worst} %", f"{flips} %"):
        assert shown in text


@pytest.mark.parametrize("number", range(len(RESULTS)))
def test_figures_of_trackers_are_those_of_their_scores(number: int) -> None:
    data, runs = [*RESULTS.items()][number]
    rows = tables("trackers", "| tracker | JGA_orig | JGA_v1-5")[number]
    for run, row in zip(runs, rows, strict=True):
        scores = scores_of(run)
        assert f"|split:test|release:partial:2921/4201|{data}" in scores.signature
        assert shows_with_intervals(row[1:7], run, KEYS), run
        for group, cell in zip(("seen", "unseen"), row[7:]):
            assert shows([cell], values_of(scores, KEYS[:2], group)), run


def test_figures_of_changes_are_those_of_their_scores() -> None:
    (rows,) = tables("trackers", "| tracker | Change_orig")
    for run, row in zip(("lexical", "../models/onepass"), rows, strict=True):
        assert shows_with_intervals(row[1:], run, ("change_orig", "change_v1-5"))


def test_figures_of_the_shipped_model_are_those_of_its_scores() -> None:
    (rows,), (halves,) = (tables("shipped", head) for head in ("| on | JGA_orig", "| on | seen"))
    for run, row, (_, *cells) in zip(SHIPPED, rows, halves, strict=True):
        assert shows_with_intervals(row[1:], run, KEYS), run
        for group, cell in zip(("seen", "unseen"), cells):
            keys = [key for key in KEYS if not key.startswith("ss_jga")]
            assert shows([cell], values_of(scores_of(run), keys, group)), (run, group)


def test_figures_of_services_never_seen_are_those_of_their_scores() -> None:
    (rows,) = tables("never-seen", "| tracker | reads")
    for run, row in zip(NEVER_SEEN, rows, strict=True):
        assert "|split:test|release:many|frames:765|" in scores_of(run).signature
        assert shows_with_intervals(row[2:5], run, ("jga_orig", "jga_v1-5", "jga_worst")), run
        mean = values_of(scores_of(run), ["average_goal_accuracy_v1-5"])
        assert shows([row[5]], mean), run
    (costs,) = tables("never-seen", "| tracker | JGA_orig")
    runs = ("onepass-10000_steps", "../models/onepass", "onepass-base")
    for run, row in zip(runs, costs, strict=True):
        assert shows_with_intervals(row[1:], run, KEYS), run


@pytest.mark.parametrize(
    ("page", "head", "keys", "pairs"),
    [
        (
            "trackers", "| first | above | under", ("jga_v1-5", "jga_orig"),
            ["onepass-minilm_cpu lexical", "onepass-minilm_cpu sgp_dst-minilm_tenth",
             "onepass-minilm_all onepass-minilm_cpu", "onepass-5000_steps sgp_dst-minilm_all",
             "sgp_dst-minilm_all sgp_dst-minilm_quarter"],
        ),
        (
            "shipped", "| above | JGA_orig",
            ("jga_orig", "jga_v1-5", "ss_jga", "ss_jga_nonzero", "jga_worst"),
            [f"../models/onepass {run}"
             for run in ("sgp_dst-minilm_all", "onepass-minilm_all", "onepass-10000_steps")],
        ),
        (
            "never-seen", "| on | reads", ("jga_orig", "jga_v1-5", "jga_worst", "flips"),
            ["many-onepass-base-no_acts many-onepass-shipped-no_acts",
             "many-onepass-base many-onepass-shipped", "onepass-base ../models/onepass",
             "onepass-base-no_acts onepass-shipped-no_acts"],
        ),
        (
            "never-seen", "| more services", ("jga_orig", "jga_v1-5", "jga_worst", "flips"),
            ["many-onepass-base-no_acts many-onepass-base-112_services-no_acts",
             "many-onepass-base many-onepass-base-112_services"],
        ),
        (
            "training", "| trained | JGA_orig", ("jga_v1-5", "jga_worst"),
            [f"onepass-600_steps{name} onepass-600_steps" for name in SETTINGS[1:]],
        ),
        (
            "training", "| tracker | judged",
            ("jga_orig", "jga_v1-5", "ss_jga", "ss_jga_nonzero"),
            ["sgp_dst-minilm_quarter_backtrans sgp_dst-minilm_quarter",
             "sgd_baseline-minilm_backtrans sgd_baseline-minilm_cpu"],
        ),
    ],
)  # fmt: skip
def test_differences_are_those_of_their_scores(
    page: str, head: str, keys: Sequence[str], pairs: list[str]
) -> None:
    (rows,) = tables(page, head)
    for pair, row in zip(pairs, rows[-len(pairs) :], strict=True):
        above, below = ([ROOT / "results" / run / "scores.json"] for run in pair.split())
        compared = compare(below, above)
        found = [f for f in map(compared.figure, keys) if f]
        values = [(f.value or 0.0, *(f.interval or ())) for f in found]
        assert shows(row[-len(keys) :], [100 * part for value in values for part in value]), pair


def test_figures_of_fewer_bits_are_those_of_their_scores() -> None:
    (rows,) = tables("shipped", "| bits, values of a scale")

    def scored(name: str) -> Scored:
        return read_result(ROOT / "results" / "bits" / name)

    whole = [scored(f"16-{on}").scores for on in ("sgd", "many")]
    for name, row in zip(("16", "8", "6", "5", "5-of-64", "4"), rows, strict=True):
        for on, base, cells in zip(("sgd", "many"), whole, (row[2:4], row[4:6])):
            found = scored(f"{name}-{on}")
            figures = values_of(found.result, ("jga_orig", "jga_v5"))
            if name != "16":
                gain = (found.scores.metrics["jga"] - base.metrics["jga"]).mean(axis=0)
                ids = [frame.split("/")[0] for frame in base.items.ids.to_pylist()]
                _, of_dialogue = np.unique(ids, return_inverse=True)
                sizes, gains = np.bincount(of_dialogue), np.bincount(of_dialogue, gain)
                equal = np.full(len(sizes), 1 / len(sizes))
                draws = np.random.default_rng(0).multinomial(len(sizes), equal, 10_000)
                ends = np.quantile(draws @ gains / (draws @ sizes), (0.025, 0.975))
                figures += [100 * value for value in (gain.mean(), *ends)]
            assert shows(cells, figures), (name, on)
        keys = [f"average_goal_accuracy_{of}" for of in ("orig", "v5")]
        assert shows(row[6:], [float(np.mean(values_of(found.result, keys)))]), name


def test_figures_of_single_settings_are_those_of_their_scores() -> None:
    (rows,) = tables("training", "| trained | JGA_orig")
    for name, row in zip(SETTINGS, rows, strict=True):
        keys = "jga_orig", "jga_v1-5", "jga_worst"
        figures = values_of(scores_of(f"onepass-600_steps{name}"), keys)
        assert shows(row[1:4], figures), name


def test_figures_of_the_language_model_are_those_of_its_scores() -> None:
    (rows,) = tables("language-models", "| system | JGA_orig")
    keys = ("jga_orig", "jga_v1-5", "flips", "change_v1-5")
    assert shows_with_intervals([*rows[0][1:3], *rows[0][4:6]], "smollm2-135m", keys)


def test_figures_of_calls_are_those_of_their_scores() -> None:
    found = tables("language-models", "| model | way")
    names = ("1.5b-constrained", "1.5b-free", "0.5b-constrained", "0.5b-free")
    of_many = ("many-0.5b-constrained", "many-0.5b-free")
    # The last row of each table is of a program.
    rows = [*found[0][:-1], *found[1][:-1]]
    for name, row in zip((*names, *of_many), rows, strict=True):
        result = scores_of(f"calls/{name}")
        keys = [f"call_{of}" for of in ("orig", "reworded", "drop", "worst", "flips")]
        of_calls = [f for f in map(result.figure, keys) if f]
        figures = [part or 0.0 for f in of_calls for part in (f.value, *(f.interval or ()))]
        means = [f"{of}_{words}" for of in ("call_fuzzy", "tool") for words in ("orig", "reworded")]
        figures += [result[key] or 0.0 for key in means]
        counts = [header["counts"] for header in result.systems.values()]
        figures.append(sum(c["unread"] for c in counts) / sum(c["requests"] for c in counts))
        assert shows(row[2:], [100 * figure for figure in figures]), name


def test_figures_of_tool_search_are_those_of_its_scores() -> None:
    (bm25, embeddings) = tables("tool-search", "| figure, by")
    metrics = ("recall@1", "recall@3", "recall@5", "recall@10")
    files = ("sgd", "sgd-and-bfcl", "sgd-minilm", "sgd-and-bfcl-minilm")
    expected = [(f, m) for f in files for m in metrics]
    for (file, metric), row in zip(expected, bm25 + embeddings, strict=True):
        result = read_result(ROOT / "results" / "tool-search" / f"{file}.json").result
        values = values_of(result, [f"{metric}_{of}" for of in ("orig", "reworded", "drop")])
        drop = result.figure(f"{metric}_drop")
        values += [100 * end for end in (drop and drop.interval) or ()]
        values += values_of(result, [f"{metric}_worst", f"{metric}_flips"])
        assert row[0].endswith(metric)
        assert shows(row[1:], values), row
    text = (ROOT / "docs" / "results-tool-search.md").read_text()
    said = "86.1 64.7 32.5 64.1 16.0 75.0 83.2 28.2 37.3 44.9".split()
    assert not [figure for figure in said if f"{figure} %" not in text]


def test_figures_of_generators_are_those_of_their_scores() -> None:
    (rows,) = tables("generation", "| generator | BLEU_orig")
    for name, row in zip(("gold", "templates", "derived", "empty"), rows, strict=True):
        scores = scores_of(f"generation-{name}")
        keys = (
            *("bleu_orig", "bleu_v1-5", "ser_orig", "ser_v1-5", "changed_v1-5"),
            *("sgsacc_orig", "sgsacc_v1-5", "sgsacc_flips"),
        )
        assert shows(row[1:], values_of(scores, keys)), name
    gold = scores_of("generation-gold")
    text = " ".join((ROOT / "docs" / "results-generation.md").read_text().split())
    for key in ("coverage", "validated", "ser_coverage"):
        assert f"{100 * (gold[f'{key}_orig'] or 0):.1f} %" in text, key


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
