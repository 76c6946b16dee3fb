"""The commands of ``python -m sgdx_tools`` and their options."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias, get_args

from baselines.llm.options import add_model, add_sending, add_server

from .data import Rule
from .importing.command import add_import

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def parser() -> argparse.ArgumentParser:
    """The parser of the command line. It stores the command's name as ``command_name``."""
    program = argparse.ArgumentParser(
        "python -m sgdx_tools",
        description="What does it cost when somebody words your tools differently? Reword them, ask"
        " a model or a program for the calls under every wording, and score the difference.",
        epilog="python -m sgdx_tools COMMAND --help describes the options of a command.",
    )
    commands = program.add_subparsers(
        dest="command_name", required=True, metavar="COMMAND", title="commands"
    )
    text = "make a folder of tools from somebody's file"
    command = _command(commands, "import", text)
    # Python 3.11 cannot fold the list of forms, of which one has to be chosen.
    command.usage = "%(prog)s [-h] FORM ... --output FOLDER"
    add_import(command)
    _add_reword(commands)
    _add_estimate(commands)
    _add_run(commands)
    _add_score(commands)
    _add_explain(commands)
    _add_demo(commands)
    return program


def _command(commands: Commands, name: str, text: str) -> argparse.ArgumentParser:
    return commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")


def add_tool_set(command: argparse.ArgumentParser) -> None:
    """Add the folder of tools, which all commands but ``import`` and ``demo`` read."""
    text = "folder with tools.json, and with cases.jsonl and wordings/ where the command needs them"
    command.add_argument("tools", type=Path, metavar="FOLDER", help=text)


def _add_reword(commands: Commands) -> None:
    text = "put tools into other words, and order the wordings v1, v2, ... by their distance"
    command = _command(commands, "reword", text)
    add_tool_set(command)
    words = command.add_mutually_exclusive_group(required=True)
    words.add_argument(
        "--with",
        dest="by",
        metavar="WAY:WHAT",
        help="who finds the words: model:NAME asks a model; pool:FILE takes paraphrases, as in "
        '{"book": {"name": ["reserve"], "description": [...], "parameters": {"size": {...}}}}; '
        "backtranslate:FORWARD,BACKWARD takes two translation models, or programs as command:LINE; "
        "file:FILE takes a finished wording; tools:FILE takes another version of tools.json, and "
        "makes the wording new of what differs",
    )
    text = "compose the wordings anew of the lines that are left in a table review.tsv"
    words.add_argument("--review", type=Path, metavar="FILE", help=text)
    text = "how many wordings to make, 1 to 9; default: 5"
    command.add_argument("--count", type=int, default=5, metavar="N", help=text)
    text = "reword descriptions alone"
    command.add_argument("--keep-names", action="store_true", help=text)
    text = "make a wording of each reworded element alone, which measures what it costs"
    command.add_argument("--one-at-a-time", action="store_true", help=text)
    text = "folder for the wordings and the table to review, mostly FOLDER/wordings"
    command.add_argument("--output", type=Path, required=True, metavar="DIR", help=text)
    text = "language codes of translation models that know several languages"
    command.add_argument("--languages", nargs=2, metavar=("SOURCE", "PIVOT"), help=text)
    text = "How the model is asked. Unless set, temperature is 1 and max_tokens 8192."
    server = command.add_argument_group("with model:NAME", text)
    add_server(server)
    add_sending(server)


def _add_asking(command: argparse.ArgumentParser) -> None:
    """Add the options that say what is asked of whom."""
    add_tool_set(command)
    add_model(command, required=False)
    add_server(command)
    command.add_argument(
        "--command",
        metavar="PROGRAM",
        help="ask a program instead of a server: it reads lines with custom_id, case (id, "
        "messages, tools as worded) and body, and writes lines with custom_id and calls, a list of "
        "name and arguments, or a chat completion as response",
    )
    command.add_argument(
        "--wording",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="wordings to ask under; default: original and all in wordings/",
    )
    text = "show N other tools of tools.json beside those of each case; default: 0"
    command.add_argument("--distractors", type=int, default=0, metavar="N", help=text)
    text = (
        "ask everything N times: how far the answers vary under one wording is the noise that no "
        "rewording makes; default: 1"
    )
    command.add_argument("--repeats", type=int, default=1, metavar="N", help=text)


def _add_estimate(commands: Commands) -> None:
    command = _command(commands, "estimate", "count the requests and their tokens; send nothing")
    _add_asking(command)
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _add_run(commands: Commands) -> None:
    text = "ask a server or a program for the calls of every case under every wording"
    command = _command(commands, "run", text)
    _add_asking(command)
    text = "folder for WORDING.jsonl of every wording; give the same one to go on"
    command.add_argument("--output", type=Path, required=True, metavar="DIR", help=text)
    add_sending(command)


def _add_predictions(command: argparse.ArgumentParser) -> None:
    text = "folder with WORDING.jsonl files: lines with id, variant and calls"
    command.add_argument("--predictions", type=Path, required=True, metavar="DIR", help=text)
    command.add_argument(
        "--rules",
        choices=get_args(Rule),
        help="how values are compared: exact (equal as JSON), bfcl (as the checker of that "
        "leaderboard does), or fuzzy (free text by its similarity); default: what source.json says,"
        " else exact",
    )


def _add_score(commands: Commands) -> None:
    command = _command(commands, "score", "score calls under every wording against the original")
    add_tool_set(command)
    _add_predictions(command)
    text = "also write the scores as JSON"
    command.add_argument("--output", type=Path, metavar="FILE", help=text)
    text = "print no tables, only the verdict of --max-drop"
    command.add_argument("--quiet", action="store_true", help=text)
    command.add_argument(
        "--max-drop",
        type=float,
        metavar="POINTS",
        help="exit with status 1 where the rewordings cost more than this: where the whole 95 %% "
        "interval of the loss is above it",
    )


def _add_explain(commands: Commands) -> None:
    text = "show a case under the original words and under those that it is lost to"
    command = _command(commands, "explain", text)
    add_tool_set(command)
    text = "the case, or the word lost, which lists the cases that are lost"
    command.add_argument("case", metavar="CASE_ID", help=text)
    _add_predictions(command)
    command.add_argument(
        "--wording", metavar="NAME", help="show this wording; default: all that lose the case"
    )


def _add_demo(commands: Commands) -> None:
    text = (
        "score a program that reads descriptions badly on purpose on eight sample tools, show what "
        "the rewording cost, and mend the words that did it"
    )
    command = _command(commands, "demo", text)
    text = "also keep tools, predictions and scores in this new folder"
    command.add_argument("--output", type=Path, metavar="DIR", help=text)
