"""Scores of tool calls, and single cases, as text on the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls
from sgdx_eval import show
from sgdx_eval.report.verdict import LEVEL
from sgdx_eval.tables import (
    Cell,
    Table,
    interval,
    legend,
    percent,
    print_line,
    table,
    to_terminal,
)
from sgdx_metric.result import Result, reworded_variants
from sgdx_metric.variants import ORIGINAL, floor_of

from .data import Json, Project
from .elements import blamed, changed_elements, differences
from .scoring import Scored
from .search import Searched
from .verdict import qualifiers

_LOST_TERM = (
    "lost 2 of 5: of 5 cases that expect the tool or call it, 2 are right under the original words "
    "and wrong under these."
)
_MOST_ELEMENTS, _FEW_ELEMENTS = 10, 3
_LONGEST = 74  # characters of the words of an element
LOST = "lost"  # in place of a case's id
_LONGEST_TEXT = 2000  # characters of a message or a call


def print_scores(scored: Scored, details: bool, console: Console) -> None:
    """Print what other words cost, the words that cost the most, and scores in percent."""
    result, counts = scored.result, scored.result.counts
    for line in qualifiers(result):
        print_line(f"{line}\n", console)
    if left_out := counts.get("left_out"):
        first = [f"{case} ({why})" for case, why in list(left_out.items())[:_FEW_ELEMENTS]]
        more = ["and more"] if len(left_out) > _FEW_ELEMENTS else []
        cases = f"{len(left_out)} cases that cannot be right are left out"
        print_line(f"{cases}: {', '.join([*first, *more])}\n", console)
    _print_elements(counts, _MOST_ELEMENTS if details else _FEW_ELEMENTS, console)
    if earned := counts.get("earned"):
        to_terminal(earned_table(earned), console)
        print_line("", console)
    if details and counts["confusion"]:
        print_line("Wrong tools, in cases", console)
        for pair in counts["confusion"][:_MOST_ELEMENTS]:
            of_variants = ", ".join(f"{name} {n}" for name, n in pair["cases"].items())
            called = f"{pair['called'] or 'no call'} in place of {pair['expected'] or 'no call'}"
            called += ", of another server" if "crosses" in pair else ""
            print_line(f"{called}: {of_variants}", console)
        print_line("", console)
    lines = [_LOST_TERM] if details and any(e["net"] > 0 for e in counts["elements"]) else []
    for name, noise in counts["noise"].items():
        lines.append(f"{name}, asked {noise['repeats']} times: {noise_text(noise)}")
    for name, spent in counts["spent"].items():
        lines.append(f"a request with its answer, under {name}: {spent_text(spent)}")
    valid = {name: share for name, share in counts["valid"].items() if share is not None}
    if any(share < 1 for share in valid.values()):
        shares = ", ".join(f"{name} {percent(share)}" for name, share in valid.items())
        lines.append(f"calls that the tool's schema allows, in %: {shares}")
    for name, unread in counts["unread"].items():
        if unread:
            counted = "answers could not be read; they count as wrong"
            lines.append(f"{name}: {unread} {counted}")
    more = [legend(lines), ""] if lines else []
    show.print_result(result, console, more, details)


def earned_table(earned: Sequence[Mapping[str, Any]]) -> Table:
    """What each part earns that was left out in turn, and what can go."""
    heads = ["of", "left out", "tokens", "loss", "95 % interval", ""]
    rows = [
        [
            Cell(f"{row['tool']} {row['path']}".rstrip(), code=True),
            Cell(short_words({"description": row["text"]}) if row["text"] else "", code=True),
            str(row["tokens"]),
            f"{row['loss']:.2f}",
            f"{row['low']:.2f} to {row['high']:.2f}",
            row["is"],
        ]
        for row in earned
    ]
    gone = [row["tokens"] for row in earned if row["is"] == "can go"]
    note = (
        f"{len(gone)} of {len(earned)} parts can go, each alone, which saves {sum(gone)} tokens a "
        "request with all tools. The intervals hold for all of them together."
    )
    texts = ("left out", "")
    return table("What each part earns, in points of cases", heads, rows, texts, note=note)


def print_search(searched: Searched, details: bool, console: Console) -> None:
    """Print how often the right tool is found, and which tools are found less under other words."""
    result = searched.result
    words, lines = result.counts["words"], []
    if n := words["queries_without"]:
        lines.append(f"{n} of {result.counts['cases']['all']} queries have no word to look for")
    for name, n in words["tools_without"].items():
        if n:
            lines.append(f"{n} tools have no word under {name}, and are not found")
    lost = [row for row in result.counts["tools"] if row["new_rank"] > row["rank"]]
    if lost:
        lines.append("Tools that fall the most, by their mean rank")
    for row in lost[: _MOST_ELEMENTS if details else _FEW_ELEMENTS]:
        rank = f"{row['rank']:.1f} -> {row['new_rank']:.1f} in {row['cases']} cases"
        lines.append(f"{row['variant']} {row['tool']}: {rank}")
        lines += [f"    {short_words(row['original'])}", f" -> {short_words(row['reworded'])}"]
    show.print_result(result, console, [*lines, ""] if lines else [], details)


def _print_elements(scores: Mapping[str, Any], most: int, console: Console) -> None:
    """Print the words that cost the most cases, two lines for each element."""
    costly = [element for element in scores["elements"] if element["net"] > 0]
    sure = [element for element in costly if element["chance"] <= LEVEL]
    if costly and not sure:
        looked_at = f"of {scores['looked_at']} that were looked at"
        print_line(
            f"No words stand out from chance {looked_at}. Those that cost the most:", console
        )
    elif costly:
        print_line("Words that cost the most cases", console)
    for element in costly[:most]:
        words_of = f"{element['variant']} {element['tool']} {element['path']}".rstrip()
        won = f", won {element['won']}" if element["won"] else ""
        lost = f"lost {element['lost']}{won} of {element['cases']}"
        known = "" if element["chance"] <= LEVEL else ", which may be chance"
        print_line(f"{words_of}: {lost}{known if sure else ''}", console)
        if element["original"]:
            print_line(f"    {short_words(element['original'])}", console)
        print_line(f" -> {short_words(element['reworded'])}", console)
    if len(costly) > most:
        print_line(f"and {len(costly) - most} more in scores.json", console)
    print_line("", console)


def short_words(words: Mapping[str, str]) -> str:
    """The name and the description of an element on one line, cut where they are long."""
    parts = [words["name"]] if "name" in words else []
    if "description" in words:
        parts.append(f"'{words['description']}'")
    if "change" in words:
        parts.append(words["change"])
    text = " ".join(": ".join(parts).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def headline(result: Result) -> str:
    """How many cases are right, in half a line."""
    original = result.figure("right_orig")
    within = f" ({interval(original.interval)})" if original and original.interval else ""
    lost = result.counts.get("lost_tools", {})
    worst = result.main("right", "worst")
    control = result.floor(worst, "control") if worst else None
    beside = f" ({percent(control.value)} under trivial edits)" if control else ""
    gone = "".join(f"; all {cases} cases of {tool} are lost" for tool, cases in lost.items())
    before, reworded = f"{percent(result['right_orig'])}{within}", result["right_reworded"]
    if reworded is None:
        return f"{before} under the original words{gone}"
    after = f"{percent(reworded)} under other words"
    return f"{before} -> {after}, right under all {percent(result['right_worst'])}{beside}{gone}"


def noise_text(noise: Mapping[str, Any]) -> str:
    """How many cases are right in all runs, in some, and in none by the words, in percent."""
    parts = [
        f"right in all {percent(noise['pass^k'])} (pass^{noise['repeats']})",
        f"flaky {percent(noise['flaky'])}",
    ]
    if noise.get("broken") is not None:
        parts.append(f"broken by words {percent(noise['broken'])}")
    return ", ".join([*parts, f"sensitivity {percent(noise['sensitivity'])}"])


def spent_text(spent: Mapping[str, Mapping[str, float]]) -> str:
    """Tokens and seconds of a request with its answer."""
    parts = [f"{of['median']:g} {kind}, 95 % under {of['p95']:g}" for kind, of in spent.items()]
    return "; ".join(parts)


# ---- a case under the original words and under those that it is lost to, side by side


def explained(project: Project, scored: Scored, case_id: str, variant: str | None) -> Iterator[str]:
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
        if outcome.first:
            yield f"  first:    {calls_text(outcome.first)}"
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
    return escape_controls(shown[:_LONGEST_TEXT])


def calls_text(calls: Sequence[Json] | None) -> str:
    """Calls on one line, cut where they are long."""
    if not calls:
        return "no call"
    texts = (
        f"{call['name']}({json.dumps(call['arguments'], ensure_ascii=False)})" for call in calls
    )
    return escape_controls(" and ".join(texts)[:_LONGEST_TEXT])
