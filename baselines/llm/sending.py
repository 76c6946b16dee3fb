"""Sending requests to a server until all have an answer, or until a limit is reached."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sgdx_dataset import SgdxError

from .answer_file import AnswerFile
from .endpoint import LaterError, Send
from .functions import Json
from .pace import Pace, Patience
from .plan import Plan, Request
from .usage import Price, Usage, usage_of

# After so many requests in a row that no try of was answered, the server is taken to be gone.
_GIVEN_UP = 8


@dataclass(frozen=True)
class Limits:
    """Where a run stops.

    Attributes:
        concurrency: How many requests are under way at most.
        max_requests: How many requests are sent at most, with those that are tried again.
        max_cost: How much money they may cost, in the currency of the price.
        price: What tokens cost; needed for ``max_cost``.
    """

    concurrency: int = 16
    max_requests: int | None = None
    max_cost: float | None = None
    price: Price | None = None


@dataclass
class Sent:
    """What a run has sent.

    Attributes:
        counts: ``requests`` sent, those tried again among them; ``answered``; ``cached``, which had
            their answer before; ``retried``, after a fault; ``given_up``, of which no try was
            answered; and ``too_many``, how often the server said that it had too many.
        waited: Seconds that requests waited before they were tried again, all together.
        usage: Tokens of all answers of this run.
        stopped: Why the run ended before all requests were sent; empty if it did not.
        most: How many requests were under way at once, at most.
    """

    counts: Counter[str] = field(default_factory=Counter)
    waited: float = 0.0
    usage: Usage = field(default_factory=Usage)
    stopped: str = ""
    most: int = 0


async def send_all(
    plan: Plan,
    answers: AnswerFile,
    send: Send,
    limits: Limits,
    patience: Patience | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Sent:
    """Send every request that has no answer yet, and keep the answers.

    Args:
        plan: What is asked.
        answers: Where answers are kept.
        send: Sends one body, and returns that of the answer; see ``endpoint.connect``.
        limits: Where to stop.
        patience: How often to try, and how long to wait; None for the usual.
        advance: Called for each request that has its answer, or none in this run.

    Raises:
        SgdxError: The server refuses a request for good, or answers cannot be kept. What was under
            way then is waited for, and kept.
    """
    run = _Run(plan, answers, send, limits, patience or Patience(), Pace(limits.concurrency))
    requests = plan.requests()
    workers = [run.work(requests, advance) for _ in range(limits.concurrency)]
    await asyncio.gather(*workers)
    if run.fault is not None:
        raise run.fault
    return run.sent


@dataclass
class _Run:
    plan: Plan
    answers: AnswerFile
    send: Send
    limits: Limits
    patience: Patience
    pace: Pace
    sent: Sent = field(default_factory=Sent)
    fault: SgdxError | None = None
    under_way: set[str] = field(default_factory=set)  # keys, as two requests may be the same
    given_up: int = 0  # requests in a row
    dearest: float | None = None  # the highest cost of an answer so far

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
            await asyncio.sleep(0)  # let others in where many answers are there already

    def _is_over(self) -> bool:
        return bool(self.fault or self.sent.stopped)

    async def _ask(self, request: Request) -> None:
        """Send a request, and again while its answer is invalid and that is wanted."""
        if self.plan.missing(request, self.answers) is None:
            self.sent.counts["cached"] += 1
            return
        while (attempt := self.plan.missing(request, self.answers)) is not None:
            key, body = request.keys[attempt], request.bodies[attempt]
            if key in self.under_way:  # another request with the same words waits for its answer
                return
            self.under_way.add(key)
            try:
                answer = await self._tried(body)
            finally:
                self.under_way.discard(key)
            if answer is None:
                return
            self.answers.add(key, request.custom_id, answer)
            self.sent.counts["answered"] += 1
            self._charge(answer)

    async def _tried(self, body: Json) -> Any:
        """The answer to a body; None if the server does not answer, or the run is over."""
        for faults in range(1, self.patience.tries + 1):
            async with self.pace.turn() as slowed:
                if self._is_over() or not self._may_send(body):
                    return None
                self.sent.counts["requests"] += 1
                self.sent.most = max(self.sent.most, self.pace.under_way)
                try:
                    answer = await self.send(body)
                except LaterError as error:
                    later = error
                    if error.too_many:
                        self.sent.counts["too_many"] += 1
                        self.pace.too_many(slowed, error.asked)
                else:
                    self.pace.answered()
                    self.given_up = 0
                    return answer
            if faults < self.patience.tries:
                self.sent.counts["retried"] += 1
                wait = self.patience.wait(faults, later.asked)
                self.sent.waited += wait
                await asyncio.sleep(wait)
        self._give_up(later)
        return None

    def _give_up(self, later: LaterError) -> None:
        self.sent.counts["given_up"] += 1
        self.given_up += 1
        if self.given_up >= _GIVEN_UP and not self.sent.stopped:
            self.sent.stopped = f"the server does not answer: {later.reason}"

    def _may_send(self, body: Json) -> bool:
        """Whether one more request is within the limits; the run is over where it is not."""
        limits, sent = self.limits, self.sent
        if limits.max_requests is not None and sent.counts["requests"] >= limits.max_requests:
            sent.stopped = f"--max-requests {limits.max_requests} is reached"
        elif limits.max_cost is not None and limits.price is not None:
            # What is under way, this request included, may cost as much as the dearest so far.
            each = _bound(body, limits.price) if self.dearest is None else self.dearest
            coming = self.pace.under_way * each
            if sent.usage.cost(limits.price) + coming > limits.max_cost:
                sent.stopped = f"--max-cost {limits.max_cost:g} is reached"
        return not sent.stopped

    def _charge(self, answer: Any) -> None:
        usage = usage_of(answer)
        self.sent.usage += usage
        if self.limits.max_cost is not None and not usage.sent:
            raise SgdxError(
                f"--max-cost {self.limits.max_cost:g}: the server does not say how many tokens a"
                " request has, expected its usage"
            )
        if self.limits.price is not None:
            self.dearest = max(self.dearest or 0.0, usage.cost(self.limits.price))


def _bound(body: Json, price: Price) -> float:
    """What a request costs at most, before any answer has said what requests cost.

    A token has two characters at least on average, in English by far.
    """
    made = body.get("max_tokens", body.get("max_completion_tokens", 1024))
    tokens = Usage(sent=len(str(body)) // 2, made=made if isinstance(made, int) else 1024)
    return tokens.cost(price)
