"""Prediction files of answers: one for each variant, written when all of its answers are there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import msgspec

from sgdx_dataset.io.files import write_bytes
from sgdx_eval.prediction_files import Header, finished_names, versions, write_predictions

from .answer_file import AnswerFile
from .answers import total_counts, why_unread
from .functions import MAPPING, Json
from .plan import Plan, Row, done_dialogues
from .usage import Price, Usage, usage_of

DONE = "done.json"


def header(plan: Plan, name: str) -> Header:
    """The header of a prediction file, without counts and versions."""
    config, _ = plan.names[name]
    facts = {
        "tracker": "llm",
        "host": plan.host,
        **plan.settings.facts(),
        "mapping": MAPPING,
        "services": "dialogue" if plan.settings.task == "calls" else "frame",
        "retry_unread": plan.retry_unread,
        "system_acts": False,
    }
    task = plan.settings.task
    return Header(task=task, variant=name, system=facts, **plan.data.facts(config))


def unfinished_names(plan: Plan, output: Path) -> list[str]:
    """The names without predictions in a folder, or with others than would be made."""
    finished = finished_names(output, {name: header(plan, name) for name in plan.names})
    return [name for name in plan.names if name not in finished]


def write_finished(
    plan: Plan, answers: AnswerFile, output: Path, price: Price | None = None
) -> tuple[dict[str, Json], Counter[str]]:
    """Write the predictions of every variant whose answers are all there."""
    # While answers are missing, ``done.json`` in the folder lists the dialogues that have all of
    # theirs, which is what ``--dialogues`` takes.
    done, missing = done_dialogues(plan, answers)
    written: dict[str, Json] = {}
    for name in plan.names:
        if missing[name]:
            continue
        tally = AnswerTally()
        rows = list(tally.rows(plan, name, answers))
        figures = tally.facts(price)
        stated = msgspec.structs.replace(header(plan, name), counts=figures, versions=versions())
        write_predictions(output / f"{name}.jsonl", stated, rows)
        written[name] = figures
    if +missing:
        write_bytes(output / DONE, msgspec.json.encode(done) + b"\n")
    else:
        (output / DONE).unlink(missing_ok=True)
    return written, +missing


class AnswerTally:
    """Figures about the answers of one file, summed while its rows are made."""

    def __init__(self) -> None:
        self._counts: list[Counter[str]] = []
        self._requests = self._answers = 0
        self._usage = Usage()
        self._seconds: list[float] = []
        self._reasons: Counter[str] = Counter()
        self._refusals: Counter[str] = Counter()
        self._models: Counter[str] = Counter()
        self._fingerprints: Counter[str] = Counter()
        self._dates: list[str] = []

    def rows(self, plan: Plan, name: str, answers: AnswerFile) -> Iterator[Row]:
        """The prediction rows, in the order of the frame rows."""
        for dialogue in sorted(plan.dialogues):
            for request in plan.requests_of(name, dialogue):
                answered = plan.answered(request, answers)
                if answered is not None:
                    self.add(answered.lines, answered.index, answered.reading.counts)
                    yield from answered.rows(request)

    def add(self, lines: Sequence[Json], index: int, counts: Counter[str]) -> None:
        """Count the answer to a request."""
        line = lines[index]
        body = line["body"]
        self._requests += 1
        self._answers += len(lines)
        self._counts.append(counts)
        if counts["unread"]:
            self._reasons[why_unread(counts)] += 1
        if counts["refused_requests"]:
            error = body["error"]
            self._refusals[_ascii_name(str(error.get("code") or error["refused_with"]))] += 1
        for answer_line in lines:
            self._usage += usage_of(answer_line["body"])
            # Answers to batches and of programs have no time.
            if "seconds" in answer_line:
                self._seconds.append(float(answer_line["seconds"]))
        for key, names in (("model", self._models), ("system_fingerprint", self._fingerprints)):
            if isinstance(body, Mapping) and isinstance(body.get(key), str):
                names[_ascii_name(body[key])] += 1
        self._dates.append(str(line.get("at", "")))

    def facts(self, price: Price | None) -> Json:
        """The counts for the header of the prediction file."""
        asked_again = self._answers - self._requests
        figures: Json = {
            "requests": self._requests,
            "asked_again": asked_again,
            **total_counts(self._counts),
            "unread_because": dict(self._reasons.most_common()),
            **({"refusals": dict(self._refusals.most_common(5))} if self._refusals else {}),
            "tokens": self._usage.facts(),
            "served_models": dict(self._models.most_common(5)),
            "fingerprints": dict(self._fingerprints.most_common(5)),
            "dates": [min(self._dates), max(self._dates)] if self._dates else [],
        }
        if self._seconds:
            figures["seconds_per_answer"] = round(fmean(self._seconds), 3)
        if price is not None:
            figures["price"] = msgspec.to_builtins(price)
            figures["cost"] = round(self._usage.cost(price), 6)
        return figures


def _ascii_name(text: str) -> str:
    """A name that a server gives, escaped to ASCII and cut to 200 characters."""
    return json.dumps(text)[1:-1][:200]
