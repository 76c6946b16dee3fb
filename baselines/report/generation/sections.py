"""What the report says of generators, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..page import Section
from ..pictures import draw_pictures
from ..systems import SystemGroup
from . import tables
from .plots import PLOTS
from .runs import GeneratorRun, Validation


def generator_sections(group: SystemGroup[GeneratorRun]) -> Iterator[Section]:
    """The sections about a group of generators."""
    pictures = draw_pictures(PLOTS, group, {})
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


def entailment_section(validations: Sequence[Validation]) -> Section:
    """The section about models of entailment."""
    entailment = [tables.entailment(validation) for validation in validations]
    return Section("entailment", "Right and wrong actions, told apart", tables=entailment)
