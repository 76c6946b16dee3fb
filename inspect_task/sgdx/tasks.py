"""The dialogue state, and API calls, under several variants as tasks of inspect_ai.

One task asks about all variants, since schema sensitivity compares a frame under several of them:

    inspect eval sgdx/state --model openai/gpt-4.1-mini -T dialogues=subset.json

``sgdx ask from-inspect LOG --output DIR`` writes prediction files of its log, which
are scored as any others. Inspect itself shows only the headline figures, which are the same.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
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
from inspect_ai.tool import ToolChoice as ToolChoiceOfInspect
from inspect_ai.tool import ToolFunction, ToolInfo, ToolParams
from inspect_ai.util import JSONSchema

from sgdx_dataset import SgdxError
from sgdx_eval.prediction_files import Header
from sgdx_eval.requested import RequestedData, frame_rows
from sgdx_llm.answers import CallReading, Reading
from sgdx_llm.plan import Answered, Plan, Request
from sgdx_llm.predictions import header
from sgdx_llm.requests import AnswerForm, RequestSettings
from sgdx_metric.calls import CALL_PREDICTION, CALL_REFERENCE, score_calls
from sgdx_metric.columns import Floats
from sgdx_metric.rows import PREDICTION, REFERENCE
from sgdx_metric.scoring import score_frames
from sgdx_metric.signature import dialogues_mark
from sgdx_metric.statistics import flipped, worst_case
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

HOST = "inspect_ai"
_VARIANTS = "original,v1,v2,v3,v4,v5"
_MESSAGES = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
# OpenAI's names for Inspect's reasons why an answer ended, where the two differ.
_FINISH_REASONS = {"max_tokens": "length", "model_length": "length"}


@task
def state(
    variants: str = _VARIANTS,
    dialogues: str | None = None,
    answer: AnswerForm = "tool",
    strict: bool = False,
    source: str | None = None,
    split: str = "test",
) -> Task:
    """The dialogue state of every frame under every variant.

    Args:
        variants: The variants, with commas between them.
        dialogues: A file of ``sgdx subset``; None for the whole split.
        answer: The form of the answer, as for ``--answer`` of ``sgdx ask``.
        strict: Whether schemas are marked as strict.
        source: Where SGD is, as for ``sgdx_dataset.load``.
        split: ``train``, ``validation`` or ``test``.
    """
    settings = RequestSettings(model=HOST, answer=answer, strict=strict)
    plan = _plan(variants, dialogues, source, split, settings)
    return _task(plan, _joint_goal_accuracy)


@task
def calls(
    variants: str = _VARIANTS,
    dialogues: str | None = None,
    distractors: int = 0,
    source: str | None = None,
    split: str = "test",
) -> Task:
    """The call that the system makes after each user turn that is followed by one."""
    settings = RequestSettings(model=HOST, task="calls", distractors=distractors)
    plan = _plan(variants, dialogues, source, split, settings)
    return _task(plan, _call_accuracy)


def _plan(
    variants: str | list[str],
    dialogues: str | None,
    source: str | None,
    split: str,
    settings: RequestSettings,
) -> Plan:
    """The requests of a task; paths are taken from where the user stands."""
    names = variants if isinstance(variants, list) else variants.split(",")
    path = Path(dialogues).absolute() if dialogues else None
    return Plan(RequestedData(source, split, {}, path), names, settings, HOST)


def _task(plan: Plan, score: Callable[[dict[str, Request], Plan], Scorer]) -> Task:
    requests = {request.custom_id: request for request in plan.requests()}
    headers = {name: header(plan, name) for name in plan.names}
    return Task(
        dataset=[_sample(request) for request in requests.values()],
        solver=_ask(requests, plan),
        scorer=score(requests, plan),
        config=GenerateConfig(temperature=0, seed=0, max_tokens=1024),
        metadata={"sgdx": msgspec.json.encode(headers).decode()},
    )


def _sample(request: Request) -> Sample:
    row = request.rows[0]
    return Sample(
        id=request.custom_id,
        input=[_MESSAGES[m["role"]](content=m["content"]) for m in request.bodies[0]["messages"]],
        metadata={
            "frame_id": row["frame_id"],
            "variant": row["variant"],
            "dialogue_id": row["dialogue_id"],
        },
    )


@solver
def _ask(requests: dict[str, Request], plan: Plan) -> Solver:
    """Ask the model once, with the function or the schema of the request's own service."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        body = requests[str(state.sample_id)].bodies[0]
        tools: list[ToolInfo] = []
        choice: ToolChoiceOfInspect | None = None
        config = GenerateConfig()
        if "tools" in body:
            tools = [_tool(tool["function"]) for tool in body["tools"]]
            choice = "any" if plan.settings.task == "calls" else ToolFunction(tools[0].name)
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


def _tool(function: dict[str, Any]) -> ToolInfo:
    return ToolInfo(
        name=function["name"],
        description=function["description"],
        parameters=ToolParams.model_validate(function["parameters"]),
    )


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
def original() -> Metric:
    """The accuracy under the original schemas, in [0, 1]; NaN without them."""
    return lambda scores: _mean_of(scores, ["original"])


@metric
def v1_5() -> Metric:
    """The mean over v1 to v5 of the accuracy, in [0, 1]; NaN without one of them."""
    return lambda scores: _mean_of(scores, ["v1", "v2", "v3", "v4", "v5"])


@metric
def sensitivity() -> Metric:
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
def worst() -> Metric:
    """The mean over frames of the least score under the original and v1 to v5; NaN without one."""
    return lambda scores: float(np.mean(worst_case(_by_variant(scores))))


@metric
def flips() -> Metric:
    """The share of frames that are right under one of these six and wrong under another."""
    return lambda scores: float(np.mean(flipped(_by_variant(scores))))


def _by_variant(scores: Sequence[SampleScore]) -> Floats:
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


_METRICS = [
    original(), v1_5(), sensitivity(), worst(), flips(), mean(), stderr(cluster="dialogue_id"),
]  # fmt: skip


def _references(plan: Plan, columns: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The gold frame rows, by variant and frame."""
    references: dict[str, dict[str, Any]] = {}
    for name in plan.names:
        rows = plan.data.rows(name, frame_rows)
        for row in rows.select_columns([c for c in rows.column_names if c in columns]):
            references[f"{name}|{row['frame_id']}"] = row
    return references


@scorer(metrics=_METRICS)
def _joint_goal_accuracy(requests: dict[str, Request], plan: Plan) -> Scorer:
    """The official joint goal accuracy of each frame."""
    references = _references(plan, REFERENCE.names)

    async def score(state: TaskState, target: Target) -> Score:
        (row,), reading = _read(state, requests, plan)
        gold = references[f"{row['variant']}|{row['frame_id']}"]
        true = pa.Table.from_pylist([gold], REFERENCE)
        predicted = pa.Table.from_pylist([row], PREDICTION)
        frame_scores = score_frames(true, predicted, row["variant"]).scores
        return _score(float(frame_scores["joint_goal_accuracy"][0]), [row], reading)

    return score


@scorer(metrics=_METRICS)
def _call_accuracy(requests: dict[str, Request], plan: Plan) -> Scorer:
    """Whether the right function is called with the right arguments."""
    references = _references(plan, CALL_REFERENCE.names)

    async def score(state: TaskState, target: Target) -> Score:
        rows, reading = _read(state, requests, plan)
        gold = [references[f"{row['variant']}|{row['frame_id']}"] for row in rows]
        true = pa.Table.from_pylist(gold, CALL_REFERENCE)
        predicted = pa.Table.from_pylist(rows, CALL_PREDICTION)
        of_calls = score_calls(true, predicted, rows[0]["variant"]).scores["call_accuracy"]
        return _score(float(np.mean(of_calls)), rows, reading)

    return score


def _read(
    state: TaskState, requests: dict[str, Request], plan: Plan
) -> tuple[list[dict[str, Any]], Reading | CallReading]:
    """The prediction rows of a sample's answer, and what it says."""
    request = requests[str(state.sample_id)]
    body = completion_of(state.output)
    reading = plan.read(request, body)
    return Answered([{"body": body}], 0, reading).rows(request), reading


def _score(value: float, rows: list[dict[str, Any]], reading: Reading | CallReading) -> Score:
    said = [
        {key: value for key, value in row.items() if key not in ("frame_id", "variant")}
        for row in rows
    ]
    return Score(
        value=value,
        answer=json.dumps(said),
        metadata={"predictions": json.dumps(rows), "counts": dict(reading.counts)},
    )


def predictions_of(
    log: Any,
) -> tuple[dict[str, tuple[Header, list[dict[str, Any]]]], list[str], int]:
    """Of a log: headers and rows by variant, the dialogues with all answers, how many lack some."""
    metadata = log.eval.metadata or {}
    if "sgdx" not in metadata:
        raise SgdxError(f"{log.location}: found a log of {log.eval.task}, expected of sgdx/state")
    scored: dict[str, Any] = {}
    for sample in log.samples or ():
        records = [score.metadata for score in (sample.scores or {}).values() if score.metadata]
        if records:
            scored[str(sample.id)] = records[0]
    planned = [str(name) for name in log.eval.dataset.sample_ids or scored]
    lacking = {_dialogue_of(name) for name in planned if name not in scored}
    whole = sorted({_dialogue_of(name) for name in planned} - lacking)
    if not whole:
        raise SgdxError(f"{log.location}: found no dialogue that has all of its answers")
    headers = msgspec.json.decode(metadata["sgdx"], type=dict[str, Header])
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for name, record in scored.items():
        if _dialogue_of(name) in lacking:
            continue
        of_sample = json.loads(record["predictions"])
        variant = of_sample[0]["variant"]
        rows[variant] += of_sample
        counts[variant]["requests"] += 1
        for key, number in record["counts"].items():
            counts[variant][key] += number
    files = {}
    for name, predicted in rows.items():
        stated = headers[name]
        stated = msgspec.structs.replace(
            stated,
            system={**stated.system, "model": log.eval.model},
            counts={"unread": 0, **counts[name], "dates": [log.eval.created]},
            dialogues=dialogues_mark(whole) if lacking else stated.dialogues,
        )
        files[name] = stated, sorted(predicted, key=lambda row: str(row["frame_id"]))
    return files, whole, len(lacking)


def _dialogue_of(sample_id: str) -> str:
    """The dialogue of a sample, whose id is ``<variant>|<dialogue>/<turn>/<service>|<repeat>``."""
    return sample_id.split("|")[1].rsplit("/", 2)[0]
