"""``python -m sgdx_dataset``: prepare the cache, export the release's JSON, write frame rows."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

from .corpus import check_config, check_split
from .errors import SgdxError
from .export import export
from .frames import frames
from .prepare import load, prepare
from .release import open_release
from .schema import CONFIGS, SPLITS


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
    command = _with_source(commands.add_parser("prepare", help=text), _prepare)
    _add_configs(command, "configs to prepare; default: all")
    command.add_argument("--cache-dir", type=Path, help="default: the Hugging Face cache")

    text = "write a config as the release's JSON"
    command = _with_source(commands.add_parser("export", help=text), _export)
    command.add_argument("--config", required=True, help=", ".join(CONFIGS))
    command.add_argument("--split", help=f"{', '.join(SPLITS)}; default: all")
    command.add_argument("--output", required=True, type=Path, help="folder for train, dev, test")

    text = "write frame rows, a Parquet file a config"
    command = _with_source(commands.add_parser("frames", help=text), _frames)
    _add_configs(command, "configs to write; default: all")
    command.add_argument("--split", required=True, help=", ".join(SPLITS))
    command.add_argument("--output", required=True, type=Path, help="folder for CONFIG.parquet")
    return parser


def _with_source(
    command: argparse.ArgumentParser, run: Callable[[argparse.Namespace], None]
) -> argparse.ArgumentParser:
    command.add_argument(
        "--source",
        help="release directory or archive, or 'sample'; default: $SGDX_SOURCE, else a download",
    )
    command.set_defaults(run=run)
    return command


def _add_configs(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("--config", nargs="+", action="extend", metavar="CONFIG", help=text)


def _prepare(options: argparse.Namespace) -> None:
    for place in prepare(options.source, options.config or CONFIGS, options.cache_dir):
        print(place)


def _export(options: argparse.Namespace) -> None:
    splits = [options.split] if options.split else SPLITS
    for place in export(open_release(options.source), options.config, options.output, splits):
        print(place)


def _frames(options: argparse.Namespace) -> None:
    check_split(options.split)
    for config in options.config or CONFIGS:
        check_config(config)
    options.output.mkdir(parents=True, exist_ok=True)
    for config in options.config or CONFIGS:
        rows = frames(load(config, options.split, options.source))
        staging = options.output / f".{config}.parquet.incomplete"
        pq.write_table(rows.data.table, staging, compression="zstd")
        staging.replace(options.output / f"{config}.parquet")


if __name__ == "__main__":
    sys.exit(main())
