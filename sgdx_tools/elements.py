"""Which reworded names and descriptions cost how many cases.

A case that is right under the original words and wrong under others is lost to the words that its
wrong answer has to do with: those of the tools where a wrong tool is called, and those of the
arguments that are wrong. Where none of these were reworded, it is lost to all reworded words of the
expected tools. A case that is wrong under the original and right under others is won by them in the
same way. This says where to look; a wording with one element changed is what measures it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sgdx_metric.call_rules import CaseScore, alternatives, is_absent, score_arguments
from sgdx_metric.robustness import RIGHT
from sgdx_metric.variants import ORIGINAL

from .data import Case, Json, Rule, Tool, ToolSet, Wording, Words
from .json_schema import Layout
from .renaming import WordedTools

# A tool's id and the path of one of its parameters; the path is empty for the tool's own words.
ElementId = tuple[str, str]


class Outcome(NamedTuple):
    """What became of a case under a wording.

    Attributes:
        score: Its scores.
        expected: The calls that are right, in the wording's names; None where none is.
        made: The calls that were made.
    """

    score: CaseScore
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
    """The reworded elements that lost or won cases, the most costly first.

    Args:
        tool_set: Tools, cases and wordings.
        worded: The tools under each wording.
        outcomes: What became of each case, by wording.
        rules: How values are compared.

    Returns:
        For each element ``wording``, ``tool``, ``path`` (empty for the tool itself), its
        ``original`` and ``reworded`` words, the number of ``cases`` that expect a call of the tool,
        and how many were ``lost`` and ``won``, with ``net`` = lost - won. Empty without the
        original.
    """
    if ORIGINAL not in outcomes:
        return []
    ranked = []
    expecting = Counter(
        tool for case in tool_set.cases for tool in {call.name for call in case.expect or ()}
    )
    for name, of_wording in outcomes.items():
        if name != ORIGINAL:
            elements = reworded_elements(tool_set.wordings[name])
            cases = zip(tool_set.cases, outcomes[ORIGINAL], of_wording)
            lost, won = _lost_and_won(cases, worded[ORIGINAL], worded[name], elements, rules)
            for element in lost.keys() | won.keys():
                tool, path = element
                ranked.append(
                    {
                        "wording": name,
                        "tool": tool,
                        "path": path,
                        **both_words(tool_set.tools[tool], path, elements[tool][path]),
                        "cases": expecting[tool],
                        "lost": lost[element],
                        "won": won[element],
                        "net": lost[element] - won[element],
                    }
                )
    return sorted(ranked, key=lambda e: (-e["net"], -e["lost"], e["wording"], e["tool"], e["path"]))


def _lost_and_won(
    cases: Iterable[tuple[Case, Outcome, Outcome]],
    original: WordedTools,
    worded: WordedTools,
    elements: Mapping[str, Mapping[str, Words]],
    rules: Rule,
) -> tuple[Counter[ElementId], Counter[ElementId]]:
    """How many cases each reworded element of a wording lost and won.

    Args:
        cases: Each case with what became of it under the original and under the wording.
        original, worded: The tools under either.
        elements: The elements that the wording changes.
        rules: How values are compared.
    """
    lost, won = Counter[ElementId](), Counter[ElementId]()
    for case, before, after in cases:
        if before.is_right and not after.is_right:
            lost.update(blamed(case, after, worded, elements, rules))
        elif after.is_right and not before.is_right:
            won.update(blamed(case, before, original, elements, rules))
    return lost, won


def reworded_elements(wording: Wording) -> dict[str, dict[str, Words]]:
    """The new words of each element that a wording changes, by tool and path."""
    elements: dict[str, dict[str, Words]] = {}
    for tool, words in wording.tools.items():
        of_tool = dict(words.parameters)
        if words.name is not None or words.description is not None:
            of_tool = {"": words, **of_tool}
        if of_tool:
            elements[tool] = of_tool
    return elements


def both_words(original: Tool, path: str, new: Words) -> dict[str, dict[str, str]]:
    """The ``original`` and the ``reworded`` words of an element, only those that change.

    Args:
        original: The tool in its original words.
        path: The element's path; empty for the tool itself.
        new: The element's new words.
    """
    old: Any = Layout(original.parameters, "").elements[path] if path else original
    fields = [f for f in ("name", "description") if getattr(new, f) is not None]
    return {
        "original": {field: getattr(old, field) for field in fields},
        "reworded": {field: getattr(new, field) for field in fields},
    }


def blamed(
    case: Case,
    outcome: Outcome,
    worded: WordedTools,
    elements: Mapping[str, Mapping[str, Words]],
    rules: Rule,
) -> set[ElementId]:
    """Those of some elements that a wrong answer has to do with.

    Args:
        case: The case.
        outcome: Its wrong outcome under a wording.
        worded: The tools under that wording.
        elements: The elements to choose from, by tool and path.
        rules: How values are compared.
    """
    wrong = {
        (tool, path)
        for tool, path in wrong_elements(case, outcome, worded, rules)
        if path in elements.get(tool, {})
    }
    tools = {call.name for call in case.expect or ()}
    return wrong or {(tool, path) for tool in tools for path in elements.get(tool, {})}


def wrong_elements(
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
        pairs = zip(
            (call["arguments"] for call in outcome.expected or () if call["name"] == name),
            (call["arguments"] for call in outcome.made if call["name"] == name),
        )
        for arguments, values in pairs:
            for path in _wrong_paths(arguments, values, worded, ids[name], rules):
                yield ids[name], path


def _wrong_paths(
    expected: Json, made: Any, worded: WordedTools, tool: str, rules: Rule
) -> Iterator[str]:
    """The paths of the arguments of a call that are missing, wrong, or not expected."""
    renaming = worded.renaming(tool)
    schema = {**worded.tool(tool).parameters, "required": []}
    values = made if isinstance(made, dict) else {}
    for key in {**expected, **values}:
        if not _is_right(key, expected, values, schema, rules):
            yield from renaming.paths_below(key)


def _is_right(key: str, expected: Json, values: Json, schema: Json, rules: Rule) -> bool:
    if key not in expected:
        return False
    if key not in values:
        return any(map(is_absent, alternatives(expected[key])))
    score = score_arguments({key: expected[key]}, {key: values[key]}, schema, rules)
    return score >= RIGHT
