"""Dialogue states, and calls of tools, under several variants as tasks of inspect_ai.

One task asks about all variants, since schema sensitivity compares an item under several of them:

    inspect eval sgdx/state --model openai/gpt-4.1-mini -T dialogues=subset.json
    inspect eval sgdx/calls --model openai/gpt-4.1-mini -T tools=calls/sgd

``sgdx ask from-inspect LOG --output DIR`` writes prediction files of its log, which
are scored as any others. Inspect itself shows only the headline figures, which are the same.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
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
from inspect_ai.tool import ToolCall, ToolFunction, ToolInfo, ToolParams
from inspect_ai.tool import ToolChoice as ToolChoiceOfInspect
from inspect_ai.util import JSONSchema

from sgdx_eval.predictions import NO_HEADER, Header
from sgdx_llm.harness import VARIANTS, references, task_plan
from sgdx_llm.messages import decode_arguments
from sgdx_llm.plan import Plan
from sgdx_llm.predictions import header
from sgdx_llm.requests import AnswerForm, Request, RequestSettings
from sgdx_metric.rows import PREDICTION, REFERENCE
from sgdx_metric.scoring import score_frames
from sgdx_metric.statistics import flipped, variation, worst_case
from sgdx_metric.variants import ORIGINAL, floor_of
from sgdx_tools.asking import ToolPlan
from sgdx_tools.options import AskOptions
from sgdx_tools.predictions import Prediction, PredictionFile
from sgdx_tools.project import load
from sgdx_tools.scoring import score_variant

HOST = "inspect_ai"
Json = dict[str, Any]
Scores = dict[str, float]
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
    plan = task_plan(settings, variants, dialogues, source, split)
    gold = references(plan, REFERENCE.names)

    def score_frame(row: Json) -> Scores:
        true = pa.Table.from_pylist([gold[row["variant"], row["frame_id"]]], REFERENCE)
        predicted = pa.Table.from_pylist([row], PREDICTION)
        scores = score_frames(true, predicted, row["variant"]).scores
        return {"right": float(scores["joint_goal_accuracy"][0])}

    headers = {name: header(plan, name) for name in plan.names}
    return _task(plan, headers, score_frame, lambda frame: frame.rsplit("/", 2)[0])


@task
def calls(tools: str, text_calls: bool = False) -> Task:
    """The calls of every case of a folder of tools under every variant, such as calls of SGD.

    ``sgdx tools import --sgd original v1 v2 v3 v4 v5 --output tools`` makes the folder of these.
    The figure is the share of exactly right answers; ``text_calls`` is as for ``sgdx tools run``.
    """
    tool_set = load(Path(tools))
    asked = AskOptions(model=HOST, text_calls=text_calls)
    plan, cases = ToolPlan(tool_set, asked), {case.id: case for case in tool_set.cases}
    plan.host = HOST

    def score_case(made: Prediction) -> Scores:
        file = PredictionFile(NO_HEADER, [{made.id: made}])
        worded, rules = plan.worded[made.variant], tool_set.source.rules
        ((of,),) = score_variant([cases[made.id]], worded, file, rules, {})
        near = {} if of.score.call is None else {"call_fuzzy": of.score.call}
        return {"right": float(of.is_right), **near}

    headers = {name: plan.header(name) for name in plan.names}
    return _task(plan, headers, score_case, lambda case: cases[case].dialogue or case)


def _task(
    plan: Plan | ToolPlan,
    headers: Mapping[str, Header],
    score: Callable[[Any], Scores],
    dialogue_of: Callable[[str], str],
) -> Task:
    """The task of a plan's requests, each about an item under a variant."""
    requests: dict[str, Request] = {request.custom_id: request for request in plan.requests()}
    samples = []
    for name, request in requests.items():
        variant, _, rest = name.partition("|")
        item = rest.rpartition("|")[0]
        identity = {"item": item, "variant": variant, "dialogue": dialogue_of(item)}
        messages = [_message(one) for one in request.body["messages"]]
        samples.append(Sample(id=name, input=messages, metadata=identity))
    return Task(
        dataset=samples,
        solver=_ask(requests),
        scorer=_right(requests, plan, score),
        config=GenerateConfig(temperature=0, seed=0, max_tokens=1024),
        metadata={"sgdx": msgspec.json.encode(headers).decode()},
    )


def _message(one: Json) -> ChatMessage:
    """A message in OpenAI's form as Inspect has it."""
    content = one.get("content") or ""
    if one["role"] == "tool":
        return ChatMessageTool(content=content, tool_call_id=one["tool_call_id"])
    if one["role"] == "assistant":
        made = [
            ToolCall(call["id"], of["name"], decode_arguments(of["arguments"]))
            for call in one.get("tool_calls") or ()
            for of in [call["function"]]
        ]
        return ChatMessageAssistant(content=content, tool_calls=made or None)
    return (ChatMessageSystem if one["role"] == "system" else ChatMessageUser)(content=content)


@solver
def _ask(requests: Mapping[str, Request]) -> Solver:
    """Ask the model once, with the functions or the schema of the request."""

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
            is_free = body["tool_choice"] == "auto"
            choice = "auto" if is_free else ToolFunction(tools[0].name)
            config = config if is_free else GenerateConfig(parallel_tool_calls=False)
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
    """The headline figures, in [0, 1]; NaN where there are no other variants.

    ``original`` and ``reworded`` are shares of right items under the original words and under all
    others, ``sensitivity`` is the schema sensitivity under the others, ``worst`` the mean over
    items of the least score under all variants, and ``flips`` the share of items that are right
    under one of them and wrong under another. ``call_fuzzy`` is a mean in which values of calls
    that are nearly right count in part.
    """

    def compute(scores: list[SampleScore]) -> Value:
        by_item: dict[str, dict[str, float]] = defaultdict(dict)
        near = list[float]()
        for sample in scores:
            identity = sample.sample_metadata or {}
            by_item[identity["item"]][identity["variant"]] = sample.score.as_float()
            metadata = sample.score.metadata or {}
            near += [metadata["call_fuzzy"]] if "call_fuzzy" in metadata else []
        asked = {name for of in by_item.values() for name in of if not floor_of(name)}
        names = sorted(asked, key=ORIGINAL.__ne__)
        rows = [[of.get(name, np.nan) for name in names] for of in by_item.values()]
        table = np.array(rows or [[np.nan]]).T  # [variants, items]
        found = {
            "original": float(table[0].mean()),
            "reworded": float(table[1:].mean()) if len(table) > 1 else np.nan,
            "sensitivity": float(variation(table[1:]).mean()),
            "worst": float(worst_case(table).mean()),
            "flips": float(flipped(table).mean()),
        }
        return {**found, **({"call_fuzzy": float(np.mean(near))} if near else {})}

    return compute


@scorer(metrics=[figures(), mean(), stderr(cluster="dialogue")])
def _right(
    requests: Mapping[str, Any], plan: Plan | ToolPlan, scores_of: Callable[[Any], Scores]
) -> Scorer:
    """How right each answer is: the official joint goal accuracy, or whether the calls are."""

    async def score(state: TaskState, target: Target) -> Score:
        completion: Json = {}
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
        made_of, counts = plan.read(requests[str(state.sample_id)], completion)
        scores, row = scores_of(made_of), msgspec.to_builtins(made_of)
        said = {key: of for key, of in row.items() if key not in ("frame_id", "id", "variant")}
        return Score(
            value=scores.pop("right"),
            answer=json.dumps([said]),
            metadata={"predictions": json.dumps([row]), "counts": dict(counts), **scores},
        )

    return score
