"""The command: the files that it writes, and what it says where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgdx_eval.references import References

from .conftest import Row, forget, reported, write_run


def test_the_files(made: Path) -> None:
    names = sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file())
    figures = (
        "augmentation", "by_wording", "drop_beside_flips", "flips", "services", "turns",
        "words_changed",
    )  # fmt: skip
    assert names == sorted(
        [
            "errors.jsonl",
            "index.html",
            "report.md",
            *(f"figures/{f}.{e}" for f in figures for e in ("svg", "png")),
        ]
    )
    assert (made / "index.html").stat().st_size < 2_000_000
    assert (made / "figures" / "flips.png").read_bytes().startswith(b"\x89PNG")


def test_one_variant_alone_has_a_report(
    sample: References, gold: dict[str, list[Row]], tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", sample, {"v2": gold["v2"]}, forget(0, 0.1), tracker="x")
    assert reported(run, "--output", tmp_path / "out") == 0
    text = (tmp_path / "out" / "report.md").read_text()
    assert "| x | all | 273 | – | – | – | – | – | – |" in text and "Only v2 was scored" in text
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    expected = ["What rewording costs", "What the figures mean", "Published figures", "Runs"]
    assert headings == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{nowhere}", "--output", "{out}"], "nowhere: found no scores.json"),
        (["{out}", "--output", "{out}"], "found no scores.json"),
        (["{run}", "--output", "{file}"], "is a file, expected a folder"),
        (["{run}", "--output", "{out}", "--references", "{out}", "--source", "sample"], "--source"),
        (["{nowhere}", "{out}", "--output", "{out}"], "found no run that can be read"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: list[str],
    message: str,
    runs: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = {
        "nowhere": tmp_path / "nowhere",
        "out": tmp_path / "out",
        "file": runs["tiny"] / "scores.json",
        "run": runs["tiny"],
    }
    paths["out"].mkdir()
    assert reported(*(argument.format(**paths) for argument in arguments)) == 2
    error = capsys.readouterr().err.splitlines()
    assert message in error[-1] and error[-1].startswith("sgdx: error: ")
    assert not list(paths["out"].iterdir())
