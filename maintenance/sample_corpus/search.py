"""A search: constraints are given, offers made, questions asked, and one offer accepted."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .conversation import Conversation
from .line import Line
from .steps import (
    DONTCARE,
    answer,
    fill_slots,
    more,
    opening,
    parameters,
    questions,
)
from .talk import Row, Talk, Value


@dataclass
class Wish:
    """What the user looks for: canonical values, ``dontcare`` included."""

    intent: str
    wants: dict[str, str]
    carried: dict[str, Value] = field(default_factory=dict)  # from another service's dialogue
    must_ask: list[str] = field(default_factory=list)  # slots that a later service will need


def make_wish(
    conv: Conversation, talk: Talk, fixed: Mapping[str, str], carried: Mapping[str, Value]
) -> Wish:
    """Wish for a row of the data base, so that a search can succeed."""
    rng, name = conv.rng, talk.intent_names(transactional=False)[0]
    settled = dict(fixed) | {slot: value.canonical for slot, value in carried.items()}
    row = rng.choice(talk.matches(settled))
    intent = talk.intent(name)
    wants = {slot: _wanted(conv, talk, slot, row) for slot in intent["required_slots"]} | settled
    for slot in intent["optional_slots"]:
        fate = rng.random()
        if fate < 0.3:
            wants[slot] = DONTCARE
        elif fate < 0.65:
            wants[slot] = row[slot]
    return Wish(name, wants, dict(carried))


def search(conv: Conversation, talk: Talk, line: Line, wish: Wish) -> tuple[Line, Row]:
    """Go through a search; returns the line in which the user accepts a row, and the row."""
    wants = dict(wish.wants)
    mistake = _mistake(conv, talk, wish)
    told_slots = _tell_wishes(conv, talk, line, wish, wants | mistake)
    fill_slots(conv, talk, talk.intent(wish.intent)["required_slots"], wants | mistake, told_slots)
    if mistake:
        _nothing_found(conv, talk, wish.intent, {slot: wants[slot] for slot in mistake})
    row = _offers(conv, talk, wish)
    line = Line()
    if wish.must_ask or conv.rng.random() < 0.4:
        _inquire(conv, talk, wish, row)
    line.say(talk, conv.pick("user", "select"))
    line.act(talk, "SELECT")
    return line, row


def track(conv: Conversation, talk: Talk, line: Line, intent: str) -> Line:
    """A look-up by a key, answered at once; returns the line in which the user begins to thank."""
    row = conv.rng.choice(talk.items)
    key = talk.intent(intent)["required_slots"][0]
    opening(conv, talk, line, intent, {key: row[key]} if conv.rng.random() < 0.5 else {})
    conv.user(line)
    fill_slots(conv, talk, [key], row, [])
    reply = conv.reply()
    slot = next(s for s in talk.intent(intent)["result_slots"] if s != key)
    value = talk.system_value(slot, row[slot])
    reply.say(talk, conv.rng.choice(talk.intents[intent]["inform"]), {slot: value})
    reply.act(talk, "INFORM", slot, value)
    call = (intent, parameters(conv, talk, intent), [_result(talk, intent, row)])
    conv.system(reply, talk, call)
    line = Line()
    line.say(talk, conv.pick("user", "thanks"))
    line.act(talk, "THANK_YOU")
    return line


def _wanted(conv: Conversation, talk: Talk, slot: str, row: Row) -> str:
    return row[slot] if slot in row else conv.rng.choice(talk.pool(slot))


def _mistake(conv: Conversation, talk: Talk, wish: Wish) -> dict[str, str]:
    """Now and then a first value with which nothing can be found."""
    lacking = {s: talk.slots[s].get("rows_lack") for s in wish.wants if s not in wish.carried}
    slots = [slot for slot, values in lacking.items() if values]
    if not slots or conv.rng.random() > 0.15:
        return {}
    return {slots[0]: conv.rng.choice(lacking[slots[0]])}


def _tell_wishes(
    conv: Conversation, talk: Talk, line: Line, wish: Wish, wants: Mapping[str, str]
) -> list[str]:
    """Open with some of the wishes; returns the optional ones, to be given later."""
    required = talk.intent(wish.intent)["required_slots"]
    open_wants = {s: v for s, v in wants.items() if s not in wish.carried and v != DONTCARE}
    first = {s: v for s, v in open_wants.items() if conv.rng.random() < 0.5 or s not in required}
    for slot, value in wish.carried.items():
        conv.memory(talk).put(slot, value)
    opening(conv, talk, line, wish.intent, first, wish.carried)
    shrugs = [slot for slot, value in wants.items() if value == DONTCARE]
    if all(slot in first or slot in wish.carried for slot in required):
        for slot in shrugs:
            answer(conv, talk, line, slot, DONTCARE)
        shrugs = []
    conv.user(line)
    return shrugs


def _nothing_found(conv: Conversation, talk: Talk, intent: str, right: Mapping[str, str]) -> None:
    reply = conv.reply()
    reply.say(talk, conv.rng.choice(talk.intents[intent]["empty"]))
    reply.act(talk, "NOTIFY_FAILURE")
    more(conv, talk, reply)
    conv.system(reply, talk, (intent, parameters(conv, talk, intent), []))
    line = Line()
    line.say(talk, conv.pick("user", "retry"))
    for slot, canonical in right.items():
        answer(conv, talk, line, slot, canonical)
    line.act(talk, "INFORM_INTENT", "intent", Value(intent, intent))
    conv.user(line)


def _offers(conv: Conversation, talk: Talk, wish: Wish) -> Row:
    """Offer rows until one pleases; the service is called once."""
    called_with = parameters(conv, talk, wish.intent)
    rows = talk.matches(called_with)[:3]
    call = (wish.intent, called_with, [_result(talk, wish.intent, row) for row in rows])
    line = conv.reply()
    if len(rows) > 1 and conv.rng.random() < 0.7:
        count = str(len(rows))
        template = conv.rng.choice(talk.intents[wish.intent]["count"])
        line.say(talk, template.replace("{count}", count))
        line.act(talk, "INFORM_COUNT", "count", Value(count, count))
    _offer(conv, talk, line, wish.intent, rows[0])
    conv.system(line, talk, call)
    if len(rows) == 1 or conv.rng.random() > 0.4:
        return rows[0]
    line = Line()
    line.say(talk, conv.pick("user", "alternatives"))
    line.act(talk, "REQUEST_ALTS")
    conv.user(line)
    line = conv.reply()
    _offer(conv, talk, line, wish.intent, rows[1])
    conv.system(line, talk)
    return rows[1]


def _offer(conv: Conversation, talk: Talk, line: Line, intent: str, row: Row) -> None:
    template = conv.rng.choice(talk.intents[intent]["offer"])
    values = {s: talk.system_value(s, row[s]) for s in row if "{" + s + "}" in template}
    line.say(talk, template, values)
    for slot, value in values.items():
        line.act(talk, "OFFER", slot, value)
        conv.values_given.add((talk.name, slot, value.canonical))


def _inquire(conv: Conversation, talk: Talk, wish: Wish, row: Row) -> None:
    results = talk.intent(wish.intent)["result_slots"]
    line = Line()
    questions(conv, talk, line, row, wish.must_ask, len(wish.must_ask))
    if not wish.must_ask:
        unknown = [slot for slot in results if wish.wants.get(slot, DONTCARE) == DONTCARE]
        questions(conv, talk, line, row, unknown, conv.rng.choice((1, 1, 2)))
    if conv.questions_open:
        # What was offered stays on offer while its details are asked for.
        offered = [a for a in conv.system_actions[talk.name] if a["act"] == "OFFER"]
        conv.user(line)
        conv.system(conv.reply(), talk)
        conv.system_actions[talk.name] = offered + conv.system_actions[talk.name]


def _result(talk: Talk, intent: str, row: Row) -> Row:
    return {s: row[s] for s in sorted(talk.intent(intent)["result_slots"]) if s in row}
