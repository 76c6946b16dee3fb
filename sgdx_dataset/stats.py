"""Statistics of a release, with the published figures beside those of SGD and SGD-X.

Of schemas they are the SGD-X paper's Table 1: how far the variants' words are from the original's.
A variant is compared element by element, with every service once, however many splits it is in. The
paper does not spell out how its figures were computed; these definitions come nearest to its table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import permutations
from pathlib import Path
from statistics import fmean
from typing import Any

from rapidfuzz.distance import Indel
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from sacrebleu.metrics.bleu import BLEU

from .configs import BACKTRANS, SPLITS, VARIANTS
from .io.console import escape_controls
from .io.files import write_bytes
from .io.progress import progress
from .release import DIALOGUES, Release, missing_from_sgd
from .rewording.leaks import digest, release_words, texts, train_variants
from .rows import read_dialogues
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
# Turns of train, dev and test (the release's dstc8.md, "Dataset Statistics", commit 3716015).
_TURNS = {"train": 329_964, "validation": 48_726, "test": 84_594}
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
    print_tables(figures, Console(highlight=False))
    if json_file:
        text = json.dumps(figures, indent=2, ensure_ascii=False)
        write_bytes(json_file, text.encode() + b"\n")


def statistics(release: Release) -> Figures:
    """The statistics that ``stats`` prints, as JSON values."""
    dialogues, is_sgd = dialogue_statistics(release), release.is_sgd()
    counts = {split: of_split["dialogues"] for split, of_split in dialogues.items()}
    return {
        "source": release.name,
        "sgd": is_sgd,
        "missing": missing_from_sgd(counts, DIALOGUES, "dialogues") if is_sgd else "",
        "schemas": schema_statistics(release),
        "dialogues": dialogues,
    }


def dialogue_statistics(release: Release) -> dict[str, dict[str, int]]:
    """How much is in each split: dialogues, turns, the user's annotated frames, services."""
    splits, seen = release.splits("original"), release.seen_services()
    counts = {}
    with progress("Counting", len(splits), " splits"):
        for split in splits:
            dialogues = [d for _, of_file in read_dialogues(release, split) for d in of_file]
            turns = [turn for dialogue in dialogues for turn in dialogue["turns"]]
            services = {service for dialogue in dialogues for service in dialogue["services"]}
            counts[split] = {
                "dialogues": len(dialogues),
                "turns": len(turns),
                "user_turns": sum(turn["speaker"] == "USER" for turn in turns),
                "user_frames": sum("state" in frame for turn in turns for frame in turn["frames"]),
                "services": len(services),
                "seen_services": len(services & seen),
                "unseen_services": len(services - seen),
            }
    return counts


def schema_statistics(release: Release) -> Figures:
    """Table 1 of Lee et al. 2022 for the variants that a release has."""
    bleu = BLEU(lowercase=True)
    pairs = {v: _pairs(release, v) for v in (*VARIANTS, *release.own_variants)}
    pairs = {v: of_variant for v, of_variant in pairs.items() if of_variant}
    pivots = {v: _pairs(release, v) for v in release.variants(BACKTRANS)}
    rows = {v: {**_seen(release, v), **_distances(pairs[v], bleu)} for v in pairs}
    pivot_rows = {v: _distances(of_variant, bleu) for v, of_variant in pivots.items()}
    original = [service for service, _ in _pairs(release, "original")]
    released = [v for v in rows if v in VARIANTS]
    bleu.corpus_score(["a"], [["a"]])  # without a score it has no signature
    return {
        "elements": {
            "services": len(original),
            "slots": sum(len(service.slots) for service in original),
            "intents": sum(len(service.intents) for service in original),
        },
        "variants": {
            "original": _seen(release, "original"),
            **rows,
            **_average({v: rows[v] for v in released}),
        },
        "self_bleu": self_bleu([_descriptions(s for _, s in pairs[v]) for v in released]),
        "backtrans": {**pivot_rows, **_average(pivot_rows)},
        "backtrans_self_bleu": self_bleu(
            [_descriptions(s for _, s in of_variant) for of_variant in pivots.values()]
        ),
        "bleu": str(bleu.get_signature()),
        "overlaps": _overlaps(release) if released else {},
    }


def name_distance(originals: Sequence[str], variants: Sequence[str]) -> float:
    """Mean normalised Indel distance of names, in [0, 1]."""
    # The paper calls it Levenshtein distance; but that gives 0.39 for v1, where it has 0.30.
    return fmean(map(Indel.normalized_distance, originals, variants))


def share_seen(names: Sequence[str], train: Iterable[str]) -> float | None:
    """Percentage of ``names``, with repetitions, that are among ``train``; None of no names."""
    train_names = set(train)
    return 100 * fmean(name in train_names for name in names) if names else None


def self_bleu(variants: Sequence[Sequence[str]]) -> dict[str, float] | None:
    """Mean BLEU of ordered pairs of variants, lower where they differ; None of fewer than two."""
    if len(variants) < 2:
        return None
    # The paper describes the second, which depends on the smoothing; the first comes near it.
    corpus, sentence = BLEU(lowercase=True), BLEU(lowercase=True, effective_order=True)
    pairs = list(permutations(variants, 2))
    return {
        "corpus": fmean(corpus.corpus_score(one, [other]).score for one, other in pairs),
        "sentence": fmean(
            fmean(sentence.sentence_score(*texts).score for texts in zip(one, [[t] for t in other]))
            for one, other in pairs
        ),
    }


def _distances(pairs: Pairs, bleu: BLEU) -> dict[str, float | None]:
    """How far the words of a variant are from the original ones."""
    originals, variants = ([pair[i] for pair in pairs] for i in (0, 1))
    texts = [_descriptions(services) for services in (variants, originals)]
    return {
        "name_distance": name_distance(_names(originals), _names(variants)),
        "description_bleu": float(bleu.corpus_score(texts[0], [texts[1]]).score),
    }


def _seen(release: Release, variant: str) -> dict[str, float | None]:
    """Percentages of the unseen test services' names that original train services have, too."""
    seen, train = release.seen_services(), list[Service]()
    if "train" in release.schema_splits("original"):
        train = release.schema("train", "original")
    test = _pairs(release, variant, ["test"])
    unseen = [service for original, service in test if original.service_name not in seen]
    return {
        f"{what}_seen": share_seen(
            [element.name for service in unseen for element in getattr(service, what)],
            [element.name for service in train for element in getattr(service, what)],
        )
        for what in ("slots", "intents")
    }


def _overlaps(release: Release) -> Figures:
    """How many train texts that the original schemas lack v1..v5 have, by variant."""
    words, counted = release_words(release), {}
    for variant, services in train_variants(release).items():
        digests = [(part, digest(text)) for part, text in texts(services)]
        new = [(part, text) for part, text in digests if text not in words.original]
        counted[variant] = {
            f"{part}s": {
                "count": sum(kind == part and text in words.variants for kind, text in new),
                "new": sum(kind == part for kind, _ in new),
            }
            for part in ("name", "description")
        }
    return counted


def _pairs(release: Release, variant: str, splits: Iterable[str] = SPLITS) -> Pairs:
    """Pairs of an original service and the variant's, from all splits that have the variant."""
    pairs: dict[str, tuple[Service, Service]] = {}
    for split in splits:
        if split in release.schema_splits(variant):
            originals = release.schema(split, "original")
            for original, service in zip(originals, release.schema(split, variant)):
                pairs.setdefault(original.service_name, (original, service))
    return list(pairs.values())


def _names(services: Sequence[Service]) -> list[str]:
    slots = [slot.name for service in services for slot in service.slots]
    return slots + [intent.name for service in services for intent in service.intents]


def _descriptions(services: Iterable[Service]) -> list[str]:
    return [text for service in services for text in service.descriptions]


def _average(rows: dict[str, dict[str, float | None]]) -> Figures:
    """The mean of each column, as ``{"average": row}``; empty where there are no rows."""
    if not rows:
        return {}
    columns = {key: [row[key] for row in rows.values()] for key in next(iter(rows.values()))}
    present = {key: [v for v in values if v is not None] for key, values in columns.items()}
    return {"average": {key: fmean(v) if v else None for key, v in present.items()}}


# ---- tables


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
            text = "self-BLEU: {corpus:.1f} as corpora, {sentence:.1f} as sentences".format(
                **scores
            )
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
    dialogues, whole = figures["dialogues"], {"dialogues": DIALOGUES, "turns": _TURNS}
    rows = {}
    for name in next(iter(dialogues.values()), {}):
        rows[name.replace("_", " ")] = [f"{of[name]:,}" for of in dialogues.values()]
        if is_sgd and name in whole:
            rows[f"{name}, published"] = [f"({whole[name][split]:,})" for split in dialogues]
    _print_table("Dialogues", dialogues, rows, console)
    if is_sgd:
        console.print("In brackets: Lee et al. 2022, Table 1; the release's dstc8.md.")
    if figures["missing"]:
        console.print(f"Partial copy of SGD: {figures['missing']}.")


def _print_table(
    title: str, columns: Iterable[str], rows: dict[str, list[str]], console: Console
) -> None:
    if columns:
        table = Table(title=title, title_justify="left")
        table.add_column("")
        for column in columns:
            name = "avg" if column == "average" else escape(escape_controls(column))
            table.add_column(name, justify="right")
        for label, cells in rows.items():
            table.add_row(label, *cells)
        console.print(table)
