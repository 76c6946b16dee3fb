"""A server on loopback that answers like one with OpenAI's interface, with faults on demand."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sgdx_dataset.schema import Service
from sgdx_llm.functions import gold_state, safe_names
from sgdx_llm.requests import RequestSettings

Json = dict[str, Any]
# What a fault does with a request: it returns status, headers and content; None cuts the line.
Fault = tuple[int, dict[str, str], bytes] | None
EMPTY_STATE = '{"active_intent": "NONE", "requested_slots": [], "slot_values": {}}'


def completion(message: Json, finish_reason: str) -> Json:
    """A chat completion of one choice."""
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return {"object": "chat.completion", "model": "gold", "choices": [choice]}


def call_completion(name: str, arguments: str) -> Json:
    """The chat completion that calls a function with arguments in JSON."""
    call = {"id": "call_0", "type": "function", "function": {"name": name, "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return completion(message, "tool_calls")


def gold_answer(row: Mapping[str, Any], service: Service, settings: RequestSettings) -> Json:
    """The chat completion that records a frame row's gold state."""
    written = json.dumps(gold_state(row, service, settings.strict), ensure_ascii=False)
    if settings.answer == "tool":
        return call_completion(safe_names([service.service_name])[service.service_name], written)
    return completion({"role": "assistant", "content": written}, "stop")


def empty_state(body: Json) -> Json:
    """A valid answer: nothing is wanted."""
    if "tools" in body:
        return call_completion(body["tools"][0]["function"]["name"], EMPTY_STATE)
    return completion({"role": "assistant", "content": EMPTY_STATE}, "stop")


@dataclass
class StandIn:
    """The server's record, and what it does."""

    # makes the chat completion for the body of a request
    answer: Callable[[Json], Json] = empty_state
    # what happens to the first requests instead, one after the other
    faults: list[Fault] = field(default_factory=list)
    delay: float = 0.0  # seconds before each answer
    url: str = ""  # the server's address
    bodies: list[Json] = field(default_factory=list)  # what was asked, in order
    asked: list[tuple[str, Json]] = field(default_factory=list)  # the same with their paths
    method: str = ""  # of the last request, most of which are POST
    keys: set[str] = field(default_factory=set)  # the headers ``Authorization``
    # the headers of the last request, by name in lower case
    headers: dict[str, str] = field(default_factory=dict)
    most: int = 0  # how many requests were under way at once
    under_way: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reply(self, body: Json, key: str) -> Fault:
        """Answer one request."""
        with self.lock:
            self.bodies.append(body)
            self.keys.add(key)
            if self.faults:
                return self.faults.pop(0)
        time.sleep(self.delay)
        usage: Json = {"prompt_tokens": 900, "completion_tokens": 50}
        usage |= {"prompt_tokens_details": {"cached_tokens": 400}}
        answer = {"model": "stand-in-1", "usage": usage} | self.answer(body)
        return 200, {}, json.dumps(answer).encode()


def failing(status: int, code: str = "", retry_after: str = "0.01", **error: Any) -> Fault:
    """An error of the server, which may be told to say more."""
    said = {"message": f"status {status}", "code": code or None} | error
    return status, {"Retry-After": retry_after}, json.dumps({"error": said}).encode()


@contextmanager
def serving(stand_in: StandIn) -> Iterator[StandIn]:
    """Let a stand-in answer on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            with stand_in.lock:
                stand_in.under_way += 1
                stand_in.most = max(stand_in.most, stand_in.under_way)
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
            stand_in.headers = {name.lower(): value for name, value in self.headers.items()}
            stand_in.asked.append((self.path, body))
            stand_in.method = self.command
            found = stand_in.reply(body, self.headers["Authorization"])
            with stand_in.lock:
                stand_in.under_way -= 1
            if found is None:
                self.close_connection = True
                return
            status, headers, content = found
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with suppress(OSError):  # of a client that has read enough
                self.wfile.write(content)

        do_GET = do_PATCH = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

    with Server(("127.0.0.1", 0), Handler) as server:
        stand_in.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield stand_in
        finally:
            server.shutdown()
            thread.join()
