"""Slot error rate (SER): values that are missing from an utterance.

The rule is that of the scorer released with T2G2 (Kale and Rastogi 2020, arXiv 2004.15006): every
value of a slot that is not categorical has to stand in the utterance as it is, in capitals or not.
Other spoken forms of a value do not count, the bounds of words are not looked at, and a slot that
is said without being meant is no error.
"""

import re

from .rows import Action, Turn


def is_checked(turn: Turn, action: Action) -> bool:
    """Whether an action is on a slot whose values are looked for: one that takes any text."""
    slot = turn.slot(action)
    return slot is not None and not slot.is_categorical


def checked_values(turn: Turn) -> list[str]:
    """The values that the utterance of a turn has to contain, action by action."""
    return [v for action in turn.actions if is_checked(turn, action) for v in action.values]


def contains(utterance: str, value: str) -> bool:
    """Whether a value stands in an utterance, in capitals or not, perhaps inside a word."""
    return value.lower() in utterance.lower()


def contains_words(utterance: str, value: str) -> bool:
    """Whether a value stands in an utterance with no letter or digit right before or after it."""
    return bool(re.search(rf"(?<!\w){re.escape(value.lower())}(?!\w)", utterance.lower()))
