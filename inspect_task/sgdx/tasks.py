"""The dialogue state under several variants as a task of inspect_ai.

One task asks about all variants, since schema sensitivity compares a frame under several of them:

    inspect eval sgdx/state --model openai/gpt-4.1-mini -T dialogues=subset.json

``sgdx ask from-inspect LOG --output DIR`` writes prediction files of its log, which
are scored as any others. Inspect itself shows only the headline figures, which are the same.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ResponseSchema,
    get_model,
)
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolChoice as ToolChoiceOfInspect
from inspect_ai.tool import ToolFunction, ToolInfo, ToolParams
from inspect_ai.util import JSONSchema

from sgdx_llm.harness import VARIANTS, references, task_plan
from sgdx_llm.plan import FrameRequest, Plan
from sgdx_llm.predictions import header
from sgdx_llm.requests import AnswerForm, RequestSettings
from sgdx_metric.rows import PREDICTION, REFERENCE
from sgdx_metric.scoring import score_frames
from sgdx_metric.statistics import flipped, variation, worst_case

HOST = "inspect_ai"
_MESSAGES = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
# OpenAI's names for Inspect's reasons why an answer ended, where the two differ.
_FINISH_REASONS = {"max_tokens": "length", "model_length": "length"}


@task
def state(
    variants: str = VARIANTS,
    dialogues: str | None = None,
    answer: AnswerForm = "tool",
    strict: bool = False,
    source: str | None = None,
    split: str = "test",
) -> Task:
    """The dialogue state of every frame under every variant.

    ``answer`` and ``strict`` are as for ``sgdx ask``, the others as for ``task_plan``.
    """
    settings = RequestSettings(model=HOST, answer=answer, strict=strict)
    return _task(task_plan(settings, variants, dialogues, source, split))


def _task(plan: Plan) -> Task:
    requests = {request.custom_id: request for request in plan.requests()}
    samples = []
    for name, request in requests.items():
        messages = [
            _MESSAGES[one["role"]](content=one["content"]) for one in request.body["messages"]
        ]
        identity = {key: request.row[key] for key in ("frame_id", "variant", "dialogue_id")}
        samples.append(Sample(id=name, input=messages, metadata=identity))
    headers = {name: header(plan, name) for name in plan.names}
    return Task(
        dataset=samples,
        solver=_ask(requests, plan),
        scorer=_joint_goal_accuracy(requests, plan),
        config=GenerateConfig(temperature=0, seed=0, max_tokens=1024),
        metadata={"sgdx": msgspec.json.encode(headers).decode()},
    )


@solver
def _ask(requests: dict[str, FrameRequest], plan: Plan) -> Solver:
    """Ask the model once, with the function or the schema of the request's own service."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        body = requests[str(state.sample_id)].body
        tools: list[ToolInfo] = []
        choice: ToolChoiceOfInspect | None = None
        config = GenerateConfig()
        if "tools" in body:
            for function in (tool["function"] for tool in body["tools"]):
                parameters = ToolParams.model_validate(function["parameters"])
                tools.append(
                    ToolInfo(
                        name=function["name"],
                        description=function["description"],
                        parameters=parameters,
                    )
                )
            choice = ToolFunction(tools[0].name)
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


@metric
def figures() -> Metric:
    """The headline figures, in [0, 1]; NaN where one of the variants that they are of is missing.

    ``original`` and ``v1_5`` are accuracies, ``sensitivity`` is the schema sensitivity under v1 to
    v5, ``worst`` the mean over frames of the least score under these six variants, and ``flips``
    the share of frames that are right under one of them and wrong under another.
    """

    def compute(scores: list[SampleScore]) -> Value:
        by_frame: dict[str, dict[str, float]] = defaultdict(dict)
        for sample in scores:
            identity = sample.sample_metadata or {}
            by_frame[identity["frame_id"]][identity["variant"]] = sample.score.as_float()
        names = VARIANTS.split(",")
        rows = [[frame.get(name, np.nan) for name in names] for frame in by_frame.values()]
        table = np.array(rows or [[np.nan] * len(names)]).T  # [variants, frames]
        return {
            "original": float(table[0].mean()),
            "v1_5": float(table[1:].mean()),
            "sensitivity": float(variation(table[1:]).mean()),
            "worst": float(worst_case(table).mean()),
            "flips": float(flipped(table).mean()),
        }

    return compute


_METRICS = [figures(), mean(), stderr(cluster="dialogue_id")]


@scorer(metrics=_METRICS)
def _joint_goal_accuracy(requests: dict[str, FrameRequest], plan: Plan) -> Scorer:
    """The official joint goal accuracy of each frame."""
    gold = references(plan, REFERENCE.names)

    async def score(state: TaskState, target: Target) -> Score:
        completion: dict[str, Any] = {}
        if state.output.choices:
            message = state.output.choices[0].message
            made = [
                {"function": {"name": call.function, "arguments": call.arguments}}
                for call in message.tool_calls or []
            ]
            reason: Any = state.output.stop_reason
            choice = {
                "finish_reason": _FINISH_REASONS.get(reason, reason),
                "message": {"content": message.text, "tool_calls": made},
            }
            completion = {"choices": [choice]}
        row, counts = plan.read(requests[str(state.sample_id)], completion)
        variant = row["variant"]
        true = pa.Table.from_pylist([gold[variant, row["frame_id"]]], REFERENCE)
        predicted = pa.Table.from_pylist([row], PREDICTION)
        value = score_frames(true, predicted, variant).scores["joint_goal_accuracy"][0]
        said = {key: of for key, of in row.items() if key not in ("frame_id", "variant")}
        return Score(
            value=float(value),
            answer=json.dumps([said]),
            metadata={"predictions": json.dumps([row]), "counts": dict(counts)},
        )

    return score
