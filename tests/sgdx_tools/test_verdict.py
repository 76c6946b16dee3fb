"""One rule for the verdict, from one interval."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from sgdx_tools.data import Case, ExpectedCall, Json, Project, Tool, ToolWords, Variant
from sgdx_tools.keys import Gate
from sgdx_tools.predictions import predictions_from_rows
from sgdx_tools.scoring import score_files
from sgdx_tools.verdict import Verdict, fewest, judge, power

from ..conftest import ROOT
from .conftest import read_lines, user

TOOLS = {"book": Tool("book", "Book a table", {"type": "object", "properties": {}})}
GATE = Gate(3)
OTHER = Variant("v1", {"book": ToolWords("reserve")})


def verdict_of(
    under_original: Sequence[int | None],
    under_other: Sequence[int | None],
    gate: Gate = GATE,
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
    project = Project("tools", TOOLS, cases, variants, left_out=gone)
    rows = []
    names = {"original": "book", "v1": "reserve"}
    for variant, rights in zip(names, (under_original, under_other), strict=True):
        for i, right in enumerate(rights):
            calls = [{"name": names[variant]}] if (right == 1) != (i < no_call) else []
            row: Json = {"id": f"c{i}", "variant": variant, "calls": calls}
            rows.append(row | {"unread": right is None})
    files = predictions_from_rows(rows, project)
    return judge(project, files, score_files(project, files).result, gate)


def after_changes(count: int, right: int, lost: int, won: int, gate: Gate) -> Verdict:
    """The verdict where of some cases so many are right at first, lost and won."""
    before = [1] * right + [0] * (count - right)
    after = [0] * lost + [1] * (right - lost + won) + [0] * (count - right - won)
    return verdict_of(before, after, gate)


@pytest.mark.parametrize("row", read_lines(Path(__file__).with_name("verdicts.jsonl")))
def test_a_loss_of_some_cases(row: Json) -> None:
    """Predicted from the page, before they were run; of 66.67 points six cases show nothing."""
    count, right, lost, won, limit, end = row.values()
    verdict = after_changes(count, right, lost, won, Gate(limit))
    strict = after_changes(count, right, lost, won, Gate(limit, strict=True))
    assert verdict.end == strict.end == end
    statuses = {"passed": (0, 0), "failed": (1, 1), "cannot tell": (2, 2), "unclear": (0, 2)}
    assert (verdict.status, strict.status) == statuses[end]


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
    assert verdict_of(right, right, left_out=2).end == "unclear"
    assert "2 of 22 cases" in verdict_of(right, right, left_out=2).why
    # Other words that are none, and another version of the tools that is the same.
    assert verdict_of(right, right, other=Variant("v1")).end == "cannot tell"
    assert verdict_of(right, right, other=Variant("v1", made_by="tools")).end == "passed"
    assert [fewest(limit) for limit in (0, 0.03, 0.1, 0.2, 0.5)] == [6, 6, 7, 8, 13]


def test_a_weak_model_is_not_judged() -> None:
    """Six of 40 are right, and all are lost: not even that would fail; or it is below the least."""
    few, half = [1] * 6 + [0] * 34, [1] * 20 + [0] * 20
    assert verdict_of(few, [0] * 40).end == verdict_of(few, few).end == "cannot tell"
    assert verdict_of(half, [0] * 40).end == "failed"
    assert verdict_of(half, [0] * 40, Gate(3, min_right=50)).end == "failed"
    assert verdict_of(half, [0] * 40, Gate(3, min_right=50.1)).end == "cannot tell"
    # All cases of a tool are lost, which is said.
    assert "all 20 cases of book" in verdict_of(half, [0] * 40).why
    assert "all " not in verdict_of([1] * 40, [1] * 20 + [0] * 20).why.replace("all of it", "")


PAGE = (ROOT / "docs" / "your-own-tools.md").read_text()
# Of its table: cases, those right before, lost and won, the limit, the loss with its interval.
NUMBER = r" (\d+) \|"
SITUATION = re.compile(rf"^\|{5 * NUMBER} (.+), (.+) to (.+) \| (.+) \|$", re.M)


@pytest.mark.parametrize("situation", SITUATION.findall(PAGE))
def test_the_situations_of_the_page_are_judged_as_it_says(situation: tuple[str, ...]) -> None:
    *cases, loss, low, high, said = situation
    count, right, lost, won, limit = map(int, cases)
    verdict = after_changes(count, right, lost, won, Gate(limit))
    end, _, would_tell = said.partition(", ")
    assert verdict.end == end and would_tell.replace(" would", " cases would") in verdict.why
    points = [float(value) for value in (loss, low, high)]  # the ends are of other resamples
    assert [verdict.loss, verdict.low, verdict.high] == pytest.approx(points, abs=0.4)


@pytest.mark.parametrize(
    ("cases", "words"),
    [(5, ("5 cases", ": 6 ")), (20, ("20 cases", "35.00")), (40, ("40 cases", "17.50"))],
)
def test_what_so_many_cases_can_show_is_said_before(cases: int, words: tuple[str, ...]) -> None:
    """The same losses as those from which a verdict fails, and as many cases as it needs."""
    listed = tuple(Case(str(i), (), ()) for i in range(cases))
    text = power(Project("x", {}, listed), 3)
    assert all(word in text for word in words), text
