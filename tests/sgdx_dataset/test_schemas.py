"""Reading schemas and lining variants up with the original."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.words import check_variant, read_schema

from .conftest import ORIGINAL, SCHEMAS

Json = Any
PATHS = ("schema.json", "v1/schema.json")


def schema_of(service: Json, path: str = "v1/schema.json") -> Any:
    return read_schema(json.dumps([service]).encode(), path)


def test_a_variant_in_other_words_lines_up() -> None:
    for variant in SCHEMAS.values():
        check_variant(schema_of(ORIGINAL, "schema.json"), schema_of(variant), "mine", PATHS)


def _set(*path: str | int, value: Json) -> Callable[[Json], None]:
    def edit(service: Json) -> None:
        for step in path[:-1]:
            service = service[step]
        service[path[-1]] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda service: service["slots"].pop(),
            "v1/schema.json: service Flats_11: number of slots is 2, expected 3 as in schema.json",
        ),
        (
            lambda service: service["intents"].pop(),
            "service Flats_11: number of intents is 1, expected 2",
        ),
        (
            _set("slots", 2, "is_categorical", value=False),
            "service Flats_11, slot purpose: is_categorical is False, expected True",
        ),
        (
            _set("slots", 2, "possible_values", value=["buy", "rent"]),
            "slot purpose: possible_values is ['buy', 'rent'], expected ['rent', 'buy']",
        ),
        (
            _set("intents", 1, "is_transactional", value=False),
            "service Flats_11, intent SeeFlat: is_transactional is False, expected True",
        ),
        (
            _set("intents", 1, "required_slots", value=["town"]),
            "intent SeeFlat: required_slots is ['town'], expected ['city'] as in schema.json",
        ),
    ],
)
def test_a_variant_that_does_not_line_up_is_named(
    edit: Callable[[Json], None], message: str
) -> None:
    variant = copy.deepcopy(SCHEMAS["v1"])
    edit(variant)
    with pytest.raises(SgdxError) as error:
        check_variant(schema_of(ORIGINAL, "schema.json"), schema_of(variant), "mine", PATHS)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'[{"service_name": "A_1", "desc', "p: not a schema.json of the release: Input data was"),
        (b'{"service_name": "A_1"}', "Expected `array`, got `object`"),
        (b'[{"service_name": "A_1"}]', "Object missing required field `description` - at `$[0]`"),
        (b"[\xff]", "p: not a schema.json of the release"),
    ],
)
def test_a_malformed_schema_is_named(data: bytes, message: str) -> None:
    with pytest.raises(SgdxError) as error:
        read_schema(data, "p")
    assert message in str(error.value)


def test_a_service_with_a_slash_in_its_name_is_refused() -> None:
    """Were it accepted, frame ids would name another service: A/Flats_1 would count as Flats_1."""
    service = copy.deepcopy(ORIGINAL) | {"service_name": "A/Flats_1"}
    with pytest.raises(SgdxError, match="service A/Flats_1: found a '/'"):
        schema_of(service)


def test_two_slots_of_one_name_are_refused() -> None:
    """Were they accepted, renaming would lose one of them."""
    service = copy.deepcopy(ORIGINAL)
    service["slots"][1]["name"] = "city"
    with pytest.raises(SgdxError, match="service Flats_1: slot city appears twice"):
        schema_of(service)
