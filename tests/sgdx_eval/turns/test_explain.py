"""One turn taken apart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sgsacc_metric.__main__ import main

from .commands import LEXICAL, SAMPLE, error_of


def test_explain(copies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", "1_00000/9", *SAMPLE, "--predictions", str(copies / "derived")]
    assert main([*words, *LEXICAL]) == 0
    printed = capsys.readouterr().out
    assert "has to entail: " in printed and "REQ_MORE" in printed and "gold: " in printed
    assert re.search(r"v1: entailed; alone \d\.\d{3}/\d\.\d{3}/\d\.\d{3}; said", printed)
    assert main(words) == 0
    assert "has to entail" not in capsys.readouterr().out
    message = error_of(capsys, *words[:1], "1_00000/8", *words[2:])
    assert message.startswith("TURN_ID 1_00000/8: found no such turn among 265, expected one such")
