"""Scores of tool calls under every variant, and the words that cost the most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from sgdx_dataset import SgdxError
from sgdx_eval.predictions import check_one_system
from sgdx_eval.tasks.tools import CALL, NO_CALL, RIGHT, TASK_SUCCESS, TOOL_METRICS
from sgdx_llm.estimate import token_counter
from sgdx_metric.call_rules import CaseScore, score_case
from sgdx_metric.columns import Bools, Floats
from sgdx_metric.figures import figures, one_run, task_success
from sgdx_metric.result import Result
from sgdx_metric.statistics import (
    RESAMPLES,
    SEED,
    Sample,
    drop,
    intervals,
    mean_defined,
    variation,
)
from sgdx_metric.units import Items, Scores
from sgdx_metric.variants import ORIGINAL, floor_of
from sgdx_metric.version import __version__

from .data import CROWD, WITHOUT, Case, Project, Rule, digest
from .elements import Outcome, changed_elements, confusion, rank_elements
from .json_schema import Element
from .predictions import PredictionFile, predictions_from_rows, read_predictions
from .renaming import WordedTools, worded_tools
from .steps import came_first, split
from .values import as_expected, fault

# The scores of a case's calls, by what figures call them.
FIELDS = {"tool": "name", "arguments": "arguments", CALL: "call", NO_CALL: "no_call"}
Outcomes = Sequence[Sequence[Outcome]]  # [runs][cases]
_NOT_ANSWERED = CaseScore(name=0.0, arguments=None, call=0.0, no_call=None)
_NO_CALL_NOT_ANSWERED = CaseScore(name=None, arguments=None, call=None, no_call=0.0)


class Scored(NamedTuple):
    """What became of all cases."""

    # What scores.json holds, and the scores of single cases.
    result: Result
    items: Scores
    # By variant the tools, and what became of each case in the first run.
    worded: Mapping[str, WordedTools]
    outcomes: Mapping[str, Sequence[Outcome]]
    # By variant whether each case is right in each run [runs, cases].
    is_right: Mapping[str, Bools]
    # How values were compared.
    rules: Rule


def score(
    cases: str | Path | Project,
    predictions: Any,
    *,
    rules: Rule | None = None,
) -> Result:
    """Score the calls that were made under each variant.

    Args:
        cases: A folder of tools or a file ``sgdx.yaml``, or what ``project.load`` made of one.
        predictions: A folder with ``VARIANT.jsonl`` files, or rows ``{"id", "variant", "calls":
            [{"name", "arguments"}]}`` in the names of the variant that ``variant`` says.
        rules: How values are compared: "exact" or "fuzzy"; None for what the folder's
            ``source.json`` says, which is "exact" where it says nothing.

    Returns:
        A ``Result``: ``result["right_reworded"]`` is the share of cases that are right under other
        words. A metric is ``right`` of all cases, ``call`` where calls are expected and
        ``no_call`` where none is; ``tool``, ``arguments`` and ``task``. Its ``counts`` have
        ``elements``, the reworded names and descriptions by the cases that they cost, and of how
        many that were ``looked_at``; ``confusion``, which tool was called in place of which, and
        how often under each variant; ``noise``, of a case that was asked several times, what
        changes from run to run under one variant: ``pass^k`` is the share of cases that are right
        in all runs, ``flaky`` of those that are right in some, ``broken`` of those that are right
        in all under the original words and in none under these; ``spent``, by variant the tokens
        and seconds of a request with its answer; ``gone``, the cases that cannot be right under
        another version's tools, and why, or ``left_out`` where they are left out; ``lost_tools``,
        of how many cases all are lost; ``earned``, what each part earns that was left out;
        ``neighbours``, how many calls each one of a crowd took; ``first``, of cases with several
        steps, which tool was called before the expected ones, and whether any text says so;
        ``cases``; ``unread``; and ``valid``, by variant the share of calls that their tool's schema
        allows.

    Raises:
        SgdxError: A file or row is malformed, or the rows do not fit the cases.
    """
    from .project import load

    project = cases if isinstance(cases, Project) else load(Path(cases))
    files = (
        read_predictions(Path(predictions), project)
        if isinstance(predictions, str | Path)
        else predictions_from_rows(predictions, project)
    )
    return score_files(project, files, rules).result


def score_files(
    project: Project, files: Mapping[str, PredictionFile], rules: Rule | None = None
) -> Scored:
    """Score predictions that were read or made."""
    for name, file in files.items():  # of other tools or words, or of different systems
        shown, own = project.digest(name), file.header.data
        if own not in (None, shown):
            raise SgdxError(
                f"predictions for {name}: were made from other tools, words or conversations than "
                f"those of {project.path}: found {own}, expected {shown}; run again"
            )
    check_one_system({name: file.header for name, file in files.items()})
    rules = rules or project.source.rules
    worded = worded_tools(project, dict.fromkeys([ORIGINAL, *files]))
    outcomes = {
        name: score_variant(project.cases, worded[name], file, rules, project.gone.get(name, {}))
        for name, file in files.items()
    }
    runs, scores = _scores(project.cases, outcomes)
    first_runs = {name: of_variant[0] for name, of_variant in outcomes.items()}
    counts = _counts(project, files, worded, first_runs, scores, rules)
    is_right = {name: rows == 1 for name, rows in zip(files, runs[RIGHT])}
    counts["noise"] = {
        name: _noise(is_right[name], is_right.get(ORIGINAL))
        | {"sensitivity": mean_defined(variation(of_variant))}
        for name, of_variant in zip(files, runs[RIGHT])
        if len(of_variant) > 1
    }
    result = Result(
        task="tools",
        signature=_signature(project, files, rules),
        figures=figures(scores, TOOL_METRICS),
        systems={name: msgspec.to_builtins(file.header) for name, file in files.items()},
        counts=counts,
    )
    return Scored(result, scores, worded, first_runs, is_right, rules)


def _counts(
    project: Project,
    files: Mapping[str, PredictionFile],
    worded: Mapping[str, WordedTools],
    outcomes: Mapping[str, Sequence[Outcome]],
    scores: Scores,
    rules: Rule,
) -> dict[str, Any]:
    """What scores.json says beside figures; what there is none of is left out."""
    cases = project.cases
    of_words = {name: of for name, of in outcomes.items() if not floor_of(name)}
    elements, looked_at = rank_elements(project, worded, of_words, rules)
    unreviewed = sum(case.unreviewed for case in cases)
    perhaps = {
        "left_out": dict(project.left_out),
        "gone": {
            case: f"{name}: {why}"
            for name in files
            for case, why in project.gone.get(name, {}).items()
        },
        "lost_tools": _lost_tools(cases, of_words),
        "earned": _earned(project, worded, scores),
        "neighbours": _neighbours(project, worded, outcomes),
        "first": came_first(project, worded, outcomes),
    }
    return {
        "elements": elements,
        "looked_at": looked_at,
        "confusion": confusion(cases, worded, outcomes, project.source),
        "spent": {
            name: spent
            for name, file in files.items()
            if (spent := file.header.counts.get("per_answer"))
        },
        "cases": {
            "all": len(cases),
            "call": sum(case.expect is not None for case in cases),
            "no_call": sum(case.expect is None for case in cases),
            "dialogues": len({case.cluster for case in cases}),
            **({"unreviewed": unreviewed} if unreviewed else {}),
        },
        **{key: value for key, value in perhaps.items() if value},
        "unread": {
            name: sum(p.unread for run in file.predictions for p in run.values())
            for name, file in files.items()
        },
        "valid": {name: _valid(worded[name], cases, files[name]) for name in files},
    }


def score_variant(
    cases: Sequence[Case],
    worded: WordedTools,
    file: PredictionFile,
    rules: Rule,
    gone: Mapping[str, str],
) -> Outcomes:
    """What becomes of each case in each run under one variant [runs][cases].

    Cases that are gone cannot be right any more, and are wrong, with why.
    """
    outcomes: list[list[Outcome]] = [[] for _ in file.predictions]
    for case in cases:
        calls = worded.expect(case)
        expected = None if calls is None else [msgspec.structs.asdict(call) for call in calls]
        if case.id in gone:
            for run, of_run in zip(file.predictions, outcomes):
                made = [msgspec.structs.asdict(call) for call in run[case.id].calls]
                why = f"it cannot be right any more: {gone[case.id]}"
                of_run.append(Outcome(_NOT_ANSWERED, expected, made, why))
            continue
        tools, ids = [worded.tool(call.name) for call in case.expect or ()], worded.ids(case)
        parameters = {tool.name: tool.parameters for tool in tools}
        how = parameters, rules, case.extra == "allow"
        for run, of_run in zip(file.predictions, outcomes):
            prediction = run[case.id]
            before, last = (
                [msgspec.structs.asdict(call) for call in calls]
                for calls in (prediction.before, prediction.calls)
            )
            made, first = split(expected, before, last, *how)
            judged = [c for c in made if ids.get(c["name"]) in case.forbid] if case.forbid else made
            score = score_case(expected, judged, *how)
            if prediction.unread:  # what was not answered is wrong, also where no call is right
                score = _NOT_ANSWERED if expected else _NO_CALL_NOT_ANSWERED
                of_run.append(Outcome(score, expected, made, prediction.said, first))
                continue
            of_run.append(Outcome(score, expected, made, first=first))
    return outcomes


def _lost_tools(cases: Sequence[Case], outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, int]:
    """The tools of which two cases or more are right at first, and none under some other words."""
    right, kept = dict[str, int](), dict[str, set[str]]()
    others = [name for name in outcomes if name != ORIGINAL]
    for i, case in enumerate(cases if ORIGINAL in outcomes else ()):
        for tool in (
            {call.name for call in case.expect or ()} if outcomes[ORIGINAL][i].is_right else ()
        ):
            right[tool] = right.get(tool, 0) + 1
            kept.setdefault(tool, set()).update(n for n in others if outcomes[n][i].is_right)
    return {tool: n for tool, n in right.items() if n > 1 and len(kept[tool]) < len(others)}


# A part whose loss is surely at most so many points can go, where no gate says another limit.
_LIMIT = 3.0


def _earned(
    project: Project, worded: Mapping[str, WordedTools], scores: Scores
) -> list[dict[str, Any]]:
    """What each part earns that a variant leaves out: the loss, the least first.

    The intervals hold for all of them at once. Each part has the `tokens` that it adds to a request
    that has its tool, and `is`: it "can go", "earns", or it is "unclear".
    """
    names = [n for n in scores.variants if project.variants[n].made_by.startswith(WITHOUT)]
    if ORIGINAL not in scores.variants or not names:
        return []
    count = token_counter()[0]
    right = dict(zip(scores.variants, scores.metrics[RIGHT]))
    limit = _LIMIT if project.gate.max_drop is None else project.gate.max_drop
    drops = [drop(right[name][None], right[ORIGINAL]) for name in names]
    sample, rows = Sample(drops, scores.items.dialogue), list[dict[str, Any]]()
    for name, loss, ends in zip(names, -sample.values(), intervals([sample], together=True)):
        tool, path = min(changed_elements(project, name), key=lambda of: len(of[1]))
        both = project.tools[tool], worded[name].tool(tool)
        texts = [msgspec.json.encode([t.description, t.parameters]).decode() for t in both]
        before, after = (of.elements.get(path, Element("", "")).description for of in both)
        same = takewhile(lambda pair: pair[0] == pair[1], zip(before, after))
        start = sum(1 for _ in same)
        text = before[start : len(before) - len(after) + start].strip()
        low, high = (0.0 - 100 * end for end in reversed(ends or (float("nan"),) * 2))
        is_far = "can go" if high <= limit else "earns" if low > 0 else "unclear"
        if not any(tool == call.name for case in project.cases for call in case.expect or ()):
            is_far = "no case"  # which would need it
        rows.append(
            {"variant": name, "tool": tool, "path": path, "text": text}
            | {"tokens": count(texts[0]) - count(texts[1]), "loss": 100 * float(loss) + 0.0}
            | {"low": low, "high": high, "is": is_far}
        )
    return sorted(rows, key=lambda row: (row["loss"], -row["tokens"]))


def _neighbours(
    project: Project, worded: Mapping[str, WordedTools], outcomes: Mapping[str, Sequence[Outcome]]
) -> dict[str, dict[str, int]]:
    """Under each variant with a crowd, in how many cases which neighbour was called, most first."""
    found: dict[str, dict[str, int]] = {}
    for name, of_variant in outcomes.items():
        if project.variants[name].made_by != CROWD:
            continue
        taken = Counter[str]()
        for case, outcome in zip(project.cases, of_variant):
            ids = worded[name].ids(case)
            called = {ids.get(call["name"], "") for call in outcome.made}
            taken.update(i for i in called if i.endswith(f"#{CROWD}"))
        found[name] = dict(taken.most_common())
    return found


def _noise(is_right: Bools, original: Bools | None) -> dict[str, Any]:
    """What changes from run to run under one variant, apart from what its words break."""
    always, ever = is_right.all(axis=0), is_right.any(axis=0)
    noise = {
        "repeats": len(is_right),
        "pass^k": float(always.mean()),
        "flaky": float((ever & ~always).mean()),
    }
    if original is not None and len(original) > 1:
        noise["broken"] = float((original.all(axis=0) & ~ever).mean())
    return noise


def _valid(worded: WordedTools, cases: Sequence[Case], file: PredictionFile) -> float | None:
    """The share of all calls that name a tool and fit its schema; None where none is made."""
    valid = list[bool]()
    for case in cases:
        ids = worded.ids(case)
        for run in file.predictions:
            for call in run[case.id].calls:
                tool = ids.get(call.name)
                is_known = tool is not None and isinstance(call.arguments, dict)
                valid.append(is_known and not fault(as_expected(call.arguments), worded.tool(tool)))
    return sum(valid) / len(valid) if valid else None


def _scores(
    cases: Sequence[Case], outcomes: Mapping[str, Outcomes]
) -> tuple[dict[str, list[Floats]], Scores]:
    """By metric the scores under each variant [runs, cases], and their means over the runs.

    The means stand beside the scores of the first run, where there are several. A call is right
    where all of it is, and so are its arguments; under the rule ``fuzzy`` the similarity of the
    call stands beside.
    """
    items = items_of(cases)
    runs = {
        metric: [
            # None, where a score does not apply, becomes NaN.
            np.array([[getattr(o.score, field) for o in run] for run in of_variant], dtype=float)
            for of_variant in outcomes.values()
        ]
        for metric, field in FIELDS.items()
    }
    similar = runs[CALL]
    for metric in ("arguments", CALL):
        runs[metric] = [np.where(np.isnan(rows), np.nan, rows == 1) for rows in runs[metric]]
    if any(not np.array_equal(*of, equal_nan=True) for of in zip(runs[CALL], similar)):
        runs["call_fuzzy"] = similar
    runs[RIGHT] = [
        np.where(np.isnan(call), no_call, call) for call, no_call in zip(runs[CALL], runs[NO_CALL])
    ]
    if len(np.unique(items.dialogue)) < len(cases):
        runs[TASK_SUCCESS] = [
            np.stack([task_success(run, items.dialogue) for run in of]) for of in runs[RIGHT]
        ]
    metrics = {m: np.stack([rows.mean(axis=0) for rows in of_all]) for m, of_all in runs.items()}
    if any(len(of_variant) > 1 for of_variant in outcomes.values()):
        first = {one_run(m): np.stack([rows[0] for rows in of_all]) for m, of_all in runs.items()}
        metrics |= first
    known = {m: rows for m, rows in metrics.items() if not np.isnan(rows).all()}
    return runs, Scores(list(outcomes), items, known)


def items_of(cases: Sequence[Case]) -> Items:
    """Cases as the items of which figures are made, each with its dialogue."""
    index = {name: i for i, name in enumerate(dict.fromkeys(case.cluster for case in cases))}
    dialogue = np.array([index[case.cluster] for case in cases], dtype=np.int64)
    ids, services = [case.id for case in cases], np.array([""] * len(cases), dtype=object)
    return Items(pa.array(ids, pa.string()), dialogue, np.arange(len(ids)), services, {})


def _signature(project: Project, files: Mapping[str, PredictionFile], rules: Rule) -> str:
    """The line ``sgdx_tools|key:value|...``, with digests of all tools, cases and words."""
    makers = {project.variants[name].made_by for name in files if name != ORIGINAL}
    reads_texts = any(file.header.system.get("text_calls") for file in files.values())
    made_elsewhere = any(file.header.data is None for file in files.values())
    parts = {
        "variants": "+".join(
            name if name == ORIGINAL else f"{name}@{project.variants[name].digest()}"
            for name in files
        ),
        **({"reworded-by": "+".join(sorted(m or "unknown" for m in makers))} if makers else {}),
        "tools": f"{len(project.tools)}@{digest(project.tools.values())}",
        "cases": f"{len(project.cases)}@{digest(project.cases)}",
        **({"text-calls": "read"} if reads_texts else {}),
        "repeats": max(len(file.predictions) for file in files.values()),
        "rules": f"{rules}-null-and-defaults-absent",
        **({"predictions": "made-elsewhere"} if made_elsewhere else {}),
        "zero-mean": "0",
        "sd": "sample",
    }
    return signature_line("sgdx_tools", parts)


def signature_line(metric: str, parts: Mapping[str, object]) -> str:
    """The line ``METRIC|key:value|...``, which ends in how intervals are made and the version."""
    ends = {
        "ci": f"95%-bootstrap-{RESAMPLES}-seed-{SEED}",
        "version": __version__,
    }
    shown = (f"{key}:{str(value).replace('|', '/')}" for key, value in {**parts, **ends}.items())
    return "|".join([metric, *shown])
