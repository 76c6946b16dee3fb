"""A small sample of a split's dialogues that stands for the whole: chosen once, by a seed.

Systems that are slow or cost money are judged on some dialogues only. Every set of services gets
its share of them, so that the sample is closer to the whole split than one drawn plainly at random.
A smaller sample of the same seed is part of a larger one, so that answers can be used again.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from .configs import split_name
from .io.errors import SgdxError
from .io.files import read_input
from .release import Release
from .rows import read_dialogues


class Subset(msgspec.Struct, frozen=True, kw_only=True):
    """Chosen dialogues of a split, as the file of ``sgdx subset`` holds them."""

    split: str  # ``train``, ``validation`` or ``test``
    seed: int
    count: int  # how many dialogues are chosen
    of: int  # how many dialogues of the split the source has
    ids: tuple[str, ...]  # the first n of them are the sample of n dialogues


def choose_dialogues(
    services: Mapping[str, Collection[str]], count: int, seed: int
) -> tuple[str, ...]:
    """Choose dialogues so that every set of services has its share, lowest rank first."""

    # Systematic sampling within strata of proportional size, so that scores need no weights: the
    # i-th of N dialogues of a stratum, ordered by a hash of the seed and their ids, has the rank
    # (i + u) / N, with u in [0, 1) from a hash of the seed and the stratum.
    def digest(text: str) -> str:
        return hashlib.sha256(f"{seed}\0{text}".encode()).hexdigest()

    strata = defaultdict(list)
    for dialogue, names in services.items():
        strata["+".join(sorted(set(names)))].append(dialogue)
    ranks = {}
    for stratum, dialogues in strata.items():
        offset = int(digest(stratum)[:13], 16) / 16**13
        for position, dialogue in enumerate(sorted(dialogues, key=digest)):
            ranks[dialogue] = (position + offset) / len(dialogues)
    return tuple(sorted(ranks, key=lambda dialogue: (ranks[dialogue], dialogue))[:count])


def subset(release: Release, split: str, count: int, seed: int) -> Subset:
    """Choose dialogues of a release's split."""
    for name, value, least in (("--count", count, 1), ("--seed", seed, 0)):
        if value < least:
            raise SgdxError(f"{name}: found {value}, expected {least} or more")
    split = split_name(split)
    release.check_dialogues("original", split)
    services = _services(release, split)
    if count > len(services):
        raise SgdxError(
            f"--count: found {count}, expected at most {len(services)}, which is how many"
            f" dialogues {release.name} has in {split}"
        )
    ids = choose_dialogues(services, count, seed)
    return Subset(split=split, seed=seed, count=count, of=len(services), ids=ids)


def _services(release: Release, split: str) -> dict[str, list[str]]:
    """The original names of the services of each dialogue, by dialogue id."""
    return {
        dialogue["dialogue_id"]: dialogue["services"]
        for _, dialogues in read_dialogues(release, split)
        for dialogue in dialogues
    }


def check_dialogue_ids(release: Release, split: str, ids: Collection[str], where: str) -> None:
    """Refuse ids of dialogues that a split lacks; ``where`` says where they are from."""
    services = _services(release, split)
    if lacking := [dialogue for dialogue in ids if dialogue not in services]:
        raise SgdxError(
            f"{where}: {len(lacking)} of {len(ids)} dialogues are not in {split} of {release.name},"
            f" the first is {lacking[0]}; expected another --split or --source"
        )


def read_dialogue_ids(path: Path, split: str | None = None) -> list[str]:
    """Read the ids of a subset, a JSON list or lines; a subset of another split is refused."""
    data, ids = read_input(path), list[str]()
    try:
        text = data.decode()
        if text.lstrip().startswith("{"):
            sample = msgspec.json.decode(text, type=Subset)
            ids = list(sample.ids)
            if split is not None and split_name(sample.split) != split_name(split):
                raise SgdxError(f"{path}: is a subset of {sample.split}, expected one of {split}")
        elif text.lstrip().startswith("["):
            ids = msgspec.json.decode(text, type=list[str])
        else:
            ids = text.split()
    except SgdxError:  # which is a ValueError
        raise
    except (ValueError, RecursionError) as error:
        raise SgdxError(f"{path}: {error}, expected a list of dialogue ids") from None
    if not ids or not all(ids):
        raise SgdxError(f"{path}: found no dialogue id or an empty one, expected ids like 1_00000")
    return list(dict.fromkeys(ids))
