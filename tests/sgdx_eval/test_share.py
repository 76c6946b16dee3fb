"""A record for Every Eval Ever: what its form requires, and figures equal to those of the scores.

The form is `eval.schema.json` of github.com/evaleval/every_eval_ever, version 0.3.0; its own
validator passed the record of a run. Here are the parts of it that can break.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import jsonschema
import pytest

from sgdx_cli import main
from sgdx_eval.result import read_result
from sgdx_eval.share import make_record

from ..conftest import ROOT
from .conftest import Subject

TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}


def form(**properties: Any) -> dict[str, Any]:
    """An object that must have these properties and may have no others."""
    rules = {"type": "object", "required": [*properties], "additionalProperties": False}
    return {**rules, "properties": properties}


NUMBER, TEXT = {"type": "number"}, {"type": "string", "minLength": 1}
UNLIMITED = {"enum": ["-Infinity", "Infinity"]}
METRIC = form(
    metric_id=TEXT, metric_name=TEXT, metric_unit={"enum": ["proportion", "points"]},
    evaluation_description=TEXT, lower_is_better={"type": "boolean"},
    score_type={"const": "continuous"}, min_score={"anyOf": [NUMBER, UNLIMITED]},
    max_score={"anyOf": [NUMBER, UNLIMITED]},
)  # fmt: skip
INTERVAL = form(lower=NUMBER, upper=NUMBER, confidence_level={"const": 0.95}, method=TEXT)
UNCERTAINTY = form(
    confidence_interval=INTERVAL,
    num_samples={"type": "integer"},
    num_bootstrap_samples={"const": 1000},
)
UNCERTAINTY["required"] = ["confidence_interval", "num_samples"]
NAMED = {"dataset_name": TEXT, "additional_details": TEXTS}
URLS = {"type": "array", "items": TEXT, "minItems": 1}
SOURCE = {
    "oneOf": [
        form(**NAMED, source_type={"const": "url"}, url=URLS),
        form(**NAMED, source_type={"const": "other"}),
    ]
}
RESULT = form(
    evaluation_result_id=TEXT, evaluation_name=TEXT, source_data=SOURCE, metric_config=METRIC,
    score_details=form(score=NUMBER, uncertainty=UNCERTAINTY),
)  # fmt: skip
DETAILS = TEXTS | {
    "required": ["deployment_type", "model_availability"],
    "properties": {
        "deployment_type": {"enum": ["self_deployed", "externally_managed", "unknown"]},
        "model_availability": {"enum": ["open_weights", "closed_weights", "unknown"]},
    },
}
METADATA = form(
    source_name=TEXT, source_type={"const": "evaluation_run"},
    source_organization_name=TEXT, evaluator_relationship=TEXT,
)  # fmt: skip
RECORD = form(
    schema_version={"const": "0.3.0"},
    evaluation_id=TEXT,
    retrieved_timestamp={"type": "string", "pattern": "^[0-9]+$"},
    source_metadata=METADATA,
    eval_library=form(name=TEXT, version=TEXT, additional_details=TEXTS),
    model_info=form(name=TEXT, id=TEXT, developer=TEXT, additional_details=DETAILS),
    evaluation_results={"type": "array", "items": RESULT, "minItems": 1},
)


def record(folder: Path) -> dict[str, Any]:
    made = make_record(folder, "you/mine", "You", "first_party")
    jsonschema.Draft202012Validator(RECORD).validate(made)
    return made


def by_id(made: dict[str, Any]) -> dict[str, Any]:
    results = {each["evaluation_result_id"]: each for each in made["evaluation_results"]}
    assert len(results) == len(made["evaluation_results"])
    for each in results.values():
        metric, details = each["metric_config"], each["score_details"]
        interval = details["uncertainty"]["confidence_interval"]
        assert interval["lower"] <= interval["upper"]
        if metric["min_score"] != "-Infinity":
            assert metric["min_score"] <= details["score"] <= metric["max_score"]
    return results


def test_figures_are_those_of_the_scores(
    subject: Subject, scores_files: dict[str, tuple[Path, Path]]
) -> None:
    _, path = scores_files[subject.task]
    results, shown = by_id(record(path)), 0
    for name, figure in read_result(path).result.named().items():
        if figure.value is not None:
            key = {"drop": "jga_drop", "flips": "jga_flips"}.get(name, name)
            details = results[f"sgdx.{subject.task}.all/{key}"]["score_details"]
            ends = details["uncertainty"]["confidence_interval"]
            assert [ends["lower"], ends["upper"]] == figure.interval
            assert details["score"] == figure.value
            shown += 1
    assert shown > 10


def test_the_shipped_model(tmp_path: Path) -> None:
    """Its data is partial, which stands beside every figure."""
    made, content = record(ROOT / "models" / "onepass"), read_result(ROOT / "models/onepass").result
    results = by_id(made)
    for key in ("jga_orig", "jga_v1-5", "jga_drop", "ss_jga", "jga_worst", "jga_flips"):
        for group in ("all", "seen", "unseen"):
            figure = content.figure(key, group)
            shown = results[f"sgdx.state.{group}/{key}"]["score_details"]["score"]
            assert figure and shown == figure.value
    worst = results["sgdx.state.all/jga_v5"]
    assert worst["score_details"]["score"] == content["jga_v5"]
    assert worst["source_data"] == {
        "dataset_name": "SGD-X",
        "source_type": "url",
        "url": ["https://github.com/google-research-datasets/dstc8-schema-guided-dialogue"],
        "additional_details": {
            "split": "test",
            "release": "partial:2921/4201",
            "scored": "2738 frames of 292 dialogues",
            "caveats": "partial data: 2,921 of 4,201 dialogues; a subset of 292 dialogues",
        },
    }
    assert made["model_info"]["additional_details"]["deployment_type"] == "self_deployed"
    assert made["eval_library"]["additional_details"]["signature"] == content.signature
    again = record(ROOT / "models" / "onepass")
    assert again["evaluation_id"] == made["evaluation_id"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is where the database's own check expects it, and the same when made again."""
    words = ["share", str(ROOT / "results" / "lexical"), "--organization", "You"]
    words += ["--output", str(tmp_path / "database"), "--relationship", "other", "--model"]
    assert not main([*words, "you/mine"]) and not main([*words, "you/mine"])
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert capsys.readouterr().out.splitlines() == [str(file)] * 2
    folder, uuid = file.parent.relative_to(tmp_path / "database"), UUID(file.stem)
    assert folder.as_posix() == "data/sgdx/you/mine" and uuid.version == 4
    made = json.loads(file.read_text())
    jsonschema.Draft202012Validator(RECORD).validate(made)
    assert made["model_info"]["id"] == "you/mine"
    assert made["source_metadata"]["evaluator_relationship"] == "other"
