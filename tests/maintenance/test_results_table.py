"""The table of all results is made of the results that lie in the repository."""

from __future__ import annotations

from maintenance.results_table import HEAD, PAGE, ROOT, table_rows


def test_the_table_is_that_of_the_results() -> None:
    rows = list(table_rows())
    assert len(rows) == 1 + len(list((ROOT / "results").glob("*/scores.json")))
    page = PAGE.read_text(encoding="utf-8")
    assert page.split(HEAD)[1].startswith("".join(rows) + "\n")
