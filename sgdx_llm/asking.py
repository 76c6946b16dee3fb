"""Asking a server or a program everything that a run has no answer to yet."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.files import locked

from .answer_file import AnswerFile
from .endpoint import base_url, connect
from .functions import Json
from .options import SendingOptions, ServerOptions
from .program import run_program
from .sending import RequestSource, send_all
from .tables import format_counts, sending_line


@contextmanager
def open_answers(output: Path, path: Path | None = None) -> Iterator[AnswerFile]:
    """Lock the output folder, and that of the answers, for this run; open the answers."""
    path = path or output / "answers.jsonl"
    with locked(output):
        if path.parent.resolve() == output.resolve():
            with AnswerFile(path) as answers:
                yield answers
        else:
            with locked(path.parent), AnswerFile(path) as answers:
                yield answers


def ask(
    plan: RequestSource,
    count: int,
    answers: AnswerFile,
    server: ServerOptions,
    sending: SendingOptions,
    program: str | None = None,
    line_of: Callable[[Any], Json] | None = None,
) -> None:
    """Ask what has no answer yet, show how far it is, and say at the end what was sent."""
    if program:
        with _progress(count) as advance:
            counts = run_program(program, plan, answers, advance, line_of)
        print(f"sent: {format_counts(counts) or 'nothing'}", file=sys.stderr)
        if counts["cached"]:
            text = "earlier answers are kept; if the program has changed, remove answers.jsonl"
            print(f"note: {text}", file=sys.stderr)
        return
    provider, limits = server.known_provider(), sending.limits(server.prices)
    url = base_url(server.base_url, provider)
    send = connect(url, provider=provider, headers=sending.headers)
    with _progress(count) as advance:
        report = asyncio.run(send_all(plan, answers, send, limits, advance=advance, say=_say))
    print(sending_line(report, limits.price), file=sys.stderr)
    if report.stopped:
        print(f"stopped: {report.stopped}", file=sys.stderr)


def _say(text: str) -> None:
    """Print a line above the progress bar."""
    from datasets.utils import tqdm

    tqdm.write(escape_controls(text), file=sys.stderr)


@contextmanager
def _progress(count: int) -> Iterator[Callable[[], None]]:
    """A progress bar over so many requests; gives the function that advances it by one."""
    from datasets.utils import tqdm

    with tqdm(total=count, desc="Asking", unit=" requests", delay=2, disable=None) as bar:
        yield lambda: bar.update(1)
