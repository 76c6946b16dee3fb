"""What the report shows of dialogue states alone: official metrics, and what slots lose."""

from __future__ import annotations

from collections.abc import Iterator

from sgdx_eval.tables import NO_VALUE, Cell, Column, Table, format_over_runs, number, table
from sgdx_metric.scoring import METRICS

from ..published import read_published
from .figures import official
from .page import CostlyWords, Section
from .runs import Group, System
from .slots.breakage import costliest_rewordings, with_intervals
from .slots.show import slot_sections
from .view import SGDX, View

_MOST_COSTLY = 3
_OF_PAPERS = ("jga_orig", "jga_v1-5", "relative_difference", "ss_jga")


class StatesView(View):
    """Trackers of dialogue states."""

    kind, noun, subject = "Trackers", "tracker", "dialogue state trackers"
    note = "These are the figures of Table 2 of the SGD-X paper, and others."
    sources = "The measures are those of arXiv 1909.05855 (Rastogi et al. 2020) and of " + SGDX

    def costly(self, system: System, group: Group) -> tuple[str, list[CostlyWords]]:
        """The slots whose new words cost a system most."""
        if system.name not in group.analyses:
            return "", []
        analysis, costly = group.analyses[system.name], []
        of_slots = [r for r in costliest_rewordings(analysis) if not r.element.is_intent]
        for rewording in with_intervals(analysis, of_slots[:_MOST_COSTLY]):
            before, after, net = rewording.before, rewording.after, rewording.net_cell()
            words = before.name, after.name
            if before.name == after.name:
                words = before.description, after.description
            where = f"{rewording.element.service}, {rewording.variant}"
            interval = f" ({net.detail})" if net.detail else ""
            costly.append(CostlyWords(where, *words, f"{net.text} frames{interval}"))
        title = "The rewordings that cost {} most, in frames lost less frames won (95 % interval):"
        return title, costly

    def sections(self, group: Group, systems: int, is_folded: bool) -> Iterator[Section]:
        """Rewordings, errors, slots and the official metrics."""
        yield from slot_sections(group, systems, is_folded)
        yield from official_metrics(group)

    def published(self) -> Table:
        """The published scores of trackers, which stand apart from those of runs."""
        rows: list[list[str | Cell]] = [
            [
                Cell(row.name, "oracle" if row.oracle else ""),
                services,
                *(number(of.get(key), 1) for key in _OF_PAPERS),
                row.data,
                row.where,
                row.not_comparable,
            ]
            for row in read_published()
            for services, of in zip(("all", "seen", "unseen"), (row.all, row.seen, row.unseen))
            if of is not None
        ]
        texts = ("services", "data", "source", "not comparable because")
        heads = ["system", "services", "JGA_orig", "JGA_v1-5", "Diff_rel", "SS_JGA", *texts[1:]]
        note = (
            "These figures are in percent. They are from papers, whose authors measured them with "
            "their own code. Do not compare them with the runs of this report, because the systems "
            "were trained in another way. The column 'data' says what they were scored on."
        )
        title = "Published figures of trackers"
        return table(title, heads, rows, texts, note=note, folded=True)


def official_metrics(group: Group) -> Iterator[Section]:
    """The official scorer's 13 metrics and ours, which scores.json has of all frames alone."""
    rows: list[list[str | Cell]] = []
    for metric in METRICS:
        rows.append([metric])
        for system in group.systems:
            of_runs = [official(run.stored, metric) for run in system.runs]
            rows[-1] += [format_over_runs(values) for values in zip(*of_runs)]
    note = (
        "The figures are in percent, over all services: each metric under the original schemas, "
        "its mean under v1 to v5, and its schema sensitivity (SS). The metrics beyond the 13 are "
        "ours. A dash marks a metric that is not defined, such as slot tagging if no spans are "
        "predicted."
    )
    heads = [Column(name, s.label) for s in group.systems for name in ("original", "v1-5", "SS")]
    title = "The 13 official metrics and ours, with their sensitivity"
    if any(cell != Cell(NO_VALUE) for row in rows for cell in row[1:]):
        tables = [table(title, ["metric", *heads], rows, note=note)]
        yield Section("metrics", "All official metrics", tables=tables, folded=True)
