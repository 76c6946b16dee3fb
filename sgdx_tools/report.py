"""The report as a log: every case under every variant, with what was said, expected and called.

One page for several models that needs no other file. What it shows is data in the page; the script
of ``templates/report.html`` draws it.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import write_bytes
from sgdx_eval.tables import percent
from sgdx_eval.tasks.tools import TITLES

from .data import Case, ElementId, Json, Rule, ToolSet
from .elements import Outcome, blamed, changed_elements, differences
from .explain import message_text
from .folder import read_tool_set
from .predictions import read_predictions
from .renaming import WordedTools
from .scoring import score_files, score_variant
from .tables import headline
from .verdict import judge

_TEMPLATE = Path(__file__).parent / "templates" / "report.html"
_MOST_ELEMENTS, _MOST_PAIRS = 20, 20
Words = Mapping[str, dict[ElementId, dict[str, dict[str, str]]]]  # what each variant changes


def write_report(
    folder: Path,
    runs: Sequence[Path],
    rules: Rule | None,
    limit: int | None,
    output: Path,
    max_drop: float | None = None,
) -> None:
    """Write the page of one or several runs, with the verdict on each where there is a limit."""
    tool_set = read_tool_set(folder).first(limit)
    names = [run.resolve().name for run in runs]
    if len({*names}) < len(names):
        raise SgdxError(f"--predictions: found {', '.join(names)}, expected folders of other names")
    content = report_content(tool_set, dict(zip(names, runs)), rules, max_drop)
    # No text of others ends the element that holds the data.
    data = msgspec.json.encode(content).decode().replace("<", "\\u003c")
    title = html.escape(f"{folder.resolve().name} under other words")
    page = Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(TITLE=title, DATA=data)
    write_bytes(output, page.encode())


def report_content(
    tool_set: ToolSet,
    runs: Mapping[str, Path],
    rules: Rule | None,
    max_drop: float | None = None,
) -> dict[str, Any]:
    """What the page shows, with every text that stands in many places once, in ``texts``."""
    rules = rules or tool_set.source.rules
    texts: dict[str, int] = {}
    words: Words = {name: changed_elements(tool_set, name) for name in tool_set.variants}
    keys = {name: {element: i for i, element in enumerate(words[name])} for name in words}
    worded = {n: WordedTools(tool_set.tools, w) for n, w in tool_set.variants.items()}
    cases: list[dict[str, Any]] = [
        {
            "id": case.id,
            "said": [[m["role"], message_text(m)] for m in case.messages],
            "tools": sorted({call.name for call in case.expect or ()}),
            "cells": {},
        }
        for case in tool_set.cases
    ]
    models = []
    for model, run in runs.items():
        files = read_predictions(run, tool_set)
        content, _ = score_files(tool_set, files, rules)
        verdict = None if max_drop is None else judge(tool_set, files, content, max_drop)
        models.append({**_model(model, content), "verdict": verdict and str(verdict)})
        for name, file in files.items():
            (outcomes, *_) = score_variant(tool_set.cases, worded[name], file, rules)
            for case, shown, outcome in zip(tool_set.cases, cases, outcomes):
                cell = _cell(case, outcome, worded[name], words[name], rules, texts)
                if "blamed" in cell:
                    cell["blamed"] = [keys[name][element] for element in cell["blamed"]]
                shown["cells"].setdefault(model, {})[name] = cell
    return {
        "variants": list(tool_set.variants),
        "models": models,
        "words": {
            name: [[tool, path, *changed.values()] for (tool, path), changed in of.items()]
            for name, of in words.items()
        },
        "cases": cases,
        "left_out": dict(tool_set.left_out),
        "texts": list(texts),
    }


def _model(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    costly = [element for element in content["elements"] if element["net"] > 0]
    figures = [
        [TITLES[metric][0], *(percent(of[key]) for key in ("original", "reworded", "worst"))]
        for metric, of in content["calls"].items()
    ]
    return {
        "name": name,
        "headline": headline(content),
        "figures": figures,
        "costly": costly[:_MOST_ELEMENTS],
        "confusion": content["confusion"][:_MOST_PAIRS],
        "noise": content["noise"],
        "signature": content["signature"],
    }


def _cell(
    case: Case,
    outcome: Outcome,
    worded: WordedTools,
    words: Mapping[ElementId, object],
    rules: Rule,
    texts: dict[str, int],
) -> dict[str, Any]:
    """What became of a case under a variant; its calls are positions in ``texts``.

    Where ``made`` is not there, it is what is expected.
    """

    def positions(calls: Sequence[Json] | None) -> list[int]:
        encoded = (msgspec.json.encode(call).decode() for call in calls or ())
        return [texts.setdefault(text, len(texts)) for text in encoded]

    cell: dict[str, Any] = {"is": "right" if outcome.is_right else "wrong"}
    cell["expected"] = positions(outcome.expected)
    if outcome.unread is not None:
        return cell | {"is": "unread", "said": outcome.unread}
    if (made := positions(outcome.made)) != cell["expected"]:
        cell["made"] = made
    if not outcome.is_right:
        found = differences(case, outcome, worded, rules)
        cell["differs"] = [difference.text for difference in found]
        cell["blamed"] = sorted(blamed(case, outcome, worded, words, rules))
    return cell
