"""Prediction files of answers: one for each variant, written when all of its answers are there."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sgdx_dataset.io.files import remove, write_bytes
from sgdx_eval.predictions import Header, versions, write_predictions
from sgdx_metric.signature import dialogues_mark

from .answer_file import AnswerFile
from .answers import COUNTS, why_unread
from .functions import MAPPING, Json
from .plan import Plan
from .providers import host_of
from .usage import KINDS, Price, tokens_of

DONE = "done.json"
# The reasons of ``why_unread`` in words.
_REASONS = {
    "truncated": "cut off at the limit of tokens",
    "refused": "refused by the model or a filter",
    "refused_requests": "refused by the server",
    "empty": "empty",
    "wrong_names": "calls of another function",
    "unreadable": "without what was asked for",
}


def header(plan: Plan, name: str) -> Header:
    """The header of a prediction file, without counts and versions."""
    config, _ = plan.names[name]
    facts = {
        "tracker": "llm",
        "host": host_of(plan.host),
        **plan.settings.facts(),
        "mapping": MAPPING,
        "services": "frame",
        "system_acts": False,
    }
    data = plan.data.facts(config)
    if "dialogues" in data:
        data["dialogues"] = dialogues_mark(plan.tables[config].ranges)
    return Header(task="state", variant=name, system=facts, **data)


def write_finished(
    plan: Plan, answers: AnswerFile, output: Path, price: Price | None = None
) -> Counter[str]:
    """Write the predictions of every variant whose answers are all there, and say what they are.

    Returns how many answers the others lack, by their names. While there are some, ``done.json``
    lists the dialogues that have all of their answers, which is what ``--dialogues`` takes.
    """
    done, missing = [], Counter[str]()
    for dialogue in plan.dialogues:
        before = missing.total()
        for name in plan.names:
            lacking = (r.key not in answers for r in plan.requests_of(name, dialogue))
            missing[name] += sum(lacking)
        if missing.total() == before:
            done.append(dialogue)
    requests, reasons = 0, Counter[str]()
    for name in plan.names:
        if missing[name]:
            continue
        tally, rows = AnswerTally(), []
        for dialogue in sorted(plan.dialogues):
            for request in plan.requests_of(name, dialogue):
                line = answers.get(request.key) or {}
                predicted, counts = plan.read(request, line.get("body"))
                tally.add(line, counts)
                rows.append(predicted)
        figures = tally.facts(price)
        stated = msgspec.structs.replace(header(plan, name), counts=figures, versions=versions())
        write_predictions(output / f"{name}.jsonl", stated, rows)
        requests += figures["requests"]
        reasons.update(figures["unread_because"])
        print(prediction_line(name, figures), file=sys.stderr)
        print(output / f"{name}.jsonl")
    if +missing:
        write_bytes(output / DONE, msgspec.json.encode(done) + b"\n")
        return +missing
    remove(output / DONE)
    said = f"done: all {requests} answers could be read"
    if unread := reasons.total():
        parts = ", ".join(f"{_REASONS[why]} {number}" for why, number in reasons.most_common())
        said = (
            f"done, WARNING: {unread} of {requests} answers ({100 * unread / requests:.1f} %) "
            f"could not be read and count as the empty state: {parts}"
        )
        said += "; --set max_tokens=N gives them more room" if reasons["truncated"] else ""
    print(said, file=sys.stderr)
    return missing


class AnswerTally:
    """Figures about the answers of one file."""

    def __init__(self) -> None:
        self.requests = 0
        self.counts, self.tokens = Counter[str](), Counter[str]()
        self.reasons, self.refusals = Counter[str](), Counter[str]()  # why answers are unread
        self.models, self.fingerprints = Counter[str](), Counter[str]()
        # Of single answers; those that report no tokens, and to batches and of programs, have none.
        self.spent: dict[str, list[float]] = {"tokens": [], "seconds": []}
        self.dates: list[str] = []

    def add(self, line: Json, counts: Counter[str]) -> None:
        """Count a line of the file of answers, and what was counted in reading it."""
        body = line["body"]
        self.requests += 1
        self.counts.update(counts)
        tokens = tokens_of(body)
        self.tokens.update(tokens)
        if tokens["in"] or tokens["out"]:
            self.spent["tokens"].append(tokens["in"] + tokens["out"])
        self.dates.append(str(line.get("at", "")))
        if counts["unread"]:
            self.reasons[why_unread(counts)] += 1
        if counts["refused_requests"]:
            error = body["error"]
            self.refusals[_ascii_name(str(error.get("code") or error["refused_with"]))] += 1
        if "seconds" in line:
            self.spent["seconds"].append(float(line["seconds"]))
        for key, names in (("model", self.models), ("system_fingerprint", self.fingerprints)):
            if isinstance(body, Mapping) and isinstance(body.get(key), str):
                names[_ascii_name(body[key])] += 1

    def facts(self, price: Price | None) -> Json:
        """The counts for the header of the prediction file."""
        figures: Json = {
            "requests": self.requests,
            **{name: self.counts[name] for name in COUNTS},
            "unread_because": dict(self.reasons.most_common()),
            **({"refusals": dict(self.refusals.most_common(5))} if self.refusals else {}),
            "tokens": {kind: self.tokens[kind] for kind in KINDS},
            "served_models": dict(self.models.most_common(5)),
            "fingerprints": dict(self.fingerprints.most_common(5)),
            "dates": [min(self.dates), max(self.dates)] if self.dates else [],
        }
        figures["per_answer"] = {
            kind: dict(zip(("median", "p95"), np.quantile(of, [0.5, 0.95]).round(3).tolist()))
            for kind, of in self.spent.items()
            if of
        }
        if price is not None:
            figures["price"] = msgspec.to_builtins(price)
            figures["cost"] = round(price.cost(self.tokens), 6)
        return figures


def _ascii_name(text: str) -> str:
    """A name that a server gives, escaped to ASCII and cut to 200 characters."""
    return json.dumps(text)[1:-1][:200]


def format_counts(counts: Mapping[str, Any]) -> str:
    """The counts that are not 0, in one line."""
    return ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in counts.items() if n)


def prediction_line(name: str, figures: Json) -> str:
    """One line about a prediction file, from the counts in its header."""
    numbers = {key: value for key, value in figures.items() if isinstance(value, int)}
    line = f"{name}: {format_counts(numbers)}"
    if figures["tokens"]["in"]:
        line += f"; tokens {figures['tokens']['in']} in, {figures['tokens']['out']} out"
    if "cost" in figures:
        line += f"; cost {figures['cost']:.4f}"
    return line
