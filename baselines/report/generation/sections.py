"""What the report says of generators, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..page import Part, Section
from ..pictures import draw_pictures
from ..systems import SystemGroup
from . import tables
from .plots import PLOTS
from .runs import GeneratorRun, Validation


def generation_parts(
    groups: Sequence[SystemGroup[GeneratorRun]], validations: Sequence[Validation], first: int
) -> Iterator[Part]:
    """The parts of a report about generators, and about the models of entailment.

    Args:
        groups: The generators, in groups that compare.
        validations: Tests of models of entailment.
        first: The number of the first of these parts.
    """
    for number, group in enumerate(groups, first):
        title = "Generation: what the system says"
        title += f", group {group.number}" if len(groups) > 1 else ""
        suffix = f"_{group.number}" if len(groups) > 1 else ""
        yield Part(
            number,
            title,
            list(_sections(group, suffix)),
            [system.name for system in group.systems],
            group.caveats,
            group.signatures,
        )
    if validations:
        entailment = [tables.entailment(validation) for validation in validations]
        section = Section("entailment", "Right and wrong actions, told apart", tables=entailment)
        title = "Models of entailment, tested on gold responses"
        yield Part(first + len(groups), title, [section], [], [], {})


def _sections(group: SystemGroup[GeneratorRun], suffix: str) -> Iterator[Section]:
    """The sections of a group; ``suffix`` ends the names of its pictures."""
    pictures = draw_pictures(PLOTS, group, suffix, {})
    yield Section(
        "faithfulness",
        "Is it faithful, under every wording?",
        tables=[tables.faithfulness(group)],
        pictures=[pictures[name] for name in ("faithfulness_by_variant",) if name in pictures],
    )
    yield Section("bleu", "Four scales of BLEU", tables=[tables.conventions(group)])
    yield Section("services", "Where it breaks: services", tables=[tables.by_service(group)])
    validation = [tables.validated(group), tables.failing(group)]
    if made := [table for table in validation if table is not None]:
        yield Section("validation", "How far entailment can be relied on", tables=made)
    if curves := pictures.get("learning_curves_of_generators"):
        yield Section("training", "How they were trained", pictures=[curves])
