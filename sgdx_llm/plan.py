"""The requests of a run in order, and what their answers say.

A dialogue is asked about under all variants before the next one, so a run that is stopped has whole
dialogues under all of them. Dialogues come in the order of ``sgdx subset``, in
which the first ones represent the whole split.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import msgspec
from datasets import Dataset

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import Service, read_service
from sgdx_dataset.subset import choose_dialogues
from sgdx_dataset.tracker_inputs import GOLD, input_columns
from sgdx_eval.prediction_files import prediction_row
from sgdx_eval.requested import RequestedData, frame_rows
from sgdx_metric.variants import ORIGINAL

from .answers import read_answer, read_call
from .functions import Json, call_functions
from .requests import (
    READS,
    Request,
    RequestSettings,
    call_body,
    custom_id,
    request_key,
    state_body,
)

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class FrameRequest(Request):
    """A request about a frame, or for the task ``calls`` about a user turn."""

    # The frame rows that the answer is for, with what a tracker may see of them.
    rows: Sequence[Row]
    # The service of the frame; for ``calls``, the services whose functions are offered.
    services: Sequence[Service]


@dataclass(frozen=True)
class Plan:
    """The requests of a run."""

    data: RequestedData
    configs: Sequence[str]
    settings: RequestSettings
    host: str  # the server or program that is asked, without credentials
    # How often every request is sent. With more than 1 there is one schema variant, and the
    # predictions are called ``r1``, ``r2``, and so on.
    repeats: int = 1

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise SgdxError(f"--repeats {self.repeats}: expected 1 or more")
        if self.repeats > 1 and len(self.configs) != 1:
            raise SgdxError(
                f"--repeats {self.repeats}: found {len(self.configs)} variants, expected one, as in"
                " --config original"
            )

    @cached_property
    def names(self) -> dict[str, tuple[str, int]]:
        """The schema variant and the number of the repeat, by the name of the predictions."""
        if self.repeats > 1:
            return {f"r{i}": (self.configs[0], i) for i in range(1, self.repeats + 1)}
        return {config: (config, 1) for config in self.configs}

    @cached_property
    def tables(self) -> dict[str, FrameTable]:
        """The frame rows of each schema variant."""
        release, split = self.data.release, self.data.split
        tables = {}
        for config in self.configs:
            others: dict[str, Service] = {}
            if self.settings.distractors:
                originals = [service.service_name for service in release.schema(split, ORIGINAL)]
                others = dict(zip(originals, release.schema(split, config), strict=True))
            tables[config] = FrameTable(self.data.rows(config, frame_rows), self.settings, others)
        return tables

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
        for rows, services, body in self.tables[config].bodies(dialogue):
            yield FrameRequest(
                custom_id=custom_id(name, rows[0]["frame_id"], repeat),
                body=body,
                key=request_key(body, self.host, repeat),
                shown={"frame": rows[0]},
                rows=rows,
                services=services,
            )

    def count(self) -> int:
        """How many requests there are, without making them."""
        return sum(self.tables[config].count for config, _ in self.names.values())

    def gold(self, name: str) -> dict[str, Row]:
        """The gold columns of each frame by id, for estimates and tests, never for a request."""
        config, _ = self.names[name]
        rows = self.data.rows(config, frame_rows)
        columns = ["frame_id", "service", *GOLD, "service_call"]
        table = rows.select_columns(columns).with_format("arrow")[:]
        return {row["frame_id"]: row for row in table.to_pylist()}

    def read(self, request: FrameRequest, body: Any) -> tuple[list[Row], Counter[str]]:
        """The prediction rows of a request's frames that an answer makes, and its counts."""
        # Under the request's own variant, which may be that of a repeat.
        variant = request.custom_id.partition("|")[0]
        rows = [{**row, "variant": variant} for row in request.rows]
        if self.settings.task == "state":
            state = read_answer(body, request.services[0], self.settings.answer == "tool")
            values = {slot: [value] for slot, value in state.slot_values.items()}
            row = prediction_row(rows[0], state.active_intent, state.requested_slots, values)
            return [row], state.counts
        call = read_call(body, call_functions(request.services), self.settings.text_calls)
        parameters = [{"slot": s, "value": v} for s, v in sorted(call.parameters.items())]
        made = {"service": call.service, "method": call.method, "parameters": parameters}
        # The call of a service without a frame in the turn is put into the first frame, where it
        # counts as wrong.
        services = [row["service"] for row in rows]
        place = services.index(call.service) if call.service in services else 0
        predicted = [
            {
                "frame_id": row["frame_id"],
                "variant": variant,
                "service_call": made if call.service and index == place else None,
            }
            for index, row in enumerate(rows)
        ]
        return predicted, call.counts

    def is_unread(self, request: FrameRequest, body: Any) -> bool:
        """Whether an answer to a request cannot be read."""
        return bool(self.read(request, body)[1]["unread"])


class FrameTable:
    """The frame rows of a schema variant, dialogue by dialogue."""

    def __init__(
        self, rows: Dataset, settings: RequestSettings, others: Mapping[str, Service]
    ) -> None:
        self.settings = settings
        self.frames = input_columns(rows, READS).with_format("arrow")
        # All services of the split by their original names, if they are distractors; else empty.
        self.others = others
        self.schemas: dict[str, Service] = {}  # that were read so far, by name
        # The rows of each dialogue [start, end), and its services' original names.
        self.ranges: dict[str, tuple[int, int]] = {}
        services: dict[str, set[str]] = {}
        turns = []
        for place, frame_id in enumerate(rows["frame_id"]):
            turn, service = frame_id.rsplit("/", 1)
            dialogue = turn.rsplit("/", 1)[0]
            start, _ = self.ranges.get(dialogue, (place, place))
            self.ranges[dialogue] = start, place + 1
            services.setdefault(dialogue, set()).add(service)
            turns.append(turn)
        self.services = {dialogue: sorted(names) for dialogue, names in services.items()}
        # The turns that are asked about; for the state, every frame is.
        self.turns, self.count = set(turns), len(turns)
        if settings.task == "calls":
            if settings.tool_choice == "required":
                # Which turns are followed by a call is gold, and decides only which are asked about
                # where a call is demanded: no reluctance to call is counted as misreading then.
                called = rows.with_format("arrow")[:]["service_call"].is_valid().to_pylist()
                self.turns = {turn for turn, is_called in zip(turns, called) if is_called}
            self.count = len(self.turns)

    def bodies(self, dialogue: str) -> Iterator[tuple[list[Row], list[Service], Json]]:
        """The frames, the services and the body of each request about a dialogue."""
        start, end = self.ranges[dialogue]
        rows: list[Row] = self.frames[start:end].to_pylist()
        own: dict[str, Service] = {}  # by their original names
        for row in rows:
            if row["service"] not in self.schemas:
                self.schemas[row["service"]] = read_service(row["schema"])
            own[row["frame_id"].rsplit("/", 1)[1]] = self.schemas[row["service"]]
        if self.settings.task == "state":
            for row in rows:
                service = self.schemas[row["service"]]
                yield [row], [service], state_body(row, service, self.settings)
            return
        services = [own[name] for name in sorted(own)]
        if self.settings.distractors:
            services = self._with_distractors(own, dialogue)
        for turn, group in groupby(rows, key=lambda row: row["frame_id"].rsplit("/", 1)[0]):
            if turn in self.turns:
                frames = list(group)
                yield frames, services, call_body(frames[0], services, self.settings)

    def _with_distractors(self, own: Mapping[str, Service], dialogue: str) -> list[Service]:
        """A dialogue's services among others that have as many functions as there are to be."""
        # Both the choice and the order are by a hash, the same under every variant, so that neither
        # says which services are the dialogue's.

        def drawn(name: str) -> str:
            return hashlib.sha256(f"{dialogue}/{name}".encode()).hexdigest()

        offered = dict(own)
        missing = self.settings.distractors
        for name in sorted(self.others.keys() - own.keys(), key=drawn):
            if not missing:
                break
            service = self.others[name]
            offered[name] = msgspec.structs.replace(service, intents=service.intents[:missing])
            missing -= len(offered[name].intents)
        return [offered[name] for name in sorted(offered, key=drawn)]
