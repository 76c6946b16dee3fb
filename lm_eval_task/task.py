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
from sgdx_metric import score
from sgdx_metric.rows import REFERENCE

_OPTIONS: dict[str, Any] = {
    "variants": VARIANTS,
    "dialogues": None,
    "source": None,
    "split": "test",
}
_FIGURES = "jga_orig jga_v1-5 canonical_orig canonical_v1-5 ss_jga jga_worst flips".split()


def documents(**given: Any) -> dict[str, Dataset]:
    """A document for every frame and variant; ``--metadata`` has the arguments of ``task_plan``."""
    options = {name: given.get(name, default) for name, default in _OPTIONS.items()}
    plan = task_plan(RequestSettings(model="lm_eval", answer="text"), **options)
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
def _scores(pairs: tuple[tuple[str, str], ...]) -> dict[str, float | None]:
    predictions, gold = ([json.loads(row) for row in side] for side in zip(*pairs))
    return {name: figure.value for name, figure in score(predictions, gold).named().items()}


def _figure(name: str, pairs: Sequence[tuple[str, str]]) -> float:
    """A figure of all answers together, in [0, 1]; NaN where variants that it needs are missing."""
    value = _scores(tuple(map(tuple, pairs))).get(name)
    return float("nan") if value is None else float(value)


jga_orig, jga_v1_5, canonical_orig, canonical_v1_5, ss_jga, jga_worst, flips = (
    partial(_figure, name) for name in _FIGURES
)
