"""Cases by a model: for each tool, utterances with their calls, and one that asks for another tool.

A person has to look at them before they count as reviewed: ``traces.py`` has the table.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rapidfuzz.fuzz import ratio

from sgdx_dataset import SgdxError
from sgdx_llm.asking import open_answers
from sgdx_llm.messages import decode_arguments

from .asking import FunctionPlan
from .data import Case, ExpectedCall, Json, Project, Tool, digest
from .keys import FILE
from .predictions import read_calls
from .search import document
from .traces import add_cases
from .values import as_expected

ANSWERS = "generated"  # the folder of what the model said
_MOST_NEAR = 5  # other tools that the model is shown beside one
_FUNCTION = "write_cases"
_PROMPT = Path(__file__).parent / "prompts" / "cases.txt"
_SAID: Json = {
    "utterance": {"type": "string", "description": "What the user says"},
    "arguments": {"type": "object", "description": "The arguments of the right call"},
}
_NAME: Json = {"tool": {"type": "string", "description": "The name of the other tool"}}
_PARTS: Json = {
    "cases": {
        "type": "array",
        "items": {"type": "object", "properties": _SAID, "required": [*_SAID]},
    },
    "near": {"type": "object", "properties": _SAID | _NAME, "required": [*_SAID, *_NAME]},
}
_TOOL: Json = {
    "type": "function",
    "function": {
        "name": _FUNCTION,
        "description": "Give the cases of the tool",
        "parameters": {"type": "object", "properties": _PARTS, "required": [*_PARTS]},
    },
}


def generate_cases(project: Project, count: int) -> tuple[list[Path], list[str]] | None:
    """Ask a model for so many cases of each tool, and add them to a project's as unreviewed.

    It is the first model of the project's file. Returns the paths that are written, and notes; None
    where answers are missing still. The same utterance again, and a call that the tool's schema
    does not allow, is dropped and counted.
    """
    models = project.file.keys.models if project.file else ()
    model = next((of.model for of in models if of.model), None)
    if project.file is None or model is None:
        raise SgdxError(f"{project.path}: found no model to ask, expected {FILE} with models")
    asked = project.file.options("models", [of.model for of in models].index(model))
    tools, plan = (
        project.tools,
        FunctionPlan(model, _TOOL, asked, lambda body: bool(_written(body))),
    )
    with open_answers(project.cases_file.parent / ANSWERS) as kept:
        answers = plan.answers(_conversations(tools, count), kept)
    if answers is None:
        return None
    counts, notes = Counter[str](), list[str]()
    found: dict[str, tuple[str, Case]] = {}  # by what is said, whatever its letters and spaces
    for tool, answer in zip(tools.values(), answers):
        for case in _cases(tool, tools, answer, counts, notes):
            said = " ".join(case.messages[0]["content"].casefold().split())
            if said in found:
                counts["duplicates"] += 1
            else:
                found[said] = f"{model}: {tool.id}", case
    return add_cases(project, found.values(), counts, notes, model)


def _cases(
    tool: Tool, tools: Mapping[str, Tool], answer: Any, counts: Counter[str], notes: list[str]
) -> Iterator[Case]:
    """The cases of an answer; what is none is counted, and noted."""
    ids = {other.name: i for i, other in tools.items() if i != tool.id}
    written = _written(answer)
    listed, near = written.get("cases"), written.get("near")
    parts = [(tool.id, part) for part in listed] if isinstance(listed, list) else []
    if near:
        parts.append((ids.get(str(near.get("tool")), "") if isinstance(near, dict) else "", near))
    if not parts:
        counts["unread answers"] += 1
    for called, part in parts:
        try:
            said, arguments = part["utterance"].strip(), decode_arguments(part["arguments"])
            if not (said and isinstance(arguments, dict)):
                raise ValueError
        except (ValueError, TypeError, LookupError, AttributeError):
            called, expected = "", "an utterance and arguments"
        else:
            expected = "another of the tools"  # as one that is near may name this one
        if not called:
            counts["left out"] += 1
            found = f"found {json.dumps(part):.100}, expected {expected}"
            notes.append(f"left out: {tool.id}: {found}")
            continue
        messages = ({"role": "user", "content": said},)
        name = f"{tool.id}-{'near-' if called != tool.id else ''}{digest(messages)}"
        expect = (ExpectedCall(called, as_expected(arguments)),)
        yield Case(name, messages, expect, unreviewed=True)


def _written(answer: Any) -> Json:
    """The arguments of an answer's call; none where it cannot be read."""
    calls, _ = read_calls(answer, text_calls=True, tools=[_TOOL])
    arguments = calls[0].arguments if calls else {}
    return arguments if isinstance(arguments, dict) else {}


def _conversations(tools: Mapping[str, Tool], count: int) -> Iterator[tuple[str, int, list[Json]]]:
    """What is asked of each tool: so many cases, beside the tools that are nearest to it."""
    words = {i: document(tool) for i, tool in tools.items()}
    for i, tool in tools.items():
        others = sorted((j for j in words if j != i), key=lambda j: -ratio(words[i], words[j]))
        shown = [tools[j] for j in others[:_MOST_NEAR] if tools[j].name != tool.name]
        asked = {"number of cases": count, "tool": _shown(tool)}
        near = {"others": [_shown(other) for other in shown]}
        text = json.dumps(asked | near, ensure_ascii=False, indent=1)
        system = {"role": "system", "content": _PROMPT.read_text(encoding="utf-8")}
        yield i, 1, [system, {"role": "user", "content": text}]


def _shown(tool: Tool) -> Json:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
