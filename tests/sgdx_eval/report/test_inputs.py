"""The command: the files that it writes, a choice of items, and what it says where it cannot."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from sgdx_cli import main
from sgdx_dataset import SgdxError
from sgdx_dataset.__main__ import main as dataset
from sgdx_eval.references import References
from sgdx_eval.report.figures import Figures
from sgdx_eval.report.inputs import Choice, read_inputs
from sgdx_eval.report.runs import System, read_run
from sgdx_eval.report.slots.breakage import costliest_rewordings

from .conftest import Row, forget, reported, write_run


def test_the_files(made: Path) -> None:
    names = sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file())
    figures = (
        "augmentation", "by_variant", "drop_beside_flips", "flips", "services", "turns",
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


@pytest.fixture(scope="module")
def subset(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with every second dialogue."""
    path = tmp_path_factory.mktemp("ids") / "half.txt"
    path.write_text("\n".join(read_run(runs["tiny"]).results.dialogue_ids()[::2]))
    return path


@pytest.mark.parametrize("services", [(), ("Vets_1",)])
def test_figures_are_those_of_score(
    services: tuple[str, ...], subset: Path, runs: dict[str, Path], tmp_path: Path
) -> None:
    """The same choice, scored by the metric's own command, gives the same figures."""
    out = tmp_path / "scores.json"
    words = ["score", "--source", "sample", "--predictions", runs["tiny"] / "predictions"]
    words += ["--dialogues", subset, *(w for s in services for w in ("--service", s))]
    assert main([*map(str, words), "--output", str(out)]) == 0
    expected = json.loads(out.read_text())
    run = Choice(dialogues=subset, services=services).of(read_run(runs["tiny"]))
    keys = run.results.task.keys(run.results.scores())
    estimates = Figures(System("x", [run])).estimates()
    assert len(run.results.raw.items.ids) == expected["frames"]["all"]
    for key in keys[2:]:
        assert estimates[key].value == pytest.approx(expected["sgdx"][key])
        assert estimates[key].interval == pytest.approx(expected["sgdx"]["confidence"][key])
    stated = dict(part.split(":", 1) for part in expected["signature"].split("|")[1:])
    for part in ("dialogues", "services", "frames"):
        assert run.results.parts.get(part) == stated.get(part)


def test_a_report_of_a_choice(subset: Path, runs: dict[str, Path], tmp_path: Path) -> None:
    words = (runs["tiny"], "--dialogues", subset, "--service", "Vets_1", "--source", "sample")
    assert reported(*words, "--output", tmp_path / "out") == 0
    text = (tmp_path / "out" / "report.md").read_text()
    assert "All official metrics" not in text and "--service Vets_1" in text
    assert re.search(r"\|dialogues:\d+@[0-9a-f]{8}\|services:Vets_1\|frames:\d+\|", text)
    lines = (tmp_path / "out" / "errors.jsonl").read_text().splitlines()
    assert lines and all(json.loads(line)["frame_id"].endswith("/Vets_1") for line in lines)


def test_a_service_that_is_not_there(runs: dict[str, Path]) -> None:
    with pytest.raises(SgdxError, match="Nowhere_1"):
        Choice(services=["Nowhere_1"]).of(read_run(runs["tiny"]))


def left_out(run: Path, source: str | None = None) -> str:
    """The one reason for which a run is not analysed."""
    inputs = read_inputs([run], Choice(source))
    (group,) = inputs.groups
    assert not group.analyses
    (reason,) = inputs.not_analysed
    assert "sgp_dst" in reason and not inputs.left_out
    return reason


def test_errors_are_left_out_where_they_cannot_be_known(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs["tiny"], run)
    file = run / "predictions" / "v2.jsonl"
    text = file.read_text()
    file.unlink()
    assert left_out(run).endswith("there are no predictions beside scores.json")
    shutil.copy(run / "predictions" / "v3.jsonl", file)
    assert "v2.jsonl:1: metadata: variant is " in left_out(run)
    file.write_text(text.rsplit("\n", 1)[0])
    assert "1 of 273 frames are missing" in left_out(run)
    assert "no such source" in left_out(run, str(tmp_path / "nowhere"))


@pytest.mark.slow
def test_references_in_a_folder_give_the_same(runs: dict[str, Path], tmp_path: Path) -> None:
    arguments = ["--source", "sample", "--split", "test", "--output", str(tmp_path)]
    assert dataset(["frames", *arguments]) == 0
    release, folder = (
        read_inputs([runs["tiny"]], Choice(references=references)).groups[0].analyses["sgp_dst"]
        for references in (None, tmp_path)
    )
    assert release.errors and release.errors == folder.errors
    assert costliest_rewordings(release) == costliest_rewordings(folder)
    assert release.gold.origin.tolist() == folder.gold.origin.tolist()
    assert release.gold.kind.tolist() == folder.gold.kind.tolist()
