"""The dialogue state under several wordings as a task of inspect_ai.

One task asks about all wordings, since schema sensitivity compares a frame under several of them.
The package is an extension of inspect_ai, which finds the task by its name in any directory:

    inspect eval baselines/sgdx_state --model openai/gpt-4.1-mini -T dialogues=subset.json

``python -m baselines.llm from-inspect LOG --output DIR`` writes prediction files of its log, which
are scored as any others. Inspect itself shows only the joint goal accuracy, which is the same.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ResponseSchema,
    get_model,
)
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolFunction, ToolInfo, ToolParams
from inspect_ai.util import JSONSchema

from baselines.data.frames import frame_rows
from baselines.data.requested import RequestedData
from baselines.llm.answers import Reading
from baselines.llm.functions import MAPPING
from baselines.llm.plan import Answered, Plan, Request
from baselines.llm.requests import AnswerForm, RequestSettings
from sgdx_dataset import SgdxError
from sgdx_metric.columns import Floats
from sgdx_metric.robustness import flipped, worst_case
from sgdx_metric.rows import PREDICTION
from sgdx_metric.scoring import score_frames
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

HOST = "inspect_ai"
_MESSAGES = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
# OpenAI's names for Inspect's reasons why an answer ended, where the two differ.
_FINISH_REASONS = {"max_tokens": "length", "model_length": "length"}


@task
def sgdx_state(
    variants: str = "original,v1,v2,v3,v4,v5",
    dialogues: str | None = None,
    answer: AnswerForm = "tool",
    strict: bool = False,
    source: str | None = None,
    split: str = "test",
) -> Task:
    """The dialogue state of every frame under every wording.

    Args:
        variants: The wordings, with commas between them.
        dialogues: A file of ``python -m sgdx_dataset subset``; None for the whole split.
        answer: The form of the answer, as for ``--answer`` of ``python -m baselines.llm``.
        strict: Whether schemas are marked as strict.
        source: Where SGD is, as for ``sgdx_dataset.load``.
        split: ``train``, ``validation`` or ``test``.
    """
    names = variants if isinstance(variants, list) else variants.split(",")
    data = RequestedData(source, split, {}, Path(dialogues) if dialogues else None)
    plan = Plan(data, names, RequestSettings(model=HOST, answer=answer, strict=strict), HOST)
    requests = {request.custom_id: request for request in plan.requests()}
    facts = {**plan.settings.facts(), "mapping": MAPPING, **data.facts()}
    variant_facts = {name: data.facts_of(name) for name in names}
    return Task(
        dataset=[_sample(request) for request in requests.values()],
        solver=_ask(requests, plan),
        scorer=_joint_goal_accuracy(requests, plan),
        config=GenerateConfig(temperature=0, seed=0, max_tokens=1024),
        metadata={"sgdx": json.dumps(facts), "sgdx_variants": json.dumps(variant_facts)},
    )


def _sample(request: Request) -> Sample:
    row = request.rows[0]
    return Sample(
        id=request.custom_id,
        input=_messages(request),
        metadata={
            "frame_id": row["frame_id"],
            "variant": row["variant"],
            "dialogue_id": row["dialogue_id"],
        },
    )


def _messages(request: Request) -> list[ChatMessage]:
    return [
        _MESSAGES[message["role"]](content=message["content"])
        for message in request.bodies[0]["messages"]
    ]


@solver
def _ask(requests: dict[str, Request], plan: Plan) -> Solver:
    """Ask the model once, with the function or the schema of the request's own service."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        body = requests[str(state.sample_id)].bodies[0]
        tools: list[ToolInfo] = []
        choice = None
        config = GenerateConfig()
        if "tools" in body:
            function = body["tools"][0]["function"]
            parameters = ToolParams.model_validate(function["parameters"])
            tools = [
                ToolInfo(
                    name=function["name"],
                    description=function["description"],
                    parameters=parameters,
                )
            ]
            choice = ToolFunction(function["name"])
            config = GenerateConfig(parallel_tool_calls=False)
        elif "response_format" in body:
            form = body["response_format"]["json_schema"]
            schema = JSONSchema.model_validate(form["schema"])
            response_schema = ResponseSchema(
                name=form["name"], json_schema=schema, strict=form.get("strict")
            )
            config = GenerateConfig(response_schema=response_schema)
        state.output = await get_model().generate(state.messages, tools, choice, config)
        state.messages.append(state.output.message)
        return state

    return solve


def completion_of(output: ModelOutput) -> dict[str, Any]:
    """A model's output as a chat completion, which ``answers`` can read."""
    if not output.choices:
        return {}
    message = output.choices[0].message
    calls = [
        {"function": {"name": call.function, "arguments": call.arguments}}
        for call in message.tool_calls or []
    ]
    return {
        "choices": [
            {
                "finish_reason": _FINISH_REASONS.get(output.stop_reason, output.stop_reason),
                "message": {"content": message.text, "tool_calls": calls},
            }
        ]
    }


@metric
def jga_orig() -> Metric:
    """Joint goal accuracy under the original schemas, in [0, 1]; NaN without them."""

    def compute(scores: list[SampleScore]) -> float:
        return _mean_of(scores, ["original"])

    return compute


@metric
def jga_v1_5() -> Metric:
    """The mean over v1 to v5 of joint goal accuracy, in [0, 1]; NaN without one of them."""

    def compute(scores: list[SampleScore]) -> float:
        return _mean_of(scores, ["v1", "v2", "v3", "v4", "v5"])

    return compute


@metric
def ss_jga() -> Metric:
    """Schema sensitivity: the mean over frames of sample deviation / mean under v1 to v5."""

    def compute(scores: list[SampleScore]) -> float:
        frames: dict[str, list[float]] = defaultdict(list)
        for sample in scores:
            identity = sample.sample_metadata or {}
            if identity["variant"] != "original":
                frames[identity["frame_id"]].append(sample.score.as_float())
        sensitivities = [
            float(np.std(values, ddof=1) / np.mean(values)) if any(values) else 0.0
            for values in frames.values()
            if len(values) > 1
        ]
        return float(np.mean(sensitivities)) if sensitivities else float("nan")

    return compute


@metric
def jga_worst() -> Metric:
    """The mean over frames of the least score under the original and v1 to v5; NaN without one."""

    def compute(scores: list[SampleScore]) -> float:
        return float(np.mean(worst_case(_by_wording(scores))))

    return compute


@metric
def flips() -> Metric:
    """The share of frames that are right under one of these six and wrong under another."""

    def compute(scores: list[SampleScore]) -> float:
        return float(np.mean(flipped(_by_wording(scores))))

    return compute


def _by_wording(scores: Sequence[SampleScore]) -> Floats:
    """The frames' scores under the original and v1 to v5, NaN where there is none [6, frames]."""
    by_frame: dict[str, dict[str, float]] = defaultdict(dict)
    for sample in scores:
        identity = sample.sample_metadata or {}
        by_frame[identity["frame_id"]][identity["variant"]] = sample.score.as_float()
    names = (ORIGINAL, *PAPER_VARIANTS)
    frames = [[of_frame.get(name, np.nan) for name in names] for of_frame in by_frame.values()]
    return np.array(frames).reshape(-1, len(names)).T


def _mean_of(scores: Sequence[SampleScore], variants: Sequence[str]) -> float:
    by_variant: dict[str, list[float]] = defaultdict(list)
    for sample in scores:
        by_variant[(sample.sample_metadata or {})["variant"]].append(sample.score.as_float())
    if not all(name in by_variant for name in variants):
        return float("nan")
    return float(np.mean([np.mean(by_variant[name]) for name in variants]))


@scorer(
    metrics=[
        jga_orig(), jga_v1_5(), ss_jga(), jga_worst(), flips(), mean(),
        stderr(cluster="dialogue_id"),
    ]
)  # fmt: skip
def _joint_goal_accuracy(requests: dict[str, Request], plan: Plan) -> Scorer:
    """The official joint goal accuracy of each frame."""
    references: dict[str, dict[str, Any]] = {}
    for name in plan.names:
        rows = plan.data.rows(name, frame_rows).remove_columns(["history", "schema"])
        for row in rows:
            references[f"{name}|{row['frame_id']}|1"] = row

    async def score(state: TaskState, target: Target) -> Score:
        request = requests[str(state.sample_id)]
        body = completion_of(state.output)
        reading = plan.read(request, body)
        assert isinstance(reading, Reading)  # noqa: S101 - the task is of states
        (row,) = Answered([{"body": body}], 0, reading).rows(request)
        true = pa.Table.from_pylist([references[request.custom_id]])
        predicted = pa.Table.from_pylist([row], PREDICTION)
        frame_scores = score_frames(true, predicted, row["variant"]).scores
        return Score(
            value=float(frame_scores["joint_goal_accuracy"][0]),
            answer=json.dumps({key: row[key] for key in ("active_intent", "slot_values")}),
            metadata={"prediction": json.dumps(row), "counts": dict(reading.counts)},
        )

    return score


def predictions_of(log: Any) -> dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The header and the prediction rows of each wording in a log of the task.

    Args:
        log: What ``inspect_ai.log.read_eval_log`` returned.

    Raises:
        SgdxError: It is another task's log, or a sample has no score.
    """
    facts = (log.eval.metadata or {}).get("sgdx")
    if facts is None or not log.samples:
        raise SgdxError(f"{log.location}: found a log of {log.eval.task}, expected of sgdx_state")
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for sample in log.samples:
        records = [score.metadata for score in (sample.scores or {}).values() if score.metadata]
        if not records:
            raise SgdxError(f"{log.location}: sample {sample.id} has no score, expected one each")
        row = json.loads(records[0]["prediction"])
        rows[row["variant"]].append(row)
        counts[row["variant"]]["requests"] += 1
        for name, number in records[0]["counts"].items():
            counts[row["variant"]][name] += number
    header = {"model": log.eval.model, "tracker": "llm", "host": HOST, **json.loads(facts)}
    header |= {"services": "frame", "system_acts": False, "dates": [log.eval.created]}
    variant_facts = json.loads((log.eval.metadata or {}).get("sgdx_variants", "{}"))
    return {
        name: (
            {
                **header,
                "variant": name,
                **variant_facts.get(name, {}),
                "counts": {"invalid": 0, **counts[name]},
            },
            sorted(predicted, key=lambda row: str(row["frame_id"])),
        )
        for name, predicted in rows.items()
    }
