"""Real faults: killed processes, full disks, two processes at once, outputs that are inputs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..conftest import ROOT, Run
from .test_prepare import load_here


def start(*arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sgdx_dataset", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)


def stop_when(
    process: subprocess.Popen[bytes], folder: Path, half_made: str, number: signal.Signals
) -> int:
    """Send a signal as soon as there is something half-made in a folder; give the exit status."""
    while not list(folder.glob(half_made)):
        assert process.poll() is None, "ended before it could be stopped"
        time.sleep(0.001)
    process.send_signal(number)
    return process.wait()


@pytest.mark.posix
@pytest.mark.slow
def test_killed_in_the_middle(tmp_path: Path) -> None:
    cache, built = tmp_path / "cache", tmp_path / "hub"
    prepare = ["prepare", "--source", "sample", "--cache-dir", cache]
    build = ["build", "--source", "sample", "--output", built]
    for command, half_made in (
        (prepare, "cache/.sgdx-preparing/sgdx"),
        (build, ".hub.*.incomplete/hub/data"),
    ):
        assert stop_when(start(*command), tmp_path, half_made, signal.SIGKILL) == -signal.SIGKILL
    assert not built.exists()
    for place in cache.glob("sgdx/*/*/*"):  # all that load_dataset looks at
        assert {"dataset_info.json", "sgdx-train.arrow"} <= {path.name for path in place.iterdir()}
    assert [start(*command).wait() for command in (prepare, build)] == [0, 0]
    assert (built / "README.md").exists() and not (cache / ".sgdx-preparing").exists()
    assert load_here(cache, "v5")["v5"]["rows"] == {"train": 66, "validation": 19, "test": 36}


@pytest.mark.slow
def test_two_processes_at_once(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    both = [start("prepare", "--source", "sample", "--cache-dir", cache) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert len(list(cache.glob("sgdx/*/*/*"))) == 7
    loaded = load_here(cache, "original", "v3")
    assert loaded["v3"]["rows"] == {"train": 66, "validation": 19, "test": 36}


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
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode in (1, 77):
        pytest.skip(f"may not mount a small file system: {done.stderr}")
    assert done.returncode == 2, done.stderr
    assert "No space left on device" in done.stderr and done.stderr.count("\n") == 1
    assert all("sgdx/original/1.0.0/sgdx/" in line for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    "words", ["subset --split test --count 1 --output", "show 1_00001 --html", "stats --json"]
)
def test_no_command_writes_over_what_it_reads(run: Run, mini: Path, words: str) -> None:
    file, link = mini / "test" / "dialogues_001.json", mini.parent / "out.json"
    link.symlink_to(file)
    before = file.read_bytes()
    for output in (file, link):
        done = run("sgdx_dataset", *words.split(), output, "--source", mini)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert file.read_bytes() == before
