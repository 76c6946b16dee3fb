"""Table 1 of the SGD-X paper, with the published figures beside those of SGD.

It says how far the variants' words are from the original's. A variant is compared element by
element, with every service once, however many splits it is in. The paper does not spell out how its
figures were computed; these definitions come nearest to its table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from pathlib import Path
from statistics import fmean
from typing import Any

from rapidfuzz.distance import Indel
from rich.console import Console
from rich.table import Table
from sacrebleu.metrics.bleu import BLEU

from .configs import BACKTRANS, SPLITS, VARIANTS
from .io.files import write_json
from .release import Release
from .rewording.leaks import digests, release_words, train_variants
from .schema import Service

Row = dict[str, float | None]  # the figures of a variant
Pairs = list[tuple[Service, Service]]  # (original, variant)

# By figure: its heading, the format of what is computed here, and that of what is published.
_COLUMNS = {
    "slots_seen": ("slots %", ".1f", ".0f"),
    "intents_seen": ("intents %", ".1f", ".0f"),
    "name_distance": ("distance", ".3f", ".2f"),
    "description_bleu": ("BLEU", ".1f", ".1f"),
    "self_bleu": ("self-BLEU", ".1f", ".1f"),
}
# Lee et al. 2022, "SGD-X: A Benchmark for Robust Generalization in Schema-Guided Dialogue Systems"
# (arXiv 2110.06800), Table 1; from its text the self-BLEU, and the back-translated train schemas.
PUBLISHED: dict[str, Row] = {
    variant: dict(zip(_COLUMNS, row, strict=True))
    for variant, row in {
        "original": (65, 71, None, None, None),
        "v1": (13, 0, 0.30, 18.8, None),
        "v2": (14, 0, 0.42, 11.3, None),
        "v3": (5, 4, 0.49, 5.6, None),
        "v4": (6, 0, 0.56, 2.9, None),
        "v5": (2, 4, 0.61, 1.0, None),
        "average": (8, 2, 0.48, 7.9, 4.5),
        BACKTRANS: (None, None, 0.14, 34.1, 41.8),
    }.items()
}


def stats(release: Release, json_file: Path | None = None) -> None:
    """Print the statistics of a release as a table, and write them to a file if asked."""
    figures = statistics(release)
    if json_file:
        write_json(json_file, figures)
    table = Table(title="The words of variants", title_justify="left", box=None)
    table.add_column("", no_wrap=True)
    for heading in (*(heading for heading, _, _ in _COLUMNS.values()), "names*", "texts*"):
        table.add_column(heading, justify="right")
    for variant, row in figures["variants"].items():
        cells = [variant]
        for name, (_, form, their_form) in _COLUMNS.items():
            theirs = PUBLISHED.get(variant, {}).get(name) if figures["sgd"] else None
            beside = "" if theirs is None else f" ({theirs:{their_form}})"
            cells.append("–" if row.get(name) is None else f"{row[name]:{form}}{beside}")
        for part in ("names", "descriptions"):
            cells.append(f"{row[part]} of {row[f'new_{part}']}" if part in row else "")
        table.add_row(*cells)
    console = Console(highlight=False)
    console.print(table)
    console.print(
        "{services} services, {slots} slots, {intents} intents".format(**figures["elements"]),
        "Seen: of unseen test services' slot and intent names, those that train has.",
        "Distance: of names; insertions and deletions over both lengths (Indel).",
        f"BLEU: of descriptions; {figures['bleu']}",
        "* Of train, those that v1 to v5 have, of those that the original lacks.",
        *(["In brackets: Lee et al. 2022, Table 1."] if figures["sgd"] else []),
        sep="\n",
    )


def statistics(release: Release) -> dict[str, Any]:
    """The statistics that ``stats`` prints, as JSON values."""
    bleu = BLEU(lowercase=True)
    bleu.corpus_score(["a"], [["a"]])  # without a score it has no signature
    variants, pivots = release.scored_variants()[1:], release.variants(BACKTRANS)
    pairs = {v: _pairs(release, v) for v in ("original", *variants, *pivots)}
    rows: dict[str, Row] = {"original": _seen(release, "original")}
    rows |= {v: {**_seen(release, v), **_distances(pairs[v], bleu)} for v in (*variants, *pivots)}
    released = [v for v in variants if v in VARIANTS]
    if released:
        for variant, row in _overlaps(release).items():
            rows[variant] |= row
    for name, group in (("average", released), (BACKTRANS, pivots)):
        if group:
            averages = {figure: _mean(rows[v].get(figure) for v in group) for figure in _COLUMNS}
            rows[name] = {**averages, "self_bleu": _self_bleu([pairs[v] for v in group], bleu)}
    services = [service for service, _ in pairs["original"]]
    return {
        "source": release.name,
        "sgd": release.is_sgd(),
        "missing": release.missing(),
        "elements": {
            "services": len(services),
            "slots": sum(len(service.slots) for service in services),
            "intents": sum(len(service.intents) for service in services),
        },
        "variants": rows,
        "bleu": str(bleu.get_signature()),
    }


def _pairs(release: Release, variant: str, splits: Iterable[str] = SPLITS) -> Pairs:
    """Pairs of an original service and the variant's, from all splits that have the variant."""
    pairs: dict[str, tuple[Service, Service]] = {}
    for split in splits:
        if split in release.schema_splits(variant):
            originals = release.schema(split, "original")
            for original, service in zip(originals, release.schema(split, variant)):
                pairs.setdefault(original.service_name, (original, service))
    return list(pairs.values())


def _seen(release: Release, variant: str) -> Row:
    """Percentages of the unseen test services' names that original train services have, too."""
    seen, shares = release.seen_services(), Row()
    test = _pairs(release, variant, ["test"])
    unseen = [service for original, service in test if original.service_name not in seen]
    train = [service for service, _ in _pairs(release, "original", ["train"])]
    for what in ("slots", "intents"):
        known = {element.name for service in train for element in getattr(service, what)}
        names = [element.name for service in unseen for element in getattr(service, what)]
        shares[f"{what}_seen"] = 100 * fmean(n in known for n in names) if names else None
    return shares


def _distances(pairs: Pairs, bleu: BLEU) -> Row:
    """How far the words of a variant are from the original ones."""
    names = [
        (old.name, new.name)
        for original, service in pairs
        for old, new in zip(original.elements, service.elements, strict=True)
    ]
    original, variant = (
        [text for s in services for text in s.descriptions] for services in zip(*pairs)
    )
    return {
        # The paper calls it Levenshtein distance; but that gives 0.39 for v1, where it has 0.30.
        "name_distance": fmean(Indel.normalized_distance(*pair) for pair in names),
        "description_bleu": float(bleu.corpus_score(variant, [original]).score),
    }


def _self_bleu(variants: Sequence[Pairs], bleu: BLEU) -> float | None:
    """Mean BLEU of ordered pairs of variants, lower where they differ; None of fewer than two."""
    # Of corpora. The paper describes that of sentences, which is farther from its figure.
    texts = [[text for _, service in pairs for text in service.descriptions] for pairs in variants]
    return _mean(bleu.corpus_score(one, [other]).score for one, other in permutations(texts, 2))


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is there; None of nothing."""
    present = [value for value in values if value is not None]
    return fmean(present) if present else None


def _overlaps(release: Release) -> dict[str, Row]:
    """How many train texts that the original schemas lack v1..v5 have, by variant."""
    words, counted = release_words(release), dict[str, Row]()
    for variant, services in train_variants(release).items():
        new = [(part, text) for part, text in digests(services) if text not in words.original]
        counted[variant] = {}
        for part in ("name", "description"):
            texts = [text for kind, text in new if kind == part]
            counted[variant][f"{part}s"] = sum(text in words.variants for text in texts)
            counted[variant][f"new_{part}s"] = len(texts)
    return counted
