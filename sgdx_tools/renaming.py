"""Other words put in: into tools, into the calls that are right, and into what was said before."""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import unquote

from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_metric.matchers import is_matcher

from .data import (
    ALL_TOOLS,
    ANY_OF,
    Case,
    ExpectedCall,
    Json,
    Project,
    Tool,
    ToolWords,
    Variant,
    Words,
    last_said,
)
from .json_schema import (
    LISTS,
    NO_NAMES,
    OBJECTS,
    REFERENCES,
    SINGLE,
    VALUE_LISTS,
    VALUES,
    Layout,
    Node,
    escape,
)

_NO_WORDS = ToolWords()
_IS_NAME = re.compile(r"\w*(?:[a-z0-9][A-Z]|[_\d-])[\w-]*")  # which no other word looks like


class WordedTools:
    """Tools by id under a variant that ``folder.check_variant`` has accepted."""

    def __init__(self, tools: Mapping[str, Tool], variant: Variant) -> None:
        self._tools, self._variant = tools, variant
        # What is shown; of another version, which has words of its own.
        self._version = tools if variant.version is None else variant.version
        self._rivals: dict[str, list[str]] = {}
        for i, tool in self._version.items():
            self._rivals.setdefault(tool.rival_of, []).append(i)
        self._ids = {self.name(tool): tool for tool in self._version}
        # Whether a call under the variant can differ from the original one.
        self._renames = any(tool.name != i for i, tool in tools.items()) or any(
            words.name is not None or any(part.name for part in words.parameters.values())
            for words in variant.tools.values()
        )
        self._mentions = Mentions(tools, variant if variant.mentions else Variant(variant.name))
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
        beside = [j for i in ids for j in (i, *self._rivals.get(i, ()))]
        beside = [*self._rivals.get(ALL_TOOLS, ()), *beside]
        return [i for i in beside if i in self._version]  # what another version lacks is not

    def ids(self, case: Case) -> Mapping[str, str]:
        """The id of each tool by its name under the variant; a case's own tools go first."""
        own = {self.name(tool): tool for tool in self.shown(case.tools or ())}
        return ChainMap(own, self._ids)

    def _renaming(self, tool: str) -> Renaming:
        """The new words of a tool's parameters, ready to be put into values of them."""
        layout = (self._tools.get(tool) or self._version[tool]).layout
        words = self._variant.tools.get(tool, _NO_WORDS).parameters
        return Renaming(layout, words, self._mentions, tool)

    def _tool(self, tool: str) -> Tool:
        """A tool in the variant's words; its id stays."""
        original = self._version[tool]
        words = self._variant.tools.get(tool)
        if self._variant.version is not None or (words is None and not self._mentions):
            return original
        words = words or _NO_WORDS
        name, parameters = self.name(tool), self.renaming(tool).schema()
        if name != original.name and isinstance(parameters.get("title"), str):
            parameters = parameters | {"title": _title(name)}
        new = words.description
        text = original.description if new is None else new
        description = self._mentions.in_text(text, tool, new is not None)
        return replace(original, name=name, description=description, parameters=parameters)

    def expect(self, case: Case) -> tuple[ExpectedCall, ...] | None:
        """The calls that are right under the variant, by the tools' names."""
        if case.expect is None or not self._renames:
            return case.expect
        calls = []
        for call in case.expect:
            try:
                arguments = self.renaming(call.name).value(call.arguments, is_expected=True)
            except SgdxError as error:
                raise SgdxError(f"case {case.id}: variant {self._variant.name}: {error}") from None
            calls.append(ExpectedCall(self.name(call.name), arguments))
        return tuple(calls)

    def messages(self, case: Case) -> list[Json]:
        """The conversation with its earlier calls and their results in the variant's words.

        Of a result that is JSON, keys that are names of the tool's parameters change with them;
        where one of the new names is a key of the result already, the result stays as it is.
        """
        given = list(case.messages)
        place, _ = last_said(given)
        if place >= 0 and (text := self._variant.said.get(case.id)):
            given[place] = {**given[place], "content": text}
        if not self._renames:
            return given
        messages, tool_of = [], dict[str, str]()  # the tool of each earlier call
        for message in given:
            if message.get("tool_calls"):
                calls = []
                for call in message["tool_calls"]:
                    function = call["function"]
                    tool_of[call.get("id", "")] = tool = function["name"]
                    arguments = function.get("arguments", "{}")
                    value = json.loads(arguments)
                    new_value = self.renaming(tool).value(value)
                    if new_value != value:
                        arguments = json.dumps(new_value, ensure_ascii=False)
                    renamed = {"name": self.name(tool), "arguments": arguments}
                    calls.append(call | {"function": function | renamed})
                message = message | {"tool_calls": calls}
            elif message["role"] == "tool":
                tool = tool_of.get(message.get("tool_call_id", "")) or str(message.get("name"))
                if tool in self._tools:
                    name = {"name": self.name(tool)} if "name" in message else {}
                    result = self.result(tool, message.get("content"))
                    message = message | name | {"content": result}
            if message["role"] != "tool" and self._mentions:
                message = message | {"content": self._spoken(message.get("content"))}
            messages.append(message)
        return messages

    def _spoken(self, content: Any) -> Any:
        """What is said in a message, with the new names of what it speaks of."""
        if isinstance(content, list):
            texts = [part.get("text") for part in content]
            return [
                part | {"text": self._mentions.in_text(text)} if isinstance(text, str) else part
                for part, text in zip(content, texts)
            ]
        return self._mentions.in_text(content) if isinstance(content, str) else content

    def count_mentions(self, cases: Iterable[Case]) -> tuple[int, int]:
        """How many texts of tools and messages of cases speak of a name that is another here."""
        if not self._mentions:
            return 0, 0
        spoken, version = self._mentions, self._variant.version
        texts = [
            (element.description, i)
            for i, tool in (self._tools.items() if version is None else ())
            for element in tool.elements.values()
        ]
        said = [m.get("content") for case in cases for m in case.messages if m["role"] != "tool"]
        return (
            sum(spoken.in_text(text, tool) != text for text, tool in texts),
            sum(self._spoken(content) != content for content in said),
        )

    def result(self, tool: str, content: Any) -> Any:
        """The result of a call, with the new names of keys that are names of parameters."""
        try:
            result = json.loads(content)
            items = result if isinstance(result, list) else [result]
            new = [self.renaming(tool).value(item) for item in items]
        except (TypeError, ValueError, RecursionError):  # text, or names that would be one
            return content
        return (
            content
            if new == items
            else json.dumps(new if isinstance(result, list) else new[0], ensure_ascii=False)
        )


def worded_tools(project: Project, names: Iterable[str] = ()) -> dict[str, WordedTools]:
    """The tools under some variants, or all, by the variant's name."""
    return {n: WordedTools(project.tools, project.variants[n]) for n in names or project.variants}


class Renaming:
    """New words of a schema by path, ready to be put into it and into values of it."""

    def __init__(
        self,
        layout: Layout,
        words: Mapping[str, Words],
        mentions: Mentions | None = None,
        tool: str = "",
    ) -> None:
        self.layout, self.words = layout, words
        # The names that texts speak of, and the tool's id.
        self._mentions, self._tool = mentions, tool
        # By the path of a value in ``layout.values``, the new names of its properties that get one,
        # and by that of a schema of keys, under ``propertyNames``, those of their objects.
        self._names: dict[str, dict[str, str]] = {}
        self._keys: dict[str, dict[str, str]] = {}
        for value, members in layout.members.items() if words else ():
            for name, paths in members.items():
                new = next((n for p in paths if p in words and (n := words[p].name)), name)
                if new != name:
                    self._names.setdefault(value, {})[name] = new
            for path in layout.parts[value].get("propertyNames", ()):
                keys = self._keys.setdefault(layout.values[path], {})
                keys |= self._names.get(value, {})

    def names(self, path: str) -> Mapping[str, str]:
        """The new names of properties of the object at a path."""
        return self._names.get(self.layout.values.get(path, ""), {})

    # ---- values

    def value(self, value: Any, paths: Sequence[str] = ("",), is_expected: bool = False) -> Any:
        """A value of the schema, or of a part of it at some paths, with the new names of its keys.

        Where it is of an expected call, alternatives, ``{"any_of": [...]}``, are values too, and
        matchers stay as they are. An object in which two keys would get one name, as one of them is
        not in the schema, is refused.
        """
        layout = self.layout
        if not self._names or not paths:
            return value
        if isinstance(value, list):
            items = enumerate(value)
            return [self.value(item, layout.at(paths, i), is_expected) for i, item in items]
        if not isinstance(value, dict):
            return value
        if is_expected and value.keys() == {ANY_OF} and isinstance(value[ANY_OF], list):
            return {ANY_OF: [self.value(item, paths, True) for item in value[ANY_OF]]}
        if is_expected and is_matcher(value):  # which has no names of arguments
            return value
        names = self.names(paths[0])
        renamed = {
            names.get(key, key): self.value(item, layout.at(paths, key), is_expected)
            for key, item in value.items()
        }
        if len(renamed) < len(value):
            keys = ", ".join(map(str, value))
            raise SgdxError(f"{layout.where}: of the keys {keys} two would get one name")
        return renamed

    def member(self, paths: Sequence[str], name: str) -> list[str]:
        """The paths of a property by its new name, of an object that some paths describe."""
        new_names = self.names(paths[0]) if paths else {}
        known = self.layout.names(paths)
        old = next((old for old in known if new_names.get(old, old) == name), None)
        return self.layout.at(paths, old)

    # ---- the schema

    def schema(self) -> Json:
        """The schema in the new words."""
        has_new = bool(self.words) or bool(self._mentions)
        schema: Json = self._schema("#", self.layout.schema) if has_new else self.layout.schema
        return schema

    def _schema(self, pointer: str, original: Any) -> Any:
        """A node in the new words; ``true`` and ``false`` stay where they get none."""
        node = self.layout.nodes[pointer]
        schema = {
            keyword: self._keyword(node, keyword, value) for keyword, value in node.schema.items()
        }
        words, text = self.words.get(node.element), schema.get("description")
        is_new = words is not None and words.description is not None
        if words and is_new:
            text = words.description
        if text is not None:
            spoken = self._mentions
            schema["description"] = spoken.in_text(text, self._tool, is_new) if spoken else text
        new_name = self.names(node.parent).get(node.name) if node.name else None
        if new_name and isinstance(schema.get("title"), str):
            schema["title"] = _title(new_name)  # a title repeats the old name
        return original if isinstance(original, bool) and not schema else schema

    def _keyword(self, node: Node, keyword: str, value: Any) -> Any:
        """What stands under a keyword, in the new words."""
        pointer, names = f"{node.pointer}/{keyword}", self.names(node.path)
        if keyword in OBJECTS:
            return {
                self._key(node, keyword, key): _mention(child, names)
                if isinstance(child, list)
                else self._schema(f"{pointer}/{escape(key)}", child)
                for key, child in value.items()
            }
        if keyword in LISTS and isinstance(value, list):
            return [self._schema(f"{pointer}/{i}", child) for i, child in enumerate(value)]
        if keyword in SINGLE:
            return self._schema(pointer, value)
        if keyword in REFERENCES:
            return self._pointer(value)
        of_keys = self._keys.get(self.layout.values[node.path])
        if of_keys and keyword == "pattern" and isinstance(value, str):
            return _in_pattern(value, of_keys)
        if of_keys and keyword in (*VALUES, *VALUE_LISTS):
            return _mention(value, of_keys)
        is_list = keyword in VALUE_LISTS or keyword.endswith("examples")
        if is_list and isinstance(value, list):
            return [self.value(item, (node.path,)) for item in value]
        if keyword in VALUES or "example" in keyword:
            return self.value(value, (node.path,))
        if keyword in NO_NAMES:
            return value
        if keyword == "discriminator" and isinstance(value, dict):
            name, mapping = str(value.get("propertyName")), value.get("mapping")
            new = value | ({"propertyName": names[name]} if name in names else {})
            if isinstance(mapping, dict):
                new["mapping"] = {key: self._pointer(to) for key, to in mapping.items()}
            return new
        if keyword not in ("required", "dependentRequired"):  # such as x-depends-on of a property
            names = {**self.names(node.parent), **names}
        return _mention(value, names)

    def _key(self, node: Node, keyword: str, key: str) -> str:
        """The key of a schema under a keyword, in the new words."""
        names = self.names(node.path)
        if keyword == "patternProperties":
            return _in_pattern(key, names)
        by_name = keyword in ("properties", "dependentSchemas", "dependencies")
        return names.get(key, key) if by_name else key

    def _pointer(self, reference: Any) -> Any:
        """A JSON pointer into the schema in the new words; other references stay."""
        if not isinstance(reference, str) or reference[:2] != "#/":
            return reference
        old, new = ["#"], ["#"]
        for token in unquote(reference).split("/")[1:]:
            owner = self.layout.nodes.get("/".join(old[:-1]))
            is_key = owner and old[-1] in OBJECTS
            key = token.replace("~1", "/").replace("~0", "~")
            new.append(escape(self._key(owner, old[-1], key)) if owner and is_key else token)
            old.append(token)
        return "/".join(new)


def _mention(value: Any, names: Mapping[str, str]) -> Any:
    """What stands under a keyword that mentions properties, at any depth, with new names."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_mention(item, names) for item in value]
    if isinstance(value, dict):
        return {names.get(key, key): _mention(item, names) for key, item in value.items()}
    return value


def _in_pattern(pattern: str, names: Mapping[str, str]) -> str:
    """A regular expression for names, with new names in place of whole ones that it spells out.

    >>> _in_pattern("^(city|x-.*)$", {"city": "town", "x": "y"})
    '^(town|x-.*)$'
    """
    if not names:
        return pattern
    spelled = {re.escape(old): new for old, new in names.items()}
    longest = "|".join(map(re.escape, sorted(spelled, key=len, reverse=True)))
    whole = rf"(?<![\w\\-])(?:{longest})(?![\w-])"
    return re.sub(whole, lambda match: spelled[match[0]], pattern)


def _title(name: str) -> str:
    """A name as a title.

    >>> _title("party_size")
    'Party Size'
    """
    return " ".join(word[:1].upper() + word[1:] for word in re.split("[_-]+", name) if word)


class Mentions:
    """The names of tools and arguments that a variant changes, ready to be put into texts.

    A tool that is called otherwise is called so too in the texts that name it, or a part of what
    other words cost is a name that does not exist any more. Which words of a text are a name is
    told by how they are written: ``find_harbour`` is one anywhere, ``search`` only in quotes or
    before a bracket.
    """

    def __init__(self, tools: Mapping[str, Tool], variant: Variant) -> None:
        # By the tool's id, the new names of its arguments; those of which it has two are left out.
        self._own: dict[str, dict[str, str]] = {}
        new_names: dict[str, set[str]] = {}
        self._current: set[str] = set()  # names that there are under the variant
        for i, tool in tools.items() if variant.tools else ():
            words = variant.tools.get(i)
            new = (words.name if words else None) or tool.name
            self._current.add(new)
            new_names.setdefault(tool.name, set()).add(new)
            of_tool: dict[str, set[str]] = {}
            for path, element in tool.elements.items():
                if path and element.name:
                    part = words.parameters.get(path) if words else None
                    of_tool.setdefault(element.name, set()).add(
                        (part.name if part else None) or element.name
                    )
            for old, found in of_tool.items():
                new_names.setdefault(old, set()).update(found)
                self._current |= found
            self._own[i] = _changed(of_tool)
        self._all = _changed(new_names)
        # One pattern for all tools, since it takes long to compile where there are thousands.
        self._names = _finding({*self._all}.union(*self._own.values()))

    def __bool__(self) -> bool:
        return bool(self._all) or any(self._own.values())

    def in_text(self, text: str, tool: str | None = None, is_new: bool = False) -> str:
        """A text in the new names, perhaps of a tool, whose own arguments go first.

        In one that the variant gives, only names that are gone are old ones.
        """
        own = self._own.get(tool or "", {})
        kept = self._current if is_new else ()

        def new(old: re.Match[str]) -> str:
            name = old[0]
            return name if name in kept else own.get(name) or self._all.get(name, name)

        return self._names.sub(new, text)


def clash(names: Mapping[str, str]) -> tuple[str, str] | None:
    """Two keys that have one name, the later one last; None where there are none."""
    first: dict[str, str] = {}
    for key, name in names.items():
        if (other := first.setdefault(name, key)) != key:
            return other, key
    return None


def _changed(names: Mapping[str, set[str]]) -> dict[str, str]:
    """The names that have one new name, and another one than the old."""
    return {old: next(iter(new)) for old, new in names.items() if len(new) == 1 and {old} != new}


def _finding(names: Collection[str]) -> re.Pattern[str]:
    """What finds whole names in a text; nothing where there are none."""
    longest = [*map(re.escape, sorted(names, key=len, reverse=True))]
    if not longest:
        return re.compile(r"(?!)")
    clear = "|".join(name for name in longest if _IS_NAME.fullmatch(name.replace("\\", "")))
    every = "|".join(longest)
    forms = [rf"(?<![\w-])(?:{clear})(?![\w-])"] if clear else []
    forms.append(rf"(?<=[`'\"])(?:{every})(?=[`'\"])|(?<![\w-])(?:{every})(?=\()")
    return re.compile("|".join(forms))
