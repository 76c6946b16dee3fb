"""Logs of other harnesses, which these wrote: Inspect 0.3.3 and 0.3.285, lm-eval 0.4.13."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest

from sgdx_cli import main
from sgdx_eval.tasks import TASKS

LOGS = Path(__file__).parent / "logs"
GOOD, BAD = ("old-good.json", "new-good.eval"), ("old-bad.json", "new-bad.eval")


def compared(tmp_path: Path, *words: str | Path) -> dict[str, tuple[float, ...]]:
    """By metric: the first's mean, the second's, the interval, and how many samples there are."""
    out = tmp_path / "c.json"
    assert main(["compare", *map(str, words), "--json", str(out)]) == 0
    figures = json.loads(out.read_text())["figures"]
    keys = ("first", "second", "low", "high", "items")
    return {f["metric"]: tuple(round(f[key], 3) for key in keys) for f in figures}


def test_both_forms_of_inspect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two epochs a sample has the mean; what one log lacks is left out, and said."""
    of = (0.75, 0.25, -0.931, 0.43, 4)
    for good in GOOD:
        for bad in BAD:
            found = compared(tmp_path, LOGS / good, LOGS / bad)
            assert found["includes"] == of, (good, bad)
            assert set(found) == (
                {"includes", "match"} if "old" not in good + bad else {"includes"}
            )
    assert compared(tmp_path, LOGS / "new-good.json", LOGS / BAD[1])["match"][:2] == (1, 0.5)
    said = capsys.readouterr()
    assert "2 of 4 samples" in said.err and "mockllm/bad" in said.out
    assert "samples|log:tiny|read:inspect|samples:2|" in said.out
    sides = ("--first", LOGS / GOOD[0], LOGS / GOOD[1], "--second", LOGS / BAD[0])
    assert compared(tmp_path, *sides)["includes"][:2] == (0.75, 0.25)


def test_lm_eval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which metric is better where lower stands in the results; other scores than 0 to 1 too."""
    first, second = LOGS / "samples_first.jsonl", LOGS / "samples_second.jsonl"
    found = compared(tmp_path, first, second)
    assert found["acc"][:2] == (0.5, 0.375) and found["acc_norm"][4] == 8
    for side, (path, value) in enumerate(((first, 3.0), (second, 11.0))):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for i, line in enumerate(lines):
            line |= {"metrics": ["ter"], "ter": value + i % 2, "filter": "none"}
        (tmp_path / f"{side}").mkdir()
        text = "".join(json.dumps(line) + "\n" for line in lines * 15)
        name = "samples_t_2026-01-01T00-00-00.jsonl"
        (tmp_path / f"{side}" / name).write_text(text)
        better = {"higher_is_better": {"t": {"ter": False}}}
        (tmp_path / f"{side}" / name.replace("samples_t", "results")).with_suffix(
            ".json"
        ).write_text(json.dumps(better))
    found = compared(tmp_path, tmp_path / "0" / name, tmp_path / "1" / name)
    assert found["ter"][:2] == (3.5, 11.5) and found["ter"][2] > 0
    said = capsys.readouterr().out
    assert "in %, but for ter" in said and "loss" in said and "oracle" not in said
    assert not TASKS["samples"].metrics  # what logs measure is the comparison's alone


def test_what_is_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = json.loads((LOGS / GOOD[0]).read_text())
    for name, changed in (
        ("error.json", {**log, "status": "error"}),
        ("none.json", {**log, "samples": []}),
        ("other.json", {**log, "samples": [{**s, "target": "x"} for s in log["samples"]]}),
        ("form.json", {**log, "samples": 3}),
    ):
        (tmp_path / name).write_text(json.dumps(changed))
    (tmp_path / "cut.eval").write_bytes((LOGS / GOOD[1]).read_bytes()[:9000])
    with ZipFile(tmp_path / "begun.eval", "w") as archive:
        archive.writestr("_journal/start.json", "{}")
    (tmp_path / "p.jsonl").write_text('{"frame_id": "1"}\n')
    (tmp_path / "text.eval").write_text("no")
    shutil.copy(LOGS / "samples_first.jsonl", tmp_path)
    for name, fact in (
        ("error.json", "'error'"),
        ("none.json", "0 samples"),
        ("other.json", "sample q0"),
        ("form.json", "int"),
        ("cut.eval", "zip"),
        ("begun.eval", "header.json"),
        ("p.jsonl", "p.jsonl:1"),
        ("text.eval", "zip"),
        ("samples_first.jsonl", "inspect"),
    ):
        assert main(["compare", str(LOGS / GOOD[0]), str(tmp_path / name)]) == 2, name
        line = capsys.readouterr().err
        assert name in line and fact in line and line.count("\n") == 1, line
    words = ["compare", str(LOGS / GOOD[0]), str(LOGS / BAD[0]), "--dialogues", "x"]
    assert main(words) == 2 and "--dialogues" in capsys.readouterr().err
