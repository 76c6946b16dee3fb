"""What commands print: facts in words."""

from __future__ import annotations

from baselines.command_line import in_words


def test_facts_in_words() -> None:
    facts = {"turns": 482, "cut": {"of": 482, "inputs": 3}, "commit": "", "model": None}
    assert in_words(facts) == "482 turns, cut of 482: 3 inputs"
    assert in_words({"labels": {"not_in_turn": 44}, "base": "t5"}) == (
        "labels: 44 not in turn, base t5"
    )
