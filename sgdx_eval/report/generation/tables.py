"""The report's tables of generators: how faithful their responses are, and what rewording does."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sgdx_eval.tables import NO_VALUE, Cell, Column, Table, format_figure, format_over_runs
from sgdx_eval.turns import tables
from sgdx_metric.variants import ORIGINAL
from sgsacc_metric.bleu import CONVENTIONS

from ..systems import ScoredSystem, SystemGroup
from .runs import GeneratorRun, TurnGroupScores, Validation, turn_caveats

GeneratorGroup = SystemGroup[GeneratorRun]
# The scores of the table of faithfulness, each with its column and the heading above it.
_WORDING = {
    "bleu_orig": Column("orig", "BLEU"),
    "bleu_v1_5": Column("v1-5", "BLEU"),
    "ser_orig": Column("orig", "SER"),
    "ser_v1_5": Column("v1-5", "SER"),
    "ser_worst": Column("worst", "SER"),
    "ser_flips": Column("flips", "SER"),
    "sgsacc_orig": Column("orig", "SGSAcc"),
    "sgsacc_v1_5": Column("v1-5", "SGSAcc"),
    "sgsacc_worst": Column("worst", "SGSAcc"),
    "sgsacc_flips": Column("flips", "SGSAcc"),
    "ss_sgsacc": Column("SS", "SGSAcc"),
    "changed": Column("text", "changes"),
    "flips": Column("verdict", "changes"),
}
# Those of the table of validation.
_VALIDATED = {
    "sgsacc_orig": "SGSAcc_orig",
    "sgsacc_v1_5": "SGSAcc_v1-5",
    "sgsacc_validated_orig": "validated_orig",
    "sgsacc_validated_v1_5": "validated_v1-5",
}
_OF_ENTAILMENT = ("sgsacc", "ss_sgsacc", "flips")
_MOST_FAILED = 12


def faithfulness(group: GeneratorGroup, of_all_alone: bool = False) -> Table:
    """What rewording does to faithfulness and text, of all turns and of seen and unseen ones.

    Args:
        group: The systems.
        of_all_alone: Whether the rows of seen and unseen turns are left out.
    """
    keys = {key: column for key, column in _WORDING.items() if _has_score(group, key)}
    rows = []
    for system in group.systems:
        remarks = list(system.caveats)
        if system.first.input not in ("", system.name):
            remarks.insert(0, f"input: {system.first.input}")
        for name, scores in _scores_by_group(system).items():
            if of_all_alone and name != "all":
                continue
            turns = Cell(f"{scores[0].turns:,}")
            cells = [score_cell(scores, key) for key in keys]
            rows.append([Cell(system.name, "; ".join(remarks)), Cell(name), turns, *cells])
    columns = [Column("system", numeric=False), Column("turns of", numeric=False), Column("turns")]
    columns += keys.values()
    note = (
        "BLEU goes from 0 to 100 (tok:13a, case:mixed). All other figures are in percent. SER is "
        "the slot error rate: the share of turns that lack a value of a non-categorical slot. "
        f"{_SGSACC if group.first.judged else _NO_MODEL}"
        "Orig is under the original schemas. V1-5 is the mean under the reworded ones. Worst is "
        "the mean of each turn under its worst wording of these six. Flips are the turns that are "
        "right under one of the six and wrong under another. The text changes if it differs from "
        "that under the original schemas. A turn is seen or unseen by its service and, as in the "
        "papers, by the domain. Below the figure of a single run is its 95 % interval over "
        "dialogues. Below the mean of several seeds is their standard deviation after ±."
    )
    title = "Faithfulness under reworded schemas"
    return Table(title, note, columns, rows, group.caveats, group.signatures)


_SGSACC = (
    "SGSAcc is the share of turns that entail everything that they should say, by the model of "
    "entailment in the signature. SS is its schema sensitivity. The verdict changes if it is not "
    "the same under all of v1 to v5. "
)
_NO_MODEL = "There is no SGSAcc, because no model of entailment was asked. "


def validated(group: GeneratorGroup) -> Table | None:
    """SGSAcc of the turns on which the model of entailment can be relied on, beside that of all.

    None where no model of entailment was asked.
    """
    if not group.first.judged:
        return None
    rows = []
    for system in group.systems:
        first = Cell(system.name, "; ".join(system.caveats))
        for name, scores in _scores_by_group(system).items():
            rows.append([first, Cell(name), *(score_cell(scores, key) for key in _VALIDATED)])
        alone = format_over_runs([_sgsacc_without_context(run) for run in system.runs])
        rows.append([first, Cell("all, without the context"), alone, *[Cell(NO_VALUE)] * 3])
    columns = [Column("system", numeric=False), Column("turns of", numeric=False)]
    columns += [Column(name) for name in _VALIDATED.values()]
    note = (
        "The figures are in percent. A turn is valid if its gold response entails everything that "
        f"it should say and no tampered value: {_valid(group)}. Validation leaves out hard turns, "
        "so the table has the figures of all turns too. If the user has just said everything, the "
        "context can make a response pass that says nothing. The last row of a system is therefore "
        "judged without the context, under the original schemas."
    )
    title = "SGSAcc of all turns and of the validated ones"
    return Table(title, note, columns, rows, group.caveats, group.signatures)


def _scores_by_group(system: ScoredSystem[GeneratorRun]) -> dict[str, list[TurnGroupScores]]:
    """The scores of each run, of all turns and of each group that has turns."""
    groups = [run.scores.sgdx.groups() for run in system.runs]
    return {name: [g[name] for g in groups] for name, scores in groups[0].items() if scores.turns}


def _sgsacc_without_context(run: GeneratorRun) -> float | None:
    """SGSAcc of all turns under the original schemas, by the response alone."""
    return run.scores.variants.get(ORIGINAL, {}).get("#ALL_SERVICES", {}).get("sgsacc_alone")


def _valid(group: GeneratorGroup) -> str:
    counts = group.first.scores.counts
    turns = counts.turns["all"]
    valid = turns if counts.valid_turns is None else counts.valid_turns
    return f"{valid:,} of {turns:,} turns are"


def failing(group: GeneratorGroup) -> Table | None:
    """Which actions fail validation, by act and slot; None where none does."""
    counts = group.first.scores.counts
    if not (group.first.judged and counts.failed_by):
        return None
    rows = [
        [Cell(failed.act), Cell(failed.slot or NO_VALUE), Cell(f"{failed.actions:,}")]
        for failed in counts.failed_by[:_MOST_FAILED]
    ]
    total = sum(failed.actions for failed in counts.failed_by)
    note = (
        f"The {len(rows)} acts and slots with the most of the {total:,} actions whose gold "
        "response does not entail them, or entails a tampered value. Turns with such an action are "
        "not valid. Which they are depends on the model of entailment alone, not on any system."
    )
    columns = [Column("act", numeric=False), Column("slot", numeric=False), Column("actions")]
    title = "What fails validation"
    return Table(title, note, columns, rows, group.caveats, group.signatures)


def conventions(group: GeneratorGroup) -> Table:
    """BLEU of all turns under the original schemas by four conventions."""
    scores = {s.name: {"conventions": s.first.scores.conventions} for s in group.systems}
    headers, rows = tables.bleu_table(scores)
    columns = [Column(headers[0], numeric=False), *map(Column, CONVENTIONS)]
    signatures = "; ".join(
        f"{name} is {header.replace(' ', '|')}" for name, header in zip(CONVENTIONS, headers[1:])
    )
    note = (
        "The figures go from 0 to 100, for all turns under the original schemas. Figures of "
        "different conventions cannot be compared, and most papers do not name theirs. Here "
        f"{signatures}. The first is the headline. With several seeds, this is the first run."
    )
    cells = [[*map(Cell, row)] for row in rows]
    title = "BLEU under four conventions"
    return Table(title, note, columns, cells, group.caveats, group.signatures)


# The scores of the table of services, each with its column.
_BY_SERVICE = {
    "bleu_v1_5": "BLEU", "ser_v1_5": "SER", "sgsacc_v1_5": "SGSAcc", "changed": "changed"
}  # fmt: skip


def by_service(group: GeneratorGroup) -> Table:
    """The headline scores of each service."""
    keys = {key: name for key, name in _BY_SERVICE.items() if _has_score(group, key)}
    rows = []
    for name, first in sorted(group.first.scores.sgdx.by_service.items()):
        row = [Cell(name), Cell(f"{first.turns:,}")]
        for system in group.systems:
            scores = [
                run.scores.sgdx.by_service.get(name, TurnGroupScores()) for run in system.runs
            ]
            row += [score_cell(scores, key) for key in keys]
        rows.append(row)
    columns = [Column("service", numeric=False), Column("turns")]
    columns += [Column(title, s.label) for s in group.systems for title in keys.values()]
    note = (
        "The figures are under v1 to v5. BLEU goes from 0 to 100; all other figures are in "
        "percent. Changed are the turns whose text differs from that under the original schemas. "
        "Services have the evaluator's names. Figures of services with few turns are rough."
    )
    title = "Faithfulness by service"
    return Table(title, note, columns, rows, group.caveats, group.signatures)


def entailment(validation: Validation) -> Table:
    """A test of a model of entailment on gold responses, beside Table 2 of the paper."""
    headers, rows = tables.validation_table(validation.by_evaluator)
    columns = [Column(headers[0], numeric=False), *map(Column, headers[1:])]
    note = (
        "The figures are in percent, as in Table 2 of Chen et al. 2023 (arXiv 2301.12568). The "
        "paper's figures are of roberta-large-mnli on 10,000 sampled test turns. Recall is the "
        "share of actions that the gold response entails. Precision says how rarely it also "
        "entails a tampered action. The sentences are made from the schemas of the evaluator. "
        "Valid turns are those that pass."
    )
    parts = dict(part.split(":", 1) for part in validation.signature.split("|")[1:])
    turns = max(test["turns"] for test in validation.by_evaluator.values())
    return Table(
        "Entailment on gold responses",
        note,
        columns,
        [[*map(Cell, row)] for row in rows],
        turn_caveats(parts, turns),
        {validation.signature: ""},
    )


def published() -> Table:
    """The published scores of generators, each with its data and the scale of its BLEU."""
    headers, rows = tables.published_table()
    texts = {"system", "BLEU's scale", "data", "source", "note"}
    columns = [Column(name, numeric=name not in texts) for name in headers]
    note = (
        "These figures are from papers and their result files. The authors measured them with "
        "their own code. BLEU is on several scales, and most papers do not state theirs; BLEU of "
        "different scales cannot be compared. Here, seen and unseen are about domains. Three "
        "figures with slashes are of all, seen and unseen turns. Raters agreed with the paper's "
        "entailment on 90.0 % of 400 validated pairs and on 76 % of 25 others. SGSAcc agreed "
        "with SER on 99.7 % of SER's turns. No pretrained model of entailment was run in this "
        "project to check any of these figures."
    )
    cells = [[*map(Cell, row)] for row in rows]
    return Table("Published figures of generators", note, columns, cells, folded=True)


def _has_score(group: GeneratorGroup, key: str) -> bool:
    """Whether a group has a score: those of SGSAcc are there with a model of entailment only."""
    return group.first.judged or not key.startswith(_OF_ENTAILMENT)


def score_cell(scores: Sequence[TurnGroupScores], key: str) -> Cell:
    """A score of one run with its interval, or of several as mean and deviation."""
    confidence = scores[0].confidence if len(scores) == 1 else {}
    interval = confidence.get(key.replace("_v1_5", "_v1-5"))
    return format_over_runs([getattr(s, key) for s in scores], interval, partial(_number, key))


def _number(key: str, value: float) -> str:
    """A score with one decimal, BLEU as it is and all else in percent; SER is small, so two."""
    return format_figure(key, value, 2 if key.startswith("ser") else 1)
