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

from sgdx_metric.call_rules import CaseScore, alternatives, is_absent, score_arguments
from sgdx_metric.robustness import RIGHT
from sgdx_metric.variants import ORIGINAL

from .data import Case, Json, Rule, ToolSet, Wording, Words
from .json_schema import elements_of
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
            lost, won = _lost_and_won(tool_set, worded, outcomes[ORIGINAL], of_wording, name, rules)
            for element in lost.keys() | won.keys():
                ranked.append(
                    {
                        "wording": name,
                        "tool": element[0],
                        "path": element[1],
                        **both_words(tool_set, name, element),
                        "cases": expecting[element[0]],
                        "lost": lost[element],
                        "won": won[element],
                        "net": lost[element] - won[element],
                    }
                )
    return sorted(ranked, key=lambda e: (-e["net"], -e["lost"], e["wording"], e["tool"], e["path"]))


def _lost_and_won(
    tool_set: ToolSet,
    worded: Mapping[str, WordedTools],
    original: Sequence[Outcome],
    reworded: Sequence[Outcome],
    name: str,
    rules: Rule,
) -> tuple[Counter[ElementId], Counter[ElementId]]:
    """How many cases each reworded element of a wording lost and won."""
    elements = reworded_elements(tool_set.wordings[name])
    lost, won = Counter[ElementId](), Counter[ElementId]()
    for case, before, after in zip(tool_set.cases, original, reworded):
        if before.is_right and not after.is_right:
            lost.update(blamed(case, after, worded[name], elements, rules))
        elif after.is_right and not before.is_right:
            won.update(blamed(case, before, worded[ORIGINAL], elements, rules))
    return lost, won


def reworded_elements(wording: Wording) -> dict[ElementId, Words]:
    """The new words of each element that a wording changes."""
    elements: dict[ElementId, Words] = {}
    for tool, words in wording.tools.items():
        if words.name is not None or words.description is not None:
            elements[tool, ""] = words
        elements |= {(tool, path): part for path, part in words.parameters.items()}
    return elements


def both_words(tool_set: ToolSet, name: str, element: ElementId) -> dict[str, dict[str, str]]:
    """The ``original`` and the ``reworded`` words of an element, only those that change.

    Args:
        tool_set: The tools and wordings.
        name: The wording's name.
        element: The element, which that wording changes.
    """
    tool, path = element
    original = elements_of(tool_set.tools[tool])[path]
    words = tool_set.wordings[name].tools[tool]
    new = words.parameters[path] if path else words
    changes = {
        field: (getattr(original, field), getattr(new, field))
        for field in ("name", "description")
        if getattr(new, field) is not None
    }
    return {
        "original": {field: old for field, (old, _) in changes.items()},
        "reworded": {field: text for field, (_, text) in changes.items()},
    }


def blamed(
    case: Case,
    outcome: Outcome,
    worded: WordedTools,
    elements: Mapping[ElementId, Words],
    rules: Rule,
) -> set[ElementId]:
    """Those of some elements that a wrong answer has to do with.

    Args:
        case: The case.
        outcome: Its wrong outcome under a wording.
        worded: The tools under that wording.
        elements: The elements to choose from.
        rules: How values are compared.
    """
    wrong = set(wrong_elements(case, outcome, worded, rules)) & elements.keys()
    tools = {call.name for call in case.expect or ()}
    return wrong or {element for element in elements if element[0] in tools}


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
