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
    help="Ask a model, or a program, for dialogue states under every variant.\n\n"
    "Then score the predictions with 'sgdx score --predictions DIR'.",
)
INCOMPLETE = 1  # exit status: answers are missing, and the same command goes on


@ask.command
def predict(
    data: DataOptions = DataOptions(),
    request: RequestOptions = RequestOptions(),
    *,
    files: AnswerOptions = AnswerOptions(),
    sending: SendingOptions = SendingOptions(),
    repeats: Annotated[int, Parameter(name="--repeats")] = 1,
    command: str | None = None,
    estimate: bool = False,
    requests: bool = False,
    collect: tuple[Path, ...] = (),
) -> int:
    """Ask a server or a program, and write predictions.

    Parameters
    ----------
    repeats
        Ask all 2 to 6 times under the original words: repeat2 and so on show what noise makes.
    command
        Ask this program instead. It reads lines with custom_id, frame and body, and writes lines
        with custom_id and state, or a chat completion as response.
    estimate
        Send nothing: count the requests and their tokens.
    requests
        Send nothing: write the requests as OpenAI batch files.
    collect
        Send nothing: read the answers to batch files from these files.
    """
    from sgdx_eval.predictions import finished_names

    from .asking import ask, open_answers
    from .predictions import format_counts, header

    sending.check(request.prices)
    ways = {"--estimate": estimate, "--requests": requests, "--collect": collect}
    if len(given := [name for name, is_given in ways.items() if is_given]) > 1:
        raise SgdxError(f"found {' and '.join(given)}, expected one of them")
    if given and command:
        raise SgdxError(f"found {given[0]} and --command, expected one of them")
    plan = _read_plan(data, request, repeats, command)
    if estimate:
        from .estimate import estimate as estimated
        from .estimate import print_estimates, token_counter

        count_tokens, counter = token_counter()
        print_estimates(estimated(plan, count_tokens), counter, request.prices)
        return 0
    if files.output is None:
        raise SgdxError("found no --output, expected the folder of the predictions")
    with open_answers(files.output, files.answers) as answers:
        if requests:
            from .batch_files import write_requests

            paths, count = write_requests(plan, answers, files.output / "requests")
            print(f"{count} requests; --collect reads the answers", file=sys.stderr)
            print(*paths, sep="\n")
            return 0
        if collect:
            from .batch_files import collect as read_answers

            counts = read_answers(plan, answers, collect)
            print(f"lines: {format_counts(counts) or 'none'}", file=sys.stderr)
            return _write(plan, answers, files.output, request)
        headers = {name: header(plan, name) for name in plan.names}
        if len(finished_names(files.output, headers)) == len(headers):
            print(*(files.output / f"{name}.jsonl" for name in plan.names), sep="\n")
            return 0
        ask(plan, plan.count(), answers, request, sending, command)
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
    if repeats > 1 and not data.names:
        configs = ["original"]
    plan = Plan(requested, configs, settings, f"{PROGRAM}{name}" if name else host, repeats)
    if not plan.dialogues:
        raise SgdxError("found no dialogues, expected one at least")
    return plan


def _write(plan: Plan, answers: AnswerFile, output: Path, request: RequestOptions) -> int:
    """Write the predictions of every variant that has all of its answers; returns the status."""
    from .asking import tell_missing
    from .predictions import DONE, write_finished

    missing = write_finished(plan, answers, output, request.prices)
    if not missing.total():
        return 0
    tell_missing(missing, f"; {output / DONE} lists the dialogues that are complete")
    return INCOMPLETE
