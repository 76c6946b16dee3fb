"""The kit for a GPU: batches on disk, a training that fits its time, weights in parts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertModel, T5Config, T5ForConditionalGeneration

from baselines.encoders import tiny_encoder
from baselines.onepass.modeling import OnePassModel
from baselines.run_folder import read_json, read_log
from baselines.settings import Augment, find_recipe, read_recipe
from maintenance.gpu import speed
from maintenance.gpu.encode import encode, read_batch
from maintenance.gpu.record import Record
from sgdx_dataset import SgdxError

from ..conftest import ROOT

SCRIPTS = ROOT / "maintenance" / "gpu"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small encoder and a recipe like that of the record."""
    folder = tmp_path_factory.mktemp("gpu")
    for part in tiny_encoder(["a table for two", "which city?"], hidden=16):
        part.save_pretrained(folder / "start")
    settings = read_recipe(find_recipe("onepass/record_gpu"))
    small = {"batch_size": 2, "token_budget": 2048, "evaluate_frames": 6, "precision": "fp32"}
    settings = msgspec.structs.replace(settings, train_dialogues=8, **small)
    (folder / "small.yaml").write_bytes(msgspec.yaml.encode(settings))
    start = str(folder / "start")
    encode(str(folder / "small.yaml"), "sample", start, folder / "encoded", seconds=0)
    return folder


def test_batches_on_disk_are_those_of_the_tracker_in_half_and_half(work: Path) -> None:
    index = read_json(work / "encoded" / "index.json")
    frames = sum(count for _, count, _ in index["batches"])
    assert frames >= index["data"]["train"]["frames"]  # more where long frames have two parts
    assert index["seen"]["train"] == ["original"] and not index["seen"]["oracle"]
    name, count, _ = index["batches"][0]
    batch = read_batch(work / "encoded" / name)
    assert len(batch["input_ids"]) == len(batch["intent_label"]) == count <= 2
    assert {t.dtype for t in batch.values()} == {torch.int64, torch.bool, torch.float32}
    other = read_batch(work / "encoded" / index["batches"][-1][0])
    model = Record(work / "encoded", str(work / "start"), work / "none", work).tracker.model
    assert all(torch.isfinite(model(**of).loss) for of in (batch, other))


def test_what_trackers_are_judged_on_is_not_encoded(work: Path, tmp_path: Path) -> None:
    settings = read_recipe(work / "small.yaml")
    leaking = msgspec.structs.replace(settings, augment=Augment(schemas="oracle"))
    (tmp_path / "leaking.yaml").write_bytes(msgspec.yaml.encode(leaking))
    start = str(work / "start")
    with pytest.raises(SgdxError):
        encode(str(tmp_path / "leaking.yaml"), "sample", start, tmp_path / "encoded", seconds=0)
    assert not (tmp_path / "encoded").exists()


def test_a_record_learns_in_its_time_and_its_parts_are_the_last_model(
    work: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    results.mkdir()
    record = Record(work / "encoded", str(work / "start"), tmp_path / "work", results)
    for batches in record.dev.values():  # the more is learnt, the less likely are these
        for batch in batches:
            batch["requested_label"] = 1 - batch["requested_label"]
    record.learn(12, trial=3)
    curve, rates = record.figures["curve"], record.figures["rates"]
    assert list(rates) == ["0.00025", "0.0005", "0.001"]
    assert rates[f"{record.figures['rate']:g}"] == max(rates.values())
    best = tmp_path / "work" / "best"
    losses = [line["loss"] for line in read_log(best) if "loss" in line]
    assert losses[-1] < losses[0] and curve[-1]["score"] < max(line["score"] for line in curve)
    written = [path for path in best.iterdir() if path.suffix in (".json", ".jsonl", ".py")]
    assert len(written) >= 6 and not any(str(work) in path.read_text() for path in written)
    shutil.make_archive(str(results / "run"), "gztar", best)
    # In a tree of their own, as these scripts move its folders.
    tree = tmp_path / "tree"
    shutil.copytree(SCRIPTS, tree / "maintenance" / "gpu")
    (tree / ".gpu" / "aside" / "models").mkdir(parents=True)
    script = tree / "maintenance" / "gpu" / "back.sh"
    back: list[str | Path] = ["bash", script, results, tmp_path / "model"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    subprocess.run(back, check=True, env=environment, capture_output=True)
    assert (tree / "models").is_dir() and not (tree / ".gpu" / "aside" / "models").exists()
    joined, kept = (load_file(of / "model.safetensors") for of in (tmp_path / "model", best))
    assert all(torch.equal(joined[name], kept[name].half()) for name in kept)
    checkpoint = sorted((best / "checkpoints").iterdir())[-1]
    mean = load_file(checkpoint / "average.safetensors")
    assert all(torch.equal(kept[name], mean[name]) for name in mean)
    loaded = OnePassModel.from_pretrained(tmp_path / "model")
    assert loaded.config.keep_bias == record.figures["keep_bias"]
    (results / "weights-1").write_bytes(b"another model's")
    assert subprocess.run(back, check=False, env=environment, capture_output=True).returncode != 0


@pytest.mark.parametrize("work", ["training", "prediction"])
def test_speeds_are_measured(work: str) -> None:
    small: Any = {"d_model": 16, "d_ff": 16, "num_layers": 1, "num_heads": 1}
    t5 = T5ForConditionalGeneration(T5Config(**small | {"decoder_start_token_id": 0}))
    bert = BertConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=1, intermediate_size=16
    )
    for model in (t5, BertModel(bert)):
        figures = speed.measured(model, work, 2, torch.device("cpu"), 0.0, 1e9)
        assert figures["tokens_per_second"] > 0 and figures["share_of_peak"] > 0


def test_packing_that_fails_leaves_the_tree_as_it_was(tmp_path: Path) -> None:
    shutil.copytree(SCRIPTS, tmp_path / "maintenance" / "gpu")
    for name in ("models", "results"):
        (tmp_path / ".gpu" / "aside" / name).mkdir(parents=True)  # as a killed packing leaves them
    pack: list[str | Path] = ["bash", tmp_path / "maintenance" / "gpu" / "pack.sh"]
    assert subprocess.run(pack, check=False, capture_output=True).returncode != 0
    assert (tmp_path / "models").is_dir() and (tmp_path / "results").is_dir()
