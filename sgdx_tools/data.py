"""What a folder of tools holds: tools, cases, wordings, and where they come from.

``tools.json``, ``cases.jsonl``, ``wordings/NAME.json`` and ``source.json`` are these types as JSON;
``folder.py`` reads, checks and writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from sgdx_metric.variants import ORIGINAL

Json = dict[str, Any]
Rule = Literal["exact", "bfcl", "fuzzy"]
# An argument that is an object with one of these keys alone is no value of a tool's.
ANY_OF, ABSENT = "any_of", "absent"


class Tool(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A tool, as a model's provider gets it.

    Attributes:
        name: What a call says; letters, digits, ``_`` and ``-``, 64 at most.
        description: What the tool does; empty where nothing says so.
        parameters: The JSON Schema of the arguments, of type ``object``; empty for a tool without
            parameters. No part of it is ever turned into text.
        id: What cases and wordings call it: the name, unless several definitions share one.
    """

    name: str
    description: str = ""
    parameters: Json = {}
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            msgspec.structs.force_setattr(self, "id", self.name)


class ExpectedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call that is right.

    Attributes:
        name: The tool's id.
        arguments: The value of each argument, by the names in ``tools.json``. In place of a value,
            at any depth, ``{"any_of": [...]}`` gives several that are right; ``{"absent": true}``
            among them says that the argument may be left out.
    """

    name: str
    arguments: Json = {}


class Case(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A conversation up to the moment at which a model answers, and the answer that is right.

    Attributes:
        id: A name that no other case has.
        messages: The conversation in OpenAI's form; calls in it go by the tools' ids.
        expect: The calls that are right, in any order; None where no tool is to be called.
        tools: The ids of the tools that the model may call; None for all.
        dialogue: What the cases that are turns of one dialogue have in common; empty for a case
            that stands alone. Intervals are over dialogues.
    """

    id: str
    messages: tuple[Json, ...]
    expect: tuple[ExpectedCall, ...] | None
    tools: tuple[str, ...] | None = None
    dialogue: str = ""


class Words(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """New words of a parameter, or of a part of one; None where the old ones stay."""

    name: str | None = None
    description: str | None = None


class ToolWords(Words, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """New words of a tool.

    Attributes:
        parameters: New words of its parameters by their paths, which ``json_schema.py`` describes:
            ``party_size``, ``address.city``, ``guests[].name``.
    """

    parameters: Mapping[str, Words] = {}


class Wording(msgspec.Struct, frozen=True):
    """New words for some tools.

    Attributes:
        name: ``v1`` or another name; ``original`` has no words.
        tools: The new words by the tools' ids.
        made_by: Who found them, as ``model:NAME``; empty where nobody says so. The signature of a
            score has it, since a model may like its own words. In the file it is ``$made_by``.
    """

    name: str
    tools: Mapping[str, ToolWords] = {}
    made_by: str = ""


class Source(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where tools and cases come from.

    Attributes:
        form: What was imported: ``openai``, ``anthropic``, ``mcp``, ``openapi``, ``bfcl`` or
            ``sgd``; empty for tools written by hand.
        files: The SHA-256 of each file that was imported, by its name.
        rules: How values are compared unless ``score --rules`` says otherwise.
        left_out: What could not be expressed, a line for each.
    """

    form: str = ""
    files: Mapping[str, str] = {}
    rules: Rule = "exact"
    left_out: tuple[str, ...] = ()


class ToolSet(msgspec.Struct, frozen=True):
    """A folder of tools.

    Attributes:
        path: The folder, for error messages.
        tools: The tools by their ids, in the order of ``tools.json``.
        cases: The cases, in the order of ``cases.jsonl``.
        wordings: All wordings by name: first ``original``, then those of ``wordings/`` by name.
        source: Where tools and cases come from.
    """

    path: str
    tools: Mapping[str, Tool]
    cases: tuple[Case, ...] = ()
    wordings: Mapping[str, Wording] = msgspec.field(
        default_factory=lambda: {ORIGINAL: Wording(ORIGINAL)}
    )
    source: Source = Source()

    def tools_of(self, case: Case) -> list[Tool]:
        """The tools that a case's model may call, in the order in which it is shown them."""
        return [self.tools[i] for i in (self.tools if case.tools is None else case.tools)]
