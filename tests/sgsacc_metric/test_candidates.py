"""The sentences of appendix B, as literal tables."""

from __future__ import annotations

import msgspec
import pytest

from sgdx_dataset.schema import Slot
from sgsacc_metric.candidates import candidates
from sgsacc_metric.rows import Action

from .turns import HOTELS, act, turn

# Actions and their sentences, which are put apart by "|".
APPENDIX_B = [
    (act("REQUEST", "city"), "Request City of the hotel.|Request city."),
    (act("REQUEST", "city", "Rome"), "Request City of the hotel.|Request city."),
    (act("REQUEST", "has_wifi"), "Request Whether the hotel has wifi.|Request has wifi."),
    (act("GOODBYE"), "Have a good day.|Bye bye.|See you."),
    (
        act("REQ_MORE"),
        "What else do you need?|What else can I help you with?|Is there anything else?",
    ),
    (act("CONFIRM", "city", "Rome"), "City of the hotel is Rome.|City is Rome."),
    (
        act("OFFER", "city", "Rome", "Pisa"),
        "City of the hotel are Rome and Pisa.|City are Rome and Pisa.",
    ),
    (
        act("INFORM", "star_rating", "3", "4", "5"),
        "How many stars the hotel has are 3, 4 and 5.|Star rating are 3, 4 and 5.",
    ),
    (
        act("INFORM", "has_wifi", "True"),
        "Whether the hotel has wifi? Yes.|Has wifi? Yes.|Does has wifi.",
    ),
    (
        act("INFORM", "has_wifi", "False"),
        "Whether the hotel has wifi? No.|Has wifi? No.|Has not wifi.",
    ),
    (
        act("INFORM", "is_nonstop", "True"),
        "Flight is direct? Yes.|Is nonstop? Yes.|Is nonstop.",
    ),
    (
        act("INFORM", "is_nonstop", "False"),
        "Flight is direct? No.|Is nonstop? No.|Is not nonstop.",
    ),
    (
        act("INFORM", "pets_allowed", "True"),
        "Are pets allowed? Yes.|Pets allowed? Yes."
        "|Has pets allowed.|Have pets allowed.|Is pets allowed.",
    ),
    (
        act("CONFIRM", "private_visibility", "False"),  # the letters "is" inside a word are no "is"
        "Hidden from others? No.|Private visibility? No."
        "|Has not private visibility.|Have not private visibility.|Is not private visibility.",
    ),
    (
        act("CONFIRM", "has_wifi", "dontcare"),
        "Whether the hotel has wifi is dontcare.|Has wifi is dontcare.",
    ),
    # A slot that is called intent is a slot; an intent that is offered is none.
    (act("CONFIRM", "intent", "rent"), "Rent or buy is rent.|Intent is rent."),
    (act("OFFER_INTENT", "intent", "BookHotel"), "Intent is Book Hotel."),
    (act("OFFER_INTENT", "intent", "CheckATMBalance"), "Intent is Check ATM Balance."),
    (act("OFFER_INTENT", "intent", "buy_tickets2Go"), "Intent is buy tickets2 Go."),
    (act("CONFIRM", "city", "McAllen"), "City of the hotel is McAllen.|City is McAllen."),
    (act("INFORM_COUNT", "count", "3"), "Count is 3."),
    (act("INFORM", "street_name", "Via Roma"), "Street name is Via Roma."),  # not in the schema
    (act("NOTIFY_SUCCESS"), ""),
    (act("NOTIFY_FAILURE"), ""),
    (act("SELECT"), ""),
    (act("SELECT", "city"), ""),
]
EXTENDED = [
    (act("OFFER_INTENT", "intent", "BookHotel"), "Request whether to book a room."),
    (act("INFORM_COUNT", "count", "3"), "There are 3 results."),
    (act("NOTIFY_SUCCESS"), "Search for a hotel succeeded."),
    (act("NOTIFY_FAILURE"), "Search for a hotel failed."),
    (act("CONFIRM", "city", "Rome"), "Request whether city of the hotel is Rome."),
    (
        act("REQUEST", "city", "Rome", "Pisa"),
        "Request whether city of the hotel is Rome and Pisa.",
    ),
    (act("OFFER", "star_rating", "3"), "How many stars the hotel has? 3."),
    (act("INFORM", "has_wifi", "False"), "Has no has wifi.|Does not has wifi."),
    (act("INFORM", "city", "Rome"), ""),
    (act("INFORM", "is_nonstop", "dontcare"), ""),  # "Flight is direct" is no question
    (act("CONFIRM", "wifi_name", "Inn"), "Request whether WIFI network of the hotel is Inn."),
]


@pytest.mark.parametrize(("action", "sentences"), APPENDIX_B)
def test_appendix_b(action: Action, sentences: str) -> None:
    assert candidates(turn(action), action) == [*filter(None, sentences.split("|"))]


@pytest.mark.parametrize(("action", "more"), EXTENDED)
def test_extended_rules_add_forms(action: Action, more: str) -> None:
    network = Slot("wifi_name", "WIFI network of the hotel", False, [])
    schema = msgspec.structs.replace(HOTELS, slots=[*HOTELS.slots, network])
    of = turn(action, intent="FindHotel", schemas=[schema])
    added = [*filter(None, more.split("|"))]
    assert candidates(of, action, "extended") == [*candidates(of, action), *added]
