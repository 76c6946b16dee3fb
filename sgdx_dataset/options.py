"""The commands of ``python -m sgdx_dataset`` and their options."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

from .io.arguments import DIALOGUES_HELP, SOURCE_HELP, SPLIT_HELP, VARIANT_HELP
from .release.schema import CONFIGS

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
_POOL_EXAMPLE = """\
A pool with two paraphrases of every text, from which v1 and v2 are made:
  {"Weather_1": {
     "description": ["Tells the weather", "Forecasts for any place"],
     "slots": {"city": {"name": ["town", "location"],
                        "description": ["Name of the town", "Where to look"]}},
     "intents": {"GetWeather": {"name": ["FindForecast", "LookUpWeather"],
                                "description": ["Find one", "Look it up"]}}}}
"""


def parser() -> argparse.ArgumentParser:
    """The parser of the command line. It stores the command's name as ``command``."""
    program = argparse.ArgumentParser(
        "python -m sgdx_dataset",
        description="Load SGD and SGD-X into the Hugging Face libraries, look at the data, and "
        "make new wordings of the schemas.",
        epilog="'python -m sgdx_dataset COMMAND --help' describes the options of a command.",
    )
    commands = program.add_subparsers(
        dest="command", required=True, metavar="COMMAND", title="commands"
    )
    _add_loading_commands(commands)
    _add_looking_commands(commands)
    _add_rewording_commands(commands)
    return program


def _add_loading_commands(commands: Commands) -> None:
    """Add the commands that bring rows to where they are used."""
    text = 'Fill the Hugging Face cache, so that load_dataset("sgdx", "v3") works anywhere.'
    command = _command(commands, "prepare", text)
    _add_configs(command, "Prepare these configs. Default: all that the source has.")
    text = (
        "Use this cache folder, which load_dataset takes as cache_dir. Default: the user's "
        "Hugging Face cache."
    )
    command.add_argument("--cache-dir", type=Path, metavar="DIR", help=text)

    text = "List what prepare and load have put into the Hugging Face cache, or remove it."
    command = commands.add_parser(
        "cache", help=text, description=f"{text} The remembered source stays."
    )
    text = (
        "Choose list (the default) to list the content, or clear to remove all of it. load makes "
        "it again when it needs it."
    )
    command.add_argument("action", nargs="?", choices=("list", "clear"), default="list", help=text)
    text = "Use this cache folder, as prepare does. Default: the user's Hugging Face cache."
    command.add_argument("--cache-dir", type=Path, metavar="DIR", help=text)

    text = "Write a dataset repository for the Hugging Face Hub: Parquet files and a dataset card."
    command = _command(commands, "build", text)
    _add_new_folder(command, "the repository")

    text = "Build a dataset repository and upload it to the Hugging Face Hub."
    command = _command(commands, "push", text)
    command.add_argument(
        "repo_id", metavar="REPO_ID", help="Push to this repository, as in YOU/sgdx."
    )
    command.add_argument("--private", action="store_true", help="Create a private repository.")

    text = "Write the dialogues and schemas of a config as JSON files in the layout of the release."
    command = _command(commands, "export", text)
    text = f"Export this config: {', '.join(CONFIGS)}, or a NAME of --variant."
    command.add_argument("--config", required=True, metavar="CONFIG", help=text)
    command.add_argument("--split", metavar="SPLIT", help=f"{SPLIT_HELP} Default: all.")
    _add_dialogues(command)
    text = "Write the folders train, dev and test into this folder. None of them may exist yet."
    command.add_argument("--output", required=True, type=Path, metavar="DIR", help=text)

    text = (
        "Write the frame rows of a split as Parquet files. Trackers read them, and scores are "
        "computed from them."
    )
    _add_rows(_command(commands, "frames", text))

    text = (
        "Write the turns of the system as Parquet files. Generators read them, and scores are "
        "computed from them."
    )
    _add_rows(_command(commands, "turns", text))


def _add_looking_commands(commands: Commands) -> None:
    """Add the commands that show what a source holds."""
    text = "Print statistics of a source. For SGD, the published figures are shown beside them."
    command = _command(commands, "stats", text)
    command.add_argument(
        "--json", type=Path, metavar="FILE", help="Also write the statistics to this JSON file."
    )

    text = "Choose a small sample of a split's dialogues, in which all services have their share."
    command = _command(commands, "subset", text)
    command.add_argument("--split", required=True, metavar="SPLIT", help=SPLIT_HELP)
    text = (
        "Choose this number of dialogues. A smaller choice with the same seed is part of a "
        "larger one."
    )
    command.add_argument("--count", required=True, type=int, metavar="N", help=text)
    text = "Set the random seed, 0 or more. Default: 1."
    command.add_argument("--seed", type=int, default=1, metavar="N", help=text)
    text = "Write the dialogue ids to this JSON file. Other commands take it as --dialogues FILE."
    command.add_argument("--output", required=True, type=Path, metavar="FILE", help=text)

    text = (
        "Show a dialogue under several wordings side by side, or all words of a schema that can "
        "be reworded."
    )
    command = _command(commands, "show", text)
    text = (
        "Show the dialogue with this id, for example 1_00000. Default: the first one of the "
        "split that has a service with other words."
    )
    command.add_argument("dialogue_id", nargs="?", metavar="DIALOGUE_ID", help=text)
    text = f"{SPLIT_HELP} Default: the last of these that has the dialogue."
    command.add_argument("--split", metavar="SPLIT", help=text)
    wordings = command.add_mutually_exclusive_group()
    text = (
        "Show these wordings. Default: original and each --variant; without --variant, original "
        "and the last of v1 to v5."
    )
    _add_configs(wordings, text)
    text = "Show all wordings: original, v1 to v5 and each --variant."
    wordings.add_argument("--all", action="store_true", help=text)
    text = "Also write a web page to this file. The page needs no other file."
    command.add_argument("--html", type=Path, metavar="FILE", help=text)
    text = (
        "Print all words of this service as a rewording file, instead of a dialogue. Edit the "
        "file and give it as --variant NAME=FILE."
    )
    command.add_argument("--schema", metavar="SERVICE", help=text)


def _add_rewording_commands(commands: Commands) -> None:
    """Add the commands that make new variants of the schemas."""
    text = "Make variants of all schemas from a pool of paraphrases, as SGD-X was made."
    command = _command(commands, "compose", text)
    _add_composition(command)

    text = "Make variants of the train schemas in which words are replaced and moved at random."
    command = _command(commands, "corrupt", text)
    _add_corruption(command)

    text = "Make a variant of the train schemas by translating them to another language and back."
    command = _command(commands, "backtranslate", text)
    _add_translation(command)


def _command(commands: Commands, name: str, text: str) -> argparse.ArgumentParser:
    """Add a command with the two options that all of them have."""
    command = commands.add_parser(name, help=text, description=text)
    command.add_argument("--source", metavar="PATH", help=SOURCE_HELP)
    command.add_argument(
        "--variant", action="append", default=[], metavar="NAME=PATH", help=VARIANT_HELP
    )
    return command


def _add_configs(command: argparse._ActionsContainer, text: str) -> None:
    command.add_argument("--config", nargs="+", action="extend", metavar="CONFIG", help=text)


def _add_dialogues(command: argparse.ArgumentParser) -> None:
    text = f"{DIALOGUES_HELP} Default: all."
    command.add_argument("--dialogues", type=Path, metavar="FILE", help=text)


def _add_rows(command: argparse.ArgumentParser) -> None:
    """Add the options of the commands that write rows as Parquet files."""
    _add_configs(
        command,
        "Write these configs. Default: original, those of v1 to v5 that the source has, and each "
        "--variant.",
    )
    command.add_argument("--split", required=True, metavar="SPLIT", help=SPLIT_HELP)
    _add_dialogues(command)
    text = "Write one file CONFIG.parquet per config into this folder."
    command.add_argument("--output", required=True, type=Path, metavar="DIR", help=text)


def _add_new_folder(command: argparse.ArgumentParser, content: str) -> None:
    text = (
        f"Write {content} into this folder. It must not exist yet, and appears only when it is "
        "complete."
    )
    command.add_argument("--output", required=True, type=Path, metavar="DIR", help=text)


def _add_composition(command: argparse.ArgumentParser) -> None:
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.epilog = _POOL_EXAMPLE
    text = "Read 2 to 9 paraphrases of every text from this JSON file. An example is below."
    command.add_argument("--pool", required=True, type=Path, metavar="FILE", help=text)
    _add_new_folder(command, "the variants v1, v2, and so on")
    command.add_argument("--split", metavar="SPLIT", help=f"{SPLIT_HELP} Default: all.")
    text = (
        "Reword only these services. The pool then has only these; the other services keep their "
        "words. Default: all."
    )
    command.add_argument("--service", nargs="+", metavar="SERVICE", help=text)


def _add_corruption(command: argparse.ArgumentParser) -> None:
    _add_new_folder(command, "the variants corrupt-1, corrupt-2, and so on")
    text = "Make this number of variants. Default: 3."
    command.add_argument("--variants", type=int, default=3, metavar="K", help=text)
    text = "Set the random seed, 0 or more. Default: 0."
    command.add_argument("--seed", type=int, default=0, metavar="N", help=text)
    text = "Replace each word with this probability, from 0 to 1. Default: 0.3."
    command.add_argument("--replace", type=float, default=0.3, metavar="P", help=text)
    text = "Then move each word by less than N places. N is 1 or more. Default: 3."
    command.add_argument("--window", type=int, default=3, metavar="N", help=text)


def _add_translation(command: argparse.ArgumentParser) -> None:
    text = (
        "Write the overlay to this .json file, which must not exist yet. Use it as --variant "
        "NAME=FILE, or put it into a release as backtrans/LANGUAGE.json for the config backtrans."
    )
    command.add_argument("--output", required=True, type=Path, metavar="FILE", help=text)
    directions = {"forward": "to the other language", "backward": "back to English"}
    for option, direction in directions.items():
        group = command.add_mutually_exclusive_group(required=True)
        text = (
            f"Translate {direction} with this model: a folder, or a name on the Hub. It needs "
            "safetensors."
        )
        group.add_argument(f"--{option}", metavar="MODEL", help=text)
        text = (
            f"Translate {direction} with this program instead. It reads one text per line from "
            "standard input and writes as many lines. It is started once per batch, without a "
            "shell."
        )
        group.add_argument(f"--{option}-command", metavar="CMD", help=text)
    text = (
        "Give the language codes for models that know several languages, in each model's own "
        "spelling, for example eng_Latn zho_Hans."
    )
    command.add_argument("--languages", nargs=2, metavar=("SOURCE", "PIVOT"), help=text)
    text = "Sample translations at random, instead of searching for the most likely ones."
    command.add_argument("--sample", action="store_true", help=text)
    text = "Sample at this temperature, above 0. Default: 1.0."
    command.add_argument("--temperature", type=float, default=1.0, metavar="T", help=text)
    text = "Set the random seed of sampling, 0 or more. Default: 0."
    command.add_argument("--seed", type=int, default=0, metavar="N", help=text)
    text = "Translate this number of texts at once. Default: 32."
    command.add_argument("--batch-size", type=int, default=32, metavar="N", help=text)
