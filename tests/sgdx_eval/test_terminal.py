"""The terminal: text from outside does it no harm, and it may be narrow, ASCII or gone."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from shutil import copy
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgdx_dataset.io.files import file_digest
from sgdx_eval.gold import open_gold
from sgdx_metric.__main__ import main
from sgdx_metric.rows import PREDICTION

from ..conftest import ROOT
from ..sgdx_metric.frames import Row, written
from .test_summarise import RUNS, scores_json

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r"


def scored_rows(tmp_path: Path) -> tuple[list[str], list[Row], Path]:
    """The words of a command that scores one file, the gold rows for that file, and the file."""
    path, output = tmp_path / "p.jsonl", tmp_path / "s.json"
    table = open_gold("sample", "test", {}).rows("v1").select(PREDICTION.names)
    words = ["score", "--source=sample", f"--predictions=v1={path}", f"--output={output}"]
    return words, table.to_pylist(), path


def obeyed(text: str) -> list[str]:
    return [c for c in text if (not c.isprintable() and c not in "\n ") or c == "\u202e"]


def test_text_from_outside_does_no_harm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, rows, path = scored_rows(tmp_path)
    written(path, [rows[0] | {"frame_id": EVIL}, *rows[1:]])
    for wrong in (words, ["compare", EVIL, EVIL], ["compare", f"--{EVIL}"]):
        assert main(wrong) == 2
        err = capsys.readouterr().err
        assert "\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202e" in err and not obeyed(err)
    row = next(row for row in rows if row["slot_values"])
    row["slot_values"][0]["values"] = row["requested_slots"] = [EVIL]
    row["active_intent"] = EVIL
    written(path, rows)
    scores = scores_json(tmp_path / "a.json", RUNS[0])
    text = scores.read_text().replace("Hotels_1", json.dumps(f"{EVIL}_1")[1:-1])
    scores.write_text(text)
    copies = scores.with_name("a.items.parquet")
    table = pq.read_table(copies)
    names = [name.replace("Hotels_1", f"{EVIL}_1") for name in table["service"].to_pylist()]
    table = table.set_column(table.column_names.index("service"), "service", pa.array(names))
    pq.write_table(table, copies)
    scores.write_text(re.sub('"items": "[0-9a-f]+"', f'"items": "{file_digest(copies)}"', text))
    copy(copies, tmp_path / "b.items.parquet")
    copy(scores, tmp_path / "b.json")
    for right in (
        ["explain", row["frame_id"], *words[1:3]],
        ["compare", str(scores), str(tmp_path / "b.json"), "--details"],
    ):
        assert main(right) == 0
        printed = capsys.readouterr().out
        assert "owned" in printed and not obeyed(printed)


def process(tmp_path: Path, words: list[str], **others: Any) -> subprocess.Popen[str]:
    """`python -m sgdx_metric` in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **others.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, "-m", "sgdx_metric", *words],
        cwd=tmp_path, env=environment, text=True, stderr=subprocess.PIPE, **others,
    )  # fmt: skip


def test_a_reader_that_has_gone(tmp_path: Path) -> None:
    """Nothing is printed to nobody, there is no traceback, and the file is written.

    It is the same to the byte as that of this process, where Python's hashes, on which the order of
    sets depends, have another seed.
    """
    words, rows, path = scored_rows(tmp_path)
    written(path, rows)
    read, write = os.pipe()
    os.close(read)
    done = process(tmp_path, words, stdout=write, env={"PYTHONHASHSEED": "1"})
    os.close(write)
    assert done.communicate(timeout=60)[1] == ""
    assert done.returncode == 1
    assert main([*words[:-1], f"--output={tmp_path / 'here.json'}"]) == 0
    data = (tmp_path / "s.json").read_bytes()
    assert data == (tmp_path / "here.json").read_bytes()
    assert {f["value"] for f in json.loads(data)["figures"] if f["metric"] == "jga"} == {1}


@pytest.mark.posix
def test_an_interruption(tmp_path: Path) -> None:
    """It comes while the command waits for predictions from a pipe."""
    words, _, path = scored_rows(tmp_path)
    os.mkfifo(path)
    done = process(tmp_path, words, stdout=subprocess.PIPE)
    with path.open("w"):  # This waits until the command has opened the other end.
        time.sleep(0.1)
        done.send_signal(signal.SIGINT)
        out, err = done.communicate(timeout=60)
    assert (done.returncode, out, err) == (130, "", "sgdx: interrupted\n")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["p.jsonl"]
