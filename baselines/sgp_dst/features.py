"""Binary features: bits whose sum indexes an embedding that is added to every token."""

from __future__ import annotations

from collections.abc import Iterable

from .dialogues import Row, gives
from .schema import Schema

PREVIOUS_INTENT = 1  # intent: on the tokens of the previously active one
SYSTEM_GAVE, SYSTEM_ASKED = 2, 4  # combine: in the turn just before
IN_SYSTEM, IN_USER = 1, 2  # in-domain copy: the slot was in the system's, the user's turns
SOURCE_KNOWN, TARGET_KNOWN = 1, 2  # cross-domain copy: the source stated, the target given
REQUIRED, OPTIONAL = 4, 8  # copy: of the active intent
SUCCEEDED = 16  # cross-domain copy: the source's service notified success
FEATURES = 32  # sums that there can be


def combine_bits(service: str, slot: str, acts: Iterable[Row]) -> int:
    """Of a slot: whether the system gave and whether it requested it with its last acts."""
    mine = [act for act in acts if act["service"] == service and act["slot"] == slot]
    gave = any(map(gives, mine))
    asked = any(act["act"] == "REQUEST" for act in mine)
    return SYSTEM_GAVE * gave + SYSTEM_ASKED * asked


def role_bits(schema: Schema, intent: str, slot: str) -> int:
    """Whether the active intent requires a slot, and whether it has it as an optional one."""
    return REQUIRED * (slot in schema.required(intent)) + OPTIONAL * (slot in schema.free(intent))


def copy_bits(schema: Schema, intent: str, slot: str, given: bool, known: bool) -> int:
    """Of in-domain copy: whether the system gave the slot earlier, whether the state has it."""
    return IN_SYSTEM * given + IN_USER * known + role_bits(schema, intent, slot)


def cross_bits(
    schema: Schema, intent: str, target: str, *, source: bool, given: bool, success: bool
) -> int:
    """Of cross-domain copy.

    Args:
        schema, intent: The target's.
        target: The slot to be filled.
        source: Whether the source is in its service's state, not only given by the system.
        given: Whether the system gave the target a value, which the state does not have.
        success: Whether the source's service notified success.
    """
    bits = SOURCE_KNOWN * source + TARGET_KNOWN * given + SUCCEEDED * success
    return bits + role_bits(schema, intent, target)
