"""Write the leaderboard from the scores of runs, and from the figures that papers give.

Of the folders with a scores.json that one tracker filled from one training set, the best is a row.
Published figures of the same data stand beside the rows of trackers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from sgdx_dataset import SgdxError
from sgdx_metric.result import title
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .published import PublishedRow
from .report.runs import Run, data_caveats, read_run
from .report.tables import cell
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
        "changed_v1-5",
    ),
}
# Parts of a signature that say what was scored and by which model; rows that differ in one are not
# compared.
_DATA = ("release", "dialogues", "turns", "nli")
# By task, what stands behind the figures of a row.
_TEXTS = {"state": ["trained on", "system acts"], "turns": ["trained on"]}


class Row(NamedTuple):
    """A run, with its figures by their titles."""

    run: Run
    figures: Mapping[str, Cell]
    rank: tuple[bool, float, str]  # oracles come last
    size: int  # how many items were scored


def render(folders: Sequence[Path], published: Sequence[PublishedRow], base: Path) -> str:
    """The page in Markdown, whose links lead from its folder `base`."""
    rows = [row for folder in folders for row in _read_rows(folder)]
    template = resources.files(__package__).joinpath("leaderboard_template.md")
    return template.read_text("utf-8").format(
        trackers="\n\n".join(_tables(rows, "state", base)),
        published=_published_table(published),
        generators="\n\n".join(_tables(rows, "turns", base)),
    )


def _read_rows(folder: Path) -> Iterator[Row]:
    """The runs in a folder, which must have been scored by the rules of their task."""
    files = sorted(folder.glob("*/scores.json"))
    if not files:
        raise SgdxError(f"{folder}: found no NAME/scores.json, expected one at least")
    for file in files:
        run = read_run(file.parent)
        task, parts = run.result.task, run.result.parts
        if task not in RULES:
            raise SgdxError(f"{file}: found scores of {task}, expected {' or '.join(RULES)}")
        for key, expected in RULES[task].items():
            if parts.get(key) != expected:
                found, expected = parts.get(key, "not there"), expected or "not there"
                raise SgdxError(
                    f"{file}: {key} is '{found}' in the signature, expected '{expected}'"
                )
        result, metrics = run.result.result, run.result.metrics
        named = result.named()
        known = {key: named[key] for key in FIGURES[task] if key in named}
        figures = {title(f, metrics, task): cell(f, metrics[f.metric]) for f in known.values()}
        second = named.get(FIGURES[task][1])
        value = second.value if second and second.value is not None else -1.0
        size = max(f.items for f in named.values())
        yield Row(run, figures, (run.oracle, -value, run.folder), size)


def _tables(rows: Sequence[Row], task: str, base: Path) -> Iterator[str]:
    """A table for each group of rows that compare, those on most items first.

    Of a tracker with its training and input there is the best row; if these are unknown, all.
    """
    groups: dict[tuple[str | None, ...], dict[tuple[str, ...], Row]] = {}
    for row in sorted(rows, key=lambda row: row.rank):
        run = row.run
        if run.result.task == task:
            kind: tuple[str, ...] = (run.folder,)
            if run.trained_on != NO_VALUE:
                kind = run.facts.get("tracker", run.folder), run.trained_on, run.acts
            group = groups.setdefault(tuple(map(run.result.parts.get, _DATA)), {})
            group.setdefault(kind, row)
    for best in sorted(groups.values(), key=lambda group: -next(iter(group.values())).size):
        listed = list(best.values())
        titles = max((list(row.figures) for row in listed), key=len)
        shown = list[list[str | Cell]]()
        for row in listed:
            link = Path(os.path.relpath(row.run.path, base)).as_posix()
            figures = [row.figures.get(title, Cell(NO_VALUE)) for title in titles]
            texts = [row.run.trained_on, row.run.acts][: len(_TEXTS[task])]
            shown.append([Cell(row.run.folder, link=link), *figures, *texts])
        first = listed[0].run.result
        unit = f"{first.unit}s"
        data = "; ".join(data_caveats(first.parts, listed[0].size, unit)) or "the whole test split"
        heads = ["system", *titles, *_TEXTS[task]]
        yield to_markdown(table(f"{data[0].upper()}{data[1:]}", heads, shown, _TEXTS[task]))


def _published_table(published: Sequence[PublishedRow]) -> str:
    """What papers give for v1 to v5, oracles last."""
    titles = {"jga_orig": "JGA_orig", "jga_v1-5": "JGA_v1-5", "ss_jga": "SS_JGA"}
    reworded = [row for row in published if "jga_v1-5" in row.all]
    rows = [
        [row.name, *(number(row.all.get(key), 1) for key in titles), row.where]
        for row in sorted(reworded, key=lambda row: (row.oracle, -row.all["jga_v1-5"]))
    ]
    return to_markdown(table("", ["system", *titles.values(), "source"], rows, ("source",)))
