"""What is sent for a frame or a turn: the body of a chat completion request.

A body is made of the history, the utterance, the schema and the ids of frame rows alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import Service

from .functions import Json, call_function, call_functions, state_function

READS = ("history", "utterance", "schema")  # of a frame row, beside its ids
Task = Literal["state", "calls"]
Answer = Literal["tool", "json_schema", "text"]
ToolChoice = Literal["required", "auto"]
PARAMETERS: Json = {"temperature": 0, "seed": 0, "max_tokens": 1024}
# What the project decides; everything else in a body can be set or left out.
_OURS = ("model", "messages", "tools", "response_format", "stream", "n")
_ROLES = {"USER": "user", "SYSTEM": "assistant"}
_SPEAKERS = {"USER": "User", "SYSTEM": "Assistant"}
_IN_JSON = (
    "\nAnswer with one JSON object and nothing else. It holds the arguments of the function, as the"
    " JSON schema of its parameters describes them.\n"
)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a model, and how.

    Attributes:
        model: The model's name at its server, or what a program is called.
        task: ``state``, the dialogue state of each frame; or ``calls``, the call that the system
            makes next.
        answer: Where the answer is to be: in the arguments of a call (``tool``), in text whose
            form the server is asked to enforce (``json_schema``), or in plain text (``text``).
        strict: Whether the JSON schema has every slot as required and nullable, for servers that
            enforce schemas only in that form.
        tool_choice: For ``calls``, whether a call is demanded (``required``) or the model decides
            (``auto``).
        given: Fields of the body to set, such as ``{"temperature": 0.3}``.
        omitted: Fields of the body to leave out, such as ``seed`` where a server refuses it.
    """

    model: str
    task: Task = "state"
    answer: Answer = "tool"
    strict: bool = False
    tool_choice: ToolChoice = "required"
    given: Json = {}
    omitted: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if wrong := [name for name in (*self.given, *self.omitted) if name in _OURS]:
            raise SgdxError(f"--set, --omit: found {wrong[0]}, which is not free to choose")
        if self.task == "calls" and self.answer != "tool":
            raise SgdxError(f"--answer {self.answer}: expected tool for the task calls")
        if self.task == "calls" and self.strict:
            raise SgdxError("--strict: expected only for the task state")

    def facts(self) -> Json:
        """What the header of a prediction file says of the settings, the model aside."""
        parameters = {**PARAMETERS, **self.given}
        for name in self.omitted:
            parameters.pop(name, None)
        found: Json = {"task": self.task, "answer": self.answer, "strict": self.strict}
        if self.task == "calls":
            found["tool_choice"] = self.tool_choice
        prompt = hashlib.sha256(instruction(self.task, self.answer).encode()).hexdigest()
        return found | {
            "prompt": prompt,
            "parameters": parameters,
            "omitted": list(self.omitted),
        }


@cache
def instruction(task: Task, answer: Answer) -> str:
    """The system message: the same for all services, wordings and turns."""
    text = (Path(__file__).with_name("prompts") / f"{task}.txt").read_text(encoding="utf-8")
    return text if answer == "tool" else text + _IN_JSON


def state_body(row: Mapping[str, Any], service: Service, settings: Settings) -> Json:
    """The request for the dialogue state of one frame.

    Args:
        row: The frame row, of which ``history`` and ``utterance`` are used.
        service: The service, read from the row's ``schema``.
        settings: What is asked, and how.
    """
    function = state_function(service, settings.strict)
    if settings.answer == "tool":
        how: Json = {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": function["name"]}},
            "parallel_tool_calls": False,
        }
        return _body(settings, _turns(row), how)
    how = {}
    if settings.answer == "json_schema":
        schema = {"name": function["name"], "schema": function["parameters"]}
        strict = {"strict": True} if settings.strict else {}
        how = {"response_format": {"type": "json_schema", "json_schema": {**schema, **strict}}}
    return _body(settings, [{"role": "user", "content": _transcript(row, function)}], how)


def call_body(row: Mapping[str, Any], services: Sequence[Service], settings: Settings) -> Json:
    """The request for the call that the system makes after a user turn.

    Args:
        row: A frame row of the turn, of which ``history`` and ``utterance`` are used.
        services: All services of the dialogue.
        settings: What is asked, and how.
    """
    functions = call_functions(services)
    tools = [
        {"type": "function", "function": call_function(name, *of)} for name, of in functions.items()
    ]
    how = {"tools": tools, "tool_choice": settings.tool_choice, "parallel_tool_calls": False}
    return _body(settings, _turns(row), how)


def with_seed(body: Json, attempt: int) -> Json:
    """The body to ask again with: another ``seed`` for each attempt after the first, which is 0."""
    return body if attempt == 0 else {**body, "seed": body.get("seed", 0) + attempt}


def request_key(body: Json, host: str, repeat: int) -> str:
    """What an answer is kept under: a SHA-256 of the body, of who is asked, and of the repeat."""
    text = json.dumps([body, host, repeat], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def custom_id(variant: str, frame_id: str, repeat: int) -> str:
    """The name of a request in batch files and for programs."""
    return f"{variant}|{frame_id}|{repeat}"


def _body(settings: Settings, messages: list[Json], how: Json) -> Json:
    """A body, in the order in which a server builds its prompt: what is the same goes first."""
    system = {"role": "system", "content": instruction(settings.task, settings.answer)}
    fields = {"model": settings.model, **PARAMETERS, **how, **settings.given}
    fields = {name: value for name, value in fields.items() if name not in settings.omitted}
    return {**fields, "messages": [system, *messages]}


def _turns(row: Mapping[str, Any]) -> list[Json]:
    """The dialogue as messages; each turn adds to those of the turn before."""
    turns = [
        {"role": _ROLES[turn["speaker"]], "content": turn["utterance"]} for turn in row["history"]
    ]
    return [*turns, {"role": "user", "content": row["utterance"]}]


def _transcript(row: Mapping[str, Any], function: Json) -> str:
    """The function and the dialogue as one text."""
    turns = [f"{_SPEAKERS[turn['speaker']]}: {turn['utterance']}" for turn in row["history"]]
    shown = json.dumps(function, ensure_ascii=False)
    dialogue = "\n".join([*turns, f"User: {row['utterance']}"])
    return f"The API as a function:\n{shown}\n\nThe dialogue:\n{dialogue}"
