"""The leaderboard of generators: rows in a file that is checked, and their part of the page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_metric.cli.paired_results import UNVERIFIED, provenance
from sgdx_metric.signature import signature_parts
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS
from sgsacc_metric.bleu import CONVENTIONS
from sgsacc_metric.signature import NAME

from ..cells import NO_VALUE, markdown
from ..leaderboard import (
    Code,
    Percent,
    Text,
    check_parts,
    check_unchanged,
    parse_rows,
    row_digest,
    with_notes,
)
from ..runs import name_of_path, system_caveats
from ..systems import ScoredSystem
from .runs import GeneratorRun, TurnGroupScores, turn_caveats

FILE = "leaderboard_generators.toml"
HEAD = """\
# Rows of generators in docs/leaderboard.md that were measured with this project. BLEU is from 0 to
# 100, all else in percent. To add one, give
#   python -m baselines.report --leaderboard RUN
# and send the files as a pull request.
"""


class TurnHeadline(
    msgspec.Struct,
    rename={"bleu_v1_5": "bleu_v1-5", "ser_v1_5": "ser_v1-5", "sgsacc_v1_5": "sgsacc_v1-5"},
    forbid_unknown_fields=True,
    kw_only=True,
):
    """Headline scores of some turns; None where there is none, as of SGSAcc without a model."""

    bleu_orig: Percent | None = None
    bleu_v1_5: Percent | None = None
    ser_orig: Percent | None = None
    ser_v1_5: Percent | None = None
    changed: Percent | None = None
    sgsacc_orig: Percent | None = None
    sgsacc_v1_5: Percent | None = None


class GeneratorRow(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A row that was measured with this project.

    Attributes:
        system: The generator.
        all, seen_domains, unseen_domains: Its scores.
        bleu: BLEU of all turns under the original schemas, by convention.
        signature, command, oracle, random_weights, scores, sha256: As in a row of a tracker.
    """

    system: Text
    all: TurnHeadline
    seen_domains: TurnHeadline | None = None
    unseen_domains: TurnHeadline | None = None
    bleu: dict[str, Percent]
    signature: Code
    command: Code
    oracle: bool = False
    random_weights: bool = False
    scores: list[Code] = []
    sha256: str = ""

    @property
    def parts(self) -> dict[str, str]:
        """The parts of the signature."""
        return signature_parts(self.signature, self.system, NAME)

    @property
    def data_caveats(self) -> list[str]:
        """What must stand beside every score on the data, and of SGSAcc by this model."""
        return turn_caveats(self.parts, int(self.parts["turns"].partition("@")[0]))

    @property
    def caveats(self) -> list[str]:
        """What must stand beside the scores of the system."""
        origin = provenance(bool(self.scores and self.sha256), self.parts)
        return system_caveats(self.oracle, self.random_weights, origin)


def read_generators(path: Path) -> list[GeneratorRow]:
    """Read the rows that were measured with this project; none where there is no file.

    Raises:
        SgdxError, ScoreError: The file cannot be read, a row is not one, was changed, or is there
            twice; the message names it.
    """
    if not path.exists():
        return []
    try:
        return parse_generators(path.read_bytes(), str(path))
    except OSError as error:
        raise SgdxError(f"{path}: {error.strerror}") from None


def parse_generators(data: bytes, path: str) -> list[GeneratorRow]:
    """The rows in a file's content, if each is one and none appears twice."""
    rows = parse_rows(data, GeneratorRow, path)
    keys = set()
    for number, row in enumerate(rows, 1):
        where = f"{path}: row {number} ({row.system})"
        _check(row, where)
        if (key := (row.system, row.signature)) in keys:
            raise SgdxError(f"{where}: appears twice, expected one row for it")
        keys.add(key)
    return rows


def _check(row: GeneratorRow, where: str) -> None:
    """Refuse a row that was changed, or is not of the whole test split under all six wordings."""
    parts = signature_parts(row.signature, where, NAME)
    check_unchanged(row, row.sha256, where)
    expected = {
        "split": "test",
        "generator": "+".join((ORIGINAL, *PAPER_VARIANTS)),
        "evaluator": ORIGINAL,
        "ser": "t2g2",
    }
    check_parts(parts, row.oracle, expected, where)
    if not parts.get("turns", "").partition("@")[0].isdecimal():
        raise SgdxError(f"{where}: found no number of turns in the signature, expected one")
    if {*row.bleu} != {*CONVENTIONS}:
        raise SgdxError(f"{where}: bleu: expected {', '.join(CONVENTIONS)}")


def generator_row(system: ScoredSystem[GeneratorRun]) -> GeneratorRow:
    """The row of a system; of several seeds their mean.

    Raises:
        SgdxError: Its scores are not of the test split under all six wordings.
    """
    runs = system.runs
    sgdx = [run.scores.sgdx for run in runs]
    is_known = UNVERIFIED not in {run.provenance for run in runs}
    name = str(system.first.record.metadata.get("model") or "")
    row = GeneratorRow(
        system=(name if name.startswith("copy of ") else system.name)
        + (f", mean of {len(runs)} seeds" if len(runs) > 1 else ""),
        all=_mean(sgdx) or TurnHeadline(),
        seen_domains=_mean([s.seen_domains for s in sgdx]),
        unseen_domains=_mean([s.unseen_domains for s in sgdx]),
        bleu={
            convention: _rounded(
                [run.scores.conventions[ORIGINAL][convention]["bleu"] for run in runs]
            )
            or 0.0
            for convention in CONVENTIONS
            if all(ORIGINAL in run.scores.conventions for run in runs)
        },
        signature=system.first.signature,
        command=generation_command(system.first),
        oracle=system.first.oracle,
        random_weights=system.first.random_weights,
        scores=[run.scores.sha256 for run in runs] if is_known else [],
    )
    row = msgspec.structs.replace(row, sha256=row_digest(row))
    _check(row, str(system.first.path))
    return row


def _mean(scores: Sequence[TurnGroupScores]) -> TurnHeadline | None:
    """The mean of each score over runs; None where there are no turns."""
    if not all(group.turns for group in scores):
        return None
    return TurnHeadline(
        **{
            name: _rounded([getattr(s, name) for s in scores], 1 if "bleu" in name else 100)
            for name in TurnHeadline.__struct_fields__
        }
    )


def _rounded(values: Sequence[float | None], scale: float = 1) -> float | None:
    defined = [scale * value for value in values if value is not None]
    return round(sum(defined) / len(defined), 4) if len(defined) == len(values) else None


def generation_command(run: GeneratorRun) -> str:
    """The commands that made a run's responses and scores, with words in capitals for paths."""
    metadata, parts = run.record.metadata, run.signature_parts
    model, output = str(metadata.get("model") or "MODEL"), f"outputs/{name_of_path(run.path)}"
    data = ["--source", "sample" if parts.get("release") == "sample" else "PATH"]
    data += ["--dialogues", "FILE"] if "dialogues" in parts else []
    if model.startswith("copy of "):
        words = ["baselines.copies", "--system", str(metadata.get("input"))]
        words += ["--templates", "DIR"] if metadata.get("input") == "templates" else []
        folder = output
    else:
        # A path from the root says more of a user's machine than a leaderboard needs.
        shown = Path(model).name if Path(model).is_absolute() else model
        words, folder = ["baselines.evaluate", "--model", shown], f"{output}/predictions"
    nli = parts.get("nli", "none")
    judge = {"none": [], "lexical (no model)": ["--nli", "lexical"]}.get(nli, ["--nli", nli])
    score = ["sgsacc_metric", "score", "--predictions", folder, *data, *judge]
    return " && ".join(
        shlex.join(["python", "-m", *part])
        for part in ([*words, *data, "--output", output], [*score, "--output", f"{output}.json"])
    )


def render_generators(rows: Sequence[GeneratorRow]) -> str:
    """The part of the leaderboard's page about generators, its rows by BLEU under v1 to v5."""
    sections = [_INTRODUCTION]
    by_data: dict[str, list[GeneratorRow]] = {}
    for row in sorted(rows, key=lambda row: -(row.all.bleu_v1_5 or -1)):
        caveats = "; ".join(row.data_caveats) or "the whole test split"
        by_data.setdefault(caveats, []).append(row)
    for caveats, of_data in by_data.items():
        sections.append(f"### Generators on {caveats}\n\n{_table(of_data)}")
    if not rows:
        sections.append("No row yet.")
    return "\n\n".join(sections) + "\n"


_INTRODUCTION = """\
## Generators

These systems put into words what the system has to say. The rows are sorted by BLEU under the
reworded schemas. BLEU says how near a response is to the corpus' own words, not whether it is right.

| column | what it is |
|---|---|
| BLEU orig, v1-5 | BLEU from 0 to 100 (`tok:13a`, `case:mixed`) |
| orig, 13a-lc and so on | BLEU under the original schemas by three other conventions, which cannot be compared with each other |
| SER | share of turns that lack a value, in percent; lower is better |
| changed | share of turns whose text differs from that under the original schemas, in percent |
| SGSAcc | share of turns that say everything that they have to say, in percent; higher is better |

SGSAcc by a comparison of words is a stand-in for a model of entailment, and no result: it shows only
where a system stands beside the copies ([why](results.md#what-these-figures-mean)). The papers'
figures are in [the metric's card](../sgsacc_metric/README.md). Rows are in
[`leaderboard_generators.toml`](leaderboard_generators.toml). The same command adds them."""  # noqa: E501


def _table(rows: Sequence[GeneratorRow]) -> str:
    scales = [name for name in CONVENTIONS if name != "13a"]
    headers = ["system", "BLEU orig", "BLEU v1-5", *(f"orig, {name}" for name in scales),
               "SER orig", "SER v1-5", "changed", "SGSAcc orig", "SGSAcc v1-5",
               "unseen domains: BLEU, SGSAcc v1-5", "remarks"]  # fmt: skip
    table = [f"| {' | '.join(headers)} |", "|---" * len(headers) + "|"]
    notes = []
    for number, row in enumerate(rows, 1):
        scores, unseen = row.all, row.unseen_domains or TurnHeadline()
        cells: list[Any] = [scores.bleu_orig, scores.bleu_v1_5, *(row.bleu[s] for s in scales)]
        cells += [scores.ser_orig, scores.ser_v1_5, scores.changed]
        cells += [scores.sgsacc_orig, scores.sgsacc_v1_5]
        texts = [*map(_cell, cells), f"{_cell(unseen.bleu_v1_5)}, {_cell(unseen.sgsacc_v1_5)}"]
        name = f"{markdown(row.system)} ({number})"
        table.append(f"| {' | '.join([name, *texts, '; '.join(row.caveats)])} |")
        notes.append(f"{number}. `{row.command}`  \n   `{row.signature}`")
    return with_notes(table, notes)


def _cell(score: float | None) -> str:
    return NO_VALUE if score is None else f"{score:.2f}"
