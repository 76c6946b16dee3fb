"""The first line of a prediction file: what it may say, and what is refused."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_eval.prediction_files import Header, check_data, check_one_system, system_acts

from ..sgdx_metric.frames import Row

OTHER = "0123456789abcdef"


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ({}, {}, True),
        ({"system": {"model": "A"}}, {}, True),
        ({"oracle": True}, {}, True),
        ({"system": {"model": "A", "seed": 1}}, {"system": {"seed": 1, "model": "A"}}, True),
        ({"system": {"model": "A"}}, {"system": {"model": "A", "seed": 1}}, False),
        ({"system": {"model": {"a": 1}}}, {"system": {"model": {"a": 2}}}, False),
        ({"oracle": True}, {"oracle": False}, False),
    ],
)
def test_files_are_of_one_system_where_its_facts_are_equal(
    one: Row, other: Row, is_one: bool
) -> None:
    headers = {"original": Header(), "v1": Header(**one), "v2": Header(**other)}
    if is_one:
        check_one_system(headers)
        return
    with pytest.raises(SgdxError, match="v2"):
        check_one_system(headers)


@pytest.mark.parametrize(
    ("header", "is_of_these"),
    [
        (Header(), True),
        (Header(wording="0123abcd"), True),
        (Header(wording="ffffffff"), False),
        (Header(data=OTHER), False),
        (Header(data="1997e12934add94d", wording="ffffffff"), True),  # of some services alone
    ],
)
def test_predictions_of_a_wording_of_ones_own(header: Header, is_of_these: bool) -> None:
    with nullcontext() if is_of_these else pytest.raises(SgdxError, match="mine"):
        check_data(header, "mine", "1997e12934add94d", "0123abcd")


@pytest.mark.parametrize(
    ("stated", "option", "expected"),
    [
        ([True, True], None, "yes"),
        ([False, None], None, "mixed"),
        ([False, None], "no", "no"),
        ([None, "yes"], None, "unknown"),
    ],
)
def test_whether_dialogue_acts_were_used(
    stated: list[Any], option: str | None, expected: str
) -> None:
    headers = {str(i): Header(system={"system_acts": acts}) for i, acts in enumerate(stated)}
    assert system_acts(headers, option) == expected
    with pytest.raises(SgdxError, match="--system-acts"):
        system_acts({"v1": Header(system={"system_acts": True})}, "no")
