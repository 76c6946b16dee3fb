"""The joining rules, each one, and that their order matters."""

from __future__ import annotations

import pytest

from baselines.data.dialogues import State, Values
from baselines.sgp_dst.rules import (
    Evidence,
    FrameEvidence,
    Scored,
    Span,
    join,
    settle_claims,
)
from sgdx_dataset.schema import Service


def values(schema: Service, evidence: Evidence, previous: State | None = None) -> Values:
    frames = settle_claims([FrameEvidence(schema, previous or State(), evidence)])
    return join(frames[0]).values


def test_the_previous_state_is_carried_over_and_left_alone(cabs: Service) -> None:
    previous = State("OrderCab", {"destination": ["Bath"], "shared": ["True"]})
    evidence = Evidence(spans={"destination": Span(3, 8, "Wells", 1.5)})
    assert values(cabs, evidence, previous) == {"destination": ["Wells"], "shared": ["True"]}
    assert previous.values == {"destination": ["Bath"], "shared": ["True"]}


@pytest.mark.parametrize(("first", "second"), [(1.2, 1.9), (1.9, 1.2)])
def test_the_likelier_slot_has_a_string_that_two_claim(
    cabs: Service, first: float, second: float
) -> None:
    spans = {"destination": Span(0, 1, "5", first), "pickup_time": Span(0, 1, "5", second)}
    winner = "destination" if first > second else "pickup_time"
    assert values(cabs, Evidence(spans=spans)) == {winner: ["5"]}
    elsewhere = spans | {"pickup_time": Span(4, 5, "5", second)}  # said twice: still one string
    assert values(cabs, Evidence(spans=elsewhere)) == {winner: ["5"]}
    other = spans | {"pickup_time": Span(0, 4, "5 pm", second)}
    assert len(values(cabs, Evidence(spans=other))) == 2


@pytest.mark.parametrize("score", [1.2, 1.9])
def test_slots_of_two_services_do_not_share_a_string(
    cabs: Service, museums: Service, score: float
) -> None:
    frames = [
        FrameEvidence(cabs, State(), Evidence(spans={"destination": Span(0, 4, "Bath", score)})),
        FrameEvidence(museums, State(), Evidence(spans={"museum": Span(0, 4, "Bath", 1.5)})),
    ]
    states = [join(frame).values for frame in settle_claims(frames)]
    winner = {"destination": ["Bath"]} if score > 1.5 else {"museum": ["Bath"]}
    assert states == ([winner, {}] if score > 1.5 else [{}, winner])


def test_copies_fill_only_what_is_unset(cabs: Service) -> None:
    evidence = Evidence(
        values={"shared": Scored("True", 0.9)},
        cross={
            "shared": [Scored("False", 0.99)],
            "destination": [Scored("Bath", 0.91), Scored("Wells", 0.95), Scored("York", 0.2)],
            "riders": [Scored("2", 0.9)],
        },
        copied={
            "destination": Scored("Ely", 0.99),
            "riders": Scored("3", 0.86),
            "pickup_time": Scored("5 pm", 0.85),
        },
    )
    expected = {"shared": ["True"], "destination": ["Wells"], "riders": ["3"]}
    assert values(cabs, evidence) == expected


def test_slots_of_no_intent_are_dropped(cabs: Service) -> None:
    assert values(cabs, Evidence(spans={"fare": Span(0, 2, "$9", 1.9)})) == {}


PREVIOUS = State("OrderCab", {"destination": ["Bath"]})
EVIDENCE = Evidence(
    "OrderCab",
    requested={"shared": 0.99},
    spans={"destination": Span(0, 5, "Wells", 1.9), "pickup_time": Span(6, 7, "5", 1.9)},
    values={"pickup_time": Scored("dontcare", 0.9), "shared": Scored("True", 0.9)},
    cross={"riders": [Scored("2", 0.99)], "pickup_time": [Scored("9", 0.99)]},
    copied={"riders": Scored("3", 0.99), "fare": Scored("$9", 0.99)},
)
RIGHT = {"destination": ["Wells"], "pickup_time": ["dontcare"], "riders": ["2"]}


def test_the_order_matters(cabs: Service) -> None:
    """Each of two rules would give another value to a slot of the literal state."""
    assert join(FrameEvidence(cabs, PREVIOUS, EVIDENCE)) == ("OrderCab", RIGHT, ("shared",))
