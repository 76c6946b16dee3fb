"""Claims, judged alone and then in context."""

from __future__ import annotations

from sgsacc_metric.claims import Claim, Judgement, context_of, judge_claims
from sgsacc_metric.nli import Judge

from .turns import NO, YES, Script, act, turn


def test_premises_in_context() -> None:
    of = turn(act("GOODBYE"), prompt=" Thanks, bye. ")
    assert context_of(of, of.actions[0], "Bye!") == "Thanks, bye. Bye!"
    assert context_of(turn(prompt=""), act("CONFIRM", "city", "Rome"), "Rome?") == (
        "City of the hotel. Rome?"
    )
    assert context_of(turn(prompt=""), act("GOODBYE"), "Bye!") is None


def test_a_claim_is_entailed_by_any_sentence_in_either_step() -> None:
    clear, probable, improbable = (0.6, 0.3, 0.1), (0.48, 0.50, 0.02), (0.1, 0.8, 0.1)
    in_context = Judgement((probable, improbable), (probable, clear))
    assert in_context.entailed and not in_context.entailed_alone
    assert Judgement((improbable, clear)).entailed_alone
    assert not Judgement(()).entailed


def test_only_what_fails_alone_is_asked_in_context() -> None:
    script = Script({("a", "x"): YES, ("b", "x"): NO, ("c b", "x"): YES, ("d", "x"): NO})
    claims = [Claim("a", "c a", ["x"]), Claim("b", "c b", ["x"]), Claim("d", None, ["x"])]
    judgements = judge_claims([*claims, Claim("e", "c e", [])], Judge(script))
    assert judgements == [
        Judgement((YES,)),
        Judgement((NO,), (YES,)),
        Judgement((NO,)),
        Judgement(()),
    ]
    assert script.calls == [[("a", "x"), ("b", "x"), ("d", "x")], [("c b", "x")]]
