"""Classes of errors and the costliest rewordings, on predictions whose errors are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from baselines.report.analysis import Analysis, analyse, changed_words, slot_changes
from baselines.report.data import Data
from baselines.report.errors import CLASSES, Loss, costliest, spread
from baselines.report.gather import read_tracker
from baselines.report.provenance import group_runs
from sgdx_dataset.schema import Slot

from .conftest import Row, write_run


def analysed(folder: Path, data: Data, gold: dict[str, list[Row]], change: object) -> Analysis:
    path = write_run(folder / "run", data, gold, change, tracker="x")  # type: ignore[arg-type]
    (group,) = group_runs([read_tracker(path)])
    return analyse(group.systems[0], data)


def values(row: Row) -> dict[str, list[str]]:
    return {item["slot"]: item["values"] for item in row["slot_values"]}


def put(row: Row, state: dict[str, list[str]]) -> None:
    row["slot_values"] = [{"slot": slot, "values": value} for slot, value in state.items()]


def test_every_class(sample: Data, gold: dict[str, list[Row]], tmp_path: Path) -> None:
    """In v1, each of some frames has one error; the frames have two slots with values and more."""
    services = sample.wordings("v1")
    rich = [
        row
        for row in gold["v1"]
        if len(values(row)) > 1 and row["active_intent"] != "NONE"
        and len(services[row["frame_id"].rsplit("/")[-1]].slots) > len(values(row))
    ]  # fmt: skip
    elsewhere: dict[str, str] = {}  # a value of another service by the frame that copies it
    for row in rich:
        dialogue, turn, service = row["frame_id"].rsplit("/", 2)
        for other in gold["v1"]:
            d, t, s = other["frame_id"].rsplit("/", 2)
            if d == dialogue and s != service and int(t) <= int(turn) and other["slot_values"]:
                foreign = other["slot_values"][0]["values"][0]
                if not any(foreign in spoken for spoken in values(row).values()):
                    elsewhere[row["frame_id"]] = foreign
    copier = next(iter(elsewhere))
    chosen = [row["frame_id"] for row in rich if row["frame_id"] not in elsewhere][:5]
    missed, wrong, swapped, invented, intent = chosen

    def change(variant: str, row: Row) -> None:
        if variant != "v1":
            return
        state, frame = values(row), row["frame_id"]
        schema = [slot.name for slot in services[frame.rsplit("/")[-1]].slots]
        first = next(iter(state), "")
        empty = next((name for name in schema if name not in state), "")
        if frame == missed:
            del state[first]
        elif frame == wrong:
            state[first] = ["something else entirely"]
        elif frame == swapped:
            state[empty] = state.pop(first)
        elif frame == invented:
            state[empty] = ["something else entirely"]
        elif frame == intent:
            row["active_intent"] = "NONE"
        elif frame == copier:
            state[empty] = [elsewhere[frame]]
        put(row, state)

    analysis = analysed(tmp_path, sample, gold, change)
    ids = sorted(row["frame_id"] for row in gold["v1"])
    found = [(ids[loss.frame], loss.kind) for loss in analysis.losses]
    assert sorted(found) == sorted(
        [
            (missed, "missed"),
            (wrong, "wrong value"),
            (swapped, "wrong slot"),
            (swapped, "wrong slot"),  # of the slot that lost the value and the one that has it
            (invented, "invented"),
            (intent, "intent"),
            (copier, "copied from another service"),
        ]
    )
    assert {kind for _, kind in found} == set(CLASSES)


@pytest.fixture(scope="module")
def forgetful(
    sample: Data, gold: dict[str, list[Row]], tmp_path_factory: pytest.TempPathFactory
) -> Analysis:
    """A tracker that is right but for one slot of Vets_1 under v2, and one that v3 wins."""

    def change(variant: str, row: Row) -> None:
        state = values(row)
        if row["frame_id"].endswith("/Vets_1"):
            if variant == "v2":
                state.pop(sample.wordings("v2")["Vets_1"].slots[0].name, None)
            if variant != "v3":
                state.pop(sample.wordings(variant)["Vets_1"].slots[1].name, None)
        put(row, state)

    return analysed(tmp_path_factory.mktemp("errors"), sample, gold, change)


def test_the_costliest_rewording(
    forgetful: Analysis, sample: Data, gold: dict[str, list[Row]]
) -> None:
    first = sample.wordings("original")["Vets_1"].slots[0]
    lost = sum(
        first.name in values(row) for row in gold["original"] if row["frame_id"].endswith("Vets_1")
    )
    assert lost > 0
    (one,) = costliest(forgetful.counts, forgetful.wordings)
    assert (one.service, one.variant, one.is_intent) == ("Vets_1", "v2", False)
    assert one.before == first
    assert one.after == sample.wordings("v2")["Vets_1"].slots[0]
    assert (one.lost, one.won, one.net) == (lost, 0, lost)
    assert forgetful.counts[0]["Vets_1", "v3", 1, False][0] == 0
    assert forgetful.counts[0]["Vets_1", "v3", 1, False][1] > 0


def test_seeds_are_means(forgetful: Analysis) -> None:
    (one,) = costliest([forgetful.counts[0], {}], forgetful.wordings)
    assert one.lost == forgetful.counts[0]["Vets_1", "v2", 0, False][0] / 2


def test_slots_lose_accuracy_where_the_tracker_forgets(forgetful: Analysis) -> None:
    losses = {change.loss for change in slot_changes(forgetful)}
    assert losses == {-1.0, 0.0, 1.0}  # the one that v3 wins, all others, and the one lost


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (("has_wifi", "Whether it has wifi"), ("has_wifi", "Whether it has wifi"), 0),
        (("has_wifi", "Whether it has wifi"), ("has_wifi", "WHETHER it has Wi"), 1),
        (("has_wifi", "Whether"), ("internet_available", "Whether"), 2),
        (("city", ""), ("city_of_event", "where"), 3),
    ],
)
def test_changed_words(before: tuple[str, str], after: tuple[str, str], words: int) -> None:
    assert changed_words(Slot(*before, False, []), Slot(*after, False, [])) == words


def test_examples_show_every_class_before_one_twice() -> None:
    losses = [Loss(i, "v1", 0, "missed", "a", "") for i in range(50)]
    losses.append(Loss(50, "v2", 0, "invented", "", "a"))
    losses.append(Loss(51, "v1", 1, "missed", "a", ""))
    chosen = spread(losses, ["Hotels_1"] * 52, 3)
    assert [loss.frame for loss in chosen] == [0, 50, 51]
