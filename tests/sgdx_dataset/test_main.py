"""The commands: what they write, one line per fault, exit status 2."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..conftest import Run

# Commands that write, without the place that they write to.
WRITING = {
    "prepare": "prepare --config v1 --cache-dir",
    "build": "build --output",
    "export": "export --config v1 --output",
    "frames": "frames --split test --config v1 --output",
    "show": "show 1_00000 --config v1 --html",
    "corrupt": "reword corrupt --variants 1 --output",
    "backtranslate": "reword backtranslate --forward-command cat --backward-command cat --output",
}


TRANSLATE = "reword backtranslate --output x --forward-command false"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("prepare --source /no/such", "/no/such: "),
        ("prepare --source sample --config v9", "unknown config 'v9', expected one of original, v"),
        ("frames --split tset --output x", 'Invalid value "tset" for --split'),
        ("frames --split test --config w --output x", "unknown config 'w'"),
        ("subset --split test --count 0 --output x", "--count: found 0, expected 1 or more"),
        ("subset --split test --count 37 --output x", "--count: found 37, expected at most 36"),
        ("subset --split test --count 2 --seed -1 --output x", "--seed: found -1, expected 0"),
        ("show 9_99999", "sample: test, validation, train: found no dialogue '9_99999'"),
        ("show --schema Nothing_1", "sample: has no service Nothing_1, expected one of Bikes_1"),
        ("show 1_00000 --schema Vets_1", "--schema: "),
        ("show --all --config v1", "--all: found --config"),
        ("export --config v1 --output x --dialogues ids", "--dialogues: found no --split"),
        ("frames --split test --output x --dialogues ids", "ids: 1 of 2 dialogues are not in test"),
        ("prepare --variant a=x --variant a=y", "--variant a=y: found a twice"),
        ("reword backtranslate --output x --forward a --backward-command b --backward c", "--back"),
        (f"{TRANSLATE} --backward-command cat --batch-size 0", "options: .*`$.batch_size`"),
        (f"{TRANSLATE} --backward-command cat --sample", "--sample: "),
        ("reword corrupt --output x --variants 0", "variants is 0, expected "),
    ],
)
def test_one_line_per_fault(run: Run, tmp_path: Path, arguments: str, named: str) -> None:
    (tmp_path / "ids").write_text('["1_00000", "9_99999"]')
    done = run("sgdx_dataset", *arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    pattern = re.escape(f"sgdx: error: {named}").replace(r"\.\*", ".*")
    assert re.match(pattern, done.stderr), done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["ids"]


@pytest.mark.parametrize("command", WRITING)
def test_a_place_that_cannot_be_written_and_a_source_that_has_nothing(
    run: Run, mini: Path, tmp_path: Path, command: str
) -> None:
    (tmp_path / "file").write_text("")
    words = ["sgdx_dataset", *WRITING[command].split()]
    for place in ("file/x", "x" * 300):
        done = run(*words, tmp_path / place, "--source", mini)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert done.stderr.startswith("sgdx: error: ") and place[:4] in done.stderr
    if words[1] != "reword":  # which reads no dialogue
        for path in mini.glob("*/dialogues_001.json"):
            path.unlink()
        done = run(*words, tmp_path / "out", "--source", mini)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"sgdx: error: {mini}: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "mini"]


def test_no_command_writes_over_what_it_reads(run: Run, mini: Path) -> None:
    file, link = mini / "test" / "dialogues_001.json", mini.parent / "out.json"
    link.symlink_to(file)
    before = file.read_bytes()
    for words in ("subset --split test --count 1 --output", "show 1_00001 --html", "stats --json"):
        for output in (file, link):
            done = run("sgdx_dataset", *words.split(), output, "--source", mini)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1)
            assert file.read_bytes() == before


def test_nothing_of_the_data_moves_the_cursor(run: Run, mini: Path) -> None:
    path = mini / "test" / "dialogues_001.json"
    path.write_text(path.read_text().replace("No, thanks.", "\\u001b[2J[red]No\\u0007"))
    done = run("sgdx_dataset", "show", "1_00000", "--config", "v1", "--source", mini)
    assert done.returncode == 0
    assert "USER  \\x1b[2J[red]No\\x07\n" in done.stdout
    path.write_text(path.read_text().replace('"FindFlat"', '"\\u001b[2J"', 1))
    done = run("sgdx_dataset", *WRITING["export"].split(), "x", "--source", mini)
    assert (done.returncode, "\x1b" in done.stderr) == (2, False)
