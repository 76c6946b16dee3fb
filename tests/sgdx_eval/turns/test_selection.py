"""Single turns of a split: what is scored, and lists that cannot be used."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sgsacc_metric.__main__ import main

from .commands import LEXICAL, SAMPLE, error_of, scores_of


def test_single_turns(copies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a paper scores a sample of turns: the signature says which, and others do not compare."""
    chosen = tmp_path / "turns.json"
    chosen.write_text('["1_00000/1", "1_00000/3", "1_00002/1"]')
    some = ("--turns", str(chosen))
    first = scores_of(tmp_path, copies / "derived", *SAMPLE, *some)
    assert re.search(r"\|dialogues:2@[0-9a-f]{8}\|turns:3@[0-9a-f]{8}\|", first["signature"])
    assert first["counts"]["turns"]["all"] == 3
    chosen.write_text("1_00000/1\n1_00000/3\n1_00002/3\n")
    second = scores_of(tmp_path, copies / "gold", *SAMPLE, *some)
    assert second["signature"] != first["signature"]
    message = error_of(capsys, "compare", tmp_path / "gold.json", tmp_path / "derived.json")
    assert "turns is '3@" in message
    validated = tmp_path / "table2.json"
    words = ["validate", *SAMPLE, *LEXICAL, *some, "--evaluators", "original"]
    assert main([*words, "--json", str(validated)]) == 0
    capsys.readouterr()
    assert json.loads(validated.read_text())["by_evaluator"]["original"]["turns"] == 3
    words = [
        "score",
        *SAMPLE,
        f"--predictions={copies / 'gold'}",
        f"--output={tmp_path / 'x.json'}",
    ]
    for text, expected in (
        ("1_00000", "found '1_00000', expected DIALOGUE/TURN, as in 1_00000/5"),
        ("", "found no turn id, expected DIALOGUE/TURN"),
        ("[1]", "cannot be read as a list of turn ids: Expected `str`, got `int`"),
        ("1_00000/2", "1 of 1 turns are not in the references, the first is 1_00000/2"),
    ):
        chosen.write_text(text)
        assert f"{chosen}: {expected}" in error_of(capsys, *words, *some)
    chosen.write_text("1_00000/1")
    other = tmp_path / "ids.txt"
    other.write_text("1_00002")
    message = error_of(capsys, *words, *some, "--dialogues", other)
    assert message == f"{chosen}: none of these turns is of the dialogues of {other}"
