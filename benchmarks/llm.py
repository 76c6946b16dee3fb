"""``python -m benchmarks.llm``: how fast a model is asked, and what bounds it.

A stand-in for a server answers in a process of its own. The same bodies are then sent by a plain
loop over one connection and without any client at all, so that the parts can be told apart: making
the bodies, the client library, and this project's own work of pacing and keeping answers.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from baselines.data.requested import RequestedData
from baselines.llm.answer_file import AnswerFile
from baselines.llm.endpoint import Send, connect
from baselines.llm.plan import Plan
from baselines.llm.requests import RequestSettings
from baselines.llm.sending import SendLimits, send_all
from tests.baselines.llm.server import StandIn, empty_state, serving


def serve(delay: float, urls: Any, end: Any) -> None:
    """Answer requests until told to end."""
    with serving(StandIn(delay=delay)) as stand_in:
        urls.put(stand_in.url)
        end.wait()


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and seconds of this process's own CPU time, that some work takes."""
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


def show(name: str, number: int, seconds: float, cpu: float) -> None:
    """Print a line of the table."""
    print(f"{name:<42}{number / seconds:>10.0f} /s{1e3 * cpu / number:>10.2f} ms of CPU each")


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.llm", description="Measure how fast requests are sent."
    )
    parser.add_argument("--requests", type=int, default=2000, metavar="N")
    parser.add_argument("--concurrency", type=int, default=16, metavar="N")
    parser.add_argument("--delay", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--source", default="sample")
    options = parser.parse_args()
    configs = ("original", "v1", "v2", "v3", "v4", "v5")
    context = multiprocessing.get_context("spawn")
    urls, end = context.Queue(), context.Event()
    server = context.Process(target=serve, args=(options.delay, urls, end))
    server.start()
    try:
        url = urls.get()
        plan = Plan(RequestedData(options.source, "test"), configs, RequestSettings(model="m"), url)
        list(islice(plan.requests(), 10))  # the rows are read before anything is measured
        bodies: list[Any] = []
        made = timed(
            lambda: bodies.extend(
                request.bodies[0] for request in islice(plan.requests(), options.requests)
            )
        )
        show("making bodies", len(bodies), *made)
        show(
            "one connection, without client or pace",
            len(bodies),
            *timed(lambda: plain(url, bodies)),
        )
        for kind, send in (("no server", answer_at_once), ("openai", connect(url))):
            with (
                tempfile.TemporaryDirectory() as folder,
                AnswerFile(Path(folder) / "answers.jsonl") as answers,
            ):
                limits = SendLimits(options.concurrency, max_requests=len(bodies))
                measured = timed(partial(run, plan, answers, send, limits))
                show(f"predict, {kind}, {options.concurrency} under way", len(answers), *measured)
    finally:
        end.set()
        server.join()


def run(plan: Plan, answers: AnswerFile, send: Send, limits: SendLimits) -> None:
    """Send the requests of a plan."""
    asyncio.run(send_all(plan, answers, send, limits))


async def answer_at_once(body: Any) -> Any:
    """An answer that takes no time: what is left is this project's own work."""
    return empty_state(body)


def plain(url: str, bodies: list[Any]) -> None:
    """Send bodies one after the other over one connection."""
    address = url.removeprefix("http://").partition("/")[0]
    connection = http.client.HTTPConnection(address)
    for body in bodies:
        headers = {"Content-Type": "application/json", "Authorization": "none"}
        connection.request("POST", "/v1/chat/completions", json.dumps(body).encode(), headers)
        json.loads(connection.getresponse().read())
    connection.close()


if __name__ == "__main__":
    main()
