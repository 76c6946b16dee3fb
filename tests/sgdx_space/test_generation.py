"""What the page of generation says of its own figures."""

from __future__ import annotations

import pytest

from baselines.copies.derived import derived
from sgdx_eval.references import open_references
from sgdx_eval.tasks.turns import Turns, read_turns
from sgsacc_metric.gold import Options, judge_gold, judge_utterances
from sgsacc_metric.lexical import LexicalNli
from sgsacc_metric.nli import Judge

pytest.importorskip("gradio", reason="the Space needs gradio: pip install sgdx[app]")

from sgdx_space.generation import _MEANING


def test_the_figures_that_the_page_explains_are_those_of_the_sample() -> None:
    references = open_references("sample", "test", {}, Turns.references.names, "turns")
    turns = read_turns(references, "original")
    judge = Judge(LexicalNli())
    gold = judge_gold(turns, judge, Options())
    utterances = {
        "people": [turn.utterance for turn in turns],
        "template": [derived(turn) for turn in turns],
        "nothing": [""] * len(turns),
    }
    verdicts = judge_utterances(turns, gold, utterances, judge)
    shares = [sum(v.faithful for v in column) / len(turns) for column in verdicts.values()]
    text = " ".join(_MEANING.split())
    people, template, nothing = (f"{100 * share:.1f} %" for share in shares)
    assert f"the people who wrote the corpus {people}" in text
    assert f"schema's descriptions reaches {template} here" in text
    assert f"An empty response reaches {nothing}" in text
    # The examples are of the sample too.
    (ride,) = {
        action.reference
        for turn, gold_turn in zip(turns, gold, strict=True)
        for action in gold_turn.actions
        if "for one passenger" in turn.utterance and action.reference.endswith("is 1.")
    }
    assert ride == "How many people ride along is 1." and ride in text
