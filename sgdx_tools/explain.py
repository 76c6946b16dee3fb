"""A case under the original words and under those that it is lost to, side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls
from sgdx_metric.variants import ORIGINAL

from .data import Case, Json, Rule, ToolSet
from .elements import Outcome, blamed, both_words, reworded_elements
from .predictions import read_predictions
from .renaming import WordedTools
from .scoring import check_files, score_wording

LOST = "lost"  # in place of a case's id
_LONGEST = 2000  # characters of a message or a call


def explain(
    tool_set: ToolSet,
    predictions: Path,
    case_id: str,
    wording: str | None,
    rules: Rule | None,
) -> Iterator[str]:
    """Show why a case is lost: what was expected and called, and the words that it has to do with.

    Args:
        tool_set: The tools, cases and wordings.
        predictions: The folder of predictions.
        case_id: The case; LOST for a list of the lost cases, those lost most often first.
        wording: The wording to show; None for all that lose the case, or else all.
        rules: How values are compared; None for what the tools' source says.

    Yields:
        Lines.

    Raises:
        SgdxError: There is no such case or wording, or the predictions are at fault.
    """
    files = read_predictions(predictions, tool_set)
    check_files(tool_set, files)
    if wording is not None and wording not in files:
        raise SgdxError(f"--wording {wording}: expected one of {', '.join(files)}")
    rules = rules or tool_set.source.rules
    index = {case.id: i for i, case in enumerate(tool_set.cases)}
    is_list = case_id == LOST and LOST not in index
    if not is_list and case_id not in index:
        raise SgdxError(f"case {case_id}: is not in {tool_set.path}")
    cases = tool_set.cases if is_list else (tool_set.cases[index[case_id]],)
    worded = {name: WordedTools(tool_set.tools, tool_set.wordings[name]) for name in files}
    outcomes = {
        name: score_wording(cases, worded[name], file, rules).outcomes[0]
        for name, file in files.items()
    }
    if is_list:
        yield from _lost_cases(cases, outcomes, wording)
    else:
        of_case = {name: of_wording[0] for name, of_wording in outcomes.items()}
        yield from _case_lines(tool_set, cases[0], worded, of_case, wording, rules)
        if unread := [n for n, file in files.items() if file.predictions[0][case_id].invalid]:
            yield f"answers that could not be read: {', '.join(unread)}"


def _lost_cases(
    cases: Sequence[Case], outcomes: Mapping[str, Sequence[Outcome]], wording: str | None
) -> Iterator[str]:
    """A line for each case that is right under the original and wrong under other words."""
    names = [name for name in outcomes if name != ORIGINAL and wording in (None, name)]
    lost = {
        case.id: [name for name in names if not outcomes[name][i].is_right]
        for i, case in enumerate(cases)
        if ORIGINAL not in outcomes or outcomes[ORIGINAL][i].is_right
    }
    lost = {case: of_case for case, of_case in lost.items() if of_case}
    yield f"{len(lost)} cases are right under {ORIGINAL} and wrong under other words"
    for case, of_case in sorted(lost.items(), key=lambda item: -len(item[1])):
        yield f"{case}: {' '.join(of_case)}"


def _case_lines(
    tool_set: ToolSet,
    case: Case,
    worded: Mapping[str, WordedTools],
    outcomes: Mapping[str, Outcome],
    wording: str | None,
    rules: Rule,
) -> Iterator[str]:
    yield f"case {case.id}"
    for message in case.messages:
        yield f"  {message['role']}: {_message_text(message)}"
    others = [name for name in outcomes if name != ORIGINAL]
    lost = [name for name in others if not outcomes[name].is_right]
    shown = [wording] if wording is not None else (lost or others)
    for name in dict.fromkeys([*(n for n in (ORIGINAL,) if n in outcomes), *shown]):
        outcome = outcomes[name]
        yield ""
        yield f"{name}: {'right' if outcome.is_right else 'wrong'}"
        yield f"  expected: {_calls_text(outcome.expected)}"
        yield f"  called:   {_calls_text(outcome.made)}"
        if name != ORIGINAL and not outcome.is_right:
            elements = reworded_elements(tool_set.wordings[name])
            for tool, path in sorted(blamed(case, outcome, worded[name], elements, rules)):
                words = both_words(tool_set.tools[tool], path, elements[tool][path])
                yield f"  words of {f'{tool} {path}'.rstrip()}: {_changes_text(words)}"


def _changes_text(words: Mapping[str, Mapping[str, str]]) -> str:
    changes = (
        f"{old!r} -> {words['reworded'][field]!r}" for field, old in words["original"].items()
    )
    return escape_controls(", ".join(changes))


def _message_text(message: Json) -> str:
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    shown = f"{text if content is not None else ''} {json.dumps(calls) if calls else ''}".strip()
    return escape_controls(shown[:_LONGEST])


def _calls_text(calls: Sequence[Json] | None) -> str:
    if not calls:
        return "no call"
    texts = (
        f"{call['name']}({json.dumps(call['arguments'], ensure_ascii=False)})" for call in calls
    )
    return escape_controls(" and ".join(texts)[:_LONGEST])
