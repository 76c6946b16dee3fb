"""One rule for the verdict, from one interval."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sgdx_tools.data import Case, ExpectedCall, Json, Tool, ToolSet, ToolWords, Variant
from sgdx_tools.predictions import predictions_from_rows
from sgdx_tools.scoring import score_files
from sgdx_tools.verdict import Verdict, fewest, judge, power

from .conftest import user

TOOLS = {"book": Tool("book", "Book a table", {"type": "object", "properties": {}})}
OTHER = Variant("v1", {"book": ToolWords("reserve")})


def verdict_of(
    under_original: Sequence[int | None],
    under_other: Sequence[int | None],
    max_drop: float = 3,
    left_out: int = 0,
    dialogues: int | None = None,
    no_call: int = 0,
    other: Variant = OTHER,
) -> Verdict:
    """The verdict on cases that are right (1), wrong (0) or unread (None) under two variants.

    The first `no_call` of them expect no call.
    """
    cases = tuple(
        Case(
            f"c{i}",
            (user("?"),),
            None if i < no_call else (ExpectedCall("book"),),
            dialogue=f"d{i % dialogues}" if dialogues else "",
        )
        for i in range(len(under_original))
    )
    variants = {"original": Variant("original"), "v1": other}
    gone = {f"gone{i}": "there is no tool" for i in range(left_out)}
    tool_set = ToolSet("tools", TOOLS, cases, variants, left_out=gone)
    rows = []
    names = {"original": "book", "v1": "reserve"}
    for variant, rights in zip(names, (under_original, under_other), strict=True):
        for i, right in enumerate(rights):
            calls = [{"name": names[variant]}] if (right == 1) != (i < no_call) else []
            row: Json = {"id": f"c{i}", "variant": variant, "calls": calls}
            rows.append(row | {"unread": right is None})
    files = predictions_from_rows(rows, tool_set)
    return judge(tool_set, files, score_files(tool_set, files).result, max_drop)


@pytest.mark.parametrize(
    ("lost", "cases", "limit", "end"),
    [
        (20, 20, 3, "failed"),
        (6, 6, 3, "failed"),
        (4, 6, 3, "passed"),  # 66.67 points, of which six cases show nothing
        (5, 5, 3, "cannot tell"),  # not even the loss of all would show anything
        (0, 3, 3, "cannot tell"),
        (6, 6, 10, "cannot tell"),
        (7, 7, 10, "failed"),
        (0, 20, 3, "passed"),
        (6, 20, 3, "passed"),
        (7, 20, 3, "failed"),
        (7, 20, 10, "passed"),
        (20, 20, 100, "passed"),  # no loss is above it
    ],
)
def test_a_loss_of_some_cases(lost: int, cases: int, limit: float, end: str) -> None:
    verdict = verdict_of([1] * cases, [0] * lost + [1] * (cases - lost), limit)
    assert verdict.end == end
    assert verdict.status == {"passed": 0, "failed": 1, "cannot tell": 2}[end]


def test_what_is_lost_and_what_cannot_be_told() -> None:
    right, wrong = [1] * 20, [0] * 20
    assert verdict_of([0] * 10 + [1] * 10, right).end == "passed"  # a gain is no loss
    # Of 20 cases 8 expect no call, and under other words a tool is called in all of them.
    verdict = verdict_of(right, [0] * 8 + [1] * 12, no_call=8)
    assert verdict.end == "failed" and "40.00 points" in verdict.why
    # All are lost, in five dialogues, of which nothing can be told; in ten it can.
    assert verdict_of(right, wrong, dialogues=5).end == "cannot tell"
    assert verdict_of(right, wrong, dialogues=10).end == "failed"
    assert verdict_of(right, [None] * 3 + [0] * 17).end == "cannot tell"
    assert verdict_of(right, [None] * 2 + [0] * 18).end == "failed"
    assert verdict_of(wrong, wrong).end == "cannot tell"
    assert verdict_of(right, right, left_out=3).end == "cannot tell"
    assert verdict_of(right, right, left_out=2).end == "passed"
    assert "2 of 22 cases" in verdict_of(right, right, left_out=2).why
    # Other words that are none, and another version of the tools that is the same.
    assert verdict_of(right, right, other=Variant("v1")).end == "cannot tell"
    assert verdict_of(right, right, other=Variant("v1", made_by="tools")).end == "passed"
    assert [fewest(limit) for limit in (0, 0.03, 0.1, 0.2, 0.5)] == [6, 6, 7, 8, 13]


@pytest.mark.parametrize(
    ("cases", "words"),
    [(5, ("5 cases", ": 6 ")), (20, ("20 cases", "35.00")), (40, ("40 cases", "17.50"))],
)
def test_what_so_many_cases_can_show_is_said_before(cases: int, words: tuple[str, ...]) -> None:
    """The same losses as those from which a verdict fails, and as many cases as it needs."""
    listed = tuple(Case(str(i), (), ()) for i in range(cases))
    text = power(ToolSet("x", {}, listed), 3)
    assert all(word in text for word in words), text
