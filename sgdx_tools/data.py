"""A project: tools, cases, variants, models and a gate, and where they come from.

``tools.json``, ``cases.jsonl``, ``variants/NAME.json`` and ``source.json`` are these types as JSON;
``folder.py`` reads, checks and writes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from sgdx_llm.functions import safe_names
from sgdx_metric.variants import ORIGINAL

from .json_schema import Element, Layout
from .json_schema import Json as Json
from .keys import Gate, KeysFile
from .keys import Rule as Rule

# An argument that is an object with one of these keys alone is no value of a tool's.
ANY_OF, ABSENT = "any_of", "absent"
ALL_TOOLS = "*"  # what a neighbour stands beside
MOST_STEPS = 20
CROWD, WITHOUT = "crowd", "without:"  # by whom, or the beginning of it, such variants are made
# With which ids of requests begin that are reworded beside tools, whose ids have no blank.
REQUEST = "request "
# A tool's id and the path of one of its parameters; the path is empty for the tool's own words.
ElementId = tuple[str, str]


class Tool(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, dict=True):
    """A tool, as a model's provider gets it."""

    # What a call says; letters, digits, ``_`` and ``-``, 64 at most.
    name: str
    description: str = ""
    # The JSON Schema of the arguments, of type ``object``; empty for a tool without parameters.
    parameters: Json = {}
    # What cases and variants call it: the name, unless several definitions share one.
    id: str = ""
    # Whether the provider is to hold calls to the schema.
    strict: bool = False
    # The id of the tool beside which it is shown, to compete with it; `*` of a neighbour of all
    # tools, and empty for none.
    rival_of: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            msgspec.structs.force_setattr(self, "id", self.name)

    @cached_property
    def layout(self) -> Layout:
        """Where the words of its parameters stand; ``SgdxError`` where they are not understood."""
        return Layout(self.parameters, f"tool {self.id}")

    @cached_property
    def elements(self) -> dict[str, Element]:
        """What can be reworded, by path; the tool itself has the empty path."""
        return {"": Element(self.name, self.description), **self.layout.elements}


class ExpectedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call that is right."""

    # The tool's id.
    name: str
    # The value of each argument, by the names in ``tools.json``. In place of a value, at any depth,
    # ``{"any_of": [...]}`` gives several that are right; ``{"absent": true}`` among them says that
    # the argument may be left out. ``{"matches": SCHEMA}`` is each value that a JSON Schema takes.
    arguments: Json = {}


class Case(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A conversation up to the moment at which a model answers, and the answer that is right."""

    id: str
    # The conversation in OpenAI's form; calls in it go by the tools' ids.
    messages: tuple[Json, ...]
    # The calls that are right, in any order; None where no tool is to be called, or none of
    # `forbid`.
    expect: tuple[ExpectedCall, ...] | None
    # The ids of the tools that the model may call; None for all.
    tools: tuple[str, ...] | None = None
    # What the cases that are turns of one dialogue have in common; empty for a case that stands
    # alone. Intervals are over dialogues.
    dialogue: str = ""
    # The ids of the tools that are not to be called, where others may be.
    forbid: tuple[str, ...] = ()
    # Whether a call that is right may have arguments beside those that it is expected to have.
    extra: Literal["refuse", "allow"] = "refuse"
    # Whether nobody has looked yet at the calls that it expects, which are those of a trace.
    unreviewed: bool = False
    # How many answers with calls there may be, until the expected ones come.
    steps: Annotated[int, msgspec.Meta(ge=1, le=MOST_STEPS)] = 1
    # What each tool gives back where other calls come first, by its id: text or JSON.
    results: Mapping[str, Any] = {}

    @property
    def cluster(self) -> str:
        """What it counts as one with: its dialogue, or itself."""
        return f"d {self.dialogue}" if self.dialogue else f"c {self.id}"


class Words(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """New words of a parameter, or of a part of one; None where the old ones stay."""

    name: str | None = None
    description: str | None = None


class ToolWords(Words, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """New words of a tool."""

    # New words of its parameters by their paths, as ``json_schema.py`` describes them:
    # ``party_size``, ``address.city``, ``guests[].name``.
    parameters: Mapping[str, Words] = {}


class Variant(msgspec.Struct, frozen=True):
    """New words for some tools."""

    # ``v1`` or another name; ``original`` has no words.
    name: str
    # The new words by the tools' ids.
    tools: Mapping[str, ToolWords] = {}
    # Who found them, as ``model:NAME``; empty where nobody says so. The signature of a score has
    # it, since a model may like its own words. In the file it is ``$made_by``.
    made_by: str = ""
    # All tools of another version, as of a pull request, by the ids of those that they replace. A
    # model is shown them as they are. None where only words change. In the file it is ``$tools``.
    version: Mapping[str, Tool] | None = None
    # Whether names are also put into the texts that speak of them. In the file it is ``$mentions``.
    mentions: bool = True
    # What a user says last in other words, by case. In the file it is ``$said``.
    said: Mapping[str, str] = {}

    @classmethod
    def of(cls, name: str, elements: Mapping[ElementId, Words], made_by: str = "") -> Variant:
        """A variant of the new words of each element."""
        by_tool: dict[str, dict[str, Words]] = {}
        for (tool, path), words in elements.items():
            by_tool.setdefault(tool, {})[path] = words
        tools = {}
        for tool, parts in by_tool.items():
            own = parts.pop("", Words())
            tools[tool] = ToolWords(own.name, own.description, parts)
        return cls(name, tools, made_by)

    def elements(self) -> dict[ElementId, Words]:
        """The new words of each element that changes."""
        elements: dict[ElementId, Words] = {}
        for tool, words in self.tools.items():
            if words.name is not None or words.description is not None:
                elements[tool, ""] = words
            elements |= {(tool, path): new for path, new in words.parameters.items()}
        return elements

    def digest(self) -> str:
        """A digest of its words."""
        words = dict(sorted(self.tools.items()))
        # A model reads another version in its order, also that of parameters.
        version = [] if self.version is None else self.version.values()
        mentions = [] if self.mentions else ["no mentions"]
        said = [dict(sorted(self.said.items()))] if self.said else []
        return digest([words, *map(msgspec.json.encode, version), *mentions, *said])


class Source(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where tools and cases come from."""

    # What was imported, such as ``openai``; empty for tools written by hand.
    form: str = ""
    # The SHA-256 of each file that was imported, by its name.
    files: Mapping[str, str] = {}
    # How values are compared.
    rules: Rule = "exact"
    # What could not be expressed, a line for each.
    left_out: tuple[str, ...] = ()
    # Which names were changed, a line for each.
    renamed: tuple[str, ...] = ()
    # What definitions say that no model is shown, by whose it is, such as ``tool book``.
    beside: Mapping[str, Json] = {}
    # Of each server that was asked its name and version, the protocol's, and the day in UTC.
    servers: tuple[Mapping[str, str], ...] = ()
    # Whether a model is shown each tool, or one in which they are listed, as skills are.
    shown_as: Literal["tools", "skill"] = "tools"
    # Whether cases that cannot be right under new tools are left out; otherwise they are lost.
    leaves_out: bool = False

    def server_of(self, tool: str) -> str:
        """Which of several servers has a tool, by its id; empty for one server, or none."""
        names = [server.get("name", "") for server in self.servers]
        known = safe_names(names) if len(names) > 1 else {}
        return next((name for name in names if tool.startswith(f"{known.get(name)}__")), "")


class Project(msgspec.Struct, frozen=True):
    """All that a folder of tools has, or a file ``sgdx.yaml`` asks for."""

    # The folder or the file, for error messages.
    path: str
    # By their ids, in the order of ``tools.json``.
    tools: Mapping[str, Tool]
    cases: tuple[Case, ...] = ()
    # All variants by name, ``original`` first.
    variants: Mapping[str, Variant] = msgspec.field(
        default_factory=lambda: {ORIGINAL: Variant(ORIGINAL)}
    )
    source: Source = Source()
    # All cases of the file; ``cases`` lacks those that ``--limit`` leaves out, and ``left_out``.
    all_cases: tuple[Case, ...] = ()
    # Why a case cannot be right under some variant, whose tools or arguments differ, by its id.
    left_out: Mapping[str, str] = {}
    # The same by variant of cases that are not left out, and count as lost.
    gone: Mapping[str, Mapping[str, str]] = {}
    # What asks for models, other words and a gate; None for a folder.
    file: KeysFile | None = None
    # The file of the cases, which may not be there yet.
    cases_file: Path = Path()

    def __post_init__(self) -> None:
        if not self.all_cases:
            msgspec.structs.force_setattr(self, "all_cases", self.cases)

    def first(self, limit: int | None) -> Project:
        """The same with only so many cases; None for all."""
        if limit is None:
            return self
        return msgspec.structs.replace(self, cases=self.cases[:limit])

    def requests(self) -> dict[str, Tool]:
        """What users say last, as descriptions of tools without a name, which are reworded so."""
        said = {f"{REQUEST}{case.id}": last_said(case.messages)[1] for case in self.all_cases}
        return {i: Tool("", text, id=i) for i, text in said.items() if text}

    @property
    def folder(self) -> Path:
        """The folder to which paths and commands of the file are relative."""
        return self.file.path.parent if self.file else Path()

    @property
    def gate(self) -> Gate:
        """When it fails."""
        return self.file.gate if self.file else Gate()

    def digest(self, name: str) -> str:
        """A digest of what models are shown under a variant: tools, conversations and words."""
        conversations: list[tuple[Any, ...]] = [
            (case.id, case.messages, case.tools, *([case.results] if case.steps > 1 else ()))
            for case in self.all_cases
        ]
        shown = digest([*self.tools.values(), *conversations])
        return f"{shown}-{self.variants[name].digest()}"


def last_said(messages: Sequence[Json]) -> tuple[int, str]:
    """The place and the text of the last message of a user; -1 and none where it is no text."""
    for i, message in reversed([*enumerate(messages)]):
        if message["role"] == "user":
            content = message.get("content")
            return (i, content) if isinstance(content, str) else (-1, "")
    return -1, ""


def digest(records: Iterable[object]) -> str:
    """The first 8 hex digits of the SHA-256 of records as JSON."""
    found = hashlib.sha256()
    for record in records:
        found.update(msgspec.json.encode(record, order="deterministic") + b"\n")
    return found.hexdigest()[:8]
