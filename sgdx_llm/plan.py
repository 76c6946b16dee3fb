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
import numpy as np
import pyarrow.compute as pc
from datasets import Dataset

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import Service, read_service
from sgdx_dataset.subset import choose_dialogues
from sgdx_dataset.tracker_inputs import GOLD, input_columns
from sgdx_eval.prediction_files import prediction_row
from sgdx_eval.requested import RequestedData, frame_rows
from sgdx_metric.variants import ORIGINAL

from .answer_file import AnswerFile
from .answers import CallReading, Reading, read_answer, read_call
from .functions import Json, call_functions
from .requests import (
    READS,
    RequestSettings,
    call_body,
    custom_id,
    request_key,
    state_body,
    with_seed,
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """One request, which is about a frame, or for the task ``calls`` about a user turn."""

    custom_id: str  # ``<variant>|<frame_id>|<repeat>``, with the turn's first frame
    dialogue_id: str
    # The frame rows that the answer is for, with what a tracker may see of them.
    rows: Sequence[Row]
    # The service of the frame; for ``calls``, the services whose functions are offered.
    services: Sequence[Service]
    # The bodies to send: first the first one, and the next one if its answer is unread.
    bodies: Sequence[Json]
    keys: Sequence[str]  # the key under which the answer to each body is kept


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
    retry_unread: int = 0  # how often a request is sent again after an unread answer

    def __post_init__(self) -> None:
        if self.repeats < 1 or self.retry_unread < 0:
            raise SgdxError("--repeats: expected 1 or more, --retry-unread: expected 0 or more")
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
        return {
            config: FrameTable(
                self.data.rows(config, frame_rows), self.settings, self._all_services(config)
            )
            for config in self.configs
        }

    def _all_services(self, config: str) -> dict[str, Service]:
        """All services of the split by their original names, if they are distractors."""
        if not self.settings.distractors:
            return {}
        release, split = self.data.release, self.data.split
        originals = (service.service_name for service in release.schema(split, ORIGINAL))
        return dict(zip(originals, release.schema(split, config), strict=True))

    @cached_property
    def dialogues(self) -> list[str]:
        """The ids of the dialogues, in the order in which they are asked about."""
        table = next(iter(self.tables.values()))
        if self.data.ids is not None:
            return [name for name in self.data.ids if name in table.row_ranges]
        return list(choose_dialogues(table.services, len(table.services), seed=1))

    def requests(self) -> Iterator[Request]:
        """All requests, in order; they are made one after the other."""
        # A turn is asked about under all variants before the next turn. Requests under way at the
        # same time then begin differently, and the beginning that a turn shares with the one before
        # is in the server's cache by the time that it is asked about.
        for dialogue in self.dialogues:
            by_name = [self.requests_of(name, dialogue) for name in self.names]
            for requests in zip(*by_name, strict=True):
                yield from requests

    def requests_of(self, name: str, dialogue: str) -> Iterator[Request]:
        """The requests for the predictions called ``name`` about one dialogue."""
        config, repeat = self.names[name]
        rows = self.tables[config].rows(dialogue)
        for frames, services, body in _bodies(rows, self.tables[config], self.settings):
            attempts = range(self.retry_unread + 1)
            bodies = [with_seed(body, attempt, self.settings.provider.seed) for attempt in attempts]
            yield Request(
                custom_id(name, frames[0]["frame_id"], repeat),
                dialogue,
                frames,
                services,
                bodies,
                [
                    request_key(each_body, self.host, repeat, attempt if each_body is body else 0)
                    for attempt, each_body in zip(attempts, bodies)
                ],
            )

    def gold(self, name: str) -> dict[str, Row]:
        """The gold columns of each frame by id, for estimates and tests, never for a request."""
        config, _ = self.names[name]
        rows = self.data.rows(config, frame_rows)
        columns = ["frame_id", "service", *GOLD, "service_call"]
        table = rows.select_columns(columns).with_format("arrow")[:]
        return {row["frame_id"]: row for row in table.to_pylist()}

    def count(self) -> int:
        """How many requests there are, without making them."""
        numbers = (self.tables[config].requests for config, _ in self.names.values())
        return sum(numbers)

    def read(self, request: Request, body: Any) -> Reading | CallReading:
        """What an answer to a request says."""
        if self.settings.task == "calls":
            return read_call(body, call_functions(request.services), self.settings.text_calls)
        return read_answer(body, request.services[0], self.settings.answer == "tool")

    def is_unread(self, request: Request, body: Any) -> bool:
        """Whether an answer to a request cannot be read."""
        return bool(self.read(request, body).counts["unread"])

    def missing(self, request: Request, answers: AnswerFile) -> int | None:
        """Which body of a request is to be sent next; None if the request has its answer."""
        for attempt, key in enumerate(request.keys):
            if key not in answers:
                return attempt
            if attempt + 1 == len(request.keys):
                break
            if not self.is_unread(request, (answers.get(key) or {}).get("body")):
                break
        return None

    def answered(self, request: Request, answers: AnswerFile) -> Answered | None:
        """The first valid answer, or else the first answer; None while one is missing."""
        if self.missing(request, answers) is not None:
            return None
        lines = [line for key in request.keys if (line := answers.get(key)) is not None]
        readings = [self.read(request, line["body"]) for line in lines]
        valid = [index for index, reading in enumerate(readings) if not reading.counts["unread"]]
        index = valid[0] if valid else 0
        return Answered(lines, index, readings[index])


@dataclass(frozen=True)
class Answered:
    """The answer to a request."""

    # The lines of the file of answers, with those of answers that were unread and asked again.
    lines: Sequence[Json]
    index: int  # index of the line that counts
    reading: Reading | CallReading  # what that line says

    def rows(self, request: Request) -> list[Row]:
        """The prediction rows of the request's frames, under the request's own variant."""
        variant = request.custom_id.split("|", 1)[0]
        frames = [{**row, "variant": variant} for row in request.rows]
        if isinstance(self.reading, CallReading):
            return _call_rows(frames, self.reading)
        values = {slot: [value] for slot, value in self.reading.slot_values.items()}
        state = self.reading.active_intent, self.reading.requested_slots, values
        return [prediction_row(frame, *state) for frame in frames]


def _call_rows(frames: Sequence[Row], call: CallReading) -> list[Row]:
    """The prediction rows of a turn's frames, with the call in the frame of its service."""
    # The call of a service without a frame in the turn is put into the first frame, where it counts
    # as wrong.
    services = [frame["service"] for frame in frames]
    call_index = services.index(call.service) if call.service in services else 0
    parameters = [{"slot": s, "value": v} for s, v in sorted(call.parameters.items())]
    made = {"service": call.service, "method": call.method, "parameters": parameters}
    return [
        {
            "frame_id": frame["frame_id"],
            "variant": frame["variant"],
            "service_call": made if call.service and index == call_index else None,
        }
        for index, frame in enumerate(frames)
    ]


class FrameTable:
    """The frame rows of a schema variant, dialogue by dialogue."""

    def __init__(
        self, rows: Dataset, settings: RequestSettings, all_services: Mapping[str, Service]
    ) -> None:
        self.frames = input_columns(rows, READS).with_format("arrow")
        # Of the split by their original names, if they are distractors; else empty.
        self.all_services = all_services
        self.schemas: dict[str, Service] = {}  # that were read so far, by name
        turns = [frame_id.rsplit("/", 1) for frame_id in rows["frame_id"]]
        services: dict[str, set[str]] = {}
        for turn, service in turns:
            services.setdefault(turn.rsplit("/", 1)[0], set()).add(service)
        # By the dialogue's id, its services' original names and its rows [start, end).
        self.services = {dialogue: sorted(names) for dialogue, names in services.items()}
        ids = np.array([turn.rsplit("/", 1)[0] for turn, _ in turns])
        # A dialogue begins where its id differs from that of the row before.
        first = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]])) if len(ids) else ids
        ends = [*first[1:], len(ids)]
        self.row_ranges = {str(ids[i]): (int(i), int(end)) for i, end in zip(first, ends)}
        # Whether there is a request for each row's turn [rows], and how many there are.
        self.asked, self.requests = np.ones(len(turns), dtype=np.bool_), len(turns)
        if settings.task == "calls":
            if settings.tool_choice == "required":
                # Which turns are followed by a call is gold, and decides only which are asked about
                # where a call is demanded: no reluctance to call is counted as misreading then.
                column = rows.with_format("arrow")[:]["service_call"].combine_chunks()
                called = pc.is_valid(column).to_numpy(zero_copy_only=False)
                turns_called = {turn for (turn, _), is_called in zip(turns, called) if is_called}
                self.asked = np.array([turn in turns_called for turn, _ in turns], dtype=np.bool_)
            asked_turns = {turn for (turn, _), is_asked in zip(turns, self.asked) if is_asked}
            self.requests = len(asked_turns)

    def rows(self, dialogue: str) -> list[Row]:
        """The rows of a dialogue, in order; ``asked`` says which of them are asked about."""
        start, end = self.row_ranges[dialogue]
        rows: list[Row] = self.frames[start:end].to_pylist()
        return [{**row, "asked": bool(self.asked[start + i])} for i, row in enumerate(rows)]

    def service(self, row: Row) -> Service:
        """The service of a row, read once."""
        if row["service"] not in self.schemas:
            self.schemas[row["service"]] = read_service(row["schema"])
        return self.schemas[row["service"]]


def _bodies(
    rows: Sequence[Row], table: FrameTable, settings: RequestSettings
) -> Iterator[tuple[Sequence[Row], Sequence[Service], Json]]:
    """The frames, services and first body of each request about a dialogue's rows."""
    if settings.task == "state":
        for row in rows:
            service = table.service(row)
            yield [row], [service], state_body(row, service, settings)
        return
    by_name = {row["frame_id"].rsplit("/", 1)[1]: table.service(row) for row in rows}
    services = [by_name[name] for name in sorted(by_name)]
    if settings.distractors:
        services = _with_distractors(by_name, rows[0]["dialogue_id"], table, settings.distractors)
    for _, group in groupby(rows, key=lambda row: row["turn"]):
        frames = list(group)
        if frames[0]["asked"]:
            yield frames, services, call_body(frames[0], services, settings)


def _with_distractors(
    own: Mapping[str, Service], dialogue: str, table: FrameTable, count: int
) -> list[Service]:
    """A dialogue's services among others that have as many functions in all as there are to be."""
    # Both the choice and the order are by a hash, the same under every variant, so that neither
    # says which services are the dialogue's.

    def drawn(name: str) -> str:
        return hashlib.sha256(f"{dialogue}/{name}".encode()).hexdigest()

    offered = dict(own)
    missing = count
    for name in sorted(table.all_services.keys() - own.keys(), key=drawn):
        if not missing:
            break
        service = table.all_services[name]
        offered[name] = msgspec.structs.replace(service, intents=service.intents[:missing])
        missing -= len(offered[name].intents)
    return [offered[name] for name in sorted(offered, key=drawn)]


def done_dialogues(plan: Plan, answers: AnswerFile) -> tuple[list[str], Counter[str]]:
    """The dialogues whose requests all have an answer, and the number without one by name."""
    done, missing = [], Counter[str]()
    for dialogue in plan.dialogues:
        before = missing.total()
        for name in plan.names:
            for request in plan.requests_of(name, dialogue):
                missing[name] += int(plan.missing(request, answers) is not None)
        if missing.total() == before:
            done.append(dialogue)
    return done, missing
