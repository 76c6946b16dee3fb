"""Rows of tables from scores.json, for reports and pages: strings only, nothing is printed."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..bleu import CONVENTIONS
from .published import PUBLISHED
from .terminal import format_figure

GROUPS = {
    "all": "all",
    "seen": "seen",
    "unseen": "unseen",
    "seen_domains": "seen domains",
    "unseen_domains": "unseen domains",
}
_HEADERS = {
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
    """The scores of systems under the original and the reworded schemas.

    Args:
        scores: The content of each system's scores.json, by the system's name.

    Returns:
        The headers, and a row for each system and group of turns that it has. BLEU is from 0 to
        100, all else in percent; "-" where variants or a model of entailment are lacking.
    """
    rows = []
    for system, of_system in scores.items():
        for key, title in GROUPS.items():
            group = of_system["sgdx"] if key == "all" else of_system["sgdx"][key]
            if group["turns"]:
                figures = [format_figure(name, group.get(name)) for name in _HEADERS]
                rows.append([system, title, str(group["turns"]), *figures])
    return ["system", "turns of", "number", *_HEADERS.values()], rows


def bleu_table(scores: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], Rows]:
    """BLEU of all turns under the original schemas by the four conventions.

    Args:
        scores: The content of each system's scores.json, by the system's name.

    Returns:
        The headers, which have the tokenizer and the case of sacreBLEU's signatures, and a row for
        each system that was scored under the original schemas.
    """
    headers = [
        f"tok:{convention['tokenize']} case:{'lc' if convention['lowercase'] else 'mixed'}"
        for convention in CONVENTIONS.values()
    ]
    rows = []
    for system, of_system in scores.items():
        if by_convention := of_system["conventions"].get("original"):
            rows.append([system, *(f"{bleu['bleu']:.2f}" for bleu in by_convention.values())])
    return ["system", *headers], rows


def validation_table(by_evaluator: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], Rows]:
    """How well a model of entailment judges gold utterances, beside Table 2 of the paper.

    Args:
        by_evaluator: What `table2` returns, or `by_evaluator` of the file that `validate --json`
            writes.
    """
    headers = ["evaluator", "precision", "recall", "F1", "published P", "published R",
               "published F1", "valid turns"]  # fmt: skip
    rows = []
    for evaluator, table in by_evaluator.items():
        ours = [table[key] for key in ("precision", "recall", "f1")]
        published = table["published"] or (None, None, None)
        figures = [format_figure("", figure) for figure in (*ours, *published)]
        rows.append([evaluator, *figures, f"{table['valid_turns']}/{table['turns']}"])
    return headers, rows


def published_table() -> tuple[list[str], Rows]:
    """The published figures, each with its data, the scale of its BLEU, source and note."""
    headers = ["system", "BLEU", "BLEU's scale", "SER all / seen / unseen",
               "SGSAcc validated", "SGSAcc", "data", "source", "note"]  # fmt: skip
    rows = [
        [
            system.name,
            str(system.bleu),
            system.bleu_scale,
            _with_slashes(system.ser, 2),
            _with_slashes(system.sgsacc_validated, 1),
            _with_slashes(system.sgsacc, 1),
            system.data,
            system.source,
            system.note,
        ]
        for system in PUBLISHED
    ]
    return headers, rows


def _with_slashes(figures: Sequence[float] | None, decimals: int) -> str:
    return " / ".join(f"{figure:.{decimals}f}" for figure in figures) if figures else "-"
