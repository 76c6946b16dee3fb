"""The builder as a loading script of ``datasets`` 3.6.0, in an environment that has no sgdx."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sgdx_dataset import load
from sgdx_dataset.release.open import SAMPLE

LOAD = """
import json, sys
import datasets
rows = {}
for config in ("original", "v3", "backtrans"):
    options = {"data_dir": sys.argv[2], "trust_remote_code": True}
    data = datasets.load_dataset(sys.argv[1], config, **options)
    stream = datasets.load_dataset(sys.argv[1], config, streaming=True, **options)
    split = list(data)[-1]
    assert next(iter(stream[split])) == data[split][0]
    rows[config] = {"splits": {s: len(r) for s, r in data.items()}, "last": data[split][-1]}
print(json.dumps([datasets.__version__, rows]))
"""


def test_it_loads_under_datasets_3(tmp_path: Path) -> None:
    environment = {**os.environ, "HF_HOME": str(tmp_path / "home")}
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True, timeout=120)
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "datasets==3.6.0",
        "filelock",
        "msgspec",
    ]
    done = subprocess.run(install, capture_output=True, text=True, timeout=600)
    if done.returncode:
        pytest.skip(f"datasets 3.6.0 cannot be installed here: {done.stderr.splitlines()[-1:]}")
    script = SAMPLE.parent
    done = subprocess.run(
        [python, "-c", LOAD, script, SAMPLE],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    version, rows = json.loads(done.stdout.splitlines()[-1])
    assert version == "3.6.0"
    assert rows["v3"]["splits"] == {"train": 66, "validation": 19, "test": 36}
    assert rows["backtrans"]["splits"] == {"train": 198}
    assert rows["original"]["last"] == load("original", "test", "sample")[-1]
    assert rows["v3"]["last"] == load("v3", "test", "sample")[-1]
