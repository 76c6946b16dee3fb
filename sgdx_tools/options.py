"""The commands of ``python -m sgdx_tools`` and their options."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias, get_args

from baselines.llm.options import add_model, add_sending, add_server
from sgdx_eval.arguments import OVER, add

from .data import Rule
from .importing.command import add_import

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


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
    text = "Make a folder of tools from a file in a common format."
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
    return commands.add_parser(name, help=text, description=text)


def add_tool_set(command: argparse.ArgumentParser) -> None:
    """Add the folder of tools, which all commands but ``import`` and ``demo`` read."""
    text = (
        "Read the tools from this folder. It has tools.json, and cases.jsonl and wordings/ if "
        "the command needs them."
    )
    command.add_argument("tools", type=Path, metavar="FOLDER", help=text)


def _add_reword(commands: Commands) -> None:
    text = (
        "Put tools into other words, and order the wordings v1, v2, ... by their distance from "
        "the original."
    )
    command = _command(commands, "reword", text)
    add_tool_set(command)
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
    words.add_argument("--review", type=Path, metavar="FILE", help=text)
    text = "Make this number of wordings, 1 to 9. Default: 5."
    command.add_argument("--count", type=int, default=5, metavar="N", help=text)
    text = "Reword only descriptions."
    command.add_argument("--keep-names", action="store_true", help=text)
    text = "Make a separate wording for each reworded element, to measure what each costs."
    command.add_argument("--one-at-a-time", action="store_true", help=text)
    text = "Write the wordings, and the table to review, into this folder, usually FOLDER/wordings."
    command.add_argument("--output", type=Path, required=True, metavar="DIR", help=text)
    text = "Give the language codes for translation models that know several languages."
    command.add_argument("--languages", nargs=2, metavar=("SOURCE", "PIVOT"), help=text)
    text = (
        "These options say how the model is asked. Unless you set them, temperature is 1 and "
        "max_tokens is 8192."
    )
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
        help="Ask a program instead of a server. It reads lines with custom_id, case (id, "
        "messages, tools as worded) and body. It writes lines with custom_id and calls (a "
        "list of name and arguments), or with a chat completion as response.",
    )
    command.add_argument(
        "--wording",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="Ask under these wordings. Default: original and all in wordings/.",
    )
    text = "Show N other tools of tools.json beside those of each case. Default: 0."
    command.add_argument("--distractors", type=int, default=0, metavar="N", help=text)
    text = (
        "Ask everything N times. How far the answers vary under one wording is noise, which no "
        "rewording makes. Default: 1."
    )
    command.add_argument("--repeats", type=int, default=1, metavar="N", help=text)


def _add_estimate(commands: Commands) -> None:
    command = _command(
        commands, "estimate", "Count the requests and their tokens. Nothing is sent."
    )
    _add_asking(command)
    command.add_argument("--json", action="store_true", help="Print JSON instead of a table.")


def _add_run(commands: Commands) -> None:
    text = "Ask a server or a program for the calls of every case under every wording."
    command = _command(commands, "run", text)
    _add_asking(command)
    text = (
        "Write WORDING.jsonl for every wording into this folder. To continue a run, give the "
        "same folder."
    )
    command.add_argument("--output", type=Path, required=True, metavar="DIR", help=text)
    add_sending(command)


def _add_predictions(command: argparse.ArgumentParser) -> None:
    text = "Read the WORDING.jsonl files of this folder. Their lines have id, variant and calls."
    command.add_argument("--predictions", type=Path, required=True, metavar="DIR", help=text)
    command.add_argument(
        "--rules",
        choices=get_args(Rule),
        help="Choose how values are compared: exact (equal as JSON), bfcl (as the checker of that "
        "leaderboard does), or fuzzy (free text by its similarity). Default: what "
        "source.json says, else exact.",
    )


def _add_score(commands: Commands) -> None:
    command = _command(
        commands,
        "score",
        "Score the calls under every wording, and compare them with those under the original "
        "words.",
    )
    add_tool_set(command)
    _add_predictions(command)
    add(command, [OVER])
    text = "Also write the scores to this JSON file."
    command.add_argument("--output", type=Path, metavar="FILE", help=text)
    text = "Print no tables, only the verdict of --max-drop."
    command.add_argument("--quiet", action="store_true", help=text)
    command.add_argument(
        "--max-drop",
        type=float,
        metavar="POINTS",
        help="End with exit status 1 if the whole 95 %% interval of the loss is above this number "
        "of points.",
    )


def _add_explain(commands: Commands) -> None:
    text = "Show a case under the original words and under the words that made it wrong."
    command = _command(commands, "explain", text)
    add_tool_set(command)
    text = "Show this case, or give the word 'lost' to list the cases that are lost."
    command.add_argument("case", metavar="CASE_ID", help=text)
    _add_predictions(command)
    command.add_argument(
        "--wording",
        metavar="NAME",
        help="Show this wording. Default: all wordings that lose the case.",
    )


def _add_demo(commands: Commands) -> None:
    text = (
        "Score a program on eight sample tools, show what the rewording cost, and repair the "
        "words that caused it. The program reads descriptions badly on purpose."
    )
    command = _command(commands, "demo", text)
    text = "Also keep the tools, predictions and scores in this new folder."
    command.add_argument("--output", type=Path, metavar="DIR", help=text)
