"""The builder as a loading script of ``datasets`` 3.6.0, beside this package as it is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import CONFIGS, load

from ..conftest import ROOT

Json = Any
# What datasets 3.6.0 needs in older versions than the present one does; the rest is as installed.
PACKAGES = ["datasets==3.6.0", "dill==0.3.8", "multiprocess==0.70.16", "fsspec==2025.3.0"]
LOAD = """
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


def load_all(
    datasets_3: Path, home: Path, *data_dir: Path, configs: str = " ".join(CONFIGS), **others: str
) -> Json:
    """Each config's number of rows by split, and the last row of its last split."""
    home.mkdir(exist_ok=True)
    path = f"{datasets_3}{os.pathsep}{ROOT}"
    done = subprocess.run(
        [sys.executable, "-c", LOAD, ROOT / "sgdx_dataset", configs, *data_dir],
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


def test_it_loads_under_datasets_3(datasets_3: Path, mini: Path, tmp_path: Path) -> None:
    """``$SGDX_SOURCE`` is part of what the cache of ``datasets`` goes by, as ``data_dir`` is."""
    home = tmp_path / "home"
    rows = load_all(datasets_3, home, mini, configs="v1", SGDX_SOURCE="sample")
    assert rows["v1"]["splits"] == {"train": 2, "validation": 2, "test": 2}
    rows = load_all(datasets_3, home, SGDX_SOURCE="sample")
    for config in CONFIGS:
        split = "train" if config == "backtrans" else "test"
        assert rows[config]["last"] == load(config, split, "sample")[-1]
    assert rows.pop("backtrans")["splits"] == {"train": 198}
    for config in rows.values():
        assert config["splits"] == {"train": 66, "validation": 19, "test": 36}
