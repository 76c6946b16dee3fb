"""Rows of tables from scores.json, for reports and pages: strings only, nothing is printed."""

from collections.abc import Mapping
from typing import Any

from ..bleu import CONVENTIONS
from .published import PUBLISHED
from .terminal import show

GROUPS = {
    "all": "all",
    "seen": "seen",
    "unseen": "unseen",
    "seen_domains": "seen domains",
    "unseen_domains": "unseen domains",
}
_FIGURES = {
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
    """What rewording does to systems.

    Args:
        scores: What scores.json holds, by the system's name.

    Returns:
        The headers, and a row for each system and group of turns that it has. BLEU is from 0 to
        100, all else in percent; "-" for what the variants do not give.
    """
    rows = []
    for system, result in scores.items():
        sgdx = result["sgdx"]
        for key, title in GROUPS.items():
            of = sgdx if key == "all" else sgdx[key]
            if of["turns"]:
                figures = [show(name, of.get(name)) for name in _FIGURES]
                rows.append([system, title, str(of["turns"]), *figures])
    return ["system", "turns of", "number", *_FIGURES.values()], rows


def bleu_table(scores: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], Rows]:
    """BLEU of all turns under the original schemas by the four conventions.

    Args:
        scores: What scores.json holds, by the system's name.

    Returns:
        The headers, which have the tokenizer and the case of sacreBLEU's signatures, and a row for
        each system that was scored under the original schemas.
    """
    kept = {name: of["conventions"].get("original") for name, of in scores.items()}
    found = {name: of for name, of in kept.items() if of}
    rows = [[name, *(f"{one['bleu']:.2f}" for one in of.values())] for name, of in found.items()]
    return [
        "system",
        *(f"tok:{of['tokenize']} case:{_case(of)}" for of in CONVENTIONS.values()),
    ], rows


def _case(convention: Mapping[str, Any]) -> str:
    return "lc" if convention["lowercase"] else "mixed"


def validation_table(result: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], Rows]:
    """What `validate` found, beside Table 2 of the paper.

    Args:
        result: What `table2` returns, or `by_evaluator` of the file that `validate --json` writes.
    """
    headers = ["evaluator", "precision", "recall", "F1", "published P", "published R",
               "published F1", "valid turns"]  # fmt: skip
    rows = []
    for name, of in result.items():
        ours = [show("", of[key]) for key in ("precision", "recall", "f1")]
        published = [show("", value) for value in of["published"] or (None,) * 3]
        rows.append([name, *ours, *published, f"{of['valid_turns']}/{of['turns']}"])
    return headers, rows


def published_table() -> tuple[list[str], Rows]:
    """The published figures, each with its data, the scale of its BLEU, source and note."""
    headers = ["system", "BLEU", "BLEU's scale", "SER all / seen / unseen",
               "SGSAcc validated", "SGSAcc", "data", "source", "note"]  # fmt: skip
    rows = [
        [
            one.system,
            str(one.bleu),
            one.bleu_scale,
            *(
                " / ".join(map(str, of)) if of else "-"
                for of in (one.ser, one.sgsacc_validated, one.sgsacc)
            ),
            one.data,
            one.source,
            one.note,
        ]
        for one in PUBLISHED
    ]
    return headers, rows
