"""The benchmark measures what its page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from maintenance.benchmark import measures

from ..conftest import ROOT


@pytest.mark.slow
def test_every_measure_of_the_page_is_made(tmp_path: Path) -> None:
    made = measures("sample", 2, tmp_path)
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    table = page[page.index("\n| work |") :].partition("\n\n")[0]
    assert len(table.splitlines()) - 3 == len(made)  # less a line break, head and rule
    for measure in made:
        assert measure.time_work() > 0 and measure.time_peer() > 0
