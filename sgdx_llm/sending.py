"""Sending requests to a server until all have an answer, or until a limit is reached."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from sgdx_dataset import SgdxError

from .answer_file import AnswerFile
from .endpoint import LaterError, RefusedError, Send
from .functions import Json
from .usage import Price, Usage, usage_of

OnRefusal = Literal["count", "stop"]

# After so many requests in a row that were given up, the server is taken to be gone.
_MOST_GIVEN_UP = 8
_LONG_WAIT = 60.0  # seconds; a longer wait is told
_MOMENT = 0.02  # seconds
# While no request has been answered: after so many faults, all of them the same, and after so many
# refusals, the server is taken to treat every request so.
_MOST_SAME_FAULTS, _MOST_REFUSALS = 3, 8


@dataclass(frozen=True)
class RetryPolicy:
    """How often a request is tried, and how long to wait in between."""

    tries: int = 6  # how often a request is tried before it is given up for this run
    # The longest wait after the first fault, in seconds; it doubles with each further one.
    first: float = 1.0
    # The longest wait that is drawn, in seconds. A longer wait that the server asks for is kept all
    # the same.
    longest: float = 60.0

    def wait(self, faults: int, asked: float | None) -> float:
        """Seconds to wait after so many faults: as asked, else drawn from 0 on ("full jitter")."""
        if asked is not None:
            return max(asked, 0.0)
        bound = min(self.longest, self.first * 2**faults)
        return max(self.first, random.uniform(0, bound))  # noqa: S311 - no secret is made of it


class Request(Protocol):
    """One request, with the bodies to send until one of them has a valid answer."""

    @property
    def custom_id(self) -> str:
        """The request's name, for whoever reads the file of answers."""

    @property
    def bodies(self) -> Sequence[Json]:
        """The bodies: the first one, and the next one if its answer is unread."""

    @property
    def keys(self) -> Sequence[str]:
        """The key under which the answer to each body is kept."""


class RequestSource(Protocol):
    """What is asked: the plan of a run."""

    def requests(self) -> Iterator[Any]:
        """All requests, each a ``Request``, in order."""

    def missing(self, request: Any, answers: AnswerFile) -> int | None:
        """Which body of a request is to be sent next; None if the request has its answer."""

    def is_unread(self, request: Any, body: Any) -> bool:
        """Whether an answer to a request cannot be read."""


@dataclass(frozen=True)
class UnreadLimit:
    """The limit of ``--stop-unread``."""

    share: float  # the run stops where at least this share of the answers cannot be read
    after: int  # but not before so many answers are there


def read_unread_limit(text: str) -> UnreadLimit:
    """Read ``SHARE/AFTER``, such as ``0.5/50``."""
    share, _, after = text.partition("/")
    try:
        limit = UnreadLimit(float(share), int(after))
    except ValueError:
        limit = UnreadLimit(0.0, 0)
    if not (0 < limit.share <= 1 and limit.after >= 1):
        raise SgdxError(f"--stop-unread {text}: expected SHARE/AFTER, such as 0.5/50")
    return limit


@dataclass(frozen=True)
class SendLimits:
    """The limits at which a run stops."""

    concurrency: int = 16  # maximum number of requests under way at once
    # Maximum number of requests to send, those that are tried again included.
    max_requests: int | None = None
    max_cost: float | None = None  # maximum cost of the requests, in the currency of the price
    price: Price | None = None  # the price of tokens; needed for ``max_cost``
    # Whether a refusal that may be about one request counts as an unread answer to it (``count``)
    # or ends the run (``stop``).
    on_refusal: OnRefusal = "count"
    # The share of unread answers at which the run stops; None for no such limit.
    stop_unread: UnreadLimit | None = None


@dataclass
class SendingReport:
    """What a run has sent so far."""

    # Requests: all that were sent, `cached` (answered before), `retried` after a fault, `given_up`
    # after the last try, `refused` for good; and how often the server said it had `too_many`.
    counts: Counter[str] = field(default_factory=Counter)
    waited: float = 0.0  # seconds that requests waited before they were tried again, all together
    usage: Usage = field(default_factory=Usage)  # tokens of all answers of this run
    stopped: str = ""  # why the run ended before all requests were sent; empty if it did not
    peak: int = 0  # the highest number of requests that were under way at once


async def send_all(
    plan: RequestSource,
    answers: AnswerFile,
    send: Send,
    limits: SendLimits,
    retry: RetryPolicy | None = None,
    advance: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = lambda text: None,
) -> SendingReport:
    """Send every request that has no answer yet, and keep the answers."""
    sender = _Sender(plan, answers, send, limits, retry or RetryPolicy(), say)
    requests = plan.requests()
    # Each worker has one request under way, and takes the next one when it has its answer.
    workers = [sender.work(requests, advance) for _ in range(limits.concurrency)]
    await asyncio.gather(*workers)
    if sender.fault is None:
        sender.settle_refusals()
    if sender.fault is not None:
        raise sender.fault
    return sender.report


@dataclass(frozen=True)
class _Refusal:
    """A refusal that is an answer only if the server answers another request."""

    request: Request
    key: str
    error: RefusedError


@dataclass
class _Sender:
    plan: RequestSource
    answers: AnswerFile
    send: Send
    limits: SendLimits
    retry: RetryPolicy
    say: Callable[[str], None]
    report: SendingReport = field(default_factory=SendingReport)
    fault: SgdxError | None = None
    faults: list[str] = field(default_factory=list)  # reasons, until a request is answered
    refusals: list[_Refusal] = field(default_factory=list)  # that may be about all requests
    read: int = 0  # answers, those of earlier runs included
    unread: int = 0  # of those
    under_way: set[str] = field(default_factory=set)  # keys, as two requests may be the same
    sending: int = 0  # requests that are with the server
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
        """Send a request, and again after an unread answer if the plan has more attempts."""
        if self.plan.missing(request, self.answers) is None:
            self.report.counts["cached"] += 1
            if self.limits.stop_unread is not None:
                line = self.answers.get(request.keys[0]) or {}
                self._check_unread(request, line.get("body"))
            return
        while (attempt := self.plan.missing(request, self.answers)) is not None:
            key, body = request.keys[attempt], request.bodies[attempt]
            if key in self.under_way:  # an equal request is waiting for this answer
                return
            self.under_way.add(key)
            try:
                timed = await self._send_with_retries(body)
            except RefusedError as refusal:
                self._refuse(_Refusal(request, key, refusal))
                return
            finally:
                self.under_way.discard(key)
            if timed is None:
                return
            answer, seconds = timed
            self.answers.add(key, request.custom_id, answer, seconds)
            self.report.counts["answered"] += 1
            self._charge(answer)
            self._check_unread(request, answer)

    def _refuse(self, refusal: _Refusal) -> None:
        """Keep a refusal as an answer, now or when another request has been answered."""
        self.report.counts["refused"] += 1
        if self.limits.on_refusal == "stop":
            raise refusal.error
        self.refusals.append(refusal)
        if refusal.error.is_about_one or self._has_answered():
            self.settle_refusals()
        elif len(self.refusals) >= _MOST_REFUSALS:
            raise refusal.error

    def settle_refusals(self) -> None:
        """Keep refusals as answers, unless the server has refused all that it was asked."""
        if (
            self.refusals
            and not self._has_answered()
            and not any(refusal.error.is_about_one for refusal in self.refusals)
        ):
            self.fault = self.refusals[0].error
            return
        refusals, self.refusals = self.refusals, []
        for refusal in refusals:
            self.answers.add(refusal.key, refusal.request.custom_id, refusal.error.answer)
            self._check_unread(refusal.request, refusal.error.answer)

    def _has_answered(self) -> bool:
        """Whether the server has answered a request of this plan, in this run or an earlier one."""
        return self.report.counts["answered"] + self.report.counts["cached"] > 0

    def _check_unread(self, request: Request, answer: Any) -> None:
        """Count an answer, and end the run where too many cannot be read."""
        limit = self.limits.stop_unread
        if limit is None or self.report.stopped:
            return
        self.read += 1
        self.unread += int(self.plan.is_unread(request, answer))
        if self.read >= limit.after and self.unread >= limit.share * self.read:
            self.report.stopped = (
                f"{self.unread} of {self.read} answers cannot be read, and --stop-unread is "
                f"{limit.share:g}/{limit.after}"
            )

    async def _send_with_retries(self, body: Json) -> tuple[Any, float] | None:
        """The answer to a body, and how many seconds it took from its last try on."""
        # None if the server does not answer, or the run is over.
        for faults in range(1, self.retry.tries + 1):
            # What may cost too much waits until the answers under way have said what they cost.
            while self.sending and not self._is_over() and self._is_too_dear(body):
                await asyncio.sleep(_MOMENT)
            if self._is_over() or not self._may_send(body):
                return None
            self.report.counts["requests"] += 1
            self.sending += 1
            self.report.peak = max(self.report.peak, self.sending)
            start = time.monotonic()
            try:
                answer = await self.send(body)
            except LaterError as error:
                later = error
                if error.too_many:
                    self.report.counts["too_many"] += 1
                else:
                    self._check_same_fault(error, faults)
            else:
                self.given_up = 0
                return answer, time.monotonic() - start
            finally:
                self.sending -= 1
            if faults < self.retry.tries:
                self.report.counts["retried"] += 1
                wait = self.retry.wait(faults, later.asked)
                self.report.waited += wait
                self._tell(wait, later)
                await asyncio.sleep(wait)
        self._give_up(later)
        return None

    def _check_same_fault(self, later: LaterError, faults: int) -> None:
        """End the run where the server has the same fault for every request, a second time too."""
        self.faults.append(later.reason)
        if self.report.counts["answered"] or self.refusals or set(self.faults) != {later.reason}:
            return
        if faults > 1 and len(self.faults) >= _MOST_SAME_FAULTS:
            raise SgdxError(
                f"the server has the same fault for every request: {later.reason}; is --base-url "
                "right, and is the server ready?"
            )

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
        elif limits.price is not None and self._is_too_dear(body):
            spent = report.usage.cost(limits.price)
            report.stopped = (
                f"one more request could cost more than --max-cost {limits.max_cost:g}: the "
                f"answers so far cost {spent:.4g}"
            )
        return not report.stopped

    def _is_too_dear(self, body: Json) -> bool:
        """Whether one more request could make the run cost more than its limit."""
        price, most = self.limits.price, self.limits.max_cost
        if price is None or most is None:
            return False
        # Each request with the server, and this one, may cost as much as the dearest so far.
        highest = self.highest_cost
        next_cost = _highest_cost_of(body, price) if highest is None else highest
        return self.report.usage.cost(price) + (self.sending + 1) * next_cost > most

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
    """An upper bound for the cost of a request, used until an answer has reported its tokens."""
    made = body.get("max_tokens", body.get("max_completion_tokens", 1024))
    # In English, tokens have about four characters.
    tokens = Usage(sent=len(str(body)) // 2, made=made if isinstance(made, int) else 1024)
    return tokens.cost(price)
