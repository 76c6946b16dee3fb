"""scores.json, in which `compare` finds the counts of every dialogue and service, and scores of
single turns."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sgdx_metric.cli.files import whole
from sgdx_metric.cli.predictions import decode
from sgdx_metric.columns import Floats
from sgdx_metric.rows import ScoreError

from ..gold import GoldTurn
from ..rows import Turn
from ..scoring import TurnScores
from ..units import Units


class _Units(msgspec.Struct):
    dialogue: list[str]
    service: list[str]
    seen: list[bool]
    seen_domain: list[bool]
    by_variant: dict[str, dict[str, list[float]]]
    across: dict[str, list[float]]


class Scores(msgspec.Struct):
    """The parts of scores.json that `compare` reads."""

    signature: str
    units: _Units


def write_scores(result: Mapping[str, Any], units: Units, output: Path) -> None:
    """Write scores.json: a report and, in one line at its end, `units`, which `compare` reads."""
    kept = _Units(
        units.dialogue,
        units.service,
        units.seen.tolist(),
        units.seen_domain.tolist(),
        {name: _lists(counts) for name, counts in units.by_variant.items()},
        _lists(units.across),
    )
    text = json.dumps(result, indent=2, allow_nan=False).removesuffix("\n}")
    line = msgspec.json.encode(kept).decode()
    with whole(output) as path:
        path.write_text(f'{text},\n  "units": {line}\n}}\n', encoding="utf-8")


def read_scores(path: Path) -> tuple[str, Units]:
    """Read the signature and the units of a scores.json.

    Raises:
        ScoreError: The file cannot be read, or is no scores.json of this metric.
    """
    try:
        scores = decode(path.read_bytes(), Scores, str(path))
    except OSError as error:
        raise ScoreError(f"{path}: {error.strerror}") from None
    units = scores.units
    number = len(units.dialogue)
    lengths = {len(units.service), len(units.seen), len(units.seen_domain)}
    for counts in (units.across, *units.by_variant.values()):
        lengths.update(map(len, counts.values()))
    if lengths != {number} or not units.by_variant:
        raise ScoreError(f"{path}: units: found lists of lengths {sorted(lengths)}, expected one")
    found = Units(
        units.dialogue,
        units.service,
        np.array(units.seen, dtype=bool),
        np.array(units.seen_domain, dtype=bool),
        {name: _arrays(counts) for name, counts in units.by_variant.items()},
        _arrays(units.across),
    )
    return scores.signature, found


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
    with whole(output) as path, path.open("wb") as file:
        for variant, of in scores.items():
            for i, turn in enumerate(turns):
                row = {
                    "turn_id": turn.turn_id,
                    "variant": variant,
                    "service": turn.service,
                    "utterance": of.utterances[i],
                    "bleu": float(of.sentence_bleu[i]),
                    "values": int(of.counts["values"][i]),
                    "missing": int(of.counts["missing"][i]),
                }
                if gold:
                    row |= {
                        "judged": gold[i].judged,
                        "valid": gold[i].valid,
                        "faithful": of.verdicts[i].faithful,
                    }
                file.write(msgspec.json.encode(row) + b"\n")


def _lists(counts: Mapping[str, Floats]) -> dict[str, list[float]]:
    """Counts as JSON numbers; whole ones are written without a decimal point."""
    return {
        name: [int(one) if one == int(one) else one for one in of.tolist()]
        for name, of in counts.items()
    }


def _arrays(counts: Mapping[str, list[float]]) -> dict[str, Floats]:
    return {name: np.array(of, dtype=np.float64) for name, of in counts.items()}
