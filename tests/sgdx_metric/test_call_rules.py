"""The rules for calls against literal verdicts."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdx_metric.call_rules import CaseScore, _best_product, score_arguments, score_case

Json = Any
TABLE = {
    "type": "object",
    "required": ["city"],
    "properties": {
        "city": {"type": "string"},
        "day": {"type": "string", "enum": ["monday", "tuesday"]},
        "guests": {"type": "integer"},
        "price": {"type": "number"},
        "outside": {"type": "boolean"},
        "dishes": {"type": "array", "items": {"type": "string"}},
        "prices": {"type": "array", "items": {"type": "number"}},
        "address": {"type": "object", "properties": {"street": {"type": "string"}}},
        "people": {"type": "array", "items": {"type": "object"}},
        "any": {},
        "night": {"anyOf": [{"enum": ["monday"]}, {"type": "null"}]},
        "parent": {"$ref": "#"},
    },
}
ABSENT = {"absent": True}


def score(rule: str, expected: Json, value: Json, parameter: str) -> float:
    """The score of one argument beside a city that is right."""
    accepted = {"city": "Rome", parameter: expected}
    return score_arguments(accepted, {"city": "Rome", parameter: value}, TABLE, rule)


EQUAL: list[tuple[Json, Json]] = [
    (2, 2.0), (True, True), (None, None), ([1, 2], [1.0, 2.0]), (10**400, 10**400),
    ({"a": 1, "b": [None]}, {"b": [None], "a": 1}),
    ({"a": {"any_of": [1, "one"]}}, {"a": "one"}), ({"a": {"any_of": [1, ABSENT]}}, {}),
    ([{"any_of": ["x", "y"]}], ["y"]),
    # These are values: they have two keys, or other ones than lists and true.
    ({"any_of": [1, 2], "b": 3}, {"any_of": [1, 2], "b": 3}), ({"any_of": "a"}, {"any_of": "a"}),
    ({"absent": False}, {"absent": False}), ({"absent": 1}, {"absent": 1}),
    ({"a": 1, "b": None}, {"a": 1}), ([{"a": 1}], [{"a": 1, "b": None}]),
]  # fmt: skip
UNEQUAL: list[tuple[Json, Json]] = [
    (2, "2"), (1, True), (False, 0.0), (None, False), (0, None), ("a", "A"), ([1, 2], [2, 1]),
    ([True], [1]), ([1], [1, 1]), ([], {}), ({}, []), ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": 1, "b": 2}, {"a": 1}), (ABSENT, ABSENT), ([None], []), ({"a": 1}, {"a": None}),
]  # fmt: skip


def test_exact() -> None:
    for expected, value in EQUAL:
        assert score("exact", expected, value, "any") == 1, (expected, value)
    for expected, value in UNEQUAL:
        assert score("exact", expected, value, "any") == 0, (expected, value)


def test_what_may_be_left_out_and_what_may_not() -> None:
    accepted = {"city": "Rome", "day": {"any_of": ["monday", ABSENT]}}
    for rule in ("exact", "fuzzy"):
        assert score_arguments(accepted, {"city": "Rome"}, TABLE, rule) == 1
        assert score_arguments(accepted, {"city": "Rome", "day": "monday"}, TABLE, rule) == 1
        for wrong in ({"city": "Rome", "day": "tuesday"}, {"day": "monday"}, "Rome", None):
            assert score_arguments(accepted, wrong, TABLE, rule) == 0
        assert score_arguments(accepted, {"city": "Rome", "guests": 2}, TABLE, rule) == 0


SEARCH: Json = {
    "type": "object",
    "required": ["q", "must"],
    "properties": {
        "q": {"type": "string"},
        "must": {"type": ["string", "null"]},
        "limit": {"type": "integer", "default": 10},
        "page": {"$ref": "#/$defs/Page", "default": {"size": 20}},
        "filter": {"anyOf": [{"$ref": "#/$defs/Filter"}, {"type": "null"}]},
        "sort": {"type": "string"},
    },
    "$defs": {
        "Page": {"properties": {"size": {"type": "integer"}, "from": {"default": 0}}},
        "Filter": {"required": ["by"], "properties": {"by": {}, "deep": {"default": False}}},
    },
}
ABSENCES = Path(__file__).with_name("absent.jsonl").read_text().splitlines()


@pytest.mark.parametrize("row", [*map(json.loads, ABSENCES)], ids=str)
def test_null_and_the_default_count_as_absent_on_both_sides(row: Json) -> None:
    """At any depth, through references and branches; what is required is never left out."""
    expected, called, right = row["expected"], row["called"], row["right"]
    for rule in ("exact", "fuzzy"):
        base = {"q": "a", "must": None}
        assert score_arguments(base | expected, base | called, SEARCH, rule) == right
        assert score_arguments(base | expected, {"q": "a"} | called, SEARCH, rule) == 0 or (
            "must" in called
        )


def test_fuzzy_is_of_free_text_alone() -> None:
    assert score("fuzzy", "half past 4", "4 half past", "any") == 1
    assert score("fuzzy", {"any_of": ["noon", "12:30 pm"]}, "12:30", "any") == 0.77
    assert score("fuzzy", "monday", "mondays", "day") == 0  # it is of an enum
    assert score("fuzzy", "monday", "mondays", "night") == 0  # and of one that may be null
    assert score("fuzzy", 12, "12", "any") == 0
    assert score("fuzzy", ["12:30 pm", "12:30 pm"], ["12:30", "12:30"], "dishes") == 0.77 * 0.77
    nested = {"day": "monday", "city": "12:30 pm"}
    assert score("fuzzy", nested, {"day": "monday", "city": "12:30"}, "parent") == 0.77
    assert score("fuzzy", nested, {"day": "mondays", "city": "12:30"}, "parent") == 0
    # A reference that leads nowhere or in a circle is no schema.
    for schema in ({"$ref": "#/$defs/missing"}, {"$ref": "#"}, {"$ref": "https://example.org/x"}):
        assert score_arguments({"a": "12:30 pm"}, {"a": "12:30"}, schema, "fuzzy") == 0.77


def call(tool: str, **arguments: Json) -> Json:
    return {"name": tool, "arguments": arguments}


ONE, TWO = call("a", x=1), call("a", x=2)
WRONG_TOOL = CaseScore(0.0, None, 0.0, None)


@pytest.mark.parametrize(
    ("expected", "calls", "scores"),
    [
        (None, [], CaseScore(None, None, None, 1.0)),
        (None, [call("a")], CaseScore(None, None, None, 0.0)),
        ([], [], CaseScore(None, None, None, 1.0)),
        ([call("a")], [], WRONG_TOOL),
        ([call("a")], [call("b")], WRONG_TOOL),
        ([call("a")], [call("a"), call("a")], WRONG_TOOL),
        ([ONE], [TWO], CaseScore(1.0, 0.0, 0.0, None)),
        ([ONE, call("b"), TWO], [TWO, ONE, call("b")], CaseScore(1.0, 1.0, 1.0, None)),
        ([ONE, TWO], [TWO, TWO], CaseScore(1.0, 0.0, 0.0, None)),
        # The first expected call takes either of the two; the second one takes only x=1.
        ([call("a", x={"any_of": [1, 2]}), ONE], [ONE, TWO], CaseScore(1.0, 1.0, 1.0, None)),
    ],
)
def test_cases(expected: Json, calls: Json, scores: CaseScore) -> None:
    assert score_case(expected, calls, {}, "exact") == scores


SCORES = st.sampled_from([0.0, 0.25, 0.5, 0.77, 1.0])


@given(st.data(), st.integers(1, 5))
def test_no_other_way_to_match_calls_scores_more(data: st.DataObject, size: int) -> None:
    scores = [data.draw(st.lists(SCORES, min_size=size, max_size=size)) for _ in range(size)]
    orders = itertools.permutations(range(size))
    best = max(math.prod(scores[i][j] for i, j in enumerate(order)) for order in orders)
    assert _best_product(scores) == pytest.approx(best, rel=1e-12)


def test_many_calls_of_one_tool_take_no_time() -> None:
    equal = [call("a", x=1, y=2)] * 40
    assert score_case(equal, equal, {}, "fuzzy").call == 1
    assert score_case(equal, [*equal[1:], call("a", x=1, y=3)], {}, "exact").call == 0
    expected = [call("a", x=i) for i in range(60)]
    assert score_case(expected, expected[::-1], {}, "exact").call == 1
    assert score_case(expected, [*expected[1:], call("a", x=99)], {}, "exact").call == 0
    # abcd-abxx 0.5 and abce-abce 1, not abcd-abce 0.75 and abce-abxx 0.5
    expected, made = (
        [call("a", x=x) for x in side] for side in (("abcd", "abce"), ("abce", "abxx"))
    )
    assert score_case(expected, made, {}, "fuzzy").arguments == 0.5
    with pytest.raises(ValueError, match="'loose'"):
        score_case(None, [], {}, "loose")
