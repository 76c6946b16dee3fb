"""Runs of generators: the scores.json of ``sgsacc_metric``, and its tests of entailment models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import parse_json
from sgdx_eval.headers import Header
from sgdx_eval.results import SYSTEM_PARTS
from sgdx_metric.signature import signature_parts
from sgsacc_metric.signature import NAME

from ..run_files import read_record
from ..runs import ScoredRun, data_caveats


class TurnGroupScores(
    msgspec.Struct,
    rename={
        "bleu_v1_5": "bleu_v1-5",
        "ser_v1_5": "ser_v1-5",
        "sgsacc_v1_5": "sgsacc_v1-5",
        "sgsacc_validated_v1_5": "sgsacc_validated_v1-5",
    },
):
    """The scores of some turns in scores.json: BLEU from 0 to 100, all else fractions.

    A score is None where it is undefined, or where the variants or the lack of a model of
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
    ser_worst: float | None = None
    ser_flips: float | None = None
    sgsacc_worst: float | None = None
    sgsacc_flips: float | None = None
    confidence: dict[str, tuple[float, float] | None] = {}


class TurnRobustnessScores(TurnGroupScores, kw_only=True):
    """The part ``sgdx`` of scores.json: the scores of all turns, and of groups of them."""

    seen: TurnGroupScores
    unseen: TurnGroupScores
    seen_domains: TurnGroupScores
    unseen_domains: TurnGroupScores
    by_service: dict[str, TurnGroupScores]

    def groups(self) -> dict[str, TurnGroupScores]:
        """The scores of all turns and of each group of turns, by its name."""
        return {
            "all": self,
            "seen": self.seen,
            "unseen": self.unseen,
            "seen domains": self.seen_domains,
            "unseen domains": self.unseen_domains,
        }


class FailedActions(msgspec.Struct):
    """How many actions of an act and slot fail validation."""

    act: str
    slot: str
    actions: int


class TurnCounts(msgspec.Struct):
    """How much was scored; what belongs to SGSAcc is there with a model of entailment only."""

    turns: dict[str, int]
    judged_turns: int | None = None
    valid_turns: int | None = None
    failed_by: list[FailedActions] = []


class GeneratorScores(msgspec.Struct):
    """What the report reads of a scores.json of ``sgsacc_metric``."""

    signature: str
    variants: dict[str, dict[str, dict[str, float | None]]]
    sgdx: TurnRobustnessScores
    conventions: dict[str, dict[str, dict[str, Any]]]
    counts: TurnCounts
    predictions: dict[str, Header] = {}


@dataclass(frozen=True, kw_only=True)
class GeneratorRun(ScoredRun):
    """One run of a generator: its scores and what is known of it.

    Attributes:
        scores: The content of scores.json.
    """

    scores: GeneratorScores

    @property
    def comparison_key(self) -> str:
        """The parts of the signature that are not the system's own."""
        return str({k: v for k, v in self.signature_parts.items() if k not in SYSTEM_PARTS})

    @property
    def data_caveats(self) -> list[str]:
        """What must stand beside every number on these turns, by this model of entailment."""
        turns = self.scores.counts.turns.get("all", 0)
        return turn_caveats(self.signature_parts, turns)

    @property
    def judged(self) -> bool:
        """Whether a model of entailment gave SGSAcc."""
        return self.signature_parts.get("nli", "none") != "none"

    @property
    def input(self) -> str:
        """What the generator was given, such as ``derived``; empty where it is not recorded."""
        record = self.record
        name = record.system.get("input") or record.settings.get("input") or ""
        return name if isinstance(name, str) else ""


def turn_caveats(signature_parts: Mapping[str, str], turns: int) -> list[str]:
    """What must stand beside every number on some turns, and of SGSAcc by a model of entailment.

    Args:
        signature_parts: The parts of a signature, by key.
        turns: How many turns were scored.
    """
    caveats = data_caveats(signature_parts, turns, "turns")
    if signature_parts.get("nli", "").startswith("lexical"):
        caveats.append("SGSAcc by a comparison of words, which is no model of entailment")
    return caveats


@dataclass(frozen=True)
class Validation:
    """The test of a model of entailment on gold responses, as ``validate --json`` writes it.

    Attributes:
        path: The file.
        signature: The line that says on what and how.
        by_evaluator: What ``sgdx_eval.turns.table2.table2`` returned.
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


def read_generator_run(path: Path, file: Path) -> GeneratorRun:
    """Read a run of a generator.

    Args:
        path: What the user gave.
        file: Its scores.json.

    Raises:
        ScoreError, SgdxError: A file is malformed.
    """
    what = "a scores.json of sgsacc_metric"
    scores = parse_json(read_file(file), GeneratorScores, str(file), what)
    signature_parts(scores.signature, str(file), NAME)
    if not scores.counts.turns.get("all") or not scores.variants:
        raise SgdxError(f"{path}: found no turns in scores.json, expected at least one")
    record = read_record(file, scores.predictions)
    return GeneratorRun(path=path, signature=scores.signature, record=record, scores=scores)


def read_validation(path: Path) -> Validation:
    """Read what ``python -m sgsacc_metric validate --json`` wrote.

    Raises:
        ScoreError, SgdxError: The file is malformed.
    """
    what = "a file of sgsacc_metric validate --json"
    test = parse_json(read_file(path), _ValidationFile, str(path), what)
    signature_parts(test.signature, str(path), NAME)
    return Validation(path, test.signature, msgspec.to_builtins(test.by_evaluator))
