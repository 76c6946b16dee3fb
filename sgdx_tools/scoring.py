"""Scores of tool calls under every wording, and the words that cost the most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from sgdx_dataset import SgdxError
from sgdx_eval.headers import check_one_system
from sgdx_eval.task import Scored
from sgdx_eval.tasks.tools import NO_CALL, TITLES
from sgdx_metric.bootstrap import DIALOGUES
from sgdx_metric.call_rules import score_case
from sgdx_metric.calls import TASK_SUCCESS
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.core import Scores
from sgdx_metric.report import paired_scores, wording_differences
from sgdx_metric.robustness import RIGHT, flipped, mean_defined, variation
from sgdx_metric.units import Items
from sgdx_metric.variants import ORIGINAL
from sgdx_metric.wording_figures import one_run, over_wordings, task_success

from .data import Case, Json, Rule, ToolSet
from .elements import Outcome, rank_elements
from .folder import CASES, read_tool_set
from .predictions import (
    Prediction,
    PredictionFile,
    predictions_from_rows,
    read_predictions,
)
from .renaming import WordedTools
from .signature import data_digest, signature

# A score of a case's calls is one of these; `call_accuracy` is the headline.
METRICS = {
    "call_name_accuracy": "name",
    "call_argument_accuracy": "arguments",
    "call_accuracy": "call",
    "no_call_accuracy": "no_call",
}
HEADLINE = "call_accuracy"


@dataclass(frozen=True)
class WordingScores:
    """The scores of all cases under one wording.

    Attributes:
        outcomes: For each run, what became of each case [runs][cases].
        metrics: For each of METRICS the score of each run and case, NaN where it does not apply
            [runs, cases].
    """

    outcomes: Sequence[Sequence[Outcome]]
    metrics: Mapping[str, Floats]


def score(
    cases: str | Path | ToolSet,
    predictions: Any,
    *,
    rules: Rule | None = None,
    over: str = DIALOGUES,
) -> dict[str, Any]:
    """Score the calls that were made under each wording.

    Args:
        cases: A folder of tools, or what ``folder.read_tool_set`` made of one.
        predictions: A folder with ``WORDING.jsonl`` files, or rows ``{"id", "variant", "calls":
            [{"name", "arguments"}]}`` in the names of the wording that ``variant`` says.
        rules: How values are compared: "exact", "bfcl" or "fuzzy"; None for what the folder's
            ``source.json`` says, which is "exact" where it says nothing.
        over: What the intervals are over: "dialogues" (cases that share none are each one),
            "wordings" or "both".

    Returns:
        The content of scores.json: ``calls``, for each metric what
        ``sgdx_metric.wording_figures.over_wordings`` returns, and its ``differences``;
        ``differences``, those of the headline metric; ``elements``, the reworded names and
        descriptions by the cases that they cost; ``noise``, what changes from run to run under one
        wording; ``cases``, ``invalid``, ``predictions``, ``signature``; and ``paired``, the scores
        of every case.

    Raises:
        SgdxError: A file or row is malformed, or the rows do not fit the cases.
    """
    tool_set = cases if isinstance(cases, ToolSet) else read_tool_set(Path(cases))
    files = (
        read_predictions(Path(predictions), tool_set)
        if isinstance(predictions, str | Path)
        else predictions_from_rows(predictions, tool_set)
    )
    return scores_json(tool_set, report_scores(tool_set, files, rules, over))


def report_scores(
    tool_set: ToolSet,
    files: Mapping[str, PredictionFile],
    rules: Rule | None = None,
    over: str = DIALOGUES,
) -> Scored:
    """Score files of predictions that have been read."""
    if not tool_set.cases:
        raise SgdxError(f"{tool_set.path}: found no cases, expected {CASES}")
    check_files(tool_set, files)
    rules = rules or tool_set.source.rules
    worded = {
        name: WordedTools(tool_set.tools, tool_set.wordings[name])
        for name in dict.fromkeys([ORIGINAL, *files])
    }
    scores = {
        name: score_wording(tool_set.cases, worded[name], file, rules)
        for name, file in files.items()
    }
    items = tool_scores(tool_set.cases, scores)
    calls = _calls(items, over)
    headline = next(name for name in (HEADLINE, NO_CALL) if name in calls)
    outcomes = {name: of_wording.outcomes[0] for name, of_wording in scores.items()}
    content = {
        "calls": calls,
        "differences": calls[headline]["differences"],
        "elements": rank_elements(tool_set, worded, outcomes, rules),
        "noise": {
            name: repeat_noise(of_wording.metrics[headline])
            for name, of_wording in scores.items()
            if len(of_wording.outcomes) > 1
        },
        "cases": {
            "all": len(tool_set.cases),
            "call": sum(case.expect is not None for case in tool_set.cases),
            "no_call": sum(case.expect is None for case in tool_set.cases),
            "dialogues": len(set(_dialogues(tool_set.cases))),
        },
        "invalid": {
            name: sum(p.invalid for run in file.predictions for p in run.values())
            for name, file in files.items()
        },
        "predictions": {name: msgspec.to_builtins(file.header) for name, file in files.items()},
        "signature": signature(tool_set, files, rules, over),
    }
    return Scored(content, items, scores)


def scores_json(tool_set: ToolSet, scored: Scored) -> dict[str, Any]:
    """The content of scores.json."""
    paired = paired_scores(scored.raw, "case_id") | {"dialogue": _dialogues(tool_set.cases)}
    return scored.content | {"paired": paired}


def check_files(tool_set: ToolSet, files: Mapping[str, PredictionFile]) -> None:
    """Refuse predictions of other tools, words or conversations, or of different systems.

    Raises:
        SgdxError: They say so of themselves.
    """
    for name, file in files.items():
        _check_same_words(tool_set, name, file)
    check_one_system({name: file.header for name, file in files.items()})


def _check_same_words(tool_set: ToolSet, name: str, file: PredictionFile) -> None:
    """Raise ``SgdxError`` where predictions were made from other words, tools or conversations."""
    digest, own = data_digest(tool_set, name), file.header.data
    if own not in (None, digest):
        raise SgdxError(
            f"predictions for {name}: were made from other tools, words or conversations than those"
            f" of {tool_set.path}: found {own}, expected {digest}; run again"
        )


def score_wording(
    cases: Sequence[Case], worded: WordedTools, file: PredictionFile, rules: Rule
) -> WordingScores:
    """Score the predictions under one wording."""
    expectations = [_Expectation.of(case, worded) for case in cases]
    outcomes = [
        [expectation.outcome(run[case.id], rules) for case, expectation in zip(cases, expectations)]
        for run in file.predictions
    ]
    metrics = {
        metric: np.array(
            [[_number(getattr(outcome.score, field)) for outcome in run] for run in outcomes]
        )
        for metric, field in METRICS.items()
    }
    return WordingScores(outcomes, metrics)


@dataclass(frozen=True)
class _Expectation:
    """What is right in a case under a wording, in the form of ``score_case``."""

    calls: Sequence[Json] | None
    parameters: Mapping[str, Json]

    @classmethod
    def of(cls, case: Case, worded: WordedTools) -> _Expectation:
        calls = worded.expect(case)
        if calls is None:
            return cls(None, {})
        tools = [worded.tool(call.name) for call in case.expect or ()]
        return cls(
            [
                {"name": worded.name(c.name), "arguments": w.arguments}
                for c, w in zip(case.expect or (), calls)
            ],
            {tool.name: tool.parameters for tool in tools},
        )

    def outcome(self, prediction: Prediction, rules: Rule) -> Outcome:
        calls = [{"name": c.name, "arguments": c.arguments} for c in prediction.calls]
        return Outcome(score_case(self.calls, calls, self.parameters, rules), self.calls, calls)


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _dialogues(cases: Sequence[Case]) -> list[str]:
    """What each case is counted with: its dialogue, or itself."""
    return [f"d {case.dialogue}" if case.dialogue else f"c {case.id}" for case in cases]


def tool_scores(cases: Sequence[Case], scores: Mapping[str, WordingScores]) -> Scores:
    """The scores of all cases: means over the runs, and those of the first run beside them."""
    dialogues = _dialogues(cases)
    index = {name: i for i, name in enumerate(dict.fromkeys(dialogues))}
    dialogue = np.array([index[name] for name in dialogues], dtype=np.int64)
    ids = [case.id for case in cases]
    runs = {m: [scores[name].metrics[m] for name in scores] for m in METRICS}
    if len(index) < len(cases):
        runs[TASK_SUCCESS] = [_task_success(scores[name], dialogue) for name in scores]
    several = any(len(of_wording.outcomes) > 1 for of_wording in scores.values())
    metrics = {m: np.stack([rows.mean(axis=0) for rows in of_all]) for m, of_all in runs.items()}
    if several:
        first = {one_run(m): np.stack([rows[0] for rows in of_all]) for m, of_all in runs.items()}
        metrics |= first
    known = {m: rows for m, rows in metrics.items() if not np.isnan(rows).all()}
    services = np.array([""] * len(ids), dtype=object)
    items = Items(pa.array(ids, pa.string()), dialogue, np.arange(len(ids)), services, {})
    return Scores(list(scores), items, known)


def _task_success(scores: WordingScores, dialogue: Ints) -> Floats:
    """1 for each dialogue whose cases are all right, with or without calls [runs, cases]."""
    call, no_call = scores.metrics[HEADLINE], scores.metrics[NO_CALL]
    right = np.where(np.isnan(call), no_call, call) >= RIGHT
    return np.stack([task_success(of_run, dialogue) for of_run in right])


def _calls(scores: Scores, over: str) -> dict[str, Any]:
    """The figures of each metric that applies to any case, of the cases that it applies to."""
    calls = {}
    for metric in TITLES:
        if metric in scores.metrics:
            # Arguments have no score where the tool is wrong, and are of the same cases as calls.
            of = metric if metric in (NO_CALL, TASK_SUCCESS) else HEADLINE
            applies = ~np.isnan(scores.metrics[of]).all(axis=0)
            of_metric = scores.only(np.flatnonzero(applies))
            calls[metric] = over_wordings(of_metric, metric, over) | {
                "differences": wording_differences(of_metric, metric)
            }
    return calls


def repeat_noise(runs: Floats) -> dict[str, float | int | None]:
    """How much scores change without any rewording, over several runs under one wording.

    Args:
        runs: The scores of each run [runs, cases].

    Returns:
        ``repeats``, how many runs there are; the ``flips`` and the ``sensitivity`` over them.
    """
    return {
        "repeats": len(runs),
        "flips": mean_defined(flipped(runs)),
        "sensitivity": mean_defined(variation(runs)),
    }
