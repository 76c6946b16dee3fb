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

from sgdx_dataset import open_release, turn_tables, turns
from sgsacc_metric.__main__ import main
from sgsacc_metric.lexical import LexicalNli

from ..conftest import EVALUATE, ROOT, Run
from .turns import Script, turn

USE = """
rows = json.load(open("rows.json"))
result = evaluate.load("sgsacc_metric").compute(**rows, nli="lexical")
print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def metric() -> Any:
    return evaluate.load(str(ROOT / "sgsacc_metric"))


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


def test_datasets_are_references_too(metric: Any, copies: Path) -> None:
    from datasets import Dataset

    from sgdx_dataset import load

    rows = rows_of(copies, 20)
    first = metric.compute(**rows)
    references = turns(load("original", "test", "sample"))
    known = {row["turn_id"] for row in rows["references"]}
    references = references.filter(lambda row: row["turn_id"] in known)
    second = metric.compute(
        predictions=Dataset.from_list(rows["predictions"]), references=references
    )
    assert first == second


def test_a_function_judges(metric: Any) -> None:
    script = Script({("A hotel in Rome?", "City is Rome."): (0.9, 0.1, 0.0)})
    script.answers |= {("A hotel in Rome?", "City of the hotel is Rome."): (0.8, 0.2, 0.0)}
    row = msgspec.to_builtins(turn())
    said = {"turn_id": row["turn_id"], "variant": "v3", "utterance": row["utterance"]}
    result = metric.compute(predictions=[said], references=[row], nli=script)
    assert (result["sgsacc"], result["ser"], result["coverage"]) == (1, 0, 1)
    assert (
        "|nli:script|rules:appendix-b|references:2|context:yes|validated:1/1|"
        in result["signature"]
    )
    plain = metric.compute(
        predictions=[said], references=[row], nli=lambda pairs: LexicalNli()(pairs), context=False
    )
    assert "|nli:function:<lambda>|rules:appendix-b|references:2|context:no|" in plain["signature"]


def test_bad_rows(metric: Any) -> None:
    row = msgspec.to_builtins(turn())
    said = {"turn_id": row["turn_id"], "variant": "v3", "utterance": "x"}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"references": [{**row, "actions": 3}]}, r"references\[0\]: Expected `array`, got `int`"),
        ({"predictions": [said, {}]}, r"predictions\[1\]: Object missing required field"),
        ({"evaluator": "v1"}, "found no rows of variant 'v1'"),
        ({"references": [row, row]}, "references: turn 1_00000/1 appears twice"),
        ({"rules": "mine", "nli": "lexical"}, "rules is 'mine', expected one of appendix-b"),
    ]
    for wrong, message in cases:
        with pytest.raises(ValueError, match=message):
            metric.compute(**({"predictions": [said], "references": [row]} | wrong))


def test_by_name_in_a_fresh_process(run: Run, tmp_path: Path, copies: Path, metric: Any) -> None:
    rows = rows_of(copies, 30)
    assert main(["install"]) == 0
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    (tmp_path / "use.py").write_text(EVALUATE + USE)
    done = run("use", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == metric.compute(**rows, nli="lexical")


def test_without_the_package_it_says_what_to_install(run: Run, tmp_path: Path) -> None:
    code = 'import sys\nsys.modules["sgsacc_metric"] = None\n'
    load = f"evaluate.load({str(ROOT / 'sgsacc_metric')!r})\n"
    (tmp_path / "without.py").write_text(code + EVALUATE + load)
    done = run("without", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("sgsacc_metric needs sgsacc_metric: pip install sgdx")


def test_the_example_of_the_description(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # where evaluate finds the folder by its name
    text = evaluate.load("sgsacc_metric").inputs_description
    example = doctest.DocTestParser().get_doctest(text, {}, "example", None, 0)
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"validate": "no"}, "validate is 'no', expected True or False"),
        ({"context": 0}, "context is 0, expected True or False"),
        ({"rules": "mine"}, "rules is 'mine', expected one of appendix-b"),
        ({"seed": "1"}, "seed is '1', expected a whole number"),
        ({"release": "a|b:c"}, r"release is 'a\|b:c', expected text for a signature"),
        ({"split": "test|nli:none"}, "split is 'test"),
    ],
)
def test_options_that_are_none(metric: Any, options: dict[str, Any], message: str) -> None:
    rows = {
        "predictions": [{"turn_id": "1_00000/1", "variant": "v1", "utterance": "Hi."}],
        "references": [msgspec.to_builtins(turn())],
    }
    with pytest.raises(ValueError, match=message):
        metric.compute(**rows, **options)


@pytest.mark.parametrize("name", ["\uff561", "V1", "\u043eriginal", "v1+v2"])
def test_rows_of_a_variant_that_looks_like_another(metric: Any, name: str) -> None:
    response = {"turn_id": "1_00000/1", "variant": name, "utterance": "Hi."}
    with pytest.raises(ValueError, match="expected a name of letters from a to z"):
        metric.compute(predictions=[response], references=[msgspec.to_builtins(turn())])
