"""Which reworded names and descriptions cost how many cases.

A case that is right under the original words and wrong under others is lost to the words that its
wrong answer has to do with: those of the tools where a wrong tool is called, and those of the
argument, or of the part of one, that is missing, extra or wrong. Where these were not reworded, it
is lost to the nearest words around them. A case that is wrong under the original and right under
others is won by them in the same way. This says where to look; a variant with one element changed
is what measures it.
"""

from __future__ import annotations

import json
import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from sgdx_metric.call_rules import CaseScore, alternatives, is_absent, score_arguments
from sgdx_metric.columns import Floats
from sgdx_metric.matchers import is_matcher
from sgdx_metric.statistics import RIGHT, stand_out
from sgdx_metric.variants import ORIGINAL

from .data import Case, ElementId, Json, Project, Rule, Source, Words
from .json_schema import step
from .renaming import Renaming, WordedTools
from .versions import changes


class Outcome(NamedTuple):
    """What became of a case under a variant."""

    score: CaseScore
    # The calls that are right, in the variant's names; None where none is.
    expected: Sequence[Json] | None
    made: Sequence[Json]
    # How the answer begins where it could not be read; None where it could.
    unread: str | None = None
    # What was called first, where a case has several steps.
    first: Sequence[Json] = ()

    @property
    def is_right(self) -> bool:
        """Whether the calls, or the lack of any, are right."""
        score = self.score.no_call if self.expected is None else self.score.call
        return score == 1


def rank_elements(
    project: Project,
    worded: Mapping[str, WordedTools],
    outcomes: Mapping[str, Sequence[Outcome]],
    rules: Rule,
) -> tuple[list[dict[str, Any]], int]:
    """The reworded elements that lost or won cases, the most costly first, as scores.json has them.

    Of each it says in how many `cases` the tool is expected or called, how many of them were
    `lost` and `won`, and the `chance` that the largest loss of all is as large. Also how many
    elements were looked at: those of tools that are expected or called in any case.
    """
    if ORIGINAL not in outcomes:
        return [], 0
    ranked, nets, looked_at = list[dict[str, Any]](), list[Floats](), 0
    cluster = np.unique([case.cluster for case in project.cases], return_inverse=True)[1]
    for name in outcomes:
        elements = changed_elements(project, name)
        lost, won, cases = Counter[ElementId](), Counter[ElementId](), Counter[str]()
        net: dict[ElementId, Floats] = {}  # by dialogue
        of_cases = zip(project.cases, outcomes[ORIGINAL], outcomes[name], strict=True)
        for i, (case, before, after) in enumerate(of_cases):
            tools = {call.name for call in case.expect or ()}
            for outcome, of in ((before, ORIGINAL), (after, name)):
                ids = worded[of].ids(case)
                tools |= {ids[call["name"]] for call in outcome.made if call["name"] in ids}
            cases.update(tools)
            if before.is_right and not after.is_right:
                found, sign = blamed(case, after, worded[name], rules, elements), 1
                lost.update(found)
            elif after.is_right and not before.is_right:
                found, sign = blamed(case, before, worded[ORIGINAL], rules, elements), -1
                won.update(found)
            else:
                continue
            for element in found:
                row = net.setdefault(element, np.zeros(cluster.max() + 1))
                row[cluster[i]] += sign
        looked_at += sum(tool in cases for tool, _ in elements)
        for tool, path in lost.keys() | won.keys():
            element = tool, path
            nets.append(net[element])
            ranked.append(
                {
                    "variant": name,
                    "tool": tool,
                    "path": path,
                    **elements[element],
                    "cases": cases[tool],
                    "lost": lost[element],
                    "won": won[element],
                    "net": lost[element] - won[element],
                }
            )
    for of_element, chance in zip(ranked, stand_out(np.array(nets))):
        of_element["chance"] = round(float(chance), 4)
    key = operator.itemgetter("variant", "tool", "path")
    ranked.sort(key=lambda e: (-e["net"], -e["lost"], *key(e)))
    return ranked, looked_at


def confusion(
    cases: Sequence[Case],
    worded: Mapping[str, WordedTools],
    outcomes: Mapping[str, Sequence[Outcome]],
    source: Source,
) -> list[dict[str, Any]]:
    """Which tool was called in place of which, those first that were most often.

    Of each pair it has the ids `expected` and `called`, None for no call, and the `cases` by
    variant; where both are of different servers, these as `crosses`. What is called by no known
    name is a tool of that name. Unread answers are left out.
    """
    pairs: dict[tuple[str, str], Counter[str]] = {}
    for name, of_variant in outcomes.items():
        for case, outcome in zip(cases, of_variant):
            if outcome.unread is not None:
                continue
            ids = worded[name].ids(case)
            expected = Counter(ids[call["name"]] for call in outcome.expected or ())
            made = Counter(ids.get(call["name"], call["name"]) for call in outcome.made)
            if case.forbid:
                made = Counter({tool: made[tool] for tool in case.forbid if tool in made})
            missing, extra = (sorted(d.elements()) for d in (expected - made, made - expected))
            for pair in {*zip_longest(missing, extra, fillvalue="")}:
                pairs.setdefault(pair, Counter())[name] += 1
    ordered = sorted(pairs.items(), key=lambda item: (-item[1].total(), item[0]))
    return [
        {
            "expected": expected or None,
            "called": called or None,
            "cases": {name: counts[name] for name in outcomes},
            **({"crosses": between} if len({*between, ""}) == 3 else {}),
        }
        for (expected, called), counts in ordered
        for between in [[source.server_of(expected), source.server_of(called)]]
    ]


def changed_elements(project: Project, name: str) -> dict[ElementId, dict[str, dict[str, str]]]:
    """The ``original`` and ``reworded`` words of what a variant changes, only those that change.

    What another version of the tools changes beside words is the ``change`` of the reworded ones.
    """
    variant = project.variants[name]
    words = variant.elements()
    structure = changes(project.tools, variant) if variant.version is not None else {}
    old = {tool: project.tools[tool].elements for tool in variant.tools}
    elements = {}
    for element in {**words, **structure}:
        tool, path = element
        new = words.get(element, Words())
        fields = [f for f in ("name", "description") if getattr(new, f) is not None]
        change = {"change": structure[element]} if element in structure else {}
        elements[element] = {
            "original": {field: getattr(old[tool][path], field) for field in fields},
            "reworded": {field: getattr(new, field) for field in fields} | change,
        }
    return elements


class Difference(NamedTuple):
    """A leaf in which a call differs from the expected one, or a call that is missing or extra."""

    # Such as ``missing: party_size``, in the variant's names.
    text: str
    # The elements that it has to do with: those nearest to it first, those around them later.
    elements: Sequence[set[ElementId]]


def blamed(
    case: Case,
    outcome: Outcome,
    worded: WordedTools,
    rules: Rule,
    elements: Mapping[ElementId, object],
) -> set[ElementId]:
    """Those of a variant's elements that a wrong outcome, under these words, has to do with."""
    if outcome.unread is not None:
        return set()
    found = differences(case, outcome, worded, rules)
    reworded = ([near & elements.keys() for near in d.elements] for d in found)
    nearest = {element for near in reworded for element in next(filter(None, near), ())}
    return nearest or elements.keys() & {(call.name, "") for call in case.expect or ()}


def differences(
    case: Case, outcome: Outcome, worded: WordedTools, rules: Rule
) -> Iterator[Difference]:
    """How the calls that were made differ from the expected ones."""
    if outcome.unread is not None:  # which calls it makes is not known
        return
    ids = worded.ids(case)
    expected = Counter(call["name"] for call in outcome.expected or ())
    made = Counter(call["name"] for call in outcome.made)
    for name in expected - made:
        tool = ids[name]
        below = {(tool, path) for path in worded.renaming(tool).layout.elements}
        yield Difference(f"missing: a call of {name}", [{(tool, "")}, below])
    for name in made - expected:
        if case.forbid and ids.get(name) not in case.forbid:
            continue
        yield Difference(f"extra: a call of {name}", [{(ids[name], "")}] if name in ids else [])
    for name in expected & made:
        # What is left out is looked at by itself, and not by what the schema requires.
        schema = {**worded.tool(ids[name]).parameters, "required": []}
        renaming = worded.renaming(ids[name])
        pairs = zip(
            (call["arguments"] for call in outcome.expected or () if call["name"] == name),
            (call["arguments"] for call in outcome.made if call["name"] == name),
        )
        for right, given in pairs:
            values = given if isinstance(given, dict) else {}
            for key in right if case.extra == "allow" else {**right, **values}:
                one, other = ({key: of[key]} if key in of else {} for of in (right, values))
                if score_arguments(one, other, schema, rules) >= RIGHT:
                    continue
                for place, text, around in _leaves(one, other, [("",)], "", renaming):
                    near = [{(ids[name], path) for path in paths} for paths in around]
                    yield Difference(f"{text}: {place}", near)


# Where a leaf stands in the variant's names, what is wrong with it, and the paths that describe it,
# the nearest first.
_Leaf = tuple[str, str, list[Sequence[str]]]


def _leaves(
    expected: Any, value: Any, around: list[Sequence[str]], place: str, renaming: Renaming
) -> list[_Leaf]:
    """The leaves in which a value differs from an expected one; itself where none is known."""
    whole = [(place, f"found {_short(value)}, expected {_short(expected)}", around)]
    if alternatives(expected) != [expected]:
        accepted = [e for e in alternatives(expected) if not is_absent(e)]
        found = [_leaves(e, value, around, place, renaming) for e in accepted]
        return min(found, key=len, default=whole) if len(accepted) == 1 else whole
    leaves: list[_Leaf] = []
    if is_matcher(expected):
        return whole
    if isinstance(expected, dict) and isinstance(value, dict):
        for key in {**expected, **value}:
            inner: list[Sequence[str]] = [renaming.member(around[0], key), *around]
            where = step(place, key)
            if key not in value:
                if not any(e is None or is_absent(e) for e in alternatives(expected[key])):
                    used = _used(expected[key], inner[0], renaming)
                    leaves.append((where, "missing", [(*inner[0], *used), *around]))
            elif key not in expected and value[key] is not None:
                # what only another version has stands at the path by which it is called
                leaves.append((where, "extra", inner if inner[0] else [(where,)]))
            elif key in expected and not _is_right(expected[key], value[key]):
                leaves += _leaves(expected[key], value[key], inner, where, renaming)
    elif isinstance(expected, list) and isinstance(value, list) and len(expected) == len(value):
        for i, (one, other) in enumerate(zip(expected, value)):
            inner = [renaming.layout.at(around[0], i), *around]
            if not _is_right(one, other):
                leaves += _leaves(one, other, inner, f"{place}[{i}]", renaming)
    return leaves or whole


def _is_right(expected: Any, value: Any) -> bool:
    return score_arguments({"it": expected}, {"it": value}, {}, "exact") == 1


def _used(expected: Any, paths: Sequence[str], renaming: Renaming) -> list[str]:
    """The paths of all that an expected value has inside."""
    if isinstance(expected, list):
        inner = [(item, renaming.layout.at(paths, i)) for i, item in enumerate(expected)]
    elif isinstance(expected, dict) and not is_matcher(expected):
        inner = [(item, renaming.member(paths, key)) for key, item in expected.items()]
    else:
        inner = []
    return [p for item, below in inner for p in (*below, *_used(item, below, renaming))]


def _short(value: Any) -> str:
    return f"{json.dumps(value, ensure_ascii=False):.80}"
