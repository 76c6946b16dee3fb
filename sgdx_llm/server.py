"""One request to a server with OpenAI's interface, whose client tries again where that may help."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import openai

from sgdx_dataset import SgdxError
from sgdx_dataset.io.secrets import (
    note_addresses,
    note_fields,
    note_headers,
    origin,
    take_out,
    take_out_of,
)

from .calls import REFUSED, read_body, why_no_answer
from .messages import Json
from .providers import Provider, host_of

MOST_BYTES = 10_000_000  # of an answer; the longest that a model writes has a twentieth
# Statuses that may be about one request alone, as where a model's call has a wrong form.
_REFUSED = (400, 413, 422)
# Codes of such refusals that are about one request for certain: a prompt that is too long, and
# what Groq says of an answer of a wrong form.
_ABOUT_ONE = ("context_length_exceeded", "tool_use_failed", "json_validate_failed")
_HINTS = {
    400: "; --set and --omit change what is sent",
    404: "; is --base-url right, and --model a model of this server?",
    422: "; --omit leaves out fields that the server does not know",
}


class NoAnswerError(Exception):
    """The server did not answer, and may do so later."""


class RefusedError(SgdxError):
    """The server refused a request, perhaps for what is in this one alone."""

    def __init__(self, message: str, answer: Json, is_about_one: bool) -> None:
        super().__init__(message)
        # What is kept where the refusal counts as an answer: ``error`` with code and message.
        self.answer = answer
        self.is_about_one = is_about_one  # and for certain not about all requests


class BoundedClient(openai.DefaultAsyncHttpxClient):
    """A client with one limit of time and one of size for a whole answer, whatever its status."""

    seconds: float
    why_none: Callable[[Any], str]
    requests = 0  # that were sent, those that were tried again included

    async def send(self, request: Any, **options: Any) -> Any:
        """Send one request and read its answer; one that tells of an error has status 502."""
        self.requests += 1
        content = bytearray()
        try:
            async with asyncio.timeout(self.seconds):
                response = await super().send(request, **{**options, "stream": True})
                try:
                    async for part in response.aiter_raw():
                        content += part
                        if len(content) > MOST_BYTES:
                            long = f"the answer has over {MOST_BYTES} bytes"
                            raise openai.APIError(long, request, body=None)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise openai.APITimeoutError(request) from None
        status = response.status_code
        if 200 <= status < 300:
            try:
                why = self.why_none(json.loads(content))
            except (ValueError, RecursionError):  # such as an answer that was cut off
                why = "the answer is not JSON"
            if why:
                status, content = 502, bytearray(json.dumps({"message": why}).encode())
        # Nothing is decoded, as what is compressed could have any size.
        headers = {k: v for k, v in response.headers.items() if not k.startswith("content-enc")}
        return type(response)(status, headers=headers, content=bytes(content), request=request)


class Server:
    """A server that is asked, with the key in the provider's variable."""

    # Whatever it says back, no message has the key, a password or the value of a header.

    def __init__(
        self,
        url: str,
        provider: Provider,
        seconds: float,
        headers: Mapping[str, str] | None = None,
        why_none: Callable[[Any], str] = why_no_answer,
    ) -> None:
        """Ask at an address; ``why_none`` says why the JSON of an answer is none of the form."""
        self.host, self.key_name, self.seconds = host_of(url), provider.key, seconds
        key = os.environ.get(provider.key, "")
        if not key and provider.needs_key and url == provider.url:
            raise SgdxError(
                f"found no key in the environment variable {provider.key}, expected that of "
                f"{provider.name}; a server elsewhere has an address of its own"
            )
        headers = dict(headers or {})
        note_fields({provider.key: key})
        note_headers(headers)
        note_addresses(url)
        # A conversation is for the server that was named, and for no other.
        self.http = BoundedClient(follow_redirects=False)
        self.http.seconds, self.http.why_none = seconds, why_none
        parts = urlsplit(url)  # a query, such as of a version, goes with every request
        self.client = openai.AsyncOpenAI(
            base_url=parts._replace(query="").geturl().rstrip("/"),
            default_query=dict(parse_qsl(parts.query, keep_blank_values=True)),
            api_key=key or "none",
            timeout=seconds,
            http_client=self.http,
            default_headers={"Accept-Encoding": "identity", **headers},
        )

    async def ask(self, body: Json, retries: int, path: str = "/chat/completions") -> Any:
        """The answer to the body of a request, tried again so often after faults that may pass.

        Raises:
            NoAnswerError: Where there is none now.
            RefusedError: Where the server refuses what may be wrong in this request alone.
            SgdxError: Where it refuses every request.
        """
        options: Any = {"max_retries": retries, "headers": {"X-Stainless-Raw-Response": "true"}}
        try:
            answer = await self.client.post(path, body=body, cast_to=object, options=options)
        except openai.APIStatusError as error:
            return self._answer_of(error)
        except openai.APITimeoutError:
            said = f"no whole answer in {self.seconds:g} seconds, which --timeout sets"
            raise self._no_answer(said) from None
        except openai.OpenAIError as error:  # of the connection
            cause = error.__cause__ or error
            raise self._no_answer(take_out(f"{type(error).__name__}: {cause}")) from None
        content: bytes = answer.content  # type: ignore[attr-defined]
        return take_out_of(read_body(content))

    def _no_answer(self, why: str) -> NoAnswerError:
        return NoAnswerError(f"{self.host}: does not answer: {why}")

    def _answer_of(self, error: openai.APIStatusError) -> Json:
        """What an error's status says: an answer where a filter stopped it; else this raises."""
        status = error.status_code
        if 300 <= status < 400:
            address = origin(error.response.headers.get("location", ""))
            raise SgdxError(
                f"{self.host}: redirects to {address} with status {status}, expected an answer; "
                "--base-url takes another one"
            )
        # Gemini puts the error into a list.
        body: Any = error.body[0] if isinstance(error.body, list) and error.body else error.body
        body = body.get("error", body) if isinstance(body, dict) else {}
        body = body if isinstance(body, dict) else {"message": body}
        code = body.get("code") or error.code
        message = " ".join(str(body.get("message") or error.response.text).split())
        text = take_out(message)[:300]  # cut last, so that no part of a key is left
        lasting = code in ("insufficient_quota", "billing_hard_limit_reached")
        if (status in (408, 409, 425, 429) or status >= 500) and not lasting:
            wait = error.response.headers.get("retry-after")
            later = f"; Retry-After: {take_out(wait)[:60]}" if wait else ""
            raise self._no_answer(f"status {status}: {text}{later}")
        hint = f"; the key is read from {self.key_name}" if status == 401 else _HINTS.get(status)
        line = f"{self.host}: refused a request with status {status}: {text}{hint or ''}"
        if status not in _REFUSED:
            raise SgdxError(line)
        answer = {"error": {"code": take_out_of(code), "message": text, REFUSED: status}}
        if code == "content_filter":
            return answer
        raise RefusedError(line, answer, code in _ABOUT_ONE)
