"""What sgdx_state.yaml names: prompts of ``sgdx ask --answer text``, figures of ``sgdx score``."""

from __future__ import annotations

import json
from functools import lru_cache, partial
from typing import Any

import msgspec
from datasets import Dataset

from sgdx_dataset.schema import Service
from sgdx_llm.functions import gold_state
from sgdx_llm.harness import references, task_plan
from sgdx_llm.plan import predicted
from sgdx_llm.requests import RequestSettings
from sgdx_metric import Result, score
from sgdx_metric.rows import REFERENCE

_FIGURES = "jga_orig jga_v1-5 canonical_orig canonical_v1-5 ss_jga jga_worst flips".split()


def documents(**metadata: Any) -> dict[str, Dataset]:
    """A document for every frame and variant; ``--metadata`` has the arguments of ``task_plan``."""
    plan = task_plan(RequestSettings(model="lm_eval", answer="text"), **metadata)
    gold, rows = references(plan, REFERENCE.names), []
    for request in plan.requests():
        reference = gold[request.row["variant"], request.row["frame_id"]]
        said = [message["content"] for message in request.body["messages"]]
        target = json.dumps(gold_state(reference, request.service))
        service = msgspec.json.encode(request.service).decode()
        texts = {"prompt": "\n\n".join(said), "target": target, "service": service}
        rows.append(texts | {"reference": json.dumps(reference)})
    return {"test": Dataset.from_list(rows)}


def read(document: dict[str, Any], results: list[str]) -> dict[str, Any]:
    """The prediction that a model's text says, with its reference, for each of the figures."""
    service = msgspec.json.decode(document["service"], type=Service)
    body = {"choices": [{"message": {"content": results[0]}, "finish_reason": "stop"}]}
    row, counts = predicted(json.loads(document["reference"]), service, body, in_call=False)
    pair = json.dumps(row), document["reference"]
    return {**dict.fromkeys(_FIGURES, pair), "unread": counts["unread"]}


@lru_cache(maxsize=1)
def _score(pairs: tuple[tuple[str, str], ...]) -> Result:
    return score(*([json.loads(row) for row in side] for side in zip(*pairs)))


def _figure(name: str, pairs: list[tuple[str, str]]) -> float:
    """A figure of all answers together, in [0, 1]; NaN where variants that it needs are missing."""
    value = _score(tuple(map(tuple, pairs)))[name]
    return float("nan") if value is None else value


jga_orig, jga_v1_5, canonical_orig, canonical_v1_5, ss_jga, jga_worst, flips = (
    partial(_figure, name) for name in _FIGURES
)
