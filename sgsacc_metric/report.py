"""How many turns and actions of the gold side are judged and valid."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from .gold import GoldTurn
from .rows import Turn


def gold_counts(turns: Sequence[Turn], gold: Sequence[GoldTurn]) -> dict[str, Any]:
    """How many turns and actions are judged and valid, and which actions fail validation."""
    actions = [
        (action, gold_action)
        for turn, gold_turn in zip(turns, gold, strict=True)
        for action, gold_action in zip(turn.actions, gold_turn.actions, strict=True)
    ]
    failed = Counter(
        (action.act, action.slot) for action, gold_action in actions if gold_action.failed
    )
    return {
        "judged_turns": sum(turn.judged for turn in gold),
        "valid_turns": sum(turn.valid for turn in gold),
        "actions": {
            "all": len(actions),
            "judged": sum(bool(gold_action.reference) for _, gold_action in actions),
            "tampered": sum(bool(gold_action.tampered) for _, gold_action in actions),
            "failed": sum(gold_action.failed for _, gold_action in actions),
        },
        "failed_by": [
            {"act": act, "slot": slot, "actions": count}
            for (act, slot), count in sorted(
                failed.items(), key=lambda entry: (-entry[1], entry[0])
            )
        ],
    }
