"""A case under the original words and under those that it is lost to, side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls
from sgdx_metric.result import reworded_variants
from sgdx_metric.variants import ORIGINAL, floor_of

from .data import Json, Project
from .elements import blamed, changed_elements, differences
from .scoring import Scored

LOST = "lost"  # in place of a case's id
_LONGEST = 2000  # characters of a message or a call


def explain(project: Project, scored: Scored, case_id: str, variant: str | None) -> Iterator[str]:
    """Lines about a case under the words that lose it, or under one variant; or of all lost cases.

    The case ``lost`` stands for the list of all.
    """
    outcomes = scored.outcomes
    if variant is not None and variant not in outcomes:
        raise SgdxError(f"--variant {variant}: expected one of {', '.join(outcomes)}")
    ids = [case.id for case in project.cases]
    if case_id == LOST and LOST not in ids:
        yield from _lost_cases(ids, scored, variant)
        return
    if case_id not in ids:
        why = project.left_out.get(case_id)
        fault = f"is left out: under {why}" if why else f"is not in {project.path}"
        raise SgdxError(f"case {case_id}: {fault}")
    place = ids.index(case_id)
    case = project.cases[place]
    yield f"case {case_id}"
    for message in case.messages:
        yield f"  {message['role']}: {message_text(message)}"
    others = reworded_variants(outcomes, "tools")
    lost = [name for name in others if not outcomes[name][place].is_right]
    shown = [variant] if variant is not None else (lost or others)
    for name in dict.fromkeys([*(outcomes.keys() & {ORIGINAL}), *shown]):
        outcome = outcomes[name][place]
        yield ""
        what = "right" if outcome.is_right else "wrong" if outcome.unread is None else "unread"
        yield f"{name}: {what}"
        yield f"  expected: {calls_text(outcome.expected)}"
        if outcome.unread is not None:
            yield f"  unread:   {escape_controls(outcome.unread) or 'no text of it is kept'}"
            continue
        yield f"  called:   {calls_text(outcome.made)}"
        if outcome.is_right:
            continue
        how = case, outcome, scored.worded[name], scored.rules
        yield from (f"  {escape_controls(difference.text)}" for difference in differences(*how))
        elements = changed_elements(project, name) if name != ORIGINAL else {}
        for tool, path in sorted(blamed(*how, elements)):
            old, new = (elements[tool, path][side] for side in ("original", "reworded"))
            changed = [f"{text!r} -> {new[field]!r}" for field, text in old.items()]
            changed += [new["change"]] if "change" in new else []
            words = escape_controls(", ".join(changed))
            yield f"  words of {f'{tool} {path}'.rstrip()}: {words}"


def _lost_cases(ids: Sequence[str], scored: Scored, variant: str | None) -> Iterator[str]:
    """A line for each case that is right under the original and wrong under other words."""
    lost: dict[str, list[str]] = {}
    for name, outcomes in scored.outcomes.items():
        before = scored.outcomes.get(ORIGINAL, outcomes)
        for case_id, first, outcome in zip(ids, before, outcomes):
            is_lost = not outcome.is_right and (first.is_right or ORIGINAL not in scored.outcomes)
            is_asked = name == variant if variant else not floor_of(name)
            if is_lost and name != ORIGINAL and is_asked:
                shown = name if outcome.unread is None else f"{name} (unread)"
                lost.setdefault(case_id, []).append(shown)
    yield f"{len(lost)} cases are right under {ORIGINAL} and wrong under other words"
    for case_id in sorted(lost, key=lambda key: (-len(lost[key]), ids.index(key))):
        yield f"{case_id}: {' '.join(lost[case_id])}"


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
