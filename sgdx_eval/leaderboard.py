"""Write the leaderboard from the scores of runs, and from the figures that papers give.

Every folder with a scores.json in the folders that are given is a row. Published figures stand
beside the rows of trackers.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io import console
from sgdx_dataset.io.files import read_file, staged
from sgdx_dataset.io.json import decode_json, parse_json
from sgdx_eval.headers import Header
from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import NAME as STATES
from sgdx_metric.signature import signature_parts
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS
from sgsacc_metric.signature import NAME as TURNS

from .published import PublishedRow, read_published
from .tables import NO_VALUE, Cell, format_figure, interval, number, table, to_markdown

NAME = "sgdx_eval.leaderboard"
Interval = tuple[float, float]


class Board(NamedTuple):
    """What rows of one kind show, and the rules by which they have to be scored."""

    metric: str  # what the signature begins with
    titles: Mapping[
        str, str
    ]  # of figures, by their keys in scores.json; the rows are sorted by the second
    rules: Mapping[str, str | None]  # what parts of the signature are; None for one that is absent
    size: str  # the part with the number of frames or turns


_SIX = "+".join((ORIGINAL, *PAPER_VARIANTS))
TRACKERS = Board(
    STATES,
    {
        "jga_orig": "JGA_orig",
        "jga_v1-5": "JGA_v1-5",
        "jga_worst": "JGA_worst",
        "flips": "flips",
        "ss_jga": "SS_JGA",
        "relative_difference": "Diff_rel",
    },
    {
        "variants": _SIX,
        "split": "test",
        "match": "fuzzy-token-sort",
        "joint": "frame",
        "zero-mean": "0",
        "services": None,
        "errata": None,
        "over": None,
        "task": None,
    },
    "frames",
)
GENERATORS = Board(
    TURNS,
    {
        "bleu_orig": "BLEU_orig",
        "bleu_v1-5": "BLEU_v1-5",
        "ser_orig": "SER_orig",
        "ser_v1-5": "SER_v1-5",
        "sgsacc_orig": "SGSAcc_orig",
        "sgsacc_v1-5": "SGSAcc_v1-5",
        "changed": "changed",
    },
    {"generator": _SIX, "evaluator": ORIGINAL, "split": "test", "ser": "t2g2"},
    "turns",
)
# Parts of a signature that say what was scored and by which model; rows that differ in one are not
# compared.
_DATA = ("release", "dialogues", "turns", "nli")


class _Scores(msgspec.Struct):
    signature: str
    sgdx: msgspec.Raw
    predictions: dict[str, Header] = {}


class _Intervals(msgspec.Struct):
    confidence: dict[str, Interval | None] = {}


class _Augmentation(msgspec.Struct):
    schemas: str
    ratio: float = 1


class _Training(msgspec.Struct):
    augment: _Augmentation | None = None
    train_dialogues: int | None = None


class _Record(msgspec.Struct):
    settings: _Training


class _RunFile(msgspec.Struct):
    """What ``run.json`` says of the training."""

    record: _Record | None = None


@dataclass(frozen=True)
class Run:
    """A row."""

    folder: Path
    board: Board
    parts: Mapping[str, str]  # of the signature
    figures: Mapping[str, float | None]  # by key
    intervals: Mapping[str, Interval | None]  # by key, 95 % over dialogues
    trained_on: str

    @property
    def data(self) -> tuple[str, ...]:
        """What rows that compare have in common."""
        return tuple(self.parts.get(key, "") for key in _DATA)

    @property
    def size(self) -> int:
        """How many frames or turns were scored."""
        number = self.parts[self.board.size].partition("@")[0]
        return int(number) if number.isdecimal() else 0

    @property
    def rank(self) -> tuple[float, str]:
        """What the rows of a table are sorted by."""
        return -([*self.figures.values()][1] or -1), self.folder.name

    @property
    def remark(self) -> str:
        """What must stand beside the figures."""
        return "oracle: trained on v1 to v5" if self.parts.get("oracle") == "yes" else ""


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """The runs in the folders, by name.

    Raises:
        ScoreError, SgdxError: A folder has none, a file is malformed, or was not scored by the
            rules of its board.
    """
    runs = []
    for folder in folders:
        files = sorted(folder.glob("*/scores.json"))
        if not files:
            raise SgdxError(f"{folder}: found no NAME/scores.json, expected one at least")
        runs += [_read_run(file) for file in files]
    return runs


def _read_run(file: Path) -> Run:
    """The run of a scores.json."""
    scores = parse_json(read_file(file), _Scores, str(file), "a scores.json")
    board = GENERATORS if scores.signature.startswith(f"{TURNS}|") else TRACKERS
    parts = signature_parts(scores.signature, str(file), board.metric)
    for key, expected in board.rules.items():
        if parts.get(key) != expected:
            raise SgdxError(
                f"{file}: {key} is '{parts.get(key, 'not there')}' in the signature, expected "
                f"'{expected or 'not there'}'"
            )
    for key in ("release", board.size):
        if key not in parts:
            raise SgdxError(f"{file}: found no {key} in the signature, expected it")
    what = "the figures of a scores.json"
    sgdx = decode_json(scores.sgdx, dict[str, Any], str(file), what)
    # Only these are numbers: beside them stand groups of services.
    figures = {key: sgdx.get(key) for key in board.titles}
    return Run(
        file.parent,
        board,
        parts,
        decode_json(msgspec.json.encode(figures), dict[str, float | None], str(file), what),
        decode_json(scores.sgdx, _Intervals, str(file), what).confidence,
        _read_training(file, scores.predictions),
    )


def _read_training(scores: Path, predictions: Mapping[str, Header]) -> str:
    """The schemas and the number of dialogues that a model was trained on; a dash if unknown."""
    file = scores.with_name("run.json")
    record = (
        parse_json(read_file(file), _RunFile, str(file), "a run.json").record
        if file.is_file()
        else None
    )
    system = next((header.system for header in predictions.values()), {})
    if record is None and "train" not in system:
        return NO_VALUE
    stated = msgspec.json.encode({"augment": system.get("augment")})
    training = record.settings if record else decode_json(stated, _Training, str(scores), "facts")
    text = "original"
    if training.augment:
        ratio = "" if training.augment.ratio == 1 else f" x {training.augment.ratio:g}"
        text += f" + {training.augment.schemas}{ratio}"
    dialogues = training.train_dialogues
    return text if dialogues is None else f"{text}, {dialogues:,} dialogues"


def render(folders: Sequence[Path], published: Sequence[PublishedRow], base: Path) -> str:
    """The page in Markdown.

    Args:
        folders: What holds the folders of runs.
        published: The rows of papers.
        base: The folder of the page, from which links lead.
    """
    runs = read_runs(folders)
    trackers = [run for run in runs if run.board is TRACKERS]
    generators = [run for run in runs if run.board is GENERATORS]
    template = resources.files(__package__).joinpath("leaderboard_template.md")
    return template.read_text("utf-8").format(
        best=_best(trackers),
        trackers="\n\n".join(_tables(trackers, base)),
        published=_published_table(published),
        generators="\n\n".join(_tables(generators, base)),
    )


def _best(runs: Sequence[Run]) -> str:
    """The result in a sentence: the best tracker on the most dialogues."""
    groups = _by_data([run for run in runs if run.parts.get("oracle") != "yes"])
    if not groups:
        return ""
    best = groups[0][0]
    original, reworded, worst = (
        _number(key, best.figures[key]) for key in ("jga_orig", "jga_v1-5", "jga_worst")
    )
    return fill(
        f"The best tracker on {_name_of(best)} is `{best.folder.name}`. Its joint goal accuracy is "
        f"{original} % under the original schemas and {reworded} % under other words. Under all "
        f"six wordings at once it is {worst} %.",
        100,
    )


def _by_data(runs: Sequence[Run]) -> list[list[Run]]:
    """The runs in groups that compare, those on most frames or turns first, each best first."""
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.rank):
        groups.setdefault(run.data, []).append(run)
    return sorted(groups.values(), key=lambda group: -group[0].size)


def _name_of(run: Run) -> str:
    """What a run was scored on."""
    release, subset = run.parts["release"], run.parts.get("dialogues", "").partition("@")[0]
    if release == "sample":
        name = "the small sample corpus, not SGD"
    elif release.startswith("partial:"):
        present, _, whole = release.removeprefix("partial:").partition("/")
        name = f"{_thousands(present)} of the {_thousands(whole)} test dialogues"
    elif release.startswith("unverified:") or release == "unknown":
        name = "data that is not known to be the release's"
    else:
        name = "the whole test split"
    return f"{_thousands(subset)} dialogues drawn from {name}" if subset else name


def _thousands(number: str) -> str:
    return f"{int(number):,}" if number.isdecimal() else number


def _tables(runs: Sequence[Run], base: Path) -> list[str]:
    """A table for each group of runs that compare."""
    tables = []
    for group in _by_data(runs):
        lexical = group[0].parts.get("nli", "").startswith("lexical")
        judged = "; SGSAcc by a comparison of words, which is no model" if lexical else ""
        name = _name_of(group[0])
        title = f"{name[0].upper()}{name[1:]}{judged}"
        headers = ["system", *group[0].board.titles.values(), *_TEXTS]
        rows = [_row(run, base) for run in group]
        tables.append(to_markdown(table(title, headers, rows, _TEXTS)))
    return tables


_TEXTS = ("trained on", "remarks")


def _row(run: Run, base: Path) -> list[Cell | str]:
    """The cells of a run, the first with a link to its folder."""
    link = Path(os.path.relpath(run.folder, base)).as_posix()
    figures = [
        Cell(_number(key, value), interval(run.intervals.get(key), partial(_number, key)))
        for key, value in run.figures.items()
    ]
    return [Cell(run.folder.name, link=link), *figures, run.trained_on, run.remark]


def _number(key: str, value: float | None) -> str:
    return format_figure(key, value, 1)


def _published_table(published: Sequence[PublishedRow]) -> str:
    """What papers give, what may be set beside a run on the whole test split first."""
    given = {key for row in published for key in row.all}
    titles = {key: title for key, title in TRACKERS.titles.items() if key in given}

    def rank(row: PublishedRow) -> tuple[bool, float, float]:
        figures = row.all
        return bool(row.not_comparable), -figures.get("jga_v1-5", 0), -figures.get("jga_orig", 0)

    rows = []
    for row in sorted(published, key=rank):
        figures = [number(row.all.get(key), 1) for key in titles]
        rows.append([row.name, *figures, row.data, row.where, row.not_comparable])
    texts = ("data", "source", "remarks")
    return to_markdown(table("", ["system", *titles.values(), *texts], rows, texts))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(f"python -m {NAME}", description=__doc__)
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        default=[Path("results"), Path("models")],
        metavar="FOLDER",
        help="Take the runs in these folders. Default: results models.",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("docs/leaderboard.md"),
        metavar="FILE",
        help="Write the page into this file. Default: docs/leaderboard.md.",
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    options = _parser().parse_args(arguments)

    def run() -> None:
        page = render(options.folders, read_published(), options.output.parent)
        with staged(options.output) as staging:
            staging.write_text(page, "utf-8")
        print(options.output)

    return console.run(NAME, run, (SgdxError, ScoreError))


if __name__ == "__main__":
    sys.exit(main())
