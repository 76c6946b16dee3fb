"""The command ``import``: a folder of tools from somebody's file."""

from __future__ import annotations

import argparse
from pathlib import Path

from baselines.command_line import add_source
from sgdx_dataset import SgdxError
from sgdx_dataset.io.arguments import DIALOGUES_HELP, SPLIT_HELP, VARIANT_HELP, paths_by_name
from sgdx_dataset.io.console import say

from ..folder import SOURCE
from .bfcl import import_bfcl
from .collection import Collection
from .openapi import import_openapi
from .tool_lists import import_list

_LISTS = {
    "openai": "Read tools as OpenAI's APIs take them, nested or flat: a list, or a request.",
    "anthropic": "Read tools as Anthropic's API takes them: a list, or a request.",
    "mcp": "Read what an MCP server answers to tools/list, or the result in that answer.",
}
_PROGRAM = "sgdx_tools"
_LONGEST_LIST = 20  # lines about what was left out


def add_import(command: argparse.ArgumentParser) -> None:
    """Add the options of ``import``."""
    # Python 3.11 cannot fold the list of forms, of which one has to be chosen.
    command.usage = "%(prog)s [-h] FORM ... --output FOLDER"
    form = command.add_mutually_exclusive_group(required=True)
    texts = {**_LISTS, "openapi": "Read an OpenAPI 3.0 or 3.1 document in JSON or YAML."}
    for name, text in texts.items():
        form.add_argument(f"--{name}", type=Path, metavar="FILE", help=text)
    text = "Read cases of the Berkeley Function Calling Leaderboard, one JSON object per line."
    form.add_argument("--bfcl", type=Path, nargs="+", metavar="FILE", help=text)
    form.add_argument(
        "--sgd",
        nargs="+",
        metavar="CONFIG",
        help="Read the calls of SGD's system. The tools get the words of the first variant "
        "(original, v1 to v5, or a NAME of --variant). Further variants become wordings.",
    )
    text = (
        "With --bfcl: read the possible answers from these files. Cases of irrelevance have none."
    )
    command.add_argument("--answers", type=Path, nargs="+", default=[], metavar="FILE", help=text)
    sgd = command.add_argument_group("with --sgd")
    add_source(command)
    sgd.add_argument("--split", default="test", help=f"{SPLIT_HELP} Default: test.")
    text = VARIANT_HELP
    sgd.add_argument("--variant", action="append", default=[], metavar="NAME=PATH", help=text)
    text = f"{DIALOGUES_HELP} Default: all."
    sgd.add_argument("--dialogues", type=Path, metavar="FILE", help=text)
    text = (
        "Write tools.json, source.json and, if there are any, cases and wordings into this new "
        "folder."
    )
    command.add_argument("--output", type=Path, required=True, metavar="FOLDER", help=text)


def run_import(options: argparse.Namespace) -> None:
    """Import what the options name, and say what was left out."""
    if options.output.exists():
        raise SgdxError(f"{options.output}: exists already, expected a new folder")
    if options.answers and not options.bfcl:
        raise SgdxError("--answers: found no --bfcl, whose answers these are")
    collection = _collect(options)
    collection.write(options.output)
    lines = collection.left_out
    for line in lines[:_LONGEST_LIST]:
        say(_PROGRAM, f"left out: {line}")
    if len(lines) > _LONGEST_LIST:
        rest = len(lines) - _LONGEST_LIST
        say(_PROGRAM, f"left out: {rest} more, which {options.output / SOURCE} lists")
    counts = [f"{len(collection.tools)} tools"]
    counts += [f"{len(collection.cases)} cases"] if collection.cases else []
    counts += [f"{len(collection.wordings)} wordings"] if collection.wordings else []
    print(f"{options.output}: {', '.join(counts)}")


def _collect(options: argparse.Namespace) -> Collection:
    if options.bfcl:
        return import_bfcl(options.bfcl, options.answers)
    if options.sgd:
        from .sgd import import_sgd  # it reads releases, which takes a second to import

        variants = paths_by_name("--variant", options.variant)
        configs = list(dict.fromkeys(options.sgd))
        return import_sgd(configs, options.source, options.split, variants, options.dialogues)
    if options.openapi:
        return import_openapi(options.openapi)
    form = next(name for name in _LISTS if getattr(options, name))  # argparse demands one
    return import_list(form, getattr(options, form))
