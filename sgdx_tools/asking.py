"""Asking a model or a program for the calls of every case under every wording."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence

from baselines.llm.asking import ask, open_answers
from baselines.llm.endpoint import base_url, host_of
from baselines.llm.estimate import Estimate, TokenCounter, body_tokens
from baselines.llm.options import read_headers, read_limits, read_parameters, read_prices
from baselines.llm.program import HOST, split_command
from baselines.llm.providers import PROVIDERS
from baselines.llm.requests import RequestSettings
from baselines.llm.tables import prediction_line
from baselines.llm.usage import Usage
from sgdx_dataset import SgdxError

from .folder import read_tool_set
from .plan import ToolPlan, ToolRequest
from .runs import unfinished_names, write_run


def read_plan(options: Namespace) -> ToolPlan:
    """The plan of a run, from the options.

    Raises:
        SgdxError: An option is at fault, or the tools or cases are.
    """
    if options.command:
        split_command(options.command)  # an error in it is told before anything is read
    model = options.model or options.command
    if not model:
        raise SgdxError("found neither --model nor --command, expected one of them")
    settings = RequestSettings(
        model=model,
        task="calls",
        tool_choice="auto",
        parameters=read_parameters(options.set),
        omitted=tuple(dict.fromkeys(options.omit)),
        provider=PROVIDERS[options.provider],
    )
    server = host_of(base_url(options.base_url, settings.provider))
    host = f"{HOST}{options.command}" if options.command else server
    tool_set = read_tool_set(options.tools)
    names = list(dict.fromkeys(options.wording or tool_set.wordings))
    return ToolPlan(tool_set, names, settings, host, options.repeats, options.distractors)


def run_plan(options: Namespace) -> int:
    """Ask what has no answer yet, and write the predictions of wordings that have all of theirs.

    Args:
        options: Those of ``options.parser`` for ``run``.

    Returns:
        How many answers are missing still.
    """
    read_headers(options)
    limits = read_limits(options)
    plan, output = read_plan(options), options.output
    with open_answers(output) as answers:
        if unfinished_names(plan, output):
            provider = plan.settings.provider
            ask(options, plan, plan.count(), answers, provider, limits, ToolRequest.line)
            for name, figures in write_run(plan, answers, output, read_prices(options)).items():
                print(prediction_line(name, figures), file=sys.stderr)
            if missing := plan.missing_counts(answers):
                parts = ", ".join(f"{name} {number}" for name, number in missing.items())
                print(
                    f"{missing.total()} answers are missing ({parts}): give the same command again "
                    "to continue",
                    file=sys.stderr,
                )
                return missing.total()
        print(*(output / f"{name}.jsonl" for name in plan.names), sep="\n")
        return 0


def estimate(plan: ToolPlan, count: TokenCounter) -> list[Estimate]:
    """Count the requests of a plan and their tokens, one wording after the other."""
    counted_keys = set[str]()
    return [_estimate_wording(plan, name, count, counted_keys) for name in plan.names]


def _estimate_wording(
    plan: ToolPlan, name: str, count: TokenCounter, counted_keys: set[str]
) -> Estimate:
    requests = repeated = sent = made = longest = 0
    for request, answer in zip(plan.requests_of(name), _right_answers(plan, name)):
        requests += 1
        if request.keys[0] in counted_keys:
            repeated += 1
            continue
        counted_keys.add(request.keys[0])
        tokens = body_tokens({"tools": [], **request.bodies[0]}, count)
        longest = max(longest, tokens)
        sent, made = sent + tokens, made + count(answer)
    return Estimate(name, requests, repeated, longest, Usage(sent=sent, made=made))


def _right_answers(plan: ToolPlan, name: str) -> Sequence[str]:
    """The expected calls of each request as JSON; empty where none is right."""
    answers = []
    for case in plan.tool_set.cases:
        calls = plan.worded[name].expect(case) or ()
        made = [{"name": call.name, "arguments": call.arguments} for call in calls]
        text = json.dumps(made, ensure_ascii=False) if made else ""
        answers += plan.repeats * [text]
    return answers
