"""A program that calls tools by looking for words that it knows.

``python -m sgdx_tools.sample.reader`` reads request lines and writes answer lines, as ``run
--command`` wants. It reads descriptions badly on purpose: of a few words, such as "date" and
"city", it knows what to look for in what the user says, and a tool that describes itself in other
words is not understood. It stands for a model in examples and tests that must not need one.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

Json = dict[str, Any]

_STOP_WORDS = frozenset(
    "a add an and at be by find for from get if in is it me my not of on or send set such that the"
    " to us up we what which who with you".split()
)
_DATE, _TIME = r"\d{4}-\d\d-\d\d", r"\b\d\d:\d\d\b"
_NUMBER = r"\b\d+(?:\.\d+)?\b(?![-:])"
_QUOTED = r"'([^']+)'"
# What a word in a name or description makes the program look for; the first that is there counts.
_PATTERNS = {
    "date": _DATE,
    "time": _TIME,
    "text": _QUOTED,
    "title": _QUOTED,
    "label": _QUOTED,
    "origin": r"\bfrom ([A-Z]\w+)",
    "destination": r"\bto ([A-Z]\w+)",
    "city": r"\bin ([A-Z]\w+)",
    "contact": r"\b(?:to|[Ss]end) ([A-Z]\w+)",
    "person": r"\bto ([A-Z]\w+)",
}
# What a tool and what the user says must have in common: a word of its name, which counts twice, or
# two words of its description.
_LEAST = 2


def answer(case: Json) -> list[Json]:
    """The calls that the program makes in a case: one or none."""
    utterance = case["messages"][-1]["content"]
    if [tool["name"] for tool in case["tools"]] == ["Skill"]:  # which lists what there is to use
        listed = re.findall("^- ([^:]+): (.*)$", case["tools"][0]["description"], re.MULTILINE)
        skills = [{"name": n, "description": d, "parameters": {}} for n, d in listed]
        called = answer(case | {"tools": skills})
        return [{"name": "Skill", "arguments": {"skill": skill["name"]}} for skill in called]
    ranked = max(case["tools"], key=lambda tool: _common_words(tool, utterance), default=None)
    if ranked is None or _common_words(ranked, utterance) < _LEAST:
        return []
    return [{"name": ranked["name"], "arguments": _arguments(ranked["parameters"], utterance)}]


def _words(text: str) -> set[str]:
    words = re.findall("[a-z]+", text.lower().replace("_", " "))
    return {word.removesuffix("s") for word in words if word not in _STOP_WORDS}


def _common_words(tool: Json, utterance: str) -> int:
    return sum(
        len(_words(text) & _words(utterance))
        for text in (tool["name"], tool["name"], tool["description"])
    )


def _arguments(schema: Json, utterance: str) -> Json:
    """The arguments that the program can make out."""
    arguments = {}
    for name, part in schema.get("properties", {}).items():
        value = _value(name, part, utterance)
        if value not in (None, {}, []):
            arguments[name] = value
    return arguments


def _value(name: str, schema: Json, utterance: str) -> Any:
    """The value of a parameter; None where the program does not understand what is wanted."""
    words = re.findall("[a-z]+", f"{name} {schema.get('description', '')}".lower())
    kind = schema.get("type")
    if kind == "object":
        return _arguments(schema, utterance)
    if "enum" in schema:
        return _mentioned(schema["enum"], "to" in words, utterance)
    if kind == "boolean":
        return True if _words(name) <= _words(utterance) else None
    if kind == "array":
        _, after, names = utterance.partition(words[0])
        return re.findall(r"\b[A-Z]\w+", names) if after else None
    if kind in ("integer", "number"):
        return _number(kind, words, utterance)
    for word, pattern in _PATTERNS.items():
        if word in words:
            match = re.search(pattern, utterance)
            return match[match.re.groups] if match else None
    return None


def _mentioned(values: list[str], is_last: bool, utterance: str) -> str | None:
    """The value that the user mentions first, or last."""
    mentions = sorted(
        (utterance.find(f" {value}"), value) for value in values if f" {value}" in utterance
    )
    if not mentions:
        return None
    return mentions[-1 if is_last else 0][1]


def _number(kind: str, words: list[str], utterance: str) -> float | None:
    """An integer before a word of the description; a number where it has "amount" or "value"."""
    if kind == "integer":
        counted = "|".join(word for word in words if word not in _STOP_WORDS)
        match = re.search(rf"\b(\d+) ({counted})\b", utterance)
        return int(match[1]) if match else None
    numbers = re.findall(_NUMBER, utterance)
    return float(numbers[0]) if numbers and {"amount", "value"} & set(words) else None


def main() -> None:
    """Answer every line of the standard input."""
    for line in sys.stdin:
        request = json.loads(line)
        calls = answer(request["case"])
        print(json.dumps({"custom_id": request["custom_id"], "calls": calls}), flush=True)


if __name__ == "__main__":
    main()
