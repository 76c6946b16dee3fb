"""The options of the commands, and how they are read."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from sgdx_dataset import SgdxError
from sgdx_dataset.io.arguments import split_pairs

from ..command_line import read_data
from .endpoint import base_url, host_of
from .plan import Plan
from .program import HOST
from .providers import OPENAI, PROVIDERS
from .requests import AnswerForm, RequestSettings, TaskName, ToolChoice
from .sending import OnRefusal, SendLimits, read_invalid_limit
from .usage import Price, read_price


def add_repeats(command: argparse.ArgumentParser) -> None:
    """Add the option that repeats all requests."""
    command.add_argument(
        "--repeats",
        type=int,
        default=1,
        metavar="N",
        help="Ask everything N times under one --config, and call the predictions r1 to rN. How "
        "far they vary is the sensitivity without any rewording. Default: 1.",
    )


def add_model(command: argparse._ActionsContainer, required: bool) -> None:
    """Add the option that names the model."""
    text = "Ask this model, by its name at the server."
    text += "" if required else " Not needed with --command."
    command.add_argument("--model", required=required, metavar="NAME", help=text)


def add_server(command: argparse._ActionsContainer) -> None:
    """Add the options that say which server is asked, and with which fields of requests."""
    command.add_argument(
        "--provider",
        choices=PROVIDERS,
        default=OPENAI.name,
        metavar="PROVIDER",
        help=f"Say whose server it is: {', '.join(PROVIDERS)}. This sets the address, the variable "
        "of the key, such as GROQ_API_KEY, and what the server refuses or ignores in requests. "
        "Default: openai.",
    )
    command.add_argument(
        "--base-url",
        metavar="URL",
        help="Ask the server at this address, such as http://localhost:8000/v1. It needs OpenAI's "
        "interface. Default: the provider's address; for OpenAI, $OPENAI_BASE_URL if it is "
        "set. The key is read from $OPENAI_API_KEY, or from the provider's variable.",
    )
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=JSON",
        help="Set a field of the requests, as in --set temperature=0.3. Default: temperature=0, "
        "seed=0, max_tokens=1024. The option may be given several times.",
    )
    command.add_argument(
        "--omit",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY",
        help="Leave out fields of the requests that the server refuses, as in --omit seed.",
    )
    command.add_argument(
        "--price",
        metavar="IN,CACHED,OUT",
        help="Give the price of a million tokens: of requests, of the cached part of requests, "
        "and of answers.",
    )


def add_settings(command: argparse.ArgumentParser, model_required: bool) -> None:
    """Add the options that say what requests ask for, and how."""
    add_model(command, model_required)
    add_server(command)
    command.add_argument(
        "--task",
        choices=get_args(TaskName),
        default="state",
        help="Ask for the dialogue state of every frame (state, the default), or for the call "
        "that the system makes next (calls).",
    )
    command.add_argument(
        "--answer",
        choices=get_args(AnswerForm),
        default="tool",
        help="Demand the answer as a call of the given function (tool, the default), as text of a "
        "form that the server enforces (json_schema), or as any text (text).",
    )
    command.add_argument(
        "--strict",
        action="store_true",
        help="Mark schemas as strict: every slot is required and may be null.",
    )
    command.add_argument(
        "--tool-choice",
        choices=get_args(ToolChoice),
        default="required",
        help="For --task calls: ask only after the turns that are followed by a call, and demand "
        "a call (required, the default), or ask after every turn and let the model decide "
        "(auto).",
    )
    command.add_argument(
        "--distractors",
        type=int,
        default=0,
        metavar="N",
        help="For --task calls: offer N functions of other services too. They are always the same "
        "in a dialogue. Default: 0.",
    )


def add_output(command: argparse.ArgumentParser) -> None:
    """Add the options of all commands that write predictions."""
    command.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="Write NAME.jsonl for every wording into this folder. To continue a run, give the "
        "same folder.",
    )
    command.add_argument(
        "--answers",
        type=Path,
        metavar="FILE",
        help="Keep answers in this file, and look them up there. Default: answers.jsonl in the "
        "output folder.",
    )
    command.add_argument(
        "--retry-invalid",
        type=int,
        default=0,
        metavar="N",
        help="If an answer cannot be read, ask up to N times more, with other seeds. The "
        "predictions then say so. Default: 0.",
    )


def add_predict(command: argparse.ArgumentParser) -> None:
    """Add the options of ``predict`` alone."""
    add_output(command)
    command.add_argument(
        "--command",
        metavar="PROGRAM",
        help="Ask a program instead of a server. It reads lines with custom_id, frame and body. "
        "It writes lines with custom_id and state, or with a chat completion as response.",
    )
    add_sending(command)


def add_sending(command: argparse._ActionsContainer) -> None:
    """Add the options that say how requests are sent, and when to stop."""
    add_headers(command)
    command.add_argument(
        "--on-refusal",
        choices=get_args(OnRefusal),
        default="count",
        help="If the server refuses one request, as Groq does after a call of a wrong form, count "
        "it as an invalid answer (count, the default), or stop (stop). A server that refuses "
        "all requests ends the run.",
    )
    command.add_argument(
        "--stop-invalid",
        metavar="SHARE/AFTER",
        help="Stop if this share of answers cannot be read. 0.5/50 means: half of the answers, "
        "once there are 50 or more.",
    )
    command.add_argument(
        "--concurrency",
        type=int,
        default=16,
        metavar="N",
        help="Send at most this number of requests at once. If the server has too many, fewer are "
        "sent. Default: 16.",
    )
    command.add_argument(
        "--max-requests", type=int, metavar="N", help="Stop after this number of requests."
    )
    command.add_argument(
        "--max-cost",
        type=float,
        metavar="X",
        help="Stop before the requests cost more than this, by --price.",
    )


def add_headers(command: argparse._ActionsContainer) -> None:
    """Add the option for further headers, which ``read_headers`` reads."""
    command.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Send this header with every request, which some gateways need. It is written to no "
        "file. The option may be given several times.",
    )


def read_headers(options: argparse.Namespace) -> dict[str, str]:
    """The headers of ``--header``, by name."""
    headers = {}
    for name, value in split_pairs("--header", options.header, "NAME=VALUE"):
        # The value is not repeated, as it may be a key.
        if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum()):
            raise SgdxError(f"--header {name}: expected letters, digits and - in its name")
        if not (value.isascii() and value.isprintable()):
            raise SgdxError(f"--header {name}: expected a value of printable ASCII characters")
        headers[name] = value
    return headers


def read_settings(options: argparse.Namespace, program: str | None) -> RequestSettings:
    """The settings of the requests."""
    model = options.model or program
    if not model:
        raise SgdxError("found no --model, expected the model's name at its server")
    return RequestSettings(
        model=model,
        task=options.task,
        answer=options.answer,
        strict=options.strict,
        tool_choice=options.tool_choice,
        distractors=options.distractors,
        parameters=read_parameters(options.set),
        omitted=tuple(dict.fromkeys(options.omit)),
        provider=PROVIDERS[options.provider],
    )


def read_parameters(arguments: Iterable[str]) -> dict[str, Any]:
    """The values that the arguments of ``--set`` give, by name."""
    form = "KEY=JSON, such as temperature=0.3"
    parameters = {}
    for name, value in split_pairs("--set", arguments, form):
        try:
            parameters[name] = json.loads(value)
        except (ValueError, RecursionError):
            raise SgdxError(f"--set {name}={value}: expected {form}") from None
    return parameters


def read_plan(options: argparse.Namespace, program: str | None = None) -> Plan:
    """The plan of a run, whose dialogues are read here, before anything is written."""
    settings = read_settings(options, program)
    url = base_url(options.base_url, settings.provider)
    host = f"{HOST}{program}" if program else host_of(url)
    data, configs = read_data(options)
    if options.repeats > 1 and not options.config:
        configs = ["original"]
    retries = getattr(options, "retry_invalid", 0)  # an estimate has no such option
    if program and retries:
        raise SgdxError("--retry-invalid: expected only for a server, not with --command")
    plan = Plan(data, configs, settings, host, options.repeats, retries)
    if not plan.dialogues:
        raise SgdxError("found no dialogues, expected one at least")
    return plan


def read_prices(options: argparse.Namespace) -> Price | None:
    """The prices of tokens, if they are given."""
    return read_price(options.price) if options.price else None


def read_limits(options: argparse.Namespace) -> SendLimits:
    """The limits at which sending stops."""
    for name in ("concurrency", "max_requests", "max_cost"):
        value = getattr(options, name)
        if value is not None and not value > 0:
            raise SgdxError(f"--{name.replace('_', '-')} {value}: expected more than 0")
    price = read_prices(options)
    if options.max_cost is not None and price is None:
        raise SgdxError("--max-cost: found no --price, expected what tokens cost")
    return SendLimits(
        options.concurrency,
        options.max_requests,
        options.max_cost,
        price,
        options.on_refusal,
        read_invalid_limit(options.stop_invalid) if options.stop_invalid else None,
    )
