"""What only generated turns show: their metrics by variant, coverage, and single turns."""

from collections.abc import Iterator, Mapping
from typing import Any

from sgsacc_metric.claims import Judgement
from sgsacc_metric.gold import GoldTurn, TurnVerdict
from sgsacc_metric.rows import Action, Turn
from sgsacc_metric.ser import contains, contains_words

from .tables import Table, format_figure, percent, table

_BY_VARIANT = {
    "bleu": "BLEU",
    "ser": "SER",
    "sgsacc": "SGSAcc",
    "sgsacc_validated": "SGSAcc validated",
}


def variant_table(scores: Mapping[str, Any]) -> Table:
    """All turns' metrics under each variant."""
    by_variant = {name: groups["#ALL_SERVICES"] for name, groups in scores["variants"].items()}
    shown = [
        key for key in _BY_VARIANT if any(of.get(key) is not None for of in by_variant.values())
    ]
    rows = [
        [name, *(format_figure(key, means.get(key)) for key in shown)]
        for name, means in by_variant.items()
    ]
    headers = ["variant", *(_BY_VARIANT[key] for key in shown)]
    return table("By variant, all turns", headers, rows)


def coverage_lines(scores: Mapping[str, Any]) -> list[str]:
    """How many turns SER and SGSAcc look at, and how many are valid, whatever the generator says.

    There is no such line of SGSAcc where no model of entailment was asked.
    """
    counts, shares = scores["counts"], next(iter(scores["variants"].values()))["#ALL_SERVICES"]
    lines = [
        f"ser_coverage {percent(shares['ser_coverage'], 1)} %: turns with a slot that SER looks at"
        " (the paper: 66)."
    ]
    if "actions" not in counts:
        return lines
    turns, actions, pairs = counts["turns"]["all"], counts["actions"], counts["pairs"]
    lines.append(
        f"coverage {percent(shares['coverage'], 1)} %: judged turns, {counts['judged_turns']} of"
        f" {turns} ({actions['judged']} of {actions['all']} actions)."
    )
    if shares.get("validated") is not None:
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
