"""What is measured of generated turns, and the scores of turns from which figures are made."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sgdx_metric.columns import Floats
from sgdx_metric.result import METRIC_NAMES, Metric
from sgdx_metric.units import Items, Scores
from sgdx_metric.variants import ORIGINAL

from .bleu import corpus_bleu
from .rows import Turn
from .scoring import BLEU_COLUMNS, TurnScores

_OF_TURNS = ("drop", "sensitivity", "worst", "flips")


def _bleu_extremes(counts: Floats) -> tuple[Floats, Floats]:
    """The counts of a dialogue in which nothing matches, and in which everything does."""
    least, greatest = counts.copy(), counts.copy()
    least[:4] = 0
    greatest[:4], greatest[8] = greatest[4:8], greatest[9]
    return least, greatest


TURN_METRICS = (
    Metric(
        name="sgsacc",
        title="SGSAcc",
        meaning="SGSAcc: turns that entail all that they should say.",
        figures=_OF_TURNS,
        headline=True,
    ),
    Metric(
        name="ser",
        title="SER",
        meaning="SER: turns that lack a value.",
        higher_is_better=False,
        figures=_OF_TURNS,
        headline=True,
    ),
    Metric(
        name="bleu",
        title="BLEU",
        meaning="BLEU: from 0 to 100, by sacreBLEU. All else in %.",
        figures=("drop", "sensitivity"),
        headline=True,
        scale=1,
        counts=BLEU_COLUMNS,
        of=corpus_bleu,
        extremes=_bleu_extremes,
    ),
    Metric(
        name="sgsacc_validated",
        title="SGSAcc_validated",
        meaning="validated: of the turns on which the model of entailment can be relied on.",
        figures=("drop",),
    ),
    Metric(
        name="changed",
        meaning="changed: turns whose text is not that under original.",
        higher_is_better=False,
    ),
    Metric(name="coverage", meaning="coverage: turns that SGSAcc looks at."),
    Metric(name="validated", meaning="validated: turns that are valid."),
    Metric(name="ser_coverage", meaning="ser_coverage: turns with a slot that SER looks at."),
)
METRIC_NAMES["turns"] = [metric.name for metric in TURN_METRICS]


def turn_items(turns: Sequence[Turn], scores: Mapping[str, TurnScores]) -> Scores:
    """The scores of every turn under each variant, of one system."""
    ids = [turn.turn_id for turn in turns]
    dialogues = {name: i for i, name in enumerate(dict.fromkeys(t.dialogue_id for t in turns))}
    items = Items(
        pa.array(ids, pa.string()),
        np.array([dialogues[turn.dialogue_id] for turn in turns], dtype=np.int64),
        np.arange(len(ids)),
        np.array([turn.service for turn in turns], dtype=object),
        {
            "seen": np.array([turn.seen for turn in turns], dtype=bool),
            "seen_domains": np.array([turn.seen_domain for turn in turns], dtype=bool),
        },
    )
    original = scores[ORIGINAL].utterances if ORIGINAL in scores else None
    by_variant = [turn_metrics(of_variant, original) for of_variant in scores.values()]
    metrics = {name: np.stack([of[name] for of in by_variant]) for name in by_variant[0]}
    return Scores(list(scores), items, metrics)


def turn_metrics(scores: TurnScores, original: Sequence[str] | None) -> dict[str, Floats]:
    """The scores of one variant's turns, NaN where undefined [turns]."""
    counts = scores.counts
    metrics = {name: counts[name] for name in BLEU_COLUMNS} | {"bleu": scores.sentence_bleu}
    if "faithful" in counts:
        metrics["sgsacc"] = counts["faithful"]
    metrics["ser"] = counts["wrong"]
    if "valid" in counts and "faithful" in counts:
        metrics["sgsacc_validated"] = np.where(counts["valid"] > 0, counts["faithful"], np.nan)
    named = {"coverage": "judged", "validated": "valid", "ser_coverage": "ser_slots"}
    metrics |= {name: counts[of] for name, of in named.items() if of in counts}
    if original is not None:
        changed = [said != before for said, before in zip(scores.utterances, original)]
        metrics["changed"] = np.array(changed, dtype=np.float64)
    return metrics


def turn_accuracy(scores: Mapping[str, TurnScores], variants: Sequence[str]) -> Floats:
    """Whether turns are right, by SGSAcc or else by SER, under each variant [variants, turns]."""
    has_sgsacc = all("faithful" in of_variant.counts for of_variant in scores.values())
    return np.stack(
        [
            scores[name].counts["faithful"] if has_sgsacc else 1.0 - scores[name].counts["wrong"]
            for name in variants
        ]
    )
