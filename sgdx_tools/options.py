"""The commands of ``python -m sgdx_tools`` and their options."""

from __future__ import annotations

import argparse
from typing import get_args

from baselines.llm.options import SendingOptions, ServerOptions
from baselines.llm.providers import OPENAI, PROVIDERS
from baselines.llm.sending import OnRefusal
from sgdx_eval.arguments import OVER, Option, add, file, flag, option

from .data import Rule
from .importing.command import add_import

_TOOLS = file(
    "tools",
    "Read the tools from this folder. It has tools.json, and cases.jsonl and wordings/ if "
    "the command needs them.",
    "FOLDER",
)
_PREDICTIONS = (
    file(
        "--predictions",
        "Read the WORDING.jsonl files of this folder. Their lines have id, variant and calls.",
        "DIR",
        required=True,
    ),
    option(
        "--rules",
        "Choose how values are compared: exact (equal as JSON), bfcl (as the checker of that "
        "leaderboard does), or fuzzy (free text by its similarity). Default: what "
        "source.json says, else exact.",
        choices=get_args(Rule),
    ),
)


def parser() -> argparse.ArgumentParser:
    """The parser of the command line. It stores the command's name as ``command_name``."""
    program = argparse.ArgumentParser(
        "python -m sgdx_tools",
        description="What does it cost when somebody words your tools differently? Reword them, "
        "ask a model or a program for the calls under every wording, and score the difference.",
        epilog="'python -m sgdx_tools COMMAND --help' describes the options of a command.",
    )
    commands = program.add_subparsers(
        dest="command_name", required=True, metavar="COMMAND", title="commands"
    )

    def command(name: str, text: str, *options: Option) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        add(added, options)
        return added

    add_import(command("import", "Make a folder of tools from a file in a common format."))
    _add_reword(
        command(
            "reword",
            "Put tools into other words, and order the wordings v1, v2, ... by their distance from "
            "the original.",
            _TOOLS,
        )
    )
    estimate = command("estimate", "Count the requests and their tokens. Nothing is sent.", _TOOLS)
    _add_asking(estimate)
    add(estimate, [flag("--json", "Print JSON instead of a table.")])
    text = "Ask a server or a program for the calls of every case under every wording."
    run = command("run", text, _TOOLS)
    _add_asking(run)
    text = (
        "Write WORDING.jsonl for every wording into this folder. To continue a run, give the "
        "same folder."
    )
    add(run, [file("--output", text, "DIR", required=True)])
    add_sending(run)
    command(
        "score",
        "Score the calls under every wording, and compare them with those under the original "
        "words.",
        _TOOLS,
        *_PREDICTIONS,
        OVER,
        file("--output", "Also write the scores to this JSON file."),
        flag("--quiet", "Print no tables, only the verdict of --max-drop."),
        option(
            "--max-drop",
            "End with exit status 1 if the whole 95 %% interval of the loss is above this number "
            "of points.",
            type=float,
            metavar="POINTS",
        ),
    )
    text = "Show this case, or give the word 'lost' to list the cases that are lost."
    wording = "Show this wording. Default: all wordings that lose the case."
    command(
        "explain",
        "Show a case under the original words and under the words that made it wrong.",
        _TOOLS,
        option("case", text, metavar="CASE_ID"),
        *_PREDICTIONS,
        option("--wording", wording, metavar="NAME"),
    )
    command(
        "demo",
        "Score a program on eight sample tools, show what the rewording cost, and repair the "
        "words that caused it. The program reads descriptions badly on purpose.",
        file("--output", "Also keep the tools, predictions and scores in this new folder.", "DIR"),
    )
    return program


def _add_reword(command: argparse.ArgumentParser) -> None:
    words = command.add_mutually_exclusive_group(required=True)
    words.add_argument(
        "--with",
        dest="by",
        metavar="WAY:WHAT",
        help="Say where the words come from. model:NAME asks a model. pool:FILE takes "
        'paraphrases, as in {"book": {"name": ["reserve"], "description": [...], '
        '"parameters": {"size": {...}}}}. backtranslate:FORWARD,BACKWARD takes two '
        "translation models, or programs as command:LINE. file:FILE takes a finished "
        "wording. tools:FILE takes another version of tools.json, and makes the wording "
        "'new' from what differs.",
    )
    text = "Compose the wordings again from the lines that are left in this table review.tsv."
    review = file("--review", text)
    words.add_argument(review.names, **review.keywords)
    count = "Make this number of wordings, 1 to 9. Default: 5."
    one = "Make a separate wording for each reworded element, to measure what each costs."
    text = "Write the wordings, and the table to review, into this folder, usually FOLDER/wordings."
    languages = "Give the language codes for translation models that know several languages."
    options = (
        option("--count", count, type=int, default=5, metavar="N"),
        flag("--keep-names", "Reword only descriptions."),
        flag("--one-at-a-time", one),
        file("--output", text, "DIR", required=True),
        option("--languages", languages, nargs=2, metavar=("SOURCE", "PIVOT")),
    )
    add(command, options)
    text = (
        "These options say how the model is asked. Unless you set them, temperature is 1 and "
        "max_tokens is 8192."
    )
    server = command.add_argument_group("with model:NAME", text)
    add_server(server)
    add_sending(server)


def _add_asking(command: argparse.ArgumentParser) -> None:
    """Add the options that say what is asked of whom."""
    add_model(command, required=False)
    add_server(command)
    options = (
        option(
            "--command",
            "Ask a program instead of a server. It reads lines with custom_id, case (id, "
            "messages, tools as worded) and body. It writes lines with custom_id and calls (a "
            "list of name and arguments), or with a chat completion as response.",
            metavar="PROGRAM",
        ),
        option(
            "--wording",
            "Ask under these wordings. Default: original and all in wordings/.",
            nargs="+",
            action="extend",
            metavar="NAME",
        ),
        option(
            "--distractors",
            "Show N other tools of tools.json beside those of each case. Default: 0.",
            type=int,
            default=0,
            metavar="N",
        ),
        option(
            "--repeats",
            "Ask everything N times. How far the answers vary under one wording is noise, which no "
            "rewording makes. Default: 1.",
            type=int,
            default=1,
            metavar="N",
        ),
    )
    add(command, options)


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


def server_of(options: argparse.Namespace) -> ServerOptions:
    """Which server is asked."""
    return ServerOptions(
        provider=options.provider,
        base_url=options.base_url,
        set=tuple(options.set),
        omit=options.omit,
        price=options.price,
    )


def sending_of(options: argparse.Namespace) -> SendingOptions:
    """How requests are sent."""
    return SendingOptions(
        header=tuple(options.header),
        on_refusal=options.on_refusal,
        stop_invalid=options.stop_invalid,
        concurrency=options.concurrency,
        max_requests=options.max_requests,
        max_cost=options.max_cost,
    )
