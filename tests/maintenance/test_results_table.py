"""The table of all results is made of the results that lie in the repository."""

from __future__ import annotations

from maintenance.results_table import HEAD, PAGE, ROOT, table_rows


def test_the_table_is_that_of_the_results() -> None:
    rows = list(table_rows())
    files = (ROOT / "results").glob("*/scores.json")
    assert len(rows) == 1 + sum('"sgdx_metric|' in file.read_text() for file in files)
    page = PAGE.read_text(encoding="utf-8")
    assert page.split(HEAD)[1].startswith("".join(rows) + "\n")
