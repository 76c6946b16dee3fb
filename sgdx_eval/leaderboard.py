"""Write the leaderboard from the scores of runs, and from the figures that papers give.

Of the folders with a scores.json that one tracker filled from one training set, the best is a row.
Published figures of the same data stand beside the rows of trackers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from sgdx_dataset import SgdxError
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .published import PublishedRow
from .report.runs import Run, System, data_caveats, read_run
from .report.tables import cells, values
from .tables import NO_VALUE, Cell, number, table, to_markdown

_SIX = "+".join((ORIGINAL, *PAPER_VARIANTS))
# By task, what parts of the signature have to be; None for one that is absent.
RULES: Mapping[str, Mapping[str, str | None]] = {
    "state": {
        "variants": _SIX,
        "split": "test",
        "match": "fuzzy-token-sort",
        "joint": "frame",
        "zero-mean": "0",
        "services": None,
    },
    "turns": {"generator": _SIX, "evaluator": ORIGINAL, "split": "test", "ser": "t2g2"},
}
# By task, the figures of a row. The rows are sorted by the first of these but one.
FIGURES: Mapping[str, Sequence[str]] = {
    "state": ("jga_orig", "jga_v1-5", "drop", "jga_worst", "flips", "ss_jga", "ss_jga_nonzero"),
    "turns": (
        *("bleu_orig", "bleu_v1-5", "ser_orig", "ser_v1-5", "sgsacc_orig", "sgsacc_v1-5"),
        "changed",
    ),
}
# Parts of a signature that say what was scored and by which model; rows that differ in one are not
# compared.
_DATA = ("release", "dialogues", "turns", "nli")
# By task, what stands behind the figures of a row.
_TEXTS = {"state": ["trained on", "system acts"], "turns": ["trained on"]}


class Row:
    """A run, with its figures."""

    def __init__(self, run: Run) -> None:
        self.run, self.parts = run, run.results.parts
        keys, runs = FIGURES[run.results.task.name], System(run.folder, [run]).samples()
        found, means = cells(runs), values(runs)
        titles = {figure.key: figure.title for figure in runs[0].figures}
        self.titles = [titles[key] for key in keys if key in titles]
        self.figures = {key: found.get(key, Cell(NO_VALUE)) for key in keys}
        self.rank = run.oracle, -means.get(keys[1], -1.0), run.folder  # oracles come last
        self.size = run.results.task.count(run.results.raw)

    @property
    def data(self) -> str:
        """What was scored, in words."""
        unit = f"{self.run.results.task.unit}s"
        return "; ".join(data_caveats(self.parts, self.size, unit)) or "the whole test split"

    def cells(self, base: Path) -> list[Cell | str]:
        """The cells of the row, the first with a link to its folder."""
        link = Path(os.path.relpath(self.run.path, base)).as_posix()
        told = [self.run.trained_on, self.run.acts][: len(_TEXTS[self.run.results.task.name])]
        return [Cell(self.run.folder, link=link), *self.figures.values(), *told]

    @property
    def kind(self) -> tuple[str, ...]:
        """What one row is enough of: a tracker with its training and input; if unknown, the run."""
        if self.run.trained_on == NO_VALUE:
            return (self.run.folder,)
        tracker = self.run.facts.get("tracker", self.run.folder)
        return tracker, self.run.trained_on, self.run.acts


def read_rows(folders: Sequence[Path]) -> list[Row]:
    """The runs in the folders, which must have been scored by the rules of their task."""
    rows = []
    for folder in folders:
        files = sorted(folder.glob("*/scores.json"))
        if not files:
            raise SgdxError(f"{folder}: found no NAME/scores.json, expected one at least")
        for file in files:
            run = read_run(file.parent)
            task = run.results.task.name
            if task not in RULES:
                raise SgdxError(f"{file}: found scores of {task}, expected {' or '.join(RULES)}")
            for key, expected in RULES[task].items():
                if run.results.parts.get(key) != expected:
                    found = run.results.parts.get(key, "not there")
                    raise SgdxError(
                        f"{file}: {key} is '{found}' in the signature, expected "
                        f"'{expected or 'not there'}'"
                    )
            rows.append(Row(run))
    return rows


def render(folders: Sequence[Path], published: Sequence[PublishedRow], base: Path) -> str:
    """The page in Markdown, whose links lead from its folder `base`."""
    rows = read_rows(folders)
    trackers, generators = (
        [row for row in rows if row.run.results.task.name == task] for task in FIGURES
    )
    template = resources.files(__package__).joinpath("leaderboard_template.md")
    return template.read_text("utf-8").format(
        trackers="\n\n".join(_tables(trackers, base)),
        published=_published_table(published),
        generators="\n\n".join(_tables(generators, base)),
    )


def _by_data(rows: Sequence[Row]) -> list[list[Row]]:
    """The best rows of each kind in groups that compare, those on most items first."""
    groups: dict[tuple[str | None, ...], dict[tuple[str, ...], Row]] = {}
    for row in sorted(rows, key=lambda row: row.rank):
        groups.setdefault(tuple(map(row.parts.get, _DATA)), {}).setdefault(row.kind, row)
    return sorted(([*group.values()] for group in groups.values()), key=lambda g: -g[0].size)


def _tables(rows: Sequence[Row], base: Path) -> list[str]:
    """A table for each group of rows that compare."""
    made = []
    for group in _by_data(rows):
        texts = _TEXTS[group[0].run.results.task.name]
        heads = ["system", *max((row.titles for row in group), key=len), *texts]
        title = f"{group[0].data[0].upper()}{group[0].data[1:]}"
        made.append(to_markdown(table(title, heads, [row.cells(base) for row in group], texts)))
    return made


def _published_table(published: Sequence[PublishedRow]) -> str:
    """What papers give for v1 to v5, oracles last."""
    titles = {"jga_orig": "JGA_orig", "jga_v1-5": "JGA_v1-5", "ss_jga": "SS_JGA"}

    reworded = [row for row in published if "jga_v1-5" in row.all]
    rows = [
        [row.name, *(number(row.all.get(key), 1) for key in titles), row.where]
        for row in sorted(reworded, key=lambda row: (row.oracle, -row.all["jga_v1-5"]))
    ]
    return to_markdown(table("", ["system", *titles.values(), "source"], rows, ("source",)))
