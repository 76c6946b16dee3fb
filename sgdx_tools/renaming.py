"""Tools and cases under a variant: what a model is shown, and which calls are then right."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from typing import Any

from msgspec.structs import replace

from sgdx_dataset import SgdxError

from .data import Case, ExpectedCall, Json, Tool, ToolWords, Variant
from .json_schema import Layout, Renaming, title

_NO_WORDS = ToolWords()


class WordedTools:
    """Tools by id under a variant that ``folder.check_variant`` has accepted."""

    def __init__(self, tools: Mapping[str, Tool], variant: Variant) -> None:
        self._tools, self._variant = tools, variant
        # What is shown; of another version, which has words of its own.
        self._version = tools if variant.version is None else variant.version
        self.renaming = cache(self._renaming)
        self.tool = cache(self._tool)

    def name(self, tool: str) -> str:
        """What a tool of some id is called under the variant."""
        words = self._variant.tools.get(tool, _NO_WORDS)
        return words.name or (self._tools.get(tool) or self._version[tool]).name

    def shown(self, ids: Iterable[str] | None) -> list[str]:
        """The ids of the tools that a model is shown: of some, or of all, and of their rivals."""
        if ids is None:
            return list(self._version)
        beside = (j for i in ids for j in (i, *self._rivals.get(i, ())))
        return [i for i in beside if i in self._version]  # what another version lacks is not

    @cached_property
    def _rivals(self) -> dict[str, list[str]]:
        rivals: dict[str, list[str]] = {}
        for i, tool in self._version.items():
            rivals.setdefault(tool.rival_of, []).append(i)
        return rivals

    def ids(self, case: Case) -> Mapping[str, str]:
        """The id of each tool by its name under the variant; a case's own tools go first."""
        own = {self.name(tool): tool for tool in self.shown(case.tools or ())}
        return ChainMap(own, self._ids)

    @cached_property
    def _ids(self) -> dict[str, str]:
        return {self.name(tool): tool for tool in self._version}

    def _renaming(self, tool: str) -> Renaming:
        """The new words of a tool's parameters, ready to be put into values of them."""
        original = self._tools.get(tool) or self._version[tool]
        layout = Layout(original.parameters, f"tool {tool}")
        return Renaming(layout, self._variant.tools.get(tool, _NO_WORDS).parameters)

    def _tool(self, tool: str) -> Tool:
        """A tool in the variant's words; its id stays."""
        original = self._version[tool]
        words = self._variant.tools.get(tool)
        if words is None or self._variant.version is not None:
            return original
        parameters = self.renaming(tool).schema()
        if self.name(tool) != original.name and isinstance(parameters.get("title"), str):
            parameters = parameters | {"title": title(self.name(tool))}
        description = original.description if words.description is None else words.description
        name = self.name(tool)
        return replace(original, name=name, description=description, parameters=parameters)

    @cached_property
    def _renames(self) -> bool:
        """Whether a call under the variant can differ from the original one."""
        return any(self._tools[tool].name != tool for tool in self._tools) or any(
            words.name is not None or any(part.name for part in words.parameters.values())
            for words in self._variant.tools.values()
        )

    def expect(self, case: Case) -> tuple[ExpectedCall, ...] | None:
        """The calls that are right under the variant, by the tools' names."""
        if case.expect is None or not self._renames:
            return case.expect
        return tuple(
            ExpectedCall(self.name(c.name), self._value(c.name, c.arguments, case.id, True))
            for c in case.expect
        )

    def _value(self, tool: str, arguments: Any, where: str, is_expected: bool = False) -> Any:
        try:
            return self.renaming(tool).value(arguments, is_expected=is_expected)
        except SgdxError as error:
            raise SgdxError(f"case {where}: variant {self._variant.name}: {error}") from None

    def messages(self, case: Case) -> list[Json]:
        """The conversation with its earlier calls and their results in the variant's words.

        Of a result that is JSON, keys that are names of the tool's parameters change with them;
        where one of the new names is a key of the result already, the result stays as it is.
        """
        if not self._renames:
            return list(case.messages)
        ids: dict[str, str] = {}  # the tool of each earlier call
        return [self._message(message, ids, case.id) for message in case.messages]

    def _message(self, message: Json, ids: dict[str, str], where: str) -> Json:
        if message.get("tool_calls"):
            calls = []
            for call in message["tool_calls"]:
                function = call["function"]
                ids[call.get("id", "")] = tool = function["name"]
                arguments = function.get("arguments", "{}")
                value = json.loads(arguments)
                new_value = self._value(tool, value, where)
                if new_value != value:
                    arguments = json.dumps(new_value, ensure_ascii=False)
                renamed = {"name": self.name(tool), "arguments": arguments}
                calls.append(call | {"function": function | renamed})
            return message | {"tool_calls": calls}
        if message["role"] != "tool":
            return message
        tool = ids.get(message.get("tool_call_id", "")) or str(message.get("name"))
        if tool not in self._tools:
            return message
        name = {"name": self.name(tool)} if "name" in message else {}
        return message | name | {"content": self._result(tool, message.get("content"))}

    def _result(self, tool: str, content: Any) -> Any:
        """The result of a call, with the new names of keys that are names of parameters."""
        try:
            result = json.loads(content)
            renaming = self.renaming(tool)
            new_result = (
                [renaming.value(item) for item in result]
                if isinstance(result, list)
                else renaming.value(result)
            )
        except (TypeError, ValueError, RecursionError):  # text, or names that would be one
            return content
        return content if new_result == result else json.dumps(new_result, ensure_ascii=False)
