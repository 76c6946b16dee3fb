"""The line that says how a score was computed."""

from __future__ import annotations

import re

from sgdx_metric.signature import Setup
from sgsacc_metric.gold import GoldAction, GoldTurn, Options
from sgsacc_metric.signature import signature

from .turns import four_turns

BLEU = "nrefs-1,case-mixed,eff-no,tok-13a,smooth-exp,sacrebleu-[0-9.]+"
END = "ci:95%-bootstrap-1000-seed-0|version:0.1.0"


def matches(line: str, *parts: str) -> bool:
    """Whether a signature has just some parts."""
    pattern = "|".join(("sgsacc_metric", *parts, END))
    return bool(re.fullmatch(re.escape(pattern).replace("BLEU", BLEU), line))


def test_without_a_model() -> None:
    line = signature(["original", "v1"], ["original"], four_turns(), four_turns(), Setup())
    named = ("generator:original+v1", "evaluator:original")
    known = ("split:unknown", "release:unknown", "turns:4", "bleu:BLEU", "ser:t2g2", "nli:none")
    assert matches(line, *named, *known)


def test_with_a_model() -> None:
    gold = [GoldTurn("a/1", [GoldAction("x", entailed=valid)]) for valid in (True, False)]
    turns = four_turns()
    setup = Setup("test", "sample", variants={"mine": "1a2b3c4d"})
    scored = ("split:test", "release:sample", "turns:4", "bleu:BLEU", "ser:t2g2")
    line = signature(["mine"], ["mine"], turns, turns, setup, "m@r/float32", gold)
    named = ("generator:mine@1a2b3c4d", "evaluator:mine@1a2b3c4d")
    judged = ("nli:m@r/float32", "rules:appendix-b", "references:2", "context:yes")
    assert matches(line, *named, *scored, *judged, "validated:1/2", "negatives-seed:0")
    options = Options(validate=False, context=False, rules="extended")
    line = signature(["v1"], ["v2"], turns, turns, setup, "m", gold, options)
    unvalidated = ("nli:m", "rules:extended", "references:2", "context:no")
    assert matches(line, "generator:v1", "evaluator:v2", *scored, *unvalidated)


def test_a_part_of_the_data() -> None:
    """Fewer dialogues than the split has, of those some, and of these not all turns."""
    turns = four_turns()
    line = signature(["v1"], ["original"], turns, turns[:2], Setup("dev"))
    part = r"\|split:validation\|release:partial:2/2482\|dialogues:1@\w{8}\|turns:2\|"
    assert re.search(part, line)
    line = signature(["v1"], ["original"], turns, turns[1:2], Setup("test", "sample"))
    assert re.search(r"\|release:sample\|dialogues:1@\w{8}\|turns:1@[0-9a-f]{8}\|", line)
