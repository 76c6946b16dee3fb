"""The prompt for states agrees with the annotation: to obey it to the letter is nearly right."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from baselines.data.prediction_files import prediction_row
from baselines.llm.answers import read_call, read_state
from baselines.llm.functions import call_functions, parameter_names
from baselines.llm.requests import instruction
from sgdx_dataset import frame_tables, open_release
from sgdx_dataset.release.release import Release
from sgdx_dataset.rows.dialogue_rows import dialogue_tables
from sgdx_dataset.schema import DONTCARE, read_service
from sgdx_metric.calls import CALL_PREDICTION, score_calls
from sgdx_metric.rows import PREDICTION
from sgdx_metric.scoring import score_frames

from .literal import SENTENCES, literal_states
from .server import call_completion


def obedient(
    release: Release, split: str, config: str, carries: bool = True, most: int | None = None
) -> dict[str, float]:
    """The scores of the reader's states and calls, written and read as the answers of a model.

    Args:
        release: The release.
        split: The split.
        config: The wording.
        carries: Whether the reader follows the sentence about other APIs.
        most: How many dialogues are read; None for all.

    Returns:
        The joint goal accuracy of the states, and the `call_accuracy` of the calls.
    """
    tables = dialogue_tables(release, split, config)
    rows = (row for _, table in tables for row in table.to_pylist())
    states, values = [], {}
    for row in islice(rows, most):
        services = {schema["service_name"]: read_service(schema) for schema in row["schemas"]}
        for frame, recorded in literal_states(row, carries):
            service = services[frame["service"]]
            names = parameter_names(service)
            arguments: dict[str, Any] = {
                "active_intent": frame["state"]["active_intent"],
                "requested_slots": [names[slot] for slot in frame["state"]["requested_slots"]],
                "slot_values": {names[slot]: value for slot, value in recorded.items()},
            }
            state = read_state(json.loads(json.dumps(arguments)), service)
            slots = {slot: [value] for slot, value in state.slot_values.items()}
            identity = {"frame_id": frame["frame_id"], "variant": config}
            states.append(
                prediction_row(identity, state.active_intent, state.requested_slots, slots)
            )
            values[frame["frame_id"]] = state.slot_values
    true = frame_tables(release, split, config)
    true = true.filter(pc.is_in(true["frame_id"], value_set=pa.array(list(values))))
    jga = score_frames(true, pa.Table.from_pylist(states, PREDICTION), config)
    calls = pa.Table.from_pylist(list(_calls(true, values, config)), CALL_PREDICTION)
    return {
        "states": float(np.mean(jga.scores["joint_goal_accuracy"])),
        "calls": float(np.mean(score_calls(true, calls, config).scores["call_accuracy"])),
    }


def _calls(
    true: pa.Table, values: Mapping[str, Mapping[str, str]], config: str
) -> Iterator[dict[str, Any]]:
    """The right functions, with what was recorded of their parameters as arguments."""
    for row in true.to_pylist():
        if (call := row["service_call"]) is None:
            continue
        intent = next(i for i in row["schema"]["intents"] if i["name"] == call["method"])
        service = read_service({**row["schema"], "intents": [intent]})
        (name,) = call_functions([service])
        names = parameter_names(service)
        arguments = {
            names[slot]: value
            for slot, value in values[row["frame_id"]].items()
            if slot in service.tracked and value != DONTCARE
        }
        made = read_call(call_completion(name, json.dumps(arguments)), call_functions([service]))
        parameters = [{"slot": slot, "value": value} for slot, value in made.parameters.items()]
        call = {"service": made.service, "method": made.method, "parameters": parameters}
        yield {"frame_id": row["frame_id"], "variant": config, "service_call": call}


def test_the_reader_follows_sentences_of_the_prompt() -> None:
    for sentence in SENTENCES.values():
        assert sentence in instruction("state", "tool")


@pytest.mark.parametrize("config", ["original", "v5"])
def test_obeying_is_right_on_the_sample(config: str) -> None:
    scores = obedient(open_release("sample"), "test", config)
    assert scores["states"] > 0.98
    assert scores["calls"] > 0.98


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.parametrize("split", ["validation", "test"])
def test_obeying_is_right_on_the_release(split: str, release_archive: Path) -> None:
    """What is left are the airlines of flights that the user accepts, on validation.

    They are recorded there and not on test, and no schema requires them.
    """
    release = open_release(str(release_archive))
    scores = obedient(release, split, "original")
    assert scores["states"] >= 0.98
    assert scores["calls"] >= 0.98
    assert obedient(release, split, "original", carries=False)["states"] < 0.87
