"""``sgdx.yaml``: the keys of a test, what each means, and how they become options.

Paths in it are relative to its folder.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import note_named, read_input
from sgdx_dataset.io.secrets import from_environment
from sgdx_dataset.io.yaml import parse_yaml
from sgdx_llm.options import SendingOptions
from sgdx_llm.providers import ProviderName

from .data import Rule
from .folder import TOOLS
from .importing import kind_of, skill_pattern
from .options import AskOptions, RewordOptions
from .verdict import Gate

FILE = "sgdx.yaml"


@contextlib.contextmanager
def _named_by_keys(where: str) -> Iterator[None]:
    """Have errors about options name the keys that stand for them, as ``max_cost``."""
    try:
        yield
    except SgdxError as error:
        found = re.sub("^--([a-z-]+)", lambda name: name[1].replace("-", "_"), str(error))
        raise SgdxError(f"{where}: {found}") from None


class Asking(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How models are asked: of all under ``asking``, and of one in its entry, which goes before."""

    provider: ProviderName | None = None
    # The server's address. ``${NAME}`` is taken from the environment, as in headers.
    base_url: str | None = None
    # Fields of its requests, and those that the server refuses.
    set: dict[str, Any] = {}
    omit: tuple[str, ...] | None = None
    price: str | None = None
    # Whether a call that stands in the text of an answer is one.
    text_calls: bool | None = None
    headers: dict[str, str] = {}
    timeout: float | None = None
    concurrency: int | None = None
    max_requests: int | None = None
    max_cost: float | None = None
    stop_unread: str | None = None
    # The days for which answers of a pinned model are kept; without it each test asks anew.
    keep: Annotated[float, msgspec.Meta(ge=0)] | None = None


class Server(Asking, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A model at a server, or a program."""

    model: str | None = None
    command: str | None = None
    # What its figures are called; the model's or program's name unless it is given.
    name: str = ""

    def options(self, repeats: int = 1) -> tuple[AskOptions, SendingOptions]:
        """The same as options of commands."""
        where = f"{FILE}: {self.name or self.model or 'models'}"

        def given(*names: str) -> dict[str, Any]:
            return {name: value for name in names if (value := getattr(self, name)) is not None}

        fields = tuple(f"{key}={json.dumps(value)}" for key, value in self.set.items())
        headers = tuple(
            f"{key}={from_environment(text, f'{where}: headers: {key}')}"
            for key, text in self.headers.items()
        )
        asked = given("model", "command", "provider", "omit", "price", "text_calls")
        if self.base_url is not None:
            asked["base_url"] = from_environment(self.base_url, f"{where}: base_url")
        sent = given("timeout", "concurrency", "max_requests", "max_cost", "stop_unread")
        with _named_by_keys(where):
            return (
                AskOptions(set=fields, repeats=repeats, **asked),
                SendingOptions(header=headers, **sent),
            )


class NewVariants(Server, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where other words come from: one of these."""

    pool: str | None = None
    file: str | None = None
    tools: str | None = None
    rivals: str | None = None
    # The table of new words that a person has reviewed.
    review: str | None = None
    # Beside these or alone: trivial edits of all descriptions, for what such words cost.
    control: bool = False
    count: int = 5
    keep_names: bool = False
    # Whether names are also changed in the texts that speak of them.
    mentions: bool = True

    def rewording(self, output: Path) -> RewordOptions:
        """The same as options."""
        ways = ("model", "pool", "file", "tools", "rivals", "review")
        given = [(way, value) for way in ways if (value := getattr(self, way))]
        if len(given) > 1 or not (given or self.control):
            raise SgdxError(f"{FILE}: variants: found {len(given)}, expected one of {ways}")
        ((way, value),) = given or [("control", "")]
        by, review = (None, Path(value)) if way == "review" else (f"{way}:{value}", None)
        with _named_by_keys(f"{FILE}: variants"):
            return RewordOptions(
                by=by,
                review=review,
                output=output,
                count=self.count,
                keep_names=self.keep_names,
                keep_mentions=not self.mentions,
            )


class ImportedTools(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where tools come from: one form with its file, or live servers."""

    # Commands or addresses of servers, or a file of their answer.
    mcp: str | tuple[str, ...] = ()
    openai: str = ""
    anthropic: str = ""
    openapi: str = ""
    # Patterns of files SKILL.md, and whether each is shown as a tool of its own.
    skills: str | tuple[str, ...] = ()
    as_: Literal["tools", ""] = msgspec.field(name="as", default="")
    # The command that starts the servers, where they have addresses.
    start: str = ""
    # Variables of the environment of programs, and headers of requests to addresses. ``${NAME}`` is
    # taken from the environment.
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    # Patterns: a tool is taken if one fits its name, its path or a tag of it.
    only: str | tuple[str, ...] = ()

    def form(self) -> tuple[str, tuple[str, ...]]:
        """The form that is given, and its file or servers."""
        names = ("mcp", "openai", "anthropic", "openapi", "skills")
        given = [(name, value) for name in names if (value := getattr(self, name))]
        if len(given) != 1:
            found = ", ".join(name for name, _ in given) or "none"
            raise SgdxError(f"{FILE}: tools: found {found}, expected one of {', '.join(names)}")
        ((name, value),) = given
        return name, (value,) if isinstance(value, str) else value

    def servers(self) -> tuple[str, ...]:
        """The commands and addresses of live servers."""
        form, listed = self.form()
        is_file = len(listed) == 1 and Path(listed[0]).is_file()
        return () if form != "mcp" or is_file else listed


class TestFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``sgdx.yaml`` says; its paths are relative to its folder."""

    # A folder of tools, another source of some, or such as ``{mcp: "npx my-server"}``.
    tools: str | ImportedTools
    cases: str
    variants: NewVariants
    # A search for tools needs none.
    models: tuple[Server, ...] = ()
    # How all of them are asked, unless their entries say otherwise.
    asking: Asking = Asking()
    # When a test fails; never without it.
    gate: Gate | None = None
    rules: Rule = "exact"
    # How many times each case is asked under each variant.
    repeats: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1


AnyServer = TypeVar("AnyServer", bound=Server)


def read_file(path: Path) -> TestFile:
    file = parse_yaml(read_input(path), TestFile, str(path))
    if isinstance(file.tools, str) and not (path.parent / file.tools / TOOLS).exists():
        with contextlib.chdir(path.parent):  # a source, and no folder of tools
            kind, pattern = kind_of(file.tools), skill_pattern(file.tools)
        imported = ImportedTools(openai=file.tools)
        imported = ImportedTools(skills=pattern) if kind == "skills" else imported
        imported = ImportedTools(mcp=file.tools) if kind == "server" else imported
        file = replace(file, tools=imported)
    if file.gate:
        file.gate.check(f"{path}: gate")
    return replace(
        file,
        models=tuple(_asked_as(model, file.asking) for model in file.models),
        variants=_asked_as(file.variants, file.asking),
    )


def _asked_as(server: AnyServer, defaults: Asking) -> AnyServer:
    """A server with the defaults where it says nothing; fields and headers are joined."""
    values: dict[str, Any] = {}
    for name in Asking.__struct_fields__:
        own, default = getattr(server, name), getattr(defaults, name)
        values[name] = {**default, **own} if isinstance(own, dict) else own
        if own is None:
            values[name] = default
    if values["keep"] is not None and server.command:
        values["keep"] = None  # a program may have changed, whatever is kept for models
    return replace(server, **values)


def note_inputs(file: TestFile, folder: Path) -> None:
    """Keep whatever a file names from being written over: tools, cases, words, programs."""
    tools, words = file.tools, file.variants
    live = tools if isinstance(tools, str) else [*tools.form()[1], tools.start]
    named = [words.pool, words.file, words.tools, words.review, words.command]
    note_named([file.cases, live, named, [model.command for model in file.models]], folder)
