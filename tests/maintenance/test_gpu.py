"""The kit for a GPU: small encoders, and weights that come back in parts."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import torch

from baselines.encoders import load_encoder, tiny_encoder
from baselines.use import load_tracker
from maintenance.gpu.weights import write_small
from maintenance.ship import ship

from ..baselines.conftest import train_once
from ..conftest import ROOT


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of its own, as the kit moves its folders, as a killed packing leaves it."""
    shutil.copytree(ROOT / "maintenance" / "gpu", tmp_path / "tree" / "maintenance" / "gpu")
    for name in ("models", "results"):
        (tmp_path / "tree" / ".gpu" / "aside" / name).mkdir(parents=True)
    return tmp_path / "tree"


def kit(tree: Path, *words: object) -> int:
    environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    line = ["bash", str(tree / "maintenance" / "gpu" / "kit.sh"), *map(str, words)]
    return subprocess.run(line, check=False, env=environment, capture_output=True).returncode


def test_a_packed_model_comes_back_in_parts_and_is_shipped(
    tree: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = train_once(tmp_path_factory, "onepass", bits=5, rounded=0.5)
    fetched, results = tmp_path / "fetched", tmp_path / "results"
    fetched.mkdir()
    shutil.copytree(run, results / "model-2", ignore=shutil.ignore_patterns("checkpoints"))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(run / "model.safetensors", "model.safetensors")
    content = archive.getvalue()
    for number, begin in enumerate(range(0, len(content), 30_000)):
        (fetched / f"weights-2-{number:02}").write_bytes(content[begin : begin + 30_000])
    (results / "model-2" / "model.safetensors").unlink()
    shutil.make_archive(str(fetched / "run"), "gztar", results)
    assert kit(tree, "back", fetched, 2, tmp_path / "back") == 0
    assert (tree / "models").is_dir() and not (tree / ".gpu" / "aside" / "models").exists()
    ship(tmp_path / "back", run.parent / "recipe.yaml", tmp_path / "shipped")
    assert load_tracker(tmp_path / "shipped").describe() == load_tracker(run).describe()
    (fetched / "weights-2-01").unlink()
    assert kit(tree, "back", fetched, 2, tmp_path / "back") != 0


def test_an_encoder_in_8_bits_is_nearly_the_same(tmp_path: Path) -> None:
    for part in tiny_encoder(["a table for two", "which city?"]):
        part.save_pretrained(tmp_path / "start")
    write_small(tmp_path / "start", tmp_path / "small")
    large, small = (
        (tmp_path / of / "model.safetensors").stat().st_size for of in ("start", "small")
    )
    assert small < large / 3
    exact, rounded = (load_encoder(str(tmp_path / of)) for of in ("start", "small"))
    assert exact[1].get_vocab() == rounded[1].get_vocab()
    weights = exact[0].state_dict()
    for name, tensor in rounded[0].state_dict().items():
        if "pooler" not in name:
            atol = float(weights[name].abs().max()) / 200
            torch.testing.assert_close(tensor, weights[name], atol=atol, rtol=0)


def test_packing_that_fails_leaves_the_tree_as_it_was(tree: Path) -> None:
    assert kit(tree, "pack") != 0
    assert (tree / "models").is_dir() and (tree / "results").is_dir()
