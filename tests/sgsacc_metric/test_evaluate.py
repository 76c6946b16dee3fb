"""The metric through `evaluate`: by folder, and by name in a fresh process once installed."""

from __future__ import annotations

import doctest
import json
import os
from pathlib import Path
from typing import Any

import evaluate
import msgspec
import pytest
import yaml

from sgdx_dataset import open_release, turn_tables
from sgsacc_metric.__main__ import main
from sgsacc_metric.lexical import LexicalNli

from ..conftest import EVALUATE, ROOT, Run
from .turns import Script, turn


@pytest.fixture(scope="module")
def metric() -> Any:
    # In memory: after an error a file would stay locked, for which the next call waits a second.
    return evaluate.load(str(ROOT / "sgsacc_metric"), keep_in_memory=True)


def rows_of(copies: Path, count: int) -> dict[str, list[dict[str, Any]]]:
    """The first turns of the sample, and what the derived copy says in them."""
    table = turn_tables(open_release("sample"), "test", "original").to_pylist()
    references = sorted(table, key=lambda row: row["turn_id"])[:count]
    known = {row["turn_id"] for row in references}
    lines = [
        json.loads(line)
        for name in ("original", "v1")
        for line in (copies / "derived" / f"{name}.jsonl").read_text().splitlines()[1:]
    ]
    return {
        "references": references,
        "predictions": [row for row in lines if row["turn_id"] in known],
    }


def test_it_says_what_the_command_says(metric: Any, copies: Path, tmp_path: Path) -> None:
    rows = rows_of(copies, 999)
    result = metric.compute(**rows, nli="lexical", split="test", release="sample")
    output = tmp_path / "scores.json"
    words = ["score", "--source", "sample", "--nli", "lexical", "--output", str(output)]
    assert main([*words, "--predictions", str(copies / "derived")]) == 0
    expected = json.loads(output.read_text())
    del expected["paired"], expected["predictions"]
    flat = expected["variants"]["original"]["#ALL_SERVICES"]
    names = ("bleu", "ser", "sgsacc", "sgsacc_validated", "coverage")
    expected["signature"] = expected["signature"].replace("|ci:", "|predictions:made-elsewhere|ci:")
    assert result == {name: flat[name] for name in names} | expected


def test_a_function_judges(metric: Any) -> None:
    script = Script({("A hotel in Rome?", "City is Rome."): (0.9, 0.1, 0.0)})
    script.answers |= {("A hotel in Rome?", "City of the hotel is Rome."): (0.8, 0.2, 0.0)}
    said = SAID | {"utterance": ROW["utterance"]}
    result = metric.compute(predictions=[said], references=[ROW], nli=script)
    assert (result["sgsacc"], result["ser"], result["coverage"]) == (1, 0, 1)
    assert (
        "|nli:script|rules:appendix-b|references:2|context:yes|validated:1/1|"
        in result["signature"]
    )
    plain = metric.compute(
        predictions=[said], references=[ROW], nli=lambda pairs: LexicalNli()(pairs), context=False
    )
    assert "|nli:function:<lambda>|rules:appendix-b|references:2|context:no|" in plain["signature"]


def test_by_name_once_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copies: Path, metric: Any
) -> None:
    rows = rows_of(copies, 30)
    monkeypatch.chdir(tmp_path)
    assert main(["install"]) == 0
    installed = evaluate.load("sgsacc_metric", keep_in_memory=True)
    assert type(installed).__module__.startswith("evaluate_modules.")
    assert installed.compute(**rows, nli="lexical") == metric.compute(**rows, nli="lexical")


def test_without_the_package_it_says_what_to_install(run: Run, tmp_path: Path) -> None:
    code = 'import sys\nsys.modules["sgsacc_metric"] = None\n'
    load = f"evaluate.load({str(ROOT / 'sgsacc_metric')!r})\n"
    (tmp_path / "without.py").write_text(code + EVALUATE + load)
    done = run("without", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("sgsacc_metric needs sgsacc_metric: pip install sgdx")


ROW = msgspec.to_builtins(turn())
SAID = {"turn_id": ROW["turn_id"], "variant": "v3", "utterance": "x"}


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({"references": [{**ROW, "actions": 3}]}, r"references\[0\]: "),
        ({"references": [{**ROW, "schemas": [{"slots": []}]}]}, r"references\[0\]: .*intents"),
        ({"references": [5]}, r"references\[0\]: "),
        ({"predictions": [SAID, {}]}, r"predictions\[1\]: "),
        ({"predictions": [{**SAID, "variant": "V1"}]}, "variant is 'V1'"),
        ({"evaluator": "v1"}, "references: .*'v1'"),
        ({"references": [ROW, ROW]}, "references: turn 1_00000/1"),
        ({"rules": "mine"}, "rules is 'mine'"),
        ({"validate": "no"}, "validate is 'no'"),
        ({"seed": "1"}, "seed is '1'"),
        ({"split": "test|nli:none"}, "split is 'test"),
    ],
)
def test_rows_and_options_that_cannot_be_used(
    metric: Any, wrong: dict[str, Any], fault: str
) -> None:
    with pytest.raises(ValueError, match=f"^{fault}"):
        metric.compute(**({"predictions": [SAID], "references": [ROW]} | wrong))


def test_examples_of_the_description_and_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # where evaluate finds the folder by its name
    text = evaluate.load("sgsacc_metric").inputs_description
    example = doctest.DocTestParser().get_doctest(text, {}, "example", None, 0)
    assert example.examples and doctest.DocTestRunner().run(example).failed == 0
    card = doctest.testfile(str(ROOT / "sgsacc_metric" / "README.md"), module_relative=False)
    assert card.attempted >= 8 and card.failed == 0
    front = (ROOT / "sgsacc_metric" / "README.md").read_text(encoding="utf-8").split("---")[1]
    assert {"evaluate", "metric"} <= {*yaml.safe_load(front)["tags"]}
