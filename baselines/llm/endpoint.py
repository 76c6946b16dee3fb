"""A server with OpenAI's interface for chat completions: its address, and one request to it."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from sgdx_dataset import SgdxError
from sgdx_dataset.io.extras import require

from .functions import Json

OPENAI = "https://api.openai.com/v1"
KEY, URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
TIMEOUT = 120.0  # seconds that a server may be silent
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


def connect(url: str, timeout: float = TIMEOUT) -> Send:
    """A function that sends requests to a server, with the key in ``$OPENAI_API_KEY``.

    The function raises ``LaterError`` after a fault that may pass, and ``SgdxError`` after one that
    will not. No message and no answer of it contains the key, even if the server repeats it.

    Args:
        url: Address of the server, which ends in ``/v1`` with most servers.
        timeout: How many seconds the server may be silent.

    Raises:
        SgdxError: There is no key for OpenAI's own server, or the library ``openai`` is missing.
    """
    openai = require("openai", "llm")
    key = os.environ.get(KEY, "")
    if not key and url == OPENAI:
        raise SgdxError(f"found no key in the environment variable {KEY}, expected one of OpenAI")
    host = host_of(url)
    client = openai.AsyncOpenAI(base_url=url, api_key=key or "none", max_retries=0, timeout=timeout)

    async def send(body: Json) -> Any:
        try:
            text = await client.post("/chat/completions", body=body, cast_to=str)
            return json.loads(_redact(key, text))
        except openai.APIStatusError as error:
            return _refusal(error, host, key)
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise LaterError(_redact(key, f"{type(error).__name__}: {cause}")) from None
        except (ValueError, RecursionError):  # such as an answer that was cut off
            raise LaterError("the answer is no JSON") from None

    return send


def _refusal(error: Any, host: str, key: str) -> Json:
    """The answer that stands for content that a filter refused; raises after any other error."""
    status, code = error.status_code, error.code
    message = error.body.get("message") if isinstance(error.body, dict) else None
    text = _redact(key, " ".join(str(message or error.response.text).split()))[:300]
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
    except (ValueError, TypeError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max((moment - datetime.now(UTC)).total_seconds(), 0.0), _ONE_DAY)


def _redact(key: str, text: str) -> str:
    """A text with ``[key]`` in place of the key."""
    return text.replace(key, "[key]") if key else text
