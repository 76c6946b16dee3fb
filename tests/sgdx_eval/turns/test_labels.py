"""Tables of labels, and the agreement of those who gave them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgsacc_metric.__main__ import main

from .commands import error_of

TABLE = "item,model,anna,ben\n1/1,yes,Yes,yes \n1/3,no,yes,yes\n2/1,no,no,no\n"


def test_one_table_or_several_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, model, people = (tmp_path / name for name in ("all.csv", "model.jsonl", "people.tsv"))
    table.write_text(TABLE)
    rows = [("2/1", "no"), ("1/1", "yes"), ("1/3", "no")]
    model.write_text("".join(json.dumps({"item": i, "model": label}) + "\n" for i, label in rows))
    people.write_text("item\tanna\tben\n1/1\tyes\tyes\n1/3\tyes\tyes\n2/1\tno\tno\n")
    found = []
    for files in ([table], [model, people]):
        output = tmp_path / "agreement.json"
        assert main(["agreement", *map(str, files), "--json", str(output)]) == 0
        found.append(json.loads(output.read_text()))
        assert "66.7" in capsys.readouterr().out
    assert found[0] == found[1]
    assert (found[0]["items"], found[0]["people"], found[0]["kappa"]) == (3, 2, 1.0)
    assert found[0]["agreement"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (TABLE.replace("no,no,no", "no,no,"), ("row 3", "ben", "2/1")),
        (TABLE.replace("no,no,no", "no,no,no,no"), ("row 3",)),
        (TABLE + "1/1,yes,yes,yes\n", ("row 4", "1/1")),
        (TABLE.replace("item", "name"), ("row 1", "item")),
        ("", ()),
    ],
)
def test_tables_that_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, facts: tuple[str, ...]
) -> None:
    table = tmp_path / "labels.csv"
    table.write_text(content)
    found = error_of(capsys, "agreement", table)
    assert all(fact in found for fact in facts)


def test_an_item_that_one_person_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, other = tmp_path / "labels.csv", tmp_path / "carl.csv"
    table.write_text(TABLE)
    other.write_text("item,carl\n1/1,yes\n1/3,no\n")
    found = error_of(capsys, "agreement", table, other)
    assert "carl" in found and "2/1" in found
    other.write_bytes(b"\xff\xfe")
    assert str(other) in error_of(capsys, "agreement", other)
