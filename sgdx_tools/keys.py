"""The keys of ``sgdx.yaml``: what each means, and how they become options.

Paths in it are relative to its folder. The comments are the page ``docs/keys.md`` and the schema
for editors, which ``python -m maintenance.settings`` makes of them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import note_named, read_input
from sgdx_dataset.io.secrets import from_environment, split_command
from sgdx_dataset.io.yaml import parse_yaml, place_in
from sgdx_llm.providers import ProviderName

if TYPE_CHECKING:
    from sgdx_llm.options import SendingOptions

    from .options import AskOptions

FILE = "sgdx.yaml"
# By which an editor finds the schema of the keys.
SCHEMA_LINE = (
    "# yaml-language-server: "
    "$schema=https://raw.githubusercontent.com/YOU/sgdx/main/docs/_static/sgdx.schema.json"
)
Rule = Literal["exact", "fuzzy"]
Depth = Literal["recall@1", "recall@3", "recall@5", "recall@10"]
Points = Annotated[float, Meta(ge=0, le=100)]
Above0 = Annotated[float, Meta(gt=0)]


class Asking(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How models are asked, unless their entries say otherwise; fields and headers are joined."""

    # Whose server it is, such as `groq`. This sets the address and the variable of the key.
    provider: ProviderName | None = None
    # The server's address, such as `http://localhost:8000/v1`. `${NAME}` is taken from the
    # environment, and a query such as `?api-version=1` goes with every request.
    base_url: str | None = None
    # Fields of the requests, such as `{temperature: 0.3}`.
    set: dict[str, Any] = {}
    # Fields of requests that the server refuses, such as `[seed]`.
    omit: tuple[str, ...] | None = None
    # The price of a million tokens: of requests, of the cached part of them, and of answers, as in
    # `2.5,1.25,10`.
    price: str | None = None
    # Whether a call that a model writes into its text is a call.
    text_calls: bool | None = None
    # Headers of each request. `${NAME}` is taken from the environment.
    headers: dict[str, str] = {}
    # A request is given up after so many seconds.
    timeout: Above0 | None = None
    # At most so many requests are sent at once.
    concurrency: Annotated[int, Meta(ge=1)] | None = None
    # Asking stops after so many requests.
    max_requests: Annotated[int, Meta(ge=1)] | None = None
    # Asking stops before the requests cost more than this, by `price`. `--max-cost` goes before it.
    max_cost: Above0 | None = None
    # Asking stops if so many answers cannot be read: `0.5/50` is half of them, once there are 50.
    stop_unread: str | None = None
    # For how many days answers of a model that does not change are kept. Without it each test asks
    # anew.
    keep: Annotated[float, Meta(ge=0)] | None = None


_OF_PROGRAMS = ("set", "omit", "text_calls")


class Model(Asking, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A model at a server, or a program; with the keys of `asking`, which go before those there."""

    # The model, by its name at the server.
    model: str | None = None
    # Or a program, such as `python assistant.py`. Of the keys of `asking` it takes `set`, `omit`
    # and `text_calls`.
    command: str | None = None
    # What its figures and its folder are called. Default: the model's name, or the program's file.
    name: str = ""


class NewWords(Asking, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where other words come from: one of the first eight keys, with those of `asking`."""

    # A model, which words every tool `count` times. One that stands in `models` is asked at the
    # same server.
    model: str | None = None
    # A pool of paraphrases, as in `{"book": {"name": ["reserve"], "description": [...],
    # "parameters": {"size": {...}}}}`.
    pool: str | None = None
    # A file of your own words.
    file: str | None = None
    # Another version of the tools.
    tools: str | None = None
    # No words: a competitor is shown beside each tool, and calling it is wrong. `near` is a copy
    # that does nothing, `assertive` one that praises itself, `misleading` another tool, described
    # as this one, `same-name` another tool, called as this one in another spelling.
    rivals: Literal["near", "assertive", "misleading", "same-name"] | None = None
    # The table of new words, `review.tsv`, from which a person has struck out bad ones.
    review: str | None = None
    # No words: each sentence of a description, each example or each optional parameter is left out
    # in turn, for what it earns.
    without: Literal["sentences", "examples", "parameters"] | None = None
    # No words: tools of others, from any source, are shown before yours, as many as `sizes` says.
    crowd: str | None = None
    # With `crowd`: how many neighbours, a variant for each number.
    sizes: tuple[Annotated[int, Meta(ge=1)], ...] = (10, 50)
    # A model, which is told what each tool and parameter does, and guesses what it is called. Its
    # most frequent guess of `count` is the new name, which small models call more often rightly
    # (https://arxiv.org/abs/2510.07248).
    guess: str | None = None
    # With `model`: whether it also rewords what users say last, as variants of their own. The table
    # to review has these, too.
    users: bool = False
    # Beside one of these or alone: five trivial edits of all descriptions, for what such words
    # cost.
    control: bool = False
    # How many variants are made. The first is nearest to the original.
    count: Annotated[int, Meta(ge=1, le=9)] = 5
    # Whether only descriptions are reworded.
    keep_names: bool = False
    # Whether a name that is changed is also changed in the texts that speak of it.
    mentions: bool = True
    # Whether each reworded element gets a variant of its own, to measure what each costs.
    one_at_a_time: bool = False

    def way(self) -> tuple[str, Any]:
        """Which of the ways is given, and what."""
        given = [(way, value) for way in WAYS if (value := getattr(self, way))]
        if not given and self.control:
            return "control", True
        if self.users and given and given[0][0] not in ("model", "review"):
            raise SgdxError(f"variants: users: found {given[0][0]}, expected model or review")
        if len(given) != 1:
            found = " and ".join(way for way, _ in given) or "none"
            raise SgdxError(f"variants: found {found}, expected one of {', '.join(WAYS)}")
        return given[0]


def given_words(words: NewWords | None, by: str | None, count: int | None) -> NewWords:
    """What `variants` says, with WAY:WHAT or another number in place of what it has."""
    if by is not None:
        way, _, what = by.partition(":")
        value: Any = what or way == "control"
        try:
            given = msgspec.convert({way: value} if value else {}, NewWords)
            given.way()
        except (msgspec.ValidationError, SgdxError) as error:
            raise SgdxError(
                f"--with {by}: {error}, expected control, {':, '.join(WAYS)}:"
            ) from None
        none = dict.fromkeys(WAYS) | {"control": False}
        words = replace(words or NewWords(), **none | {way: getattr(given, way)})
    if words is None:
        raise SgdxError("found no variants, expected --with, or sgdx.yaml with variants")
    return words if count is None else replace(words, count=count)


WAYS = ("model", "pool", "file", "tools", "rivals", "review", "without", "crowd", "guess")


class Tools(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"as_": "as"}):
    """Where tools come from, if more is to be said than the source alone."""

    # What is said by `tools` alone otherwise: a folder or file of tools, a pattern of skills, or a
    # live MCP server by its command or URL, which mostly ends in `/mcp`. Give a list of several
    # servers to join their tools.
    source: str | tuple[str, ...] = ""
    # In place of `source`: the file of a client, such as `.mcp.json`, with all its servers. What it
    # says as `${NAME}` is taken from the environment.
    client: str = ""
    # `tools` shows each skill as a tool of its own.
    as_: Literal["tools", ""] = ""
    # With a URL: the command that starts its server.
    start: str = ""
    # Variables for the commands of servers, such as `{TOKEN: "${TOKEN}"}`. `${NAME}` is taken from
    # the environment. No value is written anywhere.
    env: dict[str, str] = {}
    # The same for requests to a URL, such as `{Authorization: "Bearer ${TOKEN}"}`.
    headers: dict[str, str] = {}
    # Patterns, such as `["get_*", "/pets*", "shop"]`: a tool is taken if its name, path or tag fits
    # one. Some servers refuse more than 128 tools.
    only: str | tuple[str, ...] = ()

    def sources(self) -> tuple[str, ...]:
        """All sources."""
        source = self.client or self.source
        return (source,) if isinstance(source, str) else source

    def patterns(self) -> tuple[str, ...]:
        """All patterns."""
        return (self.only,) if isinstance(self.only, str) else self.only


class Gate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What makes a test fail, in points of cases."""

    # The loss that is allowed. Without it there is no verdict, and the status is 0 once all answers
    # are there.
    max_drop: Points | None = None
    # Whether what is unclear ends with 2.
    strict: bool = False
    # A model that has fewer percent of the cases right under the original words is not judged.
    min_right: Points = 0.0
    # `allow`: cases that cannot be right any more, since their tool or argument is gone, are left
    # out. Otherwise they are lost. With more than a tenth left out, nothing can be told.
    left_out: Literal["lost", "allow"] = "lost"
    # The loss that is allowed in a search, such as `{recall@5: 3}`.
    search: dict[Depth, Points] = {}


class Keys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `sgdx.yaml` says. Its paths are relative to its folder."""

    # A folder of tools, a file, a folder or pattern of skills, or a live MCP server.
    tools: str | Tools
    # The file of cases. Default: `cases.jsonl` of the folder of tools, or beside this file.
    cases: str = ""
    # Where other words come from. Default: the variants of the folder of tools.
    variants: NewWords | None = None
    # The models and programs that are asked. A search for tools needs none.
    models: tuple[Model, ...] = ()
    # How all of them are asked.
    asking: Asking = Asking()
    # When a test fails; never without it.
    gate: Gate | None = None
    # What searches for tools: `bm25`, `bm25:german` or another language's words without their
    # endings, `embeddings:MODEL@URL`, or a program such as `python mine.py`.
    ranker: str = "bm25"
    # How values are compared: `exact` as JSON, or `fuzzy`, free text by its similarity. Default:
    # what the folder's `source.json` says, else `exact`.
    rules: Rule | None = None
    # How many times each case is asked under each variant.
    repeats: Annotated[int, Meta(ge=1, le=100)] = 1
    # How many answers with calls a case may have until the expected calls come, unless it says so
    # itself. What other calls give back is in its `results`, or made of the tool's output schema.
    steps: Annotated[int, Meta(ge=1, le=20)] = 1

    def source(self) -> Tools:
        """Where the tools come from, with all that is said of it."""
        return Tools(self.tools) if isinstance(self.tools, str) else self.tools


AnyAsking = TypeVar("AnyAsking", bound=Asking)


class KeysFile:
    """A file ``sgdx.yaml``, which errors about its values name with line and key."""

    def __init__(self, path: Path) -> None:
        self.path, self._data = path, read_input(path)
        self.keys = keys = parse_yaml(self._data, Keys, str(path))
        if keys.gate and keys.gate.max_drop is None and not keys.gate.search:
            raise self.fault("found nothing to judge, expected max_drop or search", "gate")
        for i, model in enumerate(keys.models):
            if bool(model.model) == bool(model.command):
                raise self.fault("expected one of model and command", "models", i)
            for key in Asking.__struct_fields__ if model.command else ():
                if key not in _OF_PROGRAMS and getattr(model, key) not in (None, {}):
                    raise self.fault("found a program, expected it of a server", "models", i, key)
        if bool(keys.source().source) == bool(keys.source().client):
            raise self.fault("expected one of source and client", "tools")
        if keys.variants:
            try:
                keys.variants.way()
            except SgdxError as error:
                raise self.fault(str(error).partition(": ")[2], "variants") from None
        tools, words = keys.source(), keys.variants or NewWords()
        named: list[Any] = [
            keys.cases,
            tools.sources(),
            tools.start,
            [of.command for of in keys.models],
        ]
        named += [words.pool, words.file, words.tools, words.review, words.crowd]
        note_named(named, path.parent)  # which keeps it from being written over

    @property
    def gate(self) -> Gate:
        """What makes a test fail."""
        return self.keys.gate or Gate()

    def fault(self, text: str, *steps: str | int) -> SgdxError:
        """An error about the value under some keys."""
        return SgdxError(f"{self.path}: {place_in(self._data, *steps)}{text}")

    def names(self, own: Path | None = None) -> list[str]:
        """A name for each model, which is a folder's; a program's is that of its file.

        Programs may stand in a folder of their own, and not in that of the file.
        """
        names = []
        for i, model in enumerate(self.keys.models, 1):
            name = model.name or model.model
            if model.command:  # whose other words may be keys, or private folders
                program, *words = split_command(model.command)
                scripts = [word for word in words if ((own or self.path.parent) / word).is_file()]
                name = model.name or Path((scripts or [program])[0]).stem
            names.append(re.sub(r"[^A-Za-z0-9_.+-]+", "-", name or "").strip(".-") or f"model-{i}")
        if len({*names}) < len(names) or not names:
            raise self.fault(f"found {names}, expected some with distinct names", "models")
        return names

    def options(self, *steps: str | int) -> tuple[AskOptions, SendingOptions]:
        """How a model under some keys is asked, as options of commands."""
        from sgdx_llm.options import SendingOptions

        from .options import AskOptions

        part: Any = self.keys
        for step in steps:
            part = part[step] if isinstance(step, int) else getattr(part, step)
        model = with_defaults(part, self.keys.asking)

        def from_variables(key: str, text: str, *inside: str) -> str:
            try:
                return from_environment(text, key)
            except SgdxError as error:
                raise self._of_key(steps, key, *inside, text=str(error)) from None

        def given(*names: str) -> dict[str, Any]:
            return {name: of for name in names if (of := getattr(model, name, None)) is not None}

        asked = given("model", "command", "provider", "omit", "price", "text_calls")
        if model.base_url is not None:
            asked["base_url"] = from_variables("base_url", model.base_url)
        headers = tuple(
            f"{name}={from_variables('headers', text, name)}"
            for name, text in model.headers.items()
        )
        fields = tuple(f"{key}={json.dumps(value)}" for key, value in model.set.items())
        sent = given("timeout", "concurrency", "max_requests", "max_cost", "stop_unread")
        try:
            options = AskOptions(set=fields, repeats=self.keys.repeats, **asked)
            sending = SendingOptions(header=headers, **sent)
            sending.check(options.prices)
        except SgdxError as error:
            option, _, said = str(error).removeprefix("--").partition(" ")
            if option == str(error).partition(" ")[0]:  # of no option
                raise self.fault(str(error), *steps) from None
            key = option.rstrip(":").replace("-", "_").replace("header", "headers")
            raise self._of_key(steps, key, text=said.replace("--", "")) from None
        return options, sending

    def _of_key(self, steps: tuple[str | int, ...], key: str, *inside: str, text: str) -> SgdxError:
        """An error about a key of a model, which may stand under `asking`."""
        node: Any = msgspec.yaml.decode(self._data)
        for step in (*steps, key, *inside):
            is_list = isinstance(node, list) and isinstance(step, int)
            node = node[step] if is_list else node.get(step) if isinstance(node, dict) else None
        return self.fault(text, *(steps if node is not None else ("asking",)), key, *inside)


def run_of(path: Path) -> Path:
    """The folder beside a file, by whose name it is called, that keeps what was done."""
    run = path.parent.absolute() / f"{path.stem}-run"
    for place in (run, run / "words", run / "runs", *(run / "runs").glob("*")):
        if place.is_symlink():
            raise SgdxError(f"{place}: found a link, expected a folder")
    return run


def with_defaults(own: AnyAsking, defaults: Asking) -> AnyAsking:
    """How a model is asked, with the defaults where it says nothing."""
    values: dict[str, Any] = {}
    for name in _OF_PROGRAMS if getattr(own, "command", None) else Asking.__struct_fields__:
        value, default = getattr(own, name), getattr(defaults, name)
        joined = {**default, **value} if isinstance(value, dict) else value
        values[name] = default if joined is None else joined
    return replace(own, **values)
