"""Expected arguments that are no value: ``{"matches": SCHEMA}`` takes each that a JSON Schema does.

A matcher speaks of values and never of the names in an object, so that other words change none.
`jsonschema` decides. Regular expressions are those of RE2, whose time grows as the text does: what
needs to try again and again, `(?=` and back references, is not in it.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache, partial
from typing import Any

Json = Any

MATCHES = "matches"
# Objects that are no schema but stand for a value, so that an argument may be called `matches`.
_STAND_FOR_VALUES = ({"any_of"}, {"absent"}, {MATCHES})
_KEYWORDS = {
    *("type", "enum", "const", "pattern", "format", "minLength", "maxLength", "multipleOf"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"),
    *("uniqueItems", "items", "contains", "anyOf", "allOf", "oneOf", "not"),
}
_SCHEMAS = {"items", "contains", "not", "anyOf", "allOf", "oneOf"}  # keywords that hold schemas
_LONGEST = 1000  # characters of a regular expression
_MOST_PARTS, _DEEPEST = 200, 20  # schemas in a matcher, and of these in each other
_SHAPES = {
    "date-time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
    "time": r"\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
    "uri": r"[a-z][a-z0-9+.-]*:[^\s<>\"{}|\\^`]+",
}
FORMATS = ("date", "email", "ipv4", "ipv6", "uuid", *_SHAPES)


def is_matcher(expected: Json) -> bool:
    """Whether an expected value is ``{"matches": SCHEMA}``."""
    schema = expected.get(MATCHES) if isinstance(expected, dict) and len(expected) == 1 else None
    return isinstance(schema, dict) and schema.keys() not in _STAND_FOR_VALUES


def fits(value: Json, schema: Mapping[str, Json]) -> bool:
    """Whether a value is one that the schema of a matcher takes."""
    try:
        return bool(_matcher_class()(schema, format_checker=format_checker()).is_valid(value))
    except OverflowError:  # an integer that no float holds, of `multipleOf`
        return False


def fits_beside(value: Json, schema: Mapping[str, Json]) -> bool:
    """Whether a value of an enum is one that all else in a schema takes."""
    return fits(value, {k: v for k, v in schema.items() if k != "enum"})


def why_no_matcher(schema: Json) -> str:
    """What is wrong with the schema of a matcher, or one inside it; empty where it is one."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    parts, pending = 0, [(schema, 0)]
    while pending:
        part, depth = pending.pop()
        parts += 1
        if depth > _DEEPEST or parts > _MOST_PARTS:
            expected = f"expected {_MOST_PARTS} at most, {_DEEPEST} in each other"
            return f"found {depth if depth > _DEEPEST else parts} schemas or more, {expected}"
        if why := _why_no_part(part):
            return why
        pending += [(inner, depth + 1) for inner in _inside(part)]
    try:
        Draft202012Validator.check_schema(schema)  # with all parts inside it
    except SchemaError as error:
        return f"{error.message:.200}"
    pending = [(schema, 0)]
    while pending:
        part, _ = pending.pop()
        values = part.get("enum") if isinstance(part, dict) else None
        if values is not None and not any(fits_beside(value, part) for value in values):
            return "enum: no value of it fits what else is asked"
        pending += [(inner, 0) for inner in _inside(part)]
    return ""


def _inside(schema: Json) -> list[Json]:
    """The schemas directly inside the schema of a matcher."""
    found = list[Json]()
    for keyword in _SCHEMAS & schema.keys() if isinstance(schema, dict) else ():
        value = schema[keyword]
        found += value if isinstance(value, list) else [value]
    return found


def _why_no_part(schema: Json) -> str:
    """What is wrong with a schema, without those inside it, that the standard does not say."""
    if isinstance(schema, dict):
        for keyword, value in schema.items():
            if keyword not in _KEYWORDS:
                return f"found {keyword!r:.100}, expected {', '.join(sorted(_KEYWORDS))}"
            if keyword in ("enum", "const") and _has_object(value):
                return f"{keyword}: found an object, expected it outside: write it as a value"
            if keyword == "format" and value not in FORMATS:
                return f"found the format {value!r:.100}, expected one of {', '.join(FORMATS)}"
            if keyword == "pattern" and isinstance(value, str):
                try:
                    regular_expression(value)
                except ValueError as error:
                    return f"pattern: {error}"
    return ""


def _has_object(value: Json) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_has_object, value)))


@cache
def regular_expression(pattern: str) -> Any:
    """A regular expression, compiled by RE2; ``ValueError`` where it is none that RE2 has."""
    import re2

    options = re2.Options()
    options.log_errors = False
    if len(pattern) > _LONGEST:
        raise ValueError(f"found {len(pattern)} characters, expected {_LONGEST} at most")
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        why = error.args[0].decode(errors="replace") if error.args[0:1] else str(error)
        raise ValueError(f"{pattern!r:.100} is none of RE2: {why:.100}") from None


def check_pattern(_: Any, pattern: str, instance: Json, __: Json) -> Iterator[Any]:
    """``pattern`` of a schema, for a validator of `jsonschema`; what RE2 lacks is not looked at."""
    from jsonschema import ValidationError

    try:
        if isinstance(instance, str) and not regular_expression(pattern).search(instance):
            yield ValidationError(f"{instance!r:.100} does not match {pattern!r:.100}")
    except UnicodeEncodeError:  # an unpaired surrogate, which no pattern describes
        yield ValidationError(f"{instance!r:.100} does not match {pattern!r:.100}")
    except ValueError:
        return


@cache
def format_checker() -> Any:
    """The formats that are looked at, on every machine the same."""
    from jsonschema import FormatChecker

    checker = FormatChecker([name for name in FORMATS if name not in _SHAPES])
    for name in _SHAPES:
        checker.checks(name)(partial(_has_shape, name))
    return checker


def _has_shape(name: str, instance: Json) -> bool:
    if not isinstance(instance, str):
        return True
    if not re.fullmatch(_SHAPES[name], instance, re.ASCII | re.IGNORECASE):
        return False
    try:
        if name != "uri":
            day = "2000-01-01T" if name == "time" else ""
            datetime.fromisoformat(day + instance.upper())
    except ValueError:  # such as a 13th month
        return False
    return True


@cache
def _matcher_class() -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    return extend(Draft202012Validator, {"pattern": check_pattern})
