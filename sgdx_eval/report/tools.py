"""What the report shows of calls alone: the words that cost cases, noise, and decisions to call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sgdx_eval.results import Results
from sgdx_eval.tables import Cell, Table, percent, table
from sgdx_eval.tasks import tools
from sgdx_eval.tasks.tools import CALL, NO_CALL
from sgdx_metric import calls
from sgdx_metric.core import RIGHT
from sgdx_metric.wording_figures import FIGURES

from .figures import Figures
from .page import CostlyWords, Section
from .runs import Group, System
from .view import Block, View

_MOST_COSTLY, _MOST_ELEMENTS, _MOST_CASES = 3, 100, 200


class CallsView(View):
    """Callers of the services of SGD."""

    kind, noun, subject = "Calls", "caller", "calls of tools"
    more = (
        "Tasks, and decisions to call",
        "In percent. Of a decision to call, precision and recall are over the turns predicted.",
    )
    # What each metric is called, and what that means.
    titles: Mapping[str, tuple[str, str]] = calls.TITLES

    def blocks(self, results: Results) -> list[Block]:
        """A row for each metric, with the same figures of each."""
        scores = results.scores()
        known = {figure.key for figure in results.task.own_figures(scores)}
        return [
            Block(
                title,
                {k: end for end in FIGURES if (k := f"{metric}.{end}") in known and end != "v1-5"},
                results.task.members(results.raw, metric),
            )
            for metric, (title, _) in self.titles.items()
            if metric in scores.metrics
        ]

    def of_services(self, group: Group) -> Sequence[str]:
        """The main figures, and the drop."""
        original, reworded, *others = group.keys[2:]
        return original, reworded, f"{group.keys.headline}.drop", *others

    def text(self, group: Group) -> str:
        """How many calls there are, and in how many dialogues."""
        items = group.results.raw.items
        dialogues = len(np.unique(items.dialogue))
        return f"{len(items.ids):,} calls of SGD in {dialogues:,} dialogues."


class ToolsView(CallsView):
    """Callers of anybody's own tools."""

    kind = "Tools"
    titles = tools.TITLES

    def text(self, group: Group) -> str:
        """How many cases there are that expect calls, and that expect none."""
        metrics, names = group.results.raw.metrics, {CALL: "expect calls", NO_CALL: "expect none"}
        counts = [
            f"{len(np.flatnonzero(~np.isnan(metrics[metric]).all(axis=0)))} {name}"
            for metric, name in names.items()
            if metric in metrics
        ]
        return f"{len(group.results.raw.items.ids)} cases: {', '.join(counts)}."

    def costly(self, system: System, group: Group) -> tuple[str, list[CostlyWords]]:
        """The elements whose new words cost most."""
        costly = [
            CostlyWords(
                f"{_place(element)}, {element['wording']}",
                _words(element["original"]).text,
                _words(element["reworded"]).text,
                f"{element['net']} of {element['cases']} cases",
            )
            for element in _elements(system)[:_MOST_COSTLY]
            if element["net"] > 0
        ]
        return "The words that cost {} most, in cases lost minus cases won:", costly

    def sections(self, group: Group, systems: int, is_folded: bool) -> Iterator[Section]:
        """What changes without any rewording, and which words cost cases."""
        if noise := [made for system in group.systems for made in _noise_table(group, system)]:
            yield Section("noise", "Noise", tables=noise)
        costly = {
            system.name: [e for e in _elements(system) if e["lost"] or e["won"]]
            for system in group.systems
        }
        if any(costly.values()):
            tables = [_elements_table(name, elements) for name, elements in costly.items()]
            yield Section("elements", "The words that did it", tables=tables)
        if confused := [made for system in group.systems for made in _confusion_table(system)]:
            yield Section("confusion", "Wrong tools", tables=confused)
        if cases := [made for system in group.systems for made in _cases_table(system)]:
            yield Section("cases", "Cases", tables=cases, folded=is_folded)


def _noise_table(group: Group, system: System) -> list[Table]:
    noise: Mapping[str, Any] = system.first.stored.get("noise", {})
    if not noise:
        return []
    flips = Figures(system, group.main).values().get(group.keys.flips)
    rows = [
        [name, str(under["repeats"]), percent(under["flips"], 1)] for name, under in noise.items()
    ]
    rows.append(["all wordings, one run of each", str(len(group.wordings)), percent(flips, 1)])
    note = (
        "These are the flips of repeated runs under one wording, in %. They happen without any "
        "rewording. The flips over wordings mean something only if there are more of them."
    )
    title = f"Flips with and without rewording, {system.name}"
    return [table(title, ["under", "runs", "flips"], rows, note=note)]


def _confusion_table(system: System) -> list[Table]:
    """Which tool was called in place of which, by wording."""
    pairs: Sequence[Mapping[str, Any]] = system.first.stored.get("confusion", [])
    if not pairs:
        return []
    names = list(pairs[0]["cases"])
    rows = [
        [
            *(pair[key] or "no call" for key in ("expected", "called")),
            *(str(pair["cases"][name]) for name in names),
        ]
        for pair in pairs[:_MOST_ELEMENTS]
    ]
    title = f"Tools that were called in place of others, {system.name}"
    texts = ["expected", "called"]
    return [table(title, [*texts, *names], rows, texts, note="In cases, of the first run.")]


def _cases_table(system: System) -> list[Table]:
    """Which cases are right under which wordings, those first that most wordings lose."""
    paired: Mapping[str, Any] = system.first.stored.get("paired", {})
    of_metrics = [paired[metric] for metric in (CALL, NO_CALL) if metric in paired]
    if not of_metrics:
        return []
    names = list(of_metrics[0])
    rows = []
    for i, case in enumerate(paired["case_id"]):
        # A case expects either a call or none.
        scores = [next(s for of in of_metrics if (s := of[name][i]) is not None) for name in names]
        rows.append([case, *("right" if score >= RIGHT else "wrong" for score in scores)])
    changing = sorted((r for r in rows if len({*r[1:]}) > 1), key=lambda r: r.count("right"))
    always = sum({*row[1:]} == {"right"} for row in rows)
    note = (
        f"{always} of {len(rows)} cases are right under all wordings and "
        f"{len(rows) - always - len(changing)} under none. 'sgdx tools explain' shows the calls of "
        "a case."
    )
    if (more := len(changing) - _MOST_CASES) > 0:
        note += f" {more} more are in scores.json."
    title = f"Cases that are right under some wordings, {system.name}"
    columns = ["case", *names]
    return [table(title, columns, changing[:_MOST_CASES], columns, note=note)] if changing else []


def _elements(system: System) -> list[Mapping[str, Any]]:
    """The reworded names and descriptions, those first that cost most cases."""
    return sorted(system.first.stored.get("elements", []), key=lambda element: -element["net"])


def _elements_table(name: str, elements: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        [
            _place(element),
            element["wording"],
            _words(element["original"]),
            _words(element["reworded"]),
            *(str(element[key]) for key in ("lost", "won", "cases")),
        ]
        for element in elements[:_MOST_ELEMENTS]
    ]
    texts = ["words of", "wording", "original", "reworded"]
    note = (
        f"{len(elements)} of the reworded names and descriptions lost or won cases. Lost: cases "
        "that are right under the original words and wrong under these, and whose wrong call has "
        "to do with this name and description. Won: the opposite. Of: cases that expect a call of "
        "the tool. The table says where to look. To measure one element, reword it alone (reword "
        "--one-at-a-time)."
    )
    if (more := len(elements) - len(rows)) > 0:
        note += f" {more} more are in scores.json."
    title = f"Words by the cases that they cost {name}"
    return table(title, [*texts, "lost", "won", "of"], rows, texts, note=note)


def _place(element: Mapping[str, Any]) -> str:
    return f"{element['tool']} {element['path']}".rstrip()


def _words(words: Mapping[str, str]) -> Cell:
    """The name of an element and, in smaller type, its description; whichever changes."""
    texts = [words[key] for key in ("name", "description", "change") if key in words]
    return Cell((texts or [""])[0], "; ".join(texts[1:]))
