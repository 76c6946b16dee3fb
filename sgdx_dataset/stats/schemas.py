"""The SGD-X paper's Table 1: how far the variants' words are from the original's.

A variant is compared element by element, with every service once, however many splits it is in. The
paper does not spell out how its figures were computed; these definitions come nearest to its table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from statistics import fmean
from typing import Any

from rapidfuzz.distance import Indel

from ..io.extras import require
from ..release.release import Release
from ..release.schema import BACKTRANS, SPLITS, VARIANTS
from ..schema import Service
from .leaks import overlap_statistics

Row = dict[str, float | None]
Pairs = list[tuple[Service, Service]]  # (original, variant)


def schema_statistics(release: Release) -> dict[str, Any]:
    """Table 1 of Lee et al. 2022 for the variants that a release has.

    Returns:
        ``elements`` (numbers of services, slots and intents), ``variants`` and ``backtrans`` (a row
        for each variant, and ``average``), ``self_bleu`` and ``backtrans_self_bleu`` (see
        ``self_bleu``), ``bleu`` (sacreBLEU's signature) and ``overlaps`` (see
        ``overlap_statistics``). A row's ``slots_seen`` and ``intents_seen`` are percentages, null
        where no test service is unseen; ``name_distance`` is in [0, 1] and ``description_bleu`` in
        [0, 100].
    """
    bleu = Bleu()
    pairs = {v: _pairs(release, v) for v in (*VARIANTS, *release.own_variants)}
    pairs = {v: variant_pairs for v, variant_pairs in pairs.items() if variant_pairs}
    pivots = {v: _pairs(release, v) for v in release.variants(BACKTRANS)}
    original = [service for service, _ in _pairs(release, "original")]
    rows = {v: {**_seen(release, v), **_wording(pairs[v], bleu)} for v in pairs}
    released = {v: row for v, row in rows.items() if v in VARIANTS}
    pivot_rows = {v: _wording(pivot_pairs, bleu) for v, pivot_pairs in pivots.items()}
    return {
        "elements": {
            "services": len(original),
            "slots": len(_slots(original)),
            "intents": len(_intents(original)),
        },
        "variants": {"original": _seen(release, "original"), **rows, **_average(released)},
        "self_bleu": self_bleu([_descriptions(pairs[v]) for v in released], bleu),
        "backtrans": {**pivot_rows, **_average(pivot_rows)},
        "backtrans_self_bleu": self_bleu([*map(_descriptions, pivots.values())], bleu),
        "bleu": bleu.signature,
        "overlaps": overlap_statistics(release),
    }


def name_distance(originals: Sequence[str], variants: Sequence[str]) -> float:
    """Mean normalised Indel distance of names, in [0, 1].

    It is the number of insertions and deletions divided by the sum of both lengths. The paper calls
    it Levenshtein distance; but that, divided by the longer length, gives 0.39 for v1, where the
    paper has 0.30.
    """
    return fmean(map(Indel.normalized_distance, originals, variants))


def share_seen(names: Sequence[str], train: Iterable[str]) -> float | None:
    """Percentage of ``names``, with repetitions, that are among ``train``; None of no names."""
    train_names = set(train)
    return 100 * fmean(name in train_names for name in names) if names else None


class Bleu:
    """Lower-cased BLEU by sacreBLEU with its default tokenizer, 13a; scores in [0, 100]."""

    def __init__(self) -> None:
        metrics = require("sacrebleu.metrics")
        self._corpus = metrics.BLEU(lowercase=True)
        self._sentence = metrics.BLEU(lowercase=True, effective_order=True)
        self._corpus.corpus_score(["a"], [["a"]])  # without a score it has no signature
        self.signature = str(self._corpus.get_signature())

    def corpus(self, texts: Sequence[str], references: Sequence[str]) -> float:
        """One score for all texts together."""
        return float(self._corpus.corpus_score(texts, [references]).score)

    def sentences(self, texts: Sequence[str], references: Sequence[str]) -> float:
        """The mean of every text's own score (exponential smoothing, effective order)."""
        pairs = zip(texts, references, strict=True)
        return fmean(self._sentence.sentence_score(text, [ref]).score for text, ref in pairs)


def self_bleu(variants: Sequence[Sequence[str]], bleu: Bleu) -> dict[str, float] | None:
    """How similar the variants' descriptions are to each other; lower is more diverse.

    Returns:
        Means over all ordered pairs of variants, in [0, 100]: of the pairs' ``corpus`` BLEU, and of
        the ``sentence`` BLEU of their descriptions. The paper describes the second; but that
        depends on the smoothing, and the first comes near the paper's figure. None of fewer than
        two variants.
    """
    if len(variants) < 2:
        return None
    pairs = list(permutations(variants, 2))
    return {
        "corpus": fmean(bleu.corpus(*pair) for pair in pairs),
        "sentence": fmean(bleu.sentences(*pair) for pair in pairs),
    }


def _wording(pairs: Pairs, bleu: Bleu) -> Row:
    originals, variants = [original for original, _ in pairs], [variant for _, variant in pairs]
    names = [_slots(services) + _intents(services) for services in (originals, variants)]
    references = [text for service in originals for text in _texts(service)]
    return {
        "name_distance": name_distance(*names),
        "description_bleu": bleu.corpus(_descriptions(pairs), references),
    }


def _seen(release: Release, variant: str) -> Row:
    """Percentages of the unseen test services' names that original train services have, too."""
    seen, train = release.seen_services(), list[Service]()
    if "train" in release.schema_splits("original"):
        train = release.schema("train", "original").services
    test = _pairs(release, variant, ["test"])
    unseen = [service for original, service in test if original.service_name not in seen]
    return {
        "slots_seen": share_seen(_slots(unseen), _slots(train)),
        "intents_seen": share_seen(_intents(unseen), _intents(train)),
    }


def _pairs(release: Release, variant: str, splits: Iterable[str] = SPLITS) -> Pairs:
    """Pairs of an original service and the variant's, from all splits that have the variant."""
    pairs: dict[str, tuple[Service, Service]] = {}
    for split in splits:
        if split in release.schema_splits(variant):
            originals = release.schema(split, "original").services
            for original, service in zip(originals, release.schema(split, variant).services):
                pairs.setdefault(original.service_name, (original, service))
    return list(pairs.values())


def _slots(services: Iterable[Service]) -> list[str]:
    return [slot.name for service in services for slot in service.slots]


def _intents(services: Iterable[Service]) -> list[str]:
    return [intent.name for service in services for intent in service.intents]


def _descriptions(pairs: Pairs) -> list[str]:
    return [text for _, service in pairs for text in _texts(service)]


def _texts(service: Service) -> list[str]:
    slots = [slot.description for slot in service.slots]
    return [service.description, *slots, *(intent.description for intent in service.intents)]


def _average(rows: dict[str, Row]) -> dict[str, Row]:
    """The mean of each column, as ``{"average": row}``; empty where there are no rows."""
    if not rows:
        return {}
    columns = {key: [row[key] for row in rows.values()] for key in next(iter(rows.values()))}
    present = {key: [v for v in values if v is not None] for key, values in columns.items()}
    return {"average": {key: fmean(v) if v else None for key, v in present.items()}}
