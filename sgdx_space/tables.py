"""The figures of what was dropped, as tables in HTML; those of all tasks are made alike."""

import re
from collections.abc import Mapping
from dataclasses import replace
from html import escape

from sgdx_eval.tables import Cell, Table, interval, number, table, to_html
from sgdx_metric.core import Figure, Over, Sample
from sgdx_metric.report import RELATIVE
from sgdx_metric.variants import ORIGINAL

from .dropped import Shown


def figures_html(shown: Shown) -> str:
    """All figures with their intervals, those that are means by wording, and what they mean."""
    results, services = shown.results, shown.results.raw.items.services()
    extra = [RELATIVE] if results.task.name == "state" else []
    samples: dict[str, Sample] = {}
    for name, members in results.raw.items.groups().items():
        if len(members) and name not in services:
            scores = results.scores(members)
            samples[name] = Sample(scores, [*results.task.figures(scores), *extra])
    known = samples["all"].values()
    figures = [figure for figure in samples["all"].figures if figure.key in known]
    terms = dict.fromkeys(term for figure in figures for term in figure.legend)
    legend = "<br>".join(map(escape, [*terms, "↓: lower is better."]))
    return (
        scrolling(_figures(shown, samples, figures))
        + scrolling(_by_wording(shown, samples))
        + f"<p class='legend'>{legend}</p>"
    )


def scrolling(shown: Table) -> str:
    """A table that scrolls where the page is too narrow."""
    return f"<div class='scroll figures'>{to_html(shown)}</div>"


def _figures(shown: Shown, samples: Mapping[str, Sample], figures: list[Figure]) -> Table:
    """A row for each figure, a column for each group of services."""
    task = shown.results.task
    rows: list[list[str | Cell]] = [[name] for name in (f"{task.unit}s", *map(_title, figures))]
    for sample in samples.values():
        values, ends = sample.values(), sample.intervals()
        rows[0].append(str(task.count(sample.scores)))
        for row, figure in zip(rows[1:], figures, strict=True):

            def text(value: float | None, scale: float = figure.scale) -> str:
                return number(None if value is None else scale * value, 1)

            row.append(Cell(text(values.get(figure.key)), interval(ends.get(figure.key), text)))
    headers = ["figure", *(name.replace("_", " ") for name in samples)]
    return table("Figures in %, with 95 % intervals", headers, rows)


def _title(figure: Figure) -> str:
    return f"{figure.title} ↓" if figure.lower_is_better else figure.title


def _by_wording(shown: Shown, samples: Mapping[str, Sample]) -> Table:
    """What the means over wordings are of, under each wording."""
    wordings = shown.results.variants
    means: dict[str, tuple[Figure, Over]] = {}
    for figure in samples["all"].figures:
        if isinstance(figure.of, Over) and {*figure.of.wordings} != {ORIGINAL}:
            title = re.sub("[ _](reworded|v1-5)$", "", figure.title)
            means.setdefault(title, (figure, replace(figure.of, wordings=wordings)))
    rows = []
    for title, (figure, mean) in means.items():
        for name, sample in samples.items():
            values = Sample(sample.scores, mean.each(figure.metric)).values()
            scaled = [None if v is None else figure.scale * v for v in map(values.get, wordings)]
            rows.append([title, name.replace("_", " "), *(number(v, 1) for v in scaled)])
    decision = {name: of or {} for name, of in shown.content.get("decision", {}).items()}
    for key in ("precision", "recall") if any(decision.values()) else ():
        shares = [decision[name].get(key) for name in wordings]
        cells = [number(None if share is None else 100 * share, 1) for share in shares]
        rows.append(["decision to call", key, *cells])
    return table("Under each wording, in %", ["mean", "of", *wordings], rows, ["of"])
