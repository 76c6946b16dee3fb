"""Cases whose arguments are matchers, and what a tool's schema says of expected values."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from sgdx_metric.matchers import fits
from sgdx_tools.data import Tool, ToolWords, Variant, Words
from sgdx_tools.folder import write_project
from sgdx_tools.scoring import score
from sgdx_tools.values import fault

from .conftest import call, objects, read_lines, user, write_lines

Json = Any
GUEST = objects(["name"], name={"type": "string"}, of={"$ref": "#/$defs/Guest"}) | {
    "additionalProperties": False
}
TEXT = {"type": "string"}
LISTS = [{"type": "array", "items": {"type": kind}} for kind in ("string", "integer")]
TRIP = objects(
    ["city"],
    city={"type": "string", "minLength": 2, "maxLength": 20},
    code={"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"},
    day={"type": "string", "format": "date"},
    days={"type": "integer", "minimum": 1, "maximum": 30},
    size={"enum": ["small", "large"]},
    guests={"type": "array", "items": {"$ref": "#/$defs/Guest"}, "minItems": 1},
    labels={"patternProperties": {"^x-": {}}, "additionalProperties": False},
    beds={"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
    when={"oneOf": [TEXT, {"type": "null"}, *LISTS]},
    matches={"type": ["string", "object"]},
) | {"$defs": {"Guest": GUEST}}
TOOL = Tool("trip", "Plan a trip", TRIP)
PARAMETERS = {"city": Words("town"), "$defs.Guest.name": Words("who")}
OTHER = Variant("v1", {"trip": ToolWords("travel", parameters=PARAMETERS)})


def folder_of(path: Path, expected: Json, **keys: Any) -> Path:
    """A folder with one case, and a variant with other names."""
    write_project(path, [TOOL], variants=[OTHER])
    case = {"id": "a", "messages": [user("To Rome")], "expect": call("trip", **expected), **keys}
    write_lines(path / "cases.jsonl", [case])
    return path


def is_right(folder: Path, made: Json, variant: str = "original", rules: Any = None) -> bool:
    name = "trip" if variant == "original" else "travel"
    row = {"id": "a", "variant": variant, "calls": call(name, **made)}
    name = "orig" if variant == "original" else variant
    return score(folder, [row], rules=rules)[f"call_{name}"] == 1


# Expected arguments: with arguments that are right and wrong, or with where no schema takes them,
# which is empty where one does.
ROWS = read_lines(Path(__file__).with_name("expected.jsonl"))


@pytest.mark.parametrize("row", [row for row in ROWS if "right" in row])
def test_a_matcher_takes_what_its_schema_does(row: Json, tmp_path: Path) -> None:
    rome = {"city": "Rome"}
    folder = folder_of(tmp_path / "api", rome | row["expected"])
    for rules in ("exact", "fuzzy"):
        assert is_right(folder, rome | row["right"], rules=rules)
        assert not is_right(folder, rome | row["wrong"], rules=rules)


@pytest.mark.parametrize("row", [row for row in ROWS if "fault" in row])
def test_expected_values_are_checked_by_all_that_the_schema_says(row: Json) -> None:
    why = fault({"city": "Rome", **row["expected"]}, TOOL)
    assert why.partition(":")[0] == row["fault"], why


def test_other_words_rename_what_is_around_a_matcher(tmp_path: Path) -> None:
    guests = [{"name": {"matches": {"type": "string", "pattern": "^R[oO]"}}}]
    folder = folder_of(tmp_path / "api", {"city": {"matches": {"const": "Rome"}}, "guests": guests})
    assert is_right(folder, {"town": "Rome", "guests": [{"who": "Rob"}]}, "v1")
    assert not is_right(folder, {"city": "Rome", "guests": [{"name": "Rob"}]}, "v1")


def test_extra_arguments_are_allowed_where_a_case_says_so(tmp_path: Path) -> None:
    """Also those that the tool requires need not be expected then."""
    made = {"city": "Oslo", "days": 3, "size": "small"}
    strict = folder_of(tmp_path / "strict", {"city": "Oslo", "days": 3})
    loose = folder_of(tmp_path / "loose", {"days": 3}, extra="allow")
    assert not is_right(strict, made) and is_right(loose, made)
    assert is_right(loose, {"town": "Oslo", "days": 3}, "v1")
    assert not is_right(loose, made | {"days": 4})


# What only other languages have, or what no float holds, refuses no value.
@pytest.mark.parametrize(
    "odd", [{"type": "date"}, {"pattern": "("}, {"pattern": "^(?!n)"}, {"minLength": "9"}]
)
def test_what_is_not_looked_at_refuses_nothing(odd: Json) -> None:
    assert not fault({"a": "now"}, Tool("t", parameters=objects(a=odd)))


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa|b?){0,900}c$", "(x+x+)+y"])
def test_no_pattern_hangs(pattern: str) -> None:
    """Neither one of a case nor one of a server's tool, whatever a model writes."""
    text, began = ("a" * 2000 + "b") + "x" * 2000, time.perf_counter()
    assert not fits(text, {"pattern": pattern})
    tool = Tool("t", parameters=objects(a={"type": "string", "pattern": pattern}))
    assert fault({"a": text}, tool)
    assert time.perf_counter() - began < 5


def test_numbers_beyond_all_floats_fit_nothing() -> None:
    schema = {"multipleOf": 0.5}
    assert not fits(10**400, schema) and fits(1.5, schema)
    assert fault({"a": 10**400}, Tool("t", parameters=objects(a=schema)))


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("date-time", "2026-12-03T10:00:00Z", "2026-12-03 10:00"),
        ("time", "10:00:00+01:00", "25:00:00Z"),
        ("uri", "https://example.org/a?b", "example org"),
        ("email", "a@example.org", "example"),
        ("ipv4", "127.0.0.1", "127.0.0.256"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
    ],
)
def test_formats(name: str, right: str, wrong: str) -> None:
    assert fits(right, {"format": name}) and not fits(wrong, {"format": name})
    assert fits(1, {"format": name})
