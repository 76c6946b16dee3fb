"""A response made of the schema's own descriptions, by rule: any service, any variant.

Such a response is made of the schema's names and descriptions alone, and so changes with their
variant. It is the baseline of a generator, and the input of one that learns to phrase it better.
"""

from __future__ import annotations

from sgdx_dataset.schema import Intent, Slot
from sgsacc_metric.candidates import clean
from sgsacc_metric.rows import Action, Turn

# Acts in the order in which T2G2 says them; the others follow as they stand in the turn.
ORDER = (
    "SELECT",
    "INFORM_COUNT",
    "NOTIFY_SUCCESS",
    "NOTIFY_FAILURE",
    "INFORM",
    "REQUEST",
    "CONFIRM",
)
CONFIRM_FIRST = "Please confirm the following details:"
_FIXED = {
    "GOODBYE": "Have a good day.",
    "REQ_MORE": "Is there anything else I can help you with?",
    "SELECT": "All right.",
    "NOTIFY_SUCCESS": "Your request was successful.",
    "NOTIFY_FAILURE": "Your request was not successful.",
}


def derived(turn: Turn) -> str:
    """The response of the rules to a turn, in the variant of the turn's schemas."""
    return " ".join(_sentence(turn, action) for action in ordered(turn))


def ordered(turn: Turn) -> list[Action]:
    """The actions of a turn, frame by frame, in the order in which they are said."""
    services = list(dict.fromkeys(action.service for action in turn.actions))
    rank = {act: i for i, act in enumerate(ORDER)}
    return sorted(
        turn.actions,
        key=lambda action: (services.index(action.service), rank.get(action.act, len(ORDER))),
    )


def _sentence(turn: Turn, action: Action) -> str:
    slot, intent = turn.slot(action), turn.intent_of(action)
    if action.act in _FIXED and not action.values:
        return _FIXED[action.act]
    if action.act == "OFFER_INTENT":
        return f"Do you want to {_lower_first(_description(intent, action))}?"
    if action.act == "INFORM_COUNT":
        return f"There are {' '.join(action.values)} results."
    if action.act == "REQUEST":
        suggested = f" {' or '.join(action.values)}?" if action.values else ""
        return f"{_description(slot, action)}?{suggested}"
    if slot and slot.is_boolean and action.values in (["True"], ["False"]):
        return f"{_description(slot, action)}? {'Yes' if action.values == ['True'] else 'No'}."
    verb = "are" if len(action.values) > 1 else "is"
    return f"{_description(slot, action)} {verb} {' and '.join(action.values)}."


def _description(element: Slot | Intent | None, action: Action) -> str:
    """The description of what an action is about, or its name where the schema has none."""
    named = element.name if element else action.slot or action.act.lower()
    return clean(element.description if element else "") or named.replace("_", " ")


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
