"""The figures of generated turns: from counts of turns, which are added up and divided.

An item is what one dialogue spends on one service: the counts of its turns are summed, as BLEU and
all other metrics of any set of turns follow from sums.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sgdx_metric.columns import Floats, safe_divide
from sgdx_metric.statistics import (
    Figure,
    drop_of_ratios,
    flipped,
    mean_of_ratios,
    variation,
    worst_case,
)
from sgdx_metric.units import Items, Scores
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS, own_variants, wider_set, worst_sets

from .bleu import corpus_bleu
from .rows import Turn
from .scoring import BLEU_COLUMNS, TurnScores

# The metrics that are fractions: the counts above and below the line.
RATIOS = {
    "ser": ("wrong", "turns"),
    "sgsacc": ("faithful", "turns"),
    "sgsacc_validated": ("faithful_valid", "valid"),
    "coverage": ("judged", "turns"),
    "validated": ("valid", "turns"),
    "ser_coverage": ("ser_slots", "turns"),
}
# The metrics that are followed from the original to the reworded schemas, by what they are called.
TITLES = {
    "bleu": ("BLEU", "BLEU: from 0 to 100, by sacreBLEU. All else in %."),
    "ser": ("SER", "SER: turns that lack a value."),
    "sgsacc": ("SGSAcc", "SGSAcc: turns that entail all that they should say."),
    "sgsacc_validated": (
        "SGSAcc validated",
        "validated: of the turns on which the model of entailment can be relied on.",
    ),
}
HEADLINES = tuple(TITLES)
# The metrics of single turns whose variation under rewording is the schema sensitivity.
SENSITIVE = ("bleu", "ser", "sgsacc")
# The sets of services by which turns are told apart.
SETS = ("seen", "seen_domains")
_LEGENDS = {
    "v1-5": "v1-5: the mean under v1 to v5.",
    "drop": "drop: the mean under v1 to v5 less that under original.",
    "ss": "SS: how far a turn's score varies over v1 to v5, in % of its mean.",
    "changed": "changed: turns whose text is not that under original.",
    "flips": "flips: turns whose SGSAcc is not the same under all of v1 to v5.",
    "flips_ser": "flips_ser: turns whose SER is not.",
    "worst": "worst: each turn under the variant, original or v1 to v5, that is worst for it.",
    "six": "SER flips, SGSAcc flips: turns whose verdict is not the same under all six.",
}


def compute_metrics(sums: Mapping[str, Floats]) -> dict[str, Floats]:
    """The metrics of one variant, from sums of `TurnScores.counts` over some turns [...]."""
    metrics = {"bleu": corpus_bleu(np.stack([sums[count] for count in BLEU_COLUMNS], axis=-1))}
    known = {name: counts for name, counts in RATIOS.items() if counts[0] in sums}
    return metrics | {name: safe_divide(sums[p], sums[whole]) for name, (p, whole) in known.items()}


def headline_metrics(scores: Scores) -> list[str]:
    """The headline metrics that the scores have."""
    return [m for m in HEADLINES if m == "bleu" or RATIOS[m][0] in scores.metrics]


def metric_figure(
    scores: Scores, metric: str, key: str, variants: Sequence[str], term: str = ""
) -> Figure:
    """The mean over variants of a headline metric of all turns."""
    title, legend = TITLES[metric]
    name = f"{title} {key.removeprefix(f'{metric}_')}" if key.startswith(f"{metric}_") else title
    counts = BLEU_COLUMNS if metric == "bleu" else RATIOS[metric]
    columns = np.concatenate(
        [scores.metrics[count][[scores.variants.index(v) for v in variants]] for count in counts]
    )
    return Figure(
        key,
        columns,
        _mean_bleu if metric == "bleu" else mean_of_ratios,
        name,
        [legend, _LEGENDS[term]] if term else [legend],
        lower_is_better=metric == "ser",
        scale=1 if metric == "bleu" else 100,
        bounds=None if metric == "bleu" else (0.0, 1.0),
    )


def under_each(scores: Scores, metric: str) -> list[Figure]:
    """A headline metric under each variant, whose keys are the names of the variants."""
    return [metric_figure(scores, metric, name, [name]) for name in scores.variants]


def _bleus(sums: Floats) -> Floats:
    """BLEU under each variant, from the sums of its counts [counts x variants, ...]."""
    return corpus_bleu(np.stack(np.split(sums, len(BLEU_COLUMNS)), axis=-1))


def _mean_bleu(sums: Floats) -> Floats:
    return np.asarray(_bleus(sums).mean(axis=0))


def _drop_of_bleu(sums: Floats) -> Floats:
    *reworded, original = _bleus(sums)
    return np.asarray(np.mean(reworded, axis=0) - original)


def turn_figures(scores: Scores) -> list[Figure]:
    """`<metric>_orig` and `<metric>_v1-5` of headline metrics, and `cross_variant_stats`."""
    figures = []
    for metric in headline_metrics(scores):
        if ORIGINAL in scores.variants:
            figures.append(metric_figure(scores, metric, f"{metric}_orig", [ORIGINAL]))
        if {*PAPER_VARIANTS} <= {*scores.variants}:
            key = f"{metric}_v1-5"
            figures.append(metric_figure(scores, metric, key, PAPER_VARIANTS, "v1-5"))
        if {ORIGINAL, *PAPER_VARIANTS} <= {*scores.variants}:
            six = [*PAPER_VARIANTS, ORIGINAL]
            change = metric_figure(scores, metric, f"{metric}_drop", six, "drop")
            of = _drop_of_bleu if metric == "bleu" else drop_of_ratios
            figures.append(change._replace(of=of, bounds=change.bounds and (-1.0, 1.0)))
    return figures + [_shared_figure(name, scores) for name in scores.shared]


def _shared_figure(name: str, scores: Scores) -> Figure:
    """The mean over turns of a statistic of `cross_variant_stats`."""
    columns = np.stack([scores.shared[name], scores.metrics["turns"][0]])
    stat, bracket, rest = name.partition("(")
    title, term = stat, stat
    if stat.startswith("ss_"):
        title, term = f"SS_{TITLES[stat.removeprefix('ss_')][0]}", "ss"
    elif (metric := stat.rpartition("_")[0]) in TITLES:
        title, term = f"{TITLES[metric][0]} {stat.removeprefix(f'{metric}_')}", "six"
        term = "worst" if stat.endswith("worst") else term
    return Figure(
        name,
        columns,
        mean_of_ratios,
        f"{title}{bracket}{rest}",
        [_LEGENDS[term]],
        lower_is_better=stat not in ("sgsacc_worst", "changed"),
        bounds=None if term == "ss" else (0.0, 1.0),
    )


def unit_scores(turns: Sequence[Turn], scores: Mapping[str, TurnScores]) -> Scores:
    """The counts of one system's turns, added up by dialogue and service."""
    # Items are numbered in the order in which they are met.
    number_of: dict[tuple[str, str], int] = {}
    unit = np.array(
        [number_of.setdefault((turn.dialogue_id, turn.service), len(number_of)) for turn in turns],
        dtype=np.int64,
    )
    first_turn = np.unique(unit, return_index=True)[1]

    def summed(count: Floats) -> Floats:
        return np.bincount(unit, count, len(number_of)).astype(np.float64)

    dialogues = np.array([dialogue for dialogue, _ in number_of], dtype=object)
    items = Items(
        pa.array([f"{dialogue}/{service}" for dialogue, service in number_of], pa.string()),
        np.unique(dialogues, return_inverse=True)[1],
        np.arange(len(number_of)),
        np.array([service for _, service in number_of], dtype=object),
        {
            "seen": np.array([turns[i].seen for i in first_turn], dtype=bool),
            "seen_domains": np.array([turns[i].seen_domain for i in first_turn], dtype=bool),
        },
    )
    names = next(iter(scores.values())).counts
    counts = {
        name: np.stack([summed(of_variant.counts[name]) for of_variant in scores.values()])
        for name in names
    }
    shared = {name: summed(stat) for name, stat in cross_variant_stats(scores).items()}
    return Scores(list(scores), items, counts, shared=shared)


def cross_variant_stats(scores: Mapping[str, TurnScores]) -> dict[str, Floats]:
    """The statistics of each turn over variants, by name, to be averaged over turns [turns].

    `ss_<metric>` is the variation of the turn's BLEU, of whether it is right by SER and of whether
    it is faithful, over v1 to v5. `changed` is the share of v1 to v5 under which the utterance is
    not that under the original. `flips` and `flips_ser` are 1 where the verdict is not the same
    under all of v1 to v5, and `<metric>_flips` where it is not under all six. `<metric>_worst` is
    that of the turn under the variant that is worst for it. Over other variants, a name such as
    `ser_worst(original+v1..v5+mine)` has the set. What lacks variants is left out.
    """
    paper = [name for name in PAPER_VARIANTS if name in scores]
    metrics = _available_metrics(scores)
    stats: dict[str, Floats] = {}
    if len(paper) > 1:
        for metric in metrics:
            stats[f"ss_{metric}"] = variation(_turn_scores(scores, paper, metric))
        for metric, name in (("sgsacc", "flips"), ("ser", "flips_ser")):
            if metric in metrics:
                stats[name] = flipped(_turn_scores(scores, paper, metric))
    if wider := wider_set(list(scores)):
        reworded = [*paper, *own_variants(scores)]
        for metric in metrics:
            stats[f"ss_{metric}({wider})"] = variation(_turn_scores(scores, reworded, metric))
    for name, variants in worst_sets(list(scores)).items():
        mark = f"({name})" if name else ""
        for metric in ("sgsacc", "ser"):
            if metric in metrics:
                turn_scores = _turn_scores(scores, variants, metric)
                worst = worst_case(turn_scores)
                # Of SER less is better: it is 1 where a value is missing.
                stats[f"{metric}_worst{mark}"] = 1.0 - worst if metric == "ser" else worst
                stats[f"{metric}_flips{mark}"] = flipped(turn_scores)
    if paper and ORIGINAL in scores:
        original = np.array(scores[ORIGINAL].utterances, dtype=object)
        utterances = [np.array(scores[name].utterances, dtype=object) for name in paper]
        is_changed = [of_variant != original for of_variant in utterances]
        stats["changed"] = np.mean(is_changed, axis=0, dtype=np.float64)
    return stats


def turn_accuracy(scores: Mapping[str, TurnScores], variants: Sequence[str]) -> Floats:
    """Whether turns are right, by SGSAcc or else by SER, under each variant [variants, turns]."""
    metric = "sgsacc" if "sgsacc" in _available_metrics(scores) else "ser"
    return _turn_scores(scores, variants, metric)


def _available_metrics(scores: Mapping[str, TurnScores]) -> list[str]:
    """The metrics of SENSITIVE that the scores have: SGSAcc only with a model of entailment."""
    has_sgsacc = all("faithful" in turn_scores.counts for turn_scores in scores.values())
    return [metric for metric in SENSITIVE if has_sgsacc or metric != "sgsacc"]


def _turn_scores(scores: Mapping[str, TurnScores], variants: Sequence[str], metric: str) -> Floats:
    """Each turn's score under each variant, of which more is better [variants, turns]."""
    by_metric = {
        "bleu": lambda turn_scores: turn_scores.sentence_bleu,
        "ser": lambda turn_scores: 1.0 - turn_scores.counts["wrong"],
        "sgsacc": lambda turn_scores: turn_scores.counts["faithful"],
    }
    return np.stack([by_metric[metric](scores[variant]) for variant in variants])
