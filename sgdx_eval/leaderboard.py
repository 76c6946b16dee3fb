"""Write the leaderboard from the scores of runs, and from the figures that papers give.

Of the folders with a scores.json that one tracker filled with one encoder from one training set,
the best is a row. Published figures of the same data stand beside the rows of trackers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import decode_json
from sgdx_metric.figures import JGA
from sgdx_metric.result import title
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .published import published_trackers
from .report.runs import Run, data_caveats, read_run
from .report.tables import cell
from .tables import NO_VALUE, Cell, table, to_markdown

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
    "state": ("jga_orig", "jga_v1-5", "drop", "jga_worst", "flips", "ss_jga"),
    "turns": ("bleu_orig", "bleu_v1-5", "ser_v1-5", "sgsacc_v1-5", "changed_v1-5"),
}
# Parts of a signature that say what was scored and by which model; rows that differ in one are not
# compared.
_DATA = ("release", "dialogues", "turns", "nli")
# By task, what stands behind the figures of a row.
_TEXTS = {
    "state": ["flips of controls", "encoder", "trained on", "system acts", "again"],
    "turns": ["trained on"],
}
# In a folder of runs, encoders as readers know them, by the names that records have.
_ENCODERS = "encoders.json"
_WEIGHTS = "model.safetensors"
# Beside figures that tell more; the files of the runs have them.
_WITHOUT_INTERVALS = {"JGA_orig", "SS_JGA", "BLEU_orig"}


class Row(NamedTuple):
    """A run, with its figures by their titles."""

    run: Run
    figures: Mapping[str, Cell]
    rank: tuple[bool, float, str]  # oracles come last
    size: int  # how many items were scored
    texts: Sequence[Cell]  # as `_TEXTS` has them


def render(folders: Sequence[Path], base: Path) -> str:
    """The page in Markdown, whose links lead from its folder `base`."""
    rows = _read_rows(folders)
    template = resources.files(__package__).joinpath("leaderboard_template.md")
    return template.read_text("utf-8").format(
        trackers="\n\n".join(_tables(rows, "state", base)),
        published=to_markdown(published_trackers("", "")),
        generators="\n\n".join(_tables(rows, "turns", base)),
    )


def _read_rows(folders: Sequence[Path]) -> list[Row]:
    """The runs in some folders, which must have been scored by the rules of their task."""
    runs = [run for folder in folders for run in _read_runs(folder, "*/scores.json")]
    controls = [run for folder in folders for run in _read_runs(folder, "control/*/scores.json")]
    names = dict[str, str]()
    for file in (folder / _ENCODERS for folder in folders):
        if file.is_file():
            names |= decode_json(read_file(file), dict[str, str], str(file), "names of encoders")
    # Of some scores of a model the recipe stands beside others of the same weights.
    trained = {str(run.facts.get("weights")): run for run in runs if run.settings}
    kept = {run.facts.get("weights") for run in runs if (run.path / _WEIGHTS).is_file()}
    floors = {_scored_alike(run): run.result.result for run in controls}
    rows = list[Row]()
    for run in runs:
        task, result, metrics = _checked(run), run.result.result, run.result.metrics
        named = result.named()
        known = {key: named[key] for key in FIGURES[task] if key in named}
        figures = {
            title(f, metrics[f.metric], task): cell(f, metrics[f.metric]) for f in known.values()
        }
        for name in _WITHOUT_INTERVALS & {*figures}:
            figures[name] = Cell(figures[name].text)
        second = named.get(FIGURES[task][1])
        value = second.value if second and second.value is not None else -1.0
        size = max(f.items for f in named.values())
        texts = [Cell(run.trained_on, "oracle: unknown" if run.oracle_unknown else "")]
        if task == "state":
            weights = str(run.facts.get("weights"))
            control = floors.get(_scored_alike(run))
            floor = control.figure("jga_flips_control") if control else None
            base = trained.get(weights, run)
            encoder = names.get(base.base_model, base.base_model) or NO_VALUE
            parts = len(run.facts.get("parts") or ())
            again = "weights" if weights in kept else "recipe" if weights in trained else "no"
            if not run.facts.get("weights"):
                again = "code" if run.facts.get("tracker") == "lexical" else NO_VALUE
            if again == "code":  # which is not trained
                texts = [Cell(NO_VALUE)]
            texts = [
                cell(floor, metrics[JGA]) if floor else Cell(NO_VALUE),
                Cell(f"{parts} x {encoder}" if parts and encoder != NO_VALUE else encoder),
                *texts,
                Cell(run.acts),
                Cell(again),
            ]
        rows.append(Row(run, figures, (run.oracle, -value, run.folder), size, texts))
    return rows


def _read_runs(folder: Path, pattern: str) -> list[Run]:
    files = sorted(folder.glob(pattern))
    if not files and pattern[0] == "*":
        raise SgdxError(f"{folder}: found no NAME/scores.json, expected one at least")
    return [read_run(file.parent) for file in files]


def _checked(run: Run) -> str:
    """The task of a run, whose rules its signature has to state."""
    task, parts, file = run.result.task, run.result.parts, run.path / "scores.json"
    if task not in RULES:
        raise SgdxError(f"{file}: found scores of {task}, expected {' or '.join(RULES)}")
    for key, expected in RULES[task].items():
        if parts.get(key) != expected:
            found, expected = parts.get(key, "not there"), expected or "not there"
            raise SgdxError(f"{file}: {key} is '{found}' in the signature, expected '{expected}'")
    return task


def _scored_alike(run: Run) -> tuple[str, ...]:
    """The system and the dialogues of a run, which those under controls share."""
    parts = map(run.result.parts.get, ("release", "dialogues"))
    system = run.facts.get("tracker"), run.facts.get("weights"), run.acts
    return tuple(map(str, (*system, *parts)))


def _tables(rows: Sequence[Row], task: str, base: Path) -> Iterator[str]:
    """A table for each group of rows that compare, those on most items first.

    Of a tracker with its encoder, training and input there is the best row; if these are unknown,
    all.
    """
    groups: dict[tuple[str | None, ...], dict[tuple[str, ...], Row]] = {}
    for row in sorted(rows, key=lambda row: row.rank):
        run = row.run
        if run.result.task == task:
            kind: tuple[str, ...] = (run.folder,)
            if run.trained_on != NO_VALUE:
                kind = (
                    run.facts.get("tracker", run.folder),
                    *(text.text for text in row.texts[1:]),
                )
            group = groups.setdefault(tuple(map(run.result.parts.get, _DATA)), {})
            group.setdefault(kind, row)
    for best in sorted(groups.values(), key=lambda group: -next(iter(group.values())).size):
        listed = list(best.values())
        titles = max((list(row.figures) for row in listed), key=len)
        shown = list[list[str | Cell]]()
        for row in listed:
            link = Path(os.path.relpath(row.run.path, base)).as_posix()
            figures = [row.figures.get(title, Cell(NO_VALUE)) for title in titles]
            shown.append([Cell(row.run.folder, link=link), *figures, *row.texts])
        first = listed[0].run.result
        unit = f"{first.unit}s"
        data = "; ".join(data_caveats(first.parts, listed[0].size, unit)) or "the whole test split"
        heads = ["system", *titles, *_TEXTS[task]]
        yield to_markdown(table(f"{data[0].upper()}{data[1:]}", heads, shown, _TEXTS[task]))
