"""New words of tools from a model, which is asked as crowd workers were asked for SGD-X.

A model rewords one tool at a time, all of its elements together, several times. What is not a valid
and distinct name, or not new, is refused and asked for again.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgdx_dataset.io.json import parse_text
from sgdx_llm.answer_file import AnswerFile
from sgdx_llm.requests import RequestSettings, request_key, with_seed

from .asking import AskedOnce, ToolRequest
from .data import ElementId, Json, Tool
from .json_schema import NAME, Element
from .pool import KINDS, ElementPool, Pool
from .predictions import read_calls

# Words that differ from time to time need chance, and those of many parameters many tokens.
PARAMETERS: Json = {"temperature": 1.0, "max_tokens": 8192}
MOST_ATTEMPTS = 4  # times that a run asks about a tool whose words are refused
FUNCTION = "reword"
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
        "name": FUNCTION,
        "description": "Give the elements of the tool their new words",
        "parameters": {
            "type": "object",
            "properties": {"elements": {"type": "array", "items": _ELEMENT}},
            "required": ["elements"],
        },
    },
}


@dataclass
class ToolRewording:
    """The words that one tool has been given in one round of asking."""

    tool: Tool
    # Which of the several rewordings it is, from 1.
    number: int
    # The names of all tools, of which a model may not give one to another.
    tool_names: Collection[str] = ()
    # The words that were accepted, by path and kind: ``name`` or ``description``.
    words: dict[tuple[str, str], str] = field(default_factory=dict)
    # Why words were refused in the last attempt, a line for each.
    refusals: list[str] = field(default_factory=list)

    @property
    def elements(self) -> dict[str, Element]:
        """The tool's elements by path."""
        return self.tool.elements

    def missing(self) -> list[str]:
        """The paths of elements whose words are not there yet."""
        return [
            path
            for path, element in self.elements.items()
            if any(getattr(element, kind) and (path, kind) not in self.words for kind in KINDS)
        ]

    def names(self) -> list[str]:
        """The new names."""
        return [text for (_, kind), text in self.words.items() if kind == "name"]

    def accept(self, answer: Any) -> None:
        """Take the words of an answer that can be used, and note why others cannot."""
        self.refusals, elements = [], self.elements
        calls, _ = read_calls(answer, text_calls=True)
        words = calls[0].arguments.get("elements") if calls else _elements_in_text(answer)
        if not isinstance(words, list):
            self.refusals.append(f"expected a call of {FUNCTION} with elements")
            return
        for entry in words:
            path = entry.get("path") if isinstance(entry, dict) else None
            if not isinstance(path, str) or path not in elements:
                self.refusals.append(f"{path!r}: is no path of the tool")
                continue
            for kind in KINDS:
                text, original = entry.get(kind), getattr(elements[path], kind)
                if not isinstance(text, str) or not text.strip() or not original:
                    continue
                if (path, kind) in self.words:
                    continue
                if fault := self._fault(kind, text, original):
                    self.refusals.append(f"{path or 'the tool'}: {fault}")
                else:
                    self.words[path, kind] = " ".join(text.split())

    def _fault(self, kind: str, text: str, original: str) -> str:
        """Why new words cannot be used; empty where they can."""
        if text.strip() == original:
            return f"the {kind} is the old one"
        if kind == "name":
            others = {element.name for element in self.elements.values()}
            others |= {*self.names(), *self.tool_names}
            if not NAME.fullmatch(text):
                return "the name is not of 1 to 64 letters, digits, _ and -"
            elif text in others:
                return f"another element is called {text}"
        return ""


def _elements_in_text(answer: Any) -> Any:
    """The elements in the text of an answer that is JSON instead of a call."""
    try:
        content = parse_text(answer["choices"][0]["message"]["content"])
        return content["elements"] if isinstance(content, dict) else content
    except (ValueError, TypeError, LookupError, AttributeError):
        return None


@dataclass(frozen=True)
class RewordPlan(AskedOnce):
    """The requests of one attempt: for every rewording that lacks words, one."""

    rewordings: Sequence[ToolRewording]
    # Which attempt it is, from 0.
    attempt: int
    settings: RequestSettings
    # The server, without credentials.
    host: str
    # What the words are for, which is a file of ``prompts``: reword or improve.
    goal: str = FUNCTION

    def requests(self) -> Iterator[ToolRequest]:
        """All requests, in order."""
        return (self.request(rewording) for rewording in self.rewordings if rewording.missing())

    def request(self, rewording: ToolRewording) -> ToolRequest:
        """The request for the words that a rewording lacks."""
        choice = self.settings.provider.chosen(FUNCTION)
        body = {
            "model": self.settings.model,
            **self.settings.fields({"tools": [_TOOL], "tool_choice": choice}),
            "messages": _messages(rewording, self.goal),
        }
        turn = rewording.number + 1000 * self.attempt
        body = with_seed(body, turn, self.settings.provider.seed)
        name = f"{rewording.tool.id}|{rewording.number}|{self.attempt + 1}"
        return ToolRequest(name, [body], [request_key(body, self.host, turn)])

    def is_unread(self, request: ToolRequest, body: Any) -> bool:
        """Whether an answer has no words at all."""
        return not read_calls(body, text_calls=True)[0] and _elements_in_text(body) is None


def _messages(rewording: ToolRewording, goal: str) -> list[Json]:
    shown = [
        {
            "path": path,
            **({"name": element.name} if element.name else {}),
            **({"description": element.description} if element.description else {}),
        }
        for path, element in rewording.elements.items()
    ]
    messages: list[Json] = [
        {"role": "system", "content": (_PROMPTS / f"{goal}.txt").read_text(encoding="utf-8")},
        {"role": "user", "content": json.dumps(shown, ensure_ascii=False, indent=1)},
    ]
    if rewording.words or rewording.refusals:
        paths = ", ".join(path or "the tool" for path in rewording.missing())
        refused = "".join(f"\n- {refusal}" for refusal in rewording.refusals)
        refused = f"\nRefused were:{refused}" if refused else ""
        taken = ", ".join(rewording.names()) or "none"
        text = f"Words are missing still, of: {paths}.{refused}\nNames that are taken: {taken}"
        messages.append({"role": "user", "content": text})
    return messages


class IncompleteError(Exception):
    """Answers are missing, as asking was stopped; the argument says how many."""


def ask_model(
    tools: Mapping[str, Tool],
    count: int,
    settings: RequestSettings,
    host: str,
    answers: AnswerFile,
    ask_plan: Callable[[RewordPlan, int], None],
    goal: str = FUNCTION,
) -> tuple[Pool, list[str]]:
    """Have a model reword every tool ``count`` times, by asking so many requests of plans.

    What an earlier run was answered is not asked again, and does not count as an attempt. Returns
    the distinct words of each element, and a line for each element that has none.
    """
    names = {tool.name for tool in tools.values()}
    rewordings = [
        ToolRewording(tool, i, names) for tool in tools.values() for i in range(1, count + 1)
    ]
    attempts = 0
    for attempt in itertools.count():
        pending = [rewording for rewording in rewordings if rewording.missing()]
        if not pending or attempts == MOST_ATTEMPTS:
            break
        plan = RewordPlan(pending, attempt, settings, host, goal)
        if any(request.keys[0] not in answers for request in plan.requests()):
            attempts += 1
            ask_plan(plan, len(pending))
        lines = [answers.get(plan.request(rewording).keys[0]) for rewording in pending]
        if missing := sum(line is None for line in lines):
            raise IncompleteError(missing)
        for rewording, line in zip(pending, lines):
            rewording.accept((line or {})["body"])
    pool: dict[ElementId, ElementPool] = {}
    without_words = []
    for tool in tools.values():
        own = [rewording.words for rewording in rewordings if rewording.tool.id == tool.id]
        for path, element in tool.elements.items():
            new = {}
            for kind in KINDS:
                texts = (words[path, kind] for words in own if (path, kind) in words)
                new[kind] = tuple(dict.fromkeys(texts))
            pool[tool.id, path] = ElementPool(**new)
            if lacking := [kind for kind in KINDS if getattr(element, kind) and not new[kind]]:
                of_path = f" path {path}" if path else ""
                without_words.append(
                    f"tool {tool.id}{of_path}: no new {' and no new '.join(lacking)}"
                )
    return pool, without_words
