"""The body of the chat completion request for a frame.

It is made of the history, the utterance, the schema and the ids of frame rows alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import Service

from .functions import Json, state_function
from .providers import OPENAI, Provider

READS = ("history", "utterance", "schema")  # of a frame row, beside its ids
AnswerForm = Literal["tool", "json_schema", "text"]
DEFAULT_PARAMETERS: Json = {"temperature": 0, "seed": 0, "max_tokens": 1024}
# Fields that the project decides; everything else in a body can be set or left out.
_FIXED_FIELDS = ("model", "messages", "tools", "response_format", "stream", "n")
# Fields that hold a key, which would be written with the others into the header of predictions.
_SECRET = re.compile(r"(api_?key|secret|password|authorization|token)$", re.IGNORECASE)
_ROLES = {"USER": "user", "SYSTEM": "assistant"}
_IN_JSON = (
    "\nAnswer with one JSON object and nothing else. It holds the arguments of the function, as the"
    " JSON schema of its parameters describes them.\n"
)


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request, as it is sent to a server or a program."""

    custom_id: str  # its name, as ``custom_id`` makes it
    body: Json
    key: str  # under which the answer is kept, as ``request_key`` makes it
    shown: Json = field(default_factory=dict)  # what a program is shown beside the body

    def line(self) -> Json:
        """The line that a program reads."""
        return {"custom_id": self.custom_id, **self.shown, "body": self.body}


class RequestSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the requests: what a model is asked for, and how."""

    model: str  # the model's name at its server, or what a program is called
    # In the arguments of a call, in text whose form the server enforces, or in any text.
    answer: AnswerForm = "tool"
    # Every slot is required and nullable, for servers that enforce schemas only in that form.
    strict: bool = False
    parameters: Json = {}  # fields of the body to set, such as ``{"temperature": 0.3}``
    # Fields of the body to leave out, such as ``seed`` where a server refuses it.
    omitted: tuple[str, ...] = ()
    # What the server wants of a request, where it differs from OpenAI's.
    provider: Provider = OPENAI

    def __post_init__(self) -> None:
        if wrong := [name for name in (*self.parameters, *self.omitted) if name in _FIXED_FIELDS]:
            raise SgdxError(f"--set, --omit: found {wrong[0]}, which cannot be set or left out")
        if secret := [name for name in self.parameters if _SECRET.search(name)]:
            raise SgdxError(f"--set {secret[0]}: expected no key, which --header sends unwritten")
        ignored = self.provider.ignores
        if self.answer in ignored:
            raise SgdxError(f"--answer {self.answer}: {self.provider.name} {ignored[self.answer]}")
        if self.strict and "strict" in ignored:
            raise SgdxError(f"--strict: {self.provider.name} {ignored['strict']}")

    def fields(self, how: Json) -> Json:
        """The fields of a body: the defaults, ``how`` to answer, and what is set and left out."""
        # What the provider omits can be set all the same: its server may be of another version.
        common = {
            name: value
            for name, value in {**DEFAULT_PARAMETERS, **how}.items()
            if name not in self.provider.omitted
        }
        fields = {**common, **self.provider.parameters, **self.parameters}
        return {name: value for name, value in fields.items() if name not in self.omitted}

    def facts(self) -> Json:
        """What the header of a prediction file says of the settings."""
        facts: Json = {"model": self.model, "answer": self.answer, "strict": self.strict}
        if self.provider is not OPENAI:
            facts["provider"] = self.provider.name
        prompt = hashlib.sha256(instruction(self.answer).encode()).hexdigest()
        return facts | {
            "prompt": prompt,
            "parameters": self.fields({}),
            "omitted": list(self.omitted),
        }


@cache
def instruction(answer: AnswerForm) -> str:
    """The system message: the same for all services, variants and turns."""
    text = (Path(__file__).with_name("prompts") / "state.txt").read_text(encoding="utf-8")
    return text if answer == "tool" else text + _IN_JSON


def state_body(row: Mapping[str, Any], service: Service, settings: RequestSettings) -> Json:
    """The request for the dialogue state of one frame."""
    function = state_function(service, settings.strict)
    if settings.answer == "tool":
        how: Json = {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": settings.provider.chosen(function["name"]),
            "parallel_tool_calls": False,
        }
        return _body(settings, _turns(row), how)
    how = {}
    if settings.answer == "json_schema":
        schema = {"name": function["name"], "schema": function["parameters"]}
        strict = {"strict": True} if settings.strict else {}
        how = {"response_format": {"type": "json_schema", "json_schema": {**schema, **strict}}}
    # The function and the dialogue as one text.
    shown = json.dumps(function, ensure_ascii=False)
    speakers = {"user": "User", "assistant": "Assistant"}
    turns = "\n".join(f"{speakers[turn['role']]}: {turn['content']}" for turn in _turns(row))
    text = f"The API as a function:\n{shown}\n\nThe dialogue:\n{turns}"
    return _body(settings, [{"role": "user", "content": text}], how)


def _turns(row: Mapping[str, Any]) -> list[Json]:
    """The dialogue as messages; those of a turn begin with those of the turn before."""
    turns = [
        {"role": _ROLES[turn["speaker"]], "content": turn["utterance"]} for turn in row["history"]
    ]
    return [*turns, {"role": "user", "content": row["utterance"]}]


def _body(settings: RequestSettings, messages: list[Json], how: Json) -> Json:
    """A body whose parts that requests share come first, so that a server can cache the prompt."""
    system = {"role": "system", "content": instruction(settings.answer)}
    return {"model": settings.model, **settings.fields(how), "messages": [system, *messages]}


def with_seed(body: Json, number: int, field: str = "seed") -> Json:
    """The body with another seed for each number, where it has a seed."""
    return {**body, field: body[field] + number} if number and field in body else body


def request_key(body: Json, host: str, repeat: int) -> str:
    """The key of an answer: a SHA-256 of the body, the host that is asked and the repeat.

    The order of its parts counts, since a model reads them in it.
    """
    text = json.dumps([body, host, repeat], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def custom_id(variant: str, frame_id: str, repeat: int) -> str:
    """The name of a request in batch files and for programs."""
    return f"{variant}|{frame_id}|{repeat}"
