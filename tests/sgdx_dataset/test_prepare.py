"""What load_dataset finds in the prepared cache, which is of one source; faults; the script."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import datasets
import pytest

from sgdx_dataset import CONFIGS, VARIANTS, SgdxError, load, prepare
from sgdx_dataset.__main__ import main
from sgdx_dataset.source import remembered_source

from ..conftest import ROOT
from .conftest import DIALOGUE, WITHOUT_US, write

WHOLE = {"train": 66, "validation": 19, "test": 36}  # of the sample
LOAD = """
import datasets
out = {}
for config in sys.argv[1:]:
    data = datasets.load_dataset("sgdx", config)
    out[config] = [data["train"][0]["variant"], {split: len(rows) for split, rows in data.items()}]
print(json.dumps(out))
"""


def loaded(config: str) -> dict[str, int]:
    """How many rows ``load_dataset`` gives of each split, streamed ones too."""
    data = datasets.load_dataset("sgdx", config)
    stream = datasets.load_dataset("sgdx", config, split="test", streaming=True)
    assert next(iter(stream)) == data["test"][0]
    return {split: len(rows) for split, rows in data.items()}


def prepared(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "sgdx").iterdir())


def test_all_seven_of_the_sample(cache: Path, tmp_path: Path) -> None:
    """In a process that knows nothing of us, in another folder."""
    prepare("sample")
    files = [file.name for file in (cache / "sgdx" / "v1").rglob("*.arrow")]
    assert sorted(files) == ["sgdx-test.arrow", "sgdx-train.arrow", "sgdx-validation.arrow"]
    words = [sys.executable, "-c", WITHOUT_US + LOAD, *CONFIGS]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    sizes: dict[str, Any] = {config: [config, WHOLE] for config in CONFIGS}
    sizes["backtrans"] = ["backtrans-ja", {"train": 198}]
    assert json.loads(done.stdout.splitlines()[-1]) == sizes


def test_a_cache_holds_one_source_as_it_is_now(mini: Path, cache: Path) -> None:
    """Configs of another source, or of an older copy, are removed and never mix with new ones."""
    (place,) = prepare(mini, ["v1"])
    before = place.stat().st_ino
    prepare(mini, ["v1", "v3"])
    assert (place.stat().st_ino, prepared(cache)) == (before, ["v1", "v3"])
    prepare("sample", ["v1", "backtrans"])
    assert prepared(cache) == ["backtrans", "v1"]
    prepare(None, ["v2"])
    assert prepared(cache) == ["backtrans", "v1", "v2"]
    # A fault, of another source too, leaves the cache as it was.
    files, path = sorted(cache.rglob("*")), mini / "test" / "dialogues_001.json"
    whole = path.read_text()
    for old, new, config, fault in (
        ('"area"', '"areal"', "v1", "test/dialogues_001.json: dialogue 1_00000: 'areal'"),
        ("1_00000", "1_00001", "v1", "test/dialogues_001.json: dialogue 1_00001"),
        ("1_00000", "1_00000", "v6", "'v6'"),
    ):
        path.write_text(whole.replace(old, new, 1))
        with pytest.raises(SgdxError, match=fault):
            prepare(mini, ["v2", config])
        assert (sorted(cache.rglob("*")), remembered_source(cache)) == (files, "sample")
    path.write_text(whole)
    prepare(mini, ["v1"])
    assert loaded("v1") == {"train": 2, "validation": 2, "test": 2}
    write(path, [DIALOGUE])
    (other,) = prepare(mini, ["v2"])
    assert prepared(cache) == ["v2"]
    assert loaded("v2") == {"train": 2, "validation": 2, "test": 1}
    (other / "dataset_info.json").write_text("{")  # Without its record it is made again.
    prepare(mini, ["v2"])
    assert loaded("v2") == {"train": 2, "validation": 2, "test": 1}


def test_a_damaged_config_is_prepared_anew(mini: Path, cache: Path) -> None:
    """Where a file is cut or gone; by load, and by prepare; with what a killed run has left."""
    rows = load("v1", "test", mini).to_list()
    prepare(mini, ["v1"])
    (place,) = cache.glob("sgdx/v1/*/*/sgdx-test.arrow")
    write(cache / ".sgdx-preparing" / "sgdx" / "v1" / "sgdx-test.arrow", "half")
    for file, again in (
        (Path(load("v1", "test", mini).cache_files[0]["filename"]), lambda: None),
        (place, lambda: prepare(mini, ["v1"])),
    ):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
        again()
        assert load("v1", "test", mini).to_list() == rows
        file.unlink()
        again()
        assert load("v1", "test", mini).to_list() == rows
        assert len(file.read_bytes()) == len(content)
    assert not (cache / ".sgdx-preparing").exists()


@pytest.mark.parametrize(
    ("home", "folder", "parts"),
    [("home", "here", ["load_dataset("]),
     ("a[1]", "here", ["HF_HOME", "sgdx_dataset import load"]),
     ("home", "sgdx", ["folder sgdx", "sgdx_dataset import load"])],
)  # fmt: skip
def test_prepare_announces_what_works(
    home: str, folder: str, parts: list[str], mini: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """load_dataset takes brackets for a pattern, and a folder that is called sgdx for the data."""
    (tmp_path / "work" / folder).mkdir(parents=True)
    (tmp_path / "work" / folder / "a.txt").touch()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / home)
    assert main(["prepare", "--source", str(mini), "--variant", "v1"]) == 0
    error = capsys.readouterr().err
    assert all(part in error for part in parts)
    assert ("load_dataset(" in error) == (parts == ["load_dataset("])


def test_a_source_that_is_not_the_prepared_one_has_a_cache_of_its_own(
    mini: Path, cache: Path, tmp_path: Path
) -> None:
    """In which another copy replaces the first, and of own words only what is asked for is made."""
    (mini / "dev" / "dialogues_001.json").unlink()  # the copy lacks a split
    assert len(load("v1", "test", mini)) == 2
    write(mini / "test" / "dialogues_001.json", [DIALOGUE])
    assert len(load("v1", "test", mini)) == 1
    (own,) = cache.glob("sgdx-sources/*-test")
    # The variants that are judged together are prepared together; train alone.
    assert prepared(own) == ["original", *VARIANTS]
    assert len(list(own.glob("sgdx/v1/*/*"))) == 1
    load("original", "train", mini)
    (of_train,) = cache.glob("sgdx-sources/*-train")
    assert prepared(of_train) == ["original"]
    write(tmp_path / "mine.json", {})
    assert len(load("mine", "test", mini, {"mine": tmp_path / "mine.json"})) == 1
    (words,) = own.glob("sgdx/mine")
    assert [file.name for file in words.rglob("*.arrow")] == ["sgdx-test.arrow"]
    whole = load("v1", source=mini)
    assert {split: len(rows) for split, rows in whole.items()} == {"train": 2, "test": 1}
    for split, fault in (("dev", f"^{mini}: .*validation"), ("testing", "'testing'")):
        with pytest.raises(SgdxError, match=fault):
            load("v1", split, mini)
    assert not (cache / "sgdx").exists()


def test_the_cache_is_listed_and_cleared(
    mini: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A clone of the project beside the cache's files, which is called so too, stays."""
    write(cache / "sgdx" / "docs" / "a" / "b.json", {})
    prepare(mini, ["v1"])
    load("original", "train", "sample")
    assert main(["cache"]) == 0
    own, other, last = (line.split() for line in capsys.readouterr().out.splitlines())
    assert own[2:] == ["sgdx/v1", str(mini)] and last[2:] == ["in", str(cache)]
    assert other[2].endswith("-train/sgdx/original") and other[3] == "sample"
    next(cache.glob("sgdx/v1/*/*/dataset_info.json")).unlink()  # as somebody may
    for end in (f"  removed from {cache}\n", f"0.0 MB  removed from {cache}\n"):
        assert main(["cache", "clear"]) == 0
        assert capsys.readouterr().out.endswith(end)
    left = sorted(path.name for path in cache.rglob("*") if path.is_file())
    assert left == ["b.json", "sgdx-source.json", "sgdx.lock"]


def test_a_large_split_has_several_shards(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sgdx_dataset.cache.MAX_SHARD_BYTES", 100_000)
    prepare("sample", ["v1"])
    rows = datasets.load_dataset("sgdx", "v1", split="train", streaming=True)
    assert rows.num_shards > 1 and len(list(rows)) == 66


@pytest.mark.posix
def test_a_read_only_cache_serves_what_it_holds(mini: Path, cache: Path, tmp_path: Path) -> None:
    """As another user, who may write nowhere below the cache."""
    prepare(mini, ["original"])
    for path in (*cache.rglob("*"), cache, cache.parent):
        path.chmod(0o555 if path.is_dir() else 0o444)
    code = "import sgdx_dataset as s; s.prepare(configs=['original']); print(len(s.load()['test']))"
    unprivileged = ["setpriv", "--bounding-set=-all"] if os.geteuid() == 0 else []
    words = [*unprivileged, sys.executable, "-c", code]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    for path in (cache.parent, cache, *cache.rglob("*")):
        path.chmod(0o755)
    assert done.stdout == "2\n", done.stderr


# ---- kills, and two processes at once


def start(*arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sgdx_dataset", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)


@pytest.mark.posix
@pytest.mark.slow
def test_killed_in_the_middle(cache: Path, tmp_path: Path) -> None:
    built = tmp_path / "hub"
    prepare = ["prepare", "--source", "sample"]
    build = ["push", "YOU/sgdx", "--source", "sample", "--output", built]
    for command, half_made in (
        (prepare, "home/datasets/.sgdx-preparing/sgdx"),
        (build, ".hub.*.incomplete/hub/data"),
    ):
        process = start(*command)
        while not list(tmp_path.glob(half_made)):
            assert process.poll() is None, "ended before it could be killed"
            time.sleep(0.001)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert not built.exists()
    for place in cache.glob("sgdx/*/*/*"):  # all that load_dataset looks at
        assert {"dataset_info.json", "sgdx-train.arrow"} <= {path.name for path in place.iterdir()}
    # Two processes at once get through all the same.
    commands = [start(*command) for command in (prepare, prepare, build)]
    assert [process.wait() for process in commands] == [0, 0, 0]
    assert (built / "README.md").exists() and not (cache / ".sgdx-preparing").exists()
    assert prepared(cache) == sorted(CONFIGS)
    assert loaded("v5") == WHOLE


# ---- the builder as a loading script of ``datasets`` 3.6.0, beside this package as it is

# What datasets 3.6.0 needs in older versions than the present one does; the rest is as installed.
PACKAGES = ["datasets==3.6.0", "dill==0.3.8", "multiprocess==0.70.16", "fsspec==2025.3.0"]
SCRIPT = """
import json, sys
import datasets
script, configs, *data_dir = sys.argv[1:]
rows = {}
for config in configs.split():
    options = {"trust_remote_code": True, **({"data_dir": data_dir[0]} if data_dir else {})}
    data = datasets.load_dataset(script, config, **options)
    split = list(data)[-1]
    rows[config] = {"splits": {s: len(r) for s, r in data.items()}, "last": data[split][-1]}
stream = datasets.load_dataset(script, config, streaming=True, **options)
assert next(iter(stream[split])) == data[split][0]
print(json.dumps([datasets.__version__, rows]))
"""


@pytest.mark.slow  # CI runs all tests with the oldest versions besides
def test_it_loads_under_datasets_3(mini: Path, tmp_path: Path) -> None:
    """``$SGDX_SOURCE`` is part of what the cache of ``datasets`` goes by, as ``data_dir`` is."""
    folder = tmp_path / "datasets-3.6.0"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    words = [*command, str(folder), *PACKAGES]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"datasets 3.6.0 cannot be installed here: {done.stderr.splitlines()[-1:]}")
    paths = {"HF_HOME": str(tmp_path / "hf"), "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    found = []
    for configs, data_dir in (("v1", [mini]), (" ".join(CONFIGS), [])):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, ROOT / "sgdx_dataset", configs, *data_dir],
            cwd=tmp_path,
            env={**os.environ, **paths, "SGDX_SOURCE": "sample"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        version, rows = json.loads(done.stdout.splitlines()[-1])
        assert version == "3.6.0"
        found.append(rows)
    assert found[0]["v1"]["splits"] == {"train": 2, "validation": 2, "test": 2}
    for config, rows in found[1].items():
        whole, split = (WHOLE, "test") if config != "backtrans" else ({"train": 198}, "train")
        assert rows == {"splits": whole, "last": load(config, split, "sample")[-1]}
