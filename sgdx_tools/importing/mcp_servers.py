"""Tools of live MCP servers, as they list them: programs over stdio, or addresses over HTTP.

The official SDK speaks both eras of the protocol: ``server/discover``, and ``initialize`` where a
server does not know that.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
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
