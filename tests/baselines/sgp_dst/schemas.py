"""Two services."""

from __future__ import annotations

from sgdx_dataset.schema import read_service

from ...conftest import intent, slot

CABS = read_service({
    "service_name": "Cabs_9",
    "description": "Rides through town",
    "slots": [
        slot("destination", "Where the ride goes to"),
        slot("pickup_time", "When the cab comes"),
        slot("shared", "Whether others ride along", "True", "False"),
        slot("riders", "Number of people", "1", "2", "3"),
        slot("fare", "What it costs"),
    ],
    "intents": [
        intent("OrderCab", "Call a cab", ["destination", "pickup_time"], ["shared"]),
        intent("PlanRide", "Look up a ride", ["destination"], ["riders"]),
    ],
})  # fmt: skip
MUSEUMS = read_service({
    "service_name": "Museums_9",
    "description": "Museums to visit",
    "slots": [
        slot("museum", "Name of the museum"),
        slot("address", "Street and number"),
        slot("tickets", "How many tickets", "1", "2", "3"),
    ],
    "intents": [intent("BuyTickets", "Buy tickets", ["museum"], ["tickets"])],
})  # fmt: skip
