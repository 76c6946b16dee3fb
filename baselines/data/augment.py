"""Augmentation: training on reworded schemas besides the original ones."""

from __future__ import annotations

import hashlib
from itertools import cycle, pairwise
from pathlib import Path

import datasets
import msgspec
import numpy as np
from datasets import Dataset, concatenate_datasets

from sgdx_dataset import VARIANTS, SgdxError, find_variants, load
from sgdx_dataset.contamination import copied_dialogues, in_words
from sgdx_dataset.io.waiting import locked_file
from sgdx_dataset.release import open_release
from sgdx_dataset.rewording.corrupt import corrupt
from sgdx_dataset.rewording.leaks import (
    Leak,
    find_leak,
    judging_words,
    published_words,
    train_variants,
)
from sgdx_eval.requested import RowsOf

from ..settings import Also, Augment

# The named augmentations; any other name is the path of a folder of variants.
BACKTRANS, ORACLE, CORRUPT = "backtrans", "oracle", "corrupt"

_CORRUPTED = "sgdx-corrupted-2"  # the number rises when ``corrupt`` gives other words than before


def augmented(augment: Augment, source: str | None, rows_of: RowsOf) -> tuple[Dataset, str, Leak]:
    """Rows of train under each schema variant of an augmentation, their SHA-256, and their leak."""
    variants = _variant_paths(augment, source)
    release = open_release(source, variants)
    if augment.schemas == ORACLE:
        configs, schemas = list(VARIANTS), {v: release.schema("train", v) for v in VARIANTS}
    else:
        configs, schemas = list(variants) or [BACKTRANS], train_variants(release)
    dialogues = concatenate_datasets(
        [load(config, "train", source, variants) for config in configs]
    )
    rows = rows_of(sampled(dialogues, augment.ratio, augment.seed), "train", source)
    schemas = {variant: schemas[variant] for variant in rows.unique("variant")}
    leak = find_leak(schemas, judging_words(release))
    digest = hashlib.sha256(msgspec.json.encode(schemas)).hexdigest()
    return rows, digest, leak._replace(oracle=augment.schemas == ORACLE or leak.oracle)


def second_corpus(
    also: Also, source: str | None, count: int, seed: int, rows_of: RowsOf
) -> tuple[Dataset, Leak]:
    """Train rows of a second corpus in its own variants, beside ``count`` rows of the first.

    Its dialogues are repeated, in random order, until they have their share of all rows. It is a
    leak where it has words of v1..v5 or what users say in a test split.
    """
    release = open_release(also.source)
    schemas = {name: release.schema("train", name) for name in also.variants}
    dialogues = [load(name, "train", also.source) for name in also.variants]
    rows = rows_of(concatenate_datasets(dialogues), "train", also.source)
    wanted = round(count * also.share / (1 - also.share))
    names = list(zip(rows["variant"][:], rows["dialogue_id"][:]))
    starts = [i for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
    parts = [range(*ends) for ends in pairwise([*starts, len(rows)])]
    order = np.random.default_rng(seed).permutation(len(parts))
    repeated, chosen = cycle(order.tolist()), list[int]()
    while len(chosen) < wanted:
        chosen += parts[next(repeated)]
    if "validation" in release.schema_splits("original"):  # which a model is chosen by
        schemas["validation"] = release.schema("validation", "original")
    judged = open_release(source)
    leak = find_leak(schemas, [*published_words(), *judging_words(judged)])
    copied = in_words(copied_dialogues(release, judged))
    return rows.select(chosen), leak._replace(copied=copied)


def _variant_paths(augment: Augment, source: str | None) -> dict[str, Path]:
    """Paths of the schemas that are not among the dataset's configs, by name of the variant."""
    if augment.schemas in (BACKTRANS, ORACLE):
        return {}
    folder = Path(augment.schemas)
    if augment.schemas == CORRUPT:  # made once, and kept in the cache
        release = open_release(source)
        cache = Path(datasets.config.HF_DATASETS_CACHE) / _CORRUPTED
        cache.mkdir(parents=True, exist_ok=True)
        folder = cache / f"{release.fingerprint[:16]}-{augment.seed}"
        with locked_file(Path(f"{folder}.lock")):  # of several processes, the first makes them
            if not folder.exists():
                corrupt(release, folder, seed=augment.seed)
    elif not folder.exists():
        raise SgdxError(
            f"augment: {augment.schemas}: no such folder or file, expected one of variants, an "
            f"overlay, or {BACKTRANS}, {ORACLE} or {CORRUPT}"
        )
    return find_variants(folder)


def sampled(rows: Dataset, ratio: float, seed: int) -> Dataset:
    """Draw a random sample of each variant's dialogues; the rows stay in order."""
    if ratio == 1:
        return rows
    numbers: dict[str, dict[str, int]] = {}
    names = list(zip(rows["variant"][:], rows["dialogue_id"][:]))
    for variant, dialogue in names:
        of_variant = numbers.setdefault(variant, {})
        of_variant.setdefault(dialogue, len(of_variant))
    drawn = {}
    for number, (variant, dialogues) in enumerate(numbers.items()):
        order = np.random.default_rng((seed, number)).permutation(len(dialogues))
        drawn[variant] = set(order[: round(ratio * len(dialogues))].tolist())
    return rows.select([i for i, (v, d) in enumerate(names) if numbers[v][d] in drawn[v]])
