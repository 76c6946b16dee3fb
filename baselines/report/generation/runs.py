"""Runs of generators: the scores.json of ``sgsacc_metric``, and its tests of entailment models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from sgdx_metric.cli.predictions import decode
from sgdx_metric.rows import ScoreError
from sgsacc_metric.signature import signature_parts

from ..provenance import Provenance
from ..reading import predictions_of, read_facts, read_logs


class Figures(
    msgspec.Struct,
    rename={
        "bleu_v1_5": "bleu_v1-5",
        "ser_v1_5": "ser_v1-5",
        "sgsacc_v1_5": "sgsacc_v1-5",
        "sgsacc_validated_v1_5": "sgsacc_validated_v1-5",
    },
):
    """The figures of some turns in scores.json: BLEU from 0 to 100, all else fractions.

    A figure is None where it is undefined, or where the variants or the lack of a model of
    entailment do not give it.
    """

    turns: int = 0
    bleu_orig: float | None = None
    bleu_v1_5: float | None = None
    ss_bleu: float | None = None
    ser_orig: float | None = None
    ser_v1_5: float | None = None
    ss_ser: float | None = None
    sgsacc_orig: float | None = None
    sgsacc_v1_5: float | None = None
    ss_sgsacc: float | None = None
    sgsacc_validated_orig: float | None = None
    sgsacc_validated_v1_5: float | None = None
    changed: float | None = None
    flips: float | None = None
    flips_ser: float | None = None
    confidence: dict[str, tuple[float, float] | None] = {}


class AllFigures(Figures, kw_only=True):
    """The part ``sgdx`` of scores.json."""

    seen: Figures
    unseen: Figures
    seen_domains: Figures
    unseen_domains: Figures
    by_service: dict[str, Figures]

    def groups(self) -> dict[str, Figures]:
        """The figures of all turns and of each group of turns, by its name."""
        return {
            "all": self,
            "seen": self.seen,
            "unseen": self.unseen,
            "seen domains": self.seen_domains,
            "unseen domains": self.unseen_domains,
        }


class Failed(msgspec.Struct):
    """How many actions of an act and slot fail validation."""

    act: str
    slot: str
    actions: int


class Counts(msgspec.Struct):
    """How much was scored; what belongs to SGSAcc is there with a model of entailment only."""

    turns: dict[str, int]
    judged_turns: int | None = None
    valid_turns: int | None = None
    failed_by: list[Failed] = []


class GenerationScores(msgspec.Struct):
    """What the report reads of a scores.json of ``sgsacc_metric``."""

    signature: str
    variants: dict[str, dict[str, dict[str, float | None]]]
    sgdx: AllFigures
    conventions: dict[str, dict[str, dict[str, Any]]]
    counts: Counts


@dataclass(frozen=True, kw_only=True)
class GenerationRun(Provenance):
    """One run of a generator: its scores and what is known of it."""

    scores: GenerationScores

    @property
    def counted(self) -> tuple[int, str]:
        """How many turns were scored."""
        return self.scores.counts.turns.get("all", 0), "turns"

    @property
    def compared(self) -> str:
        """The signature, which says all of how and on what turns was scored."""
        return self.signature

    @property
    def data_marks(self) -> list[str]:
        """What must stand beside every figure on this data, and of this model of entailment."""
        return [*super().data_marks, *model_marks(self.parts)]

    @property
    def judged(self) -> bool:
        """Whether a model of entailment gave SGSAcc."""
        return self.parts.get("nli", "none") != "none"

    @property
    def input(self) -> str:
        """What the generator was given, such as ``derived``; empty where it is not recorded."""
        given = self.facts.get("input") or self.settings.get("input") or ""
        return given if isinstance(given, str) else ""


def model_marks(parts: Mapping[str, str]) -> list[str]:
    """What must stand beside figures of SGSAcc by a signature's model of entailment."""
    if parts.get("nli", "").startswith("lexical"):
        return ["SGSAcc by a comparison of words, which is no model of entailment"]
    return []


@dataclass(frozen=True)
class Validation:
    """The test of a model of entailment on gold responses, as ``validate --json`` writes it.

    Attributes:
        path: The file.
        signature: The line that says on what and how.
        by_evaluator: What ``sgsacc_metric.cli.table2.table2`` returned.
    """

    path: Path
    signature: str
    by_evaluator: Mapping[str, Mapping[str, Any]]


class _ValidationFile(msgspec.Struct):
    signature: str
    by_evaluator: dict[str, _Evaluator]


class _Evaluator(msgspec.Struct):
    precision: float | None
    recall: float | None
    f1: float | None
    valid_turns: int
    turns: int
    published: tuple[float, float, float] | None


def read_generation(path: Path, file: Path) -> GenerationRun:
    """Read a run of a generator.

    Args:
        path: What the user gave.
        file: Its scores.json, which may have ``predictions`` or ``VARIANT.jsonl`` beside it.

    Raises:
        ScoreError: A file is malformed.
    """
    scores = decode(file.read_bytes(), GenerationScores, str(file))
    signature_parts(scores.signature, str(path))
    if not scores.counts.turns.get("all") or not scores.variants:
        raise ScoreError(f"{path}: found no turns in scores.json, expected at least one")
    # `score` writes SYSTEM.json beside the folder SYSTEM of predictions as often as into it.
    folder = file.with_suffix("") if file.with_suffix("").is_dir() else file.parent
    paths = predictions_of(folder, list(scores.variants))
    facts, settings = read_facts(file, paths)
    return GenerationRun(
        path=path,
        signature=scores.signature,
        facts=facts,
        settings=settings,
        logs=read_logs(file, facts),
        scores=scores,
    )


def read_validation(path: Path) -> Validation:
    """Read what ``python -m sgsacc_metric validate --json`` wrote.

    Raises:
        ScoreError: The file is malformed.
    """
    found = decode(path.read_bytes(), _ValidationFile, str(path))
    signature_parts(found.signature, str(path))
    return Validation(path, found.signature, msgspec.to_builtins(found.by_evaluator))
