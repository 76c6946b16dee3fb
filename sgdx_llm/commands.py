"""The commands ``sgdx ask``: a model behind a server, or a program, tracks dialogues of SGD."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from sgdx_dataset.io.errors import SgdxError
from sgdx_eval.data_options import DataOptions

from .options import AnswerOptions, RequestOptions, SendingOptions

if TYPE_CHECKING:
    from .answer_file import AnswerFile
    from .plan import Plan

ask = App(
    name="ask",
    help="Ask a tool-calling model, or a program, under every variant.\n\n"
    "It gives the dialogue state or the next call. Then score the predictions with 'sgdx score "
    "--predictions DIR'.",
)
Repeats = Annotated[
    int,
    Parameter(
        name="--repeats",
        help="Ask everything N times under one --config, and call the predictions r1 to rN. How "
        "far they vary is the sensitivity without any rewording.",
    ),
]
INCOMPLETE = 1  # exit status: answers are missing, and the same command goes on


@ask.command
def estimate(
    data: DataOptions = DataOptions(),
    request: RequestOptions = RequestOptions(),
    *,
    repeats: Repeats = 1,
    json: bool = False,
) -> None:
    """Count the requests and their tokens. Nothing is sent.

    Parameters
    ----------
    json
        Print JSON instead of a table.
    """
    from .estimate import estimate, print_estimates, token_counter

    count_tokens, counter = token_counter()
    estimates = estimate(_read_plan(data, request, repeats), count_tokens)
    print_estimates(estimates, counter, request.prices, as_json=json)


@ask.command
def predict(
    data: DataOptions = DataOptions(),
    request: RequestOptions = RequestOptions(),
    *,
    files: AnswerOptions,
    sending: SendingOptions = SendingOptions(),
    repeats: Repeats = 1,
    command: str | None = None,
) -> int:
    """Ask a server or a program, and write predictions.

    Parameters
    ----------
    command
        Ask this program instead of a server. It reads lines with custom_id, frame and body. It
        writes lines with custom_id and state, or with a chat completion as response.
    """
    from sgdx_eval.prediction_files import finished_names

    from .asking import ask, open_answers
    from .predictions import header

    sending.check(request.prices)
    plan = _read_plan(data, request, repeats, command)
    with open_answers(files.output, files.answers) as answers:
        headers = {name: header(plan, name) for name in plan.names}
        if len(finished_names(files.output, headers)) == len(headers):
            print(*(files.output / f"{name}.jsonl" for name in plan.names), sep="\n")
            return 0
        ask(plan, plan.count(), answers, request, sending, command)
        return _write(plan, answers, files.output, request)


@ask.command
def requests(
    data: DataOptions = DataOptions(),
    request: RequestOptions = RequestOptions(),
    *,
    files: AnswerOptions,
    repeats: Repeats = 1,
) -> None:
    """Write the requests as OpenAI batch files."""
    from .asking import open_answers
    from .batch_files import write_requests

    plan = _read_plan(data, request, repeats)
    with open_answers(files.output, files.answers) as answers:
        paths, count = write_requests(plan, answers, files.output / "requests")
    print(f"{count} requests; collect reads the answers", file=sys.stderr)
    print(*paths, sep="\n")


@ask.command
def collect(
    answer_files: list[Path],
    /,
    data: DataOptions = DataOptions(),
    request: RequestOptions = RequestOptions(),
    *,
    files: AnswerOptions,
    repeats: Repeats = 1,
) -> int:
    """Read the answers to batch files, and write predictions.

    Parameters
    ----------
    answer_files
        Read answers from these JSON Lines files.
    """
    from .asking import open_answers
    from .batch_files import collect
    from .predictions import format_counts

    plan = _read_plan(data, request, repeats)
    with open_answers(files.output, files.answers) as answers:
        counts = collect(plan, answers, answer_files)
        print(f"lines: {format_counts(counts) or 'none'}", file=sys.stderr)
        return _write(plan, answers, files.output, request)


@ask.command
def from_inspect(log: Path, /, *, output: Path) -> None:
    """Write predictions from a log of Inspect.

    The log is of the task sgdx/state. Run this where Inspect is installed.

    Parameters
    ----------
    log
        Read the log file that Inspect wrote.
    output
        Write VARIANT.jsonl for every variant into this folder.
    """
    from sgdx_dataset.io.extras import require

    require("inspect_ai", "inspect")
    from sgdx.logs import write_predictions_of

    write_predictions_of(log, output)


def _read_plan(
    data: DataOptions, request: RequestOptions, repeats: int, program: str | None = None
) -> Plan:
    """The plan of a run, whose dialogues are read here, before anything is written."""
    from .plan import Plan
    from .program import public_name
    from .providers import PROGRAM, base_url, place_of

    name = public_name(program) if program else None
    settings = request.settings(name)
    host = place_of(base_url(request.base_url, settings.provider))
    requested, configs = data.read()
    if repeats > 1 and not data.config:
        configs = ["original"]
    plan = Plan(requested, configs, settings, f"{PROGRAM}{name}" if name else host, repeats)
    if not plan.dialogues:
        raise SgdxError("found no dialogues, expected one at least")
    return plan


def _write(plan: Plan, answers: AnswerFile, output: Path, request: RequestOptions) -> int:
    """Write the predictions of every variant that has all of its answers; returns the status."""
    from .predictions import DONE, write_finished

    missing = write_finished(plan, answers, output, request.prices)
    if not missing.total():
        return 0
    parts = ", ".join(f"{name} {number}" for name, number in missing.items())
    print(
        f"{missing.total()} answers are missing ({parts}): give the same command again to "
        f"continue; {output / DONE} lists the dialogues that are complete",
        file=sys.stderr,
    )
    return INCOMPLETE
