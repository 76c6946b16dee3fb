"""One turn taken apart: what each action has to entail, and how it was judged."""

from collections.abc import Iterator, Mapping

from sgsacc_metric.claims import Judgement
from sgsacc_metric.faithful import TurnVerdict
from sgsacc_metric.gold import GoldAction, GoldTurn
from sgsacc_metric.rows import Action, Turn
from sgsacc_metric.ser import contains, contains_words


def explain_turn(
    turn: Turn,
    utterances: Mapping[str, str],
    gold: GoldTurn | None,
    verdicts: Mapping[str, TurnVerdict],
) -> Iterator[str]:
    """Lines on each action of a turn: of the gold utterance, and of the system's by variant.

    Without a model of entailment there is no gold side, and there are no verdicts.
    """
    for i, action in enumerate(turn.actions):
        values = f" = {', '.join(action.values)}" if action.values else ""
        yield f"{action.act}{f' {action.slot}' if action.slot else ''}{values}"
        gold_action = gold.actions[i] if gold else None
        if gold_action and gold_action.reference:
            yield f"    has to entail: {gold_action.reference}"
        verdict = _gold_verdict(gold_action) if gold_action else ""
        yield _line("gold", verdict, _values(turn, action, turn.utterance))
        for variant, utterance in utterances.items():
            facts = _facts(verdicts[variant].judgements[i]) if verdicts else []
            yield _line(variant, *facts, _values(turn, action, utterance))


def _line(variant: str, *facts: str) -> str:
    return f"{variant:>12}: {'; '.join(filter(None, facts)) or 'nothing to check'}"


def _gold_verdict(action: GoldAction) -> str:
    if not action.reference:
        return "not judged"
    if action.entailed is None:
        return ""
    return "not found" if not action.entailed else "fooled" if action.fooled else "valid"


def _facts(judgement: Judgement | None) -> list[str]:
    """Whether an action is entailed, and the probabilities of its first sentence."""
    if judgement is None:
        return ["not judged"]
    verdict = "in context" if judgement.entailed else "not entailed"
    asked = {"alone": judgement.alone[0]}
    if judgement.in_context:
        asked["in context"] = judgement.in_context[0]
    return [
        "entailed" if judgement.entailed_alone else verdict,
        *(f"{name} {'/'.join(f'{p:.3f}' for p in found)}" for name, found in asked.items()),
    ]


def _values(turn: Turn, action: Action, utterance: str) -> str:
    """What SER finds of an action's values; empty where it looks for none."""
    slot = turn.slot(action)
    if slot is None or slot.is_categorical or not action.values:
        return ""
    if missing := [value for value in action.values if not contains(utterance, value)]:
        return f"missing: {', '.join(missing)}"
    inside = [value for value in action.values if not contains_words(utterance, value)]
    return f"inside a word: {', '.join(inside)}" if inside else "said"
