"""Sending requests to a server until all have an answer, or until a limit is reached."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sgdx_dataset import SgdxError

from .answer_file import AnswerFile
from .concurrency import ConcurrencyLimit, RetryPolicy
from .endpoint import LaterError, Send
from .functions import Json
from .plan import Plan, Request
from .usage import Price, Usage, usage_of

# After so many requests in a row that were given up, the server is taken to be gone.
_MOST_GIVEN_UP = 8
_LONG_WAIT = 60.0  # seconds; a longer wait is told


@dataclass(frozen=True)
class SendLimits:
    """The limits at which a run stops.

    Attributes:
        concurrency: Maximum number of requests under way at once.
        max_requests: Maximum number of requests to send, those that are tried again included.
        max_cost: Maximum cost of the requests, in the currency of the price.
        price: The price of tokens; needed for ``max_cost``.
    """

    concurrency: int = 16
    max_requests: int | None = None
    max_cost: float | None = None
    price: Price | None = None


@dataclass
class SendingReport:
    """What a run has sent so far.

    Attributes:
        counts: Numbers of requests: ``requests`` sent, retries included; ``answered``; ``cached``,
            which had their answer before; ``retried`` after a fault; ``given_up`` after the last
            try; and ``too_many``, the number of times that the server said it had too many.
        waited: Seconds that requests waited before they were tried again, all together.
        usage: Tokens of all answers of this run.
        stopped: Why the run ended before all requests were sent; empty if it did not.
        peak: The highest number of requests that were under way at once.
    """

    counts: Counter[str] = field(default_factory=Counter)
    waited: float = 0.0
    usage: Usage = field(default_factory=Usage)
    stopped: str = ""
    peak: int = 0


async def send_all(
    plan: Plan,
    answers: AnswerFile,
    send: Send,
    limits: SendLimits,
    retry: RetryPolicy | None = None,
    advance: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = lambda text: None,
) -> SendingReport:
    """Send every request that has no answer yet, and keep the answers.

    Args:
        plan: What is asked.
        answers: Where answers are kept.
        send: Sends one body, and returns that of the answer; see ``endpoint.connect``.
        limits: Where to stop.
        retry: How often to try, and how long to wait; None for the default.
        advance: Called for each request that is done with, answered or given up.
        say: Called with a line for whoever waits, where the server asks for a long wait.

    Raises:
        SgdxError: The server refuses a request for good, or answers cannot be kept. The answers to
            requests that were under way are still waited for and kept.
    """
    sender = _Sender(
        plan,
        answers,
        send,
        limits,
        retry or RetryPolicy(),
        ConcurrencyLimit(limits.concurrency),
        say,
    )
    requests = plan.requests()
    workers = [sender.work(requests, advance) for _ in range(limits.concurrency)]
    await asyncio.gather(*workers)
    if sender.fault is not None:
        raise sender.fault
    return sender.report


@dataclass
class _Sender:
    plan: Plan
    answers: AnswerFile
    send: Send
    limits: SendLimits
    retry: RetryPolicy
    concurrency: ConcurrencyLimit
    say: Callable[[str], None]
    report: SendingReport = field(default_factory=SendingReport)
    fault: SgdxError | None = None
    under_way: set[str] = field(default_factory=set)  # keys, as two requests may be the same
    given_up: int = 0  # requests in a row
    waits_until: float = 0.0  # the end of the longest wait that was told, on the loop's clock
    highest_cost: float | None = None  # the highest cost of an answer so far

    async def work(self, requests: Iterator[Request], advance: Callable[[], None]) -> None:
        for request in requests:
            if self._is_over():
                return
            try:
                await self._ask(request)
            except SgdxError as error:
                self.fault = self.fault or error
                return
            advance()
            await asyncio.sleep(0)  # other workers get their turn even if all answers are cached

    def _is_over(self) -> bool:
        return bool(self.fault or self.report.stopped)

    async def _ask(self, request: Request) -> None:
        """Send a request, and again after an invalid answer if the plan has more attempts."""
        if self.plan.missing(request, self.answers) is None:
            self.report.counts["cached"] += 1
            return
        while (attempt := self.plan.missing(request, self.answers)) is not None:
            key, body = request.keys[attempt], request.bodies[attempt]
            if key in self.under_way:  # an equal request is waiting for this answer
                return
            self.under_way.add(key)
            try:
                answer = await self._send_with_retries(body)
            finally:
                self.under_way.discard(key)
            if answer is None:
                return
            self.answers.add(key, request.custom_id, answer)
            self.report.counts["answered"] += 1
            self._charge(answer)

    async def _send_with_retries(self, body: Json) -> Any:
        """The answer to a body; None if the server does not answer, or the run is over."""
        for faults in range(1, self.retry.tries + 1):
            async with self.concurrency.admission() as halvings:
                if self._is_over() or not self._may_send(body):
                    return None
                self.report.counts["requests"] += 1
                self.report.peak = max(self.report.peak, self.concurrency.under_way)
                try:
                    answer = await self.send(body)
                except LaterError as error:
                    later = error
                    if error.too_many:
                        self.report.counts["too_many"] += 1
                        self.concurrency.too_many(halvings, error.asked)
                else:
                    self.concurrency.answered()
                    self.given_up = 0
                    return answer
            if faults < self.retry.tries:
                self.report.counts["retried"] += 1
                wait = self.retry.wait(faults, later.asked)
                self.report.waited += wait
                self._tell(wait, later)
                await asyncio.sleep(wait)
        self._give_up(later)
        return None

    def _tell(self, wait: float, later: LaterError) -> None:
        """Say that there is a long wait, once for all requests that wait together."""
        end = asyncio.get_running_loop().time() + wait
        if wait >= _LONG_WAIT and end > self.waits_until + _LONG_WAIT:
            self.waits_until = end
            again = "Ctrl-C ends the run, and the same command goes on"
            self.say(f"the server asks to wait {wait:.0f} seconds ({later.reason}); {again}")

    def _give_up(self, later: LaterError) -> None:
        self.report.counts["given_up"] += 1
        self.given_up += 1
        if self.given_up >= _MOST_GIVEN_UP and not self.report.stopped:
            self.report.stopped = f"the server does not answer: {later.reason}"

    def _may_send(self, body: Json) -> bool:
        """Whether one more request is within the limits; the run is over where it is not."""
        limits, report = self.limits, self.report
        if limits.max_requests is not None and report.counts["requests"] >= limits.max_requests:
            report.stopped = f"--max-requests {limits.max_requests} is reached"
        elif limits.max_cost is not None and limits.price is not None:
            # Each request under way, this one included, may cost as much as the dearest so far.
            next_cost = (
                _highest_cost_of(body, limits.price)
                if self.highest_cost is None
                else self.highest_cost
            )
            coming = self.concurrency.under_way * next_cost
            if report.usage.cost(limits.price) + coming > limits.max_cost:
                report.stopped = f"--max-cost {limits.max_cost:g} is reached"
        return not report.stopped

    def _charge(self, answer: Any) -> None:
        usage = usage_of(answer)
        self.report.usage += usage
        if self.limits.max_cost is not None and not usage.sent:
            raise SgdxError(
                f"--max-cost {self.limits.max_cost:g}: the server does not say how many tokens a"
                " request has, expected its usage"
            )
        if self.limits.price is not None:
            self.highest_cost = max(self.highest_cost or 0.0, usage.cost(self.limits.price))


def _highest_cost_of(body: Json, price: Price) -> float:
    """An upper bound for the cost of a request, used until an answer has reported its tokens.

    It takes a token to have two characters; in English, tokens have about four.
    """
    made = body.get("max_tokens", body.get("max_completion_tokens", 1024))
    tokens = Usage(sent=len(str(body)) // 2, made=made if isinstance(made, int) else 1024)
    return tokens.cost(price)
