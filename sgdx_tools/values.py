"""Whether an expected value is one that a JSON Schema allows, so that a valid call can be right.

``jsonschema`` decides. An expected value may list alternatives, of which one valid one is enough. A
matcher may list values, too; of another, only types and enums tell that it takes no valid one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sgdx_metric.call_rules import alternatives, is_absent
from sgdx_metric.matchers import (
    MATCHES,
    check_pattern,
    fits,
    fits_beside,
    format_checker,
    is_matcher,
    why_no_matcher,
)

from .data import ABSENT, ANY_OF, Json, Tool
from .json_schema import step

if TYPE_CHECKING:
    from jsonschema import ValidationError

# Of these a value may be right that has alternatives in it, or lacks a part that may be left out;
# or they have patterns of names, on which a hostile one has no end.
_NOT_TOLD = {
    *("not", "if", "contains", "uniqueItems", "minProperties", "maxProperties"),
    *("dependentRequired", "dependentSchemas", "$dynamicRef"),
    *("patternProperties", "unevaluatedProperties", "unevaluatedItems"),
}
_MOST_LOOKS = 2000  # at schemas, by which it is told that no call fits a tool
_MEANINGS = {
    ABSENT: ("says that it is left out", '{"absent": {"any_of": [true]}}'),
    ANY_OF: ("lists right values", '{"any_of": [{"any_of": [...]}]}'),
    MATCHES: ("takes what a schema does", '{"matches": {"any_of": [...]}}'),
}


def fault(expected: Json, tool: Tool, is_whole: bool = True) -> str:
    """Why no valid call of a tool has the expected arguments; empty where one can.

    Without `is_whole`, a call may have other arguments beside them.
    """
    from jsonschema.exceptions import UnknownType, relevance
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    layout = tool.layout
    names = layout.names([""])
    unknown = [name for name in expected if name not in names]
    is_open = any(
        node.schema.get("patternProperties")
        or node.schema.get("additionalProperties", False) is not False
        or node.schema.get("unevaluatedProperties", False) is not False
        for node in layout.nodes.values()
        if not layout.values[node.path]
    )
    if unknown and not is_open:
        known = f"expected one of {', '.join(names)}" if names else "the tool has no parameters"
        return f"there is no argument {unknown[0]!r}, {known}"
    if why := next(_misread(expected, ("",), tool, ""), ""):
        return why
    schema = tool.parameters if is_whole else {**tool.parameters, "required": []}
    try:
        # The registry is empty, so that no address in a schema is asked.
        checks, formats = _validator(), format_checker()
        validator = checks(schema, registry=Registry(), format_checker=formats)
        error = max(validator.iter_errors(expected), key=relevance, default=None)
    except OverflowError:
        return "found an integer that no float holds"
    except (TypeError, AttributeError, RecursionError, UnknownType, Unresolvable):
        return ""  # the schema is none by the standard, such as one with a type of another language
    return "" if error is None else _said(error)


def _said(error: ValidationError) -> str:
    """What a validator found, and where; of a union, what it found in each branch."""
    from jsonschema.exceptions import relevance

    place = ""
    for key in error.absolute_path:
        place = f"{place}[{key}]" if isinstance(key, int) else step(place, key)
    if not error.context:
        return f"{place or 'the whole'}: {error.message:.300}"
    branches: dict[Any, list[ValidationError]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    whys = (_said(max(of_branch, key=relevance)) for of_branch in branches.values())
    return f"{place or 'the whole'}: fits none of {len(branches)} forms: {'; '.join(whys):.300}"


def why_no_call_fits(schema: Json) -> str:
    """Why no arguments fit the schema of a tool, as far as types, values and limits tell."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    looks = iter(range(_MOST_LOOKS))
    resolver = Registry().resolver_with_root(DRAFT202012.create_resource(schema))

    def parts(of: Any) -> Iterator[Json]:
        """A schema, and all that it says besides by references and ``allOf``."""
        pending = [of]
        while pending and next(looks, None) is not None:
            part = pending.pop()
            if isinstance(part, dict):
                yield part
                pending += part.get("allOf", ())
                if "$ref" in part:
                    pending.append(resolver.lookup(part["$ref"]).contents)

    def why(listed: Sequence[Any], place: str) -> str:
        """Why no value fits all of some schemas of a part that has to be there."""
        whole = place or "the whole"
        if next(looks, None) is None:
            return ""
        if any(of is False for of in listed):
            return f"{whole} allows nothing"
        known = [part for of in listed for part in parts(of)]
        values = [p.get("enum", [p.get("const")]) for p in known if {"enum", "const"} & {*p}]
        both: Json = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        both["allOf"] = known
        checks = _validator()(both, registry=Registry())
        if values and not any(checks.is_valid(value) for value in values[0]):
            return f"{whole}: none of the values {values[0]!r:.60} fits the rest of its schema"
        for of in ("imum", "Length", "Items"):
            low, high = (
                [p[key] for p in known if isinstance(p.get(key), int | float)]
                for key in (f"min{of}", f"max{of}")
            )
            if low and high and max(low) > min(high):
                return f"{whole}: its min{of} is {max(low)}, and its max{of} {min(high)}"
        alone = [{k: v for k, v in p.items() if k not in ("anyOf", "oneOf")} for p in known]
        for branches in (p[key] for p in known for key in ("anyOf", "oneOf") if p.get(key)):
            whys = [why([*alone, branch], place) for branch in branches]
            if all(whys):
                return whys[0]
        for name in dict.fromkeys(name for p in known for name in p.get("required", ())):
            own = [p["properties"][name] for p in known if name in p.get("properties", {})]
            if own and (said := why(own, step(place, name))):
                return said
        return ""

    try:
        return why([schema], "")
    except (TypeError, AttributeError, ValueError, RecursionError, LookupError, Unresolvable):
        return ""  # the schema is none by the standard


def _misread(expected: Any, paths: Sequence[str], tool: Tool, place: str) -> Iterator[str]:
    """Where a value may be alternatives, or an object of the tool's own with such an argument.

    Also what is wrong with a matcher.
    """
    layout, accepted = tool.layout, alternatives(expected)
    known = layout.names(paths)
    key = ABSENT if is_absent(expected) else ANY_OF if accepted != [expected] else ""
    key = MATCHES if is_matcher(expected) else key
    is_written_out = any(isinstance(v, dict) and v.keys() == {ANY_OF} for v in accepted)
    if key in known and not (key == ANY_OF and is_written_out):
        value = json.dumps(expected[key], ensure_ascii=False)[:60]
        meaning, written = _MEANINGS[key]
        yield (
            f'{place or "the whole"} is {{"{key}": {value}}}, which {meaning}, and the tool has an '
            f"argument {key} there: expected {written} for that argument"
        )
    elif key == MATCHES:
        if why := why_no_matcher(expected[MATCHES]):
            yield f"{place or 'the whole'}: matches: {why}"
    elif key == ANY_OF:
        for value in accepted:
            if not is_absent(value):
                yield from _misread(value, paths, tool, place)
    elif isinstance(expected, dict) and not key:
        for name, value in expected.items():
            yield from _misread(value, layout.at(paths, name), tool, step(place, name))
    elif isinstance(expected, list):
        for i, value in enumerate(expected):
            yield from _misread(value, layout.at(paths, i), tool, f"{place}[{i}]")


@cache
def _validator() -> Any:
    """A validator of JSON Schema 2020-12 for which alternatives are valid where one of them is."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    checks = {**Draft202012Validator.VALIDATORS, "required": _required, "pattern": check_pattern}
    checks["oneOf"] = checks["anyOf"]  # of which alternatives may fit several
    closed = checks["additionalProperties"]
    checks["additionalProperties"] = lambda validator, value, instance, schema: (
        () if "patternProperties" in schema else closed(validator, value, instance, schema)
    )
    kept = [key for key in checks if key not in _NOT_TOLD]
    of_nothing = dict.fromkeys(checks.keys() - kept, lambda *_: ())
    return extend(Draft202012Validator, {k: _for_one(k, checks[k]) for k in kept} | of_nothing)


def _for_one(keyword: str, check: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    """A keyword's check that has no fault in alternatives of which one is valid."""
    from jsonschema import ValidationError

    def checked(validator: Any, value: Any, instance: Any, schema: Json) -> Iterator[Any]:
        accepted = [one for each in alternatives(instance) for one in _listed(each)]
        if any(map(is_absent, accepted)):
            return  # it may be left out, whatever else is right
        if accepted != [instance]:
            faults = [
                next(validator.evolve(schema=schema).iter_errors(one), None) for one in accepted
            ]
            if faults and all(faults):
                yield faults[0]
        elif not is_matcher(instance) or keyword in ("anyOf", "allOf", "oneOf", "$ref"):
            yield from check(validator, value, instance, schema) or ()
        elif not _may_fit(keyword, value, instance[MATCHES]):
            yield ValidationError(f"no value of {keyword} {value!r:.100} fits {instance!r:.100}")

    return checked


def _listed(expected: Any) -> list[Any]:
    """The values that a matcher lists and takes; itself where it lists none."""
    schema = expected[MATCHES] if is_matcher(expected) else {}
    if "enum" in schema:
        return [value for value in schema["enum"] if fits_beside(value, schema)] or [expected]
    values = [schema["const"]] if "const" in schema else []
    return [value for value in values if fits(value, schema)] or [expected]


def _may_fit(keyword: str, allowed: Any, matcher: Json) -> bool:
    """Whether a matcher may take a value that a keyword allows, as far as types and enums tell."""
    if keyword in ("enum", "const"):
        return any(fits(value, matcher) for value in (allowed if keyword == "enum" else [allowed]))
    if keyword != "type" or "type" not in matcher:
        return True
    wanted, kinds = (
        {"integer" if kind == "number" else kind for kind in ([of] if isinstance(of, str) else of)}
        for of in (matcher["type"], allowed)
    )
    return bool(wanted & kinds)


def _required(validator: Any, names: Any, instance: Any, schema: Json) -> Iterator[Any]:
    """``required``, of values that may say that they are left out."""
    from jsonschema import ValidationError

    for name in names if isinstance(instance, dict) else ():
        if all(map(is_absent, alternatives(instance.get(name, {ABSENT: True})))):
            yield ValidationError(f"the required {name} is missing")


def as_expected(made: Any) -> Any:
    """A value that was made as a case expects it: `any_of` and its like are names of arguments.

    >>> as_expected({"filter": {"any_of": ["red", "blue"]}})
    {'filter': {'any_of': {'any_of': [['red', 'blue']]}}}
    """
    if isinstance(made, list):
        return [as_expected(item) for item in made]
    if not isinstance(made, dict):
        return made
    inner = {key: as_expected(value) for key, value in made.items()}
    if alternatives(made) != [made] or is_absent(made) or is_matcher(made):
        return {key: {ANY_OF: [value]} for key, value in inner.items()}
    return inner


def why_none_is_right(expected: Json, tool: Tool, is_whole: bool = True) -> str:
    """`fault` of expected arguments, where null stands for one that is left out.

    That is so also where the schema does not allow null.
    """
    why = fault(expected, tool, is_whole)
    return why and fault(without_null(expected), tool, is_whole) and why


def without_null(expected: Any) -> Any:
    """Expected arguments without those that are null, at any depth; matchers stay."""
    if isinstance(expected, list):
        return [without_null(item) for item in expected]
    if not isinstance(expected, dict) or is_matcher(expected):
        return expected
    if alternatives(expected) != [expected]:
        accepted = alternatives(expected)
        return {ANY_OF: [{ABSENT: True} if one is None else without_null(one) for one in accepted]}
    return {key: without_null(value) for key, value in expected.items() if value is not None}


def with_plain_alternatives(expected: Any, is_value: bool = True) -> Any:
    """Expected arguments in which an alternative that is itself ``{"any_of": [...]}`` is a value.

    So are the whole arguments, if `any_of`, `absent` or `matches` is the only one. Matchers stay.

    >>> with_plain_alternatives({"filter": {"any_of": [{"any_of": ["red", "blue"]}]}})
    {'filter': {'any_of': [{'any_of': {'any_of': [['red', 'blue']]}}]}}
    """
    if isinstance(expected, list):
        return [with_plain_alternatives(item, False) for item in expected]
    if not isinstance(expected, dict):
        return expected
    accepted, is_schema = alternatives(expected), is_matcher(expected)
    if is_schema and not is_value:
        return expected
    if accepted != [expected] and not is_value:
        return {
            ANY_OF: [
                v if is_absent(v) or is_matcher(v) else with_plain_alternatives(v) for v in accepted
            ]
        }
    inner = {key: with_plain_alternatives(value, False) for key, value in expected.items()}
    if accepted != [expected] or (is_value and (is_absent(expected) or is_schema)):
        return {key: {ANY_OF: [value]} for key, value in inner.items()}
    return inner
