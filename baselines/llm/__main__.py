"""Ask a tool-calling model, or any other system, for the dialogue state under every wording.

Then score the predictions with 'python -m sgdx_metric score --predictions DIR'.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

from sgdx_dataset import SgdxError
from sgdx_dataset.io.extras import require
from sgdx_dataset.io.files import write_bytes

from ..command_line import add_data, run_command
from ..data.prediction_files import write_predictions
from ..training.run_folder import locked
from .answer_file import AnswerFile
from .asking import ask, open_answers
from .batch_files import collect, write_requests
from .check import check
from .endpoint import LaterError, base_url, connect, host_of
from .estimate import estimate, token_counter
from .options import (
    add_headers,
    add_output,
    add_predict,
    add_repeats,
    add_settings,
    read_headers,
    read_limits,
    read_plan,
    read_prices,
    read_settings,
)
from .plan import Plan
from .predictions import DONE, unfinished_names, write_finished
from .program import split_command
from .tables import (
    check_table,
    done_line,
    estimate_facts,
    estimate_table,
    format_counts,
    prediction_line,
)

_PROGRAM = "baselines.llm"
_INCOMPLETE = 1  # exit status: answers are missing, and the same command goes on


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit status: 0; 1 while answers are missing; 2 after an error."""
    options = _parser().parse_args(arguments)
    return run_command(_PROGRAM, lambda: options.run(options))


def _parser() -> ArgumentParser:
    parser = ArgumentParser(f"python -m {_PROGRAM}", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add_command(name: str, run: Callable[..., int | None], text: str) -> ArgumentParser:
        command: ArgumentParser = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        return command

    for name, run, text in (
        ("estimate", _estimate, "Count the requests and their tokens. Nothing is sent."),
        ("predict", _predict, "Ask a server or a program, and write predictions."),
        ("requests", _requests, "Write the requests as OpenAI batch files."),
        ("collect", _collect, "Read the answers to batch files, and write predictions."),
    ):
        command = add_command(name, run, text)
        add_data(command)
        add_repeats(command)
        add_settings(command, model_required=name in ("requests", "collect"))
        if name == "estimate":
            command.add_argument(
                "--json", action="store_true", help="Print JSON instead of a table."
            )
        elif name == "predict":
            add_predict(command)
        else:
            add_output(command)
        if name == "collect":
            text = "Read answers from these JSON Lines files."
            command.add_argument("files", nargs="+", type=Path, metavar="FILE", help=text)
    command = add_command(
        "check", _check, "Send five requests, and print how the server treats them."
    )
    add_settings(command, model_required=True)
    add_headers(command)
    text = (
        "Write predictions from a log of Inspect's tasks sgdx/state or sgdx/calls. Run this "
        "where Inspect is installed."
    )
    command = add_command("from-inspect", _from_inspect, text)
    command.add_argument("log", metavar="LOG", help="Read the log file that Inspect wrote.")
    command.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="Write VARIANT.jsonl for every wording into this folder.",
    )
    return parser


def _check(options: Namespace) -> int:
    """Ask a server a few requests; the status is 1 where something has to be changed."""
    settings = read_settings(options, None)
    url = base_url(options.base_url, settings.provider)
    send = connect(url, provider=settings.provider, headers=read_headers(options))
    try:
        findings = asyncio.run(check(send, settings))
    except LaterError as error:
        raise SgdxError(f"{host_of(url)}: does not answer: {error.reason}") from None
    print(*check_table(findings), sep="\n")
    return int(not all(finding.is_fine for finding in findings))


def _estimate(options: Namespace) -> None:
    plan, price = read_plan(options), read_prices(options)
    count_tokens, counter = token_counter()
    estimates = estimate(plan, count_tokens)
    if options.json:
        print(json.dumps([estimate_facts(wording, price) for wording in estimates], indent=1))
    else:
        print(*estimate_table(estimates, counter, price), sep="\n")


def _predict(options: Namespace) -> int:
    program = options.command
    if program:
        split_command(program)  # an error in it is told before anything is read
    read_headers(options)
    plan, limits = read_plan(options, program), read_limits(options)
    with open_answers(options.output, options.answers) as answers:
        if not unfinished_names(plan, options.output):
            print(*(options.output / f"{name}.jsonl" for name in plan.names), sep="\n")
            return 0
        ask(options, plan, plan.count(), answers, plan.settings.provider, limits)
        return _write(plan, answers, options)


def _requests(options: Namespace) -> None:
    plan = read_plan(options)
    with open_answers(options.output, options.answers) as answers:
        files, count = write_requests(plan, answers, options.output / "requests")
    print(f"{count} requests; collect reads the answers", file=sys.stderr)
    print(*files, sep="\n")


def _collect(options: Namespace) -> int:
    plan = read_plan(options)
    with open_answers(options.output, options.answers) as answers:
        counts = collect(plan, answers, options.files)
        print(f"lines: {format_counts(counts) or 'none'}", file=sys.stderr)
        return _write(plan, answers, options)


def _from_inspect(options: Namespace) -> None:
    logs = require("inspect_ai.log", "inspect")
    if not Path(options.log).is_file():
        raise SgdxError(f"{options.log}: No such file")
    try:
        log = logs.read_eval_log(options.log)
    except Exception as error:  # any of several libraries' own errors
        raise SgdxError(f"{options.log}: cannot be read as a log: {error}") from None
    from sgdx.tasks import predictions_of  # it needs inspect_ai

    files, dialogues, lacking = predictions_of(log)
    with locked(options.output):
        for name, (header, rows) in files.items():
            print(write_predictions(options.output / f"{name}.jsonl", header, rows))
        if lacking:
            done = options.output / DONE
            write_bytes(done, json.dumps(dialogues).encode() + b"\n")
            whole = len(dialogues)
            print(
                f"note: the log is of an unfinished run; the predictions are of the {whole} of "
                f"{whole + lacking} dialogues that have all of their answers, which "
                f"{done} lists for --dialogues",
                file=sys.stderr,
            )


def _write(plan: Plan, answers: AnswerFile, options: Namespace) -> int:
    """Write the predictions of every wording that has all of its answers; returns the status."""
    written, missing = write_finished(plan, answers, options.output, read_prices(options))
    for name, figures in written.items():
        print(prediction_line(name, figures), file=sys.stderr)
        print(options.output / f"{name}.jsonl")
    if not missing:
        print(done_line(written.values(), plan.settings.task), file=sys.stderr)
        return 0
    parts = ", ".join(f"{name} {number}" for name, number in missing.items())
    print(
        f"{missing.total()} answers are missing ({parts}): give the same command again to "
        f"continue; {options.output / DONE} lists the dialogues that are complete",
        file=sys.stderr,
    )
    return _INCOMPLETE


if __name__ == "__main__":
    sys.exit(main())
