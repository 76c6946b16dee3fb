"""Command, Python and `evaluate` say the same, and name the row or option that cannot be used."""

from __future__ import annotations

import doctest
import json
import os
from pathlib import Path
from typing import Any

import datasets
import evaluate
import msgspec
import pandas as pd
import pyarrow as pa
import pytest
import yaml

import sgsacc_metric.api
from sgdx_dataset import load, open_release, turn_tables, turns
from sgdx_eval.result import read_result
from sgsacc_metric import Options, score
from sgsacc_metric.__main__ import main
from sgsacc_metric.lexical import LexicalNli
from sgsacc_metric.rows import read_prediction_rows, read_turn_rows

from ..conftest import EVALUATE, ROOT, Run
from .turns import GOLD, LONG, SHORT, Script, turn

ROW = msgspec.to_builtins(turn())
SAID = {"turn_id": ROW["turn_id"], "variant": "v3", "utterance": GOLD}


@pytest.fixture(scope="module")
def metric() -> Any:
    # In memory: after an error a file would stay locked, for which the next call waits a second.
    return evaluate.load(str(ROOT / "sgsacc_metric"), keep_in_memory=True)


def test_all_doors_say_the_same(
    metric: Any, copies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "scores.json"
    words = ["score", "--source", "sample", "--nli", "lexical", "--output", str(output)]
    assert main([*words, "--predictions", str(copies / "derived")]) == 0
    stored = read_result(output).result
    made = "|predictions:made-elsewhere|as-stated:split+release|ci:"
    line = stored.signature.replace("|ci:", made)
    systems: dict[str, Any] = {"original": {}, "v1": {}}
    expected = msgspec.structs.replace(
        stored, signature=line, systems=systems, notes=[], items=msgspec.UNSET
    )
    assert 0 < (expected["sgsacc_orig"] or 0) < 1
    references = turn_tables(open_release("sample"), "test", "original").to_pylist()
    predictions = [
        json.loads(line)
        for name in ("original", "v1")
        for line in (copies / "derived" / f"{name}.jsonl").read_text().splitlines()[1:]
    ]
    options: dict[str, Any] = {"split": "test", "release": "sample", "nli": "lexical"}
    assert score(predictions, references, **options) == expected

    def read(form: Any) -> Any:
        given = read_prediction_rows(form(predictions)), read_turn_rows(form(references))
        return msgspec.to_builtins(given)

    for form in (datasets.Dataset.from_list, pa.Table.from_pylist, pd.DataFrame):
        assert read(form) == read(list)
    of_dialogues = score(predictions, load("original", "test", "sample"), nli="lexical")
    assert of_dialogues["sgsacc_orig"] == expected["sgsacc_orig"]
    monkeypatch.chdir(tmp_path)
    assert main(["install"]) == 0
    installed = evaluate.load("sgsacc_metric", keep_in_memory=True)
    assert type(installed).__module__.startswith("evaluate_modules.")
    named = {name: figure.value for name, figure in expected.named().items()}
    for loaded in (metric, installed):
        with pytest.raises(ValueError, match="validation.*test"):
            rows_of_test = turns(load("original", "test", "sample"))
            loaded.compute(predictions=predictions, references=rows_of_test, split="dev")
        given = {"predictions": predictions, "references": references, "nli": "lexical"}
        result = loaded.compute(**given, split="test", release="sample")
        assert result == named | msgspec.to_builtins(expected)


def test_a_function_judges_by_the_options(metric: Any) -> None:
    script = Script({(GOLD, SHORT): (0.9, 0.1, 0.0), (GOLD, LONG): (0.8, 0.2, 0.0)})
    result = metric.compute(predictions=[SAID], references=[ROW], nli=script)
    assert [result[f"{name}_v3"] for name in ("sgsacc", "ser", "coverage")] == [1, 0, 1]
    how = "|nli:script|rules:appendix-b|references:2|context:yes|validated:1/1|negatives-seed:0|"
    assert how in result["signature"]
    changed: dict[str, Any] = {"context": False, "validate": False, "rules": "extended"}
    line = metric.compute(
        predictions=[SAID], references=[ROW], nli=lambda pairs: LexicalNli()(pairs), **changed
    )["signature"]
    assert "|nli:function:<lambda>|rules:extended|references:2|context:no|predictions:" in line
    scores = score([SAID], [ROW], nli="lexical", options=Options(**changed))
    assert scores.signature == line.replace("function:<lambda>", "lexical (no model)")


def test_without_the_package_it_says_what_to_install(run: Run, tmp_path: Path) -> None:
    code = 'import sys\nsys.modules["sgsacc_metric"] = None\n'
    load = f"evaluate.load({str(ROOT / 'sgsacc_metric')!r})\n"
    (tmp_path / "without.py").write_text(code + EVALUATE + load)
    done = run("without", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("sgsacc_metric needs sgsacc_metric: pip install sgdx")


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({"references": [{**ROW, "actions": 3}]}, r"references\[0\]: "),
        ({"references": [{**ROW, "schemas": [{"slots": []}]}]}, r"references\[0\]: .*intents"),
        ({"references": [SAID]}, r"references\[0\]: .*'schemas'"),
        ({"references": [5]}, r"references\[0\]: "),
        ({"references": [ROW, ROW]}, "references: turn 1_00000/1"),
        ({"evaluator": "v1"}, "references: .*'v1'"),
        ({"predictions": [SAID, {}]}, r"predictions\[1\]: .*turn_id"),
        ({"predictions": [{**SAID, "utterance": "\ud800"}]}, r"predictions\[0\]: .*surrogates"),
        ({"predictions": [{**SAID, "variant": "V1"}]}, "variant is 'V1'"),
        ({"predictions": [SAID, SAID]}, "predictions for v3: turn 1_00000/1"),
        ({"predictions": [SAID, {**SAID, "turn_id": "9/9"}]}, "predictions for v3: turn 9/9"),
        (
            {"references": [ROW, {**ROW, "turn_id": "1_00000/3"}]},
            "predictions for v3: 1 of 2 turns .* 1_00000/3",
        ),
        ({"predictions": None}, "no predictions"),
        ({"rules": "mine"}, "rules is 'mine'"),
        ({"validate": "no"}, "validate is 'no'"),
        ({"seed": "1"}, "seed is '1'"),
        ({"split": "test|nli:none"}, "split is 'test"),
        ({"nli": lambda pairs: [[0.5, 0.5]]}, "nli: .*shape"),
        ({"nli": lambda pairs: [[2.5, -0.5, 0.0]] * len(pairs)}, "nli: .*outside"),
        ({"nli": lambda pairs: [[float("nan"), 0, 0]] * len(pairs)}, "nli: .*outside"),
    ],
)
def test_rows_options_and_answers_that_cannot_be_used(
    metric: Any, wrong: dict[str, Any], fault: str
) -> None:
    with pytest.raises(ValueError, match=f"^{fault}"):
        metric.compute(**({"predictions": [SAID], "references": [ROW]} | wrong))


def test_examples_of_the_docstrings_and_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # where evaluate finds the folder by its name
    text = evaluate.load("sgsacc_metric").inputs_description
    example = doctest.DocTestParser().get_doctest(text, {}, "example", None, 0)
    assert example.examples and doctest.DocTestRunner().run(example).failed == 0
    card = doctest.testfile(str(ROOT / "sgsacc_metric" / "README.md"), module_relative=False)
    for found, least in ((doctest.testmod(sgsacc_metric.api), 8), (card, 8)):
        assert found.attempted >= least and found.failed == 0
    front = (ROOT / "sgsacc_metric" / "README.md").read_text(encoding="utf-8").split("---")[1]
    assert {"evaluate", "metric"} <= {*yaml.safe_load(front)["tags"]}
