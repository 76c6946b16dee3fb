"""Scores, comparisons and explanations as tables on the terminal, which fit into 80 columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from sgdx_eval.comparison_tables import print_by_group
from sgdx_eval.tables import (
    NO_VALUE,
    format_figure,
    interval,
    number,
    one_decimal,
    percent,
    print_line,
    table,
    to_terminal,
)
from sgdx_eval.terminal import by_group, print_intervals
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
_LEGEND = """\
BLEU: from 0 to 100, tok:13a|case:mixed. All else in %. SER: turns that lack a
value. SGSAcc: turns that entail all that they should say. v1-5: the mean under
v1 to v5. SS: how far a turn varies over them. changed: turns whose text is not
that under original. flips: turns whose SGSAcc is not the same under v1 to v5;
flips_ser: those whose SER is not. worst: each turn under the wording, original
or v1 to v5, that is worst for it; SER flips, SGSAcc flips: turns whose verdict
is not the same under all six. SGSAcc without offers: of turns that do more than
offer an intent. SER agrees: of the turns with a slot that SER looks at, those
where SGSAcc, on these slots alone, says the same."""


def print_scores(scores: dict[str, Any], console: Console) -> None:
    """Print the content of scores.json: figures by group, their intervals, and the signature."""
    validated = ("sgsacc_validated_orig", "sgsacc_validated_v1-5")
    worst = [f"{metric}_{part}" for metric in ("ser", "sgsacc") for part in ("worst", "flips")]
    for title, keys in {
        "BLEU, from 0 to 100": (*_robustness_keys("bleu"), "changed"),
        "Slot error rate, in %": (*_robustness_keys("ser"), "flips_ser"),
        "SGSAcc, in %": (*_robustness_keys("sgsacc"), *validated, "flips"),
        "The worst case, in %": worst,
    }.items():
        if shown := [key for key in keys if key in scores["sgdx"]]:
            headers = ["turns of", "number", *map(figure_title, shown)]
            to_terminal(table(title, headers, group_rows(scores, shown)), console)
    print_intervals(scores["sgdx"], figure_title, console)
    _print_variants(scores, console)
    lines = [_LEGEND, *coverage_lines(scores), scores["signature"]]
    print_line("\n".join(lines), console)


def group_rows(scores: Mapping[str, Any], keys: Sequence[str]) -> list[list[str]]:
    """For each group that has turns its title, their number, and figures."""
    return [
        [_GROUP_TITLES[name], str(g["turns"]), *(format_figure(key, g.get(key)) for key in keys)]
        for name, g in by_group(scores["sgdx"], GROUPS).items()
        if g["turns"]
    ]


def _robustness_keys(metric: str) -> tuple[str, ...]:
    """The keys that follow a metric from the original to the reworded schemas."""
    return f"{metric}_orig", f"{metric}_v1-5", f"ss_{metric}"


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


def _print_variants(scores: dict[str, Any], console: Console) -> None:
    """Print all turns' metrics under each variant, and BLEU under all conventions."""
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
    headers = ["variant", *(titles[key] for key in shown)]
    to_terminal(table("By variant, all turns", headers, rows), console)
    conventions = scores["conventions"]
    rows = [
        [name, *(number(bleu["bleu"]) for bleu in by_convention.values())]
        for name, by_convention in conventions.items()
    ]
    headers = ["variant", *next(iter(conventions.values()))]
    to_terminal(table("BLEU under four conventions", headers, rows), console)


def print_comparison(comparison: dict[str, Any], names: tuple[str, str], console: Console) -> None:
    """Print a table for each figure that is compared."""
    groups = {_GROUP_TITLES.get(name, name): g for name, g in comparison["groups"].items()}
    print_by_group(groups, "turns", figure_title, ("turns of", "number"), console)
    for side, name in zip(("first", "second"), names, strict=True):
        oracle = " (oracle)" if comparison["oracle"][side] == "yes" else ""
        print_line(f"{side}: {name}{oracle}", console)
    print_line(comparison["signature"], console)


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


def figure_title(key: str) -> str:
    """The title of a figure: `BLEU v1-5` for `bleu_v1-5`, `SS_SER` for `ss_ser`."""
    if key.startswith("ss_"):
        metric, bracket, rest = key.removeprefix("ss_").partition("(")
        return f"SS_{_METRIC_TITLES[metric]}{bracket}{rest}"
    figure, bracket, rest = key.partition("(")
    metric, _, part = figure.rpartition("_")
    return f"{_METRIC_TITLES[metric]} {part}{bracket}{rest}" if metric in _METRIC_TITLES else key
