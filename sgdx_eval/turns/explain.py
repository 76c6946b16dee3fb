"""One turn taken apart: what each action has to entail, and how it was judged."""

from collections.abc import Mapping
from dataclasses import dataclass

from sgdx_eval.inputs import Inputs
from sgdx_eval.predictions import Predictions
from sgdx_eval.references import References
from sgdx_eval.tables import terminal
from sgdx_eval.tasks.turns import Turns, read_turns
from sgdx_metric.rows import ScoreError
from sgsacc_metric.claims import Judgement
from sgsacc_metric.faithful import TurnVerdict
from sgsacc_metric.gold import GoldAction, GoldTurn
from sgsacc_metric.nli import Probabilities
from sgsacc_metric.rows import Action, Turn
from sgsacc_metric.ser import contains, contains_words


@dataclass(frozen=True)
class Line:
    """How one action of a turn is judged under one variant.

    Attributes:
        action: The action, as `ACT slot = value, value`.
        variant: The wording that the generator was given; "gold" for the gold utterance.
        reference: The sentence that has to be entailed; empty where the action is not judged.
        alone, in_context: Its probabilities; None where the model was not asked.
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


def print_turn(
    task: Turns,
    references: References,
    predictions: Mapping[str, Predictions],
    turn_id: str,
    inputs: Inputs,
) -> None:
    """Print one turn action by action."""
    every = read_turns(references, task.evaluator)
    turns = [turn for turn in every if turn.turn_id == turn_id]
    if not turns:
        raise ScoreError(
            f"TURN_ID {turn_id}: found no such turn among {len(every)}, expected one such as "
            f"{every[0].turn_id}"
        )
    system = task.score_turns(references, every, turns, predictions)
    gold = system.gold[0] if system.gold else None
    utterances = {name: scores.utterances[0] for name, scores in system.turn_scores.items()}
    judged = {
        name: scores.verdicts[0] for name, scores in system.turn_scores.items() if system.gold
    }
    lines = explain(turns[0], utterances, gold, judged)
    from .terminal import print_explanation

    print_explanation(turns[0], utterances, lines, terminal())


def explain(
    turn: Turn,
    utterances: Mapping[str, str],
    gold: GoldTurn | None = None,
    verdicts: Mapping[str, TurnVerdict] | None = None,
) -> list[Line]:
    """Explain the scores of one turn.

    Args:
        turn: The turn under the evaluator's wording.
        utterances: The system's utterance in it, by variant.
        gold: Its gold side; None without a model of entailment.
        verdicts: The verdicts of the model, by variant.

    Returns:
        Lines action by action, first for the gold utterance and then for each variant.
    """
    lines = []
    for i, action in enumerate(turn.actions):
        gold_action = gold.actions[i] if gold else None
        reference = gold_action.reference if gold_action else ""
        verdict = _gold_verdict(gold_action) if gold_action else ""
        values = _values(turn, action, turn.utterance)
        lines.append(Line(_name(action), "gold", reference, None, None, verdict, values))
        for variant, utterance in utterances.items():
            judgement = verdicts[variant].judgements[i] if verdicts else None
            lines.append(
                Line(
                    _name(action),
                    variant,
                    reference,
                    judgement.alone[0] if judgement else None,
                    judgement.in_context[0] if judgement and judgement.in_context else None,
                    _verdict(judgement) if gold else "",
                    _values(turn, action, utterance),
                )
            )
    return lines


def _verdict(judgement: Judgement | None) -> str:
    if judgement is None:
        return "not judged"
    if judgement.entailed_alone:
        return "entailed"
    return "in context" if judgement.entailed else "not entailed"


def _gold_verdict(action: GoldAction) -> str:
    if not action.reference:
        return "not judged"
    if action.entailed is None:
        return ""
    return "not found" if not action.entailed else "fooled" if action.fooled else "valid"


def _name(action: Action) -> str:
    values = f" = {', '.join(action.values)}" if action.values else ""
    return f"{action.act}{f' {action.slot}' if action.slot else ''}{values}"


def _values(turn: Turn, action: Action, utterance: str) -> str:
    """What SER finds of an action's values."""
    slot = turn.slot(action)
    if slot is None or slot.is_categorical or not action.values:
        return ""
    missing = [value for value in action.values if not contains(utterance, value)]
    if missing:
        return f"missing: {', '.join(missing)}"
    inside = [value for value in action.values if not contains_words(utterance, value)]
    return f"inside a word: {', '.join(inside)}" if inside else "said"
