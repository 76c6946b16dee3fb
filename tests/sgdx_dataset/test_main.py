"""The commands: what they write, one line per fault, exit status 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import Run

# Commands that write, without the place that they write to.
WRITING = {
    "prepare": ["prepare", "--config", "v1", "--cache-dir"],
    "build": ["build", "--output"],
    "export": ["export", "--config", "v1", "--output"],
    "frames": ["frames", "--split", "test", "--config", "v1", "--output"],
    "show": ["show", "1_00000", "--config", "v1", "--html"],
    "reword corrupt": ["reword", "corrupt", "--variants", "1", "--output"],
}


def test_prepare_takes_configs_in_either_spelling(run: Run, mini: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    done = run("sgdx_dataset", "prepare", "--source", mini, "--cache-dir", cache, "--config", "v1")
    assert (done.returncode, done.stdout) == (0, f"{cache}/sgdx/v1/1.0.0/sgdx\n"), done.stderr
    configs = ["--config", "v2", "v3", "--config", "original"]
    done = run("sgdx_dataset", "prepare", "--source", mini, "--cache-dir", cache, *configs)
    assert "HF_HUB_OFFLINE=1" in done.stderr.splitlines()[-1]
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (cache / "sgdx").iterdir()) == ["original", "v1", "v2", "v3"]


def test_export_one_split(run: Run, mini: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["export", "--source", mini, "--config", "v1", "--output", out, "--split"]
    done = run("sgdx_dataset", *command, "dev")  # the same as validation
    assert (done.returncode, done.stdout) == (0, f"{out}/dev\n"), done.stderr
    assert sorted(p.name for p in out.rglob("*")) == ["dev", "dialogues_001.json", "schema.json"]


@pytest.mark.posix
def test_surroundings_change_no_byte(run: Run, mini: Path, tmp_path: Path) -> None:
    """No locale that knows UTF-8, secrets in the environment, and letters of many in paths."""
    schema = mini / "test" / "schema.json"
    schema.write_text(schema.read_text(encoding="utf-8").replace("lets", "l\u00ebts"), "utf-8")
    surroundings = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    surroundings |= {"HF_TOKEN": "hf_secretsecretsecret"}
    written = []
    for folder, variables in (("usual", {}), ("a b \u00e4 \U0001f600", surroundings)):
        output = tmp_path / folder / "output"
        command = ["export", "--source", mini, "--config", "v1", "--output", output]
        done = run("sgdx_dataset", *command, **variables)
        assert done.returncode == 0, done.stderr
        files = sorted(path for path in output.rglob("*.json"))
        written.append([(path.name, path.read_bytes()) for path in files])
        assert "hf_secret" not in done.stdout + done.stderr
    assert written[0] == written[1]
    assert len(written[0]) == 6


CONFIGS_ARE = "expected one of original, v1, v2, v3, v4, v5, backtrans"
NO_SPLIT = 'Invalid value "tset" for --split'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("prepare --source /no/such", "/no/such: no such source"),
        ("prepare --source sample --config v9", f"unknown config 'v9', {CONFIGS_ARE}"),
        ("export --config v1 --split tset --output x", NO_SPLIT),
        ("frames --split tset --output x", NO_SPLIT),
        ("turns --split tset --output x", NO_SPLIT),
        ("frames --split test --config w --output x", f"unknown config 'w', {CONFIGS_ARE}"),
        ("subset --split tset --count 2 --output x", NO_SPLIT),
        ("subset --split test --count 0 --output x", "--count: found 0, expected 1 or more"),
        ("subset --split test --count 99 --output x", "--count: found 99, expected at most 36"),
        ("subset --split test --count 2 --seed -1 --output x", "--seed: found -1, expected 0"),
        ("show 9_99999", "sample: test, validation, train: found no dialogue '9_99999'"),
        ("show 1_00000 --config v7", "unknown config 'v7', expected one of original, v1"),
        ("show --schema Nothing_1", "sample: has no service Nothing_1, expected one of Bikes_1"),
        ("show 1_00000 --schema Vets_1", "--schema: found options of a dialogue"),
        ("export --config v1 --output x --dialogues ids", "--dialogues: found no --split"),
        ("frames --split test --output x --dialogues ids", "ids: 1 of 2 dialogues are not in test"),
        ("turns --split dev --output x --dialogues ids", "ids: 1 of 2 dialogues are not in valid"),
        ("prepare --variant a=x --variant a=y", "--variant a=y: found a twice"),
        ("prepare --variant original=x", "variant 'original': expected a name of letters"),
    ],
)
def test_one_line_per_fault(run: Run, tmp_path: Path, arguments: str, message: str) -> None:
    (tmp_path / "ids").write_text('["1_00000", "9_99999"]')
    done = run("sgdx_dataset", *arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"sgdx: error: {message}"), done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["ids"]


@pytest.mark.parametrize("command", WRITING)
@pytest.mark.parametrize("place", ["file/x", "x" * 300])
def test_a_place_that_cannot_be_written(
    run: Run, mini: Path, tmp_path: Path, command: str, place: str
) -> None:
    (tmp_path / "file").write_text("")
    done = run("sgdx_dataset", *WRITING[command], tmp_path / place, "--source", mini)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("sgdx: error: ")
    assert "Not a directory" in line or "File exists" in line or "File name too long" in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "mini"]


def test_nothing_of_the_data_moves_the_cursor(run: Run, mini: Path) -> None:
    path = mini / "test" / "dialogues_001.json"
    path.write_text(path.read_text().replace("No, thanks.", "\\u001b[2J[red]No\\u0007"))
    done = run("sgdx_dataset", "show", "1_00000", "--config", "v1", "--source", mini)
    assert done.returncode == 0
    assert "USER  \\x1b[2J[red]No\\x07\n" in done.stdout
    done = run("sgdx_dataset", "show", "1_\x1b[2J", "--source", mini)
    assert "\x1b" not in done.stderr
    path.write_text(path.read_text().replace('"FindFlat"', '"\\u001b[2J"', 1))
    done = run("sgdx_dataset", *WRITING["export"], "x", "--source", mini)
    assert (done.returncode, "\x1b" in done.stderr) == (2, False)


def test_a_source_without_dialogues(run: Run, mini: Path, tmp_path: Path) -> None:
    for path in mini.glob("*/dialogues_001.json"):
        path.unlink()
    for command in ("prepare", "build", "export"):
        done = run("sgdx_dataset", *WRITING[command], tmp_path / "out", "--source", mini)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{mini}: has no dialogues" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mini"]
