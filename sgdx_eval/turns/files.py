"""scores.json, in which `compare` finds the counts of every dialogue and service, and the scores
of single turns."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sgdx_dataset.io.files import read_input, staged
from sgdx_dataset.io.json import parse_json
from sgdx_metric.columns import Floats
from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import signature_parts
from sgsacc_metric.gold import GoldTurn
from sgsacc_metric.rows import Turn
from sgsacc_metric.scoring import TurnScores
from sgsacc_metric.signature import NAME
from sgsacc_metric.units import Units


class _Units(msgspec.Struct):
    dialogue: list[str]
    service: list[str]
    seen: list[bool]
    seen_domain: list[bool]
    by_variant: dict[str, dict[str, list[float]]]
    across: dict[str, list[float]]


class _Scores(msgspec.Struct):
    """The parts of scores.json that `compare` reads."""

    signature: str
    units: _Units


def write_scores(scores: Mapping[str, Any], output: Path) -> None:
    """Write scores.json, with `units`, which `compare` reads, in one line at its end."""
    report = {key: part for key, part in scores.items() if key != "units"}
    text = json.dumps(report, indent=2, allow_nan=False).removesuffix("\n}")
    line = msgspec.json.encode(scores["units"]).decode()
    with staged(output) as path:
        path.write_text(f'{text},\n  "units": {line}\n}}\n', encoding="utf-8")


@dataclass(frozen=True)
class Scores:
    """What `compare` reads of a scores.json.

    Attributes:
        signature: The line that says how it was scored.
        parts: The parts of the signature, by key.
        units: The counts of every dialogue and service.
    """

    signature: str
    parts: dict[str, str]
    units: Units


def read_scores(path: Path) -> Scores:
    """Read a scores.json."""
    scores = parse_json(read_input(path), _Scores, str(path), "a scores.json of sgsacc_metric")
    parts = signature_parts(scores.signature, str(path), NAME)
    return Scores(scores.signature, parts, _units(scores.units, path))


def _units(units: _Units, path: Path) -> Units:
    lengths = {len(units.dialogue), len(units.service), len(units.seen), len(units.seen_domain)}
    for counts in (units.across, *units.by_variant.values()):
        lengths.update(map(len, counts.values()))
    if len(lengths) > 1 or not units.by_variant:
        raise ScoreError(f"{path}: units: found lists of lengths {sorted(lengths)}, expected one")
    return Units(
        units.dialogue,
        units.service,
        np.array(units.seen, dtype=bool),
        np.array(units.seen_domain, dtype=bool),
        {variant: _arrays(counts) for variant, counts in units.by_variant.items()},
        _arrays(units.across),
    )


def write_per_turn(
    turns: Sequence[Turn],
    scores: Mapping[str, TurnScores],
    gold: Sequence[GoldTurn],
    output: Path,
) -> None:
    """Write a JSON line for each variant and turn: its BLEU, what SER misses, what SGSAcc says.

    The keys are `turn_id`, `variant`, `service`, `utterance`, `bleu` (0 to 100), `values` and
    `missing` (counts), and with a model of entailment `judged`, `valid` and `faithful`.
    """
    with staged(output) as path, path.open("wb") as file:
        for variant, turn_scores in scores.items():
            for i, turn in enumerate(turns):
                row = {
                    "turn_id": turn.turn_id,
                    "variant": variant,
                    "service": turn.service,
                    "utterance": turn_scores.utterances[i],
                    "bleu": float(turn_scores.sentence_bleu[i]),
                    "values": int(turn_scores.counts["values"][i]),
                    "missing": int(turn_scores.counts["missing"][i]),
                }
                if gold:
                    row |= {
                        "judged": gold[i].judged,
                        "valid": gold[i].valid,
                        "faithful": turn_scores.verdicts[i].faithful,
                    }
                file.write(msgspec.json.encode(row) + b"\n")


def _arrays(counts: Mapping[str, list[float]]) -> dict[str, Floats]:
    return {name: np.array(count, dtype=np.float64) for name, count in counts.items()}
