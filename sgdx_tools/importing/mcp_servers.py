"""Tools of live MCP servers, as they list them: programs over stdio, or addresses over HTTP.

The official SDK speaks both eras of the protocol: ``server/discover``, and ``initialize`` where a
server does not know that.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any, NamedTuple, TextIO, cast
from urllib.parse import urlsplit

from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import say
from sgdx_dataset.io.extras import require
from sgdx_dataset.io.json import parse_text
from sgdx_dataset.io.progress import lines_of_progress
from sgdx_dataset.io.secrets import (
    check_address,
    from_environment,
    note_headers,
    note_variables,
    origin,
    split_command,
    take_out,
    take_out_of,
)
from sgdx_llm.functions import safe_names

from ..data import Json
from ..keys import Tools
from .collection import Collection
from .tool_lists import tools_of

_PATIENCE = 30  # seconds for each answer
_START = 60  # seconds that a server may take until it listens
# Of a server's whole list of tools: seconds, bytes and pages.
_MOST_SECONDS, _MOST_BYTES, _MOST_PAGES = 120, 50_000_000, 1000
_MOST_SAID = 1_000_000  # of what a program says on standard error, from its end
# Between a program and us: no more than so many bytes of its output, and no key twice.
_RELAY = """
import json, subprocess, sys
most, *command = sys.argv[1:]
left, program = int(most), subprocess.Popen(command, stdout=subprocess.PIPE)
def refuse(why):
    program.kill()
    sys.exit(f"Error: {why}")
def look(pairs):
    keys = [key for key, _ in pairs]
    if len({*keys}) < len(keys):
        refuse(f"an object has a key twice: {', '.join(keys)[:200]}")
while line := program.stdout.readline(left + 1):
    left -= len(line)
    if left < 0:
        refuse(f"found over {most} bytes of tools, expected fewer")
    try:
        json.loads(line, object_pairs_hook=look)
    except (ValueError, RecursionError):
        pass
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
sys.exit(program.wait())
"""
_KEY = "; it wants a key, as --header 'Authorization=Bearer ${TOKEN}' gives it"


@dataclass(frozen=True)
class Access:
    """What servers get to let us in. No value is ever written or shown."""

    # Variables of the environment of programs.
    env: Mapping[str, str] = field(default_factory=dict)
    # Headers of requests to addresses.
    headers: Mapping[str, str] = field(default_factory=dict)
    # Where programs are started; None for here.
    cwd: Path | None = None

    @classmethod
    def of(
        cls, env: Mapping[str, str], headers: Mapping[str, str], servers: Sequence[str]
    ) -> Access:
        """With the environment's values in place of each ``${NAME}``, for programs or addresses."""
        if env and all(map(_is_address, servers)):
            raise SgdxError("env: found no command that takes it, but addresses alone")
        if headers and not any(map(_is_address, servers)):
            raise SgdxError("headers: found no address that takes them, but commands alone")
        parts = [
            {key: from_environment(text, f"{kind}: {key}") for key, text in given.items()}
            for kind, given in (("env", env), ("headers", headers))
        ]
        note_variables(parts[0])
        note_headers(parts[1])
        return cls(parts[0], parts[1])


class Server(NamedTuple):
    """A server, by its command line or its URL."""

    line: str
    access: Access = Access()
    # What a client calls it; empty for what it calls itself.
    name: str = ""


def _last_line(said: TextIO) -> str:
    """How the last line begins of what a program said, without any key; empty for none.

    An error goes first, since Node.js says its version after it.
    """
    end = said.seek(0, os.SEEK_END)
    said.seek(max(end - _MOST_SAID, 0))
    lines = take_out(said.read()).strip().split("\n")
    errors = [line for line in lines if re.match(r"\w*(Error|Exception)\b", line)]
    return " ".join((errors or lines)[-1].split())[:300]


def import_started(given: Tools) -> Collection:
    """Ask the servers that are named, which a command may have to start first."""
    programs = [given.start] if given.start else []
    access = Access.of(given.env, given.headers, [*given.sources(), *programs])
    with started(given.start, given.sources(), access) if programs else nullcontext():
        servers = [Server(source, access) for source in given.sources()]
        return import_servers(servers, given.patterns())


def import_servers(servers: Sequence[Server], only: Sequence[str] = ()) -> Collection:
    """Ask each server for its tools.

    Tools of several servers get the server's name before theirs, as ``files__read``.
    """
    require("mcp", "mcp")

    collection, tools = Collection("mcp", only=only), []
    names, owners = set[str](), dict[str, list[str]]()
    for line, access, given in servers:
        shown = _public(line)
        say("sgdx", f"asking {shown} for its tools")
        of_server, records = _answer(line, shown, access)
        own = given or of_server["name"]
        name, number = own, 1
        while name in names:
            number += 1
            name = f"{own}_{number}"
        names.add(name)
        prefix = f"{safe_names([name])[name]}__" if len(servers) > 1 else ""
        for tool in tools_of(records, shown, collection, prefix):
            tools.append(replace(tool, name=prefix + tool.name, id=prefix + tool.id))
            owners.setdefault(tool.name, []).append(name)
        collection.servers.append({**of_server, "name": name})
    for tool_name, of in owners.items():
        if len(of) > 1:
            where = f"several servers have a tool of this name: {', '.join(of)}"
            collection.remarks.append(f"{tool_name}: {where}; clients without prefixes mix them up")
    collection.add_tools(tools)
    return collection


def _answer(server: str, shown: str, access: Access) -> tuple[dict[str, str], list[Json]]:
    """What a server says of itself, and the records of its tools; errors are one line."""
    from pydantic import ValidationError

    # The SDK's log, which has tracebacks, is kept from the terminal.
    log, logger = BufferingHandler(capacity=1_000_000), logging.getLogger("mcp")
    propagated, logger.propagate = logger.propagate, False
    logger.addHandler(log)
    refused = list[int]()
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        try:
            with lines_of_progress(f"asking {shown}") as see:
                asked = _ask(server, shown, access, cast(TextIO, said), see, refused)
                answer = asyncio.run(asyncio.wait_for(asked, _MOST_SECONDS))
        except Exception as error:
            fault: BaseException = error
            while isinstance(fault, BaseExceptionGroup):
                fault = fault.exceptions[0]
            text = str(fault).replace(server, shown)
            if isinstance(fault, TimeoutError):
                text = f"no whole list of tools in {_MOST_SECONDS} seconds"
            if isinstance(fault, ValidationError):  # as of older servers, whose schemas lack a type
                first = fault.errors()[0]
                place = ".".join(map(str, first["loc"]))
                text = f"{place}: {first['msg']}; a file with its answer to tools/list is read too"
            kind = "" if isinstance(fault, SgdxError) else f"{type(fault).__name__}: "
            refused = refused if type(fault).__name__ == "MCPError" else []
            kind = f"status {refused[-1]}: " if refused else kind
            text = f"{kind}{' '.join(take_out(text).split())[:300]}"
            has_hint = _is_address(server) or "closed" in text
            text += _KEY if refused[-1:] in ([401], [403]) else _hint(server) if has_hint else ""
            if last := _last_line(cast(TextIO, said)):
                text += f"; it said: {last}"
            raise SgdxError(f"{shown}: {text}") from None
        finally:
            logger.removeHandler(log)
            logger.propagate = propagated
    if noise := sum(record.name == "mcp.client.stdio" for record in log.buffer):
        say("sgdx", f"{shown}: ignored what it printed beside messages of MCP, {noise} times")
    return answer


def _hint(server: str) -> str:
    """What may be wrong with a server that did not answer."""
    if not _is_address(server):
        return "; it gets no variables but those of env, as --env 'TOKEN=${TOKEN}' gives them"
    path = urlsplit(server).path.rstrip("/")
    if path.endswith("/sse"):
        return "; SSE, the older transport, is not spoken: try /mcp in place of /sse"
    return "" if path.endswith("/mcp") else "; most servers listen at an address that ends in /mcp"


@contextmanager
def started(command: str, servers: Sequence[str], access: Access) -> Iterator[None]:
    """Start the program behind some addresses, wait until they answer, and stop it at the end.

    As other servers it gets only the common variables of the environment, and those of `access`.
    """
    require("mcp", "mcp")
    from mcp.client.stdio import get_default_environment

    addresses = [urlsplit(server) for server in filter(_is_address, servers)]
    places = [(a.hostname or "", a.port or {"https": 443}.get(a.scheme, 80)) for a in addresses]
    program = split_command(command, "tools: start")
    shown = f"tools: start: {shlex.quote(program[0])}"
    for place in places:
        if _answers(place):  # whose tools would be taken for those of this one
            raise SgdxError(f"{shown}: found a server at {place[0]}:{place[1]} already")
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        try:
            process = subprocess.Popen(
                program,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=get_default_environment() | dict(access.env),
                start_new_session=True,
            )
        except OSError as error:
            raise SgdxError(f"{shown}: cannot be started: {error.strerror}") from None
        try:
            end = time.monotonic() + _START
            while not all(map(_answers, places)):
                if (status := process.poll()) is not None or time.monotonic() > end:
                    last = _last_line(cast(TextIO, said)) or "nothing"
                    became = (
                        f"no answer in {_START} seconds"
                        if status is None
                        else f"exit status {status}"
                    )
                    raise SgdxError(f"{shown}: {became}; it said: {last}")
                time.sleep(0.1)
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=10)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _answers(place: tuple[str, int]) -> bool:
    try:
        socket.create_connection(place, timeout=1).close()
    except OSError:
        return False
    return True


def _is_address(server: str) -> bool:
    """Whether a server is no command; one may have an address, as ``npx mcp-remote URL``."""
    return re.match(r"[A-Za-z][\w+.-]*://", server) is not None


def _public(server: str) -> str:
    """What is said of a server: no keys, which may stand in an address or a command line."""
    if _is_address(server):
        check_address(server, "MCP server")
        return origin(server)
    return shlex.quote(split_command(server, "MCP server")[0])


async def _ask(
    server: str,
    shown: str,
    access: Access,
    said: TextIO,
    see: Callable[[str], None],
    refused: list[int],
) -> tuple[dict[str, str], list[Json]]:
    """What a server says of itself, and the records of all of its tools.

    What a program says on standard error goes into a file, and the status of each request that was
    refused into a list.
    """
    import httpx2
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    async def note(response: httpx2.Response) -> None:
        refused.extend([response.status_code] if response.status_code >= 400 else [])

    async with AsyncExitStack() as stack:
        answers: list[bytearray] = []
        if _is_address(server):
            headers = {"Accept-Encoding": "identity", **access.headers}
            timeout = httpx2.Timeout(_PATIENCE, read=_MOST_SECONDS)
            http = _bounded_client()(
                headers=headers, timeout=timeout, event_hooks={"response": [note]}
            )
            await stack.enter_async_context(http)
            answers = http.answers
            target: Any = streamable_http_client(
                server, http_client=http, max_sse_event_size=_MOST_BYTES
            )
        else:
            program, *arguments = split_command(server)
            if shutil.which(program) is None:
                raise SgdxError("found no such program, expected one on the PATH")
            relayed = ["-I", "-c", _RELAY, str(_MOST_BYTES), program, *arguments]
            parameters = StdioServerParameters(
                command=sys.executable, args=relayed, env=dict(access.env), cwd=access.cwd
            )
            target = stdio_client(parameters, errlog=said)
        client = Client(target, read_timeout_seconds=_PATIENCE, cache=None)
        await stack.enter_async_context(client)
        records = await _listed(client, see)
        for answer in answers:
            _refuse_repeated_keys(bytes(answer))
        info, today = client.server_info, datetime.now(UTC).date().isoformat()
        name, version = (info.name, info.version) if info else (shown, "")
        facts = {"name": name, "version": version, "protocol": client.protocol_version}
        # A server may say back what let us in.
        cleaned: tuple[dict[str, str], list[Json]] = take_out_of([facts, records])
        return {**cleaned[0], "date": today}, cleaned[1]


async def _listed(client: Any, see: Callable[[str], None]) -> list[Json]:
    """The records of all tools, page by page."""
    records: list[Json] = []
    cursors: dict[str | None, None] = {None: None}
    while len(cursors) <= _MOST_PAGES:
        page = await client.list_tools(cursor=next(reversed(cursors)))
        see(f"{len(records)} tools on {len(cursors)} pages so far")
        for tool in page.tools:
            records.append(tool.model_dump(mode="json", by_alias=True, exclude_none=True))
        if page.next_cursor is None:
            return records
        if page.next_cursor in cursors:
            raise SgdxError(f"found the page {page.next_cursor[:60]!r} twice, expected an end")
        cursors[page.next_cursor] = None
    raise SgdxError(f"found over {_MOST_PAGES} pages of tools, expected an end")


def _refuse_repeated_keys(answer: bytes) -> None:
    """Refuse JSON, or events that have some, where an object has a key twice: the SDK drops one."""
    for event in re.split(rb"\r?\n\r?\n", answer):
        data = b"\n".join(re.findall(rb"^data: ?([^\r\n]*)", event, re.MULTILINE))
        with suppress(json.JSONDecodeError, UnicodeDecodeError):
            parse_text(data or event)


def _bounded_client() -> Any:
    """The class of a client that reads so many bytes of all answers together, and keeps them."""
    import httpx2

    class BoundedClient(httpx2.AsyncClient):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.left, self.answers = _MOST_BYTES, list[bytearray]()

        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            response = await super().send(request, stream=True, **options)
            response.headers.pop("content-encoding", None)
            parts: Any = response.stream
            self.answers.append(answer := bytearray())

            async def counted() -> AsyncIterator[bytes]:
                async for part in parts:
                    self.left -= len(part)
                    if self.left < 0:
                        raise httpx2.ReadError(f"found over {_MOST_BYTES} bytes of tools")
                    answer.extend(part)
                    yield part

            class Counted(httpx2.AsyncByteStream):
                def __aiter__(self) -> AsyncIterator[bytes]:
                    return counted()

                async def aclose(self) -> None:
                    await parts.aclose()

            response.stream = Counted()
            if not stream:
                await response.aread()
            return response

    return BoundedClient
