"""Scores as a table on the terminal."""

from typing import Any

from rich.console import Console
from rich.table import Table

_GROUPS = {"all": "#ALL_SERVICES", "seen": "#SEEN_SERVICES", "unseen": "#UNSEEN_SERVICES"}


def print_scores(result: dict[str, Any], console: Console) -> None:
    """Print joint goal accuracy and schema sensitivity, in percent, and how they came about."""
    variants = {name: groups for name, groups in result["variants"].items() if name != "original"}
    table = Table(title="Joint goal accuracy and schema sensitivity, in %")
    table.add_column("services")
    headline = ("JGA_orig", "JGA_v1-5", "Diff_rel", "SS_JGA")
    for name in ("frames", *headline, *variants):
        table.add_column(name, justify="right", no_wrap=True)
    for group, services in _GROUPS.items():
        figures = result["sgdx"] if group == "all" else result["sgdx"][group]
        row = [figures[key] for key in ("jga_orig", "jga_v1-5", "relative_difference", "ss_jga")]
        row += [means.get(services, {}).get("joint_goal_accuracy") for means in variants.values()]
        table.add_row(group, str(result["frames"][group]), *map(_percent, row))
    console.print(table)
    for name, count in result["ignored_slots"].items():
        if count:
            console.print(f"{name}: ignored {count} predicted slots that the schema lacks")
    console.print(result["signature"], soft_wrap=True, markup=False, highlight=False)


def _percent(fraction: float | None) -> str:
    return "-" if fraction is None else f"{100 * fraction:.2f}"
