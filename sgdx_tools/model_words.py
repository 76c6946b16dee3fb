"""New words of tools from a model, which is asked as crowd workers were asked for SGD-X.

A model rewords one tool at a time, all of its elements together, several times. What is not a valid
and distinct name, or not new, is refused and asked for again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from baselines.llm.answer_file import AnswerFile
from baselines.llm.requests import RequestSettings, request_key, with_seed

from .answers import read_calls
from .data import Json, Tool
from .json_schema import NAME, Element, elements_of
from .pool import ElementPool, ToolPool

# Words that differ from time to time need chance, and those of many parameters many tokens.
PARAMETERS: Json = {"temperature": 1.0, "max_tokens": 8192}
MOST_ATTEMPTS = 4  # times that a tool is asked about, where words are refused
FUNCTION = "reword"
_PROMPT = Path(__file__).parent / "prompts" / "reword.txt"
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
    """The words that one tool has been given in one round of asking.

    Attributes:
        tool: The tool.
        number: Which of the several rewordings it is, from 1.
        names, descriptions: The words that were accepted, by path.
        refusals: Why words were refused in the last attempt, a line for each.
    """

    tool: Tool
    number: int
    names: dict[str, str] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)

    @property
    def elements(self) -> dict[str, Element]:
        """The tool's elements by path."""
        return elements_of(self.tool)

    def missing(self) -> list[Element]:
        """The elements whose words are not there yet."""
        return [
            element
            for path, element in self.elements.items()
            if (element.name and path not in self.names)
            or (element.description and path not in self.descriptions)
        ]

    def accept(self, answer: Any) -> None:
        """Take the words of an answer that can be used, and note why others cannot."""
        self.refusals = []
        calls = read_calls(answer).calls
        words = calls[0].arguments.get("elements") if calls else _elements_in_text(answer)
        if not isinstance(words, list):
            self.refusals.append(f"expected a call of {FUNCTION} with elements")
            return
        for entry in words:
            path = entry.get("path") if isinstance(entry, dict) else None
            if not isinstance(path, str) or path not in self.elements:
                self.refusals.append(f"{path!r}: is no path of the tool")
                continue
            for kind in ("name", "description"):
                text = entry.get(kind)
                if isinstance(text, str) and text.strip():
                    self._accept_text(self.elements[path], kind, text)

    def _accept_text(self, element: Element, kind: str, text: str) -> None:
        original = getattr(element, kind)
        accepted = self.names if kind == "name" else self.descriptions
        if not original or element.path in accepted:
            return
        reason = ""
        if text.strip() == original:
            reason = f"the {kind} is the old one"
        elif kind == "name":
            others = {e.name for e in self.elements.values()} | set(self.names.values())
            if not NAME.fullmatch(text):
                reason = "the name is not of 1 to 64 letters, digits, _ and -"
            elif text in others:
                reason = f"another element is called {text}"
        if reason:
            self.refusals.append(f"{element.path or 'the tool'}: {reason}")
        else:
            accepted[element.path] = text if kind == "name" else " ".join(text.split())


def _elements_in_text(answer: Any) -> Any:
    """The elements in the text of an answer that is JSON instead of a call."""
    try:
        content = json.loads(answer["choices"][0]["message"]["content"])
        return content["elements"] if isinstance(content, dict) else content
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


@dataclass(frozen=True)
class RewordRequest:
    """A request for the words of one tool.

    Attributes:
        custom_id: ``<tool id>|<number>|<attempt>``.
        bodies: The body, in a list.
        keys: The key of the answer, in a list.
    """

    custom_id: str
    bodies: Sequence[Json]
    keys: Sequence[str]


@dataclass(frozen=True)
class RewordPlan:
    """The requests of one attempt: for every rewording that lacks words, one.

    Attributes:
        rewordings: The rewordings so far.
        attempt: Which attempt it is, from 0.
        settings: The model, and the fields of requests.
        host: The server, without credentials.
    """

    rewordings: Sequence[ToolRewording]
    attempt: int
    settings: RequestSettings
    host: str

    def requests(self) -> Iterator[RewordRequest]:
        """All requests, in order."""
        for rewording in self.rewordings:
            if rewording.missing():
                yield self.request(rewording)

    def request(self, rewording: ToolRewording) -> RewordRequest:
        """The request for the words that a rewording lacks."""
        choice = self.settings.provider.chosen(FUNCTION)
        body = {
            "model": self.settings.model,
            **self.settings.fields({"tools": [_TOOL], "tool_choice": choice}),
            "messages": _messages(rewording),
        }
        turn = rewording.number + 1000 * self.attempt
        body = with_seed(body, turn, self.settings.provider.seed)
        name = f"{rewording.tool.id}|{rewording.number}|{self.attempt + 1}"
        return RewordRequest(name, [body], [request_key(body, self.host, turn)])

    def count(self) -> int:
        """How many requests there are."""
        return sum(bool(rewording.missing()) for rewording in self.rewordings)

    def missing(self, request: RewordRequest, answers: AnswerFile) -> int | None:
        """0 where a request has no answer yet, else None."""
        return None if request.keys[0] in answers else 0

    def is_invalid(self, request: RewordRequest, body: Any) -> bool:
        """Whether an answer has no words at all."""
        return not read_calls(body).calls and _elements_in_text(body) is None


def _messages(rewording: ToolRewording) -> list[Json]:
    shown = [
        {
            "path": element.path,
            **({"name": element.name} if element.name else {}),
            **({"description": element.description} if element.description else {}),
        }
        for element in rewording.elements.values()
    ]
    messages: list[Json] = [
        {"role": "system", "content": _PROMPT.read_text(encoding="utf-8")},
        {"role": "user", "content": json.dumps(shown, ensure_ascii=False, indent=1)},
    ]
    if rewording.names or rewording.descriptions or rewording.refusals:
        lines = [f"- {refusal}" for refusal in rewording.refusals]
        paths = [element.path or "the tool" for element in rewording.missing()]
        text = "Words are missing still, of: " + ", ".join(paths)
        taken = ", ".join(rewording.names.values())
        refused = "\nRefused were:\n" + "\n".join(lines) if lines else ""
        messages.append(
            {
                "role": "user",
                "content": f"{text}.{refused}\nNames that are taken: {taken or 'none'}",
            }
        )
    return messages


class IncompleteError(Exception):
    """Answers are missing, as asking was stopped; the argument says how many."""


def ask_model(
    tools: Mapping[str, Tool],
    count: int,
    settings: RequestSettings,
    host: str,
    answers: AnswerFile,
    ask_plan: Callable[[RewordPlan], None],
) -> tuple[dict[str, ToolPool], list[str]]:
    """Have a model reword every tool several times.

    Args:
        tools: The tools by id.
        count: How often each tool is reworded.
        settings: The model, and the fields of requests.
        host: The server, without credentials.
        answers: Where answers are kept.
        ask_plan: Asks what a plan has no answer to yet.

    Returns:
        The distinct words of each element, and a line for each element that has none.

    Raises:
        IncompleteError: Answers are missing, as asking was stopped.
    """
    rewordings = [ToolRewording(tool, i) for tool in tools.values() for i in range(1, count + 1)]
    for attempt in range(MOST_ATTEMPTS):
        plan = RewordPlan(rewordings, attempt, settings, host)
        if not plan.count():
            break
        ask_plan(plan)
        pending = [rewording for rewording in rewordings if rewording.missing()]
        lines = [answers.get(plan.request(rewording).keys[0]) for rewording in pending]
        if missing := sum(line is None for line in lines):
            raise IncompleteError(missing)
        for rewording, line in zip(pending, lines):
            rewording.accept((line or {})["body"])
    return _pool(rewordings)


def _pool(rewordings: Sequence[ToolRewording]) -> tuple[dict[str, ToolPool], list[str]]:
    pool: dict[str, ToolPool] = {}
    without_words = []
    for tool in {rewording.tool.id: rewording.tool for rewording in rewordings}.values():
        own = [rewording for rewording in rewordings if rewording.tool.id == tool.id]
        parts = {}
        for path, element in elements_of(tool).items():
            names = dict.fromkeys(r.names[path] for r in own if path in r.names)
            texts = dict.fromkeys(r.descriptions[path] for r in own if path in r.descriptions)
            parts[path] = ElementPool(tuple(names), tuple(texts))
            lacking = [
                kind
                for kind, words in (("name", names), ("description", texts))
                if getattr(element, kind) and not words
            ]
            if lacking:
                of_path = f" path {path}" if path else ""
                without_words.append(
                    f"tool {tool.id}{of_path}: no new {' and no new '.join(lacking)}"
                )
        head = parts.pop("")
        pool[tool.id] = ToolPool(head.name, head.description, parts)
    return pool, without_words
