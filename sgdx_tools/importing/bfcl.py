"""Tools and cases of the Berkeley Function Calling Leaderboard (BFCL).

A file has a case a line: ``id``, ``question`` (one list of messages) and ``function``, whose
schemas have Python's types. The file of answers has for each case ``ground_truth``, a list of calls
``{function: {parameter: [accepted values]}}``, where an empty text among the accepted values says
that the parameter may be left out. Files whose cases expect no call have no answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import decode_json, first_repeated

from ..data import ABSENT, ANY_OF, Case, ExpectedCall, Json, Tool
from ..json_schema import plain_schema
from ..values import why_none_is_right
from .collection import Collection

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
    ground_truth: list[_Calls]


_Calls = dict[str, dict[str, list[Any]]]
_Record = TypeVar("_Record", _Question, _Answer)


def import_bfcl(files: Sequence[Path], answer_files: Sequence[Path]) -> Collection:
    """Read files of cases, and the files of their answers, in any order."""
    collection = Collection("bfcl")
    answers = {of.id: of.ground_truth for _, of in _read(answer_files, _Answer, collection)}
    for where, question in _read(files, _Question, collection):
        if found := _UNSUPPORTED.match(question.id):
            raise _unsupported(where, found[1])
        for function in question.function:  # which refuses types of other languages
            function.parameters = plain_schema(
                function.parameters, f"{where}: function {function.name}"
            )
        truth = answers.pop(question.id, None)
        if len(question.question) == 1 and truth is None and _NO_CALL not in question.id:
            fault = f"found no answer for case {question.id}, expected it in --answers"
            raise SgdxError(f"{where}: {fault}")
        try:
            collection.cases.append(_case(question, truth, collection.tools))
        except SgdxError as why:
            collection.left_out.append(f"case {question.id}: {why}")
    if answers:
        some = f"{len(answers)} answers, such as {next(iter(answers))}"
        collection.left_out.append(f"{some}: they are of no case")
    return collection


def _unsupported(where: str, category: str) -> SgdxError:
    return SgdxError(
        f"{where}: category {category} is not supported, expected cases of one turn whose "
        "calls are known, such as simple_python, parallel, live_multiple or irrelevance"
    )


def _read(
    paths: Sequence[Path], kind: type[_Record], collection: Collection
) -> Iterator[tuple[str, _Record]]:
    """The lines of files, each with its place for error messages."""
    ids, what = set[str](), "an answer of BFCL" if kind is _Answer else "a case of BFCL"
    for path in paths:
        if found := _UNSUPPORTED.match(path.name):
            raise _unsupported(str(path), found[1])
        for number, line in enumerate(collection.add_file(path).splitlines(), 1):
            if line.strip():
                where = f"{path}:{number}"
                record = decode_json(line, kind, where, what)
                if record.id in ids:
                    raise SgdxError(f"{where}: found case {record.id} twice, expected it once")
                ids.add(record.id)
                yield where, record


def _case(question: _Question, truth: list[_Calls] | None, tools: dict[str, Tool]) -> Case:
    """A case, whose tools are added to those there are; ``SgdxError`` says why it is none."""
    if len(question.question) != 1:
        raise SgdxError(f"found {len(question.question)} turns of the user, expected one")
    names = [function.name.replace(".", "_") for function in question.function]
    if repeated := first_repeated(names):
        raise SgdxError(f"two of its tools are called {repeated}")
    functions = {function.name: function.parameters for function in question.function}
    calls = [(name, of) for made in truth or () for name, of in made.items()]
    for name, accepted in calls:
        if name not in functions:
            raise SgdxError(f"its answer calls {name}, which it lacks")
        for key, values in accepted.items():
            if not values:
                raise SgdxError(f"its answer for {name} accepts no value of {key}")
    ids: dict[str, str] = {}  # of its functions; a second tool of one name is called ``name#2``
    for function, name in zip(question.function, names):
        same = (f"{name}#{n}" if n > 1 else name for n in count(1))
        tool = Tool(name, function.description, function.parameters)
        ids[function.name] = own = next(
            i for i in same if i not in tools or replace(tools[i], id=name) == tool
        )
        tools.setdefault(own, replace(tool, id=own))
    expect = []
    for name, accepted in calls:
        schema = functions[name]
        properties, required = schema.get("properties", {}), schema.get("required", [])
        arguments = {
            key: expected_value(values, properties.get(key, {}), key in required)
            for key, values in accepted.items()
            if key in properties or "" not in values  # it may be left out, as it has to be
        }
        if why := why_none_is_right(arguments, tools[ids[name]]):
            raise SgdxError(f"its answer for {name} fits no schema: {why}")
        expect.append(ExpectedCall(ids[name], arguments))
    messages = tuple(question.question[0])
    return Case(question.id, messages, None if truth is None else tuple(expect), (*ids.values(),))


def expected_value(values: list[Any], schema: Json, required: bool = False) -> Any:
    """An expected argument of a case, of the values that an answer accepts for a parameter.

    Objects, and objects that are items of an array, have lists of accepted values under their keys,
    one level deep. A required parameter cannot be left out: there an empty text is a value, the
    last one, as its type may not be the parameter's.

    >>> expected_value(["", "km"], {"type": "string"})
    {'any_of': ['km', {'absent': True}]}
    >>> expected_value([{"size": ["L", "large"]}], {"type": "object"})
    {'size': {'any_of': ['L', 'large']}}
    """
    if schema.get("type") == "object":
        values = [_object(value) for value in values]
    elif (schema.get("items") or {}).get("type") == "object":
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
