"""Every figure of the report, from sums of counts; sums over any turns give their figures.

Names of figures are found here: `bleu`, `ser`, `sgsacc` and those beside them.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sgdx_metric.columns import Floats, over
from sgdx_metric.robustness import variation
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS, own_wordings, wider_set

from .bleu import corpus_bleu
from .scoring import BLEU_COLUMNS, TurnScores

# A figure is the quotient of two counts.
_RATIOS = {
    "ser": ("wrong", "turns"),
    "ser_checkable": ("wrong", "checkable"),
    "slot_error_rate": ("missing", "values"),
    "ser_extended": ("wrong_extended", "turns"),
    "sgsacc": ("faithful", "turns"),
    "sgsacc_validated": ("faithful_valid", "valid"),
    "sgsacc_judged": ("faithful_judged", "judged"),
    "sgsacc_alone": ("faithful_alone", "turns"),
    "coverage": ("judged", "turns"),
    "ser_agreement": ("agree", "both"),
}
# The figures that are followed from the original to the reworded schemas.
HEADLINES = ("bleu", "ser", "sgsacc", "sgsacc_validated")
# The figures of a turn alone whose variation under rewording is the sensitivity.
SENSITIVE = ("bleu", "ser", "sgsacc")


def figures_of(sums: Mapping[str, Floats]) -> dict[str, Floats]:
    """The figures of one variant.

    Args:
        sums: Sums of the counts of `TurnScores.counts` over some turns, by name [...].

    Returns:
        By name, `bleu` from 0 to 100 and all others in [0, 1], NaN where undefined [...]. Those of
        SGSAcc are left out where nothing was judged.
    """
    bleu = corpus_bleu(np.stack([sums[name] for name in BLEU_COLUMNS], axis=-1))
    ratios = {
        name: over(np.asarray(sums[top]), np.asarray(sums[bottom]))
        for name, (top, bottom) in _RATIOS.items()
        if top in sums
    }
    return {"bleu": bleu} | ratios


def across(scores: Mapping[str, TurnScores]) -> dict[str, Floats]:
    """What only several variants together say of each turn, to be averaged over turns.

    Args:
        scores: One system's scores by variant.

    Returns:
        By name, values [turns]. `ss_<figure>`, the variation of the turn's BLEU, of whether it is
        right by SER and of whether it is faithful, over the paper's variants v1 to v5 (those that
        are given), and `ss_<figure>(<set>)` over all reworded variants where there are others.
        `changed`, the share of these variants under which the utterance is not that under the
        original. `flips` and `flips_ser`, 1 where SGSAcc's and SER's verdict is not the same under
        all of them. What the variants do not give is left out.
    """
    paper = [name for name in PAPER_VARIANTS if name in scores]
    found: dict[str, Floats] = {}
    if len(paper) > 1:
        found |= {f"ss_{key}": variation(_of_turns(scores, paper, key)) for key in _keys(scores)}
        for key, name in (("sgsacc", "flips"), ("ser", "flips_ser")):
            if key in _keys(scores):
                found[name] = np.ptp(_of_turns(scores, paper, key), axis=0)
    if wider := wider_set(list(scores)):
        every = [*paper, *own_wordings(scores)]
        for key in _keys(scores):
            found[f"ss_{key}({wider})"] = variation(_of_turns(scores, every, key))
    if paper and ORIGINAL in scores:
        original = np.array(scores[ORIGINAL].utterances, dtype=object)
        texts = [np.array(scores[name].utterances, dtype=object) for name in paper]
        found["changed"] = np.mean([text != original for text in texts], axis=0, dtype=np.float64)
    return found


def _keys(scores: Mapping[str, TurnScores]) -> list[str]:
    """The figures of SENSITIVE that the scores have."""
    judged = all("faithful" in of.counts for of in scores.values())
    return [key for key in SENSITIVE if judged or key != "sgsacc"]


def _of_turns(scores: Mapping[str, TurnScores], variants: Sequence[str], key: str) -> Floats:
    """Each turn's score under each variant, of which more is better [variants, turns]."""
    rows = {
        "bleu": lambda of: of.sentence_bleu,
        "ser": lambda of: 1.0 - of.counts["wrong"],
        "sgsacc": lambda of: of.counts["faithful"],
    }
    return np.stack([rows[key](scores[name]) for name in variants])
