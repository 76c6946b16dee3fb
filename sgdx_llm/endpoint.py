"""A server with OpenAI's interface for chat completions: its address, and one request to it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from sgdx_dataset import SgdxError
from sgdx_dataset.io.extras import require
from sgdx_dataset.io.json import parse_text

from .calls import chat_completion
from .functions import Json
from .providers import OPENAI, OPENAI_URL, Provider

URL = "OPENAI_BASE_URL"  # the environment variable
TIMEOUT = 120.0  # seconds that a server may be silent
LONGEST = 900.0  # seconds that an answer may take, however its parts come in
MOST_BYTES = 10_000_000  # of an answer; the longest that a model writes has a twentieth
# Secrets of fewer characters are names such as "none" or "x", which stand in any answer.
_SHORTEST_SECRET = 16
# Statuses after which the same request may be answered a little later, beside all from 500 on.
_LATER = (408, 409, 425, 429)
# Statuses that may be about one request alone, as where a model's call has a wrong form.
_REFUSED = (400, 413, 422)
# Codes of such refusals that are about one request for certain: a prompt that is too long, and
# what Groq says of an answer of a wrong form.
_ABOUT_ONE = ("context_length_exceeded", "tool_use_failed", "json_validate_failed")
_TOO_MANY = (429, 503, 529)  # statuses by which a server says that it has too many requests
_ONE_DAY = 86400.0  # seconds; the longest wait that a server may ask for

# Sends the body of a request, and returns that of the answer.
Send = Callable[[Json], Awaitable[Any]]


@dataclass
class LaterError(Exception):
    """The server did not answer, and may do so later."""

    reason: str  # why, in a few words
    asked: float | None = None  # for how many seconds it asks to wait; None if it does not say
    too_many: bool = False  # whether it has too many requests


class RefusedError(SgdxError):
    """The server refused a request, perhaps for what is in this one alone."""

    def __init__(self, message: str, answer: Json, is_about_one: bool) -> None:
        super().__init__(message)
        # What is kept where the refusal counts as an answer: ``error`` with code and message.
        self.answer = answer
        self.is_about_one = is_about_one  # and for certain not about all requests


def base_url(option: str | None, provider: Provider = OPENAI) -> str:
    """The server's address: that of the option, else the provider's."""
    # For OpenAI's own address, ``$OPENAI_BASE_URL`` goes before it.
    default = provider.url
    if default == OPENAI_URL:
        default = os.environ.get(URL) or default
    return (option or default).rstrip("/")


def host_of(url: str) -> str:
    """A server's address without the user name and password that it may contain."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError as error:
        raise SgdxError(f"--base-url: cannot be read: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SgdxError("--base-url: expected an address such as http://localhost:8000/v1")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return urlunsplit((parts.scheme, f"{host}{port}", parts.path, "", ""))


def connect(
    url: str,
    timeout: float = TIMEOUT,
    longest: float = LONGEST,
    most_bytes: int = MOST_BYTES,
    provider: Provider = OPENAI,
    headers: Mapping[str, str] | None = None,
) -> Send:
    """A function that sends requests to a server, with the key in the provider's variable."""
    # No message has the key, a password or the value of a header, even if the server repeats it,
    # and no answer has a long one: a short one may be a word of the answer.
    openai = require("openai", "llm")
    key = os.environ.get(provider.key, "")
    if not key and provider.needs_key and url == provider.url:
        raise SgdxError(
            f"found no key in the environment variable {provider.key}, expected one of "
            f"{provider.name}"
        )
    headers = dict(headers or {})
    host, secrets = host_of(url), _secrets(key, url, headers.values())
    client = openai.AsyncOpenAI(
        base_url=url,
        api_key=key or "none",
        max_retries=0,
        timeout=timeout,
        # A conversation is for the server that was named, and for no other.
        http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
    )
    # The library then leaves the reading of the answer to its caller.
    options = {"headers": {**headers, "X-Stainless-Raw-Response": "stream"}}

    async def read(body: Json) -> bytes:
        response = await client.post("/chat/completions", body=body, cast_to=str, options=options)
        content = bytearray()
        try:
            async for part in response.http_response.aiter_bytes():
                content += part
                if len(content) > most_bytes:
                    raise LaterError(f"the answer has over {most_bytes} bytes")
        except LaterError:
            raise
        except Exception as error:  # of whichever library the client reads with
            raise LaterError(_redact(secrets, f"{type(error).__name__}: {error}")) from None
        finally:
            await response.http_response.aclose()
        return bytes(content)

    async def send(body: Json) -> Any:
        try:
            async with asyncio.timeout(longest):
                content = await read(body)
            answer = read_body(content)
        except openai.APIStatusError as error:
            refusal = _refusal(error, host, secrets, provider.key)
            if isinstance(refusal, RefusedError) and _is_filtered(refusal.answer["error"]):
                return refusal.answer
            raise refusal from None
        except TimeoutError:
            raise LaterError(f"the answer is not there after {longest:g} seconds") from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise LaterError(_redact(secrets, f"{type(error).__name__}: {cause}")) from None
        except (ValueError, RecursionError):  # such as an answer that was cut off
            raise LaterError("the answer is not JSON") from None
        if why := why_no_answer(answer):
            raise LaterError(f"status 200 with {_redact(secrets, why)[:300]}")
        return _redact_values(_long(secrets), answer)

    return send


def read_body(content: bytes) -> Any:
    """What a server or a program wrote; ``{"unread": WHY}`` where its JSON has two meanings."""
    answer = json.loads(content)
    try:
        return parse_text(content)
    except ValueError as error:  # such as a key that is there twice: the model would say it again
        return {"unread": str(error)} if not why_no_answer(answer) else answer


def why_no_answer(answer: Any) -> str:
    """Why this is no answer of a model, but to be asked again; empty where it is one."""
    # Gateways tell of errors with status 200. What a filter or a server refused is an answer: it
    # will stay so.
    read = chat_completion(answer)
    body = read if isinstance(read, dict) else {}
    error = body.get("error")
    if isinstance(error, dict) and (_is_filtered(error) or "refused_with" in error):
        return ""
    if "unread" in body and not error:
        return ""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    choice = choice if isinstance(choice, dict) else {}
    if error or choice.get("error") or choice.get("finish_reason") == "error":
        told = error or choice.get("error") or "finish_reason error"
        return f"an error: {' '.join(json.dumps(told).split())}"
    if not isinstance(choice.get("message"), dict):
        return f"no choices[0].message: {' '.join(json.dumps(answer).split())}"
    return ""


def _is_filtered(error: Json) -> bool:
    return error.get("code") == "content_filter"


def _refusal(error: Any, host: str, secrets: Sequence[str], key: str) -> Exception:
    """What an answer with an error's status says: to ask later, or that the request is refused."""
    status, code, message = error.status_code, *_code_and_message(error)
    if 300 <= status < 400:
        address = _redact(secrets, error.response.headers.get("location", "nowhere"))
        return SgdxError(
            f"{host}: redirects to {address} with status {status}, expected an answer; "
            "--base-url takes another address"
        )
    text = _redact(secrets, " ".join(str(message or error.response.text).split()))[:300]
    lasting = code in ("insufficient_quota", "billing_hard_limit_reached")
    if (status in _LATER or status >= 500) and not lasting:
        asked = retry_after(error.response.headers.get("retry-after"))
        return LaterError(f"status {status}: {text}", asked, status in _TOO_MANY)
    hint = {
        400: "; --set and --omit change what is sent",
        401: f"; the key is read from {key}",
        404: "; is --base-url right, and --model a model of this server?",
        422: "; --omit leaves out fields that the server does not know",
    }.get(status, "")
    line = f"{host}: refused a request with status {status}: {text}{hint}"
    if status not in _REFUSED:
        return SgdxError(line)
    kept_code = _redact_values(_long(secrets), code)
    answer = {"error": {"code": kept_code, "message": text, "refused_with": status}}
    return RefusedError(line, answer, code in _ABOUT_ONE)


def _code_and_message(error: Any) -> tuple[Any, Any]:
    """The code and the message in the body of an error, which Gemini puts into a list."""
    body = error.body[0] if isinstance(error.body, list) and error.body else error.body
    body = body.get("error", body) if isinstance(body, dict) else {}
    body = body if isinstance(body, dict) else {"message": body}
    return body.get("code") or error.code, body.get("message")


def retry_after(header: str | None) -> float | None:
    """The seconds that a header ``Retry-After`` asks to wait, as a number or until a date."""
    if header is None:
        return None
    try:
        seconds = float(header)
        return seconds if 0 <= seconds < _ONE_DAY else None
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(header)
    except (ValueError, TypeError, OverflowError):  # such as a year of 20 digits
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max((moment - datetime.now(UTC)).total_seconds(), 0.0), _ONE_DAY)


def _secrets(key: str, url: str, headers: Iterable[str]) -> list[str]:
    """What must not be shown: the key, values of headers, an address's password in all forms."""
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    basic = base64.b64encode(f"{user}:{password}".encode()).decode() if user or password else ""
    secrets = {key, parts.password or "", password, basic, *headers}
    return sorted(filter(None, secrets), key=len, reverse=True)


def _long(secrets: Sequence[str]) -> list[str]:
    """The secrets that no answer may have; a shorter one may be a word of the answer."""
    return [secret for secret in secrets if len(secret) >= _SHORTEST_SECRET]


def _redact(secrets: Sequence[str], text: str) -> str:
    """A text with ``[key]`` in place of secrets."""
    for secret in secrets:
        text = text.replace(secret, "[key]")
    return text


def _redact_values(secrets: Sequence[str], value: Any) -> Any:
    """A JSON value without secrets in its texts and keys."""
    if isinstance(value, str):
        return _redact(secrets, value)
    if isinstance(value, list):
        return [_redact_values(secrets, item) for item in value]
    if isinstance(value, dict):
        return {
            _redact(secrets, name): _redact_values(secrets, item) for name, item in value.items()
        }
    return value
