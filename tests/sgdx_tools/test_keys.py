"""The keys of ``sgdx.yaml``: their page and schema, and errors that name line and key."""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema
import yaml

from maintenance.settings import FILES, keys_schema
from sgdx_tools.keys import FILE, KeysFile

from ..conftest import ROOT

PAGES = ("your-own-tools.md", "skills.md")


def test_the_pages_made_of_the_code_are_those_of_the_code() -> None:
    assert [path.name for path, made in FILES.items() if path.read_bytes() != made()] == []


def test_an_editor_takes_the_files_of_the_pages_and_no_other_key() -> None:
    validator = jsonschema.Draft202012Validator(keys_schema())
    text = "".join((ROOT / "docs" / page).read_text() for page in PAGES)
    files = [
        yaml.safe_load(block) for block in re.findall(r"```(?:yaml|text)\n(.*?)```", text, re.S)
    ]
    files = [file for file in files if isinstance(file, dict) and "tools" in file]
    assert len(files) == 7
    for file in files:
        assert not list(validator.iter_errors(file)), file
        assert list(validator.iter_errors(file | {"tool": 1}))
    assert "paraphrases" in keys_schema()["$defs"]["NewWords"]["properties"]["pool"]["description"]


TEXT = """tools: {source: tools.json}
cases: cases.jsonl
models:
  - model: m
    timeout: 9
  - command: python x.py
variants: {model: w}
asking:
  headers: {X: a}
gate: {max_drop: 3}
"""


def test_a_name_is_that_of_the_model_or_of_the_programs_file(tmp_path: Path) -> None:
    (tmp_path / "x.py").touch()
    (tmp_path / FILE).write_text(TEXT.replace("model: m", "model: a/b c"))
    assert KeysFile(tmp_path / FILE).names() == ["a-b-c", "x"]
