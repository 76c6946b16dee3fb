"""Write the table of all runs of trackers in ``docs/results.md``, with the worst case and flips.

``python -m maintenance.results_table`` reads every ``scores.json`` of ``results/`` and that of
``models/onepass``, and puts the rows in the place of those that are there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from baselines.command_line import run_command
from baselines.report.inputs import read_input
from baselines.report.runs import TrackerRun
from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import write_bytes
from sgdx_metric.cli.results import GroupScores

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results.md"
SHIPPED = ROOT / "models" / "onepass"
HEAD = """\
| run | frames | JGA_orig | JGA_v1-5 | drop | JGA_worst | flips | seen: JGA_worst, flips | \
unseen: JGA_worst, flips |
|---|---|---|---|---|---|---|---|---|
"""


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    parser = argparse.ArgumentParser("python -m maintenance.results_table", description=__doc__)
    parser.parse_args()
    return run_command("maintenance.results_table", write_table)


def write_table() -> None:
    """Put the table into the page.

    Raises:
        SgdxError: The page has no such table.
    """
    before, head, after = PAGE.read_text(encoding="utf-8").partition(HEAD)
    if not head:
        raise SgdxError(f"{PAGE}: found no table that begins with {HEAD.splitlines()[0]}")
    rest = after[after.index("\n\n") :]
    write_bytes(PAGE, f"{before}{HEAD}{''.join(table_rows()).rstrip()}{rest}".encode())


def table_rows() -> Iterator[str]:
    """The row of each run, by the number of frames and then by JGA_worst."""
    folders = [file.parent for file in (ROOT / "results").glob("*/scores.json")] + [SHIPPED]
    runs = [run for run in map(read_input, folders) if isinstance(run, TrackerRun)]
    runs.sort(key=lambda run: (len(run.results.frame_ids), run.results.scores.sgdx.jga_worst or 0))
    for run in runs:
        sgdx = run.results.scores.sgdx
        original, reworded = sgdx.jga_orig or 0, sgdx.jga_v1_5 or 0
        cells = [
            "`onepass`, shipped" if run.path == SHIPPED else f"`{run.path.name}`",
            f"{len(run.results.frame_ids):,}",
            *map(_percent, (original, reworded, original - reworded)),
            *_worst_and_flips(sgdx),
            ", ".join(_worst_and_flips(sgdx.seen)),
            ", ".join(_worst_and_flips(sgdx.unseen)),
        ]
        yield f"| {' | '.join(cells)} |\n"


def _worst_and_flips(scores: GroupScores) -> list[str]:
    return [_percent(scores.jga_worst or 0), _percent(scores.flips or 0)]


def _percent(fraction: float) -> str:
    return f"{round(100 * fraction, 1) + 0.0:.1f}"  # never -0.0


if __name__ == "__main__":
    sys.exit(main())
