"""The release's own conversion to SGD-X, as its rules are: slow, on plain JSON, for comparison.

Two versions, by what ``sgd_x/generate_sgdx_dialogues.py`` did before and after 2023-08-07.
"""

from __future__ import annotations

import copy
from typing import Any

Json = Any


def convert(dialogue: Json, original: list[Json], variant: list[Json], fixed: bool = True) -> Json:
    """A dialogue with every element's name replaced by the variant's at the same position."""
    made = copy.deepcopy(dialogue)
    pairs = {old["service_name"]: (old, new) for old, new in zip(original, variant)}
    made["services"] = [pairs[name][1]["service_name"] for name in made["services"]]
    for turn in made["turns"]:
        for frame in turn["frames"]:
            old, new = pairs[frame["service"]]
            frame["service"] = new["service_name"]
            slots = {a["name"]: b["name"] for a, b in zip(old["slots"], new["slots"])}
            intents = {a["name"]: b["name"] for a, b in zip(old["intents"], new["intents"])}
            _rename_frame(frame, slots, intents, fixed)
    return made


def _rename_frame(frame: Json, slots: dict[str, str], intents: dict[str, str], fixed: bool) -> None:
    for span in frame["slots"]:
        span["slot"] = slots.get(span["slot"], span["slot"])
    for action in frame["actions"]:
        of_intent = action["act"] in ("INFORM_INTENT", "OFFER_INTENT") or not fixed
        if action["slot"] == "intent" and of_intent:
            for kind in ("values", "canonical_values"):
                action[kind] = [intents.get(value, value) for value in action[kind]]
        else:
            action["slot"] = slots.get(action["slot"], action["slot"])
    if state := frame.get("state"):
        state["active_intent"] = intents.get(state["active_intent"], state["active_intent"])
        state["requested_slots"] = [slots.get(slot, slot) for slot in state["requested_slots"]]
        _rename_keys(state["slot_values"], slots, fixed)
    if call := frame.get("service_call"):
        call["method"] = intents.get(call["method"], call["method"])
        _rename_keys(call["parameters"], slots, fixed)
    for result in frame.get("service_results", []):
        _rename_keys(result, slots, fixed)


def _rename_keys(mapping: dict[str, Json], names: dict[str, str], fixed: bool) -> None:
    if fixed:
        renamed = {names.get(key, key): value for key, value in mapping.items()}
        mapping.clear()
        mapping.update(renamed)
        return
    for key in list(mapping):  # one after another: a new name may meet another's old one
        if key in names:
            mapping[names[key]] = mapping.pop(key)
