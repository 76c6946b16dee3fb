"""What the report says of any task, in order: sections of tables and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from sgdx_dataset.io.progress import progress
from sgdx_eval.tables import NO_VALUE, Cell, Column, Table, p_value, table
from sgdx_metric.columns import Ints
from sgdx_metric.core import Figure
from sgdx_metric.units import ALL, SEEN

from .figures import (
    Estimate,
    Figures,
    changes_under_wordings,
    domains_of,
    services_of,
    sets_of,
    shown,
    signed,
    system_differences,
    under_wordings,
)
from .inputs import Inputs
from .page import Part, Report, Section
from .pictures import drawn
from .plots import (
    AUGMENTATION,
    BY_WORDING,
    DROP_BESIDE_FLIPS,
    FLIPS,
    LEARNING_CURVES,
    SERVICES,
    TURNS,
)
from .runs import Group, System, augmentation_families
from .turns import entailment, published_generators
from .verdict import verdict
from .view import Block

# In a report of more systems than these, all but what they score and which words cost it is
# folded, so that it can be looked through.
_FEW_SYSTEMS = 4
# How many pictures a group may have.
_PICTURES = 7
_LEAD = (
    "how well they do when somebody else words the services or tools, where they fail, and which "
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
    with progress("Drawing", _PICTURES * len(inputs.groups), " pictures"):
        parts = [
            Part(_title(group), list(_sections(group, systems, is_folded)), group, verdict(group))
            for group in inputs.groups
        ]
    if inputs.validations:
        section = Section(
            "entailment",
            "Right and wrong actions, told apart",
            tables=list(map(entailment, inputs.validations)),
        )
        parts.append(Part("Models of entailment, tested on gold responses", [section]))
    if len(parts) == 1:
        parts = [Part("", parts[0].sections, parts[0].group, parts[0].verdict)]
    views = {group.view.kind: group.view for group in inputs.groups}
    counts = {
        view.noun: sum(len(group.systems) for group in inputs.groups if group.view.kind == kind)
        for kind, view in views.items()
    }
    subjects = dict.fromkeys(view.subject for view in views.values())
    published = [made for view in views.values() if (made := view.published())]
    if inputs.validations and not any(group.view.noun == "generator" for group in inputs.groups):
        published.append(published_generators())
    named = [f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items()]
    subject = " and ".join(subjects) or "models of entailment"
    return Report(
        title=f"{subject} under reworded schemas".capitalize(),
        lead=f"{' and '.join(named)}: {_LEAD}" if named else "",
        parts=parts,
        warning=_NOT_ALIKE if any(group.number for group in inputs.groups) else "",
        left_out=inputs.left_out,
        not_analysed=inputs.not_analysed,
        command=command,
        published=published,
        errors=chain.from_iterable(
            analysis.errors for group in inputs.groups for analysis in group.analyses.values()
        ),
    )


def _title(group: Group) -> str:
    """The heading of a group, which says what was scored."""
    number = "" if group.number is None else f", group {group.number}"
    return f"{group.view.kind}{number}: {'; '.join(group.caveats) or 'the whole split'}"


def _sections(group: Group, systems: int, is_folded: bool) -> Iterator[Section]:
    """The sections about a group, given how many systems the whole report has."""
    sets = sets_of(group)
    tables = [comparison(group, sets)]
    if is_folded and len(sets) > 1:
        more = replace(tables[0], title="Seen and unseen services", note="", folded=True)
        tables = [comparison(group, {ALL: sets[ALL]}), more]
    yield Section(
        "comparison",
        "What rewording costs",
        group.view.text(group),
        tables=[*tables, *wording_table(group)],
        pictures=drawn(group, BY_WORDING, DROP_BESIDE_FLIPS),
    )
    if families := augmentation_families(group):
        yield Section(
            "augmentation",
            "Training on other words",
            tables=[augmentation(group, families)],
            pictures=drawn(group, AUGMENTATION),
            folded=is_folded,
        )
    yield from group.view.sections(group, systems, is_folded)
    if of_services := [
        *items_table(group, "service", services_of(group)),
        *items_table(group, "domain", domains_of(group)),
    ]:
        yield Section(
            "services",
            "Where it breaks: services and domains",
            tables=of_services,
            pictures=drawn(group, SERVICES),
            folded=is_folded,
        )
    if pictures := drawn(group, TURNS, FLIPS):
        title = "Where it breaks: turns and wordings"
        yield Section("turns", title, pictures=pictures, folded=is_folded)
    if curves := drawn(group, LEARNING_CURVES):
        yield Section("training", "How they were trained", pictures=curves, folded=is_folded)


def system_cell(system: System) -> Cell:
    """A system's name with what must stand beside its figures."""
    return Cell(system.name, "; ".join(system.caveats))


def comparison(group: Group, sets: Mapping[str, Ints]) -> Table:
    """The paper's Table 2: all figures of all systems on some sets of items, with intervals."""
    blocks: dict[str, Block] = {}
    for system in group.systems:  # Not all may have all figures, such as canonical ones.
        for block in group.view.blocks(system.first.results):
            blocks.setdefault(block.name, block).titles.update(block.titles)
    titles = {key: title for block in blocks.values() for key, title in block.titles.items()}
    columns = list(dict.fromkeys(titles.values()))
    rows: list[list[str | Cell]] = []
    figures: dict[str, Figure] = {}
    for system in group.systems:
        for block in blocks.values():
            for name, of_set in sets.items():
                members = of_set if block.members is None else block.members
                of_items = Figures(system, members)
                figures |= of_items.by_key
                cells = of_items.cells()
                by_title = {title: cells.get(key) for key, title in block.titles.items()}
                label = block.name if name == ALL else f"{block.name}, {name} services"
                count = group.results.task.count(group.results.raw.only(members))
                rows.append([system_cell(system), label if block.name else name, f"{count:,}"])
                rows[-1] += [by_title.get(title) or NO_VALUE for title in columns]
    note = [
        group.view.note,
        *_legends([(title, figures[key]) for key, title in titles.items() if key in figures]),
        "Seen services are in the original train split." if len(sets) > 1 else "",
        "Beside the figure of a single run is its 95 % interval over dialogues, and beside the "
        "mean of several seeds their standard deviation after ±.",
    ]
    if group.keys.reworded not in Figures(group.systems[0]).values():
        names = ", ".join(group.wordings)
        note.append(f"Only {names} was scored: a figure that needs another wording has a dash.")
    what = f"{group.unit} of" if "" in blocks else "metric"
    heads = ["system", what, group.unit, *columns]
    title = "Figures under reworded schemas"
    return table(title, heads, rows, [what], note=" ".join(filter(None, note)))


def _legends(figures: Sequence[tuple[str, Figure]]) -> list[str]:
    """What the titles of some figures mean, each sentence once."""
    terms = dict.fromkeys(term for _, figure in figures for term in figure.legend)
    lower = dict.fromkeys(title for title, figure in figures if figure.lower_is_better)
    percent = "In percent." if all(figure.scale == 100 for _, figure in figures) else ""
    return [percent, *terms, f"Lower is better: {', '.join(lower)}." if lower else ""]


def wording_table(group: Group) -> list[Table]:
    """The means under every wording, and how they differ from those under the original words."""
    if len(group.wordings) < 2:
        return []
    headlines = group.view.headlines(group.results.scores())
    remarks: dict[str, None] = {}
    rows: list[list[str | Cell]] = []
    for system in group.systems:
        of_system = []
        for headline in headlines:
            members = group.view.members(group.results, headline.key)
            means = under_wordings(system, headline, members)
            of_system.append((headline, means, changes_under_wordings(system, headline, members)))
        for wording in group.wordings:
            row: list[str | Cell] = [system.name, wording]
            for headline, means, changes in of_system:
                row.append(shown(headline, means[wording].value))
                change = changes.get(wording)
                row += [change_cell(headline, change), p_value(change.p)] if change else ["", ""]
            of_run = group.view.remarks(system.first, wording)
            remarks |= dict.fromkeys(of_run)
            rows.append([*row, *(of_run.get(title, "") for title in remarks)])
    note = (
        "The difference is to the same items under the original words, in points. It has its 95 % "
        "interval and the p-value of paired approximate randomisation."
    )
    if remarks:
        note += " Precision and recall are of the decision to call, over the turns predicted."
    heads = [Column(name, h.title) for h in headlines for name in ("mean", "difference", "p")]
    heads += map(Column, remarks)
    rows = [[*row, *[""] * (len(heads) + 2 - len(row))] for row in rows]
    folded = len(group.systems) > 1
    columns: list[str | Column] = ["system", "wording", *heads]
    return [table("Wording by wording", columns, rows, ["wording"], note=note, folded=folded)]


def change_cell(figure: Figure, change: Estimate | None) -> Cell:
    """A difference in points with its interval; a dash where there is none."""
    if change is None:
        return Cell(NO_VALUE)
    return Cell(signed(figure, change.value), change.ends(partial(signed, figure)))


def augmentation(group: Group, families: Sequence[Sequence[System]]) -> Table:
    """The paper's Table 3: what training on other words changes."""
    rows: list[list[str | Cell]] = []
    keys = group.keys.figures[:3]
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


def items_table(group: Group, what: str, sets: Mapping[str, Ints]) -> list[Table]:
    """The main figures of sets of items, such as services; those that lose most come first."""
    items, keys = group.results.raw.items, group.view.of_services(group.results.scores())
    titles: dict[str, str] = {}
    losses: dict[str, float] = {}
    seen = set(items.service[items.sets[SEEN]]) if SEEN in items.sets else set()
    rows: dict[str, list[str | Cell]] = {}
    for name, members in sets.items():
        count = group.results.task.count(group.results.raw.only(members))
        is_seen = "seen" if name in seen else "unseen"
        rows[name] = [Cell(name, is_seen if what == "service" else ""), f"{count:,}"]
        for system in group.systems:
            figures = Figures(system, members)
            values, cells = figures.values(), figures.cells(has_intervals=False)
            losses.setdefault(name, values.get("loss", 0.0))
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
