"""Tools of live MCP servers, as they list them: programs over stdio, or addresses over HTTP.

The official SDK speaks both eras of the protocol: ``server/discover``, and ``initialize`` where a
server does not know that.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from urllib.parse import urlsplit

from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import say
from sgdx_dataset.io.extras import require
from sgdx_llm.functions import safe_names
from sgdx_llm.program import split_command

from ..data import Json, ToolServer
from .collection import Collection
from .tool_lists import tools_of

_PATIENCE = 30  # seconds for each answer
_START = 60  # seconds that a server may take until it listens
_MOST_PAGES = 1000


def import_servers(servers: Sequence[str]) -> Collection:
    """Ask each server, a command line or a URL, for its tools.

    Tools of several servers get the server's name before theirs, as ``files__read``.
    """
    require("mcp", "mcp")
    from pydantic import ValidationError

    collection, tools = Collection("mcp"), []
    names = set[str]()
    for server in servers:
        shown = _public(server)
        say("sgdx", f"asking {shown} for its tools")
        try:
            of_server, records = asyncio.run(_ask(server, shown))
        except Exception as error:
            fault: BaseException = error
            while isinstance(fault, BaseExceptionGroup):
                fault = fault.exceptions[0]
            text = " ".join(str(fault).replace(server, shown).split())
            if isinstance(fault, ValidationError):  # as of older servers, whose schemas lack a type
                first = fault.errors()[0]
                place = ".".join(map(str, first["loc"]))
                text = f"{place}: {first['msg']}; --mcp takes its answer to tools/list from a file"
            kind = "" if isinstance(fault, SgdxError) else f"{type(fault).__name__}: "
            raise SgdxError(f"--mcp-server {shown}: {kind}{text[:300]}") from None
        name, number = of_server.name, 1
        while name in names:
            number += 1
            name = f"{of_server.name}_{number}"
        names.add(name)
        prefix = f"{safe_names([name])[name]}__" if len(servers) > 1 else ""
        for tool in tools_of("mcp", records, shown, collection):
            tools.append(replace(tool, name=prefix + tool.name, id=prefix + tool.id))
        collection.servers.append(replace(of_server, name=name))
    collection.add_tools(tools)
    return collection


@contextmanager
def started(command: str, servers: Sequence[str]) -> Iterator[None]:
    """Start the program behind some addresses, wait until they answer, and stop it at the end.

    As other servers it gets only the common variables of the environment, and so no key.
    """
    require("mcp", "mcp")
    from mcp.client.stdio import get_default_environment

    addresses = [urlsplit(server) for server in servers if "://" in server]
    places = [(a.hostname or "", a.port or {"https": 443}.get(a.scheme, 80)) for a in addresses]
    shown = f"tools: start: {shlex.quote(split_command(command)[0])}"
    for place in places:
        if _answers(place):  # whose tools would be taken for those of this one
            raise SgdxError(f"{shown}: found a server at {place[0]}:{place[1]} already")
    with tempfile.TemporaryFile() as said:
        try:
            program = subprocess.Popen(
                split_command(command),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=get_default_environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise SgdxError(f"{shown}: cannot be started: {error.strerror}") from None
        try:
            end = time.monotonic() + _START
            while not all(map(_answers, places)):
                if (status := program.poll()) is not None or time.monotonic() > end:
                    said.seek(0)
                    text = said.read()[-2000:].decode(errors="replace").strip()
                    last = text.rpartition("\n")[2][:300] or "nothing"
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
                os.killpg(program.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                program.wait(timeout=10)
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()


def _answers(place: tuple[str, int]) -> bool:
    try:
        socket.create_connection(place, timeout=1).close()
    except OSError:
        return False
    return True


def _public(server: str) -> str:
    """What is said of a server: no keys, which may stand in an address or a command line."""
    if "://" in server:
        parts = urlsplit(server)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
    return shlex.quote(split_command(server)[0])


async def _ask(server: str, shown: str) -> tuple[ToolServer, list[Json]]:
    """What a server says of itself, and the records of all of its tools."""
    from mcp import Client, StdioServerParameters

    if "://" in server:
        target: str | StdioServerParameters = server
    else:
        program, *arguments = split_command(server)
        target = StdioServerParameters(command=program, args=arguments)
    async with Client(target, read_timeout_seconds=_PATIENCE, cache=None) as client:
        records: list[Json] = []
        cursors: dict[str | None, None] = {None: None}
        while len(cursors) <= _MOST_PAGES:
            page = await client.list_tools(cursor=next(reversed(cursors)))
            records += [
                tool.model_dump(mode="json", by_alias=True, exclude_none=True)
                for tool in page.tools
            ]
            if page.next_cursor is None:
                break
            if page.next_cursor in cursors:
                raise SgdxError(f"found the page {page.next_cursor[:60]!r} twice, expected an end")
            cursors[page.next_cursor] = None
        else:
            raise SgdxError(f"found over {_MOST_PAGES} pages of tools, expected an end")
        info = client.server_info
        name = info.name if info else shown
        version = info.version if info else ""
        today = datetime.now(UTC).date().isoformat()
        return ToolServer(name, version, client.protocol_version, today), records
