"""Which source is read where none is named: the remembered one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgdx_dataset import load

from ..conftest import Run
from .conftest import DIALOGUE, write


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user with an own cache who names no source."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SGDX_SOURCE", "")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "home" / "datasets")
    return tmp_path / "home"


def test_what_prepare_was_given_is_the_default_of_every_command(
    run: Run, mini: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run("sgdx_dataset", "prepare", "--source", "mini", "--config", "v1")
    assert done.returncode == 0 and "replaced" not in done.stderr, done.stderr
    assert "note: the source is" not in done.stderr
    assert 'load_dataset("sgdx", "v1")\n' in done.stderr
    note = json.loads((home / "datasets" / "sgdx-source.json").read_text())
    assert note == {"source": str(mini)}
    done = run("sgdx_dataset", "export", "--config", "v1", "--output", "out")
    assert done.stdout == "out/train\nout/dev\nout/test\n", done.stderr
    assert len(load("v1", "test")) == 2
    # What comes first: an argument, then the environment, then what is remembered.
    monkeypatch.setenv("SGDX_SOURCE", "sample")
    assert (len(load("v1", "test")), len(load("v1", "test", mini))) == (36, 2)
    assert (load("v1")["test"].num_rows, len(load("v1", "test", "sample"))) == (36, 36)
    write(mini / "test" / "dialogues_001.json", [DIALOGUE])
    done = run("sgdx_dataset", "prepare", "--source", mini, "--config", "v2")
    assert done.stderr.splitlines()[0].endswith("of an older copy: v1")
    done = run("sgdx_dataset", "prepare", "--source", "sample", "--config", "v1")
    assert f"note: the cache had configs of {mini}; they were replaced\n" in done.stderr


def test_a_changed_source_is_noticed(
    run: Run, mini: Path, home: Path, recwarn: pytest.WarningsRecorder
) -> None:
    for config in ("v1", "v2"):
        done = run("sgdx_dataset", "prepare", "--source", mini, "--config", config)
        assert done.returncode == 0, done.stderr
    write(mini / "test" / "dialogues_001.json", [DIALOGUE])
    with pytest.warns(UserWarning, match=f"{mini} has changed since it was prepared"):
        assert len(load("v1", "test")) == 1
    recwarn.clear()
    assert len(load("v1", "test")) == 1
    assert not recwarn.list
    assert not (home / "datasets" / "sgdx-sources").exists()


@pytest.mark.parametrize("fault", ["none", "gone", "damaged"])
def test_no_source_that_can_be_read(run: Run, mini: Path, home: Path, fault: str) -> None:
    """A download is offered and not begun."""
    named = {"none": "no source is named", "gone": f"{mini}: ", "damaged": f"{home}/datasets/"}
    if fault == "gone":
        run("sgdx_dataset", "prepare", "--source", mini, "--config", "v1")
        mini.rename(home / "elsewhere")
    elif fault == "damaged":
        write(home / "datasets" / "sgdx-source.json", ["sample"])
    done = run("sgdx_dataset", "stats")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"sgdx: error: {named[fault]}"), done.stderr


def test_commands_say_that_they_took_the_remembered_source(
    run: Run, mini: Path, home: Path, tmp_path: Path
) -> None:
    run("sgdx_dataset", "prepare", "--source", mini, "--config", "v1")
    note = f"note: the source is {mini}, which prepare was given last; "
    note += "to choose another, give --source"
    predict = ("baselines.predict", "--tracker", "lexical", "--config", "v1", "--output", "a")
    # The header says what the predictions are of, so that there is nothing to choose.
    score = ("sgdx_metric", "score", "--predictions", "a", "--output", "s.json")
    show = ("sgdx_dataset", "show", "--config", "original", "v1")
    for command, lines in ((predict, [note]), (score, []), (show, [note])):
        done = run(*command)
        assert (done.returncode, done.stderr.splitlines()) == (0, lines)
    predictions = (tmp_path / "a" / "v1.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "a" / "v1.jsonl").write_text("".join(predictions[1:]))
    done = run(*score)
    assert (done.returncode, done.stderr.splitlines()) == (0, [note])
    done = run(*show, SGDX_SOURCE=str(mini))
    assert (done.returncode, done.stderr) == (0, "")
