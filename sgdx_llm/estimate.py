"""How many requests and tokens a run would send, counted without sending anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from .functions import Json, gold_state
from .usage import Price

if TYPE_CHECKING:
    from .plan import Plan

ENCODING = "o200k_base"
_PER_MESSAGE = 4  # about as many tokens mark the speaker and the end of a message
TokenCounter = Callable[[str], int]


def token_counter() -> tuple[TokenCounter, str]:
    """A function that counts the tokens of a text, and the name of what it counts by."""
    try:
        import tiktoken

        encoding = tiktoken.get_encoding(ENCODING)
    except Exception:  # it may be missing, or fail to get its table in any way
        return lru_cache(1 << 16)(lambda text: -(-len(text) // 4)), "characters / 4"
    return lru_cache(1 << 16)(lambda text: len(encoding.encode_ordinary(text))), ENCODING


def estimate(plan: Plan, count: TokenCounter) -> list[Json]:
    """Count the requests of a plan and their tokens, one variant after the other."""
    counted_keys: set[str] = set()
    estimates = []
    for name in plan.names:
        gold = plan.gold(name)
        answered = []
        for dialogue in plan.dialogues:
            for request in plan.requests_of(name, dialogue):
                row = gold[request.row["frame_id"]]
                answer = gold_state(row, request.service, plan.settings.strict)
                written = json.dumps(answer, ensure_ascii=False)
                answered.append((request.key, request.body, written))
        estimates.append(estimate_variant(name, answered, count, counted_keys))
    return estimates


def estimate_variant(
    name: str,
    requests: Iterable[tuple[str, Json, str]],
    count: TokenCounter,
    counted_keys: set[str],
) -> Json:
    """Count requests, of which there are the key, the body and the right answer.

    Those whose keys are counted already are ``repeated``, as they are not sent; the keys of the
    others are added. ``longest`` is the number of tokens of the longest request.
    """
    found = dict.fromkeys(("requests", "repeated", "tokens_in", "longest", "tokens_out"), 0)
    for key, body, answer in requests:
        found["requests"] += 1
        if key in counted_keys:
            found["repeated"] += 1
            continue
        counted_keys.add(key)
        tokens = body_tokens(body, count)
        found["tokens_in"] += tokens
        found["longest"] = max(found["longest"], tokens)
        found["tokens_out"] += count(answer)
    return {"variant": name, **found}


def body_tokens(body: Json, count: TokenCounter) -> int:
    """Tokens of a request: of its messages, with their calls, and of its functions or schema."""
    total = 0
    for message in body["messages"]:
        content = message.get("content") or ""
        shown = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        total += count(shown) + _PER_MESSAGE
        if message.get("tool_calls"):
            total += count(json.dumps(message["tool_calls"], ensure_ascii=False))
    for key in ("tools", "response_format"):
        if key in body:
            total += count(json.dumps(body[key], ensure_ascii=False))
    return total


def print_estimates(estimates: Sequence[Json], counter: str, price: Price | None) -> None:
    """Print estimates as a table."""
    costs: list[Json] = [
        {"cost": price.cost({"in": one["tokens_in"], "out": one["tokens_out"]})} if price else {}
        for one in estimates
    ]
    estimates = [one | cost for one, cost in zip(estimates, costs)]
    total: Json = {"variant": "all", "longest": max(one["longest"] for one in estimates)}
    for key in ("requests", "repeated", "tokens_in", "tokens_out", "cost"):
        total[key] = sum(one.get(key, 0) for one in estimates)
    head = f"{'variant':<12}{'requests':>10}{'tokens in':>13}{'each':>7}{'most':>7}"
    print(head + f"{'tokens out':>13}{'each':>7}" + (f"{'cost':>10}" if price else ""))
    for one in [*estimates, *([total] if len(estimates) > 1 else [])]:
        sent, made = one["tokens_in"], one["tokens_out"]
        number = one["requests"] - one["repeated"]
        each_in, each_out = (round(tokens / max(number, 1)) for tokens in (sent, made))
        line = f"{one['variant']:<12}{number:>10,}{sent:>13,}{each_in:>7,}{one['longest']:>7,}"
        print(line + f"{made:>13,}{each_out:>7,}" + (f"{one['cost']:>10.2f}" if price else ""))
    print(f"Tokens by {counter}, of distinct requests.")
    print("Out: tokens of the gold answers, without the reasoning of a model.")
    if price:
        print("The cost has no discount for caching.")
