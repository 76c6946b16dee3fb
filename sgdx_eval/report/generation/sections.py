"""What the report says of generators, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sgdx_eval.tables import NO_VALUE, Cell

from ..page import Section
from ..pictures import draw_pictures
from ..systems import SystemGroup
from ..verdict import Verdict
from . import tables
from .plots import PLOTS
from .runs import GeneratorRun, Validation


def generator_sections(group: SystemGroup[GeneratorRun], is_folded: bool) -> Iterator[Section]:
    """The sections about a group of generators.

    Args:
        group: The systems.
        is_folded: Whether all but the scores of all turns is folded.
    """
    pictures = draw_pictures(PLOTS, group, {})
    faithfulness = tables.faithfulness(group)
    yield Section(
        "faithfulness",
        "Is it faithful, under every wording?",
        tables=[
            tables.faithfulness(group, of_all_alone=True),
            replace(faithfulness, title="Seen and unseen services", note="", folded=True),
        ]
        if is_folded
        else [faithfulness],
        pictures=[pictures[name] for name in ("faithfulness_by_variant",) if name in pictures],
    )
    scales, services = tables.conventions(group), tables.by_service(group)
    yield Section("bleu", "Four scales of BLEU", tables=[scales], folded=is_folded)
    yield Section("services", "Where it breaks: services", tables=[services], folded=is_folded)
    validation = [tables.validated(group), tables.failing(group)]
    if made := [table for table in validation if table is not None]:
        yield Section(
            "validation", "How far entailment can be relied on", tables=made, folded=is_folded
        )
    if curves := pictures.get("learning_curves_of_generators"):
        yield Section("training", "How they were trained", pictures=[curves], folded=is_folded)


def generator_verdict(group: SystemGroup[GeneratorRun]) -> Verdict | None:
    """Which generator is most faithful under other words; None where no score says so.

    It goes by SGSAcc and, where no model of entailment was asked, by SER.
    """
    key, name = ("sgsacc", "SGSAcc") if group.first.judged else ("ser", "SER")
    scores = {system.name: [run.scores.sgdx for run in system.runs] for system in group.systems}
    cells = {s: tables.score_cell(of_runs, f"{key}_v1_5") for s, of_runs in scores.items()}
    cells = {system: cell for system, cell in cells.items() if cell.text != NO_VALUE}
    if not cells:
        return None
    choose = max if group.first.judged else min
    best = choose(cells, key=lambda system: float(cells[system].text))

    def sentence(text: str, cell: Cell) -> Cell:
        return Cell(text, cell.detail if len(scores[best]) == 1 else "")

    original, worst = (tables.score_cell(scores[best], f"{key}_{end}") for end in ("orig", "worst"))
    sentences = [sentence(f"{best}: {cells[best].text} % {name} under other words", cells[best])]
    if original.text != NO_VALUE:
        sentences.append(sentence(f"Under the original words it has {original.text} %", original))
    if worst.text != NO_VALUE:
        text = f"Under the worst of the six wordings for each turn, it has {worst.text} %"
        sentences.append(sentence(text, worst))
    return Verdict(sentences)


def entailment_section(validations: Sequence[Validation]) -> Section:
    """The section about models of entailment."""
    entailment = [tables.entailment(validation) for validation in validations]
    return Section("entailment", "Right and wrong actions, told apart", tables=entailment)
