"""Write scores in the form of Every Eval Ever, a shared database of results (arXiv 2606.14516)."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_metric.statistics import RESAMPLES, Figure, Sample

from .report.runs import Run, data_caveats, read_run
from .tables import NO_VALUE

# The form's version, of `eval.schema.json` in github.com/evaleval/every_eval_ever.
SCHEMA_VERSION = "0.3.0"
_PROJECT = "https://github.com/YOU/sgdx"
_SGD = "https://github.com/google-research-datasets/dstc8-schema-guided-dialogue"
# Facts of predictions by which others tell what the system was.
_FACTS = ("tracker", "weights", "answer", "provider", "prompt", "strict", "system_acts")


def make_record(scores: Path, model: str, organization: str, relationship: str) -> dict[str, Any]:
    """The record of a run: every figure with its interval, and what it is of.

    `model` is its id, DEVELOPER/NAME; `organization` measured it; `relationship` is that of the
    organization to the model's developer, as the form names them.
    """
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", model, re.ASCII):
        raise SgdxError(f"--model: found {model!r:.60}, expected DEVELOPER/NAME")
    developer, name = model.split("/")
    run = read_run(scores)
    digest = hashlib.sha256(read_input(run.results.path)).hexdigest()
    return {
        "schema_version": SCHEMA_VERSION,
        # The same for the same scores, whenever the record is made.
        "evaluation_id": f"sgdx/{developer}_{name}/{UUID(digest[:32], version=4)}",
        "retrieved_timestamp": str(int(time.time())),
        "source_metadata": {
            "source_name": "sgdx",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": relationship,
        },
        "eval_library": {
            "name": "sgdx",
            "version": run.results.part("version"),
            "additional_details": {"url": _PROJECT, "signature": run.results.signature},
        },
        "model_info": {
            "name": name,
            "id": model,
            "developer": developer,
            "additional_details": _model_details(run),
        },
        "evaluation_results": [*_results(run)],
    }


def place(record: Mapping[str, Any]) -> Path:
    """Where the database keeps a record, and where its own check expects it."""
    name = record["evaluation_id"].rpartition("/")[2]
    return Path("data", "sgdx", *record["model_info"]["id"].split("/"), f"{name}.json")


def _model_details(run: Run) -> dict[str, str]:
    """What predictions and recipe say of the system, and what must stand beside its figures."""
    known = {
        "system": run.system_name(),
        "base_model": run.base_model if "weights" in run.facts else "",
        "trained_on": "" if run.trained_on == NO_VALUE else run.trained_on,
        "caveats": "; ".join(run.caveats()),
        **{key: str(run.facts.get(key, "")) for key in _FACTS},
    }
    # Neither is known of a server or a program, nor what weights may be had.
    deployed = "self_deployed" if "weights" in run.facts else "unknown"
    required = {"deployment_type": deployed, "model_availability": "unknown"}
    return required | {key: text for key, text in known.items() if text}


def _results(run: Run) -> Iterator[dict[str, Any]]:
    """The means under each variant, then the figures of all items, of seen and of unseen ones."""
    results, task = run.results, run.results.task
    data = _source_data(run)
    for metric in task.headlines(results.scores()):
        scores = results.scores(task.members(results.raw, metric))
        sample = Sample(task.headlines(scores)[metric], scores.items.dialogue)
        for figure, score in _scores(sample):
            name = f"sgdx.{task.name}.{figure.key}"
            told = (f"The mean under the words of the variant {figure.key}.",)
            yield _result(name, data, figure._replace(key=metric, legend=told), score)
    groups, services = results.raw.items.groups(), results.raw.items.services()
    for group in [name for name in groups if name not in services]:
        for figure, score in _scores(results.sample(groups[group])):
            yield _result(f"sgdx.{task.name}.{group}", data, figure, score)


def _scores(sample: Sample) -> Iterator[tuple[Figure, dict[str, Any]]]:
    """Each figure that is defined, as the form has it, with its interval."""
    values, intervals = sample.values(), sample.intervals()
    for figure in sample.figures:
        value, ends = values[figure.key], intervals[figure.key]
        if value is None or ends is None:
            continue
        low, high = ends
        uncertainty = {
            "confidence_interval": {
                "lower": low,
                "upper": high,
                "confidence_level": 0.95,
                "method": "percentile bootstrap over dialogues; exact where all resamples agree",
            },
            "num_samples": sample.dialogues,
            "num_bootstrap_samples": RESAMPLES,
        }
        yield figure, {"score": value, "uncertainty": uncertainty}


def _result(
    name: str, data: Mapping[str, Any], figure: Figure, score: Mapping[str, Any]
) -> dict[str, Any]:
    low, high = figure.bounds or ("-Infinity", "Infinity")
    metric = {
        "metric_id": f"sgdx.{figure.key}",
        "metric_name": figure.title or figure.key,
        "metric_unit": "points" if figure.scale == 1 else "proportion",
        "evaluation_description": " ".join(figure.legend),
        "lower_is_better": figure.lower_is_better,
        "score_type": "continuous",
        "min_score": low,
        "max_score": high,
    }
    return {
        "evaluation_result_id": f"{name}/{figure.key}",
        "evaluation_name": name,
        "source_data": data,
        "metric_config": metric,
        "score_details": score,
    }


def _source_data(run: Run) -> dict[str, Any]:
    """Which data was scored, and how much of it."""
    results, task = run.results, run.results.task
    release = results.part("release")
    names = {
        "sample": ("sample corpus of sgdx", _PROJECT),
        "many": ("corpus of many services of sgdx", _PROJECT),
        "unknown": ("unknown", ""),
    }
    name, url = names.get(release, ("SGD-X", _SGD))
    if task.name == "tools":
        name, url = "tools and cases of the organization's own", ""
    count = task.count(results.raw)
    details = {
        "split": results.parts.get("split", ""),
        "release": results.parts.get("release", ""),
        "scored": f"{count} {task.unit}s of {results.sample().dialogues} dialogues",
        "caveats": "; ".join(data_caveats(results.parts, count, f"{task.unit}s")),
    }
    return {
        "dataset_name": name,
        **({"source_type": "url", "url": [url]} if url else {"source_type": "other"}),
        "additional_details": {key: text for key, text in details.items() if text},
    }
