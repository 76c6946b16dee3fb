"""The report's tables of generators: how faithful their responses are, and what rewording does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean, stdev

from sgdx_metric.variants import ORIGINAL
from sgsacc_metric.bleu import CONVENTIONS
from sgsacc_metric.cli import tables

from ..provenance import Group, data_marks
from ..tables import NOTHING, Cell, Column, Table, table_of
from .runs import Figures, GenerationRun, Validation, model_marks

Generators = Group[GenerationRun]
# The figures of the table of faithfulness, each with its column and the heading above it.
_WORDING = {
    "bleu_orig": Column("orig", "BLEU"),
    "bleu_v1_5": Column("v1-5", "BLEU"),
    "ser_orig": Column("orig", "SER"),
    "ser_v1_5": Column("v1-5", "SER"),
    "sgsacc_orig": Column("orig", "SGSAcc"),
    "sgsacc_v1_5": Column("v1-5", "SGSAcc"),
    "ss_sgsacc": Column("SS", "SGSAcc"),
    "changed": Column("text", "changes"),
    "flips": Column("verdict", "changes"),
}
_VALIDATED = {
    "sgsacc_validated_orig": "validated_orig",
    "sgsacc_validated_v1_5": "validated_v1-5",
}
_OF_ENTAILMENT = ("sgsacc", "ss_sgsacc", "flips")
_MOST_FAILED = 12


def faithfulness(group: Generators) -> Table:
    """What rewording does to faithfulness and text, of all turns and of seen and unseen ones."""
    shown = _shown(group, _WORDING)
    rows = []
    for system in group.systems:
        given = system.first.input
        named = Cell(
            system.name,
            "; ".join([f"input: {given}"] * (given not in ("", system.name)) + system.marks),
        )
        for name in system.first.scores.sgdx.groups():
            of_runs = [run.scores.sgdx.groups()[name] for run in system.runs]
            if of_runs[0].turns:
                cells = [_cell(of_runs, key) for key in shown]
                rows.append([named, Cell(name), Cell(f"{of_runs[0].turns:,}"), *cells])
    columns = [Column("system", numeric=False), Column("turns of", numeric=False), Column("turns")]
    columns += shown.values()
    note = (
        "BLEU is from 0 to 100 (tok:13a, case:mixed), all else in percent. SER is the slot error "
        "rate: turns that lack a value of a slot that is not categorical. "
        f"{_SGSACC if _judged(group) else _NO_MODEL}"
        "Orig is under the original schemas, v1-5 the mean under the reworded ones. The text "
        "changes where it is not that under the original schemas. Seen and unseen are of services, "
        "seen and unseen domains of domains, as the papers group them. Beneath a single run's "
        "figure stands its 95 % interval over dialogues, beneath the mean of several seeds ± their "
        "standard deviation."
    )
    return table_of(group, "Faithfulness under reworded schemas", note, columns, rows)


_SGSACC = (
    "SGSAcc is the share of turns that entail all that they should say, by the model of entailment "
    "in the signature, SS its schema sensitivity, and the verdict changes where it is not the same "
    "under all of v1 to v5. "
)
_NO_MODEL = "There is no SGSAcc, because no model of entailment was asked. "


def validated(group: Generators) -> Table | None:
    """SGSAcc of the turns on which the model of entailment can be relied on, beside that of all."""
    if not _judged(group):
        return None
    keys = {"sgsacc_orig": "SGSAcc_orig", "sgsacc_v1_5": "SGSAcc_v1-5", **_VALIDATED}
    rows = []
    for system in group.systems:
        for name in system.first.scores.sgdx.groups():
            of_runs = [run.scores.sgdx.groups()[name] for run in system.runs]
            if of_runs[0].turns:
                cells = [_cell(of_runs, key) for key in keys]
                rows.append([Cell(system.name, "; ".join(system.marks)), Cell(name), *cells])
        alone = [_without_context(run) for run in system.runs]
        cells = [_summed_up(alone, "sgsacc"), *[Cell(NOTHING)] * 3]
        named = Cell(system.name, "; ".join(system.marks))
        rows.append([named, Cell("all, without the context"), *cells])
    columns = [Column("system", numeric=False), Column("turns of", numeric=False)]
    columns += [Column(name) for name in keys.values()]
    note = (
        "In percent. A turn is valid if its gold response entails all that it should say and no "
        f"tampered value: {_valid(group)}. Validation leaves out hard turns, so both figures stand "
        "here. Context can make a response pass that says nothing, where the user has just said "
        "it all; the last row of a system is without it, under the original schemas."
    )
    return table_of(group, "SGSAcc of all turns and of the validated ones", note, columns, rows)


def _without_context(run: GenerationRun) -> float | None:
    """SGSAcc of all turns under the original schemas, by the response alone."""
    return run.scores.variants.get(ORIGINAL, {}).get("#ALL_SERVICES", {}).get("sgsacc_alone")


def _valid(group: Generators) -> str:
    counts = group.first.scores.counts
    turns = counts.turns["all"]
    valid = turns if counts.valid_turns is None else counts.valid_turns
    return f"{valid:,} of {turns:,} turns are"


def failing(group: Generators) -> Table | None:
    """Which actions fail validation, by act and slot; None where none does."""
    counts = group.first.scores.counts
    if not (_judged(group) and counts.failed_by):
        return None
    rows = [
        [Cell(one.act), Cell(one.slot or NOTHING), Cell(f"{one.actions:,}")]
        for one in counts.failed_by[:_MOST_FAILED]
    ]
    every = sum(one.actions for one in counts.failed_by)
    note = (
        f"The {len(rows)} acts and slots with the most of the {every:,} actions whose gold "
        "response does not entail them, or entails a tampered value. The turns with such an action "
        "are not valid. This depends on the model of entailment alone, not on any system."
    )
    columns = [Column("act", numeric=False), Column("slot", numeric=False), Column("actions")]
    return table_of(group, "What fails validation", note, columns, rows)


def conventions(group: Generators) -> Table:
    """BLEU of all turns under the original schemas by four conventions."""
    scores = {one.name: {"conventions": one.first.scores.conventions} for one in group.systems}
    headers, rows = tables.bleu_table(scores)
    columns = [Column(headers[0], numeric=False), *map(Column, CONVENTIONS)]
    signatures = "; ".join(
        f"{name} is {header.replace(' ', '|')}" for name, header in zip(CONVENTIONS, headers[1:])
    )
    note = (
        "From 0 to 100, of all turns under the original schemas. Figures of different conventions "
        f"do not compare, and most papers do not name theirs: {signatures}. The first is the "
        "headline. Of several seeds this is the first run."
    )
    cells = [[Cell(text) for text in row] for row in rows]
    return table_of(group, "BLEU under four conventions", note, columns, cells)


def by_service(group: Generators) -> Table:
    """The headline figures of each service."""
    keys = {"bleu_v1_5": "BLEU", "ser_v1_5": "SER"}
    keys |= {"sgsacc_v1_5": "SGSAcc"} if _judged(group) else {}
    keys |= {"changed": "changed"}
    rows = []
    for name, first in sorted(group.first.scores.sgdx.by_service.items()):
        row = [Cell(name), Cell(f"{first.turns:,}")]
        for system in group.systems:
            of_runs = [run.scores.sgdx.by_service.get(name, Figures()) for run in system.runs]
            row += [_cell(of_runs, key) for key in keys]
        rows.append(row)
    columns = [Column("service", numeric=False), Column("turns")]
    columns += [Column(title, s.label) for s in group.systems for title in keys.values()]
    note = (
        "Under v1 to v5: BLEU from 0 to 100, all else in percent; changed are turns whose text is "
        "not that under the original schemas. Services go by the evaluator's names. Figures of "
        "services with few turns are rough."
    )
    return table_of(group, "Faithfulness by service", note, columns, rows)


def entailment(validation: Validation) -> Table:
    """A test of a model of entailment on gold responses, beside Table 2 of the paper."""
    headers, rows = tables.validation_table(validation.by_evaluator)
    columns = [Column(headers[0], numeric=False), *map(Column, headers[1:])]
    note = (
        "In percent, as Table 2 of Chen et al. 2023 (arXiv 2301.12568), whose figures are of "
        "roberta-large-mnli on 10,000 sampled test turns. Recall is the share of actions that the "
        "gold response entails, and precision says how rarely it also entails a tampered action. "
        "The evaluator is the wording that the sentences are made of; valid are the turns that "
        "pass."
    )
    parts = dict(part.split(":", 1) for part in validation.signature.split("|")[1:])
    turns = max(of["turns"] for of in validation.by_evaluator.values())
    return Table(
        "Entailment on gold responses",
        note,
        columns,
        [[Cell(NOTHING if text == "-" else text) for text in row] for row in rows],
        [*data_marks(parts, turns, "turns"), *model_marks(parts)],
        {validation.signature: ""},
    )


def published() -> Table:
    """The published figures of generators, each with its data and the scale of its BLEU."""
    headers, rows = tables.published_table()
    text = {"system", "BLEU's scale", "data", "source", "note"}
    columns = [Column(name, numeric=name not in text) for name in headers]
    note = (
        "From papers and their result files, measured by their authors with their own code. BLEU "
        "stands on several scales, most of which are not stated, so set no BLEU of another scale "
        "against it; seen and unseen are of domains there. Three figures with slashes are all, "
        "seen and unseen. Raters agreed with the paper's entailment on 90.0 % of 400 validated "
        "pairs and on 76 % of 25 others, and SGSAcc with SER on 99.7 % of SER's turns. No figure "
        "of a pretrained model of entailment in this project stands behind any of these."
    )
    cells = [[Cell(NOTHING if text == "-" else text) for text in row] for row in rows]
    return Table("Published figures of generators", note, columns, cells)


def _judged(group: Generators) -> bool:
    return group.first.judged


def _shown(group: Generators, keys: Mapping[str, Column]) -> dict[str, Column]:
    """The figures that a group has: those of SGSAcc only with a model of entailment."""
    return {
        key: name
        for key, name in keys.items()
        if _judged(group) or not key.startswith(_OF_ENTAILMENT)
    }


def _cell(of_runs: Sequence[Figures], key: str) -> Cell:
    """A figure of one run with its interval, or of several as mean and deviation."""
    ends = of_runs[0].confidence.get(key.replace("_v1_5", "_v1-5")) if len(of_runs) == 1 else None
    return _summed_up([getattr(one, key) for one in of_runs], key, ends)


def _summed_up(
    values: Sequence[float | None], key: str, ends: tuple[float, float] | None = None
) -> Cell:
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return Cell(NOTHING)
    if len(known) > 1:
        return Cell(_number(key, mean(known)), f"± {_number(key, stdev(known))}")
    low_high = f"{_number(key, ends[0])} to {_number(key, ends[1])}" if ends else ""
    return Cell(_number(key, known[0]), low_high)


def _number(key: str, value: float) -> str:
    """A figure with one decimal, BLEU as it is and all else in percent; SER is small, so two."""
    scaled = value if key.startswith("bleu") else 100 * value
    return f"{scaled:.2f}" if key.startswith("ser") else f"{scaled:.1f}"
