"""The tables of a page: of all tasks, and of some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sgdx_metric.robustness import ALL as ALL_SERVICES
from sgdx_metric.scoring import METRICS
from sgdx_metric.units import ALL
from sgdx_metric.variants import ORIGINAL

from ..published import read_published
from ..tables import (
    NO_VALUE,
    Cell,
    Column,
    Table,
    format_over_runs,
    number,
    p_value,
    printable,
    table,
)
from ..turn_tables import published_table, validation_table
from .figures import cells, change_cell, changes, differences, samples, shown, values
from .runs import Group, System, Validation, data_caveats

_MOST_FAILED = 12


def _told(system: System) -> str:
    """What must be known of a system: caveats, what it was trained on, whether it read acts."""
    told, run = list(system.caveats), system.first
    if run.trained_on != NO_VALUE:
        told.append(f"trained on {run.trained_on}")
    if run.acts != NO_VALUE:
        told.append({"yes": "with", "no": "without"}.get(run.acts, run.acts) + " system acts")
    return "; ".join(told)


def comparison(group: Group) -> list[Table]:
    """The main figures of all items, seen and unseen ones, and folded the others of all items.

    They are those of the paper's Table 2. Figures of one kind for several metrics share columns.
    """
    task, keys = group.task, group.keys
    # Not all systems may have all figures, such as canonical ones.
    every = {f.key: f for system in group.systems for f in samples(system)[0].figures}
    main = [figure for figure in every.values() if task.is_headline(figure.key, keys)]
    # The keys of the figures in a row, by the metric that has rows.
    of_rows: dict[str, list[str]] = {keys.headline: [figure.key for figure in main]}
    names, titles = {keys.headline: ""}, [figure.title for figure in main]
    if keys.reworded == f"{keys.headline}.reworded":
        means = task.headlines(group.results.scores())
        names = {metric: of_metric[0].title for metric, of_metric in means.items()}
        ends = [key.partition(".")[2] for key in of_rows[keys.headline]]
        of_rows = {metric: [f"{metric}.{end}" for end in ends] for metric in means}
        titles = [title.removeprefix(names[keys.headline]).strip() for title in titles]
    rows: list[list[str | Cell]] = []
    for system in group.systems:
        for metric, of_row in of_rows.items():
            of_metric = group.members(metric)
            for name, members in group.sets.items():
                items = members if of_metric is None else np.intersect1d(members, of_metric)
                found = cells(samples(system, items))
                what = ", ".join(filter(None, (names[metric], "" if name == ALL else name)))
                rows.append([Cell(system.name, _told(system)), what or ALL])
                rows[-1] += [f"{group.count(items):,}", *(found.get(k, NO_VALUE) for k in of_row)]
    note = "Below a figure is its 95 % interval, or after ± its deviation over seeds."
    if not {keys.original, keys.reworded} <= every.keys():
        scored = printable(", ".join(group.variants))
        note += f" Only {scored} was scored, so that not all figures are known."
    # A title such as `SGSAcc worst` is a column below a heading.
    columns = [Column(name, of) for of, _, name in (title.rpartition(" ") for title in titles)]
    heads: list[str | Column] = ["system", "of", group.unit, *columns]
    made = [table("Figures under reworded schemas", heads, rows, ["of"], note=note)]
    shown_above = {key for of_row in of_rows.values() for key in of_row}
    further = {system.name: cells(samples(system)) for system in group.systems}
    rows = [
        [figure.title, *(of_system.get(key, NO_VALUE) for of_system in further.values())]
        for key, figure in every.items()
        if key not in shown_above
    ]
    if rows:
        title = f"Further figures, of all {group.unit}"
        made.append(table(title, ["figure", *further], rows, folded=True))
    return made


def variant_table(group: Group) -> list[Table]:
    """The means under every variant, and how they differ from those under the original words."""
    if len(group.variants) < 2:
        return []
    titles: dict[str, None] = {}
    rows: list[list[str | Cell]] = []
    for system in group.systems:
        columns = []
        for metric in group.task.headlines(group.results.scores()):
            runs = samples(system, group.members(metric), metric)
            columns.append((runs[0].figures[0], values(runs), changes(runs)))
            titles[runs[0].figures[0].title] = None
        for variant in group.variants:
            row: list[str | Cell] = [system.name, variant]
            for figure, means, of_variants in columns:
                change = of_variants.get(variant)
                row.append(shown(figure, means[variant]))
                row += [change_cell(figure, change), p_value(change["p"])] if change else ["", ""]
            rows.append(row)
    note = (
        "The difference is to the same items under the original words, in points. It has its 95 % "
        "interval and the p-value of paired approximate randomisation."
    )
    heads = [Column(name, title) for title in titles for name in ("mean", "difference", "p")]
    folded, title = len(group.systems) > 1, "Variant by variant"
    return [
        table(title, ["system", "variant", *heads], rows, ["variant"], note=note, folded=folded)
    ]


def service_table(group: Group) -> list[Table]:
    """What rewording costs in each service; those in which the first system loses most first."""
    items, keys, drop = group.results.raw.items, group.keys, group.task.drop_key(group.keys)
    seen = set(items.service[items.sets["seen"]]) if "seen" in items.sets else set()
    titles: dict[str, str] = {}
    rows: list[tuple[float, list[str | Cell]]] = []
    for name, members in group.services.items():
        row: list[str | Cell] = [Cell(name, "seen" if name in seen else "unseen")]
        row.append(f"{group.count(members):,}")
        losses = []
        for system in group.systems:
            runs = samples(system, members)
            known = {figure.key: figure for figure in runs[0].figures}
            if drop not in known:
                return []
            sign = -1 if known[keys.reworded].lower_is_better else 1
            losses.append(-sign * values(runs)[drop])
            found = cells(runs, has_intervals=False)
            for key in (keys.original, keys.reworded, drop):
                titles[key] = known[key].title
                row.append(found[key])
        rows.append((losses[0], row))
    if not rows:
        return []
    note = (
        "In percent. Services have their original names. A service is seen if the original train "
        "split has it. Those in which the first system loses most under other words come first. "
        f"Figures of few {group.unit} are rough."
    )
    heads = [Column(title, s.label) for s in group.systems for title in titles.values()]
    ranked = [row for _, row in sorted(rows, key=lambda row: (np.isnan(row[0]), -row[0]))]
    title = "Where it breaks, by service"
    return [table(title, ["service", group.unit, *heads], ranked, note=note, folded=True)]


def augmentation(group: Group) -> list[Table]:
    """The paper's Table 3: what training on other words changes, where there are such systems."""
    keys, members = group.keys, group.members(group.keys.headline)
    shown_keys = keys.original, keys.reworded, keys.sensitivity
    rows: list[list[str | Cell]] = []
    titles: list[str] = []
    for plain, *others in group.families():
        for system in (plain, *others):
            runs = samples(system, members)
            known = {figure.key: figure for figure in runs[0].figures}
            if not {*shown_keys} <= known.keys():
                return []
            titles = [title for key in shown_keys for title in (known[key].title, "difference")]
            found = cells(runs, has_intervals=False)
            against = {} if system is plain else differences(plain, system, members)
            how = Cell(system.first.augmentation or "none", "; ".join(system.caveats))
            rows.append([plain.name, how])
            for key in shown_keys:
                rows[-1] += [found[key], change_cell(known[key], against.get(key, {}))]
    note = (
        "In percent. Each difference is to the row without augmentation, in points, with its "
        "paired 95 % interval over dialogues. With several seeds, it is the difference of the "
        "means over the seeds. Oracle rows were trained on v1 to v5 themselves and are upper "
        "bounds."
    )
    title, heads = "Training on other words", ["system", "augmentation", *titles]
    return [table(title, heads, rows, ["augmentation"], note=note)] if rows else []


def meanings(groups: Sequence[Group]) -> list[str]:
    """What the titles of the figures mean, and which are better when they are low."""
    figures = [
        figure
        for group in groups
        for system in group.systems
        for figure in samples(system)[0].figures
    ]
    lower = dict.fromkeys(figure.title for figure in figures if figure.lower_is_better)
    has_bleu = any(figure.scale == 1 for figure in figures)
    sentences = [
        f"All figures{' but BLEU' if has_bleu else ''} are in %.",
        *(term for figure in figures for term in figure.legend),
        f"Lower is better: {', '.join(lower)}." if lower else "",
        "Seen services are in the original train split."
        if any(len(group.sets) > 1 for group in groups)
        else "",
        "A turn is seen or unseen by its service and, as in the papers, by the domain."
        if any(group.task.name == "turns" for group in groups)
        else "",
        "SS is schema sensitivity as in arXiv 2110.06800 (Lee et al. 2022).",
        "The signature says what was scored and how. docs/figures.md defines all figures.",
    ]
    return list(filter(None, dict.fromkeys(sentences))) if figures else []


# ---- tables of some tasks


def task_tables(group: Group) -> Iterator[Table]:
    """What only some tasks have, out of scores.json: official metrics, decisions, validation."""
    if group.task.name == "state":
        yield from _official_metrics(group)
    for system in group.systems:
        if stored := system.first.stored:
            for made in group.task.more_tables(stored):
                yield replace(made, title=f"{made.title}: {system.name}", folded=True)
    counts = group.systems[0].first.stored.get("counts", {})
    if failed := counts.get("failed_by"):
        rows = [
            [of["act"], of["slot"] or NO_VALUE, f"{of['actions']:,}"]
            for of in failed[:_MOST_FAILED]
        ]
        note = (
            f"Of {counts['turns']['all']:,} turns {counts['valid_turns']:,} are valid: their gold "
            "response entails everything that it should say and no tampered value. SGSAcc "
            f"validated is of these. These {len(rows)} acts and slots have the most of the "
            f"{sum(of['actions'] for of in failed):,} actions that fail. Which they are depends on "
            "the model of entailment alone, not on any system."
        )
        heads = ["act", "slot", "actions"]
        yield table("What fails validation", heads, rows, ["slot"], note=note, folded=True)


def _official_metrics(group: Group) -> Iterator[Table]:
    """The official scorer's 13 metrics and ours, which scores.json has of all frames alone."""
    rows: list[list[str | Cell]] = []
    for metric in METRICS:
        rows.append([metric])
        for system in group.systems:
            of_runs = [_official(run.stored, metric) for run in system.runs]
            rows[-1] += [format_over_runs(of_figure) for of_figure in zip(*of_runs)]
    note = (
        "In percent, over all services: each metric under the original schemas, its mean under v1 "
        "to v5, and its schema sensitivity (SS). The metrics beyond the 13 are ours. A dash marks "
        "a metric that is not defined, such as slot tagging if no spans are predicted."
    )
    heads = [Column(name, s.label) for s in group.systems for name in ("original", "v1-5", "SS")]
    title = "The 13 official metrics and ours, with their sensitivity"
    if any(cell != Cell(NO_VALUE) for row in rows for cell in row[1:]):
        yield table(title, ["metric", *heads], rows, note=note, folded=True)


def _official(stored: Mapping[str, Any], metric: str) -> Sequence[float | None]:
    """A metric under the original, over v1 to v5, and its sensitivity, as stored."""
    original = stored.get("variants", {}).get(ORIGINAL, {}).get(ALL_SERVICES, {})
    sgdx = stored.get("sgdx", {})
    return original.get(metric), *(
        sgdx.get(k, {}).get(metric) for k in ("mean_v1-5", "sensitivity")
    )


def entailment(validation: Validation) -> Table:
    """A test of a model of entailment on gold responses, beside Table 2 of the paper."""
    headers, rows = validation_table(validation.by_evaluator)
    note = (
        "In percent, as in Table 2 of Chen et al. 2023 (arXiv 2301.12568). The paper's figures are "
        "of roberta-large-mnli on 10,000 sampled test turns. Recall is the share of actions that "
        "the gold response entails. Precision says how rarely it also entails a tampered action. "
        "The sentences are made from the schemas of the evaluator. Valid turns are those that pass."
    )
    parts = dict(part.split(":", 1) for part in validation.signature.split("|")[1:])
    turns = max(test["turns"] for test in validation.by_evaluator.values())
    made = table("Entailment on gold responses", headers, rows, note=note)
    signatures = {validation.signature: ""}
    return replace(made, caveats=data_caveats(parts, turns, "turns"), signatures=signatures)


def published_trackers() -> Table:
    """The published scores of trackers."""
    keys = "jga_orig", "jga_v1-5", "relative_difference", "ss_jga"
    rows: list[list[str | Cell]] = [
        [
            Cell(row.name, "oracle" if row.oracle else ""),
            services,
            *(number(of.get(key), 1) for key in keys),
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
        "In percent, from papers, whose authors measured with their own code. Do not compare them "
        "with the runs of this report, because the systems were trained in another way."
    )
    return table("Published figures of trackers", heads, rows, texts, note=note, folded=True)


def published_generators() -> Table:
    """The published scores of generators, each with its data and the scale of its BLEU."""
    headers, rows = published_table()
    texts = {"system", "BLEU's scale", "data", "source", "note"}
    note = (
        "These figures are from papers and their result files, measured with the authors' own "
        "code. BLEU is on several scales, and most papers do not state theirs; BLEU of different "
        "scales cannot be compared. Here, seen and unseen are about domains. Three figures with "
        "slashes are of all, seen and unseen turns. No pretrained model of entailment was run in "
        "this project to check any of these figures."
    )
    return table("Published figures of generators", headers, rows, texts, note=note, folded=True)
