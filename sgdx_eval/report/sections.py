"""What the report says of any task, in order: sections of tables and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from sgdx_dataset.io.progress import progress
from sgdx_eval.tables import NO_VALUE, Cell, Column, Table, p_value, table
from sgdx_metric.columns import Ints
from sgdx_metric.statistics import Figure
from sgdx_metric.units import ALL, SEEN

from . import plots
from .figures import (
    Figures,
    change_cell,
    changes_under_variants,
    shown,
    system_differences,
    under_variants,
)
from .inputs import Inputs
from .page import Part, Report, Section
from .pictures import drawn
from .runs import Group, System
from .states import StatesView
from .tools import CallsView, ToolsView
from .turns import TurnsView, entailment, published_generators
from .verdict import verdict
from .view import Block, View

VIEWS: Mapping[str, View] = {
    "state": StatesView(),
    "calls": CallsView(),
    "turns": TurnsView(),
    "tools": ToolsView(),
}
OTHER = View()
# In a report of more systems than these, all but what they score and which words cost it is
# folded, so that it can be looked through.
_FEW_SYSTEMS = 4
# How many pictures a group may have.
_PICTURES = 7
_LEAD = (
    "what it costs when somebody else words the same services or tools, where it breaks, and which "
    "words cause it."
)
_NOT_ALIKE = (
    "Runs that were scored in the same way on the same data are in one group. Compare figures only "
    "within a group; --dialogues FILE scores all runs on the same dialogues."
)


def build_report(inputs: Inputs, command: str) -> Report:
    """Put together what is shown, given the command that makes the report again."""
    systems = sum(len(group.systems) for group in inputs.groups)
    is_folded = systems > _FEW_SYSTEMS
    parts = []
    # How many systems each kind has, and the published figures of each kind.
    counts: dict[View, int] = {}
    with progress("Drawing", _PICTURES * len(inputs.groups), " pictures"):
        for group in inputs.groups:
            view = view_of(group)
            counts[view] = counts.get(view, 0) + len(group.systems)
            sections = list(_sections(group, view, systems, is_folded))
            parts.append(Part(_title(group, view), sections, group, verdict(group, view)))
    published = [made for view in counts if (made := view.published())]
    if inputs.validations:
        tables = list(map(entailment, inputs.validations))
        section = Section("entailment", "Right and wrong actions, told apart", tables=tables)
        parts.append(Part("Models of entailment, tested on gold responses", [section]))
        if VIEWS["turns"] not in counts:
            published.append(published_generators())
    if len(parts) == 1:
        parts = [replace(parts[0], title="")]
    named = [f"{n} {view.noun}{'' if n == 1 else 's'}" for view, n in counts.items()]
    subject = " and ".join(dict.fromkeys(view.subject for view in counts)) or "models of entailment"
    return Report(
        title=f"{subject} under reworded schemas".capitalize(),
        lead=f"{' and '.join(named)}: {_LEAD}" if named else "",
        parts=parts,
        meanings=meanings(inputs.groups),
        warning=_NOT_ALIKE if any(group.number for group in inputs.groups) else "",
        left_out=inputs.left_out,
        not_analysed=inputs.not_analysed,
        command=command,
        published=published,
        errors=chain.from_iterable(
            analysis.errors for group in inputs.groups for analysis in group.analyses.values()
        ),
    )


def view_of(group: Group) -> View:
    """What is shown of the group's task alone."""
    return VIEWS.get(group.task.name, OTHER)


def _title(group: Group, view: View) -> str:
    """The heading of a group, which says what was scored."""
    number = "" if group.number is None else f", group {group.number}"
    return f"{view.kind}{number}: {'; '.join(group.caveats) or 'the whole split'}"


def _sections(group: Group, view: View, systems: int, is_folded: bool) -> Iterator[Section]:
    """The sections about a group, given how many systems the whole report has."""
    apart = {name: members for name, members in group.sets.items() if name != ALL}
    if is_folded and apart:
        more = comparison(group, view, apart)
        more = replace(more, title="Seen and unseen services", note="", folded=True)
        tables = [comparison(group, view, {ALL: group.sets[ALL]}), more]
    else:
        tables = [comparison(group, view, group.sets)]
    yield Section(
        "comparison",
        "What rewording costs",
        view.text(group),
        tables=[*tables, *variant_table(group)],
        pictures=drawn(group, plots.by_variant, plots.drop_beside_flips),
    )
    if families := group.families():
        yield Section(
            "augmentation",
            "Training on other words",
            tables=[augmentation(group, families)],
            pictures=drawn(group, plots.augmentation),
            folded=is_folded,
        )
    more_tables = [
        replace(made, title=f"{made.title}: {system.name}", folded=len(group.systems) > 1)
        for system in group.systems
        if (stored := system.first.stored)
        for made in group.task.more_tables(stored)
    ]
    if more_tables:
        yield Section("more", *view.more, tables=more_tables, folded=is_folded)
    yield from view.sections(group, systems, is_folded)
    if of_services := [
        *items_table(group, view, "service", group.services),
        *items_table(group, view, "domain", group.domains),
    ]:
        yield Section(
            "services",
            "Where it breaks: services and domains",
            tables=of_services,
            pictures=drawn(group, plots.services),
            folded=is_folded,
        )
    if pictures := drawn(group, plots.turns, plots.flips):
        title = "Where it breaks: turns and variants"
        yield Section("turns", title, pictures=pictures, folded=is_folded)
    if curves := drawn(group, plots.learning_curves):
        yield Section("training", "How they were trained", pictures=curves, folded=is_folded)


def comparison(group: Group, view: View, sets: Mapping[str, Ints]) -> Table:
    """The paper's Table 2: all figures of all systems on some sets of items, with intervals."""
    blocks: dict[str, Block] = {}
    for system in group.systems:  # Not all may have all figures, such as canonical ones.
        for block in view.blocks(system.first.results):
            blocks.setdefault(block.name, block).titles.update(block.titles)
    titles = {key: title for block in blocks.values() for key, title in block.titles.items()}
    columns = list(dict.fromkeys(titles.values()))
    rows: list[list[str | Cell]] = []
    for system in group.systems:
        for block in blocks.values():
            for name, of_set in sets.items():
                members = of_set if block.members is None else block.members
                cells = Figures(system, members).cells()
                by_title = {title: cells.get(key) for key, title in block.titles.items()}
                label = block.name if name == ALL else f"{block.name}, {name} services"
                count = group.count(members)
                rows.append([system.cell, label if block.name else name, f"{count:,}"])
                rows[-1] += [by_title.get(title) or NO_VALUE for title in columns]
    note = [
        view.note,
        "Below a figure is its 95 % interval, or after ± its deviation over seeds.",
    ]
    if group.keys.reworded not in Figures(group.systems[0]).values():
        names = ", ".join(group.variants)
        note.append(f"Only {names} was scored: a figure that needs another variant has a dash.")
    what = f"{group.unit} of" if "" in blocks else "metric"
    heads = ["system", what, group.unit, *columns]
    title = "Figures under reworded schemas"
    return table(title, heads, rows, [what], note=" ".join(filter(None, note)))


def meanings(groups: Sequence[Group]) -> list[str]:
    """What the titles of the figures mean, and which are better when they are low."""
    shown: dict[tuple[str, str], Figure] = {}
    for group in groups:
        for results in (system.first.results for system in group.systems):
            figures = {f.key: f for f in results.task.figures(results.scores())}
            for block in view_of(group).blocks(results):
                shown |= {(title, key): figures[key] for key, title in block.titles.items()}
    lower = dict.fromkeys(title for (title, _), f in shown.items() if f.lower_is_better)
    has_sets = any(len(group.sets) > 1 for group in groups)
    has_bleu = any(figure.scale == 1 for figure in shown.values())
    sentences = [
        f"All figures{' but BLEU' if has_bleu else ''} are in %.",
        *(term for figure in shown.values() for term in figure.legend),
        f"Lower is better: {', '.join(lower)}." if lower else "",
        "Seen services are in the original train split." if has_sets else "",
        *(view_of(group).sources for group in groups),
        "The signature says what was scored and how. docs/figures.md defines all figures.",
    ]
    return list(filter(None, dict.fromkeys(sentences))) if shown else []


def variant_table(group: Group) -> list[Table]:
    """The means under every variant, and how they differ from those under the original words."""
    if len(group.variants) < 2:
        return []
    rows: list[list[str | Cell]] = []
    for system in group.systems:
        of_system = []
        for metric, headline in group.headlines.items():
            members = group.members(metric)
            means = under_variants(system, metric, members)
            of_system.append((headline, means, changes_under_variants(system, metric, members)))
        for variant in group.variants:
            row: list[str | Cell] = [system.name, variant]
            for headline, means, changes in of_system:
                change = changes.get(variant)
                cells = [change_cell(headline, change), p_value(change.p)] if change else ["", ""]
                row += [shown(headline, means[variant].value), *cells]
            rows.append(row)
    note = (
        "The difference is to the same items under the original words, in points. It has its 95 % "
        "interval and the p-value of paired approximate randomisation."
    )
    heads = [
        Column(n, mean.title)
        for mean in group.headlines.values()
        for n in ("mean", "difference", "p")
    ]
    folded = len(group.systems) > 1
    columns: list[str | Column] = ["system", "variant", *heads]
    return [table("Variant by variant", columns, rows, ["variant"], note=note, folded=folded)]


def augmentation(group: Group, families: Sequence[Sequence[System]]) -> Table:
    """The paper's Table 3: what training on other words changes."""
    rows: list[list[str | Cell]] = []
    keys = group.keys[2:5]
    for plain, *others in families:
        for system in (plain, *others):
            figures = Figures(system, group.main)
            cells = figures.cells(has_intervals=False)
            changes = {} if system is plain else system_differences(plain, system, group.main)
            first = Cell(system.first.augmentation or "none", "; ".join(system.caveats))
            row: list[str | Cell] = [plain.name, first]
            for key in keys:
                row += [cells[key], change_cell(figures.by_key[key], changes.get(key))]
            rows.append(row)
    heads = [name for key in keys for name in (figures.by_key[key].title, "difference")]
    note = (
        "The figures are in percent, as in Table 3 of the SGD-X paper. Each difference is to the "
        "row without augmentation, in percentage points, with its paired 95 % interval over "
        "dialogues. With several seeds, it is the difference of the means over the seeds. Oracle "
        "rows were trained on v1 to v5 themselves and are upper bounds."
    )
    heads = ["system", "augmentation", *heads]
    return table("Training on other words", heads, rows, ["augmentation"], note=note)


def items_table(group: Group, view: View, what: str, sets: Mapping[str, Ints]) -> list[Table]:
    """The main figures of sets of items, such as services; those that lose most come first."""
    items, keys = group.results.raw.items, view.of_services(group)
    titles: dict[str, str] = {}
    losses: dict[str, float] = {}
    seen = set(items.service[items.sets[SEEN]]) if SEEN in items.sets else set()
    rows: dict[str, list[str | Cell]] = {}
    for name, members in sets.items():
        count = group.count(members)
        is_seen = "seen" if name in seen else "unseen"
        rows[name] = [Cell(name, is_seen if what == "service" else ""), f"{count:,}"]
        for system in group.systems:
            figures = Figures(system, members)
            cells = figures.cells(has_intervals=False)
            if system is group.systems[0]:  # All have these figures or none has.
                values = figures.values()
                losses[name] = values.get("loss", 0.0)
            for key in keys:
                if key in values:
                    titles[key] = figures.by_key[key].title
                    rows[name].append(cells[key])
    if not titles:
        return []
    notes = {
        "service": "Services have their original names. A service is seen if the original train "
        "split has it.",
        "domain": "A domain is a service's name up to its first underscore.",
    }
    note = (
        f"In percent. {notes[what]} Those that lose most under other words come first. Figures of "
        f"few {group.unit} are rough."
    )
    heads = [Column(title, s.label) for s in group.systems for title in titles.values()]
    ranked = [rows[name] for name in sorted(rows, key=lambda name: -losses[name])]
    return [table(f"By {what}", [what, group.unit, *heads], ranked, note=note, folded=True)]
