"""Names of tools and arguments where texts speak of them, in other words: descriptions, messages.

A tool that is called otherwise is called so too in the texts that name it, or a part of what other
words cost is a name that does not exist any more. Which words of a text are a name is told by how
they are written: ``find_harbour`` is one anywhere, ``search`` only in quotes or before a bracket.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from .data import Tool, Variant

_IS_NAME = re.compile(r"\w*(?:[a-z0-9][A-Z]|[_\d-])[\w-]*")  # which no other word looks like


class Mentions:
    """The names that a variant changes, ready to be put into texts."""

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

    def in_text(self, text: str, tool: str | None = None) -> str:
        """A text in the new names, perhaps of a tool, whose own arguments go first."""
        own = self._own.get(tool or "", {})
        return self._names.sub(lambda old: own.get(old[0]) or self._all.get(old[0], old[0]), text)

    def in_new_text(self, text: str, tool: str) -> str:
        """A text that the variant gives, in which only names that are gone are old ones."""
        own, kept = self._own.get(tool, {}), self._current
        return self._names.sub(
            lambda old: (
                old[0] if old[0] in kept else own.get(old[0]) or self._all.get(old[0], old[0])
            ),
            text,
        )


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
