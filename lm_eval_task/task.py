"""The functions that sgdx_state.yaml names: requests, reading an answer, figures.

Prompts and answers are those of ``sgdx ask --answer text``, figures those of ``sgdx score``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import msgspec
from datasets import Dataset

from sgdx_dataset.schema import Service
from sgdx_eval.predictions import prediction_row
from sgdx_llm.answers import read_answer
from sgdx_llm.functions import gold_state
from sgdx_llm.harness import VARIANTS, references, task_plan
from sgdx_llm.requests import RequestSettings
from sgdx_metric import Result, score
from sgdx_metric.rows import REFERENCE

_FIGURES = "jga_orig jga_v1-5 canonical_orig canonical_v1-5 ss_jga jga_worst flips".split()


def documents(
    variants: str = VARIANTS, split: str = "test", *, source: str | None = None,
    dialogues: str | None = None, **_: Any,
) -> dict[str, Dataset]:  # fmt: skip
    """A document for every frame and variant; ``--metadata`` has the arguments of ``task_plan``."""
    settings = RequestSettings(model="lm_eval", answer="text")
    plan = task_plan(settings, variants, dialogues, source, split)
    gold, rows = references(plan, REFERENCE.names), []
    for request in plan.requests():
        reference = gold[request.row["variant"], request.row["frame_id"]]
        prompt = "\n\n".join(one["content"] for one in request.body["messages"])
        target = json.dumps(gold_state(reference, request.service))
        service = msgspec.json.encode(request.service).decode()
        row = {"prompt": prompt, "target": target, "service": service}
        rows.append(row | {"reference": json.dumps(reference)})
    return {"test": Dataset.from_list(rows)}


def read(document: dict[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The prediction that a model's text says, with its reference, for each of the figures."""
    service = msgspec.json.decode(document["service"], type=Service)
    choice = {"message": {"content": results[0]}, "finish_reason": "stop"}
    state = read_answer({"choices": [choice]}, service, in_call=False)
    values = {slot: [value] for slot, value in state.slot_values.items()}
    reference = json.loads(document["reference"])
    row = prediction_row(reference, state.active_intent, state.requested_slots, values)
    pair = json.dumps(row), document["reference"]
    return {**dict.fromkeys(_FIGURES, pair), "unread": state.counts["unread"]}


@lru_cache(maxsize=1)
def _score(pairs: tuple[tuple[str, str], ...]) -> Result:
    return score(*([json.loads(row) for row in side] for side in zip(*pairs)))


def _figure(name: str, pairs: Sequence[tuple[str, str]]) -> float:
    """A figure of all answers together, in [0, 1]; NaN where variants that it needs are missing."""
    value = _score(tuple(map(tuple, pairs)))[name]
    return float("nan") if value is None else value


jga_orig, jga_v1_5, canonical_orig, canonical_v1_5, ss_jga, jga_worst, flips = (
    partial(_figure, name) for name in _FIGURES
)
