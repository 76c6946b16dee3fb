"""What only generated turns show: coverage, and single turns."""

from collections.abc import Iterator, Mapping

from sgdx_metric.result import Result
from sgdx_metric.variants import ORIGINAL
from sgsacc_metric.claims import Judgement
from sgsacc_metric.gold import GoldTurn, TurnVerdict
from sgsacc_metric.rows import Action, Turn
from sgsacc_metric.ser import contains, contains_words

from .tables import percent


def coverage_lines(result: Result) -> list[str]:
    """How many turns SER and SGSAcc look at, and how many are valid, whatever the generator says.

    There is no such line of SGSAcc where no model of entailment was asked.
    """
    counts, variant = result.counts, result.variants[0]
    under = "orig" if variant == ORIGINAL else variant
    named = {name: figure.value for name, figure in result.named().items()}
    shares = {of: named.get(f"{of}_{under}") for of in ("ser_coverage", "coverage", "validated")}
    lines = [
        f"ser_coverage {percent(shares['ser_coverage'], 1)} %: turns with a slot that SER looks at"
        " (the paper: 66)."
    ]
    if "actions" not in counts:
        return lines
    turns, actions, pairs = counts["turns"], counts["actions"], counts["pairs"]
    lines.append(
        f"coverage {percent(shares['coverage'], 1)} %: judged turns, {counts['judged_turns']} of"
        f" {turns} ({actions['judged']} of {actions['all']} actions)."
    )
    if shares["validated"] is not None:
        lines.append(
            f"validated {percent(shares['validated'], 1)} %: valid turns, {counts['valid_turns']}"
            f" of {turns} (the paper: 97.0)."
        )
    return [*lines, f"{pairs['sent']} pairs were judged for {pairs['asked']} answers."]


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
        facts = list[str]()
        if gold:
            of = gold.actions[i]
            if of.reference:
                yield f"    has to entail: {of.reference}"
            found = "not found" if not of.entailed else "fooled" if of.fooled else "valid"
            facts = [("" if of.entailed is None else found) if of.reference else "not judged"]
        yield _line("gold", [*facts, _said(turn, action, turn.utterance)])
        for variant, utterance in utterances.items():
            facts = _judged(verdicts[variant].judgements[i]) if verdicts else []
            yield _line(variant, [*facts, _said(turn, action, utterance)])


def _line(whose: str, facts: list[str]) -> str:
    return f"{whose:>12}: {'; '.join(filter(None, facts)) or 'nothing to check'}"


def _judged(judgement: Judgement | None) -> list[str]:
    """Whether an action is entailed, and the probabilities of its first sentence."""
    if judgement is None:
        return ["not judged"]
    verdict = "in context" if judgement.entailed else "not entailed"
    asked = {"alone": judgement.alone[0]}
    if judgement.in_context:
        asked["in context"] = judgement.in_context[0]
    probabilities = [f"{name} {'/'.join(f'{p:.3f}' for p in of)}" for name, of in asked.items()]
    return ["entailed" if judgement.entailed_alone else verdict, *probabilities]


def _said(turn: Turn, action: Action, utterance: str) -> str:
    """What SER finds of an action's values; empty where it looks for none."""
    slot = turn.slot(action)
    if slot is None or slot.is_categorical or not action.values:
        return ""
    if missing := [value for value in action.values if not contains(utterance, value)]:
        return f"missing: {', '.join(missing)}"
    inside = [value for value in action.values if not contains_words(utterance, value)]
    return f"inside a word: {', '.join(inside)}" if inside else "said"
