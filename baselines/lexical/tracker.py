"""The lexical tracker: a deterministic lower bound that is not trained and needs no torch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from datasets import Dataset
from datasets.utils import tqdm

from sgdx_dataset.schema import read_service
from sgdx_dataset.tracker_inputs import SYSTEM_ACTS
from sgdx_eval.prediction_files import prediction_row

from ..system import Predictions, Tracker
from .rules import Lexicon, ServiceState, lexicon_of, update_state

Row = dict[str, Any]


class LexicalTracker(Tracker):
    """Matches the words of schema and utterance, and takes values that the system offered."""

    NAME: ClassVar[str] = "lexical"
    READS: ClassVar[tuple[str, ...]] = ("history", "utterance", "schema", SYSTEM_ACTS)

    def predict(self, rows: Dataset, chunks: Path) -> Predictions:
        """Apply the rules turn by turn. This is fast, so no partial results are kept."""
        return Predictions(list(_predict(rows)), {})


def _predict(rows: Dataset) -> Iterator[Row]:
    lexicons: dict[tuple[str, str], Lexicon] = {}
    dialogue = None
    states: dict[str, ServiceState] = {}
    for row in tqdm(rows, desc="Tracking", unit=" frames", delay=2, disable=None):
        if (row["variant"], row["dialogue_id"]) != dialogue:
            dialogue, states = (row["variant"], row["dialogue_id"]), {}
        schema = (row["variant"], row["service"])
        if schema not in lexicons:
            lexicons[schema] = lexicon_of(read_service(row["schema"]))
        state = states.setdefault(row["service"], ServiceState())
        last = row["history"][-1]["actions"] if row["history"] else []
        acts = [act for act in last if act["service"] == row["service"]]
        requested = update_state(lexicons[schema], state, row["utterance"], acts)
        values = {slot: [value] for slot, value in state.slots.items()}
        yield prediction_row(row, state.intent, requested, values)
