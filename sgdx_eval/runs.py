"""The runs of one system, such as those of several seeds, of states or of calls."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import parse_json

from .call_results import parse_call_results
from .paired_results import PairedResults, check_alike
from .results import parse_results


class _Signed(msgspec.Struct):
    signature: str = ""


def read_run(path: Path) -> PairedResults:
    """Read a scores.json that `score` or `calls` wrote."""
    data = read_input(path)
    signature = parse_json(data, _Signed, str(path), "a scores.json").signature
    is_of_calls = "task:calls" in signature.split("|")
    return parse_call_results(data, path) if is_of_calls else parse_results(data, path)


def read_runs(paths: Sequence[Path]) -> list[PairedResults]:
    """Read the results of one system's runs, whose signatures may differ in nothing."""
    for i, path in enumerate(paths):
        if any(path.resolve() == earlier.resolve() for earlier in paths[:i]):
            raise SgdxError(f"{path}: found this file twice, expected each run once")
    runs = [read_run(path) for path in paths]
    for run in runs[1:]:
        check_alike(runs[0], run)
    return runs
