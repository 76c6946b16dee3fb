"""The figures of the report, by hand or by other means, and the line that says how."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from sgdx_metric.signature import Setup
from sgsacc_metric.lexical import LexicalNli
from sgsacc_metric.rows import Prediction, Turn
from sgsacc_metric.system import score_system

from .turns import act, four_turns, turn

VARIANTS = ("original", "v1", "v2", "v3", "v4", "v5")
BLEU_PART = "bleu:nrefs-1,case-mixed,eff-no,tok-13a,smooth-exp,sacrebleu-[0-9.]+"
END = r"ci:95%-bootstrap-1000-seed-0\|version:0.1.0"


def said_of(turns: list[Turn]) -> dict[str, list[str]]:
    gold = [one.utterance for one in turns]
    wrong = ["A hotel ?", *gold[1:]]
    other = ["So, Rome ?", *gold[1:]]
    return dict(zip(VARIANTS, (gold, wrong, gold, other, wrong, gold), strict=True))


def report(
    turns: list[Turn], said: dict[str, list[str]], nli: Any = None, of: Any = None, **data: Any
) -> dict[str, Any]:
    """The report on what a system says in each turn, by variant; `of` are the split's turns."""
    predictions = [
        Prediction(turn.turn_id, variant, utterance)
        for variant, utterances in said.items()
        for turn, utterance in zip(turns, utterances, strict=True)
    ]
    return score_system(of or turns, turns, predictions, setup=Setup(**data), nli=nli).report


def test_figures_by_hand() -> None:
    turns = four_turns()
    said = said_of(turns)
    result = report(turns, said, split="test", release="sample")
    line = r"sgsacc_metric\|generator:original(\+v\d){5}\|evaluator:original\|split:test"
    line = rf"{line}\|release:sample\|turns:4\|{BLEU_PART}\|ser:t2g2\|nli:none\|{END}"
    assert re.fullmatch(line, result["signature"])
    everything = result["variants"]["v1"]["#ALL_SERVICES"]
    assert everything["ser"] == 0.25
    expected = BLEU().corpus_score(said["v1"], [[one.utterance for one in turns]]).score
    assert everything["bleu"] == pytest.approx(expected, abs=1e-9)
    assert result["variants"]["v1"]["#UNSEEN_SERVICES"]["ser"] == 0
    assert result["variants"]["v1"]["#SEEN_SERVICES"]["ser"] == pytest.approx(1 / 3)
    services = {"#ALL_SERVICES", "#SEEN_SERVICES", "#UNSEEN_SERVICES", "Hotels_1", "Hotels_2"}
    assert set(result["variants"]["v1"]) == services | {"#SEEN_DOMAINS", "Hotels"}
    sgdx = result["sgdx"]
    assert sgdx["ser_orig"] == 0 and sgdx["ser_v1-5"] == pytest.approx(0.1)
    # The first turn is right under v2, v3 and v5: mean .6, sample standard deviation sqrt(.3).
    assert sgdx["ss_ser"] == pytest.approx(np.sqrt(0.3) / 0.6 / 4)
    # It changes under v1, v3 and v4, and its verdict under v1 and v4.
    assert sgdx["changed"] == pytest.approx(3 / 5 / 4)
    assert (sgdx["flips_ser"], sgdx["ser_worst"], sgdx["ser_flips"]) == (0.25, 0.25, 0.25)
    sentence = BLEU(effective_order=True).sentence_score
    first = [sentence(said[name][0], [turns[0].utterance]).score for name in VARIANTS[1:]]
    assert sgdx["ss_bleu"] == pytest.approx(np.std(first, ddof=1) / np.mean(first) / 4)
    assert sgdx["unseen"]["changed"] == 0 and sgdx["unseen_domains"]["turns"] == 0
    assert sgdx["by_service"]["Hotels_1"]["ser_v1-5"] == pytest.approx(0.4 / 3)
    assert sgdx["differences"]["v1"]["ser"]["difference"] == 0.25
    low, high = sgdx["confidence"]["ser_v1-5"]
    assert (low, high) == (0.0, pytest.approx(0.2))  # of two dialogues one is wrong at times
    assert "sgsacc_orig" not in sgdx and "flips" not in sgdx
    assert result["counts"] == {
        "turns": {"all": 4, "seen": 3, "unseen": 1, "seen_domains": 4, "unseen_domains": 0}
    }


def test_figures_of_sgsacc() -> None:
    turns = four_turns()
    turns[1] = turn(act("NOTIFY_SUCCESS"), turn_id=turns[1].turn_id, utterance="Done.", prompt="")
    result = report(turns, said_of(turns), LexicalNli(), split="test")
    everything = result["variants"]["v4"]["#ALL_SERVICES"]
    assert everything["sgsacc"] == 0.75 and everything["coverage"] == 0.75
    assert everything["sgsacc_validated"] == 0.75 and everything["ser_coverage"] == 0.75
    assert result["sgdx"]["sgsacc_orig"] == 1 and result["sgdx"]["flips"] == 0.25
    assert result["sgdx"]["ss_sgsacc"] == pytest.approx(np.sqrt(0.3) / 0.6 / 4)
    assert (result["sgdx"]["sgsacc_worst"], result["sgdx"]["sgsacc_flips"]) == (0.75, 0.25)
    assert result["counts"]["judged_turns"] == 3 and result["counts"]["valid_turns"] == 4
    assert result["counts"]["actions"] == {"all": 4, "judged": 3, "tampered": 3, "failed": 0}
    assert result["counts"]["failed_by"] == []
    assert "|release:partial:2/4201|turns:4|" in result["signature"]
    assert "|nli:lexical (no model)|" in result["signature"]
    assert "|validated:4/4|negatives-seed:0|" in result["signature"]


def test_what_fails_validation_is_counted_by_act_and_slot() -> None:
    turns = [turn(act("CONFIRM", "city", "Rome"), utterance="Sure?", prompt="")]
    turns.append(turn(turn_id="1_00000/3"))
    result = report(turns, {"v1": ["x", "y"]}, LexicalNli())
    assert result["counts"]["failed_by"] == [{"act": "CONFIRM", "slot": "city", "actions": 1}]
    assert result["variants"]["v1"]["#ALL_SERVICES"]["sgsacc_validated"] == 0
    assert "|validated:1/2|" in result["signature"]


def test_order_of_turns_and_variants_does_not_matter() -> None:
    turns = four_turns()
    said = said_of(turns)
    first = report(turns, said, split="test")
    back = {name: said[name][::-1] for name in reversed(said)}
    second = report(turns[::-1], back, split="test")
    assert first["variants"] == second["variants"]
    for name, ends in first["sgdx"]["confidence"].items():
        assert ends == pytest.approx(second["sgdx"]["confidence"][name])
    assert first["signature"] == second["signature"]


def test_variants_of_ones_own_have_figures_of_their_own() -> None:
    turns = four_turns()
    said = said_of(turns) | {"mine": ["No."] * 4}
    variants = {"mine": "1a2b3c4d"}
    result = report(turns, said, split="test", release="sample", variants=variants)
    assert "generator:original+mine@1a2b3c4d+v1" in result["signature"]
    plain = report(turns, said_of(turns))
    assert result["sgdx"]["ss_ser"] == plain["sgdx"]["ss_ser"]
    assert result["sgdx"]["ss_ser(v1..v5+mine)"] > plain["sgdx"]["ss_ser"]
    assert result["sgdx"]["differences"]["mine"]["ser"]["difference"] == 1
    assert result["sgdx"]["ser_worst(original+v1..v5+mine)"] == 1
    assert result["sgdx"]["ser_flips(original+v1..v5+mine)"] == 1
    pair = report(turns, {name: said[name] for name in ("v1", "v2")})["sgdx"]
    assert pair["ser_worst(v1+v2)"] == pair["flips_ser"] == 0.25
    assert not {"ser_orig", "ser_v1-5", "changed", "ser_worst"} & {*pair}


def test_the_signature_marks_a_part_of_the_data() -> None:
    """Fewer dialogues than the split has, of those some, and of these not all turns."""
    turns = four_turns()

    def line(part: list[Turn], **data: Any) -> str:
        said = {"v1": [one.utterance for one in part]}
        return str(report(part, said, of=turns, **data)["signature"])

    part = r"\|split:validation\|release:partial:2/2482\|dialogues:1@\w{8}\|turns:2\|"
    assert re.search(part, line(turns[:2], split="dev"))
    part = r"\|release:sample\|dialogues:1@\w{8}\|turns:1@[0-9a-f]{8}\|"
    assert re.search(part, line(turns[1:2], split="test", release="sample"))
    turns = [turn(turn_id=one.turn_id, variant="mine") for one in turns]
    marked = line(turns, variants={"mine": "1a2b3c4d"})
    assert "|generator:v1|evaluator:mine@1a2b3c4d|split:unknown|release:unknown|turns:4" in marked
