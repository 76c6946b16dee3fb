"""The metric through `evaluate`, by folder and, once installed, by name in a fresh process."""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import datasets
import evaluate
import pytest
import yaml

from sgdx_dataset import frames, load
from sgdx_eval.install import install
from sgdx_metric import score
from sgdx_metric.robustness import HEADLINE, report
from sgdx_metric.scoring import score_variants
from sgdx_metric.signature import Setup

from ..conftest import EVALUATE, ROOT, Run
from .frames import prediction, prediction_table, reference, reference_table, six_variants

CARD = ROOT / "sgdx_metric" / "README.md"
SCORES = {"original": [True, True, False], "v1": [True, False, False], "v2": [True, True, False]}
USE = """
rows = json.load(open("rows.json"))
result = evaluate.load("sgdx_metric").compute(**rows)
print(json.dumps(result))
"""

HALF = """
options = {"num_process": 2, "process_id": 1, "experiment_id": "halves", "timeout": 240}
metric = evaluate.load(sys.argv[1], cache_dir=".", **options)
rows = json.load(open("rows.json"))
print(metric.compute(**{side: rows[side][1::2] for side in rows}))
"""


def expected(**others: Any) -> dict[str, Any]:
    references, predictions = six_variants(SCORES)
    tables = reference_table(*references), prediction_table(*predictions)
    return report(score_variants(*tables), Setup(**others))


@pytest.fixture
def metric() -> Any:
    # In memory: after an error a file would stay locked, for which the next call waits a second.
    return evaluate.load(str(ROOT / "sgdx_metric"), keep_in_memory=True)


def test_compute_by_folder(metric: Any) -> None:
    references, predictions = six_variants(SCORES)
    rows = [row | {"history": [{"speaker": "USER"}], "turn": 0} for row in references]
    result = metric.compute(
        predictions=predictions[::-1], references=rows, split="test", system_acts=True
    )
    plain = expected(split="test", system_acts="yes", made_elsewhere=True)
    figures = (*HEADLINE, "by_variant")
    assert HEADLINE == (
        "jga_orig", "jga_v1-5", "relative_difference", "ss_jga", "ss_jga_nonzero",
        "jga_worst", "flips",
        "change_orig", "change_v1-5", "canonical_orig", "canonical_v1-5",
    )  # fmt: skip
    assert result == plain | {key: plain["sgdx"][key] for key in figures}
    assert result["jga_orig"] == pytest.approx(2 / 3)


def test_two_processes_halves_equal_the_whole(tmp_path: Path) -> None:
    """This process is the first of the two, which computes; the other one gives its rows."""
    references, predictions = six_variants(SCORES)
    rows = {"predictions": predictions, "references": references[::-1]}
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    folder = str(ROOT / "sgdx_metric")
    words = [sys.executable, "-c", EVALUATE + HALF, folder]
    other = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    options = {"num_process": 2, "process_id": 0, "experiment_id": "halves"}
    metric = evaluate.load(folder, cache_dir=str(tmp_path), timeout=240, **options)
    result = metric.compute(**{side: rows[side][::2] for side in rows})
    assert result["sgdx"] == expected()["sgdx"]
    assert other.communicate(timeout=240)[0] == "None\n"


def test_rows_may_be_added_in_parts_and_by_combine(metric: Any) -> None:
    references, predictions = six_variants(SCORES)
    metric.add(prediction=predictions[0], reference=references[-1])
    metric.add_batch(predictions[1:4], references[:2])
    metric.add_batch(predictions=predictions[4:], references=references[2:-1])
    assert metric.compute()["sgdx"] == expected()["sgdx"]
    combined = evaluate.combine([str(ROOT / "sgdx_metric")])
    whole = combined.compute(predictions=predictions, references=references)
    assert whole["sgdx"] == expected()["sgdx"]
    combined.add(prediction=predictions[0], reference=references[0])
    combined.add_batch(predictions=predictions[1:], references=references[1:])
    assert combined.compute() == whole


def test_a_dataset_is_read_without_the_columns_that_are_not_needed(metric: Any) -> None:
    references, predictions = six_variants({"original": [True, False], "mine": [True, True]})
    service = {"service_name": "S", "description": "d", "slots": [], "intents": []}
    rows = [row | {"history": ["any"], "schema": service} for row in references]
    listed = metric.compute(predictions=predictions, references=rows)
    dataset = datasets.Dataset.from_list(rows)
    assert metric.compute(predictions=predictions, references=dataset) == listed
    streamed = dataset.to_iterable_dataset()
    assert metric.compute(predictions=predictions, references=streamed) == listed
    plain = [{key: row[key] for key in row if key != "schema"} for row in rows]
    less = metric.compute(predictions=predictions, references=plain)
    pattern = r"\|variants:original\+mine@([0-9a-f]{8})\|"
    marks = [re.search(pattern, result["signature"]) for result in (listed, less)]
    assert marks[0] and marks[1] and marks[0][1] != marks[1][1]
    assert less["sgdx"] == listed["sgdx"]


@pytest.mark.parametrize(
    ("option", "value"),
    [("system_acts", "yes"), ("use_fuzzy_match", "no"), ("zero_mean", "keep"), ("split", 5)],
)
def test_options_that_are_none(metric: Any, option: str, value: Any) -> None:
    sides = {"predictions": [prediction()], "references": [reference()]}
    with pytest.raises(ValueError, match=f"^{option} is {re.escape(repr(value))}"):
        metric.compute(**sides, **{option: value})


def test_installed_metric_loads_by_name_from_anywhere(tmp_path: Path, run: Run) -> None:
    """In a fresh process that does not know the package, and before an older version beside it."""
    installed = install()
    older = installed.with_name("0" * 64)
    older.mkdir()
    (older / "sgdx_metric.py").write_text("raise ImportError('an older version')")
    # The clock of files is coarse: what was written within its tick would be as new.
    os.utime(older / "sgdx_metric.py", (time.time() - 1,) * 2)
    os.utime(installed / "sgdx_metric.py", (time.time() - 2,) * 2)
    assert install() == installed
    references, predictions = six_variants(SCORES)
    rows = {"predictions": predictions, "references": references}
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    (tmp_path / "use.py").write_text(EVALUATE + USE)
    used = run("use", PYTHONPATH="")
    shutil.rmtree(older)
    assert used.returncode == 0, used.stderr
    assert json.loads(used.stdout)["sgdx"] == expected()["sgdx"]
    assert len(list(installed.parent.rglob("sgdx_metric.py"))) == 1


@pytest.mark.parametrize("damage", ["lost", "changed"])
def test_a_damaged_copy_is_made_again(damage: str) -> None:
    installed = install()
    if damage == "lost":
        (installed / "slots.py").unlink()
    else:
        (installed / "slots.py").write_text("def score_slots(): return 1")
    assert install() == installed
    assert (installed / "slots.py").read_bytes() == (ROOT / "sgdx_metric/slots.py").read_bytes()


def test_examples_of_the_docstring_and_the_card(
    monkeypatch: pytest.MonkeyPatch, metric: Any
) -> None:
    monkeypatch.chdir(ROOT)  # where evaluate finds the folder by its name
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    examples = parser.get_doctest(metric.inputs_description, {}, "inputs_description", None, 0)
    of_docstring = runner.run(examples)
    assert of_docstring.attempted >= 3 and of_docstring.failed == 0
    of_card = doctest.testfile(str(CARD), module_relative=False)
    assert of_card.attempted >= 7 and of_card.failed == 0


def test_the_card(metric: Any) -> None:
    """Its two rows score what it says, and its front matter is that of a Space."""
    text = CARD.read_text(encoding="utf-8")
    reference, prediction = map(json.loads, re.findall(r"```json\n(.*?)```", text, re.DOTALL))
    result = metric.compute(predictions=[prediction], references=[reference])
    means = result["variants"]["v1"]["#ALL_SERVICES"]
    assert means["joint_goal_accuracy"] == means["joint_noncat_accuracy"] == 0.86
    assert means["joint_cat_accuracy"] == means["active_intent_accuracy"] == 1
    card = yaml.safe_load(text.split("---")[1])
    assert card["sdk"] == "gradio" and card["sdk_version"].startswith("6.")
    assert (CARD.parent / card["app_file"]).is_file()
    assert {"evaluate", "metric"} <= {*card["tags"]}


def test_a_dataset_says_its_split_and_names_of_another_variant_are_told(metric: Any) -> None:
    references, predictions = six_variants({"original": [True, True]})
    for row in predictions:
        row["slot_values"] = [{**value, "slot": "town"} for value in row["slot_values"]]
    dataset = datasets.Dataset.from_list(references, split="test[:10%]")
    with pytest.warns(UserWarning, match="^original: 100 %"):
        result = metric.compute(predictions=predictions, references=dataset)
    assert "|split:test|" in result["signature"]
    with pytest.warns(UserWarning, match="^original: 100 %"):
        score(predictions, dataset)


def test_prepared_rows_say_which_data_they_are_of(metric: Any) -> None:
    rows = frames(load("v1", "test", "sample"))
    predicted = rows.select_columns(
        ["frame_id", "variant", "active_intent", "requested_slots", "slot_values"]
    )
    for result in (metric.compute(predictions=predicted, references=rows), score(predicted, rows)):
        assert "|split:test|release:sample|" in result["signature"]
        assert result["sgdx"]["by_variant"] == {"v1": 1.0}
