"""Command line: `python -m sgdx_metric install` and `python -m sgdx_metric score`."""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from .read import Predictions, read_predictions, with_frame_ids
from .references import read_references, write_references
from .report import report
from .rows import ScoreError
from .scoring import score_frames
from .table import print_scores


def main(argv: list[str] | None = None) -> int:
    """Run a command; the exit status is 2 on bad input."""
    args = _parser().parse_args(argv)
    try:
        return int(args.run(args))
    except ScoreError as error:
        print(f"sgdx-metric: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"sgdx-metric: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="sgdx-metric", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    install = commands.add_parser("install", help='make evaluate.load("sgdx_metric") work anywhere')
    install.set_defaults(run=_install)
    score = commands.add_parser("score", help="score prediction files")
    score.set_defaults(run=_score)
    score.add_argument("--source", help="the SGD release: directory, archive or 'sample'")
    score.add_argument("--split", default="test", choices=("train", "validation", "test"))
    score.add_argument(
        "--predictions",
        action="append",
        required=True,
        metavar="VARIANT=PATH",
        help="JSONL file or directory of dialogues_*.json; once for each variant",
    )
    score.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    return parser


def _install(_: argparse.Namespace) -> int:
    from .install import install  # evaluate takes seconds to import

    print(install())
    return 0


def _score(args: argparse.Namespace) -> int:
    paths = _paths(args.predictions)
    if not args.output.parent.is_dir() or args.output.is_dir():
        raise ScoreError(f"--output {args.output}: expected a file in a directory that exists")
    predictions = {
        variant: read_predictions(path, args.split, variant) for variant, path in paths.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        status = write_references(args.source, args.split, list(paths), Path(folder))
        if status:
            return status
        scores = {}
        for variant, given in predictions.items():
            references = read_references(Path(folder) / f"{variant}.parquet")
            rows = with_frame_ids(given, references)
            scores[variant] = score_frames(references, rows, variant)
    result = report(scores, args.split, _system_acts(list(predictions.values())))
    _write(result, args.output)
    print_scores(result, _console())
    return 0


def _paths(predictions: list[str]) -> dict[str, Path]:
    """VARIANT=PATH arguments as a mapping."""
    paths: dict[str, Path] = {}
    for argument in predictions:
        variant, equals, path = argument.partition("=")
        if not (variant and equals and path):
            raise ScoreError(f"--predictions {argument}: expected VARIANT=PATH, as in v1=v1.jsonl")
        if variant in paths:
            raise ScoreError(f"--predictions {argument}: variant '{variant}' is there twice")
        paths[variant] = Path(path)
    return paths


def _system_acts(predictions: list[Predictions]) -> str:
    said = {given.system_acts for given in predictions}
    return {True: "yes", False: "no", None: "unknown"}[said.pop()] if len(said) == 1 else "mixed"


def _write(result: dict[str, Any], output: Path) -> None:
    """Write scores.json, whole or not at all."""
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    beside.write_text(json.dumps(result, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    beside.replace(output)


def _console() -> Console:
    # Piped output has no width of its own; rich would fold the table at 80 columns.
    return Console() if sys.stdout.isatty() else Console(width=120)


if __name__ == "__main__":
    sys.exit(main())
