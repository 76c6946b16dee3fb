"""Train schemas in other words: what a tracker is trained on besides the original ones."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import datasets
import msgspec
import numpy as np
from datasets import Dataset, concatenate_datasets
from filelock import FileLock

from sgdx_dataset import VARIANTS, SgdxError, found_variants, frames, load, overlaps
from sgdx_dataset.release.open import open_release
from sgdx_dataset.rewording.corrupt import corrupt
from sgdx_dataset.rewording.leaks import train_variants

from ..training.settings import Augment

BACKTRANS, ORACLE, CORRUPT = "backtrans", "oracle", "corrupt"  # else a folder of variants


class Augmented(NamedTuple):
    """Frame rows under the schemas of an augmentation.

    schemas: Their digest. overlaps: How many of their texts v1..v5 have too and the original lacks.
    oracle: Whether they are v1..v5's, or have texts of v1..v5 that no translation gave.
    """

    rows: Dataset
    schemas: str
    overlaps: int
    oracle: bool


def augmented(augment: Augment, source: str | None) -> Augmented:
    """The train split's frame rows under each of an augmentation's schemas, one after the other.

    Raises:
        SgdxError: There is no such augmentation; the folder or the source is at fault.
    """
    variants = _own_variants(augment, source)
    release = open_release(source, variants)
    if augment.schemas == ORACLE:
        configs, schemas = list(VARIANTS), {v: release.schema("train", v) for v in VARIANTS}
    else:
        configs, schemas = list(variants) or [BACKTRANS], train_variants(release)
    parts = [frames(load(config, "train", source, variants)) for config in configs]
    rows = sampled(concatenate_datasets(parts), augment.ratio, augment.seed)
    schemas = {variant: schemas[variant] for variant in rows.unique("variant")}
    found = overlaps(release, schemas)
    # A translation may well come upon a text of v1..v5; nothing else should.
    translated = {v for v, path in variants.items() if not path.is_dir()} if variants else schemas
    leaks = any(overlap.place.variant not in translated for overlap in found)
    told = msgspec.json.encode({variant: of.services for variant, of in schemas.items()})
    digest = hashlib.sha256(told).hexdigest()
    return Augmented(rows, digest, len(found), augment.schemas == ORACLE or leaks)


def _own_variants(augment: Augment, source: str | None) -> dict[str, Path]:
    """The schemas that no config has, by variant."""
    if augment.schemas in (BACKTRANS, ORACLE):
        return {}
    if augment.schemas == CORRUPT:
        return _corrupted(augment.seed, source)
    folder = Path(augment.schemas)
    if not folder.is_dir():
        raise SgdxError(
            f"augment: {augment.schemas}: no such folder, expected one of variants, or "
            f"{BACKTRANS}, {ORACLE} or {CORRUPT}"
        )
    return found_variants(folder)


def _corrupted(seed: int, source: str | None) -> dict[str, Path]:
    """Corrupted schemas, which are kept in the Hugging Face cache."""
    release = open_release(source)
    cache = Path(datasets.config.HF_DATASETS_CACHE) / "sgdx-corrupted"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"{release.fingerprint[:16]}-{seed}"
    with FileLock(f"{folder}.lock"):  # of several processes the first makes them
        if not folder.exists():
            corrupt(release, folder, seed=seed)
    return found_variants(folder)


def sampled(rows: Dataset, ratio: float, seed: int) -> Dataset:
    """A share of each variant's dialogues, the same for a seed, in their order.

    Args:
        rows: Frame rows of one or several variants.
        ratio: In [0, 1], of each variant's dialogues; rounded.
        seed: With the variant's number it decides which.
    """
    if ratio == 1:
        return rows
    numbers: dict[str, dict[str, int]] = {}
    for variant, dialogue in zip(rows["variant"], rows["dialogue_id"]):
        of_variant = numbers.setdefault(variant, {})
        of_variant.setdefault(dialogue, len(of_variant))
    kept = {}
    for number, (variant, dialogues) in enumerate(numbers.items()):
        order = np.random.default_rng((seed, number)).permutation(len(dialogues))
        kept[variant] = set(order[: round(ratio * len(dialogues))].tolist())
    pairs = zip(rows["variant"], rows["dialogue_id"])
    return rows.select([i for i, (v, d) in enumerate(pairs) if numbers[v][d] in kept[v]])
