"""The runs of one system, such as those of several seeds, of states or of calls."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import parse_json

from .call_results import parse_call_results
from .paired_results import PairedResults, PredictionFacts, check_alike
from .results import parse_results
from .systems import key_of_other_system


class _Signed(msgspec.Struct):
    signature: str = ""


def read_run(path: Path) -> PairedResults:
    """Read a scores.json that `score` or `calls` wrote.

    Raises:
        ScoreError, SgdxError: The file cannot be read, is no scores.json, or contradicts itself.
    """
    data = read_input(path)
    signature = parse_json(data, _Signed, str(path), "a scores.json").signature
    is_of_calls = "task:calls" in signature.split("|")
    return parse_call_results(data, path) if is_of_calls else parse_results(data, path)


def read_runs(paths: Sequence[Path]) -> list[PairedResults]:
    """Read the results of one system's runs.

    Raises:
        ScoreError, SgdxError: A file appears twice, is no scores.json, is of another system than
            an earlier one, or was not scored like the first: the signatures of one system's runs
            may differ in nothing.
    """
    for i, path in enumerate(paths):
        if any(path.resolve() == earlier.resolve() for earlier in paths[:i]):
            raise SgdxError(f"{path}: found this file twice, expected each run once")
    runs = [read_run(path) for path in paths]
    for i, run in enumerate(runs):
        for earlier in runs[:i]:
            if what := _shared(earlier.predictions, run.predictions):
                raise SgdxError(
                    f"{run.path}: has the {what} of {earlier.path}, expected another run"
                )
            if key := _other_system(earlier.predictions, run.predictions):
                raise SgdxError(
                    f"{run.path}: the {key} of its predictions is not that of {earlier.path}, "
                    "expected runs of one system"
                )
        check_alike(runs[0], run)
    return runs


def _other_system(
    first: Mapping[str, PredictionFacts], second: Mapping[str, PredictionFacts]
) -> str:
    """The key by which two files of scores are of different systems; empty where none is."""
    keys = (
        key_of_other_system(facts, second[name]) for name, facts in first.items() if name in second
    )
    return next(filter(None, keys), "")


def _shared(first: Mapping[str, PredictionFacts], second: Mapping[str, PredictionFacts]) -> str:
    """What shows that two files of scores are of one run; empty where nothing does."""
    for key, what in (("sha256", "predictions"), ("weights", "weights")):
        earlier, later = (
            {name: getattr(facts, key) for name, facts in predictions.items()}
            for predictions in (first, second)
        )
        if any(earlier[name] and earlier[name] == later.get(name) for name in earlier):
            return what
    return ""
