"""From responses to a sheet, to scripted people who fill it in, to their agreement."""

from __future__ import annotations

import csv
import io
import json
import random
from itertools import pairwise
from pathlib import Path

import pytest

from sgdx_metric.rows import ScoreError
from sgsacc_metric.__main__ import main
from sgsacc_metric.annotation import JudgedPair
from sgsacc_metric.cli.annotation_files import Key, read_answers, write_annotation

from .commands import LEXICAL, SAMPLE, error_of


@pytest.fixture(scope="module")
def folder(copies: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sheet and a key of 425 pairs of the sample corpus."""
    output = tmp_path_factory.mktemp("annotation")
    words = ["annotate", *SAMPLE, *LEXICAL, "--predictions", str(copies / "derived")]
    assert main([*words, "--pairs", "200", "150", "25", "--output", str(output)]) == 0
    return output


def fill_in(folder: Path, people: int, skill: float, model: float, seed: int) -> list[Path]:
    """Fill in a sheet as people do who are right with probability `skill`.

    The model is right with probability `model`: that is how often its verdict is the truth.
    """
    draws = random.Random(seed)  # noqa: S311
    verdicts = {
        p["pair"]: p["entailed"] for p in json.loads((folder / "key.json").read_text())["pairs"]
    }
    truth = {name: verdict == (draws.random() < model) for name, verdict in verdicts.items()}
    paths = []
    for person in range(people):
        rows = list(csv.DictReader(io.StringIO((folder / "sheet.csv").read_text("utf-8-sig"))))
        draws.shuffle(rows)
        for row in rows:
            says = truth[row["pair"]] == (draws.random() < skill)
            row["answer"] = "yes" if says else "No "
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), delimiter=",;\t"[person % 3])
        writer.writeheader()
        writer.writerows(rows)
        paths.append(folder / f"person-{seed}-{person}.csv")
        paths[-1].write_text(text.getvalue(), encoding="utf-8")
    return paths


def test_the_sheet_does_not_show_the_verdicts(folder: Path) -> None:
    key = json.loads((folder / "key.json").read_text())
    rows = list(csv.DictReader(io.StringIO((folder / "sheet.csv").read_text("utf-8-sig"))))
    assert list(rows[0]) == ["pair", "before", "response", "statement", "answer"]
    assert [row["pair"] for row in rows] == [pair["pair"] for pair in key["pairs"]]
    assert {row["answer"] for row in rows} == {""}
    assert "|generator:original+v1|" in key["signature"] and key["nli"] == "lexical (no model)"
    # The strata are mixed, so that their order says nothing.
    strata = [pair["stratum"] for pair in key["pairs"]]
    assert sum(a != b for a, b in pairwise(strata)) > len(strata) / 4


@pytest.mark.parametrize(
    ("skill", "model", "seed", "expected"),
    [
        # Most of three people who are right in 0.95 are so in 0.95^3 + 3 x 0.95^2 x 0.05 = 0.99275.
        (1.0, 0.9, 0, 0.9),
        (0.95, 0.9, 1, 0.9 * 0.99275 + 0.1 * 0.00725),
        (0.95, 0.76, 3, 0.76 * 0.99275 + 0.24 * 0.00725),
    ],
)
def test_people_of_known_skill_are_recovered(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    skill: float, model: float, seed: int, expected: float,
) -> None:  # fmt: skip
    sheets = fill_in(folder, 3, skill, model, seed)
    output = tmp_path / "agreement.json"
    key = folder / "key.json"
    assert main(["agreement", *map(str, (key, *sheets)), "--json", str(output)]) == 0
    validated = json.loads(output.read_text())["groups"]["validated"]
    low, high = validated["confidence"]["agreement"]
    assert low <= expected <= high and high - low < 0.12
    # Two people agree in s^2 + (1 - s)^2 of the pairs, and by chance in about half of them.
    kappa = 2 * (skill**2 + (1 - skill) ** 2) - 1
    low, high = validated["confidence"]["kappa"]
    assert low - 0.005 <= kappa <= high + 0.005 and high - low < 0.16
    printed = capsys.readouterr().out
    assert "90.0" in printed and "0.93" in printed and "76.0" in printed
    assert all(len(line) <= 80 for line in printed.rstrip().splitlines()[:-1])


def test_sheets_that_do_not_fit(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = fill_in(folder, 1, 1.0, 1.0, 9)[0]
    lines = sheet.read_text().splitlines()
    broken = tmp_path / "broken.csv"
    first = lines[1].partition(",")[0]
    cases: tuple[tuple[list[str], str], ...] = (
        ([lines[0], lines[1].rpartition(",")[0] + ",perhaps"], "row 2: found answer 'perhaps'"),
        (lines[:-1], "1 of 375 pairs are missing, the first is"),
        ([*lines, lines[1]], f"row {len(lines) + 1}: pair {first} appears twice"),
        ([*lines, lines[1].replace(first, "00000000")], "found pair 00000000, which the key"),
        ([*lines, "a,b"], "found 2 cells, expected 5"),
        (["name,age", "a,1"], ":1: expected the columns pair, before"),
        ([], ":1: expected the columns pair, before"),
    )
    for content, message in cases:
        broken.write_text("\n".join(content))
        found = error_of(capsys, "agreement", folder / "key.json", sheet, broken)
        assert found.startswith(str(broken)) and message in found
    assert "two people at least" in error_of(capsys, "agreement", folder / "key.json", sheet)


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    pair = JudgedPair("0a", "failed", "1/1", 0, "v1", "+1", '=HYPERLINK("x")', "City, or so.", True)
    sheet, _ = write_annotation(Key("s", "n", [pair]), tmp_path)
    row = next(csv.DictReader(io.StringIO(sheet.read_text("utf-8-sig"))))
    assert (row["before"], row["response"]) == ("'+1", '\'=HYPERLINK("x")')
    assert row["statement"] == "City, or so."
    sheet.write_bytes(b"\xff\xfe")
    with pytest.raises(ScoreError, match="cannot be read as a table"):
        read_answers([sheet], Key("s", "n", [pair]))
