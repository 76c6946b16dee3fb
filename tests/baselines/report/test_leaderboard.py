"""The leaderboard's file is checked, its page is made of it, and a run becomes a row."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from baselines.copies.systems import copy_system, generate
from baselines.data.requested import DEFAULT_CONFIGS, RequestedData
from baselines.report import __main__ as report
from baselines.report.call_leaderboard import FILE as CALLS
from baselines.report.call_leaderboard import read_call_rows, render_calls
from baselines.report.generation.leaderboard import FILE as GENERATORS
from baselines.report.generation.leaderboard import read_generators, render_generators
from baselines.report.generation.runs import GeneratorRun
from baselines.report.inputs import read_input, read_tracker
from baselines.report.leaderboard import (
    prediction_command,
    read_own,
    read_published,
    render_leaderboard,
)
from baselines.report.run_files import read_record
from sgdx_dataset import SgdxError
from sgdx_metric import ScoreError
from sgsacc_metric import score_files

from ...conftest import ROOT
from ..conftest import command

ROW = """
[[row]]
system = "mine"
all = { jga_orig = 50.0, jga_v1-5 = 40.0, relative_difference = -20.0, ss_jga = 30.0 }
signature = "sgdx_metric|variants:original+v1+v2+v3+v4+v5|split:test|release:e852981a|frames:36000|match:fuzzy-token-sort|joint:frame|zero-mean:0|version:0.1.0"
command = "python -m baselines.evaluate --model mine --output mine"
"""  # noqa: E501


TRAINED_ON = "original"
OWN = ROOT / "docs" / "leaderboard.toml"


def test_the_page_is_made_of_its_file() -> None:
    own, generators = read_own(OWN), read_generators(ROOT / "docs" / GENERATORS)
    calls = render_calls(read_call_rows(OWN.parent / CALLS))
    page = render_leaderboard(own, read_published())
    made = f"{page}\n{calls}\n{render_generators(generators)}"
    assert (ROOT / "docs" / "leaderboard.md").read_text() == made


def test_published_figures() -> None:
    rows = {(row.system, row.augmentation): row for row in read_published()}
    t5dst = rows["T5DST (T5-Base)", ""]
    assert (t5dst.all.jga_orig, t5dst.all.jga_v1_5, t5dst.all.ss_jga) == (72.6, 64.0, 40.4)
    assert t5dst.unseen is not None and t5dst.unseen.relative_difference == -12.0
    assert rows["SGP-DST (four BERT-Base)", "back-translation"].all.ss_jga == 43.1
    assert rows["SPLAT Large (340M)", ""].all.jga_v1_5 == 82.8
    assert "spoken variant" in rows["LDST (LLaMA 13B)", ""].not_comparable
    assert all(row.not_comparable for row in rows.values() if row.oracle)


def test_rows_are_sorted_by_what_they_score(tmp_path: Path) -> None:
    better = ROW.replace('"mine"', '"better"').replace("= 40.0", "= 60.0")
    sample = ROW.replace("release:e852981a|frames:36000", "release:sample|frames:273")
    (tmp_path / "rows.toml").write_text(ROW + better + sample)
    page = render_leaderboard(read_own(tmp_path / "rows.toml"), read_published())
    assert page.index("| better (1) | 50.0 | 60.0 ") < page.index("| mine (2) | 50.0 | 40.0 ")
    assert "### On the small sample corpus, not SGD; only 273 frames" in page
    assert page.index("SPLAT Large") < page.index("D3ST XXL") < page.index("### Not comparable")
    folded = re.findall("\n\n<details>(.*?)\n\n</details>\n\n", page, re.DOTALL)
    assert [re.findall(r"\n(\d)\. `", notes) for notes in folded] == [["1", "2"], ["1"]]


def test_markdown_in_the_name_of_a_system_is_text(tmp_path: Path) -> None:
    (tmp_path / "rows.toml").write_text(ROW.replace('"mine"', '"[mine](http://x) **`best`**"'))
    page = render_leaderboard(read_own(tmp_path / "rows.toml"), [])
    assert r"| \[mine\](http://x) \*\*\`best\`\*\* (1) |" in page


@pytest.mark.parametrize("key", ["tracker", "model"])
def test_predictions_that_say_no_text_of_themselves(key: str, tmp_path: Path) -> None:
    path = tmp_path / "v1.jsonl"
    path.write_text(json.dumps({"metadata": {"model": "m", "tracker": "t", key: 5}}) + "\n")
    with pytest.raises(SgdxError, match=f"the {key} of its predictions is 5, expected a text"):
        read_record(tmp_path / "scores.json", {"v1": path})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("jga_orig = 50.0", "jga_orig = 150.0", r"Expected `float` <= 100.0"),
        (", ss_jga = 30.0", "", r"row 1 \(mine\): all: .*ss_jga"),
        ("split:test", "split:validation", "split is 'validation'.*expected 'test'"),
        ("match:fuzzy-token-sort", "match:exact", "match is 'exact'"),
        ("+v5", "", "variants is 'original"),
        ("sgdx_metric|", "bleu|", "signature is 'bleu"),
        ("frames:36000", "frames:\N{SUPERSCRIPT TWO}", "found no number of frames"),
        ("release:e852981a", "release:partial:abc", "found release:partial:abc, expected one as"),
        ('system = "mine"', 'system = "a|b"', "regex"),
        ("command", "comand", "unknown field `comand`|missing required field `command`"),
        ("[[row]]", "[[rows]]", r"found \[\[rows\]\], expected only \[\[row\]\]"),
        ("[[row]]", "[[row", "not a leaderboard"),
    ],
)
def test_a_row_with_a_fault(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in ROW
    (tmp_path / "rows.toml").write_text(ROW.replace(old, new))
    with pytest.raises((ScoreError, SgdxError), match=message) as error:
        read_own(tmp_path / "rows.toml")
    assert "rows.toml" in str(error.value)


def test_an_oracle_has_its_remark(tmp_path: Path) -> None:
    oracle = ROW.replace("|version:", "|oracle:yes|version:")
    (tmp_path / "rows.toml").write_text(oracle)
    with pytest.raises(SgdxError, match="oracle is yes in the signature, expected oracle = true"):
        read_own(tmp_path / "rows.toml")
    (tmp_path / "rows.toml").write_text(f"{oracle}oracle = true\n")
    page = render_leaderboard(read_own(tmp_path / "rows.toml"), [])
    assert "| oracle: trained on v1 to v5; unverified |" in page


def test_a_changed_row_is_refused(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row has the digests of its scores and of itself; an older row is called unverified."""
    arguments = (runs["plain-0"], runs["plain-1"], "--leaderboard", "--output", tmp_path)
    assert command(monkeypatch, report, *arguments) == 0
    path = tmp_path / "leaderboard.toml"
    text = path.read_text()
    (row,) = read_own(path)
    digests = [json.loads((runs[f"plain-{i}"] / "scores.json").read_text())["sha256"] for i in "01"]
    assert row.scores == digests
    assert (row.trained_on, row.intervals) == (TRAINED_ON, None)
    assert row.data_caveats == ["the small sample corpus, not SGD", "only 273 frames"]
    assert row.caveats == []
    figure = f"{row.all.jga_v1_5}"
    for old, new in (
        (f"jga_v1-5 = {figure}", "jga_v1-5 = 99.9"),
        ("release:sample", "release:e852981a"),
        ("predictions:verified|", ""),
        (digests[0], digests[1]),
    ):
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises(SgdxError, match="row 1 .*: was changed after it was added: sha256 is"):
            read_own(path)
    without = [line for line in text.splitlines() if not line.startswith("sha256")]
    path.write_text("\n".join(without))
    assert read_own(path)[0].caveats == ["unverified"]


def test_a_copied_run_is_no_second_row(
    runs: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(runs["plain-0"], copy)
    arguments = (runs["plain-0"], copy, "--leaderboard", "--output", tmp_path)
    assert command(monkeypatch, report, *arguments) == 2
    message = capsys.readouterr().err
    assert "row 2 (" in message
    assert "has the scores of another row, expected those of its own" in message
    assert not (tmp_path / "leaderboard.toml").exists()


def test_a_worst_case_above_the_mean_is_refused(tmp_path: Path) -> None:
    """Older rows have no digest that tells a change; no system can have such a figure."""
    text = OWN.read_text(encoding="utf-8")
    assert "jga_worst = 18.8485" in text
    path = tmp_path / "leaderboard.toml"
    path.write_text(text.replace("jga_worst = 18.8485", "jga_worst = 25.4"), encoding="utf-8")
    with pytest.raises(SgdxError, match=r"jga_worst is 25\.4, expected at most 25\.341"):
        read_own(path)


def test_rows_of_the_projects_own_runs_are_their_figures() -> None:
    """Most of their scores are of an earlier version, so that no digest tells a changed row."""
    rows = {row.command.rpartition("outputs/")[2]: row for row in read_own(OWN)}
    folders = [path for path in (ROOT / "results").iterdir() if path.name in rows]
    assert len(folders) > 5
    for folder in folders:
        sgdx = read_tracker(folder).results.scores.sgdx
        row = rows[folder.name]
        assert row.all.jga_v1_5 == pytest.approx(100 * (sgdx.jga_v1_5 or 0), abs=1e-4)
        assert row.all.ss_jga == pytest.approx(100 * (sgdx.ss_jga or 0), abs=1e-4)
        assert row.all.jga_worst == pytest.approx(100 * (sgdx.jga_worst or 0), abs=1e-4)


def test_rows_of_the_projects_own_generators_are_their_figures() -> None:
    rows = {row.scores[0]: row for row in read_generators(ROOT / "docs" / GENERATORS)}
    folders = sorted((ROOT / "results").glob("generation-*"))
    assert len(folders) == len(rows) >= 4
    for folder in folders:
        run = read_input(folder)
        assert isinstance(run, GeneratorRun)
        row, sgdx = rows[run.scores.sha256], run.scores.sgdx
        assert row.system == f"copy of {folder.name.removeprefix('generation-')}"
        assert row.all.bleu_v1_5 == pytest.approx(sgdx.bleu_v1_5, abs=1e-4)
        assert row.all.ser_v1_5 == pytest.approx(100 * (sgdx.ser_v1_5 or 0), abs=1e-4)
        assert row.all.sgsacc_orig == pytest.approx(100 * (sgdx.sgsacc_orig or 0), abs=1e-4)
        assert row.bleu["none"] == pytest.approx(
            run.scores.conventions["original"]["none"]["bleu"], abs=1e-4
        )


def test_a_generator_becomes_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the copies of the sample; a row that was changed or appears twice is refused."""
    data = RequestedData("sample", "test")
    generate(copy_system("derived"), data, DEFAULT_CONFIGS, tmp_path / "derived")
    scores = score_files(
        tmp_path / "derived", source="sample", nli="lexical", output=tmp_path / "derived.json"
    )
    given = (tmp_path / "derived.json", "--leaderboard", "--output", tmp_path / "docs")
    assert command(monkeypatch, report, *given) == 0
    path = tmp_path / "docs" / GENERATORS
    (row,) = read_generators(path)
    assert row.system == "copy of derived" and row.scores == [scores["sha256"]]
    assert row.all.bleu_orig == pytest.approx(scores["sgdx"]["bleu_orig"], abs=1e-4)
    assert row.bleu["13a"] == row.all.bleu_orig and row.caveats == []
    assert row.command == (
        "python -m baselines.copies --system derived --source sample --output outputs/derived && "
        "python -m sgsacc_metric score --predictions outputs/derived --source sample --nli lexical "
        "--output outputs/derived.json"
    )
    page = (tmp_path / "docs" / "leaderboard.md").read_text()
    assert "### Generators on the small sample corpus, not SGD; only 265 turns; SGSAcc by a" in page
    assert f"| copy of derived (1) | {row.all.bleu_orig:.2f} |" in page
    text = path.read_text()
    assert command(monkeypatch, report, *given) == 2
    assert "row 2 (copy of derived): appears twice" in capsys.readouterr().err
    assert path.read_text() == text
    for old, new, message in (
        (f"bleu_orig = {row.all.bleu_orig}", "bleu_orig = 99.0", "was changed after it was added"),
        ("[[row]]", "[[rows]]", r"found \[\[rows\]\], expected only"),
        ("sgsacc_metric|", "sgdx_metric|", "signature is 'sgdx_metric"),
    ):
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises((ScoreError, SgdxError), match=message):
            read_generators(path)


def test_a_run_becomes_a_row(
    runs: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "leaderboard.toml").write_text(f"# A remark that stays.\n{ROW}")
    arguments = (runs["plain-0"], runs["plain-1"], "--leaderboard", "--output", tmp_path)
    assert command(monkeypatch, report, *arguments) == 0
    text = (tmp_path / "leaderboard.toml").read_text()
    assert text.startswith(f"# A remark that stays.\n{ROW}") and text.count("[[row]]") == 2
    mine, added = read_own(tmp_path / "leaderboard.toml")
    assert (mine.system, added.system) == ("mine", "t5dst, mean of 2 seeds")
    assert added.command == (
        "python -m baselines.evaluate --tracker t5dst --source sample --output outputs/plain-0"
    )
    assert "| t5dst, mean of 2 seeds (1) |" in (tmp_path / "leaderboard.md").read_text()
    assert command(monkeypatch, report, *arguments) == 2
    error = capsys.readouterr().err
    assert "leaderboard.toml: row 3 (t5dst, mean of 2 seeds): appears twice" in error
    assert (tmp_path / "leaderboard.toml").read_text() == text


def test_a_row_of_one_run_has_its_intervals(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = (runs["backtrans"], "--leaderboard", "--output", tmp_path)
    assert command(monkeypatch, report, *arguments) == 0
    (row,) = read_own(tmp_path / "leaderboard.toml")
    sgdx = json.loads((runs["backtrans"] / "scores.json").read_text())["sgdx"]
    assert row.all.change_v1_5 == pytest.approx(100 * sgdx["change_v1-5"], abs=1e-4)
    assert row.intervals is not None and list(row.intervals) == [
        "jga_orig", "jga_v1-5", "ss_jga", "jga_worst", "flips", "change_v1-5"
    ]  # fmt: skip
    low, high = (100 * end for end in sgdx["confidence"]["jga_worst"])
    assert row.intervals["jga_worst"] == pytest.approx((low, high), abs=1e-4)
    page = (tmp_path / "leaderboard.md").read_text()
    assert f"| {row.all.jga_worst:.1f} ({low:.1f} to {high:.1f}) |" in page
    assert "| original + backtrans | " in page


def test_the_name_of_a_row_says_the_augmentation_once(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = (runs["backtrans"], "--leaderboard", "--output", tmp_path)
    assert command(monkeypatch, report, *arguments) == 0
    assert "| t5dst, backtrans (1) |" in (tmp_path / "leaderboard.md").read_text()


@pytest.mark.parametrize(
    ("metadata", "signature", "expected"),
    [
        (
            {"tracker": "onepass", "model": "outputs/onepass-smoke"},
            "release:partial:9/10|dialogues:292@b0e1edf2",
            "baselines.evaluate --model outputs/onepass-smoke --source PATH --dialogues FILE",
        ),
        (
            {"tracker": "t5dst", "model": "/home/me/t5dst"},
            "release:sample",
            "baselines.evaluate --model t5dst --source sample",
        ),
        (
            {"tracker": "lexical", "model": "lexical"},
            "release:e852981a",
            "baselines.evaluate --tracker lexical --source PATH",
        ),
        (
            {"tracker": "llm", "model": "Qwen/Qwen3 8B"},
            "release:e852981a",
            "baselines.llm predict --model 'Qwen/Qwen3 8B' --base-url URL --source PATH",
        ),
        (
            {
                "tracker": "llm",
                "model": "m",
                "answer": "json_schema",
                "provider": "llamacpp",
                "parameters": {"temperature": 0, "seed": 0, "max_tokens": 256},
            },
            "release:e852981a",
            "baselines.llm predict --model m --answer json_schema --provider llamacpp "
            "--set max_tokens=256 --base-url URL --source PATH",
        ),
    ],
)
def test_the_command_of_a_row(
    metadata: dict[str, str], signature: str, expected: str, runs: dict[str, Path]
) -> None:
    plain = read_tracker(runs["plain-0"])
    record = replace(plain.record, metadata=metadata)
    run = replace(plain, record=record, signature=f"sgdx_metric|{signature}")
    assert prediction_command(run) == f"python -m {expected} --output outputs/plain-0"
