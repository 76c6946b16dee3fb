"""Tools and cases of the Berkeley Function Calling Leaderboard (BFCL).

A file has a case a line: ``id``, ``question`` (one list of messages) and ``function``, whose
schemas have Python's types. The file of answers has for each case ``ground_truth``, a list of calls
``{function: {parameter: [accepted values]}}``, where an empty text among the accepted values says
that the parameter may be left out. Files whose cases expect no call have no answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import decode_json

from ..data import ABSENT, ANY_OF, Case, ExpectedCall, Json, Tool
from .collection import Collection

# JSON Schema's types by the leaderboard's; None stands for no type at all.
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}
_NO_CALL = "irrelevance"  # what the ids of cases have where no call is right


class _Function(msgspec.Struct):
    name: str
    description: str
    parameters: Json


class _Question(msgspec.Struct):
    """A line of a file of cases."""

    id: str
    question: list[list[Json]]
    function: list[_Function]


class _Answer(msgspec.Struct):
    """A line of a file of answers: each call is an object of one function."""

    id: str
    ground_truth: list[dict[str, dict[str, list[Any]]]]


class _Definitions:
    """The tools of all cases: those that differ and share a name have the ids ``name#2``, ...."""

    def __init__(self) -> None:
        self._ids = dict[bytes, str]()
        self._numbers = dict[str, int]()

    def add(self, collection: Collection, function: _Function) -> str:
        """Add the tool of a case, unless it is there already; returns its id."""
        name = function.name.replace(".", "_")  # as the leaderboard gives it to providers
        definition = msgspec.json.encode(function)
        if definition not in self._ids:
            number = self._numbers[name] = self._numbers.get(name, 0) + 1
            tool_id = name if number == 1 else f"{name}#{number}"
            schema = json_schema(function.parameters)
            collection.tools[tool_id] = Tool(name, function.description, schema, tool_id)
            self._ids[definition] = tool_id
        return self._ids[definition]


def import_bfcl(files: Sequence[Path], answer_files: Sequence[Path]) -> Collection:
    """Read cases of the leaderboard.

    Args:
        files: Files of cases.
        answer_files: The files of their answers, in any order.

    Raises:
        SgdxError: A line is not of the form, an id appears twice, or a case that expects a call
            has no answer.
    """
    collection = Collection("bfcl", rules="bfcl")
    answers = dict[str, _Answer]()
    for path in answer_files:
        for where, answer in _read_lines(path, _Answer, collection):
            if answer.id in answers:
                raise SgdxError(f"{where}: found case {answer.id} twice, expected one answer")
            answers[answer.id] = answer
    case_ids, definitions = set[str](), _Definitions()
    for path in files:
        for where, question in _read_lines(path, _Question, collection):
            if question.id in case_ids:
                raise SgdxError(f"{where}: found case {question.id} twice, expected distinct ids")
            case_ids.add(question.id)
            _add_case(collection, definitions, where, question, answers.get(question.id))
    unused = [case_id for case_id in answers if case_id not in case_ids]
    if unused:
        collection.leave_out(f"{len(unused)} answers, such as {unused[0]}: they are of no case")
    return collection


def _read_lines(path: Path, kind: type[Any], collection: Collection) -> list[tuple[str, Any]]:
    """The lines of a file, each with its place for error messages."""
    data = collection.add_file(path)
    lines = [(i, line) for i, line in enumerate(data.splitlines(), 1) if line.strip()]
    what = "an answer of BFCL" if kind is _Answer else "a case of BFCL"
    return [(f"{path}:{i}", decode_json(line, kind, f"{path}:{i}", what)) for i, line in lines]


def _add_case(
    collection: Collection,
    definitions: _Definitions,
    where: str,
    question: _Question,
    answer: _Answer | None,
) -> None:
    """Add a case and its tools, or say why it is left out."""
    if len(question.question) != 1:
        fault = f"found {len(question.question)} turns of the user, expected one"
        collection.leave_out(f"case {question.id}: {fault}")
        return
    expect = None
    if answer is not None:
        expect = _expected_calls(collection, question, answer)
        if expect is None:
            return
    elif _NO_CALL not in question.id:
        raise SgdxError(
            f"{where}: found no answer for case {question.id}, expected it in --answers"
        )
    ids = [definitions.add(collection, function) for function in question.function]
    names = [collection.tools[i].name for i in ids]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        collection.leave_out(f"case {question.id}: two of its tools are called {twice}")
        return
    if expect is not None:
        id_of = {function.name: ids[i] for i, function in enumerate(question.function)}
        expect = tuple(ExpectedCall(id_of[call.name], call.arguments) for call in expect)
    messages = tuple(question.question[0])
    collection.cases.append(Case(question.id, messages, expect, tuple(ids)))


def _expected_calls(
    collection: Collection, question: _Question, answer: _Answer
) -> tuple[ExpectedCall, ...] | None:
    """The calls of an answer by the functions' own names; None where no call could be right."""
    functions = {function.name: function for function in question.function}
    calls = []
    for item in answer.ground_truth:
        for name, accepted in item.items():
            if name not in functions:
                collection.leave_out(f"case {question.id}: its answer calls {name}, which it lacks")
                return None
            arguments, fault = _expected_arguments(accepted, functions[name].parameters)
            if fault:
                reason = f"its answer for {name} {fault}, so that no call is right"
                collection.leave_out(f"case {question.id}: {reason}")
                return None
            calls.append(ExpectedCall(name, arguments))
    return tuple(calls)


def _expected_arguments(accepted: dict[str, list[Any]], schema: Json) -> tuple[Json, str]:
    """The expected arguments of a call, and what makes it impossible to be right, if anything."""
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    arguments = {}
    for name, values in accepted.items():
        if name not in properties:
            return {}, f"has the argument {name}, which the tool lacks"
        if not values:
            return {}, f"accepts no value of {name}"
        arguments[name] = expected_value(values, properties[name], name in required)
    return arguments, ""


def json_schema(schema: Json) -> Json:
    """A schema with JSON Schema's types in place of Python's.

    >>> json_schema({"type": "tuple", "items": {"type": "float"}})
    {'type': 'array', 'items': {'type': 'number'}}
    """
    converted = dict(schema)
    kind = schema.get("type")
    if isinstance(kind, str) and kind in _TYPES:
        converted["type"] = _TYPES[kind]
        if converted["type"] is None:
            del converted["type"]
    if isinstance(schema.get("items"), dict):
        converted["items"] = json_schema(schema["items"])
    if isinstance(schema.get("properties"), dict):
        properties = schema["properties"].items()
        converted["properties"] = {
            name: json_schema(child) if isinstance(child, dict) else child
            for name, child in properties
        }
    return converted


def expected_value(values: list[Any], schema: Json, required: bool = False) -> Any:
    """An expected argument of a case, of the values that an answer accepts for a parameter.

    Objects, and objects that are items of an array, have lists of accepted values under their keys,
    one level deep. A required parameter cannot be left out: there an empty text is a value, the
    last one, as its type may not be the parameter's.

    >>> expected_value(["", "km"], {"type": "string"})
    {'any_of': ['km', {'absent': True}]}
    >>> expected_value([{"size": ["L", "large"]}], {"type": "dict"})
    {'size': {'any_of': ['L', 'large']}}
    """
    if schema.get("type") == "dict":
        values = [_object(value) for value in values]
    elif (schema.get("items") or {}).get("type") == "dict":
        values = [
            [_object(item) for item in value] if isinstance(value, list) else value
            for value in values
        ]
    accepted = [value for value in values if value != ""]
    if len(accepted) < len(values):
        accepted.append("" if required else {ABSENT: True})
    if len(accepted) == 1 and accepted[0] != {ABSENT: True}:
        return accepted[0]
    return {ANY_OF: accepted}


def _object(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        key: expected_value(item, {}) if isinstance(item, list) else item
        for key, item in value.items()
    }
