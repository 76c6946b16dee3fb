"""The canonical values of states, from what dialogue acts have said so far."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sgdx_dataset.rows.canonical_values import SaidValues, StateValues, canonical_values


def test_a_value_has_the_canonical_forms_that_were_said_before_in_its_dialogue() -> None:
    """Turns 0 to 2 are of one dialogue, and turn 3 is another one's."""
    said = SaidValues(
        np.array([0, 2, 2, 3]),
        pa.array(["noon", "noon", "two", "two"]),
        pa.array(["12:00", "12 pm", "2", "2"]),
    )
    # In turn 1 noon; in turn 2 noon, and two or 2; in turn 3 noon, and two.
    states = StateValues(
        np.array([1, 2, 2, 2, 3, 3]),
        np.array([0, 1, 2, 2, 3, 4]),
        pa.array(["noon", "noon", "two", "2", "noon", "two"]),
        5,
    )
    found = canonical_values(said, states, np.array([0, 0, 0, 1]))
    assert [sorted(values) for values in found.to_pylist()] == [
        ["12:00"],
        ["12 pm", "12:00"],
        [],
        [],
        ["2"],
    ]
