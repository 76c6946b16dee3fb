"""Whether a program made the calls that a case expects, under one of two rules for values.

`exact` is equality of JSON: 2 equals 2.0, a boolean equals no number, and arrays keep their order.
`fuzzy` is `exact`, but free text scores its similarity, as slots of SGD do.

An expected argument is a value, or `{"any_of": [...]}`, whose items are accepted values and, where
the argument may be left out, `{"absent": true}`. Both may stand inside of arrays and objects too,
and so may `{"matches": SCHEMA}`, which takes each value that a JSON Schema does (`matchers.py`).

An argument that is null or has the default of its schema counts as absent, in what is expected and
in what is called, at any depth; `{"matches": {"type": "null"}}` takes null alone. What the schema
requires is not left out.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .fuzzy import fuzzy_score
from .matchers import MATCHES, fits, is_matcher

RULES = ("exact", "fuzzy")

Json = Any
JsonObject = Mapping[str, Any]

_ABSENT = {"absent": True}
_NOTHING: JsonObject = {}
# The cost of a pair that scores 0: more than that of all others together.
_IMPOSSIBLE = 1e6


@dataclass(frozen=True)
class CaseScore:
    """The scores of one case, each in [0, 1] or None where it does not apply."""

    # 1 where the called tools are the expected ones, in any order; None where no call is
    # expected.
    name: float | None
    # 1 where all arguments of all calls are right; `fuzzy` gives values between. None where the
    # name is wrong or no call is expected.
    arguments: float | None
    # The product of both; None where no call is expected.
    call: float | None
    # 1 where no call is expected and none is made; None where one is expected.
    no_call: float | None


def score_case(
    expected: Sequence[JsonObject] | None,
    calls: Sequence[JsonObject],
    parameters: Mapping[str, JsonObject],
    rule: str,
    extra: bool = False,
) -> CaseScore:
    """Score the calls made in one case against the expected ones, by the tools' JSON Schemas.

    With `extra`, arguments that no expected call names may have any value.
    """
    if rule not in RULES:
        raise ValueError(f"rule is {rule!r}, expected one of {', '.join(RULES)}")
    if not expected:
        return CaseScore(None, None, None, float(not calls))
    if Counter(call["name"] for call in expected) != Counter(call["name"] for call in calls):
        return CaseScore(0.0, None, 0.0, None)
    arguments = 1.0
    for name in {call["name"]: None for call in expected}:
        schema = parameters.get(name, _NOTHING)
        made = [call["arguments"] for call in calls if call["name"] == name]
        arguments *= _best_product(
            [
                [score_arguments(call["arguments"], values, schema, rule, extra) for values in made]
                for call in expected
                if call["name"] == name
            ]
        )
    return CaseScore(1.0, arguments, arguments, None)


def score_arguments(
    expected: JsonObject, arguments: Json, schema: JsonObject, rule: str, extra: bool = False
) -> float:
    """Score the arguments of one call, in [0, 1]; what is no object scores 0.

    With `extra`, arguments that are not expected are not looked at.
    """
    if not isinstance(arguments, dict):
        return 0.0
    if extra:
        arguments = {name: value for name, value in arguments.items() if name in expected}
        schema = {**schema, "required": []}
    leaf = _exact if rule == "exact" else _fuzzy
    return _similarity(expected, arguments, leaf, [schema], schema)


def alternatives(expected: Json) -> list[Json]:
    """The accepted values of an expected argument; `{"absent": true}` stays among them."""
    if isinstance(expected, dict) and len(expected) == 1:
        values = expected.get("any_of")
        if isinstance(values, list):
            return values
    return [expected]


def is_absent(expected: Json) -> bool:
    """Whether an alternative is `{"absent": true}`: the argument may be left out."""
    return bool(expected == _ABSENT and expected["absent"] is True)


def _best_product(scores: list[list[float]]) -> float:
    """The largest product over pairs of rows and columns that use each of both once [n, n]."""
    costs = [[-math.log(score) if score else _IMPOSSIBLE for score in row] for row in scores]
    return math.prod(scores[i][j] for i, j in enumerate(_assignment(costs)))


def _assignment(costs: list[list[float]]) -> list[int]:
    """The column of each row in the cheapest assignment, in n**3 steps (Kuhn 1955) [n, n].

    Rows are assigned one after the other. Each takes the shortest way to a free column, through
    columns whose rows are moved on; potentials keep all reduced costs at 0 or more.
    """
    n = len(costs)
    row_of = [n] * (n + 1)  # of each column; the last column is where a way begins
    of_rows, of_columns = [0.0] * (n + 1), [0.0] * (n + 1)
    for row in range(n):
        column, row_of[n] = n, row
        shortest, before, visited = [math.inf] * n, [n] * n, [False] * (n + 1)
        while row_of[column] < n:
            visited[column], i = True, row_of[column]
            for j in range(n):
                reduced = costs[i][j] - of_rows[i] - of_columns[j]
                if not visited[j] and reduced < shortest[j]:
                    shortest[j], before[j] = reduced, column
            following = min((j for j in range(n) if not visited[j]), key=shortest.__getitem__)
            step = shortest[following]
            for j in range(n + 1):
                if visited[j]:
                    of_rows[row_of[j]] += step
                    of_columns[j] -= step
                elif j < n:
                    shortest[j] -= step
            column = following
        while column < n:  # back along the way, each column takes the row before it
            row_of[column], column = row_of[before[column]], before[column]
    columns = {row: column for column, row in enumerate(row_of[:n])}
    return [columns[row] for row in range(n)]


# --- exact and fuzzy ------------------------------------------------------------------------------

# The last has the schemas of a value: its own, and those that `$ref`, `allOf`, `anyOf` and `oneOf`
# lead to from there.
Leaf = Callable[[Json, Json, Sequence[JsonObject]], float]


def _similarity(
    expected: Json, value: Json, leaf: Leaf, schemas: Sequence[JsonObject], root: JsonObject
) -> float:
    """How well a value fits the best alternative: the product over its leaves, in [0, 1]."""
    schemas = _branches(schemas, root)
    best = 0.0
    for alternative in alternatives(expected):
        if is_absent(alternative):
            continue
        if is_matcher(alternative):
            score = float(fits(value, alternative[MATCHES]))
        elif isinstance(alternative, dict):
            score = _of_object(alternative, value, leaf, schemas, root)
        elif isinstance(alternative, list):
            score = _of_array(alternative, value, leaf, schemas, root)
        else:
            score = leaf(alternative, value, schemas)
        best = max(best, score)
    return best


def _of_object(
    expected: JsonObject, value: Json, leaf: Leaf, schemas: Sequence[JsonObject], root: JsonObject
) -> float:
    """The product over all keys; one that is null or has its schema's default counts as absent."""
    if not isinstance(value, dict):
        return 0.0
    properties = [p for s in schemas if isinstance(p := s.get("properties"), dict)]
    lists = [s["required"] for s in schemas if isinstance(s.get("required"), list)]
    required = set(chain.from_iterable(lists))
    product = 1.0
    for key in {**expected, **value}:
        parts = [of[key] for of in properties if key in of]
        score = 0.0
        if key in expected and key in value:
            score = _similarity(expected[key], value[key], leaf, parts, root)
        if not score and (parts or key in expected or not properties):  # no name that is made up
            accepted = alternatives(expected.get(key, _ABSENT))
            defaults = [s["default"] for s in _branches(parts, root) if "default" in s]

            def is_default(one: Json, parts: Any = parts, defaults: Any = defaults) -> bool:
                return any(_similarity(one, d, _exact, parts, root) for d in defaults)

            # What an argument that is left out may stand for, and whether the call does so.
            may_be = any(is_absent(one) or one is None or is_default(one) for one in accepted)
            if key in value:
                score = float(may_be and (value[key] is None or is_default(value[key])))
            else:
                score = float(may_be and key not in required)
        product *= score
    return product


def _of_array(
    expected: list[Json], value: Json, leaf: Leaf, schemas: Sequence[JsonObject], root: JsonObject
) -> float:
    if not isinstance(value, list) or len(value) != len(expected):
        return 0.0
    items = [schema["items"] for schema in schemas if "items" in schema]
    return math.prod(
        _similarity(accepted, item, leaf, items, root) for accepted, item in zip(expected, value)
    )


def _exact(expected: Json, value: Json, schemas: Sequence[JsonObject]) -> float:
    """1 where two values that are neither arrays nor objects are equal as JSON."""
    return float(isinstance(expected, bool) == isinstance(value, bool) and expected == value)


def _fuzzy(expected: Json, value: Json, schemas: Sequence[JsonObject]) -> float:
    """The similarity of free text; other values, and texts of an `enum`, are equal or not."""
    is_text = isinstance(expected, str) and isinstance(value, str)
    if is_text and expected != value and not any("enum" in schema for schema in schemas):
        return fuzzy_score(expected, value)
    return _exact(expected, value, schemas)


def _branches(schemas: Sequence[Json], root: JsonObject) -> list[JsonObject]:
    """These schemas, and those that their references and branches lead to in the file."""
    found: dict[int, JsonObject] = {}
    waiting = list(schemas)
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, dict) or id(schema) in found:
            continue
        found[id(schema)] = schema
        for key in ("anyOf", "oneOf", "allOf"):
            branches = schema.get(key)
            waiting += branches if isinstance(branches, list) else []
        pointer = schema.get("$ref")
        if isinstance(pointer, str) and pointer.startswith("#"):
            target: Json = root
            for part in pointer[1:].split("/")[1:]:
                key = part.replace("~1", "/").replace("~0", "~")
                target = target.get(key) if isinstance(target, dict) else None
            waiting.append(target)
    return list(found.values())
