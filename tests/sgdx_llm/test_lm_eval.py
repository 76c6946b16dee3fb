"""The task of lm-evaluation-harness: its functions, and, where the harness is, its own dummy model.

It needs none of the other tests' fixtures, as the harness has an environment of its own.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TASK = Path(__file__).parents[2] / "lm_eval_task"
FIGURES = ["jga_orig", "jga_v1-5", "canonical_orig", "canonical_v1-5", "jga_worst"]


@pytest.fixture(scope="module")
def task() -> ModuleType:
    """The functions, found beside the task's file as the harness finds them."""
    spec = importlib.util.spec_from_file_location("task", TASK / "task.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def dialogues(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dialogues") / "one.json"
    path.write_text('["1_00000"]')
    return path


@pytest.fixture(scope="module")
def documents(task: ModuleType, dialogues: Path) -> list[dict[str, Any]]:
    made = task.documents(source="sample", dialogues=str(dialogues), config_source="the harness's")
    return list(made["test"])


def figures(task: ModuleType, documents: list[dict[str, Any]], texts: list[str]) -> dict[str, Any]:
    """The figures of some answers, as the harness would aggregate them."""
    results = [task.read(document, [text]) for document, text in zip(documents, texts)]
    names = [name for name in results[0] if name != "unread"]
    made = {
        name: getattr(task, name.replace("-", "_"))([result[name] for result in results])
        for name in names
    }
    return made | {"unread": sum(result["unread"] for result in results) / len(results)}


def test_right_answers_score_one(task: ModuleType, documents: list[dict[str, Any]]) -> None:
    scores = figures(task, documents, [document["target"] for document in documents])
    assert {scores[name] for name in FIGURES} == {1.0}
    assert (scores["ss_jga"], scores["flips"], scores["unread"]) == (0, 0, 0)


def test_answers_under_one_variant_count_as_empty(
    task: ModuleType, documents: list[dict[str, Any]]
) -> None:
    """All under v2 are no states; a fifth of the mean over v1 to v5 is lost, and every frame."""
    variants = [json.loads(document["reference"])["variant"] for document in documents]
    texts = [
        "I do not know." if variant == "v2" else document["target"]
        for variant, document in zip(variants, documents)
    ]
    scores = figures(task, documents, texts)
    assert scores["jga_orig"] == 1
    assert scores["jga_v1-5"] == pytest.approx(0.8)
    assert (scores["jga_worst"], scores["flips"]) == (0, 1)
    assert scores["unread"] == pytest.approx(1 / 6)


def test_figures_without_their_variants_are_undefined(task: ModuleType, dialogues: Path) -> None:
    few = task.documents(source="sample", dialogues=str(dialogues), variants="original")
    documents = list(few["test"])
    scores = figures(task, documents, [document["target"] for document in documents])
    assert scores["jga_orig"] == 1.0
    assert math.isnan(scores["jga_v1-5"]) and math.isnan(scores["ss_jga"])


def test_a_prompt_has_no_gold(documents: list[dict[str, Any]]) -> None:
    """It ends with what the user says, after the API and the dialogue so far."""
    for document in documents:
        assert "\n\nThe API as a function:\n" in document["prompt"]
        assert document["prompt"].rsplit("\n", 1)[1].startswith("User: ")
        assert document["target"] not in document["prompt"]


def test_every_function_of_the_file_is_there(task: ModuleType) -> None:
    names = re.findall(r"!function task\.(\w+)", (TASK / "sgdx_state.yaml").read_text())
    assert len(names) == 9
    assert all(callable(getattr(task, name)) for name in names)


def test_the_dummy_model_in_the_harness(dialogues: Path, tmp_path: Path) -> None:
    """It always answers "lol", which counts as the empty state in each of the frames."""
    pytest.importorskip("lm_eval")
    words = ["run", "--model", "dummy", "--include_path", TASK, "--tasks", "sgdx_state"]
    facts = json.dumps({"source": "sample", "dialogues": str(dialogues)})
    words += ["--metadata", facts, "--output_path", tmp_path]
    environment = {**os.environ, "PYTHONPATH": str(TASK.parent)}
    subprocess.run(
        [sys.executable, "-m", "lm_eval", *map(str, words)],
        check=True,
        env=environment,
        cwd=tmp_path,
    )
    (file,) = tmp_path.rglob("results_*.json")
    scores = json.loads(file.read_text())["results"]["sgdx_state"]
    assert scores["unread,none"] == 1
    assert scores["jga_orig,none"] == scores["jga_v1-5,none"] == scores["jga_worst,none"] < 0.2
    assert scores["ss_jga,none"] == scores["flips,none"] == 0
