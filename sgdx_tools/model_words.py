"""New words of tools from a model, which is asked as crowd workers were asked for SGD-X.

A model rewords one tool at a time, all of its elements together, several times. What is not a valid
and distinct name, or not new, is refused and asked for again.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from sgdx_dataset.io.json import parse_text
from sgdx_llm.asking import open_answers
from sgdx_llm.options import SendingOptions, ServerOptions

from .asking import FunctionPlan
from .data import ElementId, Json, Tool
from .json_schema import NAME
from .predictions import read_calls
from .rewording import KINDS, ElementPool, Pool

_MOST_ATTEMPTS = 4  # times that a run asks about a tool whose words are refused
_FUNCTION = "reword"
_PROMPTS = Path(__file__).parent / "prompts"
_ELEMENT = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Path of the element, as it was given"},
        "name": {"type": "string", "description": "New name, where the element has one"},
        "description": {
            "type": "string",
            "description": "New description, where the element has one",
        },
    },
    "required": ["path"],
}
_TOOL: Json = {
    "type": "function",
    "function": {
        "name": _FUNCTION,
        "description": "Give the elements of the tool their new words",
        "parameters": {
            "type": "object",
            "properties": {"elements": {"type": "array", "items": _ELEMENT}},
            "required": ["elements"],
        },
    },
}


def ask_model(
    model: str,
    tools: Mapping[str, Tool],
    count: int,
    output: Path,
    asked: tuple[ServerOptions, SendingOptions],
    goal: str,
) -> Pool | None:
    """The distinct words of each element by a model, which rewords every tool several times.

    `goal` is a file of ``prompts``. What an earlier run was answered is not asked again, and counts
    as an attempt if any word could be used. None where answers are missing still.
    """
    names, numbers = {tool.name for tool in tools.values()}, range(1, count + 1)
    rewordings = [ToolRewording(tool, i, names) for tool in tools.values() for i in numbers]
    plan = FunctionPlan(model, _TOOL, asked, lambda body: _elements_in(body) is not None)
    with open_answers(output) as kept:
        for attempt in itertools.count():
            pending = [rewording for rewording in rewordings if rewording.missing()]
            has_words = any(rewording.words for rewording in rewordings)
            if not pending or (attempt if has_words else plan.times) >= _MOST_ATTEMPTS:
                break
            conversations = (
                (f"{of.tool.id}|{of.number}|{attempt + 1}", of.number + 1000 * attempt,
                 of.messages(goal))
                for of in pending
            )  # fmt: skip
            answers = plan.answers(conversations, kept)
            if answers is None:
                return None
            for rewording, answer in zip(pending, answers):
                rewording.accept(answer)
    pool: dict[ElementId, ElementPool] = {}
    for tool in tools.values():
        own = [rewording.words for rewording in rewordings if rewording.tool.id == tool.id]
        for path, element in tool.elements.items():
            found = (
                dict.fromkeys(words[path, kind] for words in own if (path, kind) in words)
                for kind in KINDS
            )
            new = pool[tool.id, path] = ElementPool(*map(tuple, found))
            lacking = [kind for kind in KINDS if getattr(element, kind) and not getattr(new, kind)]
            if lacking:
                place = f"tool {tool.id}" + (f" path {path}" if path else "")
                print(f"note: {place}: no new {' and no new '.join(lacking)}", file=sys.stderr)
    return pool


def guess_names(
    model: str,
    tools: Mapping[str, Tool],
    count: int,
    output: Path,
    asked: tuple[ServerOptions, SendingOptions],
) -> Pool | None:
    """The most frequent of so many names that a model guesses by the descriptions alone.

    An element keeps its name where that is the guess, or where it has no description. None where
    answers are missing still.
    """
    plan = FunctionPlan(model, _TOOL, asked, lambda body: _elements_in(body) is not None)
    system = (_PROMPTS / "guess.txt").read_text(encoding="utf-8")
    described = {
        tool.id: [path for path, e in tool.elements.items() if e.name and e.description]
        for tool in tools.values()
    }
    asked_of = [tool for tool in tools.values() if described[tool.id]]
    guessed = [(tool, number) for tool in asked_of for number in range(1, count + 1)]
    conversations = list[tuple[str, int, list[Json]]]()
    for tool, number in guessed:
        shown = [
            {"path": str(i), "description": tool.elements[path].description}
            for i, path in enumerate(described[tool.id])
        ]
        style = "snake_case" if "_" in tool.name or tool.name.islower() else "camelCase"
        text = f"{json.dumps(shown, ensure_ascii=False, indent=1)}\nStyle: {style}"
        messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
        conversations.append((f"{tool.id}|{number}|guess", number, messages))
    with open_answers(output) as kept:
        answers = plan.answers(conversations, kept)
    if answers is None:
        return None
    guesses: dict[ElementId, Counter[str]] = {}
    for (tool, _), answer in zip(guessed, answers):
        places = {str(i): path for i, path in enumerate(described[tool.id])}
        for entry in _elements_in(answer) or ():
            name = entry.get("name") if isinstance(entry, dict) else None
            path = places.get(str(entry.get("path"))) if name else None
            if path is not None and isinstance(name, str) and NAME.fullmatch(name):
                guesses.setdefault((tool.id, path), Counter())[name] += 1
    best = {element: of.most_common(1)[0][0] for element, of in guesses.items()}
    return {
        (i, path): ElementPool((name,))
        for (i, path), name in best.items()
        if name != tools[i].elements[path].name
    }


class ToolRewording:
    """The words that one tool has been given in one round of asking."""

    def __init__(self, tool: Tool, number: int, tool_names: Collection[str] = ()) -> None:
        """Which of the several rewordings of a tool it is, from 1, and the names of all tools."""
        self.tool, self.number, self._tool_names = tool, number, tool_names
        # The words that were accepted, by path and kind: ``name`` or ``description``.
        self.words: dict[tuple[str, str], str] = {}
        # Why words were refused in the last attempt, a line for each.
        self.refusals: list[str] = []

    def missing(self) -> list[str]:
        """The paths of elements whose words are not there yet."""
        return [
            path
            for path, element in self.tool.elements.items()
            if any(getattr(element, kind) and (path, kind) not in self.words for kind in KINDS)
        ]

    def names(self) -> list[str]:
        """The new names."""
        return [text for (_, kind), text in self.words.items() if kind == "name"]

    def accept(self, answer: Any) -> None:
        """Take the words of an answer that can be used, and note why others cannot."""
        self.refusals, elements = [], self.tool.elements
        words = _elements_in(answer)
        if not isinstance(words, list):
            self.refusals.append(f"expected a call of {_FUNCTION} with elements")
            return
        old_names = {element.name for element in elements.values()} | {*self._tool_names}
        for entry in words:
            path = entry.get("path") if isinstance(entry, dict) else None
            if not isinstance(path, str) or path not in elements:
                self.refusals.append(f"{path!r}: is no path of the tool")
                continue
            for kind in KINDS:
                text, original = entry.get(kind), getattr(elements[path], kind)
                is_new = (path, kind) not in self.words
                if not (is_new and isinstance(text, str) and text.strip() and original):
                    continue
                fault = ""
                if text.strip() == original:
                    fault = f"the {kind} is the old one"
                elif kind == "name" and not NAME.fullmatch(text):
                    fault = "the name is not of 1 to 64 letters, digits, _ and -"
                elif kind == "name" and text in old_names | {*self.names()}:
                    fault = f"another element is called {text}"
                if fault:
                    self.refusals.append(f"{path or 'the tool'}: {fault}")
                else:
                    self.words[path, kind] = " ".join(text.split())

    def messages(self, goal: str) -> list[Json]:
        """What a model is told: the elements, and what is missing or was refused."""
        shown = [
            {
                "path": path,
                **({"name": element.name} if element.name else {}),
                **({"description": element.description} if element.description else {}),
            }
            for path, element in self.tool.elements.items()
        ]
        messages: list[Json] = [
            {"role": "system", "content": (_PROMPTS / f"{goal}.txt").read_text(encoding="utf-8")},
            {"role": "user", "content": json.dumps(shown, ensure_ascii=False, indent=1)},
        ]
        if self.words or self.refusals:
            paths = ", ".join(path or "the tool" for path in self.missing())
            refused = "".join(f"\n- {refusal}" for refusal in self.refusals)
            refused = f"\nRefused were:{refused}" if refused else ""
            taken = ", ".join(self.names()) or "none"
            text = f"Words are missing still, of: {paths}.{refused}\nNames that are taken: {taken}"
            messages.append({"role": "user", "content": text})
        return messages


def _elements_in(answer: Any) -> Any:
    """The elements of an answer: of its call, or in its text that is JSON; None for none."""
    calls, _ = read_calls(answer, text_calls=True)
    if calls:
        return calls[0].arguments.get("elements", ())
    try:
        content = parse_text(answer["choices"][0]["message"]["content"])
        return content["elements"] if isinstance(content, dict) else content
    except (ValueError, TypeError, LookupError, AttributeError):
        return None
