"""Submit the scores of a system that was asked, such as a language model, to the leaderboard.

'python -m baselines.submit write RUN' takes a run of 'python -m baselines.llm predict' that was
scored: RUN/scores.json with RUN/predictions. It writes a folder for a pull request, with
submission.json, scores.json and run.json.

'python -m baselines.submit check FOLDER' checks such folders. Their files have to agree. If the
predictions are shared, it scores them again and compares the scores.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import file_digest, read_input, staged
from sgdx_dataset.io.json import parse_json
from sgdx_metric import score_files
from sgdx_metric.cli.results import Results, parse_results
from sgdx_metric.robustness import HEADLINE
from sgdx_metric.signature import signature_parts

from .command_line import ParagraphFormatter, add_source, run_command
from .llm.usage import Usage
from .report.run_files import find_predictions, find_scores, read_header
from .report.submission import FILE, Submission, Tokens, check_name, kind_of, read_submission
from .training.run_folder import write_json

NAME = "baselines.submit"
_FACTS = ("model", "task", "answer", "prompt", "mapping", "parameters", "retry_invalid", "host")
_ROUNDING = 1e-9  # what two machines may differ by
Json = dict[str, Any]


def write(
    run: Path, name: str, quantisation: str, answers: Path | None, shared: bool, output: Path
) -> Submission:
    """Write the folder of a submission.

    Args:
        run: A folder with ``scores.json`` and ``predictions/VARIANT.jsonl``.
        name: The model's name, with its date or revision.
        quantisation: The form of the model's weights; empty where it is not known.
        answers: The file of answers; None for ``predictions/answers.jsonl`` of the run.
        shared: Whether the predictions go with it.
        output: The folder to write.

    Raises:
        SgdxError: The run is none of ``baselines.llm``, its files are not of one run, or the name
            has no date.
    """
    check_name(name, "--name")
    file = find_scores(run)
    data = read_input(file)
    results = parse_results(data, file)
    paths = find_predictions(file.parent, results.variants)
    if not paths:
        raise SgdxError(f"{file.parent}: found no predictions of all wordings beside scores.json")
    headers = {variant: read_header(path) for variant, path in paths.items()}
    if any(header.get("tracker") != "llm" for header in headers.values()):
        raise SgdxError(
            f"{file.parent}: found predictions that baselines.llm did not write; other systems are "
            "added with python -m baselines.report --leaderboard"
        )
    answers = answers or next(iter(paths.values())).with_name("answers.jsonl")
    submission = Submission(
        name=name,
        quantisation=quantisation,
        scores=headline_scores(results),
        signature=results.signature,
        scores_sha256=results.scores.sha256,
        answers_sha256=file_digest(answers),
        predictions={variant: file_digest(path) for variant, path in paths.items()},
        **_asked(list(headers.values())),
    )
    first = next(iter(headers.values()))
    with staged(output) as staging:
        staging.mkdir()
        (staging / "scores.json").write_bytes(data)
        write_json(staging / FILE, msgspec.to_builtins(submission))
        write_json(staging / "run.json", {"evaluation": _of_all(first)})
        if shared:
            (staging / "predictions").mkdir()
            for variant, path in paths.items():
                shutil.copyfile(path, staging / "predictions" / f"{variant}.jsonl")
        check_folder(staging, None)
    return submission


def _of_all(header: Mapping[str, Any]) -> Json:
    """What a header says of all wordings alike."""
    return {key: header[key] for key in ("tracker", *_FACTS, "strict", "provider") if key in header}


def headline_scores(results: Results) -> dict[str, float | None]:
    return {key: getattr(results.scores.sgdx, key.replace("-", "_")) for key in HEADLINE}


def _asked(headers: Sequence[Json]) -> Json:
    """What the headers of all wordings say together, by the fields of ``Submission``."""
    first = headers[0]
    counts = [header["counts"] for header in headers]
    usage = sum((_usage(header["tokens"]) for header in headers), Usage())
    seconds = [header.get("seconds_per_answer") for header in headers]
    costs: list[Any] = [header.get("cost") for header in headers]
    dates = sorted(date for header in headers for date in header["dates"])
    return {
        "kind": kind_of(first),
        **{key: first[key] for key in ("model", "answer", "prompt", "mapping", "parameters")},
        "served_models": _together(headers, "served_models"),
        "fingerprints": _together(headers, "fingerprints"),
        "requests": sum(of_one["requests"] for of_one in counts),
        "invalid": sum(of_one["invalid"] for of_one in counts),
        "tokens": Tokens(usage.sent, usage.cached, usage.made, usage.reasoning),
        "seconds_per_answer": _mean(seconds),
        "cost": None if None in costs else round(sum(costs), 6),
        "dates": [dates[0], dates[-1]],
    }


def _usage(tokens: Mapping[str, int]) -> Usage:
    return Usage(tokens["in"], tokens["cached"], tokens["out"], tokens["reasoning"])


def _together(headers: Sequence[Json], key: str) -> dict[str, int]:
    return dict(sum((Counter(header[key]) for header in headers), Counter()).most_common())


def _mean(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return round(sum(known) / len(known), 3) if known else None


def find_submissions(paths: Sequence[Path]) -> list[Path]:
    """The folders of submissions among paths and right below them.

    Raises:
        SgdxError: There is none at a path.
    """
    folders = []
    for path in paths:
        inside = [path] if (path / FILE).is_file() else [f.parent for f in path.glob(f"*/{FILE}")]
        if not inside:
            raise SgdxError(f"{path}: found no {FILE} in it or in a folder of it")
        folders += sorted(inside)
    return folders


def check_folder(folder: Path, source: str | None) -> str:
    """Check a submission: its files agree, and shared predictions score as it says.

    Args:
        folder: The folder.
        source: Where SGD is, as for ``sgdx_dataset.load``; predictions on the sample need none.

    Returns:
        What was checked, in a few words.

    Raises:
        ScoreError, SgdxError: A file is malformed, or says what another one does not.
    """
    file = folder / FILE
    submission, scores = read_submission(file), folder / "scores.json"
    data = read_input(scores)
    results = parse_results(data, scores)
    content = parse_json(data, Json, str(scores), "a scores.json")
    stated: dict[str, Json] = content["predictions"]
    first = next(iter(stated.values()), {})
    _check_equal(file, "scores_sha256", submission.scores_sha256, results.scores.sha256)
    _check_equal(file, "signature", submission.signature, results.signature)
    for key, value in headline_scores(results).items():
        _check_equal(file, f"scores: {key}", submission.scores.get(key), value)
    for key in ("model", "answer", "prompt", "mapping", "parameters"):
        _check_equal(file, key, getattr(submission, key), first.get(key))
    for key in ("requests", "invalid"):
        total = sum((facts.get("counts") or {}).get(key, 0) for facts in stated.values())
        _check_equal(file, key, getattr(submission, key), total)
    digests = {variant: facts.get("sha256") for variant, facts in stated.items()}
    _check_equal(file, "predictions", submission.predictions, digests)
    _check_equal(file, "kind", submission.kind, kind_of(first))
    if not (folder / "predictions").is_dir():
        return f"{submission.kind}, files agree; predictions are not shared"
    _check_predictions(folder / "predictions", submission, content, source)
    return f"{submission.kind}, files agree; predictions score as stated"


def _check_predictions(
    predictions: Path, submission: Submission, content: Json, source: str | None
) -> None:
    """Refuse shared predictions that are others, or that score otherwise."""
    for variant, digest in submission.predictions.items():
        path = predictions / f"{variant}.jsonl"
        _check_equal(path, "SHA-256", file_digest(path), digest)
    parts = signature_parts(submission.signature, str(predictions))
    of_sample = parts.get("release") == "sample"
    again = score_files(
        {variant: predictions / f"{variant}.jsonl" for variant in submission.predictions},
        source="sample" if of_sample else source,
        split=parts["split"],
    )
    # As JSON, in which the scores were read.
    again = json.loads(json.dumps(again))
    for part in ("frames", "variants", "paired"):
        _check_alike(predictions, part, content[part], again[part])


def _check_alike(path: Path, where: str, stated: Any, scored: Any) -> None:
    """Refuse a figure that is not the one which scoring gives."""
    if isinstance(stated, dict) and isinstance(scored, dict) and stated.keys() == scored.keys():
        for key, value in stated.items():
            _check_alike(path, f"{where}: {key}", value, scored[key])
    elif isinstance(stated, list) and isinstance(scored, list) and len(stated) == len(scored):
        for number, (value, other) in enumerate(zip(stated, scored)):
            _check_alike(path, f"{where}: {number}", value, other)
    elif isinstance(stated, float) and isinstance(scored, float):
        if abs(stated - scored) > _ROUNDING:
            _check_equal(path, where, stated, scored)
    else:
        _check_equal(path, where, stated, scored)


def _check_equal(path: Path, key: str, value: Any, expected: Any) -> None:
    if value != expected:
        raise SgdxError(f"{path}: {key} is {value!s:.80}, expected {expected!s:.80}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        f"python -m {NAME}", description=__doc__, formatter_class=ParagraphFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    text = "Write the folder of a submission."
    command = commands.add_parser("write", help=text, description=text)
    command.add_argument("run", type=Path, metavar="RUN", help="Read the run in this folder.")
    command.add_argument(
        "--name",
        required=True,
        help="Give the model's name with its date, as in gpt-4o-2024-08-06, or with @ and its "
        "revision or digest.",
    )
    command.add_argument(
        "--quantisation", default="", help="Give the form of the model's weights, such as Q4_1."
    )
    command.add_argument(
        "--answers",
        type=Path,
        metavar="FILE",
        help="Take the digest of this file of answers. Default: RUN/predictions/answers.jsonl.",
    )
    command.add_argument(
        "--share-predictions",
        action="store_true",
        help="Put the prediction files into the folder, so that anybody can score them again. "
        "They hold words of the dialogues.",
    )
    command.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="Write the submission into this new folder.",
    )
    text = "Check folders of submissions."
    command = commands.add_parser("check", help=text, description=text)
    command.add_argument(
        "folders",
        nargs="+",
        type=Path,
        metavar="FOLDER",
        help="Check these submissions, or folders of submissions.",
    )
    add_source(command)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit status, which is 2 after a one-line error message."""
    options = _parser().parse_args(arguments)

    def run() -> None:
        if options.command == "write":
            if options.output.exists():
                raise SgdxError(f"--output {options.output}: exists already, expected a new folder")
            write(
                options.run,
                options.name,
                options.quantisation,
                options.answers,
                options.share_predictions,
                options.output,
            )
            print(options.output)
            return
        for folder in find_submissions(options.folders):
            print(f"{folder}: {check_folder(folder, options.source)}")

    return run_command(NAME, run)


if __name__ == "__main__":
    sys.exit(main())
