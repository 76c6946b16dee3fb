"""The keys of ``sgdx.yaml``: their page and schema, and errors that name line and key."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from maintenance.settings import FILES, keys_schema
from sgdx_tools.keys import FILE, KeysFile

from ..conftest import ROOT
from .conftest import Capture, command

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
    assert len(files) == 4
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


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    [
        # What is no key, with the one that is meant, or all.
        ("models:", "model:", ["line 3: model: ", "models?"]),
        ("timeout: 9", "timout: 9", ["line 5: models[0].timout: ", "timeout?"]),
        ("headers: {X: a}", "zzz: 1", ["line 9: asking.zzz: ", "one of provider, base_url"]),
        ("max_drop: 3", "max-drop: 3", ["line 10: gate.max-drop: ", "max_drop?"]),
        ("{source: tools.json}", "{openapi: a.yaml}", ["line 1: tools.openapi: ", "source"]),
        ("{model: w}", "{rival: near}", ["line 7: variants.rival: ", "rivals?"]),
        # What has a wrong value.
        ("timeout: 9", "timeout: 0", ["line 5: models[0].timeout: "]),
        ("timeout: 9", "timeout: .inf", ["line 5: models[0].timeout: "]),
        ("timeout: 9", "price: 1,2", ["line 5: models[0].price"]),
        ("timeout: 9", "max_cost: 2", ["line 5: models[0].max_cost: ", "price"]),
        ("timeout: 9", "base_url: '${NONE_SUCH}'", ["line 5: models[0].base_url: ", "NONE_SUCH"]),
        ("{X: a}", "{X: '${NONE_SUCH}'}", ["line 9: asking.headers.X: ", "NONE_SUCH"]),
        ("headers: {X: a}", "stop_unread: x/1", ["line 9: asking.stop_unread: ", "0.5/50"]),
        ("{model: w}", "{model: w, pool: p}", ["line 7: variants: ", "model and pool"]),
        ("{model: w}", "{model: w, count: 12}", ["line 7: variants.count: "]),
        ("command: python x.py", "{}", ["line 6: models[1]: ", "model and command"]),
        ("{max_drop: 3}", "{}", ["line 10: gate: ", "max_drop or search"]),
        ("python x.py", "m", ["line 3: models: ", "distinct"]),
    ],
)
def test_an_error_names_the_line_and_the_key(
    old: str, new: str, facts: list[str], tmp_path: Path, capsys: Capture
) -> None:
    assert old in TEXT
    (tmp_path / FILE).write_text(TEXT.replace(old, new))
    tool = {"name": "t", "parameters": {"type": "object", "properties": {}}}
    (tmp_path / "tools.json").write_text(json.dumps([tool]))
    case = {"id": "a", "messages": [{"role": "user", "content": "x"}], "expect": None}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case))
    (tmp_path / "w").write_text("{}")
    assert command("test", tmp_path / FILE) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert all(fact in error for fact in [f"{tmp_path / FILE}: ", *facts]), error


def test_a_name_is_that_of_the_model_or_of_the_programs_file(tmp_path: Path) -> None:
    (tmp_path / "x.py").touch()
    (tmp_path / FILE).write_text(TEXT.replace("model: m", "model: a/b c"))
    assert KeysFile(tmp_path / FILE).names() == ["a-b-c", "x"]
