"""What the report says of generators, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sgdx_metric.variants import ORIGINAL

from ..contents import Part, Section
from ..drawings import COLOURS, MARKERS, new_figure, shown_text
from ..figures import LEARNING_CURVES, Drawing, draw_figures
from ..provenance import Group, original_first
from . import tables
from .runs import GenerationRun, Validation


def generation_parts(
    groups: Sequence[Group[GenerationRun]], validations: Sequence[Validation], first: int
) -> Iterator[Part]:
    """The parts of a report about generators, and about the models of entailment.

    Args:
        groups: The generators, in groups that compare.
        validations: Tests of models of entailment.
        first: The number of the first of these parts.
    """
    for number, group in enumerate(groups, first):
        suffix = f"_{group.number}" if len(groups) > 1 else ""
        drawn = draw_figures((*_DRAWINGS, _CURVES), group, suffix)
        title = "Generation: what the system says"
        title += f", group {group.number}" if len(groups) > 1 else ""
        shown = [tables.validated(group), tables.failing(group)]
        sections = [
            Section(
                "faithfulness",
                "Is it faithful, under every wording?",
                tables=[tables.faithfulness(group)],
                figures=[drawn[one.name] for one in _DRAWINGS if one.name in drawn],
            ),
            Section("bleu", "Four scales of BLEU", tables=[tables.conventions(group)]),
            Section("services", "Where it breaks: services", tables=[tables.by_service(group)]),
        ]
        if made := [one for one in shown if one is not None]:
            sections.append(
                Section("validation", "How far entailment can be relied on", tables=made)
            )
        if curves := drawn.get(_CURVES.name):
            sections.append(Section("training", "How they were trained", figures=[curves]))
        names = [one.name for one in group.systems]
        yield Part(number, title, names, group.marks, group.signatures, sections)
    if validations:
        found = [tables.entailment(one) for one in validations]
        section = Section("entailment", "Right and wrong actions, told apart", tables=found)
        title = "Models of entailment, tested on gold responses"
        yield Part(first + len(groups), title, [], [], {}, [section])


def _by_variant(group: Group[GenerationRun]) -> Any:
    """A panel for each of BLEU, SER and SGSAcc, and in it a line for each system."""
    shown = {"bleu": "BLEU", "ser": "SER, %"}
    shown |= {"sgsacc": "SGSAcc, %"} if group.first.judged else {}
    variants = original_first(list(group.first.scores.variants))
    if len(variants) < 2:
        return None
    figure, (axes,) = new_figure(3.3 * len(shown), 3.2, 1, len(shown))
    names = ["orig." if name == ORIGINAL else name for name in variants]
    for panel, (key, title) in zip(axes, shown.items()):
        scale = 1 if key == "bleu" else 100
        for i, system in enumerate(group.systems):
            heights = [
                scale * np.mean([_figure(run, variant, key) for run in system.runs])
                for variant in variants
            ]
            panel.plot(
                range(len(variants)), heights, color=COLOURS[i % len(COLOURS)], linewidth=1.4,
                marker=MARKERS[i % len(MARKERS)], markersize=5,
                label=shown_text(system.label) if panel is axes[0] else None,
            )  # fmt: skip
        panel.set_xticks(range(len(variants)), names)
        panel.set_title(title)
        low, high = panel.get_ylim()
        panel.set_ylim(min(0.0, low), max(high, 1.0))
    figure.legend(loc="outside upper left", ncols=2, fontsize=8)
    return figure


def _figure(run: GenerationRun, variant: str, key: str) -> float:
    value = run.scores.variants.get(variant, {}).get("#ALL_SERVICES", {}).get(key)
    return np.nan if value is None else value


_DRAWINGS = (
    Drawing(
        "faithfulness_by_variant",
        "BLEU, slot error rate and SGSAcc by variant",
        "Of all turns. The farther the variant, the farther its words are from the original's. A "
        "faithful generator may change its words under rewording, which BLEU shows, and yet keep "
        "what it says, which SER and SGSAcc show. Of SER less is better, of the others more.",
        _by_variant,
    ),
)
_CURVES = LEARNING_CURVES._replace(name="learning_curves_of_generators")
