"""A whole dialogue: one to three services, one after the other."""

from random import Random
from typing import Any

from .booking import book, decline
from .conversation import Conversation
from .line import Line
from .search import make_wish, search, track
from .steps import more, questions
from .talk import Row, Talk, Value

# Values that go over from an earlier service of the dialogue: (from, slot, to, slot).
CARRIES = (
    ("Museums_1", "city", "Bikes_1", "city"),
    ("Vets_1", "city", "Museums_1", "city"),
    ("Bikes_1", "city", "Repairs_1", "city"),
    ("Cooking_1", "city", "Museums_1", "city"),
    ("Flats_1", "address", "Parcels_1", "destination"),
    ("Museums_1", "address", "Cabs_1", "destination"),
    ("Vets_1", "address", "Cabs_1", "destination"),
    ("Bikes_1", "address", "Cabs_1", "destination"),
    ("Flats_1", "address", "Cabs_1", "destination"),
)


def tell_story(rng: Random, talks: list[Talk]) -> list[dict[str, Any]]:
    """The turns of a dialogue about these services in this order."""
    conv, line, rows = Conversation(rng, talks), Line(), dict[str, Row]()
    for index, talk in enumerate(talks):
        if index:
            line = _change_service(conv, talks[index - 1], line, rows)
        carried = _carried(talk, talks[:index], rows)
        line, rows[talk.name] = _chapter(conv, talk, line, carried, talks[index + 1 :])
    _close(conv, talks[-1], line)
    return conv.turns


def _chapter(
    conv: Conversation, talk: Talk, line: Line, carried: dict[str, Value], later: list[Talk]
) -> tuple[Line, Row]:
    """One service: a look-up, a search, a booking, or a search that leads to a booking."""
    searches, bookings = talk.intent_names(False), talk.intent_names(True)
    if len(searches) > 1 and not carried and not later and conv.rng.random() < 0.35:
        return track(conv, talk, line, searches[1]), {}
    takes = talk.intent(bookings[0])["required_slots"]
    direct = not later and conv.rng.random() < 0.25 and all(slot in takes for slot in carried)
    if direct or not searches:
        row = conv.rng.choice(talk.items)
        return book(conv, talk, line, bookings[0], row, carried), row
    wish = make_wish(conv, talk, _meeting_point(conv, talk, later), carried)
    wish.must_ask = _asked_for_later(talk, later)
    line, row = search(conv, talk, line, wish)
    fate = conv.rng.random()
    if fate < 0.6:
        return book(conv, talk, line, bookings[0], row, {}), row
    return (decline(conv, talk, line, bookings[0]) if fate < 0.8 else line), row


def _meeting_point(conv: Conversation, talk: Talk, later: list[Talk]) -> dict[str, str]:
    """A city that both this service and one it is carried over to know."""
    for slot, other, other_slot in _carries_from(talk, later):
        if slot == "city":
            there = {row[other_slot] for row in other.items}
            return {slot: conv.rng.choice(sorted({row[slot] for row in talk.items} & there))}
    return {}


def _asked_for_later(talk: Talk, later: list[Talk]) -> list[str]:
    """Slots a user must have asked about before they can be carried over."""
    return [slot for slot, _, _ in _carries_from(talk, later) if slot != "city"]


def _carries_from(talk: Talk, later: list[Talk]) -> list[tuple[str, Talk, str]]:
    return [
        (slot, other, other_slot)
        for source, slot, target, other_slot in CARRIES
        for other in later
        if (source, target) == (talk.name, other.name)
    ]


def _carried(talk: Talk, earlier: list[Talk], rows: dict[str, Row]) -> dict[str, Value]:
    """What an earlier service has settled for this one, in the system's words."""
    carried = {}
    for source, slot, target, target_slot in CARRIES:
        for other in earlier:
            if (source, target) == (other.name, talk.name):
                carried[target_slot] = other.system_value(slot, rows[source][slot])
    return carried


def _change_service(conv: Conversation, talk: Talk, line: Line, rows: dict[str, Row]) -> Line:
    """Go on to the next service in the same breath, or after being asked."""
    if conv.rng.random() < 0.25:
        conv.user(line)
        reply = conv.reply()
        more(conv, talk, reply)
        conv.system(reply, talk)
        return Line()
    if conv.rng.random() < 0.5:
        results = {s: None for i in talk.schema["intents"] for s in i["result_slots"]}
        questions(conv, talk, line, rows[talk.name], results, 1)
    line.say(talk, conv.pick("user", "also"))
    return line


def _close(conv: Conversation, talk: Talk, line: Line) -> None:
    """Take leave, in half of the dialogues only after being asked for more."""
    if conv.questions_open or conv.rng.random() < 0.5:
        conv.user(line)
        reply = conv.reply()
        more(conv, talk, reply)
        conv.system(reply, talk)
        line = Line()
        line.say(talk, conv.pick("user", "finish"))
        line.act(talk, "NEGATE")
        line.act(talk, conv.rng.choice(("GOODBYE", "THANK_YOU")))
    else:
        line.say(talk, conv.pick("user", "leave"))
        line.act(talk, "GOODBYE")
    conv.user(line)
    reply = conv.reply()
    reply.say(talk, conv.pick("system", "bye"))
    reply.act(talk, "GOODBYE")
    conv.system(reply, talk)
