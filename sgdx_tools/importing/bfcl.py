"""Tools and cases of the Berkeley Function Calling Leaderboard (BFCL).

A file has a case a line: ``id``, ``question`` (one list of messages) and ``function``, whose
schemas have Python's types. The file of answers has for each case ``ground_truth``, a list of calls
``{function: {parameter: [accepted values]}}``, where an empty text among the accepted values says
that the parameter may be left out. Files whose cases expect no call have no answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import decode_json

from ..data import ABSENT, ANY_OF, Case, ExpectedCall, Json, Tool
from ..values import why_none_is_right
from .collection import Collection
from .dialects import plain_schema

_NO_CALL = "irrelevance"  # what the ids of cases have where no call is right
# Categories whose cases are no single answers that are known to be right.
_UNSUPPORTED = re.compile(
    r"(?:BFCL_v\d+_)?(memory|multi_turn\w*|web_search|exec_\w*|format_sensitivity|live_relevance)"
)


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


def import_bfcl(files: Sequence[Path], answer_files: Sequence[Path]) -> Collection:
    """Read files of cases, and the files of their answers, in any order."""
    collection = Collection("bfcl")
    answers = dict[str, _Answer]()
    for path in answer_files:
        for where, answer in _read_lines(path, _Answer, collection):
            if answer.id in answers:
                raise SgdxError(f"{where}: found case {answer.id} twice, expected one answer")
            answers[answer.id] = answer
    case_ids, definitions = set[str](), dict[bytes, str]()
    for path in files:
        for where, question in _read_lines(path, _Question, collection):
            _check_category(question.id, where)
            for function in question.function:  # which refuses types of other languages
                plain_schema(function.parameters, f"{where}: function {function.name}")
            if question.id in case_ids:
                raise SgdxError(f"{where}: found case {question.id} twice, expected distinct ids")
            case_ids.add(question.id)
            is_single = len(question.question) == 1
            if is_single and question.id not in answers and _NO_CALL not in question.id:
                fault = f"found no answer for case {question.id}, expected it in --answers"
                raise SgdxError(f"{where}: {fault}")
            fault = _add_case(collection, definitions, question, answers.get(question.id))
            if fault:
                collection.left_out.append(f"case {question.id}: {fault}")
    unused = [case_id for case_id in answers if case_id not in case_ids]
    if unused:
        collection.left_out.append(
            f"{len(unused)} answers, such as {unused[0]}: they are of no case"
        )
    return collection


def _check_category(name: str, where: str) -> None:
    """Refuse a file or a case of a category that cannot be scored."""
    if found := _UNSUPPORTED.match(name):
        raise SgdxError(
            f"{where}: category {found[1]} is not supported, expected cases of one turn whose "
            "calls are known, such as simple_python, parallel, live_multiple or irrelevance"
        )


def _read_lines(path: Path, kind: type[Any], collection: Collection) -> list[tuple[str, Any]]:
    """The lines of a file, each with its place for error messages."""
    _check_category(path.name, str(path))
    data = collection.add_file(path)
    lines = [(i, line) for i, line in enumerate(data.splitlines(), 1) if line.strip()]
    what = "an answer of BFCL" if kind is _Answer else "a case of BFCL"
    return [(f"{path}:{i}", decode_json(line, kind, f"{path}:{i}", what)) for i, line in lines]


def _add_case(
    collection: Collection,
    definitions: dict[bytes, str],
    question: _Question,
    answer: _Answer | None,
) -> str:
    """Add a case and its tools, whose ids are noted by their definitions, or say why not."""
    if len(question.question) != 1:
        return f"found {len(question.question)} turns of the user, expected one"
    functions = {function.name: function for function in question.function}
    calls = []
    for item in answer.ground_truth if answer else ():
        for name, accepted in item.items():
            if name not in functions:
                return f"its answer calls {name}, which it lacks"
            arguments, fault = _expected_arguments(accepted, functions[name].parameters)
            if fault:
                return f"its answer for {name} {fault}, so that no call is right"
            calls.append((name, arguments))
    ids = [_add_tool(collection, definitions, function) for function in question.function]
    names = [collection.tools[i].name for i in ids]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        return f"two of its tools are called {twice}"
    id_of = {function.name: tool for tool, function in zip(ids, question.function)}
    expect = tuple(ExpectedCall(id_of[name], arguments) for name, arguments in calls)
    for call in expect:
        if why := why_none_is_right(call.arguments, collection.tools[call.name]):
            return f"its answer for {call.name} fits no schema: {why}"
    messages = tuple(question.question[0])
    collection.cases.append(Case(question.id, messages, expect if answer else None, tuple(ids)))
    return ""


def _add_tool(collection: Collection, definitions: dict[bytes, str], function: _Function) -> str:
    """The id of a tool, which is added if it is new; a second one of its name is ``name#2``."""
    definition = msgspec.json.encode(function)
    if definition not in definitions:
        name = tool_id = function.name.replace(".", "_")  # as the leaderboard gives it to providers
        number = 1
        while tool_id in collection.tools:
            number += 1
            tool_id = f"{name}#{number}"
        schema = plain_schema(function.parameters, function.name)
        collection.tools[tool_id] = Tool(name, function.description, schema, tool_id)
        definitions[definition] = tool_id
    return definitions[definition]


def _expected_arguments(accepted: dict[str, list[Any]], schema: Json) -> tuple[Json, str]:
    """The expected arguments of a call, and what makes it impossible to be right, if anything."""
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    arguments = {}
    for name, values in accepted.items():
        if name not in properties:
            if "" in values:  # it may be left out, as it has to be
                continue
            return {}, f"has the argument {name}, which the tool lacks"
        if not values:
            return {}, f"accepts no value of {name}"
        arguments[name] = expected_value(values, properties[name], name in required)
    return arguments, ""


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
