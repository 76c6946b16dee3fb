"""Scores of tool calls as tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from sgdx_eval import show
from sgdx_eval.tables import interval, legend, percent, print_line, table, to_terminal
from sgdx_eval.tasks.tools import Tools

from .scoring import Scored
from .search import Searched

_LOST_TERM = (
    "lost 2 of 5: of 5 cases that expect the tool or call it, 2 are right under the original words "
    "and wrong under these."
)
_MOST_ELEMENTS, _FEW_ELEMENTS = 10, 3
_LONGEST = 74  # characters of the words of an element


def print_scores(scored: Scored, details: bool, console: Console) -> None:
    """Print what other words cost, the words that cost the most, and scores in percent."""
    scores = scored.content
    if line := cost_line(scores):
        print_line(f"{line}\n", console)
    if unreviewed := scores["cases"].get("unreviewed"):
        print_line(
            f"{unreviewed} cases are unreviewed: nobody has looked at their calls\n", console
        )
    if left_out := scores.get("left_out"):
        first = [f"{case} ({why})" for case, why in list(left_out.items())[:_FEW_ELEMENTS]]
        more = ["and more"] if len(left_out) > _FEW_ELEMENTS else []
        cases = f"{len(left_out)} cases that cannot be right are left out"
        print_line(f"{cases}: {', '.join([*first, *more])}\n", console)
    _print_elements(scores, _MOST_ELEMENTS if details else _FEW_ELEMENTS, console)
    if details and scores["confusion"]:
        print_line("Wrong tools, in cases", console)
        for pair in scores["confusion"][:_MOST_ELEMENTS]:
            counts = ", ".join(f"{name} {n}" for name, n in pair["cases"].items())
            called = f"{pair['called'] or 'no call'} in place of {pair['expected'] or 'no call'}"
            print_line(f"{called}: {counts}", console)
        print_line("", console)
    lines = [_LOST_TERM] if details and any(e["net"] > 0 for e in scores["elements"]) else []
    for name, noise in scores["noise"].items():
        lines.append(f"{name}, asked {noise['repeats']} times: {noise_text(noise)}")
    for name, spent in scores["spent"].items():
        lines.append(f"an answer under {name}: {spent_text(spent)}")
    valid = {name: share for name, share in scores["valid"].items() if share is not None}
    if any(share < 1 for share in valid.values()):
        shares = ", ".join(f"{name} {percent(share)}" for name, share in valid.items())
        lines.append(f"calls that the tool's schema allows, in %: {shares}")
    for name, unread in scores["unread"].items():
        if unread:
            counted = "answers could not be read; they count as wrong"
            lines.append(f"{name}: {unread} {counted}")
        if texts := scores["predictions"][name].get("counts", {}).get("text_calls"):
            lines.append(f"{name}: {texts} texts look like calls, and count as none")
    more = [legend(lines), ""] if lines else []
    show.print_scores(Tools(), scored.raw, scores, console, more, details)


def print_search(searched: Searched, details: bool, console: Console) -> None:
    """Print how often the right tool is found, and which tools are found less under other words."""
    content, count = searched.content, searched.content["cases"]["all"]
    figures = content["search"]
    first = figures["recall@5"]
    text = f"The right tool is among the first five in {percent(first['original'], 1)} % of cases"
    if first["drop"] is not None:
        ends = first["confidence"]["drop"]
        chance = ", which may be chance" if ends and ends[0] <= 0 <= ends[1] else ""
        text += f", and in {percent(first['reworded'], 1)} % under other words{chance}"
    print_line(f"{legend([text])}.\n", console)
    ends_of = {m: of["confidence"]["drop"] for m, of in figures.items()}
    rows = [
        [
            metric.replace("_", " "),
            *(percent(of[key]) for key in ("original", "reworded", "drop")),
            interval(ends_of[metric]),
            *(percent(of[key]) for key in ("worst", "flips")),
        ]
        for metric, of in figures.items()
    ]
    headers = ["figure", "original", "reworded", "drop", "95 % interval", "worst", "flips"]
    to_terminal(table(f"All {count} cases that expect a call, in %", headers, rows), console)
    rows = [
        [name, *(percent(of["by_variant"][name]) for of in figures.values())]
        for name in searched.raw.variants
    ]
    headers = ["variant", *(metric.replace("_", " ") for metric in figures)]
    to_terminal(table("By variant", headers, rows), console)
    lost = [row for row in content["tools"] if row["new_rank"] > row["rank"]]
    if lost:
        print_line("Tools that fall the most, by their mean rank", console)
    for row in lost[: _MOST_ELEMENTS if details else _FEW_ELEMENTS]:
        rank = f"{row['rank']:.1f} -> {row['new_rank']:.1f} in {row['cases']} cases"
        print_line(f"{row['variant']} {row['tool']}: {rank}", console)
        print_line(f"    {short_words(row['original'])}", console)
        print_line(f" -> {short_words(row['reworded'])}", console)
    print_line(f"\n{content['signature']}", console)


def _print_elements(scores: Mapping[str, Any], most: int, console: Console) -> None:
    """Print the words that cost the most cases, two lines for each element."""
    costly = [element for element in scores["elements"] if element["net"] > 0]
    if costly:
        print_line("Words that cost the most cases", console)
    for element in costly[:most]:
        words_of = f"{element['variant']} {element['tool']} {element['path']}".rstrip()
        won = f", won {element['won']}" if element["won"] else ""
        lost = f"lost {element['lost']}{won} of {element['cases']}"
        print_line(f"{words_of}: {lost}", console)
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


def headline(scores: Mapping[str, Any]) -> str:
    """How many cases are right, in half a line."""
    figures = scores["right"]
    ends = figures["confidence"].get("original")
    within = f" ({interval(ends)})" if ends else ""
    return (
        f"{percent(figures['original'])}{within} -> {percent(figures['reworded'])} under other "
        f"words, right under all {percent(figures['worst'])}"
    )


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
    """Tokens and seconds of an answer."""
    parts = [f"{of['median']:g} {kind}, 95 % under {of['p95']:g}" for kind, of in spent.items()]
    return "; ".join(parts)


def cost_line(scores: Mapping[str, Any]) -> str:
    """What other words cost, in a sentence; empty where there are no other words."""
    figures = scores["right"]
    if figures["drop"] is None:
        return ""
    before, after = percent(figures["original"]), percent(figures["reworded"])
    text = f"{after} % of the cases are right under other words, {before} % under the original ones"
    ends = figures["confidence"]["drop"]
    if not ends:
        return text
    chance = "which may be chance" if ends[0] <= 0 <= ends[1] else "more than chance explains"
    sure = f"{percent(figures['drop'])} points, 95 % interval {interval(ends)}"
    return f"{text}\n{sure}, {chance}"
