"""Pairs that are drawn for people to judge."""

from __future__ import annotations

from collections import Counter

from baselines.copies.derived import derived
from sgdx_dataset import open_release
from sgsacc_metric.annotation import JudgedPair, draw_pairs
from sgsacc_metric.cli.references import References
from sgsacc_metric.gold import GoldAction, GoldTurn, Options, judge_gold
from sgsacc_metric.lexical import LexicalNli
from sgsacc_metric.nli import Judge

from .turns import NO, YES, Script, act, turn


def test_pairs_of_each_stratum() -> None:
    """A valid turn gives its reference and a wrong one, another turn what failed of it."""
    city, goodbye = act("CONFIRM", "city", "Rome"), act("GOODBYE")
    turns = [turn(city), turn(city, goodbye, turn_id="2/1")]
    right, wrong = GoldAction("City is Rome.", True, ["City is Pisa."], False), GoldAction("Bye.")
    failed = GoldAction("See you.", False)
    gold = [GoldTurn("1_00000/1", [right]), GoldTurn("2/1", [right, failed])]
    said = {"v1": ["Rome?", "Rome, bye!"]}
    context = "Find me a hotel. City of the hotel. Rome?"
    script = Script({
        ("Rome?", "City is Rome."): YES,
        ("Rome?", "City is Pisa."): NO,
        (context, "City is Pisa."): NO,
        ("Rome, bye!", "See you."): NO,
        ("Find me a hotel. Rome, bye!", "See you."): YES,
    })  # fmt: skip
    pairs = draw_pairs(turns, gold, said, Judge(script), Options(), (9, 9, 9))
    facts = {(p.stratum, p.turn_id, p.action, p.statement): p.entailed for p in pairs}
    assert facts == {
        ("reference", "1_00000/1", 0, "City is Rome."): True,
        ("tampered", "1_00000/1", 0, "City is Pisa."): False,
        ("failed", "2/1", 1, "See you."): True,  # in its context
    }
    assert {p.before for p in pairs} == {"Find me a hotel."} and not wrong.failed


def test_the_draw_is_of_the_seed_alone() -> None:
    turns = References("test", open_release("sample")).turns("original")
    gold = judge_gold(turns, Judge(LexicalNli()), Options())

    def draw(order: int, options: Options) -> list[JudgedPair]:
        chosen, of_chosen = turns[::order], gold[::order]
        said = {name: [derived(one) for one in chosen] for name in ("original", "v1")}
        return draw_pairs(chosen, of_chosen, said, Judge(LexicalNli()), options, (30, 20, 5))

    first = draw(1, Options())
    assert Counter(pair.stratum for pair in first) == {"reference": 30, "tampered": 20, "failed": 5}
    assert first == draw(-1, Options())
    assert first != draw(1, Options(seed=1))
    texts = [(pair.before, pair.response, pair.statement) for pair in first]
    assert len(set(texts)) == len(texts) == len({pair.pair for pair in first})
