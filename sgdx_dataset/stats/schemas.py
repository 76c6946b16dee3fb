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

from ..configs import BACKTRANS, SPLITS, VARIANTS
from ..io.extras import require
from ..release.release import Release
from ..release.schema import Schema
from ..rewording.leaks import new_texts, overlaps, train_variants
from ..schema import Service

Row = dict[str, float | None]
Pairs = list[tuple[Service, Service]]  # (original, variant)


def schema_statistics(release: Release) -> dict[str, Any]:
    """Table 1 of Lee et al. 2022 for the variants that a release has."""
    bleu = Bleu()
    pairs = {v: _pairs(release, v) for v in (*VARIANTS, *release.own_variants)}
    pairs = {v: variant_pairs for v, variant_pairs in pairs.items() if variant_pairs}
    pivots = {v: _pairs(release, v) for v in release.variants(BACKTRANS)}
    original = [service for service, _ in _pairs(release, "original")]
    rows = {v: {**_seen(release, v), **_variant(pairs[v], bleu)} for v in pairs}
    released = {v: row for v, row in rows.items() if v in VARIANTS}
    pivot_rows = {v: _variant(pivot_pairs, bleu) for v, pivot_pairs in pivots.items()}
    is_compared = any(release.schema_splits(variant) for variant in VARIANTS)
    trained = train_variants(release) if is_compared else {}
    return {
        "elements": {
            "services": len(original),
            "slots": len(_slots(original)),
            "intents": len(_intents(original)),
        },
        "variants": {"original": _seen(release, "original"), **rows, **_average(released)},
        "self_bleu": self_bleu([_descriptions(s for _, s in pairs[v]) for v in released], bleu),
        "backtrans": {**pivot_rows, **_average(pivot_rows)},
        "backtrans_self_bleu": self_bleu(
            [_descriptions(service for _, service in of) for of in pivots.values()], bleu
        ),
        "bleu": bleu.signature,
        "overlaps": {v: _overlaps(release, v, schema) for v, schema in trained.items()},
    }


def name_distance(originals: Sequence[str], variants: Sequence[str]) -> float:
    """Mean normalised Indel distance of names, in [0, 1]."""
    # The paper calls it Levenshtein distance; but that gives 0.39 for v1, where it has 0.30.
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
    """Mean BLEU of ordered pairs of variants, lower where they differ; None of fewer than two."""
    if len(variants) < 2:
        return None
    pairs = list(permutations(variants, 2))
    # The paper describes the second, which depends on the smoothing; the first comes near it.
    return {
        "corpus": fmean(bleu.corpus(*pair) for pair in pairs),
        "sentence": fmean(bleu.sentences(*pair) for pair in pairs),
    }


def _variant(pairs: Pairs, bleu: Bleu) -> Row:
    """How far the words of a variant are from the original ones."""
    originals, variants = [original for original, _ in pairs], [variant for _, variant in pairs]
    names = [_slots(services) + _intents(services) for services in (originals, variants)]
    return {
        "name_distance": name_distance(*names),
        "description_bleu": bleu.corpus(_descriptions(variants), _descriptions(originals)),
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


def _overlaps(release: Release, variant: str, schema: Schema) -> dict[str, Any]:
    """The texts of a train schema that v1..v5 have and the original lacks, counted and listed."""
    found, new = overlaps(release, {variant: schema}), new_texts(release, variant, schema)
    counted = {}
    for part in ("name", "description"):
        same = [overlap.same_element for overlap in found if overlap.location.part == part]
        counted[f"{part}s"] = {
            "count": len(same),
            "of_same_element": sum(same),
            "new": sum(location.part == part for location in new),  # v1..v5 have them or not
        }
    texts = []
    for overlap in found:
        location = overlap.location._asdict()
        del location["variant"]
        equals = [released._asdict() for released in overlap.equals]
        same_element = {"text": overlap.text, "same_element": overlap.same_element}
        texts.append({**location, **same_element, "equals": equals})
    return {**counted, "texts": texts}


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


def _descriptions(services: Iterable[Service]) -> list[str]:
    return [text for service in services for text in service.descriptions]


def _average(rows: dict[str, Row]) -> dict[str, Row]:
    """The mean of each column, as ``{"average": row}``; empty where there are no rows."""
    if not rows:
        return {}
    columns = {key: [row[key] for row in rows.values()] for key in next(iter(rows.values()))}
    present = {key: [v for v in values if v is not None] for key, values in columns.items()}
    return {"average": {key: fmean(v) if v else None for key, v in present.items()}}
