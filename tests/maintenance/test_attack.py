"""A small part of what ``python -m maintenance.attack`` does; all in tests marked slow."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest

from baselines.data.frames import input_columns
from baselines.lexical.tracker import LexicalTracker
from maintenance.attack.archives import HOSTILE, Files, damaged, files_of, hostile
from maintenance.attack.json_files import break_files, kinds, read_accepted
from maintenance.attack.outcomes import (
    ACCEPTED,
    ERROR,
    NOT_TRIED,
    RIGHT,
    SURVIVED,
    UNVERIFIED,
    Counts,
    all_survived,
    outcome_of,
    table,
    write_into,
)
from maintenance.attack.right import GOAL_ACCURACY
from sgdx_dataset import frames, load

from ..conftest import ROOT
from ..sgdx_metric import slow

BOMBS = [kind for kind in HOSTILE if "bombs" in kind]


@pytest.fixture(scope="module")
def files() -> Files:
    """A release of the sample's schemas and one dialogue file of each split."""
    return files_of("sample", 1)


def test_damaged_archives_give_an_error_or_the_right_data(files: Files, tmp_path: Path) -> None:
    """With other random damage than the tool does where it is not told otherwise."""
    for what, outcomes in damaged(files, tmp_path, flips=6, cuts=2, seed=1).items():
        assert outcomes.keys() <= SURVIVED, what
        # Only a plain tar has no checksum of its data; the known checksums of the files tell then.
        assert UNVERIFIED not in outcomes or what == ".tar: bit flipped", what


@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if kind not in BOMBS])
def test_hostile_archives_are_refused_or_give_the_right_data(
    files: Files, tmp_path: Path, kind: str
) -> None:
    outcomes = hostile(files, tmp_path, [kind])[kind]
    assert outcomes.keys() <= {ERROR, RIGHT}
    assert outcomes[ERROR] > 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", BOMBS)
def test_archives_that_unpack_to_far_more_than_they_are(
    files: Files, tmp_path: Path, kind: str
) -> None:
    outcomes = hostile(files, tmp_path, [kind])[kind]
    assert outcomes.keys() <= {ERROR, RIGHT}


def test_broken_json_is_an_error_that_names_the_file() -> None:
    for what, outcomes in break_files(kinds(), 29, read_accepted()).items():
        assert outcomes.keys() <= SURVIVED, what
        assert ACCEPTED not in outcomes or not what.endswith("broken"), what


@pytest.mark.slow
def test_every_field_of_every_kind_of_file() -> None:
    assert all_survived(break_files(kinds(), accepted=read_accepted()))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["kills", "--times", "1"],
        ["loading", "--seconds", "10"],
        ["surroundings"],
    ],
    ids=lambda words: words[0],
)
def test_attacks_of_processes(words: list[str]) -> None:
    """In a process of its own, which is forked before it has any threads."""
    command = [sys.executable, "-m", "maintenance.attack", *words]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_should_not_have_happened_is_counted_in_words() -> None:
    def fails() -> str:
        raise KeyError("x")

    def refuses() -> str:
        raise ValueError("other: is not right")

    faults = (ValueError,)
    assert outcome_of(fails, "file", faults) == "traceback: KeyError: 'x'"
    assert outcome_of(refuses, "file", faults) == "names no file: other: is not right"
    assert outcome_of(refuses, "other", faults) == ERROR
    counts: Counts = {"a": Counter([ERROR, "left a file"]), "b": Counter([RIGHT])}
    assert not all_survived(counts)
    assert table(counts).splitlines()[2:] == [
        "| a | 2 | 1 | error 1, left a file 1 |",
        "| b | 1 | 1 | right data 1 |",
    ]


def test_what_cannot_be_tried_is_neither_tried_nor_survived() -> None:
    counts: Counts = {"a locale": Counter([f"{NOT_TRIED}the locale is not installed"])}
    assert table(counts).endswith("| a locale | 0 | 0 | not tried: the locale is not installed 1 |")
    assert not all_survived(counts)
    assert all_survived(counts | {"b": Counter([RIGHT])})


def test_a_table_has_its_place_in_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- attack files -->\nold\n<!-- end files -->\nb\n")
    write_into(page, "files", "command", {"schema": Counter([ERROR])})
    text = page.read_text()
    assert "old" not in text
    assert "| schema | 1 | 1 | error 1 |" in text
    assert (text[:2], text[-3:]) == ("a\n", "\nb\n")
    with pytest.raises(ValueError, match="no place for the attack kills"):
        write_into(page, "kills", "command", {})


@pytest.mark.parametrize("variant", GOAL_ACCURACY)
def test_the_figures_that_attacks_compare_with_are_a_plain_scorers(
    variant: str, tmp_path: Path
) -> None:
    """It shares no code with the one that is attacked."""
    rows = frames(load(variant, "test", "sample"))
    inputs = input_columns(rows, LexicalTracker.READS)
    predicted = LexicalTracker().predict(inputs, tmp_path).rows
    pairs = zip(rows, predicted, strict=True)
    exact = [slow.frame_scores(row, guess)["joint_goal_accuracy"] for row, guess in pairs]
    assert fmean(exact) == pytest.approx(GOAL_ACCURACY[variant], abs=1e-9)
