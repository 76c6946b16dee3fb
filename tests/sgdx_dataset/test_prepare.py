"""What load_dataset finds in the prepared cache, which is of one source; faults; the script."""

from __future__ import annotations

import json
import os
import shutil
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


def load_here(cache: Path | str, config: str) -> dict[str, Any]:
    """What ``load_dataset("sgdx", config)`` gives of a config, as a whole and as a stream."""
    data = datasets.load_dataset("sgdx", config, cache_dir=str(cache))
    last = list(data)[-1]
    stream = datasets.load_dataset("sgdx", config, cache_dir=str(cache), streaming=True)
    first = next(iter(stream[last]))
    assert first == data[last][0]
    rows = {split: len(rows) for split, rows in data.items()}
    return {"rows": rows, "services": first["services"], "variant": first["variant"]}


LOAD = """
import datasets
out = {}
for config in sys.argv[2:]:
    data = datasets.load_dataset("sgdx", config, cache_dir=sys.argv[1])
    out[config] = [data["train"][0]["variant"], {split: len(rows) for split, rows in data.items()}]
print(json.dumps(out))
"""


def test_all_seven_of_the_sample(tmp_path: Path) -> None:
    """In a process that knows nothing of us, in another folder."""
    prepare("sample", cache_dir=tmp_path / "cache")
    files = [file.name for file in (tmp_path / "cache" / "sgdx" / "v1").rglob("*.arrow")]
    assert sorted(files) == ["sgdx-test.arrow", "sgdx-train.arrow", "sgdx-validation.arrow"]
    words = [sys.executable, "-c", WITHOUT_US + LOAD, str(tmp_path / "cache"), *CONFIGS]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    sizes: dict[str, Any] = {config: [config, WHOLE] for config in CONFIGS}
    sizes["backtrans"] = ["backtrans-ja", {"train": 198}]
    assert json.loads(done.stdout.splitlines()[-1]) == sizes


def test_what_is_prepared_is_kept_until_its_source_changes(mini: Path, tmp_path: Path) -> None:
    """What a killed run has left is out of load_dataset's sight, and the next run's."""
    cache = tmp_path / "cache"
    (place,) = prepare(mini, ["v1"], cache)
    before = place.stat().st_ino
    prepare(mini, ["v1"], cache)
    assert place.stat().st_ino == before
    staged = cache / ".sgdx-preparing" / "sgdx" / "v1" / "1.0.0" / "sgdx"
    staged.mkdir(parents=True)
    (staged / "sgdx-test.arrow").write_bytes(b"half")
    assert load_here(cache, "v1")["rows"] == {"train": 2, "validation": 2, "test": 2}
    write(mini / "test" / "dialogues_001.json", [DIALOGUE])
    (other,) = prepare(mini, ["v1"], cache)
    assert not place.exists() and not (cache / ".sgdx-preparing").exists()
    (other / "dataset_info.json").write_text("{")  # Without its record it is made again.
    prepare(mini, ["v1"], cache)
    assert load_here(cache, "v1")["rows"] == {"train": 2, "validation": 2, "test": 1}


def test_a_damaged_config_is_prepared_anew(mini: Path, tmp_path: Path) -> None:
    """Where a file is cut or gone; by load, and by prepare."""
    rows = load("v1", "test", mini).to_list()
    prepare(mini, ["v1"], tmp_path)
    (prepared,) = tmp_path.glob("sgdx/v1/*/*/sgdx-test.arrow")
    for file, again in (
        (Path(load("v1", "test", mini).cache_files[0]["filename"]), lambda: None),
        (prepared, lambda: prepare(mini, ["v1"], tmp_path)),
    ):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
        again()
        assert load("v1", "test", mini).to_list() == rows
        file.unlink()
        again()
        assert load("v1", "test", mini).to_list() == rows
        assert len(file.read_bytes()) == len(content)


@pytest.mark.parametrize(
    ("cache", "folder", "parts"),
    [("cache", "here", ["load_dataset("]),
     ("a[1]", "here", ["HF_HOME", "sgdx_dataset import load"]),
     ("cache", "sgdx", ["folder sgdx", "sgdx_dataset import load"])],
)  # fmt: skip
def test_prepare_announces_what_works(
    cache: str, folder: str, parts: list[str], mini: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """load_dataset takes brackets for a pattern, and a folder that is called sgdx for the data."""
    (tmp_path / "work" / folder).mkdir(parents=True)
    (tmp_path / "work" / folder / "a.txt").touch()
    monkeypatch.chdir(tmp_path / "work")
    assert main(["prepare", "--source", str(mini), "--cache-dir", str(tmp_path / cache)]) == 0
    error = capsys.readouterr().err
    assert all(part in error for part in parts)
    assert ("load_dataset(" in error) == (parts == ["load_dataset("])


def test_another_copy_of_a_source_replaces_the_first(mini: Path, hugging_face_home: Path) -> None:
    """Where a source is loaded that is not the prepared one, in the cache of its own.

    The copy lacks a split.
    """
    (mini / "dev" / "dialogues_001.json").unlink()
    folder = hugging_face_home / "datasets" / "sgdx-sources"
    before, prepared = set(folder.glob("*")), sorted((folder.parent / "sgdx").rglob("*"))
    assert len(load("v1", "test", mini)) == 2
    write(mini / "test" / "dialogues_001.json", [DIALOGUE])
    assert len(load("v1", "test", mini)) == 1
    (own,) = set(folder.glob("*")) - before
    # The variants that are judged together are prepared together; train alone.
    assert sorted(path.name for path in own.glob("sgdx/*")) == ["original", *VARIANTS]
    assert len(list(own.glob("sgdx/v1/*/*"))) == 1
    load("original", "train", mini)
    (of_train,) = set(folder.glob("*-train")) - before
    assert [path.name for path in of_train.glob("sgdx/*")] == ["original"]
    assert sorted((folder.parent / "sgdx").rglob("*")) == prepared
    whole = load("v1", source=mini)
    assert {split: len(rows) for split, rows in whole.items()} == {"train": 2, "test": 1}
    with pytest.raises(SgdxError, match=f"^{mini}: .*validation"):
        load("v1", "dev", mini)
    with pytest.raises(SgdxError, match="'testing'"):
        load("v1", "testing", mini)


def test_only_the_splits_asked_for_are_made_of_own_words(
    mini: Path, hugging_face_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They lie apart from what ``load_dataset`` sees; ``cache`` lists and removes them."""
    cache = hugging_face_home / "datasets"
    words = tmp_path / "mine.json"
    words.write_text("{}")
    before = set(cache.glob("sgdx-sources/*"))
    assert len(load("mine", "test", mini, {"mine": words})) == 2
    (own,) = set(cache.glob("sgdx-sources/*")) - before
    assert own.name.endswith("-test")
    assert [file.name for file in own.rglob("*.arrow")] == ["sgdx-test.arrow"]
    other = tmp_path / "other"
    prepare(mini, ["v1"], other)
    assert main(["cache", "--cache-dir", str(other)]) == 0
    first, last = capsys.readouterr().out.splitlines()
    size = sum(file.stat().st_size for file in (other / "sgdx").rglob("*") if file.is_file())
    assert f"{size / 1e6:.1f} MB  sgdx/v1  {mini}" in first
    assert last.endswith(f"{size / 1e6:.1f} MB  in {other}")
    for left in (f"  removed from {other}\n", f"0.0 MB  removed from {other}\n"):
        assert main(["cache", "clear", "--cache-dir", str(other)]) == 0
        assert capsys.readouterr().out.endswith(left)
        assert not (other / "sgdx").exists()
    assert (other / "sgdx-source.json").exists()


def test_a_cache_holds_one_source(mini: Path, tmp_path: Path) -> None:
    """Configs of another source, or of an older copy, are removed and never mix with new ones."""
    cache = tmp_path / "cache"

    def configs() -> list[str]:
        return sorted(path.name for path in (cache / "sgdx").iterdir())

    prepare(mini, ["original", "v1", "v3"], cache)
    prepare("sample", ["v1", "backtrans"], cache)
    assert configs() == ["backtrans", "v1"]
    prepare(None, ["v2"], cache)
    assert configs() == ["backtrans", "v1", "v2"]
    # A fault, of another source too, leaves the cache as it was.
    before, path = sorted(cache.rglob("*")), mini / "test" / "dialogues_001.json"
    whole = path.read_text()
    for old, new, config, fault in (
        ('"area"', '"areal"', "v1", "test/dialogues_001.json: dialogue 1_00000: 'areal'"),
        ("1_00000", "1_00001", "v1", "test/dialogues_001.json: dialogue 1_00001"),
        ("1_00000", "1_00000", "v6", "'v6'"),
    ):
        path.write_text(whole.replace(old, new, 1))
        with pytest.raises(SgdxError, match=fault):
            prepare(mini, ["v2", config], cache)
        assert (sorted(cache.rglob("*")), remembered_source(cache)) == (before, "sample")
    path.write_text(whole)
    prepare(mini, ["v1"], cache)
    write(path, [DIALOGUE])
    prepare(mini, ["v2"], cache)
    assert configs() == ["v2"]


def test_a_large_split_has_several_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sgdx_dataset.cache.MAX_SHARD_BYTES", 100_000)
    prepare("sample", ["v1"], tmp_path)
    options = {"cache_dir": str(tmp_path), "split": "train", "streaming": True}
    rows = datasets.load_dataset("sgdx", "v1", **options)
    assert rows.num_shards > 1
    assert len(list(rows)) == 66


@pytest.mark.posix
def test_a_read_only_cache_serves_what_it_holds(mini: Path, tmp_path: Path) -> None:
    """As another user, who may write nowhere below the cache."""
    cache = tmp_path / "home" / "datasets"
    prepare(mini, ["original"], cache)
    for path in (*cache.rglob("*"), cache, cache.parent):
        path.chmod(0o555 if path.is_dir() else 0o444)
    code = "import sgdx_dataset as s; s.prepare(configs=['original']); print(len(s.load()['test']))"
    environment = {**os.environ, "HF_HOME": str(cache.parent), "SGDX_SOURCE": ""}
    unprivileged = ["setpriv", "--bounding-set=-all"] if os.geteuid() == 0 else []
    words = [*unprivileged, sys.executable, "-c", code]
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    for path in (cache.parent, cache, *cache.rglob("*")):
        path.chmod(0o755)
    assert done.stdout == "2\n", done.stderr


# ---- kills, two processes at once, a full disk


def start(*arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sgdx_dataset", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)


@pytest.mark.posix
@pytest.mark.slow
def test_killed_in_the_middle(tmp_path: Path) -> None:
    cache, built = tmp_path / "cache", tmp_path / "hub"
    prepare = ["prepare", "--source", "sample", "--cache-dir", cache]
    build = ["push", "YOU/sgdx", "--source", "sample", "--output", built]
    for command, half_made in (
        (prepare, "cache/.sgdx-preparing/sgdx"),
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
    assert len(list(cache.glob("sgdx/*/*/*"))) == 7
    assert load_here(cache, "v5")["rows"] == WHOLE


def test_a_full_disk(tmp_path: Path) -> None:
    """On a file system of 700 kB, mounted in a namespace of the test's own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    program = f"{sys.executable} -m sgdx_dataset prepare --source sample --cache-dir {disk}/it"
    script = (
        f"mount -t tmpfs -o size=700k tmpfs {disk} || exit 77; {program}; code=$?;"
        f" find {disk} -name '*.arrow'; exit $code"
    )
    if (unshare := shutil.which("unshare")) is None:
        pytest.skip("no unshare to mount a small file system with")
    words, environment = (
        [unshare, "-rm", "sh", "-c", script],
        {**os.environ, "PYTHONPATH": str(ROOT)},
    )
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode in (1, 77):
        pytest.skip(f"may not mount a small file system: {done.stderr}")
    assert done.returncode == 2, done.stderr
    assert "No space left on device" in done.stderr and done.stderr.count("\n") == 1
    assert all("sgdx/original/1.0.0/" in line for line in done.stdout.splitlines())


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


@pytest.fixture(scope="module")
def datasets_3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``datasets`` 3.6.0, to be found before the installed version."""
    folder = tmp_path_factory.mktemp("datasets-3.6.0")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    words = [*command, str(folder), *PACKAGES]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"datasets 3.6.0 cannot be installed here: {done.stderr.splitlines()[-1:]}")
    return folder


def load_by_script(
    datasets_3: Path, home: Path, *data_dir: Path, configs: str = " ".join(CONFIGS), **others: str
) -> Any:
    """Each config's number of rows by split, and the last row of its last split."""
    home.mkdir(exist_ok=True)
    path = f"{datasets_3}{os.pathsep}{ROOT}"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, ROOT / "sgdx_dataset", configs, *data_dir],
        cwd=home,
        env={**os.environ, "HF_HOME": str(home / "hf"), "PYTHONPATH": path, **others},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    version, rows = json.loads(done.stdout.splitlines()[-1])
    assert version == "3.6.0"
    return rows


@pytest.mark.slow  # CI runs all tests with the oldest versions besides
def test_it_loads_under_datasets_3(datasets_3: Path, mini: Path, tmp_path: Path) -> None:
    """``$SGDX_SOURCE`` is part of what the cache of ``datasets`` goes by, as ``data_dir`` is."""
    home = tmp_path / "home"
    rows = load_by_script(datasets_3, home, mini, configs="v1", SGDX_SOURCE="sample")
    assert rows["v1"]["splits"] == {"train": 2, "validation": 2, "test": 2}
    rows = load_by_script(datasets_3, home, SGDX_SOURCE="sample")
    for config in CONFIGS:
        split = "train" if config == "backtrans" else "test"
        assert rows[config]["last"] == load(config, split, "sample")[-1]
    assert rows.pop("backtrans")["splits"] == {"train": 198}
    for config in rows.values():
        assert config["splits"] == {"train": 66, "validation": 19, "test": 36}
