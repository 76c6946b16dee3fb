"""One turn taken apart: what each action has to entail, and what the model said of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..faithful import Verdict
from ..gold import GoldAction, GoldTurn
from ..nli import Probabilities
from ..rows import Action, Turn
from ..ser import contains, contains_words


@dataclass(frozen=True)
class Line:
    """What one action of a turn comes to under one variant.

    Attributes:
        action: The action, as `ACT slot = value, value`.
        variant: The wording that the generator was given; "gold" for the gold utterance.
        reference: The sentence that has to be entailed; empty where the action is not judged.
        alone, in_context: What the model said of it; None where it was not asked.
        verdict: `entailed`, `in context`, `not entailed` or `not judged`; of the gold utterance
            `valid`, `not found` or `fooled` (by the tampered action); empty without a model.
        values: What SER finds of the values: `said`, `missing: ...` or `inside a word: ...`; empty
            where it looks for none.
    """

    action: str
    variant: str
    reference: str
    alone: Probabilities | None
    in_context: Probabilities | None
    verdict: str
    values: str


def explain(
    turn: Turn,
    utterances: Mapping[str, str],
    gold: GoldTurn | None = None,
    verdicts: Mapping[str, Verdict] | None = None,
) -> list[Line]:
    """Explain the scores of one turn.

    Args:
        turn: The turn under the evaluator's wording.
        utterances: What was said in it, by variant.
        gold: Its gold side; None without a model of entailment.
        verdicts: What the model said, by variant.

    Returns:
        Lines action by action, first for the gold utterance and then for each variant.
    """
    lines = []
    for i, action in enumerate(turn.actions):
        wanted = gold.actions[i] if gold else None
        values = _values(turn, action, turn.utterance)
        reference = wanted.reference if wanted else ""
        state = _gold_verdict(wanted) if wanted else ""
        lines.append(Line(_name(action), "gold", reference, None, None, state, values))
        for variant, utterance in utterances.items():
            finding = verdicts[variant].findings[i] if verdicts else None
            alone = finding.alone[0] if finding else None
            context = finding.in_context[0] if finding and finding.in_context else None
            state = "" if not gold else "not judged"
            if finding:
                state = "in context" if finding.entailed else "not entailed"
                state = "entailed" if finding.entailed_alone else state
            values = _values(turn, action, utterance)
            lines.append(Line(_name(action), variant, reference, alone, context, state, values))
    return lines


def _gold_verdict(wanted: GoldAction) -> str:
    if not wanted.reference:
        return "not judged"
    if wanted.found is None:
        return ""
    return "not found" if not wanted.found else "fooled" if wanted.fooled else "valid"


def _name(action: Action) -> str:
    values = f" = {', '.join(action.values)}" if action.values else ""
    return f"{action.act}{f' {action.slot}' if action.slot else ''}{values}"


def _values(turn: Turn, action: Action, utterance: str) -> str:
    """What SER finds of an action's values."""
    slot = turn.slot(action)
    if slot is None or slot.is_categorical or not action.values:
        return ""
    missing = [value for value in action.values if not contains(utterance, value)]
    inside = [value for value in action.values if not contains_words(utterance, value)]
    if missing:
        return f"missing: {', '.join(missing)}"
    return f"inside a word: {', '.join(inside)}" if inside else "said"
