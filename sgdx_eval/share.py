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
from sgdx_metric.result import ALL, SETS, Figure, Metric, figure_name, title
from sgdx_metric.statistics import MANY, RESAMPLES

from .report.runs import Run, data_caveats, read_run
from .show import is_better_high
from .tables import NO_VALUE

# The form's version, of `eval.schema.json` in github.com/evaleval/every_eval_ever.
SCHEMA_VERSION = "0.3.0"
_PROJECT = "https://github.com/YOU/sgdx"
_SGD = "https://github.com/google-research-datasets/dstc8-schema-guided-dialogue"
_KINDS = {
    "mean": "The mean under the words of these variants.",
    "drop": "The mean under other words less that under the original ones.",
    "worst": "Each item under the words that are worst for it.",
    "flips": "Items that are right under some words and wrong under others.",
    "sensitivity": "How far an item's score varies over other words, as a part of its mean.",
}
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
    digest = hashlib.sha256(read_input(run.result.path)).hexdigest()
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
            "version": run.result.part("version"),
            "additional_details": {"url": _PROJECT, "signature": run.result.signature},
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
    """The figures that have a value and an interval, but for those of single services."""
    result, data = run.result.result, _source_data(run)
    for f in result.figures:
        if f.group in SETS and f.value is not None and f.interval is not None:
            yield _result(f, run.result.metrics[f.metric], result.task, data)


def _result(figure: Figure, metric: Metric, task: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """A figure as the form has it, with its interval."""
    name, group = figure_name(figure, task), f"sgdx.{task}.{figure.group}"
    is_few = figure.clusters < MANY
    bounds: tuple[Any, Any] = (0.0, 1.0)
    if metric.scale == 1 or figure.figure.startswith(("sensitivity", "relative")):
        bounds = "-Infinity", "Infinity"
    elif figure.figure == "drop":
        bounds = -1.0, 1.0
    described = f"{metric.meaning} {_KINDS.get(figure.figure, '')}".strip() or name
    return {
        "evaluation_result_id": f"{group}/{name}",
        "evaluation_name": group,
        "source_data": data,
        "metric_config": {
            "metric_id": f"sgdx.{name}",
            "metric_name": title(figure, metric, task),
            "metric_unit": "points" if metric.scale == 1 else "proportion",
            "evaluation_description": described,
            "lower_is_better": not is_better_high(figure, metric),
            "score_type": "continuous",
            "min_score": bounds[0],
            "max_score": bounds[1],
        },
        "score_details": {
            "score": figure.value,
            "uncertainty": {
                "confidence_interval": {
                    "lower": figure.low,
                    "upper": figure.high,
                    "confidence_level": 0.95,
                    "method": "Gaffke 2005" if is_few else "bootstrap",
                },
                "num_samples": figure.clusters,
                **({} if is_few else {"num_bootstrap_samples": RESAMPLES}),
            },
        },
    }


def _source_data(run: Run) -> dict[str, Any]:
    """Which data was scored, and how much of it."""
    results = run.result
    release = results.part("release")
    names = {
        "sample": ("sample corpus of sgdx", _PROJECT),
        "many": ("corpus of many services of sgdx", _PROJECT),
        "unknown": ("unknown", ""),
    }
    name, url = names.get(release, ("SGD-X", _SGD))
    if results.task in ("tools", "search"):
        name, url = "tools and cases of the organization's own", ""
    count = next((f.items for f in results.result.figures if f.group == ALL), 0)
    clusters = next((f.clusters for f in results.result.figures if f.group == ALL), 0)
    details = {
        "split": results.parts.get("split", ""),
        "release": results.parts.get("release", ""),
        "scored": f"{count} {results.unit}s of {clusters} dialogues",
        "caveats": "; ".join(data_caveats(results.parts, count, f"{results.unit}s")),
    }
    return {
        "dataset_name": name,
        **({"source_type": "url", "url": [url]} if url else {"source_type": "other"}),
        "additional_details": {key: text for key, text in details.items() if text},
    }
