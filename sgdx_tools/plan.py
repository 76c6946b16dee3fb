"""What is asked of a model or a program: every case under every variant, and again if repeated.

A case is asked under all variants before the next one, so that a run that is stopped has whole
cases under all of them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sgdx_dataset import SgdxError
from sgdx_eval.prediction_files import Header
from sgdx_llm.answer_file import AnswerFile
from sgdx_llm.program import HOST
from sgdx_llm.requests import Request, RequestSettings, custom_id, request_key

from .data import Case, ToolSet
from .predictions import read_calls
from .renaming import WordedTools
from .signature import data_digest


@dataclass(frozen=True)
class ToolPlan:
    """The requests of a run."""

    tool_set: ToolSet
    # The variants to ask under.
    names: Sequence[str]
    settings: RequestSettings
    # The server or program that is asked, without credentials.
    host: str
    # How often every request is sent.
    repeats: int = 1
    # How many other tools a model is shown beside those of a case.
    distractors: int = 0

    def __post_init__(self) -> None:
        if not self.tool_set.cases:
            raise SgdxError(f"{self.tool_set.path}: found no cases, expected cases.jsonl")
        if unknown := [name for name in self.names if name not in self.tool_set.variants]:
            known_names = ", ".join(self.tool_set.variants)
            raise SgdxError(f"--variant {unknown[0]}: expected one of {known_names}")
        if self.repeats < 1 or self.distractors < 0:
            raise SgdxError("--repeats: expected 1 or more, --distractors: expected 0 or more")
        if self.distractors and all(case.tools is None for case in self.tool_set.cases):
            raise SgdxError(
                f"--distractors {self.distractors}: found cases that may call all tools, expected"
                " cases with tools of their own"
            )

    @cached_property
    def worded(self) -> dict[str, WordedTools]:
        """The tools under each variant."""
        variants = self.tool_set.variants
        return {name: WordedTools(self.tool_set.tools, variants[name]) for name in self.names}

    def requests(self) -> Iterator[Request]:
        """All requests, in order; they are made one after the other."""
        for case in self.tool_set.cases:
            ids = self._ids(case)
            for name in self.names:
                yield from self._requests_of(name, case, ids)

    def requests_of(self, name: str) -> Iterator[Request]:
        """The requests under one variant."""
        for case in self.tool_set.cases:
            yield from self._requests_of(name, case, self._ids(case))

    def _requests_of(self, name: str, case: Case, ids: Sequence[str] | None) -> Iterator[Request]:
        worded = self.worded[name]
        tools = [worded.tool(tool) for tool in worded.shown(ids)]
        shown = [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters or {"type": "object", "properties": {}},
                **({"strict": True} if tool.strict else {}),
            }
            for tool in tools
        ]
        messages = worded.messages(case)
        functions = [{"type": "function", "function": tool} for tool in shown]
        how = {"tools": functions, "tool_choice": "auto"} if functions else {}
        body = {"model": self.settings.model, **self.settings.fields(how), "messages": messages}
        host = self.host
        if self.host.startswith(HOST):  # a program may answer by the case's id, a model cannot
            host += f"|{case.id}"
        for repeat in range(1, self.repeats + 1):
            key = request_key(body, host, repeat)
            case_shown = {"id": case.id, "messages": messages, "tools": shown}
            yield Request(
                custom_id=custom_id(name, case.id, repeat),
                body=body,
                key=key,
                shown={"case": case_shown},
            )

    def _ids(self, case: Case) -> list[str] | None:
        """The ids of a case's tools, and of its distractors if there are to be any; None for all.

        Distractors are other tools of ``tools.json`` whose names differ from those of all shown
        before under every variant. Which, and in which order, depends on the case alone.
        """
        if case.tools is None:
            return None
        ids = list(case.tools)
        if not self.distractors:
            return ids
        taken = {(name, worded.name(i)) for i in ids for name, worded in self.worded.items()}
        for tool in _in_random_order(case, self.tool_set.tools):
            if len(ids) == len(case.tools) + self.distractors:
                break
            new_names = {(name, worded.name(tool)) for name, worded in self.worded.items()}
            if not new_names & taken:
                ids.append(tool)
                taken |= new_names
        return _in_random_order(case, ids)

    def count(self) -> int:
        """How many requests there are."""
        return len(self.tool_set.cases) * len(self.names) * self.repeats

    def is_unread(self, request: Request, body: Any) -> bool:
        """Whether an answer cannot be read."""
        return bool(
            read_calls(body, self.settings.text_calls, request.body.get("tools", ())).counts[
                "unread"
            ]
        )

    def header(self, name: str) -> Header:
        """What the header of a prediction file says of the run, its answers aside."""
        settings, tool_set = self.settings, self.tool_set
        cases, left_out, all_cases = tool_set.cases, tool_set.left_out, tool_set.all_cases
        return Header(
            task="tools",
            variant=name,
            source=Path(self.tool_set.path).resolve().name,  # without private folders
            data=data_digest(self.tool_set, name),
            system={
                "model": settings.model,
                "host": self.host,
                "provider": settings.provider.name,
                "parameters": settings.fields({}),
                "omitted": list(settings.omitted),
                "tool_choice": settings.tool_choice,
                "repeats": self.repeats,
                "distractors": self.distractors,
                **({"text_calls": True} if settings.text_calls else {}),
                **({"limit": len(cases)} if len(cases) + len(left_out) < len(all_cases) else {}),
            },
        )

    def missing_counts(self, answers: AnswerFile) -> Counter[str]:
        """How many requests have no answer, by variant."""
        requests = (r for r in self.requests() if r.key not in answers)
        return Counter(request.custom_id.split("|", 1)[0] for request in requests)


def _in_random_order(case: Case, ids: Iterable[str]) -> list[str]:
    return sorted(ids, key=lambda tool: hashlib.sha256(f"{case.id}\n{tool}".encode()).digest())
