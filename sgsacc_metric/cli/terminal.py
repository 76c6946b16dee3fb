"""Scores, comparisons and explanations as tables on the terminal, which fit into 80 columns."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sgdx_dataset.io.console import escape_controls

from ..rows import Turn
from ..units import GROUPS
from .explain import Line

_TITLES = {
    "bleu": "BLEU",
    "ser": "SER",
    "sgsacc": "SGSAcc",
    "sgsacc_validated": "SGSAcc validated",
}
_GROUP_NAMES = {name: name.replace("_", " ") for name in GROUPS}
_LEGEND = """\
BLEU: from 0 to 100, tok:13a|case:mixed. All else in %. SER: turns that lack a
value. SGSAcc: turns that entail all that they should say. v1-5: the mean under
v1 to v5. SS: how far a turn varies over them. changed: turns whose text is not
that under original. flips: turns whose SGSAcc is not the same under v1 to v5;
flips_ser: those whose SER is not."""


def print_scores(result: dict[str, Any], console: Console) -> None:
    """Print what `report` returned: the figures by group, their intervals, and the signature."""
    _print_groups("BLEU, from 0 to 100", [*_followed("bleu"), "changed"], result, console)
    _print_groups("Slot error rate, in %", [*_followed("ser"), "flips_ser"], result, console)
    keys = [*_followed("sgsacc"), "sgsacc_validated_orig", "sgsacc_validated_v1-5", "flips"]
    _print_groups("SGSAcc, in %", keys, result, console)
    for key, ends in result["sgdx"]["confidence"].items():
        if ends:
            print_line(f"{figure_title(key)}: 95 % interval {_interval(key, ends)}", console)
    print_line("", console)
    _print_variants(result, console)
    print_line(_LEGEND, console)
    if "actions" in result["counts"]:
        print_line(coverage_line(result["counts"]), console)
    print_line(result["signature"], console)


def _followed(figure: str) -> list[str]:
    """The keys that follow a figure from the original to the reworded schemas."""
    return [f"{figure}_orig", f"{figure}_v1-5", f"ss_{figure}"]


def _print_groups(
    title: str, keys: Sequence[str], result: dict[str, Any], console: Console
) -> None:
    """Print figures for each group of turns, those that the variants and the model give."""
    sgdx = result["sgdx"]
    found = [key for key in keys if key in sgdx]
    groups = {name: sgdx if name == "all" else sgdx[name] for name in GROUPS}
    rows = [
        [_GROUP_NAMES[name], str(of["turns"]), *(show(key, of[key]) for key in found)]
        for name, of in groups.items()
        if of["turns"]
    ]
    if found:
        print_table(title, ["turns of", "number", *map(figure_title, found)], rows, console)


def coverage_line(counts: dict[str, Any]) -> str:
    """How many turns and actions were judged and valid, in one sentence."""
    turns, actions, pairs = counts["turns"]["all"], counts["actions"], counts["pairs"]
    return (
        f"Judged {counts['judged_turns']} of {turns} turns and {actions['judged']} of"
        f" {actions['all']} actions; {counts['valid_turns']} turns are valid;"
        f" {pairs['sent']} pairs were judged for {pairs['asked']} answers."
    )


def _print_variants(result: dict[str, Any], console: Console) -> None:
    """Print all turns' figures under each variant, and BLEU under all conventions."""
    headers = [*_TITLES, "sgsacc_alone", "coverage"]
    rows = []
    for name, groups in result["variants"].items():
        means = groups["#ALL_SERVICES"]
        rows.append([name, *(show(key, means.get(key)) for key in headers)])
    titles = [*_TITLES.values(), "SGSAcc without context", "coverage"]
    shown = [0, *(i for i, key in enumerate(headers, 1) if any(row[i] != "-" for row in rows))]
    names = ["variant", *titles]
    rows = [[row[i] for i in shown] for row in rows]
    print_table("By variant, all turns", [names[i] for i in shown], rows, console)
    kinds = list(next(iter(result["conventions"].values())))
    rows = [
        [name, *(f"{of[kind]['bleu']:.2f}" for kind in kinds)]
        for name, of in result["conventions"].items()
    ]
    print_table("BLEU under four conventions", ["variant", *kinds], rows, console)


def print_comparison(result: dict[str, Any], names: tuple[str, str], console: Console) -> None:
    """Print what `compare` returned: a table for each figure."""
    groups = result["groups"]
    for key in dict.fromkeys(key for of in groups.values() for key in of if key != "turns"):
        rows = []
        for name, group in groups.items():
            if key in group:
                of = group[key]
                figures = [show(key, of[part]) for part in ("first", "second", "difference")]
                p = "-" if of["p"] is None else f"{of['p']:.4f}"
                title = _GROUP_NAMES.get(name, name)
                rows.append(
                    [title, str(group["turns"]), *figures, _interval(key, of["interval"]), p]
                )
        headers = ["turns of", "number", "first", "second", "difference", "95 % interval", "p"]
        print_table(figure_title(key), headers, rows, console)
    for place, name in zip(("first", "second"), names, strict=True):
        print_line(f"{place}: {name}", console)
    print_line(result["signature"], console)


def print_explanation(
    turn: Turn, utterances: dict[str, str], lines: list[Line], console: Console
) -> None:
    """Print one turn: what was said before and in it, and what each action comes to."""
    print_line(turn.turn_id, console)
    said = {"user": turn.prompt, "gold": turn.utterance, **utterances}
    for who, utterance in said.items():
        console.print(Text(escape_controls(f"{who:>8}: {utterance}")))
    print_line("", console)
    action = ""
    for line in lines:
        if line.action != action:
            print_line(line.action, console)
            if line.reference:
                print_line(f"    has to entail: {line.reference}", console)
            action = line.action
        chances = [
            f"{name} " + "/".join(f"{chance:.3f}" for chance in chances)
            for name, chances in (("alone", line.alone), ("in context", line.in_context))
            if chances
        ]
        facts = "; ".join(part for part in (line.verdict, *chances, line.values) if part)
        print_line(f"{line.variant:>12}: {facts or 'nothing to check'}", console)


def print_table2(result: dict[str, dict[str, Any]], line: str, console: Console) -> None:
    """Print what `table2` returned, beside the published figures."""
    rows = []
    for name, of in result.items():
        published = of["published"] or (None, None, None)
        ours = [show("", of[key]) for key in ("precision", "recall", "f1")]
        turns = f"{of['valid_turns']}/{of['turns']}"
        rows.append([name, *ours, *(show("", value) for value in published), turns])
    headers = ["evaluator", "precision", "recall", "F1", "paper P", "paper R", "paper F1", "valid"]
    print_table("Entailment on gold utterances, in %", headers, rows, console)
    print_line(line, console)


def figure_title(key: str) -> str:
    """The title of a figure: `BLEU v1-5` for `bleu_v1-5`, `SS_SER` for `ss_ser`."""
    if key.startswith("ss_"):
        name, bracket, rest = key.removeprefix("ss_").partition("(")
        return f"SS_{_TITLES[name]}{bracket}{rest}"
    name, _, part = key.rpartition("_")
    return f"{_TITLES[name]} {part}" if name in _TITLES else key


def show(key: str, value: float | None) -> str:
    """A figure with two decimals: BLEU as it is, all others in percent; "-" for None."""
    if value is None:
        return "-"
    return f"{value if key.startswith('bleu') else 100 * value:.2f}"


def _interval(key: str, ends: Sequence[float] | None) -> str:
    return f"{show(key, ends[0])} to {show(key, ends[1])}" if ends else "-"


def print_table(
    title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], console: Console
) -> None:
    """Print a table whose first column names the rows and whose others are figures.

    A header stands on a line for each of its words where that is shorter, and figures are never
    folded.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for i, header in enumerate(headers):
        width = max((len(row[i]) for row in rows), default=0)
        text = escape_controls(header)
        table.add_column(
            Text(text if len(text) <= width else text.replace(" ", "\n"), overflow="fold"),
            justify="right" if i else "left",
            overflow="fold",
            no_wrap=i > 0,
            min_width=width if i else min(width, 14),
        )
    for row in rows:
        table.add_row(*(escape(escape_controls(cell)) for cell in row))
    print_line(title, console)
    console.print(table, crop=False)
    print_line("", console)


def print_line(text: str, console: Console) -> None:
    """Print a text as it is, however long its lines."""
    for line in text.split("\n"):
        console.print(escape_controls(line), soft_wrap=True, markup=False, highlight=False)
