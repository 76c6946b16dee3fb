"""Which source is read where none is named: the remembered one, as processes of a user's own."""

from __future__ import annotations

import json
from pathlib import Path

from ...conftest import Run
from ..conftest import DIALOGUE, write

LOAD = "print(len(__import__('sgdx_dataset').load('v1', 'test')))"


def unnamed(home: Path) -> dict[str, str]:
    """The environment of a user with an own cache who names no source."""
    return {"HF_HOME": str(home), "SGDX_SOURCE": ""}


def test_what_prepare_was_given_is_the_default_of_every_command(
    run: Run, mini: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    done = run("sgdx_dataset", "prepare", "--source", "mini", "--config", "v1", **unnamed(home))
    assert done.returncode == 0, done.stderr
    assert 'load_dataset("sgdx", "v1")\n' in done.stderr
    note = json.loads((home / "datasets" / "sgdx-source.json").read_text())
    assert note == {"source": str(mini)}
    done = run("sgdx_dataset", "export", "--config", "v1", "--output", "out", **unnamed(home))
    assert done.stdout == "out/train\nout/dev\nout/test\n", done.stderr
    done = run("timeit", "-n1", "-r1", LOAD, **unnamed(home))
    assert done.stdout.startswith("2\n"), done.stderr
    # What comes first: an argument, then the environment, then what is remembered.
    environment = unnamed(home) | {"SGDX_SOURCE": "sample"}
    done = run("timeit", "-n1", "-r1", LOAD, **environment)
    assert done.stdout.startswith("36\n"), done.stderr


def test_a_changed_source_is_noticed(run: Run, mini: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for config in ("v1", "v2"):
        arguments = ["--source", mini, "--config", config]
        assert run("sgdx_dataset", "prepare", *arguments, **unnamed(home)).returncode == 0
    write(mini / "test" / "dialogues_001.json", [DIALOGUE])
    done = run("timeit", "-n1", "-r1", LOAD, **unnamed(home))
    assert done.stdout.startswith("1\n"), done.stderr
    assert f"{mini} has changed since it was prepared: it is prepared anew" in done.stderr
    again = run("timeit", "-n1", "-r1", LOAD, **unnamed(home))
    assert (again.stdout[:2], again.stderr) == ("1\n", "")
    assert not (home / "datasets" / "sgdx-sources").exists()


def test_a_download_is_offered_and_not_begun(run: Run, tmp_path: Path) -> None:
    done = run("sgdx_dataset", "stats", **unnamed(tmp_path / "home"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "sgdx_dataset: error: no source is named and none was prepared before: give --source (or"
        " SGDX_SOURCE) a copy of the release, 'sample' for the small corpus of this package, or"
        " 'download' to fetch SGD from GitHub once (an archive of some 30 MB)\n"
    )


def test_a_remembered_source_that_is_gone(run: Run, mini: Path, tmp_path: Path) -> None:
    arguments = ["prepare", "--source", mini, "--config", "v1"]
    assert run("sgdx_dataset", *arguments, **unnamed(tmp_path / "home")).returncode == 0
    mini.rename(tmp_path / "elsewhere")
    done = run("sgdx_dataset", "stats", **unnamed(tmp_path / "home"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"sgdx_dataset: error: {mini}: was prepared before, but is not there any more; name a"
        " source with --source or SGDX_SOURCE\n"
    )


def test_a_damaged_note(run: Run, tmp_path: Path) -> None:
    note = tmp_path / "home" / "datasets" / "sgdx-source.json"
    write(note, ["sample"])
    done = run("sgdx_dataset", "stats", **unnamed(tmp_path / "home"))
    assert (done.returncode, done.stdout) == (2, "")
    assert str(note) in done.stderr and done.stderr.count("\n") == 1


def test_commands_say_that_they_took_the_remembered_source(
    run: Run, mini: Path, tmp_path: Path
) -> None:
    home = unnamed(tmp_path / "home")
    done = run("sgdx_dataset", "prepare", "--source", mini, "--config", "v1", **home)
    assert "note: the source is" not in done.stderr
    note = f"note: the source is {mini}, which prepare was given last; "
    note += "to choose another, give --source"
    predict = ("baselines.predict", "--tracker", "lexical", "--config", "v1", "--output", "a")
    done = run(*predict, **home)
    assert (done.returncode, done.stderr.splitlines()) == (0, [note])
    # The header says what the predictions are of, so that there is nothing to choose.
    score = ("sgdx_metric", "score", "--predictions", "a", "--output", "s.json")
    done = run(*score, **home)
    lacking = "note: found no predictions for v2, v3, v4, v5, so there is no mean over v1 to v5"
    assert (done.returncode, done.stderr.splitlines()) == (0, [lacking])
    lines = (tmp_path / "a" / "v1.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "a" / "v1.jsonl").write_text("".join(lines[1:]))
    done = run(*score, **home)
    assert (done.returncode, done.stderr.splitlines()) == (0, [note, lacking])
    done = run("sgdx_dataset", "show", "--config", "original", "v1", **home)
    assert (done.returncode, done.stderr.splitlines()) == (0, [note])
    done = run("sgdx_dataset", "show", "--config", "original", SGDX_SOURCE=str(mini))
    assert (done.returncode, done.stderr) == (0, "")


def test_prepare_says_what_it_replaces(run: Run, mini: Path, tmp_path: Path) -> None:
    home = unnamed(tmp_path / "home")
    done = run("sgdx_dataset", "prepare", "--source", mini, "--config", "v1", **home)
    assert "replaced" not in done.stderr
    done = run("sgdx_dataset", "prepare", "--source", "sample", "--config", "v1", **home)
    assert f"note: the cache had configs of {mini}; they were replaced\n" in done.stderr
