"""The tables and the plot of slots, of two seeds of a tracker that makes errors of every class."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from sgdx_eval.references import References
from sgdx_eval.report.inputs import Choice, read_inputs
from sgdx_eval.report.runs import Group
from sgdx_eval.report.slots.show import (
    active_intents,
    by_slot_kind,
    error_classes,
    slot_sections,
    words_changed,
)
from sgdx_eval.tables import Table

from ..conftest import VARIANTS, Change, Row, values, with_state, write_run


def messy(seed: int, sample: References) -> Change:
    """Errors at random, always the same ones, and more of them under later variants."""

    def change(variant: str, row: Row) -> None:
        random = Random(f"{seed}/{variant}/{row['frame_id']}")  # noqa: S311
        schema = sample.schemas(variant)[row["frame_id"].rpartition("/")[2]]
        names = [slot.name for slot in schema.slots]
        chance = 0.03 * (1 + VARIANTS.index(variant))
        state: dict[str, list[str]] = {}
        for slot, spoken in values(row).items():
            kind = random.random() / chance
            if kind < 0.3 or (variant != "original" and slot == names[-1]):
                continue
            if kind < 0.5:
                state[slot] = ["something else"]
            elif kind < 0.7:
                state[random.choice(names)] = spoken
            else:
                state[slot] = [f"{spoken[0]} s"] if kind < 0.9 else spoken
        if random.random() < chance:
            state[random.choice(names)] = ["another thing"]
        if random.random() < chance:
            row["active_intent"] = random.choice(["NONE", *[i.name for i in schema.intents]])
        with_state(row, state)

    return change


@pytest.fixture(scope="module")
def group(
    tmp_path_factory: pytest.TempPathFactory, sample: References, gold: dict[str, list[Row]]
) -> Group:
    folder = tmp_path_factory.mktemp("messy")
    paths = [
        write_run(folder / str(seed), sample, gold, messy(seed, sample), tracker="x", seed=seed)
        for seed in (0, 1)
    ]
    (only,) = read_inputs(paths, Choice("sample")).groups
    return only


def texts(table: Table | None) -> list[str]:
    """The rows of a table, a line each."""
    assert table is not None
    return [" | ".join(" ".join(filter(None, cell[:2])) for cell in row) for row in table.rows]


def test_accuracies_by_kind_and_by_who_said_the_value(group: Group) -> None:
    assert texts(by_slot_kind(group)) == [
        "kind: categorical | 263 | 97.3 ± 0.0 | 78.7 ± 0.8 | 27.4 ± 2.0",
        "kind: yes or no | 160 | 96.3 ± 0.9 | 79.9 ± 0.5 | 29.7 ± 1.2",
        "kind: free-form | 562 | 98.1 ± 0.1 | 85.5 ± 0.1 | 23.0 ± 1.8",
        "said by: the user | 501 | 97.7 ± 0.2 | 84.1 ± 0.6 | 25.1 ± 2.7",
        "said by: the system | 167 | 98.7 ± 0.3 | 88.6 ± 0.9 | 22.3 ± 0.8",
        "said by: another service | 16 | 96.9 ± 4.4 | 84.9 ± 5.5 | 40.7 ± 13.7",
        "said by: dontcare | 70 | 97.1 ± 0.0 | 86.9 ± 1.2 | 34.0 ± 3.1",
        "said by: nobody, word for word | 231 | 97.0 ± 1.2 | 74.3 ± 0.2 | 24.0 ± 0.5",
    ]


def test_errors_by_class_are_those_of_the_first_run(group: Group) -> None:
    table = error_classes(group)
    assert table is not None
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["missed", "511", "53.3"],
        ["wrong value", "231", "24.1"],
        ["wrong slot", "138", "14.4"],
        ["invented", "79", "8.2"],
        ["copied from another service", "0", "0.0"],
    ]
    (intents,) = texts(active_intents(group))
    assert intents == "x 2 seeds | 98.2 ± 0.0 | 92.7 ± 0.3 | 101"


def test_the_costliest_come_first_and_the_page_has_some(group: Group) -> None:
    sections = list(slot_sections(group, 1, False))
    assert [(s.name, s.number_of_mistakes, len(s.mistakes)) for s in sections] == [
        ("rewordings", 0, 0), ("errors", 253, 200), ("intents", 56, 50), ("slots", 0, 0),
    ]  # fmt: skip
    lists = [some for section in sections for some in section.rewordings]
    assert [(some.what, some.number, len(some.table.rows)) for some in lists] == [
        ("slots", 230, 60), ("intents", 46, 46),
    ]  # fmt: skip
    slots, intents = (
        [
            [row[i].text for i in (0, 1, 4, 5)] + [" ".join(row[6][:2])]
            for row in some.table.rows[:3]
        ]
        for some in lists
    )
    assert slots == [
        ["Cooking_1", "v5", "27", "1", "26 7 to 48"],
        ["Cooking_1", "v1", "25.5", "1", "24.5 6 to 46"],
        ["Cooking_1", "v3", "25.5", "1", "24.5 6 to 46"],
    ]
    assert intents == [
        ["Cabs_1", "v2", "4.5", "0", "4.5 1 to 8"],
        ["Cabs_1", "v4", "3.5", "0", "3.5 1 to 6"],
        ["Flats_1", "v5", "3", "0", "3 0 to 6"],
    ]
    of_many = next(slot_sections(group, 50, False)).rewordings
    assert len(of_many[0].table.rows) == 10


def test_words_changed_are_beside_what_is_lost(group: Group) -> None:
    (axes,) = words_changed.draw(group).axes
    _, points, means = (line.get_xydata() for line in axes.lines)
    assert len(points) == 205
    assert points[:3] == pytest.approx(np.array([[2, 8.0], [6, 2.121951], [5, -1.5625]]))
    expected = np.array([[2, 11.449389], [7, 15.628457], [12, 10.838822]])
    assert means == pytest.approx(expected)
