"""The first line of a prediction file: what it may say, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from baselines.copies.systems import copy_system, generate
from baselines.data.requested import RequestedData
from sgdx_dataset import SgdxError, open_release
from sgdx_eval.headers import (
    Header,
    check_data,
    check_one_system,
    parse_header,
    read_header,
    system_acts,
)
from sgdx_metric import score_files as score_states
from sgsacc_metric import score_files as score_responses

from ..sgdx_metric.frames import Row, written

OTHER = "0123456789abcdef"
# A field, another value than that of these references, and what the error names.
WRONG: list[tuple[str, Any, str]] = [
    ("variant", "v2", "variant"),
    ("split", "train", "split"),
    ("data", OTHER, "data"),
    ("wording", "0123abcd", "wording"),
    ("dialogues", "1@b629d411", "dialogues"),
    ("system", {"model": "another"}, "model"),
    ("system", {"model": "m", "beams": 4}, "beams"),
    ("oracle", False, "oracle"),
    ("system", "m", "system"),
    ("oracle", "no", "oracle"),
    ("counts", 3, "counts"),
]


@pytest.fixture
def states(gold: dict[str, list[Row]], tmp_path: Path) -> dict[str, Path]:
    return {name: written(tmp_path / f"{name}.jsonl", gold[name]) for name in ("original", "v1")}


@pytest.fixture
def responses(tmp_path: Path) -> dict[str, Path]:
    data = RequestedData("sample", "test")
    paths = generate(copy_system("gold"), data, ["original", "v1"], tmp_path)
    for path in paths:
        path.write_text(path.read_text().partition("\n")[2])
    return {path.stem: path for path in paths}


def with_headers(paths: dict[str, Path], **changes: Any) -> dict[str, Path]:
    """The files with the headers of an oracle of theirs; that of v1 has changes."""
    for name, path in paths.items():
        header = {
            "variant": name,
            "split": "test",
            "source": "sample",
            "data": open_release("sample").data_digest("test", name),
            "oracle": True,
            "system": {"model": "m"},
        }
        header |= changes if name == "v1" else {}
        path.write_text(json.dumps({"metadata": header}) + "\n" + path.read_text())
    return paths


@pytest.mark.parametrize(("field", "value", "named"), WRONG)
@pytest.mark.parametrize(
    ("files", "score"), [("states", score_states), ("responses", score_responses)]
)
def test_a_header_of_other_references_or_another_system_is_refused(
    files: str,
    score: Callable[..., Any],
    field: str,
    value: Any,
    named: str,
    request: pytest.FixtureRequest,
) -> None:
    paths = with_headers(request.getfixturevalue(files), **{field: value})
    with pytest.raises(SgdxError, match=rf"v1.*\b{named}\b"):
        score(paths, source="sample", split="test")


@pytest.mark.parametrize(
    ("files", "score"), [("states", score_states), ("responses", score_responses)]
)
def test_scores_repeat_headers_and_say_oracle(
    files: str, score: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    paths = with_headers(request.getfixturevalue(files), note="of one's own", data=None)
    scores = score(paths, source="sample", split="test")
    assert scores["predictions"]["v1"] == {
        "variant": "v1",
        "split": "test",
        "source": "sample",
        "oracle": True,
        "system": {"model": "m"},
    }
    assert "|oracle:yes|" in scores["signature"]


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


def test_a_header_is_told_from_a_row(tmp_path: Path) -> None:
    path = tmp_path / "v1.jsonl"
    line = b' { "metadata" :{"split":"test", "mine": 1}} '
    assert parse_header(line, path) == Header(split="test")
    assert parse_header(b'{"frame_id": "1_00000/0/Cabs_1"}', path) is None
    path.write_bytes(line)
    assert read_header(path) == Header(split="test")
    assert read_header(tmp_path) == Header()


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
