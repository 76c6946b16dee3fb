"""What the report shows of generated turns alone: scales of BLEU, and how sure SGSAcc is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sgdx_eval.results import Results
from sgdx_eval.tables import NO_VALUE, Table, table
from sgdx_eval.turn_tables import published_table, validation_table

from .inputs import Validation
from .page import Section
from .runs import Group, data_caveats
from .view import SGDX, Block, View

# What the comparison does not show, as SGSAcc and SER say more.
_NOT_COMPARED = ("ss_bleu", "ss_ser", "flips_ser")
_MOST_FAILED = 12


class TurnsView(View):
    """Generators of responses."""

    kind, noun, subject = "Generators", "generator", "response generators"
    note = "A turn is seen or unseen by its service and, as in the papers, by the domain."
    sources = "SGSAcc is that of arXiv 2301.12568 (Chen et al. 2023), and SS that of " + SGDX
    more = (
        "All metrics",
        "The figures are of all turns, in percent but for BLEU. Figures of BLEU by different "
        "tokenizers cannot be compared, and most papers do not name theirs. If the user has just "
        "said everything, the context can make a response pass that says nothing. With several "
        "seeds, these are the figures of the first run.",
    )

    def blocks(self, results: Results) -> list[Block]:
        """All figures but those that say least."""
        ((name, titles, _),) = super().blocks(results)
        return [Block(name, {k: title for k, title in titles.items() if k not in _NOT_COMPARED})]

    def of_services(self, group: Group) -> Sequence[str]:
        """The means under other words, and how many texts change."""
        return "bleu_v1-5", "ser_v1-5", "sgsacc_v1-5", "changed"

    def text(self, group: Group) -> str:
        """On how many turns the model of entailment can be relied on."""
        counts = group.first.stored.get("counts", {})
        if "valid_turns" not in counts:
            return ""
        return (
            f"SGSAcc validated is of the {counts['valid_turns']:,} of {counts['turns']['all']:,} "
            "turns whose gold response entails everything that it should say and no tampered "
            "value. Validation leaves out hard turns."
        )

    def sections(self, group: Group, systems: int, is_folded: bool) -> Iterator[Section]:
        """Which actions fail validation, by act and slot."""
        failed = group.first.stored.get("counts", {}).get("failed_by", [])
        rows = [
            [of["act"], of["slot"] or NO_VALUE, f"{of['actions']:,}"]
            for of in failed[:_MOST_FAILED]
        ]
        note = (
            f"The {len(rows)} acts and slots with the most of the "
            f"{sum(of['actions'] for of in failed):,} actions whose gold response does not entail "
            "them, or entails a tampered value. Turns with such an action are not valid. Which "
            "they are depends on the model of entailment alone, not on any system."
        )
        if failed:
            title, heads = "What fails validation", ["act", "slot", "actions"]
            tables = [table(title, heads, rows, ["slot"], note=note)]
            yield Section("validation", title, tables=tables, folded=is_folded)

    def published(self) -> Table:
        """The published scores of generators."""
        return published_generators()


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
