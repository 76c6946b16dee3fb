"""The scores of single turns, as JSON Lines."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from sgdx_dataset.io.files import staged
from sgsacc_metric.gold import GoldTurn
from sgsacc_metric.rows import Turn
from sgsacc_metric.scoring import TurnScores


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
