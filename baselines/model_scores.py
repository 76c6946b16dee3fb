"""The scores beside a model: read for its card, and named after their data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sgdx_dataset import SgdxError
from sgdx_metric import ScoreError
from sgdx_metric.signature import signature_parts

from .training.run_folder import read_json

METRIC = {"frames": "sgdx_metric", "turns": "sgsacc_metric"}


class _Scores(msgspec.Struct):
    signature: str
    sgdx: dict[str, Any]


class ScoredData(NamedTuple):
    """Which data scores are of, as their signature says it."""

    name: str  # the data in words, with what of them was scored
    split: str  # the split
    revision: str | None  # the commit of the release; None where it is not the whole release


def read_scores(path: Path, rows: str) -> dict[str, Any]:
    """Read the scores that a card shows."""
    scores: dict[str, Any] = read_json(path, _Scores, "a scores.json")
    try:
        signature_parts(scores["signature"], str(path), METRIC[rows])
    except ScoreError as error:
        raise SgdxError(str(error)) from None
    return scores


def is_oracles(scores: Mapping[str, Any]) -> bool:
    """Whether scores say that they are of a model that was trained on what it is judged on."""
    return "oracle:yes" in scores["signature"].split("|")


def scored_data(scores: Mapping[str, Any], rows: str) -> ScoredData:
    """Name the data that scores are of, with what of them was left out."""
    parts = signature_parts(scores["signature"], "scores.json", METRIC[rows])
    release = parts.get("release", "unknown")
    kind, _, value = release.partition(":")
    names = {
        "sample": "sample corpus of sgdx",
        "unverified": f"unverified data in the layout of SGD ({value})",
        "partial": f"SGD and SGD-X, a partial copy of {value.replace('/', ' of ')} dialogues",
        "unknown": "unknown data",
    }
    limits = []
    for key in ("dialogues", "turns"):  # the number and a digest of those that were chosen
        count, chosen, _ = parts.get(key, "").partition("@")
        if chosen:
            limits.append(f"{key} chosen: {count}")
    if "services" in parts:
        limits.append(f"services chosen: {parts['services'].replace('+', ', ')}")
    name = ", ".join([names.get(kind, "SGD and SGD-X"), *limits])
    revision = None if kind in names else release
    return ScoredData(name, parts.get("split", "unknown"), revision)
