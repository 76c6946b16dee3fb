"""Asking a server or a program everything that a run has no answer to yet."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.extras import require
from sgdx_dataset.io.files import locked, run_folder
from sgdx_dataset.io.progress import lines_of_progress

from .answer_file import AnswerFile
from .estimate import body_tokens, token_counter
from .functions import Json
from .options import SendingOptions, ServerOptions
from .predictions import format_counts
from .program import run_program
from .providers import base_url
from .requests import Request
from .usage import Price, tokens_of

if TYPE_CHECKING:
    from .server import RefusedError

# How often a request is tried again after a fault that may pass: until the server has answered
# once, and after that.
FIRST_RETRIES, RETRIES = 2, 8
# Requests in a row that are given up before the server is taken to be gone.
FIRST_GIVEN_UP, MOST_GIVEN_UP = 3, 8
# Refusals before the server is taken to refuse everything, while it has answered nothing.
MOST_REFUSALS = 8


class RequestSource(Protocol):
    """What is asked: the plan of a run."""

    def requests(self) -> Iterator[Request]:
        """All requests, in order."""

    def is_unread(self, request: Any, body: Any) -> bool:
        """Whether an answer to a request cannot be read."""


@contextmanager
def open_answers(output: Path, path: Path | None = None) -> Iterator[AnswerFile]:
    """Lock the output folder, and that of the answers, for this run; open the answers."""
    path = path or output / "answers.jsonl"
    with locked(output), run_folder(output):
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
    rounds: int = 1,
) -> None:
    """Ask what has no answer yet, show how far it is, and say at the end what was sent.

    Of a plan whose requests follow from answers there are several rounds, with the same limits.
    """
    of_servers = {**vars(sending), "base_url": server.base_url, "price": server.price}
    usual = {**vars(SendingOptions()), "base_url": None, "price": None}
    if program and (given := [name for name, of in usual.items() if of_servers[name] != of]):
        option = given[0].replace("_", "-")
        raise SgdxError(f"--{option}: found --command, whose program is no server")
    with _progress(count) as advance:
        if program:
            counts, earlier = Counter[str](), set[str]()
            for _ in _rounds(rounds, answers):
                requests = unanswered(plan, answers, counts, advance, earlier=earlier)
                run_program(program, requests, answers, counts, advance)
            said = format_counts(counts) or "nothing"
        else:
            require("openai", "llm")
            from .server import Server

            provider = server.known_provider()
            url = base_url(server.base_url, provider)
            asked = Server(url, provider, sending.timeout, sending.headers)
            if server.prices:
                _print_cost_before(plan, answers, server.prices)
            run = Run(plan, answers, asked.ask, sending, server.prices, advance)
            asyncio.run(run.ask_all(rounds))
            run.counts["retried"] = asked.http.requests - run.counts["requests"]
            said = run.summary()
    print(f"sent: {said}", file=sys.stderr)
    if program and counts["cached"]:
        text = "earlier answers are kept; if the program has changed, remove answers.jsonl"
        print(f"note: {text}", file=sys.stderr)
    if not program and run.stopped:
        print(f"stopped: {escape_controls(run.stopped)}", file=sys.stderr)


def tell_missing(missing: Mapping[str, int], more: str = "") -> None:
    """Say how many answers are missing, of what, and how they come."""
    parts = ", ".join(f"{name} {number}" for name, number in missing.items() if number)
    again = f"give the same command again to continue{more}"
    print(f"{sum(missing.values())} answers are missing ({parts}): {again}", file=sys.stderr)


@contextmanager
def _progress(count: int) -> Iterator[Callable[[], None]]:
    """Show how far so many requests are, which the function that is given advances by one."""
    from datasets.utils import tqdm

    bar = tqdm(total=count, desc="Asking", unit=" requests", delay=2, disable=None)
    done = 0
    with lines_of_progress("asked") if bar.disable else nullcontext(lambda _: None) as see, bar:

        def advance() -> None:
            nonlocal done
            done += 1
            see(f"{done:,} of {count:,} requests")
            bar.update(1)

        yield advance


def _print_cost_before(plan: RequestSource, answers: AnswerFile, price: Price) -> None:
    """Say what a run will cost, before its first request."""
    count_tokens, counter = token_counter()
    requests, tokens, most = 0, 0, 0.0
    for request in unanswered(plan, answers, Counter(), lambda: None):
        requests += 1
        tokens += body_tokens(request.body, count_tokens)
        most += _highest_cost(request.body, price)
    cost = price.cost({"in": tokens})
    print(
        f"asking {requests:,} requests of {tokens:,} tokens by {counter}, which cost {cost:.4g}; "
        f"with the longest answers they cost {most:.4g}",
        file=sys.stderr,
    )


def _highest_cost(body: Json, price: Price) -> float:
    """An upper bound for the cost of a request: tokens have two bytes at least, and a limit."""
    most = body.get("max_tokens", body.get("max_completion_tokens"))
    sent = len(json.dumps(body, ensure_ascii=False).encode(errors="replace")) // 2
    return price.cost({"in": sent, "out": most if isinstance(most, int) else 1024})


def unanswered(
    plan: RequestSource,
    answers: AnswerFile,
    counts: Counter[str],
    advance: Callable[[], None],
    see: Callable[[Request], None] = lambda request: None,
    earlier: set[str] | None = None,
) -> Iterator[Request]:
    """The requests that have no answer yet, each once; ``see`` gets those that have one.

    What earlier rounds have asked, by its keys, is passed over, and added to.
    """
    asked, known, earlier = set[str](), set[str](), set() if earlier is None else earlier
    for request in plan.requests():
        if request.key in earlier:
            continue
        if request.key in answers and request.key not in asked:
            counts["cached"] += 1
            known.add(request.key)
            see(request)
        elif request.key not in asked:
            asked.add(request.key)
            yield request
            continue
        advance()
    earlier |= asked | known


def _rounds(most: int, answers: AnswerFile) -> Iterator[int]:
    """Rounds, until one has brought no answer."""
    for number in range(most):
        before = len(answers)
        yield number
        if len(answers) == before:
            return


@dataclass
class Run:
    """What is asked of a server, and how far it is."""

    plan: RequestSource
    answers: AnswerFile
    # Sends a body, trying again so often, as ``Server.ask`` does.
    send: Callable[[Json, int], Awaitable[Any]]
    limits: SendingOptions
    price: Price | None = None
    advance: Callable[[], None] = lambda: None
    # Requests, those that were `answered` now or before (`cached`), `refused` for good or
    # `given_up` after the last try.
    counts: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)  # of all answers of this run
    stopped: str = ""  # why the run ended before all requests were sent
    fault: SgdxError | None = None
    works: bool = False  # whether the server has answered, or refused one request for what it is
    given_up: int = 0  # requests in a row
    no_answer: str = ""  # why the last one of them was
    sending: dict[str, float] = field(default_factory=dict)  # what those under way may cost, by key
    # Refusals that are answers only if the server answers another request.
    held: list[tuple[Request, RefusedError]] = field(default_factory=list)
    earlier: set[str] = field(default_factory=set)  # what earlier rounds have asked, by its keys
    read: int = 0  # answers, those of earlier runs included
    unread: int = 0  # of those

    async def ask_all(self, rounds: int = 1) -> None:
        """Send every request that has no answer yet, and keep the answers."""
        for _ in _rounds(rounds, self.answers):  # in one loop, as connections are of one
            await self._ask_round()

    async def _ask_round(self) -> None:
        requests = unanswered(
            self.plan, self.answers, self.counts, self.advance, self._see, self.earlier
        )
        # Until the server has answered one request, each goes alone, so that a wrong address, key
        # or field is told at once.
        for request in requests:
            await self._ask(request, FIRST_RETRIES)
            if self.fault or self.stopped or self.works:
                break
        await asyncio.gather(*(self._work(requests) for _ in range(self.limits.concurrency)))
        if self.fault:
            raise self.fault
        if self.works or self.counts["cached"]:
            self._keep_refusals()
        elif self.held:  # the server has refused all that it was asked
            raise self.held[0][1]
        elif self.given_up:
            raise SgdxError(self.no_answer)

    async def _work(self, requests: Iterator[Request]) -> None:
        """Ask one request after the other, beside other workers."""
        while not (self.fault or self.stopped):
            request = next(requests, None)
            if request is None:
                return
            await self._ask(request, RETRIES)

    async def _ask(self, request: Request, retries: int) -> None:
        """Send a request within the limits, and keep its answer."""
        from .server import NoAnswerError, RefusedError

        most = _highest_cost(request.body, self.price) if self.price else 0.0
        if not await self._may_send(most):
            return
        self.counts["requests"] += 1
        self.sending[request.key] = most
        start = time.monotonic()
        try:
            answer = await self.send(request.body, retries)
            self.answers.add(request.key, request.custom_id, answer, time.monotonic() - start)
            self.counts["answered"] += 1
            self.works, self.given_up = True, 0
            tokens = tokens_of(answer)
            self.tokens.update(tokens)
            if self.limits.max_cost is not None and not tokens["in"]:
                raise SgdxError(
                    f"--max-cost {self.limits.max_cost:g}: the server does not say how many tokens "
                    "a request has, expected its usage"
                )
            self._check_unread(request, answer)
        except RefusedError as refusal:
            self.counts["refused"] += 1
            self.held.append((request, refusal))
            self.works = self.works or refusal.is_about_one
            if not self.works and len(self.held) >= MOST_REFUSALS and not self.counts["cached"]:
                self.fault = self.fault or refusal
        except NoAnswerError as later:
            self.counts["given_up"] += 1
            self.given_up += 1
            self.no_answer = str(later)
            if self.works and self.given_up >= MOST_GIVEN_UP:
                self.stopped = self.stopped or str(later)
            elif not self.works and self.given_up >= FIRST_GIVEN_UP:
                hint = "is --base-url right, and is the server ready?"
                self.fault = SgdxError(f"{later}; {hint}")
        except SgdxError as fault:
            self.fault = self.fault or fault
        finally:
            del self.sending[request.key]
        if self.works:
            self._keep_refusals()
        self.advance()

    def _keep_refusals(self) -> None:
        """Keep refusals as answers, which are of single requests where others are answered."""
        held, self.held = self.held, []
        for request, refusal in held:
            self.answers.add(request.key, request.custom_id, refusal.answer)
            self._check_unread(request, refusal.answer)

    async def _may_send(self, most: float) -> bool:
        """Whether a request that may cost so much is within the limits; else the run is over."""
        limits = self.limits
        if limits.max_cost is not None and self.price is not None:
            # What may be too dear waits until those with the server have said what they cost.
            while True:
                spent = self.price.cost(self.tokens)
                if spent + sum(self.sending.values()) + most <= limits.max_cost:
                    break
                if not self.sending:
                    self.stopped = (
                        f"one more request may cost {most:.4g}, and more than --max-cost "
                        f"{limits.max_cost:g} with the {spent:.4g} of the answers so far"
                    )
                if self.stopped or self.fault:
                    return False
                await asyncio.sleep(0.02)
        if limits.max_requests is not None and self.counts["requests"] >= limits.max_requests:
            self.stopped = self.stopped or f"--max-requests {limits.max_requests} is reached"
        return not self.stopped

    def _see(self, request: Request) -> None:
        """Count an answer of an earlier run, where that matters."""
        if self.limits.unread_limit:
            self._check_unread(request, (self.answers.get(request.key) or {}).get("body"))

    def _check_unread(self, request: Request, answer: Any) -> None:
        """Count an answer, and end the run where too many cannot be read."""
        limit = self.limits.unread_limit
        if limit is None or self.stopped:
            return
        share, after = limit
        self.read += 1
        self.unread += int(self.plan.is_unread(request, answer))
        if self.read >= after and self.unread >= share * self.read:
            self.stopped = (
                f"{self.unread} of {self.read} answers cannot be read, and --stop-unread is "
                f"{share:g}/{after}"
            )

    def summary(self) -> str:
        """What was sent, in one line."""
        line = format_counts(self.counts) or "nothing"
        if self.tokens["in"]:
            line += f"; tokens {self.tokens['in']} in, {self.tokens['out']} out"
        return line + (f"; cost {self.price.cost(self.tokens):.4f}" if self.price else "")
