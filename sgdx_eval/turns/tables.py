"""Rows of tables from scores.json, for reports and pages: strings only, nothing is printed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sgdx_eval.tables import format_figure, number, percent
from sgdx_eval.tasks.turns import Turns
from sgsacc_metric.bleu import CONVENTIONS

_ROBUSTNESS = {
    "bleu_orig": "BLEU orig",
    "bleu_v1-5": "BLEU v1-5",
    "ser_orig": "SER orig",
    "ser_v1-5": "SER v1-5",
    "sgsacc_orig": "SGSAcc orig",
    "sgsacc_v1-5": "SGSAcc v1-5",
    "ss_sgsacc": "SS_SGSAcc",
    "changed": "changed",
    "flips": "flips",
}
Rows = list[list[str]]


def robustness_table(scores: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], Rows]:
    """The scores.json of systems, by name: a row for each and each group of turns that it has.

    BLEU is from 0 to 100, all else in percent.
    """
    rows = [
        [
            *(system, name.replace("_", " "), str(group["turns"])),
            *(format_figure(key, group.get(key)) for key in _ROBUSTNESS),
        ]
        for system, each in scores.items()
        for name, group in Turns().groups_of(each).items()
        if group["turns"]
    ]
    return ["system", "turns of", "number", *_ROBUSTNESS.values()], rows


def bleu_table(scores: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], Rows]:
    """BLEU of all turns under the original schemas by the four conventions of sacreBLEU."""
    headers = [
        f"tok:{convention['tokenize']} case:{'lc' if convention['lowercase'] else 'mixed'}"
        for convention in CONVENTIONS.values()
    ]
    rows = []
    for system, of_system in scores.items():
        if by_convention := of_system["conventions"].get("original"):
            rows.append([system, *(number(bleu["bleu"]) for bleu in by_convention.values())])
    return ["system", *headers], rows


def validation_table(by_evaluator: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], Rows]:
    """How well a model of entailment judges gold utterances, beside Table 2 of the paper."""
    headers = ["evaluator", "precision", "recall", "F1", "paper P", "paper R", "paper F1", "valid"]
    rows = []
    for evaluator, table in by_evaluator.items():
        ours = [table[key] for key in ("precision", "recall", "f1")]
        published = table["published"] or (None, None, None)
        figures = map(percent, (*ours, *published))
        rows.append([evaluator, *figures, f"{table['valid_turns']}/{table['turns']}"])
    return headers, rows


def published_table() -> tuple[list[str], Rows]:
    """The published figures, as printed, each with its data, the scale of its BLEU and its source.

    The paper is Chen, Lin and Byrne 2023 (arXiv 2301.12568). Its own systems were tested on 10,000
    sampled test turns; of those that it cites it does not say so. Its seen and unseen are of
    domains. BLEU figures do not stand on one scale, as most sources do not say how they were made.
    """
    text = Path(__file__).with_name("published.tsv").read_text(encoding="utf-8")
    headers, *rows = (line.split("\t") for line in text.splitlines())
    return headers, rows
