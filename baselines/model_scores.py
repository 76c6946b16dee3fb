"""The scores beside a model: read for its card, held against the model, named after their data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sgdx_dataset import SgdxError
from sgdx_metric import ScoreError
from sgdx_metric.cli.results import read_results
from sgdx_metric.signature import signature_parts
from sgsacc_metric.cli.files import read_scores as read_scores_of_turns

from .training.run_folder import read_json
from .training.settings import Fraction, NotNegative

METRIC = {"frames": "sgdx_metric", "turns": "sgsacc_metric"}
# What a scores.json repeats of its predictions' headers that depends on the model alone.
_OF_MODEL = (
    "tracker", "weights", "seed", "train", "augment", "schemas", "overlaps", "oracle", "acts",
    "format", "input", "keep_bias", "max_input", "max_target", "max_tokens", "max_turn", "parts",
    "utterances",
)  # fmt: skip


class _Figures(msgspec.Struct, rename={"jga_v1_5": "jga_v1-5"}):
    jga_orig: Fraction | None
    jga_v1_5: Fraction | None
    ss_jga: NotNegative | None
    jga_worst: Fraction | None = None
    flips: Fraction | None = None


class _AllFigures(_Figures, kw_only=True):
    seen: _Figures
    unseen: _Figures


class _Counts(msgspec.Struct):
    all: int
    seen: int
    unseen: int


class _Scores(msgspec.Struct, kw_only=True):
    """What the card shows of any scores.json."""

    signature: str
    predictions: dict[str, dict[str, Any]] = {}


class _FrameScores(_Scores, kw_only=True):
    """What the card shows of a tracker's scores.json."""

    sgdx: _AllFigures
    frames: _Counts


class _Turns(msgspec.Struct):
    turns: _Counts


class _TurnScores(_Scores, kw_only=True):
    """What the card shows of a generator's scores.json, with SGSAcc only if a model judged it."""

    sgdx: dict[str, NotNegative | dict[str, Any] | None]
    counts: _Turns


_SCORES = {"frames": _FrameScores, "turns": _TurnScores}


class ScoredData(NamedTuple):
    """Which data scores are of, as their signature says it.

    Attributes:
        name: The data in words, with what of them was scored.
        split: The split.
        revision: The commit of the release; None where it is not the whole release.
    """

    name: str
    split: str
    revision: str | None


def read_scores(path: Path, rows: str) -> dict[str, Any]:
    """Read the scores that a card shows.

    Args:
        path: A scores.json.
        rows: What was predicted: ``frames`` or ``turns``.

    Returns:
        The content of the file. The worst case of frames is computed where an earlier version of
        the metric left it out.

    Raises:
        SgdxError: The file cannot be read, is no scores.json of such predictions, or its headline
            figures are not those of its own frames.
    """
    scores: dict[str, Any] = read_json(path, _SCORES[rows], "a scores.json")
    try:
        signature_parts(scores["signature"], str(path), METRIC[rows])
        if rows == "frames" and "paired" in scores:
            sgdx = read_results(path).scores.sgdx
            if "jga_worst" not in scores["sgdx"]:
                scores["sgdx"] = msgspec.to_builtins(sgdx)
        if rows == "turns" and "units" in scores:
            read_scores_of_turns(path)  # It refuses what was changed, or contradicts itself.
    except ScoreError as error:
        raise SgdxError(str(error)) from None
    return scores


def names_weights(scores: Mapping[str, Any]) -> bool:
    """Whether scores say which weights they were computed with, under every wording."""
    predictions = scores.get("predictions") or {}
    return bool(predictions) and all("weights" in stated for stated in predictions.values())


def is_oracles(scores: Mapping[str, Any]) -> bool:
    """Whether scores say that they are of a model that was trained on what it is judged on."""
    return "oracle:yes" in scores["signature"].split("|")


def check_model(path: Path, rows: str, facts: Mapping[str, Any]) -> None:
    """Refuse scores that say of themselves that they are another model's.

    Args:
        path: A scores.json.
        rows: What was predicted: ``frames`` or ``turns``.
        facts: What the header of a prediction file says of the model beside it.

    Raises:
        SgdxError: They are of another system, of other weights or of a model that was trained on
            something else; or one of the reasons of ``read_scores``.
    """
    expected = msgspec.json.decode(msgspec.json.encode(dict(facts)))
    for variant, stated in read_scores(path, rows).get("predictions", {}).items():
        for key in _OF_MODEL:
            if key in stated and key in expected and stated[key] != expected[key]:
                raise SgdxError(
                    f"{path}: predictions: {variant}: {key} is {_short(stated[key])}, and the "
                    f"model's is {_short(expected[key])}: expected scores of the model in this "
                    "folder; remove this file and predictions/, and evaluate the model again"
                )


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 24 else f"{text[:20]}..."


def scored_data(scores: Mapping[str, Any], rows: str) -> ScoredData:
    """Name the data that scores are of, with what of them was left out.

    Args:
        scores: What ``read_scores`` returned.
        rows: What was predicted: ``frames`` or ``turns``.
    """
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
