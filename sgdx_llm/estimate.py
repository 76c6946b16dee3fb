"""How many requests and tokens a run would send, counted without sending anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .functions import Json
from .gold_replay import gold_call, gold_state
from .plan import Plan
from .usage import Usage

ENCODING = "o200k_base"
_PER_MESSAGE = 4  # about as many tokens mark the speaker and the end of a message
TokenCounter = Callable[[str], int]


@dataclass(frozen=True)
class Estimate:
    """The expected requests about one variant, and their tokens."""

    name: str  # the name of its predictions
    requests: int  # how many there are
    repeated: int  # how many of them equal an earlier one of the run, and so are not sent
    longest: int  # tokens of the longest
    usage: Usage  # tokens of all that are sent, and of the right answers to them


def token_counter() -> tuple[TokenCounter, str]:
    """A function that counts the tokens of a text, and the name of what it counts by."""
    try:
        import tiktoken

        encoding = tiktoken.get_encoding(ENCODING)
    except Exception:  # it may be missing, or fail to get its table in any way
        return lru_cache(1 << 16)(lambda text: -(-len(text) // 4)), "characters / 4"
    return lru_cache(1 << 16)(lambda text: len(encoding.encode_ordinary(text))), ENCODING


def estimate(plan: Plan, count: TokenCounter) -> list[Estimate]:
    """Count the requests of a plan and their tokens, one variant after the other."""
    counted_keys: set[str] = set()
    return [
        estimate_variant(name, _answered(plan, name), count, counted_keys) for name in plan.names
    ]


def _answered(plan: Plan, name: str) -> Iterator[tuple[str, Json, str]]:
    gold = plan.gold(name)
    for dialogue in plan.dialogues:
        for request in plan.requests_of(name, dialogue):
            rows, services = [gold[row["frame_id"]] for row in request.rows], request.services
            if plan.settings.task == "calls":
                answer = gold_call(rows, services)
            else:
                answer = gold_state(rows[0], services[0], plan.settings)
            yield request.keys[0], request.bodies[0], json.dumps(answer, ensure_ascii=False)


def estimate_variant(
    name: str,
    requests: Iterable[tuple[str, Json, str]],
    count: TokenCounter,
    counted_keys: set[str],
) -> Estimate:
    """Count requests, of which there are the key, the body and the right answer."""
    # Those whose keys are counted already are not sent; the keys of the others are added.
    number = repeated = longest = sent = made = 0
    for key, body, answer in requests:
        number += 1
        if key in counted_keys:
            repeated += 1
            continue
        counted_keys.add(key)
        tokens = body_tokens(body, count)
        longest = max(longest, tokens)
        sent, made = sent + tokens, made + count(answer)
    return Estimate(name, number, repeated, longest, Usage(sent=sent, made=made))


def body_tokens(body: Json, count: TokenCounter) -> int:
    """Tokens of a request: of its messages and of its functions or JSON schema."""
    total = sum(_message_tokens(message, count) + _PER_MESSAGE for message in body["messages"])
    for key in ("tools", "response_format"):
        if key in body:
            total += count(json.dumps(body[key], ensure_ascii=False))
    return total


def _message_tokens(message: Json, count: TokenCounter) -> int:
    """Tokens of a message: of its text, or of its parts, and of its calls."""
    content, calls = message.get("content"), message.get("tool_calls")
    text = content if isinstance(content, str) else json.dumps(content or "", ensure_ascii=False)
    return count(text) + (count(json.dumps(calls, ensure_ascii=False)) if calls else 0)


def total(estimates: Sequence[Estimate]) -> Estimate:
    """The estimates of all variants as one, called ``all``."""
    return Estimate(
        "all",
        sum(estimate.requests for estimate in estimates),
        sum(estimate.repeated for estimate in estimates),
        max(estimate.longest for estimate in estimates),
        sum((estimate.usage for estimate in estimates), Usage()),
    )
