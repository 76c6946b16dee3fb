"""The figures of the report, by hand or by other means, and the line that says how."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from sgdx_metric.result import Result
from sgdx_metric.signature import Setup
from sgdx_metric.version import __version__
from sgsacc_metric.lexical import LexicalNli
from sgsacc_metric.rows import Prediction, Turn
from sgsacc_metric.system import score_system

from .turns import act, four_turns, turn

VARIANTS = ("original", "v1", "v2", "v3", "v4", "v5")
BLEU_PART = "bleu:nrefs-1,case-mixed,eff-no,tok-13a,smooth-exp,sacrebleu-[0-9.]+"
END = rf"ci:95%-bootstrap-1000-seed-0\|version:{re.escape(__version__)}"


def said_of(turns: list[Turn]) -> dict[str, list[str]]:
    gold = [one.utterance for one in turns]
    wrong = ["A hotel ?", *gold[1:]]
    other = ["So, Rome ?", *gold[1:]]
    return dict(zip(VARIANTS, (gold, wrong, gold, other, wrong, gold), strict=True))


def report(
    turns: list[Turn], said: dict[str, list[str]], nli: Any = None, of: Any = None, **data: Any
) -> Result:
    """The result of what a system says in each turn, by variant; `of` are the split's turns."""
    predictions = [
        Prediction(turn.turn_id, variant, utterance)
        for variant, utterances in said.items()
        for turn, utterance in zip(turns, utterances, strict=True)
    ]
    return score_system(of or turns, turns, predictions, setup=Setup(**data), nli=nli).result


def test_figures_by_hand() -> None:
    turns = four_turns()
    said = said_of(turns)
    result = report(turns, said, split="test", release="sample")
    line = r"sgsacc_metric\|generator:original(\+v\d){5}\|evaluator:original\|split:test"
    line = rf"{line}\|release:sample\|turns:4\|{BLEU_PART}\|ser:t2g2\|nli:none\|{END}"
    assert re.fullmatch(line, result.signature)
    assert result["ser_v1"] == 0.25
    expected = BLEU().corpus_score(said["v1"], [[one.utterance for one in turns]]).score
    assert result["bleu_v1"] == pytest.approx(expected, abs=1e-9)
    for group, value in (("unseen", 0), ("seen", pytest.approx(1 / 3))):
        figure = result.figure("ser_v1", group)
        assert figure and figure.value == value
    groups = {f.group for f in result.figures if f.items}
    assert groups == {"all", "seen", "unseen", "seen_domains", "Hotels_1", "Hotels_2"}
    assert result["ser_orig"] == 0 and result["ser_v1-5"] == pytest.approx(0.1)
    # The first turn is right under v2, v3 and v5: mean .6, sample standard deviation sqrt(.3).
    assert result["ss_ser"] == pytest.approx(np.sqrt(0.3) / 0.6 / 4)
    # It changes under v1, v3 and v4, and its verdict under v1 and v4.
    assert result["changed_v1-5"] == pytest.approx(3 / 5 / 4)
    assert (result["ser_worst"], result["ser_flips"]) == (0.25, 0.25)
    sentence = BLEU(effective_order=True).sentence_score
    first = [sentence(said[name][0], [turns[0].utterance]).score for name in VARIANTS[1:]]
    assert result["ss_bleu"] == pytest.approx(np.std(first, ddof=1) / np.mean(first) / 4)
    of_service = result.figure("ser_v1-5", "Hotels_1")
    assert of_service and of_service.value == pytest.approx(0.4 / 3)
    assert result["ser_drop_v1"] == 0.25
    figure = result.figure("ser_v1-5")
    assert figure and figure.interval and figure.interval[0] < 0.1 < figure.interval[1]
    assert result["sgsacc_orig"] is None and result.counts == {"turns": 4}


def test_figures_of_sgsacc() -> None:
    turns = four_turns()
    turns[1] = turn(act("NOTIFY_SUCCESS"), turn_id=turns[1].turn_id, utterance="Done.", prompt="")
    result = report(turns, said_of(turns), LexicalNli(), split="test")
    for name in ("sgsacc", "coverage", "sgsacc_validated", "ser_coverage"):
        assert result[f"{name}_v4"] == 0.75
    assert result["sgsacc_orig"] == 1
    assert result["ss_sgsacc"] == pytest.approx(np.sqrt(0.3) / 0.6 / 4)
    assert (result["sgsacc_worst"], result["sgsacc_flips"]) == (0.75, 0.25)
    assert result.counts["judged_turns"] == 3 and result.counts["valid_turns"] == 4
    assert result.counts["actions"] == {"all": 4, "judged": 3, "tampered": 3, "failed": 0}
    assert result.counts["failed_by"] == []
    assert "|release:partial:2/4201|turns:4|" in result.signature
    assert "|nli:lexical (no model)|" in result.signature
    assert "|validated:4/4|negatives-seed:0|" in result.signature


def test_what_fails_validation_is_counted_by_act_and_slot() -> None:
    turns = [turn(act("CONFIRM", "city", "Rome"), utterance="Sure?", prompt="")]
    turns.append(turn(turn_id="1_00000/3"))
    result = report(turns, {"v1": ["x", "y"]}, LexicalNli())
    assert result.counts["failed_by"] == [{"act": "CONFIRM", "slot": "city", "actions": 1}]
    assert result["sgsacc_validated_v1"] == 0
    assert "|validated:1/2|" in result.signature


def test_variants_of_ones_own_have_figures_of_their_own() -> None:
    turns = four_turns()
    said = said_of(turns) | {"mine": ["No."] * 4}
    variants = {"mine": "1a2b3c4d"}
    result = report(turns, said, split="test", release="sample", variants=variants)
    assert "generator:original+mine@1a2b3c4d+v1" in result.signature
    plain = report(turns, said_of(turns))
    assert result["ss_ser"] == plain["ss_ser"]
    assert (result["ss_ser(v1..v5+mine)"] or 0) > (plain["ss_ser"] or 0)
    assert result["ser_drop_mine"] == 1
    assert result["ser_worst(original+v1..v5+mine)"] == 1
    assert result["ser_flips(original+v1..v5+mine)"] == 1
    pair = report(turns, {name: said[name] for name in ("v1", "v2")})
    assert pair["ser_worst(v1+v2)"] == pair["ser_flips(v1+v2)"] == 0.25
    assert not {"ser_orig", "ser_v1-5", "changed_v1", "ser_worst"} & {*pair.named()}


def test_the_signature_marks_a_part_of_the_data() -> None:
    """Fewer dialogues than the split has, of those some, and of these not all turns."""
    turns = four_turns()

    def line(part: list[Turn], **data: Any) -> str:
        said = {"v1": [one.utterance for one in part]}
        return report(part, said, of=turns, **data).signature

    part = r"\|split:validation\|release:partial:2/2482\|dialogues:1@\w{8}\|turns:2\|"
    assert re.search(part, line(turns[:2], split="dev"))
    part = r"\|release:sample\|dialogues:1@\w{8}\|turns:1@[0-9a-f]{8}\|"
    assert re.search(part, line(turns[1:2], split="test", release="sample"))
    turns = [turn(turn_id=one.turn_id, variant="mine") for one in turns]
    marked = line(turns, variants={"mine": "1a2b3c4d"})
    assert "|generator:v1|evaluator:mine@1a2b3c4d|split:unknown|release:unknown|turns:4" in marked
