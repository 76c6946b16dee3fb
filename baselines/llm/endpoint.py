"""A server with OpenAI's interface for chat completions: its address, and one request to it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from sgdx_dataset import SgdxError
from sgdx_dataset.io.extras import require

from .functions import Json

OPENAI = "https://api.openai.com/v1"
KEY, URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
TIMEOUT = 120.0  # seconds that a server may be silent
LONGEST = 900.0  # seconds that an answer may take, however its parts come in
MOST_BYTES = 10_000_000  # of an answer; the longest that a model writes has a twentieth
# Secrets of fewer characters are names such as "none" or "x", which stand in any answer.
_SHORTEST_SECRET = 16
# Statuses after which the same request may be answered a little later, beside all from 500 on.
_LATER = (408, 409, 425, 429)
_TOO_MANY = (429, 503, 529)  # statuses by which a server says that it has too many requests
_ONE_DAY = 86400.0  # seconds; the longest wait that a server may ask for

# Sends the body of a request, and returns that of the answer.
Send = Callable[[Json], Awaitable[Any]]


@dataclass
class LaterError(Exception):
    """The server did not answer, and may do so later.

    Attributes:
        reason: Why, in a few words.
        asked: For how many seconds it asks to wait; None if it does not say.
        too_many: Whether it has too many requests.
    """

    reason: str
    asked: float | None = None
    too_many: bool = False


def base_url(option: str | None) -> str:
    """The server's address: that of the option, else ``$OPENAI_BASE_URL``, else OpenAI's own."""
    return (option or os.environ.get(URL) or OPENAI).rstrip("/")


def host_of(url: str) -> str:
    """A server's address without the user name and password that it may contain.

    Raises:
        SgdxError: It is no address of a server.
    """
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
    url: str, timeout: float = TIMEOUT, longest: float = LONGEST, most_bytes: int = MOST_BYTES
) -> Send:
    """A function that sends requests to a server, with the key in ``$OPENAI_API_KEY``.

    The function raises ``LaterError`` after a fault that may pass, and ``SgdxError`` after one that
    will not. No message of it contains the key or a password, even if the server repeats it, and
    no answer does where it has 16 characters or more: a short one may be a word of the answer.

    Args:
        url: Address of the server, which ends in ``/v1`` with most servers.
        timeout: How many seconds the server may be silent.
        longest: How many seconds an answer may take.
        most_bytes: How many bytes an answer may have.

    Raises:
        SgdxError: There is no key for OpenAI's own server, or the library ``openai`` is missing.
    """
    openai = require("openai", "llm")
    key = os.environ.get(KEY, "")
    if not key and url == OPENAI:
        raise SgdxError(f"found no key in the environment variable {KEY}, expected one of OpenAI")
    host, secrets = host_of(url), _secrets(key, url)
    client = openai.AsyncOpenAI(base_url=url, api_key=key or "none", max_retries=0, timeout=timeout)
    # The library then leaves the reading of the answer to its caller.
    options = {"headers": {"X-Stainless-Raw-Response": "stream"}}

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
            answer = json.loads(content)
        except openai.APIStatusError as error:
            return _refusal(error, host, secrets)
        except TimeoutError:
            raise LaterError(f"the answer is not there after {longest:g} seconds") from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise LaterError(_redact(secrets, f"{type(error).__name__}: {cause}")) from None
        except (ValueError, RecursionError):  # such as an answer that was cut off
            raise LaterError("the answer is no JSON") from None
        if is_error(answer):
            text = _redact(secrets, " ".join(json.dumps(answer["error"]).split()))[:300]
            raise LaterError(f"status 200 with an error: {text}")
        return _redact_values([s for s in secrets if len(s) >= _SHORTEST_SECRET], answer)

    return send


def is_error(answer: Any) -> bool:
    """Whether an answer tells of an error in place of what a model wrote.

    Gateways give these with status 200. What a filter refused is an answer: it will stay so.
    """
    error = answer.get("error") if isinstance(answer, dict) else None
    filtered = isinstance(error, dict) and error.get("code") == "content_filter"
    return bool(error) and not filtered


def _refusal(error: Any, host: str, secrets: Sequence[str]) -> Json:
    """The answer that stands for content that a filter refused; raises after any other error."""
    status, code = error.status_code, error.code
    message = error.body.get("message") if isinstance(error.body, dict) else None
    text = _redact(secrets, " ".join(str(message or error.response.text).split()))[:300]
    if status == 400 and code == "content_filter":
        return {"error": {"code": code, "message": text}}
    lasting = code in ("insufficient_quota", "billing_hard_limit_reached")
    if (status in _LATER or status >= 500) and not lasting:
        asked = retry_after(error.response.headers.get("retry-after"))
        raise LaterError(f"status {status}: {text}", asked, status in _TOO_MANY)
    hint = {
        400: "; --set and --omit change what is sent",
        401: f"; the key is read from {KEY}",
        404: "; is --base-url right, and --model a model of this server?",
        422: "; --omit leaves out fields that the server does not know",
    }.get(status, "")
    raise SgdxError(f"{host}: refused a request with status {status}: {text}{hint}")


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


def _secrets(key: str, url: str) -> list[str]:
    """What must not be shown: the key, and the password of an address in the forms that it has."""
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    basic = base64.b64encode(f"{user}:{password}".encode()).decode() if user or password else ""
    secrets = {key, parts.password or "", password, basic}
    return sorted(filter(None, secrets), key=len, reverse=True)


def _redact(secrets: Sequence[str], text: str) -> str:
    """A text with ``[key]`` in place of secrets, also of those with escapes as in JSON."""
    for secret in secrets:
        text = re.sub("".join(map(_any_spelling, secret)), "[key]", text)
    return text


def _any_spelling(character: str) -> str:
    """A pattern of a character as it is, or with the backslashes of JSON, perhaps within JSON."""
    escapes = "" if character.isalnum() else r"[\\]*"
    return rf"(?:{escapes}{re.escape(character)}|[\\]+u(?i:{ord(character):04x}))"


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
