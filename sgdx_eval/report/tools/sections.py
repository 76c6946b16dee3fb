"""What the report says of calls of somebody's own tools, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sgdx_eval.tables import (
    Cell,
    Column,
    Table,
    interval,
    one_decimal,
    p_value,
    percent,
    points_cell,
    signed_points,
)
from sgdx_metric.units import ALL, SEEN, UNSEEN
from sgdx_metric.variants import ORIGINAL

from ..page import Section
from ..pictures import COLOURS, draw_picture, new_figure, without_formulae
from ..stored import Difference, MetricScores, WordingFigures
from ..verdict import CostlyWords, Verdict
from .runs import ToolRun

_METRICS = {
    "call_accuracy": "call",
    "call_name_accuracy": "tool",
    "call_argument_accuracy": "arguments",
    "no_call_accuracy": "no call",
    "task_success": "task",
}
_CALL = "call_accuracy"
# Metrics that have a picture, and those that have a table by wording too.
_HEADLINES = (_CALL, "no_call_accuracy")
_BY_WORDING = (*_HEADLINES, "task_success")
_IN_WORDS = {_CALL: "call accuracy", "no_call_accuracy": "no-call accuracy"}
_FIGURES = ("original", "reworded", "worst", "flips")
_MOST_ELEMENTS = 100
_METRICS_NOTE = (
    "The figures are in %, with 95 % intervals over cases, or over dialogues if cases share one. "
    "Call: the right tools are called with the right arguments. Tool: the right tools are "
    "called. Arguments: all arguments are right, among the cases with the right tools. No call: "
    "no tool is called where none should be. Task: all calls of a dialogue are right. Reworded: "
    "the mean over all wordings but the original. Drop: reworded minus original, in points. "
    "Worst: the share of cases that are right under every wording. Flips: the share of cases "
    "that are right under one wording and wrong under another."
)
_WORDINGS_NOTE = (
    "The difference is to the same cases under the original words, in points. It has its 95 % "
    "interval and the p-value of paired approximate randomisation."
)
_DECISION_NOTE = (
    " Precision and recall are those of the decision to call, over the turns that were predicted."
)
_SERVICES_NOTE = (
    "The accuracy of whole calls of each service, in %. The services that lose most under other "
    "words come first."
)
_ELEMENTS_NOTE = (
    "Lost: cases that are right under the original words and wrong under these, and whose wrong "
    "call has to do with this name and description. Won: the opposite. Of: cases that expect a "
    "call of the tool. The table says where to look. To measure one element, reword it alone "
    "(reword --one-at-a-time)."
)
_NOISE_NOTE = (
    "These are the flips of repeated runs under one wording, in %. They happen without any "
    "rewording. The flips over wordings mean something only if there are more of them."
)


def tool_sections(run: ToolRun, number: int) -> Iterator[Section]:
    """The sections about a run.

    Args:
        run: The run.
        number: Which of the report's runs of tools it is, for the names of its pictures.
    """
    picture = draw_picture(
        lambda: _draw_wordings(run),
        "Accuracy under each wording",
        "Points are means, bars are 95 % intervals of the difference to the original, which is the "
        "dotted line.",
        f"tool_wordings_{number}",
        "; ".join(run.caveats),
    )
    yield Section(
        "comparison",
        "What rewording costs",
        run.counts,
        [
            replace(_metrics_table(run), signatures={run.scores.signature: ""}),
            *(
                _wordings_table(run, name, "" if i else _WORDINGS_NOTE)
                for i, name in enumerate(name for name in _BY_WORDING if name in run.scores.calls)
            ),
        ],
        [picture] if picture else [],
    )
    if _CALL in run.scores.calls and run.scores.calls[_CALL].by_service:
        yield Section("services", "Where it breaks", tables=[_services_table(run)])
    if run.scores.noise:
        yield Section("noise", "Noise", tables=[_noise_table(run)])
    costly = [element for element in run.scores.elements if element.lost or element.won]
    if costly:
        text = f"{len(costly)} of the reworded names and descriptions lost or won cases."
        yield Section("elements", "The words that did it", text, [_elements_table(run)])


def tool_verdict(run: ToolRun) -> Verdict | None:
    """What is said of a run first; None where it was not scored under original and other words."""
    name = next(iter(_headlines(run)), "")
    metric = run.scores.calls.get(name)
    if metric is None or metric.drop is None or metric.original is None:
        return None
    sentences = [
        Cell(
            f"{run.name}: {percent(metric.original, 1)} % {_IN_WORDS[name]} under the original "
            f"words, {percent(metric.reworded, 1)} under others, "
            f"{signed_points(metric.drop)} points",
            points_cell(metric.drop, metric.confidence.get("drop")).detail,
        )
    ]
    against = {w: d for w, d in metric.differences.items() if d.difference is not None}
    if against:
        worst = min(against, key=lambda wording: against[wording].difference or 0.0)
        change = _change(against[worst])
        lowest = Cell(f"It is lowest under {worst}: {change.text}", change.detail)
        if (against[worst].difference or 0.0) >= 0:
            lowest = Cell("It is lower under none of the other wordings")
        sentences.append(lowest)
    costly = [
        CostlyWords(
            f"{element.tool} {element.path}".rstrip() + f", {element.wording}",
            _words(element.original).text,
            _words(element.reworded).text,
            f"{element.net} of {element.cases} cases",
        )
        for element in sorted(run.scores.elements, key=lambda element: -element.net)[:3]
        if element.net > 0
    ]
    title = "The words that cost most, in cases lost minus cases won:"
    return Verdict(sentences, title if costly else "", costly)


def _headlines(run: ToolRun) -> list[str]:
    return [name for name in _HEADLINES if name in run.scores.calls]


def _metrics_table(run: ToolRun) -> Table:
    rows = []
    for name, title in _METRICS.items():
        metric = run.scores.calls.get(name)
        for group in (ALL, SEEN, UNSEEN):
            figures = metric.group(group) if metric is not None else None
            if figures is not None:
                of_group = title if group == ALL else f"{title}, {group} services"
                rows.append([Cell(of_group), *_figures(figures)])
    columns = [
        Column("metric", numeric=False),
        *map(Column, (*_FIGURES[:2], "drop", *_FIGURES[2:])),
    ]
    return _table(run, f"Calls by {run.name}", _METRICS_NOTE, columns, rows)


def _figures(figures: WordingFigures) -> list[Cell]:
    """The cells of the original, the reworded and their difference, the worst case and flips."""
    cells = [_figure(figures, name) for name in _FIGURES]
    cells.insert(2, points_cell(figures.drop, figures.confidence.get("drop")))
    return cells


def _figure(figures: WordingFigures, name: str) -> Cell:
    ends = figures.confidence.get(name)
    return Cell(percent(getattr(figures, name), 1), interval(ends, one_decimal))


def _change(difference: Difference) -> Cell:
    """A wording's difference to the original, with its interval."""
    low, high = difference.low, difference.high
    return points_cell(difference.difference, None if low is None or high is None else (low, high))


def _wordings_table(run: ToolRun, name: str, note: str) -> Table:
    metric = run.scores.calls[name]
    is_decided = name == _CALL and any(run.scores.decision.values())
    rows = []
    for wording, mean in metric.by_variant.items():
        row = [Cell(wording), Cell(percent(mean, 1))]
        if metric.differences:
            row += _difference_cells(metric, wording)
        if is_decided:
            decision = run.scores.decision.get(wording)
            row += [
                Cell(percent(decision.precision if decision else None, 1)),
                Cell(percent(decision.recall if decision else None, 1)),
            ]
        rows.append(row)
    names = [_METRICS[name], *(["difference", "p"] if metric.differences else [])]
    columns = [
        Column("wording", numeric=False),
        *map(Column, [*names, *(["precision", "recall"] if is_decided else [])]),
    ]
    title = f"{_METRICS[name].capitalize()}, wording by wording"
    return _table(run, title, note + _DECISION_NOTE * is_decided, columns, rows)


def _difference_cells(metric: MetricScores, wording: str) -> list[Cell]:
    """The cells of the difference between a wording and the original, and of its p."""
    against = metric.differences.get(wording)
    if against is None:
        return [Cell(""), Cell("")]
    return [_change(against), Cell(p_value(against.p))]


def _services_table(run: ToolRun) -> Table:
    services = run.scores.calls[_CALL].by_service
    ranked = sorted(services, key=lambda name: services[name].drop or 0.0)
    rows = [
        [Cell(name), Cell(str(services[name].frames)), *_figures(services[name])] for name in ranked
    ]
    columns = [
        Column("service", numeric=False),
        *map(Column, ("calls", *_FIGURES[:2], "drop", *_FIGURES[2:])),
    ]
    return _table(run, "Calls, service by service", _SERVICES_NOTE, columns, rows)


def _elements_table(run: ToolRun) -> Table:
    ranked = sorted(run.scores.elements, key=lambda element: -element.net)
    rows = [
        [
            Cell(f"{element.tool} {element.path}".rstrip()),
            Cell(element.wording),
            _words(element.original),
            _words(element.reworded),
            Cell(str(element.lost)),
            Cell(str(element.won)),
            Cell(str(element.cases)),
        ]
        for element in ranked[:_MOST_ELEMENTS]
    ]
    names = ("words of", "wording", "original", "reworded")
    columns = [
        *(Column(name, numeric=False) for name in names),
        *map(Column, ("lost", "won", "of")),
    ]
    more = f" {len(ranked) - len(rows)} more are in scores.json." if len(ranked) > len(rows) else ""
    return _table(run, "Words by the cases that they cost", _ELEMENTS_NOTE + more, columns, rows)


def _words(words: Mapping[str, str]) -> Cell:
    """The name of an element and, in smaller type, its description; whichever changes."""
    if "name" in words:
        return Cell(words["name"], words.get("description", ""))
    return Cell(words.get("description", ""))


def _noise_table(run: ToolRun) -> Table:
    metric = run.scores.calls[_headlines(run)[0]]
    rows = [
        [Cell(name), Cell(str(noise.repeats)), Cell(percent(noise.flips, 1))]
        for name, noise in run.scores.noise.items()
    ]
    wordings = str(len(metric.by_variant))
    rows.append(
        [Cell("all wordings, one run of each"), Cell(wordings), Cell(percent(metric.flips, 1))]
    )
    columns = [Column("under", numeric=False), Column("runs"), Column("flips")]
    return _table(run, "Flips with and without rewording", _NOISE_NOTE, columns, rows)


def _table(
    run: ToolRun, title: str, note: str, columns: list[Column], rows: list[list[Cell]]
) -> Table:
    return Table(title, note, columns, rows, run.caveats)


def _draw_wordings(run: ToolRun) -> Any:
    """Each wording's mean, and the interval of its difference; None without the original."""
    headlines = [n for n in _headlines(run) if ORIGINAL in run.scores.calls[n].by_variant]
    if not headlines or len(run.scores.calls[headlines[0]].by_variant) < 2:
        return None
    names = list(run.scores.calls[headlines[0]].by_variant)
    names = names[:40]  # of more, the names cannot be read
    height = 1.2 + 0.28 * len(names)
    figure, (axes,) = new_figure(4.2 * len(headlines), height, 1, len(headlines), sharey=True)
    for i, (panel, name) in enumerate(zip(axes, headlines)):
        metric = run.scores.calls[name]
        original = 100 * (metric.by_variant[ORIGINAL] or 0.0)
        panel.axvline(original, linestyle=":", linewidth=1, color=COLOURS[1])
        for height_of, wording in enumerate(names):
            mean = metric.by_variant.get(wording)
            if mean is None:
                continue
            against = metric.differences.get(wording)
            if against is not None and against.low is not None and against.high is not None:
                ends = [original + 100 * against.low, original + 100 * against.high]
                panel.plot(ends, [height_of] * 2, color=COLOURS[0], linewidth=1.4)
            panel.plot([100 * mean], [height_of], "o", color=COLOURS[0], markersize=5)
        panel.set_title(f"{_METRICS[name]}, %")
        if i == 0:
            panel.set_yticks(range(len(names)), [without_formulae(name) for name in names])
            panel.invert_yaxis()
        panel.set_xlim(-2, 102)
    return figure
