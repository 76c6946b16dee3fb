"""Labels: literal cases of each path."""

from __future__ import annotations

from typing import Any

from baselines.onepass.frames import GoldFrame, KnownValue, Utterance
from baselines.onepass.labels import DONTCARE, GIVEN, KEEP, Paths, TextSpan, labels_of, paths_of
from sgdx_dataset.schema import Service

from .conftest import frame_of

ORDER = "Eat at 8 on May 5th"


def gold(values: dict[str, list[str]], **changes: Any) -> GoldFrame:
    given: dict[str, Any] = {"intent": "NONE", "requested": frozenset(), "spans": {}}
    return GoldFrame(values=values, **(given | changes))


def statuses(*right: int) -> Paths:
    return Paths(frozenset(right))


def test_a_slot_without_gold_value_keeps_what_it_has(restaurants: Service) -> None:
    frame = frame_of(restaurants)
    assert paths_of(frame, gold({}), "day") == statuses(KEEP)
    assert paths_of(frame, gold({}), "time") == statuses(KEEP)  # the state was emptied


def test_a_carried_value_may_be_kept_or_taken_again(restaurants: Service) -> None:
    frame = frame_of(restaurants)
    right = gold({"time": ["19:00", "7 pm"]})
    assert paths_of(frame, right, "time") == statuses(KEEP, GIVEN)
    without = frame_of(restaurants, carried={})
    assert paths_of(without, right, "time") == statuses(GIVEN)
    earlier = frame_of(restaurants, carried={}, offered_now={}, offered_earlier={"time": "7 pm"})
    assert paths_of(earlier, right, "time") == statuses(GIVEN)
    assert not paths_of(frame_of(restaurants, carried={}, offered_now={}), right, "time")


def test_dontcare(restaurants: Service) -> None:
    right = gold({"day": ["dontcare"]})
    assert paths_of(frame_of(restaurants), right, "day") == statuses(DONTCARE)
    carried = frame_of(restaurants, carried={"day": "dontcare"})
    assert paths_of(carried, right, "day") == statuses(KEEP, DONTCARE)


def test_a_possible_value_is_said_unless_it_is_kept(restaurants: Service) -> None:
    frame = frame_of(restaurants)
    assert paths_of(frame, gold({"party_size": ["3"]}), "party_size") == Paths(values=(2,))
    offered = Paths(frozenset({GIVEN}), values=(1,))
    assert paths_of(frame, gold({"party_size": ["2"]}), "party_size") == offered
    carried = frame_of(restaurants, carried={"party_size": "2"}, offered_now={})
    assert paths_of(carried, gold({"party_size": ["2"]}), "party_size") == statuses(KEEP)
    assert not paths_of(frame, gold({"party_size": ["9"]}), "party_size")


def test_annotated_spans_come_before_mentions(restaurants: Service) -> None:
    frame = frame_of(restaurants, utterances=(Utterance("USER", "8, I mean at 8", True),))
    one = gold({"time": ["8"]}, spans={"time": [(13, 14)]})
    assert paths_of(frame, one, "time") == Paths(spans=(TextSpan(0, 13, 14),))
    two = gold({"time": ["8"]}, spans={"time": [(0, 1), (13, 14)]})
    assert len(paths_of(frame, two, "time").spans) == 2
    wrong = gold({"time": ["8"]}, spans={"time": [(3, 4)]})
    assert paths_of(frame, wrong, "time") == Paths(spans=(TextSpan(0, 0, 1),))


def test_mentions_are_looked_for_in_what_is_readable_and_latest_first(restaurants: Service) -> None:
    heard = (
        Utterance("USER", "at 8", True),
        Utterance("SYSTEM", "At 8 or 9?", True),
        Utterance("USER", "Yes", True),
    )
    frame = frame_of(restaurants, utterances=heard, carried={}, offered_now={})
    assert paths_of(frame, gold({"time": ["8"]}), "time").spans == (TextSpan(1, 3, 4),)
    deaf = frame_of(
        restaurants,
        utterances=(Utterance("SYSTEM", "At 8?", False), Utterance("USER", "Yes", True)),
        offered_now={},
    )
    assert not paths_of(deaf, gold({"time": ["8"]}), "time")


def test_a_value_of_another_service_enters_at_the_right_time_only(restaurants: Service) -> None:
    right = gold({"day": ["May 5th"]})
    known = (KnownValue("price", "7"), KnownValue("concert_date", "May 5th"))
    first = frame_of(restaurants, first=True, known=known)
    assert paths_of(first, right, "day") == Paths(known=(1,))
    later = frame_of(restaurants, known=known)
    assert not paths_of(later, right, "day")
    turned = gold({"day": ["May 5th"]}, intent="FindPlace")
    assert paths_of(later, turned, "day") == Paths(known=(1,))
    said = frame_of(restaurants, first=True, utterances=(Utterance("USER", ORDER, True),))
    assert paths_of(said, right, "day") == Paths(spans=(TextSpan(0, 12, 19),))
    having = frame_of(restaurants, first=True, carried={"day": "May 4th"})
    assert not paths_of(having, right, "day")


def test_labels_are_of_the_tracked_slots(restaurants: Service) -> None:
    labels = labels_of(frame_of(restaurants), gold({}, requested=frozenset({"price"})))
    assert list(labels.paths) == ["time", "party_size", "restaurant", "day"]
    assert labels.intent == "NONE"
    assert labels.requested == {"price"}
    unknown = labels_of(frame_of(restaurants), gold({}, intent="Swim"))
    assert unknown.intent is None
