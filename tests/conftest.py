"""What several rooms' tests share: the real release, a cache of their own, running a command."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from .hub import TOKEN, Hub, serve

ROOT = Path(__file__).parents[1]
ARCHIVE = "dstc8-schema-guided-dialogue-e852981ae34990f4358979625854259302feaa78.zip"
Run = Callable[..., subprocess.CompletedProcess[str]]
# How a test's script begins that needs evaluate, which imports transformers if it can, for seconds.
EVALUATE = """
import json, sys
sys.modules["transformers"] = None
import evaluate
del sys.modules["transformers"]
"""

# A Hugging Face home of the tests' own, for this process and its children: set before `datasets`
# is imported, which reads it once.
HOME = tempfile.mkdtemp(prefix="sgdx-tests-")
os.environ |= {
    "HF_HOME": HOME,
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "SGDX_SOURCE": "sample",
    "OMP_NUM_THREADS": "1",  # the tests run beside each other
    "MKL_CBWR": "AUTO,STRICT",  # as `baselines` sets it, which a test may import after a product
}
for name in ("HF_DATASETS_CACHE", "HF_MODULES_CACHE", "GITHUB_REPOSITORY"):
    os.environ.pop(name, None)


# What a shell starts in the background ignores SIGINT, and so would the processes of the tests.
signal.signal(signal.SIGINT, signal.default_int_handler)


# Files of few and long tests that stand last by their names, as trainings stand first. They are
# begun first, so that none of them is left alone at the end: a file is run by one process.
LONG = ("test_tour.py", "test_docs.py", "test_refusals.py", "test_readme.py", "test_action.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files above; all others keep their order."""
    items.sort(key=lambda item: item.path.name not in LONG)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what is marked posix on systems that are not, and xla where torch-xla is missing."""
    if item.get_closest_marker("xla") and find_spec("torch_xla") is None:
        pytest.skip("needs torch-xla")
    if os.name != "posix" and item.get_closest_marker("posix"):
        pytest.skip("needs pipes, links or signals as POSIX has them")


@pytest.fixture(scope="session", autouse=True)
def hugging_face_home() -> Iterator[Path]:
    """The home above, removed at the end."""
    yield Path(HOME)
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def release_archive() -> Path:
    """The real SGD release, partial or whole; tests that need it are skipped where it is absent."""
    path = Path(os.environ.get("SGDX_RELEASE", ROOT.parent / "shared" / "data" / ARCHIVE))
    if not path.exists():
        pytest.skip(f"the real release is not at {path}; set SGDX_RELEASE to its archive")
    return path


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run ``python -m MODULE ...`` in an empty directory, as a user would."""

    def run_module(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            capture_output=True,
            text=True,
            timeout=1800,  # what takes a minute alone takes ten on a busy machine
        )

    return run_module


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A stand-in for the Hub that this process uses as the Hub, as the user ``you``."""
    with serve() as hub:
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        for name, value in {
            "ENDPOINT": hub.url,
            "HUGGINGFACE_CO_URL_TEMPLATE": hub.url + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_OFFLINE": False,
            "HF_HUB_DISABLE_XET": True,
        }.items():
            monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)
        if "transformers.utils.hub" in sys.modules:  # keeps the first Hub that it has asked
            monkeypatch.setattr("transformers.utils.hub._hf_api", None, raising=False)
        yield hub


@pytest.fixture(scope="session")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of three dialogues, two of which are of several services."""
    path = tmp_path_factory.mktemp("dialogues") / "three.json"
    path.write_text(json.dumps(["1_00000", "2_00000", "2_00001"]))
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The values of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def slot(name: str, description: str, *values: str) -> dict[str, Any]:
    """A slot of a schema; it is categorical if it has values."""
    return {
        "name": name,
        "description": description,
        "is_categorical": bool(values),
        "possible_values": [*values],
    }


def intent(name: str, description: str, required: list[str], optional: list[str]) -> dict[str, Any]:
    """An intent of a schema."""
    return {
        "name": name,
        "description": description,
        "is_transactional": False,
        "required_slots": required,
        "optional_slots": [{"slot": other, "value": ""} for other in optional],
        "result_slots": [],
    }
