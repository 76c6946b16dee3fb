"""The command line: ``python -m sgdx_dataset``, or ``sgdx-dataset`` once it is installed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .hub.build import build, push
from .hub.export import export
from .hub.prepare import cache_folder, prepare_release
from .io.console import run
from .io.errors import SgdxError
from .io.files import staged
from .io.progress import progress
from .release.open import open_release
from .release.release import Release
from .release.remembered import chosen_source
from .release.schema import CONFIGS, VARIANTS, split_name
from .rewording.backtranslate import backtranslate
from .rewording.compose import compose
from .rewording.corrupt import corrupt
from .rewording.translations import read_settings
from .rows.columns import FRAME_COLUMNS
from .rows.dialogue_rows import steps
from .rows.features import FRAME_ROW
from .rows.frame_rows import frame_parts
from .rows.turn_rows import write_turns
from .show import show
from .stats import stats
from .subset import check_dialogue_ids, read_dialogue_ids, subset, write_subset


def main(arguments: list[str] | None = None) -> int:
    """Run a command of ``python -m sgdx_dataset``.

    Args:
        arguments: The words of the command line; None for those of this process.

    Returns:
        The exit status, see ``console.run``.
    """
    options = _parser().parse_args(arguments)
    return run("sgdx-dataset", lambda: options.run(options))


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
_SPLIT_NAMES = "train, validation (or dev, as the release calls it) or test"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "sgdx-dataset",
        description="Get the SGD and SGD-X data sets into the Hugging Face libraries, look at what"
        " they hold, and make new variants of their schemas.",
        epilog="sgdx-dataset COMMAND --help describes the options of a command.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")
    _add_loading_commands(commands)
    _add_looking_commands(commands)
    _add_rewording_commands(commands)
    return parser


def _add_loading_commands(commands: Commands) -> None:
    """Add the commands that bring rows to where they are used."""
    text = 'fill the Hugging Face cache, so that load_dataset("sgdx", "v3") works anywhere'
    command = _command(commands, "prepare", text, _prepare)
    _add_configs(command, "configs to prepare; default: all that the source has")
    text = "cache folder, as load_dataset's cache_dir; default: the user's Hugging Face cache"
    command.add_argument("--cache-dir", type=Path, metavar="DIR", help=text)

    text = "write a Hugging Face Hub dataset repository: Parquet files and a dataset card"
    command = _command(commands, "build", text, _build)
    _add_new_folder(command, "the repository")

    text = "build a dataset repository and upload it to the Hugging Face Hub"
    command = _command(commands, "push", text, _push)
    command.add_argument("repo_id", metavar="REPO_ID", help="repository to push to, as in YOU/sgdx")
    command.add_argument("--private", action="store_true", help="create it as a private one")

    text = "write a config's dialogues and schemas as JSON files in the release's layout"
    command = _command(commands, "export", text, _export)
    text = f"the config to export: {', '.join(CONFIGS)}, or a variant of your own"
    command.add_argument("--config", required=True, metavar="CONFIG", help=text)
    text = f"the split to export: {_SPLIT_NAMES}; default: all"
    command.add_argument("--split", metavar="SPLIT", help=text)
    text = (
        "export these dialogues of --split only: a file that the command subset wrote, a JSON list"
        " of ids, or a text file with one id a line"
    )
    command.add_argument("--dialogues", type=Path, metavar="FILE", help=text)
    text = "folder for the split folders train, dev and test, none of which may exist yet"
    command.add_argument("--output", required=True, type=Path, metavar="DIR", help=text)

    text = "write the frame rows of a split, which are tracked and scored, as Parquet files"
    command = _command(commands, "frames", text, _frames)
    _add_configs(command, "configs to write; default: original and v1 to v5")
    text = f"the split to write: {_SPLIT_NAMES}"
    command.add_argument("--split", required=True, metavar="SPLIT", help=text)
    text = (
        "write the frames of these dialogues only: a file that the command subset wrote, a JSON"
        " list of ids, or a text file with one id a line"
    )
    command.add_argument("--dialogues", type=Path, metavar="FILE", help=text)
    text = "folder for the files, one CONFIG.parquet per config"
    command.add_argument("--output", required=True, type=Path, metavar="DIR", help=text)

    text = "write the turns of the system, which are generated and scored, as Parquet files"
    command = _command(commands, "turns", text, _turns)
    _add_configs(command, "configs to write; default: original and v1 to v5")
    text = f"the split to write: {_SPLIT_NAMES}"
    command.add_argument("--split", required=True, metavar="SPLIT", help=text)
    text = (
        "write the turns of these dialogues only: a file that the command subset wrote, a JSON list"
        " of ids, or a text file with one id a line"
    )
    command.add_argument("--dialogues", type=Path, metavar="FILE", help=text)
    text = "folder for the files, one CONFIG.parquet per config"
    command.add_argument("--output", required=True, type=Path, metavar="DIR", help=text)


def _add_looking_commands(commands: Commands) -> None:
    """Add the commands that show what a source holds."""
    text = "print statistics of a source, with the published figures beside those of SGD"
    command = _command(commands, "stats", text, _stats)
    command.add_argument("--json", type=Path, metavar="FILE", help="also write them as JSON")
    command.add_argument("--plots", type=Path, metavar="DIR", help="also write PNG plots there")
    text = "after the tables, list the texts that schemas for training share with v1 to v5"
    command.add_argument("--lists", action="store_true", help=text)

    text = "choose a small sample of a split's dialogues, in which all services have their share"
    command = _command(commands, "subset", text, _subset)
    text = f"the split to choose from: {_SPLIT_NAMES}"
    command.add_argument("--split", required=True, metavar="SPLIT", help=text)
    text = "how many dialogues to choose; a smaller choice of the same seed is part of a larger one"
    command.add_argument("--count", required=True, type=int, metavar="N", help=text)
    text = "random seed, 0 or more; default: 1"
    command.add_argument("--seed", type=int, default=1, metavar="N", help=text)
    text = "JSON file for the ids, which other commands take as --dialogues FILE"
    command.add_argument("--output", required=True, type=Path, metavar="FILE", help=text)

    text = "show a dialogue under several wordings of its schemas, side by side"
    command = _command(commands, "show", text, _show)
    text = "id of the dialogue, for example 1_00000"
    command.add_argument("dialogue_id", metavar="DIALOGUE_ID", help=text)
    text = f"its split: {_SPLIT_NAMES}; default: the last of these that has the id"
    command.add_argument("--split", metavar="SPLIT", help=text)
    _add_configs(command, "wordings to show; default: original and v1 to v5")
    text = "also write a web page that needs no other file"
    command.add_argument("--html", type=Path, metavar="FILE", help=text)


def _add_rewording_commands(commands: Commands) -> None:
    """Add the commands that make new variants of the schemas."""
    text = "make variants of all schemas from a pool of paraphrases, as SGD-X was made"
    command = _command(commands, "compose", text, _compose)
    _add_composition(command)

    text = "make variants of the train schemas with words replaced and moved at random"
    command = _command(commands, "corrupt", text, _corrupt)
    _add_corruption(command)

    text = "make variants of the train schemas by translating them to another language and back"
    command = _command(commands, "backtranslate", text, _backtranslate)
    _add_translation(command)


def _command(
    commands: Commands,
    name: str,
    text: str,
    action: Callable[[argparse.Namespace], None],
) -> argparse.ArgumentParser:
    """A command with the two options that all of them have."""
    command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    command.set_defaults(run=action)
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


def _add_configs(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("--config", nargs="+", action="extend", metavar="CONFIG", help=text)


def _add_new_folder(command: argparse.ArgumentParser, content: str) -> None:
    text = f"folder for {content}; it must not exist yet, and appears only when it is complete"
    command.add_argument("--output", required=True, type=Path, metavar="DIR", help=text)


_POOL_EXAMPLE = """\
A pool with two paraphrases of every text, from which v1 and v2 are made:
  {"Weather_1": {
     "description": ["Tells the weather", "Forecasts for any place"],
     "slots": {"city": {"name": ["town", "location"],
                        "description": ["Name of the town", "Where to look"]}},
     "intents": {"GetWeather": {"name": ["FindForecast", "LookUpWeather"],
                                "description": ["Find a forecast", "Look it up"]}}}}
"""


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


def _variants(options: argparse.Namespace) -> dict[str, str]:
    """The paths of the user's own variants, by name."""
    pairs = [argument.partition("=") for argument in options.variant]
    for name, equals, path in pairs:
        if not (name and equals and path):
            raise SgdxError(f"--variant {name}{equals}{path}: expected NAME=PATH")
    return {name: path for name, _, path in pairs}


def _release(options: argparse.Namespace, cache: Path | None = None) -> Release:
    """Open the source; a note on standard error says what a partial copy of SGD lacks.

    ``cache`` is the cache whose remembered source is the default; None for the user's own.
    """
    release = open_release(chosen_source(options.source, cache), _variants(options))
    if lacking := release.missing():
        print(f"note: a partial copy of SGD: {lacking}", file=sys.stderr)
    return release


def _prepare(options: argparse.Namespace) -> None:
    cache = cache_folder(options.cache_dir)
    release = _release(options, cache)
    configs = options.config or release.configs()
    before = {place.name for place in cache.glob("sgdx/*")}
    places = prepare_release(release, configs, options.cache_dir)
    print(*places, sep="\n")
    if removed := before - {place.name for place in cache.glob("sgdx/*")}:
        text = ", ".join(sorted(removed))
        print(f"note: removed from the cache, as of another source: {text}", file=sys.stderr)
    folder = f", cache_dir={str(options.cache_dir)!r}" if options.cache_dir else ""
    example = "v3" if "v3" in configs else configs[0]
    print("next, in Python: from datasets import load_dataset", file=sys.stderr)
    print(f'                 load_dataset("sgdx", "{example}"{folder})', file=sys.stderr)


def _build(options: argparse.Namespace) -> None:
    print(build(_release(options), options.output))


def _push(options: argparse.Namespace) -> None:
    print(push(_release(options), options.repo_id, private=options.private))


def _export(options: argparse.Namespace) -> None:
    splits = [options.split] if options.split else None
    release, chosen = _release(options), None
    if options.dialogues:
        if not options.split:
            raise SgdxError("--dialogues: found no --split, expected the one that has them")
        chosen = read_dialogue_ids(options.dialogues)
        check_dialogue_ids(release, split_name(options.split), chosen, str(options.dialogues))
    print(*export(release, options.config, options.output, splits, chosen), sep="\n")


def _frames(options: argparse.Namespace) -> None:
    release = _release(options)
    split, configs = split_name(options.split), options.config or ["original", *VARIANTS]
    chosen = read_dialogue_ids(options.dialogues) if options.dialogues else None
    for config in configs:
        release.check_dialogues(config, split)
    if chosen is not None:
        check_dialogue_ids(release, split, chosen, str(options.dialogues))
    metadata = {**FRAME_ROW.arrow_schema.metadata, "release": release.version(split)}
    schema = FRAME_COLUMNS.with_metadata(metadata)
    with progress("Writing frame rows", steps(release, configs, [split])):
        for config in configs:
            with (
                staged(options.output / f"{config}.parquet") as staging,
                pq.ParquetWriter(staging, schema, compression="zstd") as writer,
            ):
                for part in frame_parts(release, split, config):
                    if chosen is not None:
                        part = part.filter(pc.is_in(part["dialogue_id"], pa.array(chosen)))
                    writer.write_table(part.replace_schema_metadata(metadata))


def _turns(options: argparse.Namespace) -> None:
    release = _release(options)
    split, configs = split_name(options.split), options.config or ["original", *VARIANTS]
    chosen = read_dialogue_ids(options.dialogues) if options.dialogues else None
    write_turns(release, split, configs, options.output, chosen)


def _stats(options: argparse.Namespace) -> None:
    stats(_release(options), options.json, options.plots, options.lists)


def _subset(options: argparse.Namespace) -> None:
    chosen = subset(_release(options), options.split, options.count, options.seed)
    write_subset(chosen, options.output)
    print(f"{chosen.count} of {chosen.of} dialogues in {chosen.split}: {options.output}")


def _show(options: argparse.Namespace) -> None:
    configs = options.config or ["original", *VARIANTS]
    show(_release(options), options.dialogue_id, configs, options.split, options.html)


def _compose(options: argparse.Namespace) -> None:
    splits = [options.split] if options.split else None
    made = compose(_release(options), options.pool, options.output, splits, options.service)
    print(*made, sep="\n")


def _corrupt(options: argparse.Namespace) -> None:
    settings = options.variants, options.seed, options.replace, options.window
    print(*corrupt(_release(options), options.output, *settings), sep="\n")


def _backtranslate(options: argparse.Namespace) -> None:
    settings = read_settings(vars(options))
    print(backtranslate(_release(options), options.output, settings))


if __name__ == "__main__":
    sys.exit(main())
