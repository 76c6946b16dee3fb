"""Calls that were made: in a model's answer, and in files, one for each variant in a folder.

A line is ``{"id": CASE, "variant": VARIANT, "calls": [{"name", "arguments"}]}``, in the variant's
names; ``calls`` is ``[]`` where none was made. ``repeat`` counts runs from 1 where a case was asked
several times; ``before`` has the calls of earlier steps. ``unread`` is true where an answer could
not be read, and ``said`` is how it begins. The first line may be a header.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import check_value, parse_json
from sgdx_eval.predictions import NO_HEADER, Header, numbered, read_prediction_lines
from sgdx_llm.answers import calls_said
from sgdx_llm.calls import answer_text, chat_completion, has_text, listed_calls
from sgdx_llm.messages import decode_arguments

from .data import Json, Project
from .skills import skill_called

ANSWERS = "answers.jsonl"  # what a run keeps beside its predictions
_LONGEST = 300  # characters of an answer that cannot be read


class MadeCall(msgspec.Struct, frozen=True):
    """A call that was made."""

    # The tool's name under the variant; any text.
    name: str
    # What is no object is wrong.
    arguments: Any = {}


class Prediction(msgspec.Struct, frozen=True, omit_defaults=True):
    """The calls that were made in a case under a variant."""

    # The case's id.
    id: str
    # The variant's name.
    variant: str
    # In any order.
    calls: tuple[MadeCall, ...]
    # Which run it is of, from 1.
    repeat: int = 1
    # Whether the answer could not be read; it counts as wrong, whatever was expected.
    unread: bool = False
    # How an unread answer begins.
    said: str = ""
    # The calls of earlier steps, in order, where the case has several.
    before: tuple[MadeCall, ...] = ()


class PredictionFile(NamedTuple):
    """The predictions under one variant."""

    header: Header
    # For each run, the prediction of each case by its id.
    predictions: Sequence[Mapping[str, Prediction]]


def read_predictions(folder: Path, project: Project) -> dict[str, PredictionFile]:
    """Read the file of each variant that has one in a folder; none may lack or repeat a case."""
    if not folder.is_dir():
        raise SgdxError(f"{folder}: found no folder, expected one with VARIANT.jsonl")
    paths = {path.stem: path for path in sorted(folder.glob("*.jsonl")) if path.name != ANSWERS}
    if unknown := sorted(paths.keys() - project.variants):
        names = ", ".join(project.variants)
        raise SgdxError(f"{paths[unknown[0]]}: no such variant in {project.path}: it has {names}")
    if not paths:
        raise SgdxError(
            f"{folder}: found no predictions, expected {next(iter(project.variants))}.jsonl"
        )
    return {n: read_prediction_file(paths[n], project) for n in project.variants if n in paths}


def read_prediction_file(path: Path, project: Project) -> PredictionFile:
    """Read the predictions under one variant, whose name the file has."""
    predictions = []
    lines, header = read_prediction_lines(path, variant=path.stem)
    for number, line in numbered(lines):
        where = f"{path}:{number}"
        prediction = parse_json(line, Prediction, where, "a prediction")
        arguments = [call.arguments for call in (*prediction.before, *prediction.calls)]
        check_value(arguments, f"{where}: case {prediction.id}")
        if prediction.variant != path.stem:
            raise SgdxError(f"{where}: variant is {prediction.variant!r}, expected {path.stem!r}")
        predictions.append((where, prediction))
    return PredictionFile(header, by_run(predictions, project, str(path)))


def predictions_from_rows(rows: Iterable[Any], project: Project) -> dict[str, PredictionFile]:
    """Predictions of several variants from rows, such as dicts."""
    predictions: dict[str, list[tuple[str, Prediction]]] = {}
    for number, row in enumerate(rows, 1):
        where = f"predictions: row {number}"
        try:
            prediction = msgspec.convert(row, Prediction, from_attributes=True)
            check_value([call.arguments for call in (*prediction.before, *prediction.calls)])
        except ValueError as error:
            raise SgdxError(f"{where}: {error}") from None
        if prediction.variant not in project.variants:
            raise SgdxError(f"{where}: found no variant {prediction.variant!r} in {project.path}")
        predictions.setdefault(prediction.variant, []).append((where, prediction))
    if not predictions:
        raise SgdxError("predictions: found no rows, expected one for each case")
    return {
        name: PredictionFile(
            NO_HEADER, by_run(predictions[name], project, f"predictions for {name}")
        )
        for name in project.variants
        if name in predictions
    }


def by_run(
    predictions: Iterable[tuple[str, Prediction]], project: Project, whose: str
) -> list[dict[str, Prediction]]:
    """The predictions of each run by case, of those that errors name by where each stands."""
    ids = {case.id for case in project.cases}
    others = {case.id for case in project.all_cases} - ids
    runs: dict[int, dict[str, Prediction]] = {}
    for where, prediction in predictions:
        if prediction.id in others:
            continue
        if prediction.id not in ids:
            raise SgdxError(f"{where}: found case {prediction.id!r}, which is not in the cases")
        run = runs.setdefault(prediction.repeat, {})
        if prediction.id in run:
            raise SgdxError(f"{where}: found case {prediction.id!r} twice, expected it once")
        if project.source.form == "skills":  # whatever else a call says is not looked at
            calls = tuple(
                MadeCall(skill_called(call.name, call.arguments)) for call in prediction.calls
            )
            prediction = msgspec.structs.replace(prediction, calls=calls)
        run[prediction.id] = prediction
    if sorted(runs) != list(range(1, len(runs) + 1)) or not runs:
        raise SgdxError(f"{whose}: found the repeats {sorted(runs)}, expected 1, 2, and so on")
    for repeat, run in sorted(runs.items()):
        if len(run) < len(ids):
            missing = ids - run.keys()
            raise SgdxError(
                f"{whose}: {len(missing)} of {len(ids)} cases of repeat {repeat} are missing, the "
                f"first is {min(missing)}; --limit takes fewer"
            )
    return [runs[repeat] for repeat in sorted(runs)]


def read_calls(
    body: Any, text_calls: bool = False, tools: Sequence[Json] = ()
) -> tuple[tuple[MadeCall, ...], Counter[str]]:
    """Read an answer in any form that ``sgdx_llm.calls`` knows, or ``{"error": ...}``.

    Returns its calls, none where it is text or cannot be read, and how often each occurred:
    ``unread``, the answer cannot be read; ``truncated``, it reached the limit of tokens;
    ``refused`` by the server, a filter or the model; ``text_calls``, it is a text that looks like
    calls; ``from_text``, the calls were read from its text. Those are read only with
    ``text_calls``, with values of the types that the parameters of ``tools`` have, as they stand in
    the request. What looks like a call, and cannot be read, makes the whole answer unread.
    """
    counts: Counter[str] = Counter()
    calls, functions = [], [tool["function"] for tool in tools]
    try:
        completion = chat_completion(body)
        if completion.get("error"):
            counts["refused"] += 1
            raise ValueError("an error in place of an answer")
        choice = completion["choices"][0]
        message, end = choice["message"], choice.get("finish_reason")
        counts["truncated"] += int(end == "length")
        counts["refused"] += int(end == "content_filter" or bool(message.get("refusal")))
        if end in ("length", "content_filter"):  # where more may have come, a call too
            raise ValueError("the answer was cut off")
        said = listed_calls(message) or calls_said(message, counts, text_calls, functions)
        for name, arguments in said:
            if not isinstance(name, str):
                raise ValueError("no call")
            check_value(name)
            calls.append(MadeCall(name, decode_arguments(arguments)))
        is_list = isinstance(body.get("calls"), list)  # of a program, which may make none
        if not (calls or counts["refused"] or has_text(message) or is_list):
            raise ValueError("neither text nor a call")
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        counts["unread"] += 1
        calls = []
    return tuple(calls), +counts


def beginning(body: Any) -> str:
    """How an answer begins that cannot be read: its text, or the whole of it as JSON."""
    try:
        message = chat_completion(body)["choices"][0]["message"]
        shown = answer_text(message) if has_text(message) and not listed_calls(message) else ""
    except (TypeError, LookupError, AttributeError):
        message, shown = body, ""
    text = shown.strip() or json.dumps(message)
    return text[:_LONGEST].encode(errors="replace").decode()
