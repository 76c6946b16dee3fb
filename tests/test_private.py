"""What is written says nothing of the machine: no key, no folder, wherever they are planted."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from sgdx_cli import main
from sgdx_dataset.release import SAMPLE
from sgdx_tools.demo import SAMPLE as TOOLS

KEY = "sk-planted-0123456789abcdef"
PROGRAM = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    answer = {"calls": []} if "case" in request else {"state": {"active_intent": "NONE"}}
    print(json.dumps({"custom_id": request["custom_id"], **answer}))
"""


def test_no_file_has_the_folder_or_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of tools, of dialogues, scores of both, a report, the leaderboard and the tables' words."""
    private = tmp_path / "private-folder"
    shutil.copytree(TOOLS, private / "api", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copytree(SAMPLE, private / "release")
    monkeypatch.chdir(private)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (private / "program.py").write_text(PROGRAM)
    program = f"{sys.executable} {private / 'program.py'} --token {KEY} {KEY}"
    source = ["--source", str(private / "release")]
    commands = [
        ["subset", *source, "--split", "test", "--count", "3", "--output", "some.json"],
        ["tools", "run", str(private / "api"), "--command", program, "--output", "tools"],
        ["tools", "score", "api", "--predictions", "tools", "--output", "tools/scores.json"],
        ["tools", "import", str(private / "mcp.json"), "--output", "imported"],
        ["tools", "reword", "imported", "--with", f"pool:{private / 'pool.json'}",
         "--output", "imported/variants", "--count", "1"],
        ["ask", "predict", *source, "--dialogues", "some.json", "--command", program,
         "--output", "asked"],
        ["evaluate", "--tracker", "lexical", *source, "--dialogues", "some.json",
         "--output", "runs/lexical"],
        ["score", *source, "--predictions", "asked", "--output", "asked/scores.json"],
        ["report", "tools", "runs/lexical", "--output", "report"],
        ["share", "asked", "--model", "you/mine", "--organization", "you",
         "--relationship", "other", "--output", "shared"],
        ["leaderboard", "runs", "--output", "leaderboard.md"],
    ]  # fmt: skip
    (private / "mcp.json").write_text('{"tools": [{"name": "a", "inputSchema": {}}]}')
    (private / "pool.json").write_text('{"a": {"name": ["b"]}}')
    known = {*private.rglob("*")}
    for words in commands:
        assert main(words) in (0, None), words
    written = [path for path in private.rglob("*") if path.is_file() and path not in known]
    assert len(written) > 40
    planted = (KEY.encode(), str(private).encode(), b"private-folder")
    assert not [path for path in written if any(text in path.read_bytes() for text in planted)]
