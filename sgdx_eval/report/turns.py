"""What the report shows of generated turns alone: scales of BLEU, and how sure SGSAcc is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from sgdx_eval.results import Results
from sgdx_eval.tables import NO_VALUE, Cell, Table, format_over_runs, table
from sgdx_eval.turn_tables import bleu_table, published_table, validation_table
from sgdx_metric.core import Figure, Scores
from sgdx_metric.variants import ORIGINAL
from sgsacc_metric.bleu import CONVENTIONS
from sgsacc_metric.figures import TITLES, headline_metrics

from .figures import Figures, sets_of
from .page import Section
from .runs import Group, data_caveats
from .view import Block, Keys, View

_VALIDATED = "sgsacc_validated"
# What the comparison does not show, as SGSAcc and SER say more, or as it has a table of its own.
_NOT_COMPARED = ("ss_bleu", "ss_ser", "flips_ser")
_MOST_FAILED = 12


class TurnsView(View):
    """Generators of responses."""

    kind, noun, subject = "Generators", "generator", "response generators"
    note = "A turn is seen or unseen by its service and, as in the papers, by the domain."
    single = False

    def keys(self, scores: Scores) -> Keys:
        """Those of SGSAcc; without a model of entailment, of SER."""
        metric = "sgsacc" if _is_judged(scores) else "ser"
        ends = (f"{metric}_{end}" for end in ("worst", "flips"))
        means = (f"{metric}_orig", f"{metric}_v1-5", f"ss_{metric}")
        return Keys(TITLES[metric][0], metric, *means, *ends)

    def headlines(self, scores: Scores) -> list[Figure]:
        """BLEU, SER and SGSAcc."""
        return [figure for figure in headline_metrics(scores) if figure.key != _VALIDATED]

    def blocks(self, results: Results) -> list[Block]:
        """All figures but those of SGSAcc's validation."""
        figures = {f.key: f.title for f in self.figures(results, results.scores())}
        shown = {
            key: title
            for key, title in figures.items()
            if not key.startswith((_VALIDATED, *_NOT_COMPARED))
        }
        return [Block("", shown)]

    def of_services(self, scores: Scores) -> Sequence[str]:
        """The means under other words, and how many texts change."""
        return "bleu_v1-5", "ser_v1-5", "sgsacc_v1-5", "changed"

    def sections(self, group: Group, systems: int, is_folded: bool) -> Iterator[Section]:
        """BLEU by four conventions, and how far entailment can be relied on."""
        tables = [conventions(group)]
        yield Section("bleu", "Four scales of BLEU", tables=tables, folded=is_folded)
        if _is_judged(group.results.raw):
            title = "How far entailment can be relied on"
            tables = [validated(group), *failing(group)]
            yield Section("validation", title, tables=tables, folded=is_folded)

    def published(self) -> Table:
        """The published scores of generators."""
        return published_generators()


def _is_judged(scores: Scores) -> bool:
    """Whether a model of entailment gave SGSAcc."""
    return "faithful" in scores.metrics


def validated(group: Group) -> Table:
    """SGSAcc of the turns on which the model of entailment can be relied on, beside that of all."""
    keys = [f"{metric}_{end}" for metric in ("sgsacc", _VALIDATED) for end in ("orig", "v1-5")]
    rows = []
    for system in group.systems:
        first = Cell(system.name, "; ".join(system.caveats))
        for name, members in sets_of(group).items():
            figures = Figures(system, members)
            cells = figures.cells()
            titles = [figures.by_key[key].title for key in keys if key in figures.by_key]
            rows.append([first, name, *(cells.get(key, NO_VALUE) for key in keys)])
        originals = [run.stored.get("variants", {}).get(ORIGINAL, {}) for run in system.runs]
        alone = [of_run.get("#ALL_SERVICES", {}).get("sgsacc_alone") for of_run in originals]
        rows.append([first, "all, without the context", format_over_runs(alone), *[NO_VALUE] * 3])
    counts = group.first.stored.get("counts", {})
    valid = f": {counts['valid_turns']:,} of {counts['turns']['all']:,} turns are" if counts else ""
    note = (
        "The figures are in percent. A turn is valid if its gold response entails everything that "
        f"it should say and no tampered value{valid}. Validation leaves out hard turns, "
        "so the table has the figures of all turns too. If the user has just said everything, the "
        "context can make a response pass that says nothing. The last row of a system is therefore "
        "judged without the context, under the original schemas."
    )
    title = "SGSAcc of all turns and of the validated ones"
    return table(title, ["system", "turns of", *titles], rows, ["turns of"], note=note)


def failing(group: Group) -> list[Table]:
    """Which actions fail validation, by act and slot, if any does."""
    failed = group.first.stored.get("counts", {}).get("failed_by", [])
    if not failed:
        return []
    rows = [
        [one["act"], one["slot"] or NO_VALUE, f"{one['actions']:,}"]
        for one in failed[:_MOST_FAILED]
    ]
    total = sum(one["actions"] for one in failed)
    note = (
        f"The {len(rows)} acts and slots with the most of the {total:,} actions whose gold "
        "response does not entail them, or entails a tampered value. Turns with such an action are "
        "not valid. Which they are depends on the model of entailment alone, not on any system."
    )
    heads = ["act", "slot", "actions"]
    return [table("What fails validation", heads, rows, ["slot"], note=note)]


def conventions(group: Group) -> Table:
    """BLEU of all turns under the original schemas by four conventions."""
    scores = {s.name: {"conventions": s.first.stored.get("conventions", {})} for s in group.systems}
    headers, rows = bleu_table(scores)
    signatures = "; ".join(
        f"{name} is {header.replace(' ', '|')}" for name, header in zip(CONVENTIONS, headers[1:])
    )
    note = (
        "The figures go from 0 to 100, for all turns under the original schemas. Figures of "
        "different conventions cannot be compared, and most papers do not name theirs. Here "
        f"{signatures}. The first is the headline. With several seeds, this is the first run."
    )
    return table("BLEU under four conventions", [headers[0], *CONVENTIONS], rows, note=note)


class Validation(msgspec.Struct):
    """The test of a model of entailment on gold responses, as `validate --json` writes it."""

    signature: str = ""
    by_evaluator: dict[str, dict[str, Any]] = {}


def entailment(validation: Validation) -> Table:
    """A test of a model of entailment on gold responses, beside Table 2 of the paper."""
    headers, rows = validation_table(validation.by_evaluator)
    note = (
        "The figures are in percent, as in Table 2 of Chen et al. 2023 (arXiv 2301.12568). The "
        "paper's figures are of roberta-large-mnli on 10,000 sampled test turns. Recall is the "
        "share of actions that the gold response entails. Precision says how rarely it also "
        "entails a tampered action. The sentences are made from the schemas of the evaluator. "
        "Valid turns are those that pass."
    )
    parts = dict(part.split(":", 1) for part in validation.signature.split("|")[1:])
    turns = max(test["turns"] for test in validation.by_evaluator.values())
    caveats, signatures = data_caveats(parts, turns, "turns"), {validation.signature: ""}
    made = table("Entailment on gold responses", headers, rows, note=note)
    return replace(made, caveats=caveats, signatures=signatures)


def published_generators() -> Table:
    """The published scores of generators, each with its data and the scale of its BLEU."""
    headers, rows = published_table()
    texts = {"system", "BLEU's scale", "data", "source", "note"}
    note = (
        "These figures are from papers and their result files. The authors measured them with "
        "their own code. BLEU is on several scales, and most papers do not state theirs; BLEU of "
        "different scales cannot be compared. Here, seen and unseen are about domains. Three "
        "figures with slashes are of all, seen and unseen turns. Raters agreed with the paper's "
        "entailment on 90.0 % of 400 validated pairs and on 76 % of 25 others. SGSAcc agreed "
        "with SER on 99.7 % of SER's turns. No pretrained model of entailment was run in this "
        "project to check any of these figures."
    )
    title = "Published figures of generators"
    return table(title, headers, rows, texts, note=note, folded=True)
