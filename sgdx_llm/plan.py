"""The requests of a run in order, and what their answers say.

A dialogue is asked about under all variants before the next one, so a run that is stopped has whole
dialogues under all of them. Dialogues come in the order of ``sgdx subset``, in
which the first ones represent the whole split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from datasets import Dataset

from sgdx_dataset import SgdxError
from sgdx_dataset.configs import REPEATS
from sgdx_dataset.schema import Service, read_service
from sgdx_dataset.subset import choose_dialogues
from sgdx_dataset.tracker_inputs import GOLD, input_columns
from sgdx_eval.predictions import prediction_row
from sgdx_eval.requested import RequestedData, frame_rows

from .answers import read_answer
from .functions import Json
from .requests import (
    READS,
    Request,
    RequestSettings,
    custom_id,
    request_key,
    state_body,
)

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class FrameRequest(Request):
    """A request about a frame."""

    # The frame row that the answer is for, with what a tracker may see of it.
    row: Row
    service: Service


@dataclass(frozen=True)
class Plan:
    """The requests of a run."""

    data: RequestedData
    configs: Sequence[str]
    settings: RequestSettings
    host: str  # the server or program that is asked (`place_of`), for keys of answers
    # How often every request is sent. With more than 1 it is under the original words alone, and
    # the further predictions are called ``repeat2``, ``repeat3``, and so on.
    repeats: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.repeats <= len(REPEATS) + 1:
            raise SgdxError(f"--repeats {self.repeats}: expected 1 to {len(REPEATS) + 1}")
        if self.repeats > 1 and list(self.configs) != ["original"]:
            raise SgdxError(
                f"--repeats {self.repeats}: found the variants {', '.join(self.configs)}, expected "
                "the original alone"
            )

    @cached_property
    def names(self) -> dict[str, tuple[str, int]]:
        """The schema variant and the number of the repeat, by the name of the predictions."""
        repeats = {name: ("original", i) for i, name in enumerate(REPEATS[: self.repeats - 1], 2)}
        return {**{config: (config, 1) for config in self.configs}, **repeats}

    @cached_property
    def tables(self) -> dict[str, FrameTable]:
        """The frame rows of each schema variant."""
        return {
            config: FrameTable(self.data.rows(config, frame_rows), self.settings)
            for config in self.configs
        }

    @cached_property
    def dialogues(self) -> list[str]:
        """The ids of the dialogues, in the order in which they are asked about."""
        table = next(iter(self.tables.values()))
        if self.data.ids is not None:
            return [name for name in self.data.ids if name in table.ranges]
        return list(choose_dialogues(table.services, len(table.services), seed=1))

    def requests(self) -> Iterator[FrameRequest]:
        """All requests, in order; they are made one after the other."""
        # A turn is asked about under all variants before the next turn. Requests under way at the
        # same time then begin differently, and the beginning that a turn shares with the one before
        # is in the server's cache by the time that it is asked about.
        for dialogue in self.dialogues:
            by_name = [self.requests_of(name, dialogue) for name in self.names]
            for requests in zip(*by_name, strict=True):
                yield from requests

    def requests_of(self, name: str, dialogue: str) -> Iterator[FrameRequest]:
        """The requests for the predictions called ``name`` about one dialogue."""
        config, repeat = self.names[name]
        for row, service, body in self.tables[config].bodies(dialogue):
            yield FrameRequest(
                custom_id=custom_id(name, row["frame_id"], repeat),
                body=body,
                key=request_key(body, self.host, repeat),
                shown={"frame": row},
                row=row,
                service=service,
            )

    def count(self) -> int:
        """How many requests there are, without making them."""
        return sum(self.tables[config].count for config, _ in self.names.values())

    def gold(self, name: str) -> dict[str, Row]:
        """The gold columns of each frame by id, for estimates and tests, never for a request."""
        config, _ = self.names[name]
        rows = self.data.rows(config, frame_rows)
        columns = ["frame_id", "service", *GOLD]
        table = rows.select_columns(columns).with_format("arrow")[:]
        return {row["frame_id"]: row for row in table.to_pylist()}

    def read(self, request: FrameRequest, body: Any) -> tuple[Row, Counter[str]]:
        """The prediction row that an answer makes of a request's frame, and its counts."""
        # Under the request's own variant, which may be that of a repeat.
        row = {**request.row, "variant": request.custom_id.partition("|")[0]}
        return predicted(row, request.service, body, self.settings.answer == "tool")

    def is_unread(self, request: FrameRequest, body: Any) -> bool:
        """Whether an answer to a request cannot be read."""
        return bool(self.read(request, body)[1]["unread"])


def predicted(row: Row, service: Service, body: Any, in_call: bool) -> tuple[Row, Counter[str]]:
    """The prediction row that an answer about a frame makes, and its counts."""
    state = read_answer(body, service, in_call)
    values = {slot: [value] for slot, value in state.slot_values.items()}
    made = prediction_row(row, state.active_intent, state.requested_slots, values)
    return made, state.counts


class FrameTable:
    """The frame rows of a schema variant, dialogue by dialogue."""

    def __init__(self, rows: Dataset, settings: RequestSettings) -> None:
        self.settings = settings
        self.frames = input_columns(rows, READS).with_format("arrow")
        self.schemas: dict[str, Service] = {}  # that were read so far, by name
        # The rows of each dialogue [start, end), and its services' original names.
        self.ranges: dict[str, tuple[int, int]] = {}
        services: dict[str, set[str]] = {}
        for place, frame_id in enumerate(rows["frame_id"]):
            dialogue, _, service = frame_id.rsplit("/", 2)
            start, _ = self.ranges.get(dialogue, (place, place))
            self.ranges[dialogue] = start, place + 1
            services.setdefault(dialogue, set()).add(service)
        self.services = {dialogue: sorted(names) for dialogue, names in services.items()}
        self.count = len(rows)

    def bodies(self, dialogue: str) -> Iterator[tuple[Row, Service, Json]]:
        """The frame, the service and the body of each request about a dialogue."""
        start, end = self.ranges[dialogue]
        for row in self.frames[start:end].to_pylist():
            if row["service"] not in self.schemas:
                self.schemas[row["service"]] = read_service(row["schema"])
            service = self.schemas[row["service"]]
            yield row, service, state_body(row, service, self.settings)
