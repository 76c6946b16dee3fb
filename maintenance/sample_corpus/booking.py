"""A booking: its details are given, confirmed, sometimes corrected, and the service is called."""

from collections.abc import Mapping

from .conversation import Conversation
from .line import Line
from .steps import DONTCARE, answer, clauses, fill_slots, more, opening, parameters, questions
from .talk import Row, Talk, Value


def book(
    conv: Conversation, talk: Talk, line: Line, intent: str, row: Row, carried: Mapping[str, Value]
) -> Line:
    """Go through a booking of ``row``; returns the line in which the user begins to thank.

    ``line`` is the user's open line: it has accepted ``row``, or the booking starts with it.
    """
    is_accepted = talk.name in line.drafts
    for slot, value in carried.items():
        conv.memory(talk).put(slot, value)
    wishes = _wishes(conv, talk, intent, row, is_accepted)
    first = {s: v for s, v in wishes.items() if conv.rng.random() < 0.45 and v != DONTCARE}
    if is_accepted and conv.rng.random() < 0.55:
        line = _accept_proposal(conv, talk, line, intent, first)
    else:
        opening(conv, talk, line, intent, first, carried)
    conv.user(line)
    takes = talk.intent(intent)
    later = [s for s in wishes if s in takes["optional_slots"] and s not in first]
    fill_slots(conv, talk, takes["required_slots"], wishes, later)
    return _settle(conv, talk, intent, row, [s for s in wishes if s not in row])


def decline(conv: Conversation, talk: Talk, line: Line, intent: str) -> Line:
    """The system proposes the booking; returns the line in which the user refuses it."""
    _propose(conv, talk, line, intent)
    line = Line()
    line.say(talk, conv.pick("user", "negate_intent"))
    line.act(talk, "NEGATE_INTENT")
    return line


def _wishes(
    conv: Conversation, talk: Talk, intent: str, row: Row, is_accepted: bool
) -> dict[str, str]:
    """Values the user will give for what is neither known nor part of the chosen row."""
    takes, settled = talk.intent(intent), conv.memory(talk).values
    slots = [
        s for s in takes["required_slots"] if s not in settled and not (is_accepted and s in row)
    ]
    slots += [s for s in takes["optional_slots"] if s not in settled and conv.rng.random() < 0.5]
    values = {s: row.get(s) or conv.rng.choice(talk.pool(s)) for s in slots}
    shrugs = [s for s in slots if "any" in talk.slots[s] and conv.rng.random() < 0.4]
    return values | dict.fromkeys(shrugs, DONTCARE)


def _propose(conv: Conversation, talk: Talk, line: Line, intent: str) -> None:
    conv.user(line)
    reply = conv.reply()
    reply.say(talk, conv.rng.choice(talk.intents[intent]["propose"]))
    reply.act(talk, "OFFER_INTENT", "intent", Value(intent, intent))
    conv.system(reply, talk)


def _accept_proposal(
    conv: Conversation, talk: Talk, line: Line, intent: str, first: Mapping[str, str]
) -> Line:
    _propose(conv, talk, line, intent)
    line = Line()
    line.say(talk, conv.pick("user", "affirm_intent"))
    line.act(talk, "AFFIRM_INTENT")
    for slot, canonical in first.items():
        answer(conv, talk, line, slot, canonical)
    return line


def _settle(conv: Conversation, talk: Talk, intent: str, row: Row, free: list[str]) -> Line:
    """Confirm, perhaps correct, and book, perhaps only at the second try."""
    _confirm(conv, talk, intent, _agreed(conv, talk, intent))
    free = [slot for slot in free if conv.memory(talk).values.get(slot, DONTCARE) != DONTCARE]
    if free and conv.rng.random() < 0.25:
        _correct(conv, talk, intent, conv.rng.choice(free))
    line = _yes(conv, talk)
    movable = [slot for slot in free if "kind" in talk.slots[slot]]
    if movable and conv.rng.random() < 0.17:
        slot = conv.rng.choice(movable)
        remedy = _offer_instead if conv.rng.random() < 0.5 else _try_again
        line = remedy(conv, talk, line, intent, slot)
    return _succeed(conv, talk, line, intent, row)


def _agreed(conv: Conversation, talk: Talk, intent: str) -> dict[str, str]:
    """All values that the booking is made with: the defaults, then what the user gave."""
    defaults = talk.intent(intent)["optional_slots"]
    agreed = defaults | parameters(conv, talk, intent)
    settled = conv.memory(talk).values
    return {slot: v for slot, v in agreed.items() if settled.get(slot, v) == v != DONTCARE}


def _confirm(conv: Conversation, talk: Talk, intent: str, agreed: Mapping[str, str]) -> None:
    line = conv.reply()
    line.say(talk, conv.pick("system", "check"))
    _recite(conv, talk, line, intent, agreed, "CONFIRM")
    line.say(talk, conv.pick("system", "right"))
    conv.system(line, talk)


def _recite(
    conv: Conversation, talk: Talk, line: Line, intent: str, agreed: Mapping[str, str], act: str
) -> None:
    values = {slot: talk.system_value(slot, v) for slot, v in agreed.items()}
    sentence = conv.rng.choice(talk.intents[intent]["confirm"])
    sentence = sentence.replace("{more}", clauses(conv, talk, intent, values, by_user=False))
    line.say(talk, sentence if line.text.endswith(":") else _capital(sentence), values)
    for slot, value in values.items():
        line.act(talk, act, slot, value)


def _correct(conv: Conversation, talk: Talk, intent: str, slot: str) -> None:
    """The user changes one value; the system confirms it and what was not yet agreed on."""
    settled = conv.memory(talk).values
    line = Line()
    line.say(talk, conv.pick("user", "correct"))
    line.act(talk, "NEGATE")
    answer(conv, talk, line, slot, _other(conv, talk, slot))
    conv.user(line)
    agreed = _agreed(conv, talk, intent)
    _confirm(conv, talk, intent, {s: v for s, v in agreed.items() if s == slot or s not in settled})


def _other(conv: Conversation, talk: Talk, slot: str) -> str:
    now = conv.memory(talk).values[slot]
    return conv.rng.choice([value for value in talk.pool(slot) if value != now])


def _yes(conv: Conversation, talk: Talk) -> Line:
    line = Line()
    line.say(talk, conv.pick("user", "affirm"))
    line.act(talk, "AFFIRM")
    return line


def _fail(conv: Conversation, talk: Talk, line: Line, intent: str) -> tuple[Line, dict[str, str]]:
    """End the user's line; returns the system's next line and the parameters of the call."""
    conv.user(line)
    reply = conv.reply()
    reply.say(talk, conv.rng.choice(talk.intents[intent]["failure"]))
    reply.act(talk, "NOTIFY_FAILURE")
    return reply, parameters(conv, talk, intent)


def _offer_instead(conv: Conversation, talk: Talk, line: Line, intent: str, slot: str) -> Line:
    reply, called_with = _fail(conv, talk, line, intent)
    reply.say(talk, conv.pick("system", "instead"))
    agreed = _agreed(conv, talk, intent) | {slot: _other(conv, talk, slot)}
    _recite(conv, talk, reply, intent, agreed, "OFFER")
    conv.system(reply, talk, (intent, called_with, []))
    return _yes(conv, talk)


def _try_again(conv: Conversation, talk: Talk, line: Line, intent: str, slot: str) -> Line:
    reply, called_with = _fail(conv, talk, line, intent)
    more(conv, talk, reply)
    conv.system(reply, talk, (intent, called_with, []))
    line = Line()
    line.say(talk, conv.pick("user", "retry"))
    answer(conv, talk, line, slot, _other(conv, talk, slot))
    line.act(talk, "INFORM_INTENT", "intent", Value(intent, intent))
    conv.user(line)
    _confirm(conv, talk, intent, _agreed(conv, talk, intent))
    return _yes(conv, talk)


def _succeed(conv: Conversation, talk: Talk, line: Line, intent: str, row: Row) -> Line:
    slots = talk.intent(intent)["result_slots"]
    if conv.rng.random() < 0.35:
        questions(conv, talk, line, row, slots, 1)
    conv.user(line)
    reply = conv.reply()
    reply.say(talk, conv.rng.choice(talk.intents[intent]["success"]))
    reply.act(talk, "NOTIFY_SUCCESS")
    called_with = parameters(conv, talk, intent)
    booked = row | called_with
    result = {slot: booked[slot] for slot in sorted(slots) if slot in booked}
    conv.system(reply, talk, (intent, called_with, [result]))
    line = Line()
    line.say(talk, conv.pick("user", "thanks"))
    line.act(talk, "THANK_YOU")
    if conv.rng.random() < 0.25:
        questions(conv, talk, line, row, slots, 1)
    return line


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
