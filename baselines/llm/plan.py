"""Which requests a run has, in which order, and what their answers say.

All wordings of a dialogue come before the next dialogue, so a run that is stopped has asked about
whole dialogues under all of them. Dialogues come in the order of ``python -m sgdx_dataset subset``,
in which the first ones stand for the whole split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow.compute as pc
from datasets import Dataset

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import Service, read_service
from sgdx_dataset.subset import choose_dialogues, read_dialogue_ids

from ..data.frames import GOLD, frame_rows, input_columns
from ..data.prediction_files import prediction_row
from ..data.requested import RequestedData
from .answer_file import AnswerFile
from .answers import CallReading, Reading, read_answer, read_call
from .functions import Json, call_functions
from .requests import (
    READS,
    Settings,
    call_body,
    custom_id,
    request_key,
    state_body,
    with_seed,
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """One request, which is about a frame, or for the task ``calls`` about a user turn.

    Attributes:
        custom_id: ``<variant>|<frame_id>|<repeat>``, with the turn's first frame.
        dialogue_id: The dialogue that it is about.
        rows: The frame rows that the answer is for, with what a tracker may see of them.
        services: The service of the frame; for ``calls``, all services of the dialogue.
        bodies: What is sent: first of all the first one, and each further one where the answer to
            the one before is invalid.
        keys: What the answer to each body is kept under.
    """

    custom_id: str
    dialogue_id: str
    rows: Sequence[Row]
    services: Sequence[Service]
    bodies: Sequence[Json]
    keys: Sequence[str]


@dataclass(frozen=True)
class Plan:
    """What a run asks about.

    Attributes:
        data: Where the dialogues come from.
        configs: The schema variants.
        settings: What is asked, and how.
        host: Who is asked, without credentials.
        repeats: How often everything is asked; with more than 1 there is one schema variant, and
            the predictions are called ``r1``, ``r2``, and so on.
        retry_invalid: How often a request is sent again where its answer is invalid.
    """

    data: RequestedData
    configs: Sequence[str]
    settings: Settings
    host: str
    repeats: int = 1
    retry_invalid: int = 0

    def __post_init__(self) -> None:
        if self.repeats < 1 or self.retry_invalid < 0:
            raise SgdxError("--repeats: expected 1 or more, --retry-invalid: expected 0 or more")
        if self.repeats > 1 and len(self.configs) != 1:
            raise SgdxError(
                f"--repeats {self.repeats}: found {len(self.configs)} wordings, expected one, as in"
                " --config original"
            )

    @cached_property
    def names(self) -> dict[str, tuple[str, int]]:
        """The schema variant and the number of the repeat, by the name of the predictions."""
        if self.repeats > 1:
            return {f"r{i}": (self.configs[0], i) for i in range(1, self.repeats + 1)}
        return {config: (config, 1) for config in self.configs}

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The frame rows of each schema variant."""
        return {
            config: Table.of(self.data.rows(config, frame_rows), self.settings)
            for config in self.configs
        }

    @cached_property
    def dialogues(self) -> list[str]:
        """The ids of the dialogues, in the order in which they are asked about."""
        table = next(iter(self.tables.values()))
        if self.data.dialogues is not None:
            return [one for one in read_dialogue_ids(self.data.dialogues) if one in table.places]
        return list(choose_dialogues(table.services, len(table.services), seed=1))

    def requests(self) -> Iterator[Request]:
        """All requests, in order; they are made one after the other."""
        for dialogue in self.dialogues:
            for name in self.names:
                yield from self.requests_of(name, dialogue)

    def requests_of(self, name: str, dialogue: str) -> Iterator[Request]:
        """The requests for the predictions called ``name`` about one dialogue."""
        config, repeat = self.names[name]
        rows = self.tables[config].rows(dialogue)
        for frames, services, body in _bodies(rows, self.tables[config], self.settings):
            bodies = [with_seed(body, attempt) for attempt in range(self.retry_invalid + 1)]
            yield Request(
                custom_id(name, frames[0]["frame_id"], repeat),
                dialogue,
                frames,
                services,
                bodies,
                [request_key(one, self.host, repeat) for one in bodies],
            )

    def gold(self, name: str) -> dict[str, Row]:
        """What is right in each frame, by its id: for estimates and tests, never for a request."""
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
            return read_call(body, call_functions(request.services))
        return read_answer(body, request.services[0], self.settings.answer == "tool")

    def missing(self, request: Request, answers: AnswerFile) -> int | None:
        """Which body of a request is to be sent next; None if the request has its answer."""
        for attempt, key in enumerate(request.keys):
            if key not in answers:
                return attempt
            if attempt + 1 == len(request.keys):
                break
            if not self.read(request, (answers.get(key) or {}).get("body")).counts["invalid"]:
                break
        return None

    def answered(self, request: Request, answers: AnswerFile) -> Answered | None:
        """The answer that counts: the first that is valid, or else the first; None without one."""
        if self.missing(request, answers) is not None:
            return None
        lines = [line for key in request.keys if (line := answers.get(key)) is not None]
        readings = [self.read(request, line["body"]) for line in lines]
        valid = [place for place, one in enumerate(readings) if not one.counts["invalid"]]
        place = valid[0] if valid else 0
        return Answered(lines, place, readings[place])


@dataclass(frozen=True)
class Answered:
    """The answer to a request.

    Attributes:
        lines: The lines of the file of answers, with those of answers that were invalid and asked
            again.
        place: Which of them counts.
        reading: What that one says.
    """

    lines: Sequence[Json]
    place: int
    reading: Reading | CallReading

    def rows(self, request: Request) -> list[Row]:
        """The prediction rows of the request's frames, under the request's own variant."""
        variant = request.custom_id.split("|", 1)[0]
        frames = [{**row, "variant": variant} for row in request.rows]
        if isinstance(self.reading, CallReading):
            return _call_rows(frames, self.reading)
        values = {slot: [value] for slot, value in self.reading.slot_values.items()}
        found = self.reading.active_intent, self.reading.requested_slots, values
        return [prediction_row(frame, *found) for frame in frames]


def _call_rows(frames: Sequence[Row], call: CallReading) -> list[Row]:
    """The prediction rows of a turn's frames: the call is that of its service's frame.

    The call of a service that has no frame in the turn is with the first frame, where it is wrong.
    """
    services = [frame["service"] for frame in frames]
    place = services.index(call.service) if call.service in services else 0
    parameters = [{"slot": s, "value": v} for s, v in sorted(call.parameters.items())]
    made = {"service": call.service, "method": call.method, "parameters": parameters}
    return [
        {
            "frame_id": frame["frame_id"],
            "variant": frame["variant"],
            "service_call": made if call.service and index == place else None,
        }
        for index, frame in enumerate(frames)
    ]


@dataclass(frozen=True)
class Table:
    """The frame rows of a schema variant, dialogue by dialogue.

    Attributes:
        frames: The rows, with the columns that a tracker may see.
        places: The first row of each dialogue and the one after its last, by the dialogue's id.
        services: The original names of each dialogue's services, by the dialogue's id.
        requests: How many requests there are for all rows.
        asked: Whether there is a request for each row's turn [rows].
        schemas: The services that were read so far, by name.
    """

    frames: Dataset
    places: Mapping[str, tuple[int, int]]
    services: Mapping[str, Sequence[str]]
    requests: int
    asked: np.ndarray[Any, np.dtype[np.bool_]]
    schemas: dict[str, Service]

    @classmethod
    def of(cls, rows: Dataset, settings: Settings) -> Table:
        """A table of the rows of ``data.requested.RequestedData.rows``."""
        turns = [frame_id.rsplit("/", 1) for frame_id in rows["frame_id"]]
        services: dict[str, set[str]] = {}
        for turn, service in turns:
            services.setdefault(turn.rsplit("/", 1)[0], set()).add(service)
        ids = np.array([turn.rsplit("/", 1)[0] for turn, _ in turns])
        first = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]])) if len(ids) else ids
        ends = [*first[1:], len(ids)]
        places = {str(ids[i]): (int(i), int(end)) for i, end in zip(first, ends)}
        asked = np.ones(len(turns), dtype=np.bool_)
        count = len(turns)
        if settings.task == "calls":
            if settings.tool_choice == "required":
                asked = _turns_with_calls(rows, [turn for turn, _ in turns])
            count = len({turn for (turn, _), one in zip(turns, asked) if one})
        return cls(
            input_columns(rows, READS).with_format("arrow"),
            places,
            {dialogue: sorted(names) for dialogue, names in services.items()},
            count,
            asked,
            {},
        )

    def rows(self, dialogue: str) -> list[Row]:
        """The rows of a dialogue, in order; ``asked`` says which of them are asked about."""
        start, end = self.places[dialogue]
        found: list[Row] = self.frames[start:end].to_pylist()
        return [{**row, "asked": bool(self.asked[start + i])} for i, row in enumerate(found)]

    def service(self, row: Row) -> Service:
        """The service of a row, read once."""
        if row["service"] not in self.schemas:
            self.schemas[row["service"]] = read_service(row["schema"])
        return self.schemas[row["service"]]


def _turns_with_calls(rows: Dataset, turns: Sequence[str]) -> np.ndarray[Any, Any]:
    """Whether the system makes a call after each row's turn [rows].

    This is gold, and only decides which turns are asked about where a call is demanded: the score
    is over these turns alone, since a model that has to call cannot decide not to.
    """
    column = rows.with_format("arrow")[:]["service_call"].combine_chunks()
    called = pc.is_valid(column).to_numpy(zero_copy_only=False)
    wanted = {turn for turn, one in zip(turns, called) if one}
    return np.array([turn in wanted for turn in turns], dtype=np.bool_)


def _bodies(
    rows: Sequence[Row], table: Table, settings: Settings
) -> Iterator[tuple[Sequence[Row], Sequence[Service], Json]]:
    """The frames, services and first body of each request about a dialogue's rows."""
    if settings.task == "state":
        for row in rows:
            service = table.service(row)
            yield [row], [service], state_body(row, service, settings)
        return
    by_name = {row["frame_id"].rsplit("/", 1)[1]: table.service(row) for row in rows}
    services = [by_name[name] for name in sorted(by_name)]
    for _, group in groupby(rows, key=lambda row: row["turn"]):
        frames = list(group)
        if frames[0]["asked"]:
            yield frames, services, call_body(frames[0], services, settings)


def done_dialogues(plan: Plan, answers: AnswerFile) -> tuple[list[str], Counter[str]]:
    """The dialogues whose requests all have an answer, and how many requests have none, by name."""
    done, lacking = [], Counter[str]()
    for dialogue in plan.dialogues:
        before = lacking.total()
        for name in plan.names:
            for request in plan.requests_of(name, dialogue):
                lacking[name] += int(plan.missing(request, answers) is not None)
        if lacking.total() == before:
            done.append(dialogue)
    return done, lacking
