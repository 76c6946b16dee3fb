"""``python -m sgdx_dataset``: prepare the cache, build a Hub repository, export, inspect."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

from .backtranslate import backtranslate
from .build import build, push
from .compose import compose
from .corrupt import corrupt
from .errors import SgdxError
from .export import export
from .frames import frame_tables
from .prepare import prepare_release
from .release import Release
from .schema import CONFIGS, SPLITS, VARIANTS
from .sources import open_release
from .stats import stats
from .translations import read_settings


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0, or 2 after one line on standard error that says what is wrong."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except SgdxError as error:
        print(f"sgdx-dataset: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("sgdx-dataset", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    text = 'fill the cache of load_dataset("sgdx", ...)'
    command = _command(commands.add_parser("prepare", help=text), _prepare)
    _add_configs(command, "configs to prepare; default: all that the source has")
    command.add_argument("--cache-dir", type=Path, help="default: the Hugging Face cache")

    text = "write a Hub dataset repository: Parquet and a card"
    command = _command(commands.add_parser("build", help=text), _build)
    command.add_argument("--output", required=True, type=Path, help="a new folder")

    text = "build a Hub dataset repository and upload it"
    command = _command(commands.add_parser("push", help=text), _push)
    command.add_argument("repo_id", help="YOU/sgdx")
    command.add_argument("--private", action="store_true")

    text = "write a config as the release's JSON"
    command = _command(commands.add_parser("export", help=text), _export)
    command.add_argument("--config", required=True, help=", ".join(CONFIGS))
    command.add_argument("--split", help=f"{', '.join(SPLITS)}; default: all")
    command.add_argument("--output", required=True, type=Path, help="folder for train, dev, test")

    text = "write frame rows, a Parquet file a config"
    command = _command(commands.add_parser("frames", help=text), _frames)
    _add_configs(command, "configs to write; default: original, v1..v5")
    command.add_argument("--split", required=True, help=", ".join(SPLITS))
    command.add_argument("--output", required=True, type=Path, help="folder for CONFIG.parquet")

    text = "print what a source holds, the published figures beside"
    command = _command(commands.add_parser("stats", help=text), _stats)
    command.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    command.add_argument("--plots", type=Path, metavar="DIR", help="folder for plots, as PNG")

    text = "make variants of the schemas from a pool of paraphrases"
    command = _command(commands.add_parser("compose", help=text), _compose)
    command.add_argument("--pool", required=True, type=Path, metavar="FILE", help="JSON")
    command.add_argument("--output", required=True, type=Path, help="a new folder for v1, v2, ...")

    text = "make variants of the train schemas with words replaced and moved, a negative control"
    command = _command(commands.add_parser("corrupt", help=text), _corrupt)
    command.add_argument("--output", required=True, type=Path, help="a new folder for corrupt-1...")
    command.add_argument("--variants", type=int, default=3, metavar="K", help="default: 3")
    command.add_argument("--seed", type=int, default=0, help="default: 0")
    text = "probability of replacing a word; default: 0.3"
    command.add_argument("--replace", type=float, default=0.3, metavar="P", help=text)
    text = "then each word moves by less than N places; default: 3"
    command.add_argument("--window", type=int, default=3, metavar="N", help=text)

    text = "make an overlay of the train schemas: translated to another language and back"
    command = _command(commands.add_parser("backtranslate", help=text), _backtranslate)
    _add_translation(command)
    return parser


def _command(
    command: argparse.ArgumentParser, run: Callable[[argparse.Namespace], None]
) -> argparse.ArgumentParser:
    command.set_defaults(run=run)
    command.add_argument(
        "--source",
        help="release directory or archive, or 'sample'; default: $SGDX_SOURCE, else a download",
    )
    command.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="a variant of your own: folder with {train,dev,test}/schema.json, or overlay .json",
    )
    return command


def _add_configs(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("--config", nargs="+", action="extend", metavar="CONFIG", help=text)


def _add_translation(command: argparse.ArgumentParser) -> None:
    text = "new, for --variant NAME=FILE; SOURCE/backtrans/LANGUAGE.json makes config backtrans"
    command.add_argument("--output", required=True, type=Path, metavar="FILE", help=text)
    for way in ("forward", "backward"):
        group = command.add_mutually_exclusive_group(required=True)
        text = "a translation model's folder or name on the Hub, with safetensors"
        group.add_argument(f"--{way}", metavar="MODEL", help=text)
        text = "reads a text a line, writes as many lines; started once a batch, without a shell"
        group.add_argument(f"--{way}-command", metavar="CMD", help=text)
    text = "the models' own codes, for those to several languages: eng_Latn zho_Hans"
    command.add_argument("--languages", nargs=2, metavar=("SOURCE", "PIVOT"), help=text)
    command.add_argument("--sample", action="store_true", help="instead of the model's own search")
    text = "with --sample; default: 1.0"
    command.add_argument("--temperature", type=float, default=1.0, metavar="T", help=text)
    text = "with --sample; default: 0"
    command.add_argument("--seed", type=int, default=0, metavar="N", help=text)
    text = "texts in a batch; default: 32"
    command.add_argument("--batch-size", type=int, default=32, metavar="N", help=text)


def _variants(options: argparse.Namespace) -> dict[str, str]:
    pairs = [argument.partition("=") for argument in options.variant]
    for name, equals, path in pairs:
        if not (name and equals and path):
            raise SgdxError(f"--variant {name}{equals}{path}: expected NAME=PATH")
    return {name: path for name, _, path in pairs}


def _release(options: argparse.Namespace) -> Release:
    release = open_release(options.source, _variants(options))
    if lacking := release.missing():
        print(f"note: a partial copy of SGD: {lacking}", file=sys.stderr)
    return release


def _prepare(options: argparse.Namespace) -> None:
    release = _release(options)
    places = prepare_release(release, options.config or release.configs(), options.cache_dir)
    print(*places, sep="\n")


def _build(options: argparse.Namespace) -> None:
    print(build(_release(options), options.output))


def _push(options: argparse.Namespace) -> None:
    print(push(_release(options), options.repo_id, private=options.private))


def _export(options: argparse.Namespace) -> None:
    splits = [options.split] if options.split else None
    print(*export(_release(options), options.config, options.output, splits), sep="\n")


def _frames(options: argparse.Namespace) -> None:
    release = _release(options)
    configs = options.config or ["original", *VARIANTS]
    for config in configs:
        release.check_dialogues(config, options.split)
    options.output.mkdir(parents=True, exist_ok=True)
    for config in configs:
        table = frame_tables(release, options.split, config)
        table = table.replace_schema_metadata(
            {**table.schema.metadata, "release": release.version()}
        )
        staging = options.output / f".{config}.parquet.incomplete"
        pq.write_table(table, staging, compression="zstd")
        staging.replace(options.output / f"{config}.parquet")


def _stats(options: argparse.Namespace) -> None:
    stats(_release(options), options.json, options.plots)


def _compose(options: argparse.Namespace) -> None:
    print(*compose(_release(options), options.pool, options.output), sep="\n")


def _corrupt(options: argparse.Namespace) -> None:
    how = options.variants, options.seed, options.replace, options.window
    print(*corrupt(_release(options), options.output, *how), sep="\n")


def _backtranslate(options: argparse.Namespace) -> None:
    settings = read_settings(vars(options))
    print(backtranslate(_release(options), options.output, settings))


if __name__ == "__main__":
    sys.exit(main())
