"""Which reworded names and descriptions cost how many cases.

A case that is right under the original words and wrong under others is lost to the words that its
wrong answer has to do with: those of the tools where a wrong tool is called, and those of the
arguments that are wrong. Where none of these were reworded, it is lost to all reworded words of the
expected tools. A case that is wrong under the original and right under others is won by them in the
same way. This says where to look; a wording with one element changed is what measures it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sgdx_metric.call_rules import CaseScore, score_arguments
from sgdx_metric.core import RIGHT
from sgdx_metric.variants import ORIGINAL

from .data import Case, ElementId, Json, Rule, Tool, ToolSet, Words
from .json_schema import elements_of
from .renaming import WordedTools


class Outcome(NamedTuple):
    """What became of a case under a wording."""

    score: CaseScore
    # The calls that are right, in the wording's names; None where none is.
    expected: Sequence[Json] | None
    made: Sequence[Json]

    @property
    def is_right(self) -> bool:
        """Whether the calls, or the lack of any, count as right: a score of at least 0.5."""
        score = self.score.no_call if self.expected is None else self.score.call
        return score is not None and score >= RIGHT


def rank_elements(
    tool_set: ToolSet,
    worded: Mapping[str, WordedTools],
    outcomes: Mapping[str, Sequence[Outcome]],
    rules: Rule,
) -> list[dict[str, Any]]:
    """The reworded elements that lost or won cases, the most costly first, as scores.json has them.

    Of each it says how many `cases` expect a call of the tool, and how many were `lost` and `won`.
    """
    if ORIGINAL not in outcomes:
        return []
    expecting = Counter(
        tool for case in tool_set.cases for tool in {call.name for call in case.expect or ()}
    )
    ranked = []
    for name in outcomes:
        elements = tool_set.wordings[name].elements()
        lost, won = Counter[ElementId](), Counter[ElementId]()
        for case, before, after in zip(tool_set.cases, outcomes[ORIGINAL], outcomes[name]):
            if before.is_right and not after.is_right:
                lost.update(blamed(case, after, worded[name], elements, rules))
            elif after.is_right and not before.is_right:
                won.update(blamed(case, before, worded[ORIGINAL], elements, rules))
        for tool, path in lost.keys() | won.keys():
            element = tool, path
            ranked.append(
                {
                    "wording": name,
                    "tool": tool,
                    "path": path,
                    **both_words(tool_set.tools[tool], path, elements[element]),
                    "cases": expecting[tool],
                    "lost": lost[element],
                    "won": won[element],
                    "net": lost[element] - won[element],
                }
            )
    return sorted(ranked, key=lambda e: (-e["net"], -e["lost"], e["wording"], e["tool"], e["path"]))


def both_words(tool: Tool, path: str, new: Words) -> dict[str, dict[str, str]]:
    """The ``original`` and the ``reworded`` words of an element, only those that change."""
    old = elements_of(tool)[path]
    fields = [f for f in ("name", "description") if getattr(new, f) is not None]
    return {
        "original": {field: getattr(old, field) for field in fields},
        "reworded": {field: getattr(new, field) for field in fields},
    }


def blamed(
    case: Case,
    outcome: Outcome,
    worded: WordedTools,
    elements: Mapping[ElementId, Words],
    rules: Rule,
) -> set[ElementId]:
    """Those of a wording's elements that a wrong outcome, under these words, has to do with."""
    tools = {call.name for call in case.expect or ()}
    wrong = elements.keys() & _wrong_elements(case, outcome, worded, rules)
    return wrong or {(tool, path) for tool, path in elements if tool in tools}


def _wrong_elements(
    case: Case, outcome: Outcome, worded: WordedTools, rules: Rule
) -> Iterator[ElementId]:
    """The tools that are called by mistake or not called, and the arguments that are wrong."""
    ids = worded.ids(case)
    expected = Counter(call["name"] for call in outcome.expected or ())
    made = Counter(call["name"] for call in outcome.made)
    for name in (expected - made) + (made - expected):
        if name in ids:
            yield ids[name], ""
    for name in expected & made:
        # What is left out is looked at by itself, and not by what the schema requires.
        schema = {**worded.tool(ids[name]).parameters, "required": []}
        pairs = zip(
            (call["arguments"] for call in outcome.expected or () if call["name"] == name),
            (call["arguments"] for call in outcome.made if call["name"] == name),
        )
        for right, given in pairs:
            values = given if isinstance(given, dict) else {}
            for key in {**right, **values}:
                one, other = ({key: of[key]} if key in of else {} for of in (right, values))
                if score_arguments(one, other, schema, rules) < RIGHT:
                    for path in worded.renaming(ids[name]).paths_below(key):
                        yield ids[name], path
