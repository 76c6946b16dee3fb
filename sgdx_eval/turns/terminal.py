"""Scores, comparisons and explanations as tables on the terminal, which fit into 80 columns."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from sgdx_eval.tables import (
    NO_VALUE,
    Table,
    format_figure,
    interval,
    number,
    one_decimal,
    percent,
    print_line,
    table,
    to_terminal,
)
from sgsacc_metric.report import GROUP_KEYS as GROUPS
from sgsacc_metric.rows import Turn

from .explain import Line

_METRIC_TITLES = {
    "bleu": "BLEU",
    "ser": "SER",
    "sgsacc": "SGSAcc",
    "sgsacc_validated": "SGSAcc validated",
}
_GROUP_TITLES = {name: name.replace("_", " ") for name in GROUPS}


def coverage_lines(scores: dict[str, Any]) -> list[str]:
    """How many turns SER and SGSAcc look at, and how many are valid, each under its name.

    None of it depends on the generator, and so it is said once for all variants. There is no such
    line of SGSAcc where no model of entailment was asked.
    """
    counts, shares = scores["counts"], next(iter(scores["variants"].values()))["#ALL_SERVICES"]
    lines = [
        f"ser_coverage {_percent(shares['ser_coverage'])}: turns with a slot that SER looks at"
        " (the paper: 66)."
    ]
    if "actions" not in counts:
        return lines
    turns, actions, pairs = counts["turns"]["all"], counts["actions"], counts["pairs"]
    lines.append(
        f"coverage {_percent(shares['coverage'])}: judged turns, {counts['judged_turns']} of"
        f" {turns} ({actions['judged']} of {actions['all']} actions)."
    )
    if shares.get("validated") is not None:
        lines += [
            f"validated {_percent(shares['validated'])}: valid turns, {counts['valid_turns']} of"
            f" {turns} (the paper: 97.0).",
            f"validated_without_offers {_percent(shares['validated_without_offers'])}: of turns"
            " that do more than offer an intent.",
        ]
    return [*lines, f"{pairs['sent']} pairs were judged for {pairs['asked']} answers."]


def _percent(share: float | None) -> str:
    return f"{percent(share, 1)} %"


def wording_tables(scores: Mapping[str, Any]) -> list[Table]:
    """All turns' metrics under each wording, and BLEU under all conventions."""
    titles = _METRIC_TITLES | {
        "sgsacc_alone": "SGSAcc without context",
        "sgsacc_without_offers": "SGSAcc without offers",
        "ser_agreement": "SER agrees",
    }
    by_variant = {name: groups["#ALL_SERVICES"] for name, groups in scores["variants"].items()}
    shown = [k for k in titles if any(means.get(k) is not None for means in by_variant.values())]
    rows = [
        [name, *(format_figure(key, means.get(key)) for key in shown)]
        for name, means in by_variant.items()
    ]
    headers = ["wording", *(titles[key] for key in shown)]
    by_wording = table("By wording, all turns", headers, rows)
    conventions = scores["conventions"]
    rows = [
        [name, *(number(bleu["bleu"]) for bleu in by_convention.values())]
        for name, by_convention in conventions.items()
    ]
    headers = ["wording", *next(iter(conventions.values()))]
    return [by_wording, table("BLEU under four conventions", headers, rows)]


def print_explanation(
    turn: Turn, utterances: dict[str, str], lines: list[Line], console: Console
) -> None:
    """Print one turn: the utterances before and in it, and how each action is judged."""
    print_line(turn.turn_id, console)
    by_speaker = {"user": turn.prompt, "gold": turn.utterance, **utterances}
    for speaker, utterance in by_speaker.items():
        print_line(f"{speaker:>8}: {utterance}", console, fold=True)
    print_line("", console)
    action = ""
    for line in lines:
        if line.action != action:
            print_line(line.action, console)
            if line.reference:
                print_line(f"    has to entail: {line.reference}", console)
            action = line.action
        probabilities = [
            f"{name} " + "/".join(f"{probability:.3f}" for probability in of_sentence)
            for name, of_sentence in (("alone", line.alone), ("in context", line.in_context))
            if of_sentence
        ]
        facts = "; ".join(part for part in (line.verdict, *probabilities, line.values) if part)
        print_line(f"{line.variant:>12}: {facts or 'nothing to check'}", console)


def print_agreement(result: dict[str, Any], console: Console) -> None:
    """Print what `agreement` returned."""
    rows = []
    for key, title, text in (
        ("agreement", "model and most people, %", one_decimal),
        ("kappa", "people, Fleiss' kappa", number),
    ):
        if key in result:
            ends = interval(result["confidence"][key], text) or NO_VALUE
            rows.append([title, text(result[key]), ends])
    title = f"{result['items']} items, {result['people']} people"
    to_terminal(table(title, ["agreement of", "value", "95 % interval"], rows), console)
    print_line(f"No label of most people: {result['undecided']} items.", console)
    print_line("Intervals are over dialogues.", console)
