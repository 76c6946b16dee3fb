"""Asking a model or a program for the calls of every case under every variant."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from sgdx_dataset import SgdxError
from sgdx_eval.prediction_files import finished_names, versions, write_predictions
from sgdx_llm.answer_file import AnswerFile
from sgdx_llm.asking import ask, open_answers
from sgdx_llm.estimate import estimate_variant, print_estimates, token_counter
from sgdx_llm.options import SendingOptions, ServerOptions
from sgdx_llm.predictions import AnswerTally, prediction_line
from sgdx_llm.program import HOST, public_name
from sgdx_llm.providers import base_url, host_of
from sgdx_llm.requests import RequestSettings
from sgdx_llm.usage import Price

from .data import Json
from .folder import read_tool_set
from .options import AskOptions
from .plan import ToolPlan
from .predictions import Prediction, beginning, read_calls


def settings_of(
    asked: ServerOptions, model: str, defaults: Json | None = None, text_calls: bool = False
) -> tuple[RequestSettings, str]:
    """What requests ask for, and the server that is asked, from the options."""
    settings = RequestSettings(
        model=model,
        task="calls",
        tool_choice="auto",
        text_calls=text_calls,
        parameters={**(defaults or {}), **asked.parameters},
        omitted=tuple(dict.fromkeys(asked.omit)),
        provider=asked.known_provider(),
    )
    return settings, host_of(base_url(asked.base_url, settings.provider))


def read_plan(folder: Path, asked: AskOptions) -> ToolPlan:
    """The plan of a run, from the options."""
    program = public_name(asked.command) if asked.command else None
    model = asked.model or program
    if not model:
        raise SgdxError("found neither --model nor --command, expected one of them")
    settings, server = settings_of(asked, model, text_calls=asked.text_calls)
    host = f"{HOST}{program}" if program else server
    tool_set = read_tool_set(folder).first(asked.limit)
    for case, why in tool_set.left_out.items():
        print(f"note: case {case} is left out: it cannot be right under {why}", file=sys.stderr)
    names = list(dict.fromkeys(asked.variant or tool_set.variants))
    return ToolPlan(tool_set, names, settings, host, asked.repeats, asked.distractors)


def run_plan(folder: Path, asked: AskOptions, sending: SendingOptions, output: Path) -> int:
    """Ask what has no answer yet, and write the predictions of variants that have all of theirs.

    The exit status is 1 where answers are missing still.
    """
    sending.check(asked.prices)  # an error in it is told before anything is read
    plan = read_plan(folder, asked)
    with open_answers(output) as answers:
        headers = {name: plan.header(name) for name in plan.names}
        if len(finished_names(output, headers)) < len(headers):
            ask(plan, plan.count(), answers, asked, sending, asked.command)
            missing = plan.missing_counts(answers)
            for name in plan.names:
                if not missing[name]:
                    figures = _write(plan, name, answers, output, asked.prices)
                    print(prediction_line(name, figures), file=sys.stderr)
                    if texts := figures["text_calls"]:
                        found = f"{texts} texts under {name} look like calls, and count as none"
                        print(f"note: {found}; --text-calls reads them", file=sys.stderr)
            if missing:
                parts = ", ".join(f"{name} {missing[name]}" for name in plan.names if missing[name])
                print(
                    f"{missing.total()} answers are missing ({parts}): give the same command again "
                    "to continue",
                    file=sys.stderr,
                )
                return 1
        print(*(output / f"{name}.jsonl" for name in plan.names), sep="\n")
        return 0


def _write(
    plan: ToolPlan, name: str, answers: AnswerFile, output: Path, price: Price | None
) -> Json:
    """Write the predictions under a variant; returns the figures in their header."""
    tally, predictions = AnswerTally(), []
    for request in plan.requests_of(name):
        line = answers.get(request.key)
        if line is None:
            raise SgdxError(f"{request.custom_id}: its answer has gone while it was being read")
        reading = read_calls(line["body"], plan.settings.text_calls, request.body.get("tools", ()))
        tally.add(line, reading.counts)
        repeat = int(request.custom_id.rpartition("|")[2])
        unread = bool(reading.counts["unread"])
        said = beginning(line["body"]) if unread else ""
        case = request.shown["case"]["id"]
        predictions.append(Prediction(case, name, reading.calls, repeat, unread, said))
    figures = tally.facts(price)
    header = msgspec.structs.replace(plan.header(name), counts=figures, versions=versions())
    write_predictions(output / f"{name}.jsonl", header, predictions)
    return figures


def show_estimate(folder: Path, asked: AskOptions, as_json: bool) -> None:
    """Print how many requests and tokens a run would send, variant by variant."""
    plan = read_plan(folder, asked)
    count_tokens, counter = token_counter()
    counted_keys = set[str]()
    estimates = [
        estimate_variant(name, _answered(plan, name), count_tokens, counted_keys)
        for name in plan.names
    ]
    print_estimates(estimates, counter, asked.prices, as_json)


def _answered(plan: ToolPlan, name: str) -> Iterator[tuple[str, Json, str]]:
    """Each request's key and body, and its expected calls as JSON; empty where none is right."""
    cases = {case.id: case for case in plan.tool_set.cases}
    for request in plan.requests_of(name):
        calls = plan.worded[name].expect(cases[request.shown["case"]["id"]]) or ()
        made = [msgspec.structs.asdict(call) for call in calls]
        answer = json.dumps(made, ensure_ascii=False) if made else ""
        yield request.key, request.body, answer
