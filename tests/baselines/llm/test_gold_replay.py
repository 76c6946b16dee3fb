"""Right answers, written and read back, score 1.0: nothing is lost on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from baselines.data.prediction_files import prediction_row
from baselines.llm.answers import read_answer
from baselines.llm.requests import AnswerForm, RequestSettings
from sgdx_dataset import frame_tables, open_release
from sgdx_dataset.schema import Service, read_service
from sgdx_metric.rows import PREDICTION
from sgdx_metric.scoring import score_frames

from .conftest import VARIANTS
from .server import gold_answer

MODES: tuple[AnswerForm, ...] = ("tool", "json_schema", "text")


def scores_of_right_answers(table: pa.Table, settings: RequestSettings) -> dict[str, float]:
    """The mean of every metric that is defined in a frame at least."""
    services: dict[str, Service] = {}
    predicted = []
    for row in table.to_pylist():
        service = services.setdefault(row["service"], read_service(row["schema"]))
        answer = gold_answer(row, service, settings)
        found = read_answer(answer, service, settings.answer == "tool")
        assert not found.counts
        values: Any = {slot: [value] for slot, value in found.slot_values.items()}
        predicted.append(prediction_row(row, found.active_intent, found.requested_slots, values))
    predictions = pa.Table.from_pylist(predicted, PREDICTION)
    found_scores = score_frames(table, predictions, "any").scores
    return {
        metric: float(np.nanmean(values))
        for metric, values in found_scores.items()
        if not np.isnan(values).all()
    }


@pytest.mark.parametrize("answer", MODES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_on_the_sample(sample: dict[str, pa.Table], variant: str, answer: AnswerForm) -> None:
    settings = RequestSettings(model="m", answer=answer, strict=variant in ("v1", "v4"))
    scores = scores_of_right_answers(sample[variant], settings)
    assert len(scores) == 12  # all but those of spans
    assert set(scores.values()) == {1.0}


@pytest.mark.slow
@pytest.mark.release
def test_on_the_release(release_archive: Path) -> None:
    release = open_release(str(release_archive))
    for variant in VARIANTS:
        table = frame_tables(release, "test", variant)
        for answer in MODES:
            scores = scores_of_right_answers(table, RequestSettings(model="m", answer=answer))
            assert len(scores) == 11
            assert set(scores.values()) == {1.0}, (variant, answer)
