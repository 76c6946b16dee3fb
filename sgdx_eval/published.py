"""Figures of trackers and of generators as papers give them, and of models of entailment."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

import msgspec

from .tables import NO_VALUE, Table, number, percent, table

_TRACKERS = (
    "In percent, from papers, whose authors measured with their own code. Do not compare them with "
    "the runs of this report, because the systems were trained in another way."
)
_GENERATORS = (
    "These figures are from papers and their result files, measured with the authors' own code. "
    "BLEU is on several scales, and most papers do not state theirs; BLEU of different scales "
    "cannot be compared. Here, seen and unseen are about domains. Three figures with slashes are "
    "of all, seen and unseen turns. No pretrained model of entailment was run in this project to "
    "check any of these figures."
)
# Headline figures in percent, by the names that scores.json has for them.
Figures = dict[str, float]


class PublishedRow(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a paper says of a tracker."""

    system: str
    size: str = ""  # the parameters of its encoder or model
    acts: str = ""  # whether it reads the system's acts: yes or no
    losses: list[float] = []  # under v1 to v5, the mean and the largest
    augmentation: str = ""  # the reworded schemas that it was trained on too
    oracle: bool = False  # whether these are v1 to v5
    source: str  # the paper
    table: str = ""  # where in it the figures stand
    data: str  # what they were measured on
    all: Figures
    seen: Figures | None = None
    unseen: Figures | None = None
    not_comparable: str = ""  # why they must not be set against ours

    @property
    def name(self) -> str:
        """The tracker, and what it was trained on too."""
        return f"{self.system} + {self.augmentation}" if self.augmentation else self.system

    @property
    def where(self) -> str:
        """The paper, and where in it the figures stand."""
        return ", ".join(filter(None, (self.source, self.table)))


class _File(msgspec.Struct, forbid_unknown_fields=True):
    row: list[PublishedRow]


def read_published() -> list[PublishedRow]:
    """The published rows of trackers, from ``published.toml``."""
    data = resources.files(__package__).joinpath("published.toml").read_bytes()
    return msgspec.toml.decode(data, type=_File).row


def published_trackers(
    title: str = "Published figures of trackers", note: str = _TRACKERS
) -> Table:
    """The published scores of trackers on SGD: those under v1 to v5 first, and oracles last."""

    def rank(row: PublishedRow) -> tuple[bool, bool, float, float]:
        reworded, original = row.all.get("jga_v1-5", 0.0), row.all.get("jga_orig", 0.0)
        return row.oracle, bool(row.not_comparable), -reworded, -original

    def halves(row: PublishedRow, key: str) -> str:
        values = [of.get(key) if of else None for of in (row.seen, row.unseen)]
        return " / ".join(number(value, 1) for value in values if value is not None) or NO_VALUE

    rows = [
        [
            row.name,
            row.size or NO_VALUE,
            row.acts or NO_VALUE,
            number(row.all.get("jga_orig"), 1),
            halves(row, "jga_orig"),
            number(row.all.get("jga_v1-5"), 1),
            halves(row, "jga_v1-5"),
            " / ".join(number(loss, 1) for loss in row.losses) or NO_VALUE,
            number(row.all.get("ss_jga"), 1),
            "; ".join(filter(None, (row.where, row.not_comparable))),
        ]
        for row in sorted((row for row in read_published() if row.data[:3] == "SGD"), key=rank)
    ]
    services = "seen / unseen"
    heads = ["system", "size", "acts", "JGA_orig", services, "JGA_v1-5", services]
    heads += ["mean / largest loss", "SS_JGA", "source"]
    return table(title, heads, rows, ("size", "acts", "source"), note=note, folded=True)


def published_generators() -> Table:
    """The published scores of generators, each with its data, the scale of its BLEU, its source.

    The paper is Chen, Lin and Byrne 2023 (arXiv 2301.12568). Its own systems were tested on 10,000
    sampled test turns; of those that it cites it does not say so. Its seen and unseen are of
    domains. BLEU figures do not stand on one scale, as most sources do not say how they were made.
    """
    text = resources.files(__package__).joinpath("published.tsv").read_text("utf-8")
    heads, *rows = (line.split("\t") for line in text.splitlines())
    texts = {"system", "BLEU's scale", "data", "source", "note"}
    title = "Published figures of generators"
    return table(title, heads, rows, texts, note=_GENERATORS, folded=True)


def entailment_table(
    title: str, by_evaluator: Mapping[str, Mapping[str, Any]], **others: Any
) -> Table:
    """How well a model of entailment judges gold utterances, beside Table 2 of the paper."""
    heads = ["evaluator", "precision", "recall", "F1", "paper P", "paper R", "paper F1", "valid"]
    rows = []
    for evaluator, found in by_evaluator.items():
        ours = [found[key] for key in ("precision", "recall", "f1")]
        figures = map(percent, (*ours, *(found["published"] or (None, None, None))))
        rows.append([evaluator, *figures, f"{found['valid_turns']}/{found['turns']}"])
    return table(title, heads, rows, **others)
