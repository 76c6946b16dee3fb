"""How the report shows slots: tables, a plot, and the sections of rewordings and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from sgdx_eval.tables import NO_VALUE, Cell, Column, Table, format_over_runs, percent, table
from sgdx_metric.columns import Ints
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from ..figures import official
from ..page import RewordingList, Section
from ..pictures import COLOURS, INK, draw_panels, drawn, plot
from ..runs import Group, System
from .breakage import (
    INTENT,
    MEANINGS,
    SLOT_CLASSES,
    Analysis,
    Rewording,
    choose_mistakes,
    costliest_rewordings,
    find_mistakes,
    format_count,
    with_intervals,
)
from .scores import FEWEST_FRAMES, KINDS, ORIGINS, RULE, slot_accuracies, slot_losses

# How many errors and rewordings the page holds, all systems together, so that it stays small; the
# tables count all of them, and errors.jsonl has all errors.
_ERRORS = 200
_REWORDINGS = 300
_MOST_OF_A_SYSTEM = 60


def slot_sections(group: Group, systems: int, is_folded: bool) -> Iterator[Section]:
    """The sections of rewordings, of errors, of intents and of slots, where there are any.

    `systems` is how many systems the whole report has, which share the room for lists.
    """
    analysed = _analysed(group)
    lists = [part for s in analysed for part in _rewordings(s, group.analyses[s.name], systems)]
    if of_slots := [some for some in lists if some.what == "slots"]:
        yield Section(
            "rewordings",
            "The costliest rewordings",
            _REWORDINGS_TEXT,
            pictures=drawn(group, words_changed),
            rewordings=of_slots,
        )
    mistakes = [m for system in analysed for m in find_mistakes(group.analyses[system.name].errors)]
    share = max(1, _ERRORS * len(group.systems) // systems)
    if classes := error_classes(group):
        of_slots_alone = [mistake for mistake in mistakes if mistake.first.kind != INTENT]
        yield Section(
            "errors",
            "Errors, dialogue by dialogue",
            tables=[classes],
            mistakes=choose_mistakes(of_slots_alone, share),
            number_of_mistakes=len(of_slots_alone),
        )
    if intents := active_intents(group):
        of_intents = [mistake for mistake in mistakes if mistake.first.kind == INTENT]
        yield Section(
            "intents",
            "Errors of the active intent, which JGA does not count",
            tables=[intents],
            rewordings=[some for some in lists if some.what == "intents"],
            mistakes=choose_mistakes(of_intents, share // 4),
            number_of_mistakes=len(of_intents),
            folded=True,
        )
    kinds = by_slot_kind(group)
    if kinds and any(cell.text != NO_VALUE for row in kinds.rows for cell in row[2:]):
        yield Section("slots", "Where it breaks: slots", tables=[kinds], folded=is_folded)


def _analysed(group: Group) -> list[System]:
    return [system for system in group.systems if system.name in group.analyses]


_REWORDINGS_TEXT = (
    "These are the slots whose new words cost most. A frame is lost if the slot is right under "
    "the original words and wrong under the new ones. It is won in the opposite case. Net is "
    "lost minus won, with its 95 % interval over dialogues. An error counts again in every later "
    "turn whose state still has it. With several seeds, the figures are means over them."
)


def _rewordings(system: System, analysis: Analysis, systems: int) -> Iterator[RewordingList]:
    """The costliest rewordings of slots, and of intents, where there are any."""
    rewordings = costliest_rewordings(analysis)
    longest = max(10, min(_MOST_OF_A_SYSTEM, _REWORDINGS // systems))
    for what in ("slots", "intents"):
        some = [r for r in rewordings if r.element.is_intent == (what == "intents")]
        if some:
            rows = list(map(_cells, with_intervals(analysis, some[:longest])))
            yield RewordingList(system, what, Table("", "", _COLUMNS, rows), len(some))


_COLUMNS = [
    Column("service", numeric=False), Column("variant", numeric=False),
    Column("original words", numeric=False), Column("new words", numeric=False),
    Column("lost"), Column("won"), Column("net"),
]  # fmt: skip


def _cells(rewording: Rewording) -> list[Cell]:
    return [
        Cell(rewording.element.service),
        Cell(rewording.variant),
        *(Cell(w.name, w.description) for w in (rewording.before, rewording.after)),
        Cell(format_count(rewording.lost)),
        Cell(format_count(rewording.won)),
        rewording.net_cell(),
    ]


def error_classes(group: Group) -> Table | None:
    """How many slots the reworded schemas break, by class; None where they break none."""
    systems = _analysed(group)
    counts = [Counter(error.kind for error in group.analyses[s.name].errors) for s in systems]
    for of_system in counts:
        del of_system[INTENT]
    if not any(counts):
        return None
    rows = []
    for kind in SLOT_CLASSES:
        row = [Cell(kind, MEANINGS[kind])]
        for of_system in counts:
            total = of_system.total()
            row.append(Cell(f"{of_system[kind]:,}"))
            row.append(Cell(percent(of_system[kind] / total if total else None, 1)))
        rows.append(row)
    heads = [Column(name, s.label) for s in systems for name in ("errors", "%")]
    note = (
        "An error is a slot that scores less than 1 under a reworded schema, in a frame whose "
        "slots are all right under the original one. It counts once for each frame and variant. "
        "With several seeds these are the errors of the first run."
    )
    return table("Errors by class", ["class", *heads], rows, note=note)


def active_intents(group: Group) -> Table | None:
    """How well systems know the active intent; None where no rewording breaks one."""
    rows, broken = [], 0
    for system in _analysed(group):
        count = sum(error.kind == INTENT for error in group.analyses[system.name].errors)
        broken += count
        accuracies = zip(*(official(run.stored, "active_intent_accuracy") for run in system.runs))
        rows.append(
            [
                system.cell,
                *list(map(format_over_runs, accuracies))[:2],
                Cell(f"{count:,}"),
            ]
        )
    if not broken:
        return None
    note = (
        "The accuracy is in percent. An error is an intent that is right under the original "
        "schema and wrong under a reworded one, in one frame under one variant."
    )
    return table("Active intent", ["system", "original", "v1-5", "errors"], rows, note=note)


def by_slot_kind(group: Group) -> Table | None:
    """The accuracy of slots by their kind and by who said their value; None without analyses."""
    systems = _analysed(group)
    if not systems:
        return None
    gold = group.analyses[systems[0].name].gold
    members: dict[str, Ints] = {
        f"kind: {name}": np.flatnonzero(gold.kind == i) for i, name in enumerate(KINDS)
    }
    if gold.turns:
        said = {
            f"said by: {who}": np.flatnonzero(gold.origin == i) for i, who in enumerate(ORIGINS)
        }
        members |= said
    rows = []
    for name, answers in members.items():
        row = [Cell(name), Cell(f"{len(answers):,}")]
        for system in systems:
            figures = slot_accuracies(gold, group.analyses[system.name].runs, answers)
            row += [format_over_runs(figure) for figure in figures]
        rows.append(row)
    names = ("Acc_orig", "Acc_v1-5", "SS")
    heads = [Column(name, s.label) for s in systems for name in names]
    note = (
        "In percent. Acc is the mean score of the slots that have a value in the reference; a "
        "value counts in every frame whose state holds it. SS is the schema sensitivity of Acc. "
        "Yes-or-no slots are categorical slots with the values True and False. "
        f"{RULE if gold.turns else ''}"
    )
    title = "By kind of slot, and by who said the value"
    return table(title, ["slots", "values", *heads], rows, note=note)


_BIN = 5


@plot(
    "Loss of accuracy by the number of schema words changed",
    "Each point is a slot under one of v1 to v5. The horizontal axis says how many words of its "
    "name and description are inserted, deleted or replaced; the vertical axis is its accuracy "
    "under the original minus that under the variant, in percentage points. The line is the mean "
    f"over frames in bins of {_BIN} words. Slots that have a value in fewer than {FEWEST_FRAMES} "
    "frames are left out.",
)
def words_changed(group: Group) -> Any:
    """A point for each slot and variant, and the mean; None where nothing was analysed."""
    systems = _analysed(group)
    variants = set(group.variants)
    if not (systems and variants & set(PAPER_VARIANTS) and ORIGINAL in variants):
        return None

    def draw(axes: Any, system: System, i: int) -> None:
        analysis = group.analyses[system.name]
        words, loss, frames = slot_losses(analysis.gold, analysis.runs)
        loss = 100 * loss
        colour = COLOURS[i % len(COLOURS)]
        axes.axhline(0, color=INK, linewidth=0.6)
        axes.plot(words, loss, ".", color=colour, alpha=0.35, markersize=4, markeredgewidth=0)
        if len(words):
            bins = words // _BIN
            x = np.unique(bins)
            means = [np.average(loss[bins == b], weights=frames[bins == b]) for b in x]
            axes.plot(x * _BIN + (_BIN - 1) / 2, means, "-", color=colour, marker="o", markersize=4)
        axes.set(xlabel="words changed", ylabel="accuracy lost, points")

    return draw_panels(systems, draw, 2.8, sharey=True)
