"""The commands of ``python -m sgdx_dataset`` and their options."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

from .release.schema import CONFIGS

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
_SPLIT_NAMES = "train, validation (or dev, as the release calls it) or test"
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
        description="Get the SGD and SGD-X data sets into the Hugging Face libraries, look at what"
        " they hold, and make new variants of their schemas.",
        epilog="python -m sgdx_dataset COMMAND --help describes the options of a command.",
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
    text = 'fill the Hugging Face cache, so that load_dataset("sgdx", "v3") works anywhere'
    command = _command(commands, "prepare", text)
    _add_configs(command, "configs to prepare; default: all that the source has")
    text = "cache folder, as load_dataset's cache_dir; default: the user's Hugging Face cache"
    command.add_argument("--cache-dir", type=Path, metavar="DIR", help=text)

    text = "list what prepare and load have put into the Hugging Face cache, or remove it"
    command = commands.add_parser(
        "cache", help=text, description=f"{text[0].upper()}{text[1:]}. The remembered source stays."
    )
    text = "list, the default, or clear, which removes all of it; load makes it again"
    command.add_argument("action", nargs="?", choices=("list", "clear"), default="list", help=text)
    text = "cache folder, as of prepare; default: the user's Hugging Face cache"
    command.add_argument("--cache-dir", type=Path, metavar="DIR", help=text)

    text = "write a Hugging Face Hub dataset repository: Parquet files and a dataset card"
    command = _command(commands, "build", text)
    _add_new_folder(command, "the repository")

    text = "build a dataset repository and upload it to the Hugging Face Hub"
    command = _command(commands, "push", text)
    command.add_argument("repo_id", metavar="REPO_ID", help="repository to push to, as in YOU/sgdx")
    command.add_argument("--private", action="store_true", help="create it as a private one")

    text = "write a config's dialogues and schemas as JSON files in the release's layout"
    command = _command(commands, "export", text)
    text = f"the config to export: {', '.join(CONFIGS)}, or a variant of your own"
    command.add_argument("--config", required=True, metavar="CONFIG", help=text)
    text = f"the split to export: {_SPLIT_NAMES}; default: all"
    command.add_argument("--split", metavar="SPLIT", help=text)
    _add_dialogues(command, "export only these dialogues of --split")
    text = "folder for the split folders train, dev and test, none of which may exist yet"
    command.add_argument("--output", required=True, type=Path, metavar="DIR", help=text)

    text = "write the frame rows of a split, which are tracked and scored, as Parquet files"
    _add_rows(_command(commands, "frames", text))

    text = "write the turns of the system, which are generated and scored, as Parquet files"
    _add_rows(_command(commands, "turns", text))


def _add_looking_commands(commands: Commands) -> None:
    """Add the commands that show what a source holds."""
    text = "print statistics of a source, with the published figures beside those of SGD"
    command = _command(commands, "stats", text)
    command.add_argument("--json", type=Path, metavar="FILE", help="also write them as JSON")
    command.add_argument("--plots", type=Path, metavar="DIR", help="also write PNG plots there")
    text = "after the tables, list the texts that schemas for training share with v1 to v5"
    command.add_argument("--lists", action="store_true", help=text)

    text = "choose a small sample of a split's dialogues, in which all services have their share"
    command = _command(commands, "subset", text)
    text = f"the split to choose from: {_SPLIT_NAMES}"
    command.add_argument("--split", required=True, metavar="SPLIT", help=text)
    text = "how many dialogues to choose; a smaller choice of the same seed is part of a larger one"
    command.add_argument("--count", required=True, type=int, metavar="N", help=text)
    text = "random seed, 0 or more; default: 1"
    command.add_argument("--seed", type=int, default=1, metavar="N", help=text)
    text = "JSON file for the ids, which other commands take as --dialogues FILE"
    command.add_argument("--output", required=True, type=Path, metavar="FILE", help=text)

    text = "show a dialogue under several wordings, side by side, or what a schema has to reword"
    command = _command(commands, "show", text)
    text = (
        "id of the dialogue, for example 1_00000; default: the split's first with a service that"
        " the wordings put into other words"
    )
    command.add_argument("dialogue_id", nargs="?", metavar="DIALOGUE_ID", help=text)
    text = f"its split: {_SPLIT_NAMES}; default: the last of these that has the id"
    command.add_argument("--split", metavar="SPLIT", help=text)
    wordings = command.add_mutually_exclusive_group()
    text = "wordings to show; default: original with each --variant, else with the last of v1 to v5"
    _add_configs(wordings, text)
    text = "show all wordings: original, v1 to v5 and each --variant"
    wordings.add_argument("--all", action="store_true", help=text)
    text = "also write a web page that needs no other file"
    command.add_argument("--html", type=Path, metavar="FILE", help=text)
    text = (
        "instead of a dialogue, print all words of this service as a rewording file, to be edited"
        " and given as --variant NAME=FILE"
    )
    command.add_argument("--schema", metavar="SERVICE", help=text)


def _add_rewording_commands(commands: Commands) -> None:
    """Add the commands that make new variants of the schemas."""
    text = "make variants of all schemas from a pool of paraphrases, as SGD-X was made"
    command = _command(commands, "compose", text)
    _add_composition(command)

    text = "make variants of the train schemas with words replaced and moved at random"
    command = _command(commands, "corrupt", text)
    _add_corruption(command)

    text = "make variants of the train schemas by translating them to another language and back"
    command = _command(commands, "backtranslate", text)
    _add_translation(command)


def _command(commands: Commands, name: str, text: str) -> argparse.ArgumentParser:
    """Add a command with the two options that all of them have."""
    command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    command.add_argument(
        "--source",
        help="the release: a directory, an archive (.zip, .tar.*), 'sample' for the small corpus"
        " that comes with this package, or 'download' to fetch the release once; default: the"
        " environment variable SGDX_SOURCE, and where that is not set, what prepare was given last",
    )
    command.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="add a schema variant of your own, which is then a config called NAME; PATH is a"
        " folder with train/schema.json, dev/schema.json and test/schema.json (or only some of"
        " them), or a .json file: a few new words for any services, as in"
        ' {"Weather_1": {"slots": {"city": "town"}}}, or an overlay as backtranslate writes it;'
        " may be given several times",
    )
    return command


def _add_configs(command: argparse._ActionsContainer, text: str) -> None:
    command.add_argument("--config", nargs="+", action="extend", metavar="CONFIG", help=text)


def _add_dialogues(command: argparse.ArgumentParser, text: str) -> None:
    text += (
        ": a file that the command subset wrote, a JSON list of ids, or a text file with one id a"
        " line; default: all"
    )
    command.add_argument("--dialogues", type=Path, metavar="FILE", help=text)


def _add_rows(command: argparse.ArgumentParser) -> None:
    """Add the options of the commands that write rows as Parquet files."""
    _add_configs(
        command,
        "configs to write; default: original, v1 to v5 and each --variant, as far as there are any",
    )
    text = f"the split to write: {_SPLIT_NAMES}"
    command.add_argument("--split", required=True, metavar="SPLIT", help=text)
    _add_dialogues(command, "write only the rows of these dialogues")
    text = "folder for the files, one CONFIG.parquet per config"
    command.add_argument("--output", required=True, type=Path, metavar="DIR", help=text)


def _add_new_folder(command: argparse.ArgumentParser, content: str) -> None:
    text = f"folder for {content}; it must not exist yet, and appears only when it is complete"
    command.add_argument("--output", required=True, type=Path, metavar="DIR", help=text)


def _add_composition(command: argparse.ArgumentParser) -> None:
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.epilog = _POOL_EXAMPLE
    text = "JSON file with 2 to 9 paraphrases of every text; an example is below"
    command.add_argument("--pool", required=True, type=Path, metavar="FILE", help=text)
    _add_new_folder(command, "the variants v1, v2, and so on")
    text = f"the split to make variants of: {_SPLIT_NAMES}; default: all"
    command.add_argument("--split", metavar="SPLIT", help=text)
    text = (
        "the services to put into other words, which are then the only ones in the pool; the others"
        " keep their words; default: all"
    )
    command.add_argument("--service", nargs="+", metavar="SERVICE", help=text)


def _add_corruption(command: argparse.ArgumentParser) -> None:
    _add_new_folder(command, "the variants corrupt-1, corrupt-2, and so on")
    text = "how many variants to make; default: 3"
    command.add_argument("--variants", type=int, default=3, metavar="K", help=text)
    text = "random seed, 0 or more; default: 0"
    command.add_argument("--seed", type=int, default=0, metavar="N", help=text)
    text = "probability with which a word is replaced, from 0 to 1; default: 0.3"
    command.add_argument("--replace", type=float, default=0.3, metavar="P", help=text)
    text = "afterwards each word moves by less than N places, 1 or more; default: 3"
    command.add_argument("--window", type=int, default=3, metavar="N", help=text)


def _add_translation(command: argparse.ArgumentParser) -> None:
    text = (
        "overlay to write, a .json file that must not exist yet; use it as --variant NAME=FILE, or"
        " put it into a release as backtrans/LANGUAGE.json for the config backtrans"
    )
    command.add_argument("--output", required=True, type=Path, metavar="FILE", help=text)
    directions = {"forward": "to the other language", "backward": "back to English"}
    for option, direction in directions.items():
        group = command.add_mutually_exclusive_group(required=True)
        text = f"translation model {direction}: a folder or a name on the Hub, with safetensors"
        group.add_argument(f"--{option}", metavar="MODEL", help=text)
        text = (
            f"or a program that translates {direction}: it reads one text per line from standard"
            " input and writes as many lines; it is started once per batch, without a shell"
        )
        group.add_argument(f"--{option}-command", metavar="CMD", help=text)
    text = (
        "language codes of models that know several languages, in each model's own spelling, for"
        " example eng_Latn zho_Hans"
    )
    command.add_argument("--languages", nargs=2, metavar=("SOURCE", "PIVOT"), help=text)
    text = "sample translations at random instead of searching for the most likely ones"
    command.add_argument("--sample", action="store_true", help=text)
    text = "temperature to sample at, above 0; default: 1.0"
    command.add_argument("--temperature", type=float, default=1.0, metavar="T", help=text)
    text = "random seed for sampling, 0 or more; default: 0"
    command.add_argument("--seed", type=int, default=0, metavar="N", help=text)
    text = "how many texts to translate at once; default: 32"
    command.add_argument("--batch-size", type=int, default=32, metavar="N", help=text)
