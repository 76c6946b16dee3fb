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

from sgdx_dataset.io.files import HTML_MARK, write_bytes
from sgdx_eval.tables import percent
from sgdx_eval.tasks.tools import TOOL_METRICS

from .data import Json, Project
from .elements import blamed, changed_elements, differences
from .scoring import Scored
from .tables import headline, message_text, noise_text, spent_text
from .verdict import Verdict, qualifiers

_TEMPLATE = Path(__file__).parent / "templates" / "report.html"
_MOST_ELEMENTS, _MOST_PAIRS = 20, 20


def write_report(
    project: Project, models: Mapping[str, tuple[Scored, Verdict | None]], output: Path
) -> None:
    """Write the page of one or several models, each with its verdict if there is one."""
    # No text of others ends the element that holds the data.
    data = msgspec.json.encode(_content(project, models)).decode().replace("<", "\\u003c")
    title = html.escape(f"{Path(project.path).resolve().name} under other words")
    page = Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(TITLE=title, DATA=data)
    write_bytes(output, page.encode(), mark=HTML_MARK)


def _content(
    project: Project, models: Mapping[str, tuple[Scored, Verdict | None]]
) -> dict[str, Any]:
    """What the page shows, with every text that stands in many places once, in ``texts``."""
    texts: dict[str, int] = {}
    words = {name: changed_elements(project, name) for name in project.variants}
    places = {name: {element: i for i, element in enumerate(words[name])} for name in words}
    cases: list[dict[str, Any]] = [
        {
            "id": case.id,
            "said": [[m["role"], message_text(m)] for m in case.messages],
            "tools": sorted({call.name for call in case.expect or ()}),
            "cells": {},
        }
        for case in project.cases
    ]

    def positions(calls: Sequence[Json] | None) -> list[int]:
        encoded = (msgspec.json.encode(call).decode() for call in calls or ())
        return [texts.setdefault(text, len(texts)) for text in encoded]

    for model, (scored, _) in models.items():
        for name, outcomes in scored.outcomes.items():
            runs = scored.is_right[name]
            for i, (case, shown, outcome) in enumerate(zip(project.cases, cases, outcomes)):
                # What became of a case; where `made` is not there, it is what is expected.
                cell: dict[str, Any] = {"is": "right" if outcome.is_right else "wrong"}
                cell["expected"] = positions(outcome.expected)
                shown["cells"].setdefault(model, {})[name] = cell
                if 0 < (count := int(runs[:, i].sum())) < len(runs):  # with the same words
                    cell["flaky"] = f"right in {count} of {len(runs)} runs"
                if outcome.unread is not None:
                    cell |= {"is": "unread", "said": outcome.unread}
                    continue
                if (made := positions(outcome.made)) != cell["expected"]:
                    cell["made"] = made
                if not outcome.is_right:
                    how = case, outcome, scored.worded[name], scored.rules
                    cell["differs"] = [difference.text for difference in differences(*how)]
                    found = sorted(blamed(*how, words[name]))
                    cell["blamed"] = [places[name][element] for element in found]
    return {
        "variants": list(project.variants),
        "models": [_model(name, *of_model) for name, of_model in models.items()],
        "words": {
            name: [[tool, path, *changed.values()] for (tool, path), changed in of.items()]
            for name, of in words.items()
        },
        "cases": cases,
        "left_out": dict(project.left_out),
        "texts": list(texts),
    }


def _model(name: str, scored: Scored, verdict: Verdict | None) -> dict[str, Any]:
    result, counts = scored.result, scored.result.counts
    costly = [element for element in counts["elements"] if element["net"] > 0]
    metrics = {m.name: m for m in TOOL_METRICS}
    rows = {
        name: [result.main(name, of) for of in ("original", "reworded", "worst")]
        for name in metrics
    }
    figures = []
    for metric, of in rows.items():
        if known := [f for f in of if f]:
            items = "" if known[0].items == counts["cases"]["all"] else f", of {known[0].items}"
            shown = [percent(f.value if f else None) for f in of]
            figures.append([f"{metrics[metric].shown}{items}", *shown])
    return {
        "name": name,
        "headline": headline(result),
        "figures": figures,
        "costly": costly[:_MOST_ELEMENTS],
        "confusion": counts["confusion"][:_MOST_PAIRS],
        "noise": {name: noise_text(of) for name, of in counts["noise"].items()},
        "earned": {
            f"{row['tool']} {row['path']}: {row['text'][:80]}": f"{row['tokens']} tokens, "
            f"{row['loss']:.2f} ({row['low']:.2f} to {row['high']:.2f}), {row['is']}"
            for row in counts.get("earned", ())
        },
        "spent": {name: spent_text(of) for name, of in counts["spent"].items()},
        "signature": result.signature,
        "verdict": str(verdict) if verdict else "; ".join(qualifiers(result)),
    }
