"""Scores, comparisons and explanations as tables on the terminal."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .explain import Line

_GROUPS = {"all": "#ALL_SERVICES", "seen": "#SEEN_SERVICES", "unseen": "#UNSEEN_SERVICES"}
_TITLES = {"jga_orig": "JGA_orig", "jga_v1-5": "JGA_v1-5", "ss_jga": "SS_JGA"}


def print_scores(result: dict[str, Any], console: Console) -> None:
    """Print joint goal accuracy and schema sensitivity in percent, their intervals and signature.

    Args:
        result: What `report` returned.
        console: Where to print.
    """
    variants = {name: groups for name, groups in result["variants"].items() if name != "original"}
    table = _table("Joint goal accuracy and schema sensitivity, in %", "services")
    headline = ("JGA_orig", "JGA_v1-5", "Diff_rel", "SS_JGA")
    for name in ("frames", *headline, *variants):
        table.add_column(name, justify="right", no_wrap=True)
    for group, services in _GROUPS.items():
        figures = result["sgdx"] if group == "all" else result["sgdx"][group]
        row = [figures[key] for key in ("jga_orig", "jga_v1-5", "relative_difference", "ss_jga")]
        row += [means.get(services, {}).get("joint_goal_accuracy") for means in variants.values()]
        table.add_row(group, str(result["frames"][group]), *map(percent, row))
    console.print(table)
    for figure, ends in result["sgdx"]["confidence"].items():
        if ends:
            console.print(f"{_TITLES[figure]}: 95 % interval {_interval(ends)}", highlight=False)
    for name, count in result["ignored_slots"].items():
        if count:
            console.print(f"{name}: ignored {count} predicted slots that the schema lacks")
    _print_line(result["signature"], console)


def print_comparison(result: dict[str, Any], names: tuple[str, str], console: Console) -> None:
    """Print a table for each figure: both systems, difference, interval and p, by service.

    Args:
        result: What `compare` returned.
        names: What the first and the second system are called.
        console: Where to print.
    """
    for figure, title in _TITLES.items():
        groups = {
            name: group | group[figure]
            for name, group in result["groups"].items()
            if figure in group
        }
        if not groups:
            continue
        table = _table(f"{title}, in %", "services")
        for name in ("frames", "first", "second", "difference", "95 % interval", "p"):
            table.add_column(name, justify="right", no_wrap=True)
        for name, row in groups.items():
            ends, p = row["interval"], row["p"]
            table.add_row(
                escape(name),
                str(row["frames"]),
                *(percent(row[key]) for key in ("first", "second", "difference")),
                _interval(ends) if ends else "-",
                "-" if p is None else f"{p:.4f}",
                end_section=name == "unseen",
            )
        console.print(table)
    for place, name in zip(("first", "second"), names):
        _print_line(f"{place}: {name}", console)
    _print_line(result["signature"], console)


def print_explanation(frame_id: str, utterance: str, lines: list[Line], console: Console) -> None:
    """Print what each slot of a frame scores under each variant.

    Args:
        frame_id: The frame.
        utterance: What the user says in its turn.
        lines: What `explain` returned.
        console: Where to print.
    """
    table = _table(escape(f"{frame_id}: {utterance}"), "")
    for name in ("variant", "slot", "reference", "prediction", "score", "why"):
        table.add_column(name, justify="right" if name == "score" else "left", overflow="fold")
    for i, line in enumerate(lines):
        cells = (line.variant, line.slot, " | ".join(line.reference), " | ".join(line.predicted))
        first = i == 0 or lines[i - 1].aspect != line.aspect
        last = i + 1 == len(lines) or lines[i + 1].aspect != line.aspect
        score = "-" if line.score is None else f"{line.score:.2f}"
        aspect = line.aspect if first else ""
        table.add_row(*map(escape, (aspect, *cells, score, line.why)), end_section=last)
    console.print(table)


def percent(fraction: float | None) -> str:
    """A fraction as percent with two decimals; "-" for None."""
    return "-" if fraction is None else f"{100 * fraction:.2f}"


def _interval(ends: list[float]) -> str:
    return f"{percent(ends[0])} to {percent(ends[1])}"


def _table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    return table


def _print_line(text: str, console: Console) -> None:
    console.print(text, soft_wrap=True, markup=False, highlight=False)
