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

Figures = dict[str, Any]
Pairs = list[tuple[Service, Service]]  # (original, variant)

# Lee et al. 2022, "SGD-X: A Benchmark for Robust Generalization in Schema-Guided Dialogue Systems"
# (arXiv 2110.06800): Table 1, by variant; from the text the self-BLEU, and the figures of the
# back-translated train schemas.
_COLUMNS = ("original", *VARIANTS, "average")
PUBLISHED: dict[str, list[float | None]] = {
    "slots_seen": [65, 13, 14, 5, 6, 2, 8],
    "intents_seen": [71, 0, 0, 4, 0, 4, 2],
    "name_distance": [None, 0.30, 0.42, 0.49, 0.56, 0.61, 0.48],
    "description_bleu": [None, 18.8, 11.3, 5.6, 2.9, 1.0, 7.9],
}
_BACKTRANS = {"name_distance": 0.14, "description_bleu": 34.1}
_SELF_BLEU = {"self_bleu": 4.5, "backtrans_self_bleu": 41.8}
# By the name of a figure: its label, the format of what is computed here, that of the published.
_ROWS = {
    "slots_seen": ("% slots seen", ".1f", ".0f"),
    "intents_seen": ("% intents seen", ".1f", ".0f"),
    "name_distance": ("distance", ".3f", ".2f"),
    "description_bleu": ("BLEU", ".1f", ".1f"),
}


def stats(release: Release, json_file: Path | None = None) -> None:
    """Print the statistics of a release, and write them to a file if asked."""
    figures = statistics(release)
    if json_file:
        write_json(json_file, figures)
    print_tables(figures, Console(highlight=False))


def statistics(release: Release) -> Figures:
    """The statistics that ``stats`` prints, as JSON values."""
    bleu = BLEU(lowercase=True)
    bleu.corpus_score(["a"], [["a"]])  # without a score it has no signature
    variants, pivots = release.scored_variants()[1:], release.variants(BACKTRANS)
    pairs = {v: _pairs(release, v) for v in ("original", *variants, *pivots)}
    rows = {v: {**_seen(release, v), **_distances(pairs[v], bleu)} for v in variants}
    pivot_rows = {v: _distances(pairs[v], bleu) for v in pivots}
    released = [v for v in variants if v in VARIANTS]
    services = [service for service, _ in pairs["original"]]
    return {
        "source": release.name,
        "sgd": release.is_sgd(),
        "missing": release.missing(),
        "schemas": {
            "elements": {
                "services": len(services),
                "slots": sum(len(service.slots) for service in services),
                "intents": sum(len(service.intents) for service in services),
            },
            "variants": {
                "original": _seen(release, "original"),
                **rows,
                **_average([rows[v] for v in released]),
            },
            "self_bleu": _self_bleu([pairs[v] for v in released], bleu),
            "backtrans": {**pivot_rows, **_average(list(pivot_rows.values()))},
            "backtrans_self_bleu": _self_bleu([pairs[v] for v in pivots], bleu),
            "bleu": str(bleu.get_signature()),
            "overlaps": _overlaps(release) if released else {},
        },
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


def _seen(release: Release, variant: str) -> dict[str, float | None]:
    """Percentages of the unseen test services' names that original train services have, too."""
    seen, shares = release.seen_services(), dict[str, float | None]()
    test = _pairs(release, variant, ["test"])
    unseen = [service for original, service in test if original.service_name not in seen]
    train = [service for service, _ in _pairs(release, "original", ["train"])]
    for what in ("slots", "intents"):
        known = {element.name for service in train for element in getattr(service, what)}
        names = [element.name for service in unseen for element in getattr(service, what)]
        shares[f"{what}_seen"] = 100 * fmean(n in known for n in names) if names else None
    return shares


def _distances(pairs: Pairs, bleu: BLEU) -> dict[str, float | None]:
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


def _self_bleu(variants: Sequence[Pairs], bleu: BLEU) -> dict[str, float] | None:
    """Mean BLEU of ordered pairs of variants, lower where they differ; None of fewer than two."""
    if len(variants) < 2:
        return None
    # Of corpora. The paper describes that of sentences, which is farther from its figure.
    texts = [[text for _, service in pairs for text in service.descriptions] for pairs in variants]
    both = permutations(texts, 2)
    return {"corpus": fmean(bleu.corpus_score(one, [other]).score for one, other in both)}


def _average(rows: Sequence[dict[str, float | None]]) -> Figures:
    """The mean of each column, as ``{"average": row}``; empty where there are no rows."""
    if not rows:
        return {}
    present = {key: [v for row in rows if (v := row[key]) is not None] for key in rows[0]}
    return {"average": {key: fmean(values) if values else None for key, values in present.items()}}


def _overlaps(release: Release) -> Figures:
    """How many train texts that the original schemas lack v1..v5 have, by variant."""
    words, counted = release_words(release), {}
    for variant, services in train_variants(release).items():
        new = [(part, text) for part, text in digests(services) if text not in words.original]
        counted[variant] = {
            f"{part}s": {
                "count": sum(kind == part and text in words.variants for kind, text in new),
                "new": sum(kind == part for kind, _ in new),
            }
            for part in ("name", "description")
        }
    return counted


def print_tables(figures: Figures, console: Console) -> None:
    """Print what ``statistics`` returned as tables; for SGD, beside the published figures."""
    schemas, is_sgd = figures["schemas"], figures["sgd"]
    published = {v: {f: of[i] for f, of in PUBLISHED.items()} for i, v in enumerate(_COLUMNS)}
    for part, title, score, theirs in (
        ("variants", "Schema variants", "self_bleu", published),
        ("backtrans", "Back-translated schemas", "backtrans_self_bleu", {"average": _BACKTRANS}),
    ):
        rows = {}
        for name, (label, form, their_form) in _ROWS.items():
            values = {variant: row.get(name) for variant, row in schemas[part].items()}
            if any(value is not None for value in values.values()):
                rows[label] = ["–" if v is None else format(v, form) for v in values.values()]
                if is_sgd:
                    beside = [theirs.get(variant, {}).get(name) for variant in values]
                    cells = ["" if v is None else f"({v:{their_form}})" for v in beside]
                    rows[f"{label}, published"] = cells
        _print_table(title, schemas[part], rows, console)
        if scores := schemas[score]:
            text = f"self-BLEU: {scores['corpus']:.1f}"
            console.print(f"{text} ({_SELF_BLEU[score]})" if is_sgd else text)
    overlaps = schemas["overlaps"]
    counts = {
        part: [f"{of[part]['count']} of {of[part]['new']}" for of in overlaps.values()]
        for part in ("names", "descriptions")
    }
    title = "Of train texts that the original lacks, those that v1..v5 have"
    _print_table(title, overlaps, counts, console)
    elements = "{services} services, {slots} slots, {intents} intents".format(**schemas["elements"])
    console.print(
        f"{elements}\n"
        "Seen: of unseen test services' slot and intent names, those that train has.\n"
        "Distance: of names; insertions and deletions over both lengths (Indel).\n"
        f"BLEU: of descriptions; {schemas['bleu']}"
    )
    if is_sgd:
        console.print("In brackets: Lee et al. 2022, Table 1.")


def _print_table(
    title: str, columns: Iterable[str], rows: dict[str, list[str]], console: Console
) -> None:
    if columns:
        table = Table(title=title, title_justify="left")
        table.add_column("")
        for column in columns:
            table.add_column("avg" if column == "average" else column, justify="right")
        for label, cells in rows.items():
            table.add_row(label, *cells)
        console.print(table)
