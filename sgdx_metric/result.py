"""One result of all tasks: what scores.json holds, and what its figures are called.

A figure is a row of a table, `pandas.DataFrame(scores["figures"])`. Everything that comes after a
score reads nothing else, but for the items beside it, from which figures of some items are made.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from .variants import FLOORS, ORIGINAL, PAPER_VARIANTS, floor_of, floors, set_name

ALL, SEEN = "all", "seen"
# The groups of items that are no single service.
SETS = (ALL, SEEN, "unseen", "seen_domains", "unseen_domains")
# What `evaluate` and others who want one name call these figures.
ALIASES = {
    "jga_drop": "drop",
    "jga_relative": "relative_difference",
    "jga_flips": "flips",
}
# The names of the metrics of a task, which is there when what measures them is imported.
METRIC_NAMES: dict[str, list[str]] = {}
# The tasks whose variants are everybody's own.
OF_TOOLS = ("tools", "search")


class Figure(msgspec.Struct, omit_defaults=True):
    """A figure of a metric, of some variants and of a group of items."""

    # Such as "jga", and how it is summed up: "mean", "drop" (less that under the original),
    # "relative" (the drop as a part of that), "sensitivity", "sensitivity_nonzero", "worst",
    # "flips".
    metric: str
    figure: str
    variants: list[str]
    # "all", "seen", "unseen", or a service.
    group: str
    value: float | None
    # The 95 % interval over dialogues.
    low: float | None
    high: float | None
    # How many items and dialogues it is of.
    items: int
    clusters: int
    # The 95 % interval over services, of headline figures of all items.
    low_services: float | None = None
    high_services: float | None = None
    # Of a comparison, where `value` is the second less the first: both systems' figures. Of several
    # runs these are means, with their sample standard deviations; of runs alone the second's.
    first: float | None = None
    second: float | None = None
    first_sd: float | None = None
    second_sd: float | None = None

    @property
    def interval(self) -> list[float] | None:
        """Both ends of the interval over dialogues."""
        return None if self.low is None or self.high is None else [self.low, self.high]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured of every item under every variant."""

    name: str  # of its column
    title: str = ""
    # What it is, for readers: "JGA: ..."
    meaning: str = ""
    higher_is_better: bool = True
    # Which figures it has beside the mean.
    figures: Sequence[str] = ()
    # Whether it stands in the table that is printed first, and has figures by service.
    headline: bool = False
    # Whether variants called v1 to v5 are the paper's; of tools they are anybody's.
    paper: bool = True
    # What it is multiplied by to be shown.
    scale: float = 100
    # The columns that are added up, and the metric of their sums [columns, ...]; of most, the mean.
    # Also what the sums are where it is the least and the greatest that it can be.
    counts: Sequence[str] = ()
    of: Any = None
    extremes: Any = None
    # What of each item varies, by its column; of most, the metric itself.
    each: str = ""

    @property
    def shown(self) -> str:
        """The title."""
        return self.title or self.name


class Result(msgspec.Struct, kw_only=True):
    """The content of scores.json.

    `result["jga_v1-5"]` is the value of a figure of all items by its name; None where it is
    undefined or its variants were not scored. A name that no figure can have is a `KeyError`.
    """

    task: str
    signature: str
    figures: list[Figure]
    # What the predictions say of themselves, by variant.
    systems: dict[str, dict[str, Any]] = {}
    counts: dict[str, Any] = {}
    notes: list[str] = []
    # The SHA-256 of the file of items that stands beside.
    items: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def variants(self) -> list[str]:
        """The variants that were scored, the original first."""
        names = dict.fromkeys(name for figure in self.figures for name in figure.variants)
        return sorted(names, key=lambda name: name != ORIGINAL)

    def named(self, group: str = ALL) -> dict[str, Figure]:
        """The figures of a group by their names."""
        others = reworded_variants(self.variants, self.task)
        found = dict[str, Figure]()
        for f in self.figures:
            if f.group == group:
                name = figure_name(f, self.task)
                found[ALIASES.get(name, name)] = f
                if self.task in OF_TOOLS and f.variants == others:  # of a single other variant
                    found[f"{f.metric}_{'reworded' if f.figure == 'mean' else f.figure}"] = f
        return found

    def figure(self, name: str, group: str = ALL) -> Figure | None:
        """The figure of a group by its name; None where what it is of was not scored.

        A name that no figure of the task can have is a `KeyError`.
        """
        found = self.named(group)
        if (known := ALIASES.get(name, name)) not in found:
            every = {*METRIC_NAMES.get(self.task, ()), *(f.metric for f in self.figures)}
            metrics = "|".join(map(re.escape, every))
            variants = "|".join(map(re.escape, {*PAPER_VARIANTS, *self.variants} - {ORIGINAL}))
            of_one = rf"({metrics})_(orig|v1-5|reworded|(drop_)?({variants}))"
            of_many = rf"ss_({metrics})(_nonzero)?|({metrics})(_(drop|relative|worst|flips))?"
            of_set = rf"\(.+\)|_({'|'.join(FLOORS)})"
            plain = rf"(?!({metrics})$)({of_many})({of_set})?"
            if not re.fullmatch(rf"{'|'.join(ALIASES.values())}|{of_one}|{plain}", known):
                raise KeyError(f"{name}: found no such figure, expected one of {', '.join(found)}")
        return found.get(known)

    def __getitem__(self, name: str) -> float | None:
        """The value of a figure of all items by its name, as `figure` finds it."""
        figure = self.figure(name)
        return figure.value if figure else None

    def main(self, metric: str, figure: str, group: str = ALL) -> Figure | None:
        """A figure over v1 to v5 or, without these, over all other words: one for each group.

        `original` and `reworded` are the means under the original words and under others.
        """
        others = reworded_variants(self.variants, self.task)
        variants = [ORIGINAL] if figure == "original" else others
        kind = "mean" if figure in ("original", "reworded") else figure
        for f in self.figures:
            of = f.variants if kind == "mean" else [v for v in f.variants if v != ORIGINAL]
            if (f.metric, f.figure, f.group) == (metric, kind, group) and of == variants:
                return f
        return None

    def floor(self, of: Figure, floor: str) -> Figure | None:
        """The same figure over the controls, or the repeats, in place of other words."""
        names = floors(self.variants).get(floor)
        for f in self.figures:
            same = (f.metric, f.figure, f.group) == (of.metric, of.figure, of.group)
            if same and [v for v in f.variants if v != ORIGINAL] == names:
                return f
        return None

    def by_variant(self, metric: str, figure: str = "mean", group: str = ALL) -> dict[str, Figure]:
        """A metric's figures of single variants, by variant; drops have none of the original."""
        return {
            f.variants[0]: f
            for f in self.figures
            if (f.metric, f.figure, f.group) == (metric, figure, group)
            and len(set(f.variants) - {ORIGINAL}) <= 1
            and f.variants
        }


def reworded_variants(variants: Iterable[str], task: str = "") -> list[str]:
    """Those under which systems are summed up: v1 to v5, or else all that have other words."""
    names = [name for name in variants if name != ORIGINAL and not floor_of(name)]
    is_paper = {*PAPER_VARIANTS} <= {*names} and task not in OF_TOOLS
    return list(PAPER_VARIANTS) if is_paper else names


def figure_name(figure: Figure, task: str = "") -> str:
    """The name of a figure without its group: `jga_orig`, `jga_v1-5`, `jga_drop`, `ss_jga`.

    Of other variants than the paper's it has these in brackets: `jga_worst(original+v1+mine)`, but
    `jga_worst_control` of controls. Of tools, whose variants are everybody's own, all but the
    original are `reworded`.
    """
    metric, kind, variants = figure.metric, figure.figure, figure.variants
    others = [name for name in variants if name != ORIGINAL]
    kinds = {floor_of(name) for name in others}
    floor = kinds.pop() if len(kinds) == 1 else ""
    plain = not floor and (task in OF_TOOLS or tuple(others) == PAPER_VARIANTS)
    mark = f"_{floor}" if floor else "" if plain else f"({set_name(variants)})"
    if kind == "mean":
        if variants == [ORIGINAL]:
            return f"{metric}_orig"
        if len(variants) == 1:
            return f"{metric}_{variants[0]}"
        if task in OF_TOOLS and plain:
            return f"{metric}_reworded"
        return f"{metric}_v1-5" if plain else f"{metric}{mark}"
    if kind == "drop" and len(others) == 1 and len(variants) == 1:
        return f"{metric}_drop_{others[0]}"
    if kind.startswith("sensitivity"):
        return f"ss_{metric}{kind.removeprefix('sensitivity')}{mark}"
    return f"{metric}_{kind}{mark}"


def title(figure: Figure, metric: Metric, task: str = "") -> str:
    """What a figure is called in tables: its name with the title of its metric."""
    renamed = msgspec.structs.replace(figure, metric=metric.shown)
    return figure_name(renamed, task).replace("ss_", "SS_", 1)
