"""A case under the original words and under those that it is lost to, side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls
from sgdx_metric.variants import ORIGINAL

from .data import Case, Json, Rule, ToolSet
from .elements import Outcome, blamed, changed_elements, differences
from .predictions import read_predictions
from .renaming import WordedTools
from .scoring import check_files, score_variant

LOST = "lost"  # in place of a case's id
_LONGEST = 2000  # characters of a message or a call


def explain(
    tool_set: ToolSet, predictions: Path, case_id: str, variant: str | None, rules: Rule | None
) -> Iterator[str]:
    """Lines about a case under the words that lose it, or under one variant; or of all lost cases.

    The case ``lost`` stands for the list of all.
    """
    files = read_predictions(predictions, tool_set)
    check_files(tool_set, files)
    if variant is not None and variant not in files:
        raise SgdxError(f"--variant {variant}: expected one of {', '.join(files)}")
    rules = rules or tool_set.source.rules
    cases: Sequence[Case] = [case for case in tool_set.cases if case.id == case_id]
    is_list = case_id == LOST and not cases
    if is_list:
        cases = tool_set.cases
    elif not cases:
        why = tool_set.left_out.get(case_id)
        fault = f"is left out: under {why}" if why else f"is not in {tool_set.path}"
        raise SgdxError(f"case {case_id}: {fault}")
    worded = {name: WordedTools(tool_set.tools, tool_set.variants[name]) for name in files}
    outcomes = {
        name: score_variant(cases, worded[name], file, rules)[0] for name, file in files.items()
    }
    if is_list:
        yield from _lost_cases(cases, outcomes, variant)
        return
    yield f"case {case_id}"
    for message in cases[0].messages:
        yield f"  {message['role']}: {message_text(message)}"
    of_case = {name: of_variant[0] for name, of_variant in outcomes.items()}
    others = [name for name in of_case if name != ORIGINAL]
    lost = [name for name in others if not of_case[name].is_right]
    shown = [variant] if variant is not None else (lost or others)
    for name in dict.fromkeys([*(of_case.keys() & {ORIGINAL}), *shown]):
        outcome = of_case[name]
        yield ""
        what = "right" if outcome.is_right else "wrong" if outcome.unread is None else "unread"
        yield f"{name}: {what}"
        yield f"  expected: {calls_text(outcome.expected)}"
        if outcome.unread is not None:
            yield f"  unread:   {escape_controls(outcome.unread) or 'no text of it is kept'}"
            continue
        yield f"  called:   {calls_text(outcome.made)}"
        if not outcome.is_right:
            found = differences(cases[0], outcome, worded[name], rules)
            yield from (f"  {escape_controls(difference.text)}" for difference in found)
        if name != ORIGINAL and not outcome.is_right:
            elements = changed_elements(tool_set, name)
            for tool, path in sorted(blamed(cases[0], outcome, worded[name], elements, rules)):
                old, new = (elements[tool, path][side] for side in ("original", "reworded"))
                changed = [f"{text!r} -> {new[field]!r}" for field, text in old.items()]
                changed += [new["change"]] if "change" in new else []
                words = escape_controls(", ".join(changed))
                yield f"  words of {f'{tool} {path}'.rstrip()}: {words}"


def _lost_cases(
    cases: Sequence[Case], outcomes: Mapping[str, Sequence[Outcome]], variant: str | None
) -> Iterator[str]:
    """A line for each case that is right under the original and wrong under other words."""
    names = [name for name in outcomes if name != ORIGINAL and variant in (None, name)]
    lost = {
        case.id: [
            name if outcomes[name][i].unread is None else f"{name} (unread)"
            for name in names
            if not outcomes[name][i].is_right
        ]
        for i, case in enumerate(cases)
        if ORIGINAL not in outcomes or outcomes[ORIGINAL][i].is_right
    }
    lost = {case: of_case for case, of_case in lost.items() if of_case}
    yield f"{len(lost)} cases are right under {ORIGINAL} and wrong under other words"
    for case, of_case in sorted(lost.items(), key=lambda item: -len(item[1])):
        yield f"{case}: {' '.join(of_case)}"


def message_text(message: Json) -> str:
    """What a message says, its calls included, cut where it is long."""
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    shown = f"{text if content is not None else ''} {json.dumps(calls) if calls else ''}".strip()
    return escape_controls(shown[:_LONGEST])


def calls_text(calls: Sequence[Json] | None) -> str:
    """Calls on one line, cut where they are long."""
    if not calls:
        return "no call"
    texts = (
        f"{call['name']}({json.dumps(call['arguments'], ensure_ascii=False)})" for call in calls
    )
    return escape_controls(" and ".join(texts)[:_LONGEST])
