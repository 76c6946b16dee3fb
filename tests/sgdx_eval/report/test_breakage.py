"""Classes of errors and the costliest rewordings, on predictions whose errors are known."""

from __future__ import annotations

from pathlib import Path

from sgdx_eval.report.analysis import Analysis
from sgdx_eval.report.breakage import (
    CLASSES,
    SchemaElement,
    costliest_rewordings,
)
from sgdx_eval.report.data import ReferenceData

from .conftest import Row, analysed, values, with_state


def test_every_class(sample: ReferenceData, gold: dict[str, list[Row]], tmp_path: Path) -> None:
    """In v1, each of some frames has one error; the frames have two slots with values and more."""
    services = sample.schemas("v1")
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
    others = [row["frame_id"] for row in rich if row["frame_id"] not in elsewhere]
    missed, wrong, swapped, invented, intent = others[:5]

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
        with_state(row, state)

    analysis = analysed(tmp_path, sample, gold, change)
    ids = sorted(row["frame_id"] for row in gold["v1"])
    broken = [(ids[breakage.frame], breakage.kind) for breakage in analysis.breakages]
    assert sorted(broken) == sorted(
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
    assert {kind for _, kind in broken} == set(CLASSES)


def test_the_costliest_rewording(
    forgetful: Analysis, sample: ReferenceData, gold: dict[str, list[Row]]
) -> None:
    first = sample.schemas("original")["Vets_1"].slots[0]
    lost = sum(
        first.name in values(row) for row in gold["original"] if row["frame_id"].endswith("Vets_1")
    )
    assert lost > 0
    (rewording,) = costliest_rewordings(forgetful.changes, forgetful.schemas)
    assert rewording.element == SchemaElement("Vets_1", "v2", 0, is_intent=False)
    assert rewording.before == first
    assert rewording.after == sample.schemas("v2")["Vets_1"].slots[0]
    assert (rewording.change, rewording.change.net) == ((lost, 0), lost)
    won = forgetful.changes[0][SchemaElement("Vets_1", "v3", 1, is_intent=False)]
    assert won.lost == 0 and won.won > 0


def test_seeds_are_means(forgetful: Analysis) -> None:
    changes = forgetful.changes[0]
    (rewording,) = costliest_rewordings([changes, {}], forgetful.schemas)
    assert rewording.change.lost == changes[rewording.element].lost / 2
