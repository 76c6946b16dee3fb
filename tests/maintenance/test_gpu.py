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

from baselines.checkpoint import weights_digest
from baselines.encoders import load_encoder, tiny_encoder
from baselines.onepass.modeling import OnePassModel
from baselines.packing import packed_copy
from baselines.run_folder import read_json, read_log
from baselines.settings import Augment, find_recipe, read_recipe
from baselines.use import load_tracker
from maintenance.gpu.biases import choose_biases
from maintenance.gpu.encode import encode, read_batch
from maintenance.gpu.record import Record
from maintenance.gpu.weights import renumber, write_small
from maintenance.ship import ship
from sgdx_dataset import SgdxError

from ..conftest import ROOT

SCRIPTS = ROOT / "maintenance" / "gpu"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small encoder and a recipe like that of the record."""
    folder = tmp_path_factory.mktemp("gpu")
    for part in tiny_encoder(["a table for two", "which city?"]):
        part.save_pretrained(folder / "start")
    settings = read_recipe(find_recipe("onepass/base_gpu"))
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
    small, start = str(work / "small.yaml"), str(work / "start")
    model = Record(work / "encoded", small, start, work / "none").tracker.model
    assert all(torch.isfinite(model(**of).loss) for of in (batch, other))


def test_what_trackers_are_judged_on_is_not_encoded(work: Path, tmp_path: Path) -> None:
    settings = read_recipe(work / "small.yaml")
    leaking = msgspec.structs.replace(settings, augment=Augment(schemas="oracle"))
    (tmp_path / "leaking.yaml").write_bytes(msgspec.yaml.encode(leaking))
    start = str(work / "start")
    with pytest.raises(SgdxError):
        encode(str(tmp_path / "leaking.yaml"), "sample", start, tmp_path / "encoded", seconds=0)
    assert not (tmp_path / "encoded").exists()


def test_a_record_learns_in_its_time_and_the_last_model_comes_back(
    work: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results" / "model-2"
    results.mkdir(parents=True)
    small, start = str(work / "small.yaml"), str(work / "start")
    record = Record(work / "encoded", small, start, results)
    for batches in record.dev.values():  # the more is learnt, the less likely are these
        for batch in batches:
            batch["requested_label"] = 1 - batch["requested_label"]
    record.learn(8, trial=3)
    curve = record.figures["curve"]
    losses = [line["loss"] for line in read_log(results) if "loss" in line]
    assert losses[-1] < losses[0] and curve[-1]["score"] < curve[0]["score"]
    fetched = tmp_path / "fetched"
    fetched.mkdir()
    tar = f"tar -cf - -C {results} model.safetensors | split -b 100K -d - {fetched}/weights-2-"
    in_parts = ["bash", "-c", tar]
    subprocess.run(in_parts, check=True)
    assert len(list(fetched.iterdir())) > 1
    judged = load_tracker(results).describe()["weights"]
    choose_biases(work / "encoded", results, "sample")
    written = [path for path in results.iterdir() if path.suffix in (".json", ".jsonl", ".py")]
    assert len(written) >= 6 and not any(str(work) in path.read_text() for path in written)
    shutil.make_archive(str(fetched / "run"), "gztar", results.parent)
    # In a tree of their own, as these scripts move its folders.
    tree = tmp_path / "tree"
    shutil.copytree(SCRIPTS, tree / "maintenance" / "gpu")
    (tree / ".gpu" / "aside" / "models").mkdir(parents=True)
    script = tree / "maintenance" / "gpu" / "back.sh"
    back: list[str | Path] = ["bash", script, fetched, "2", tmp_path / "back"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    subprocess.run(back, check=True, env=environment, capture_output=True)
    assert (tree / "models").is_dir() and not (tree / ".gpu" / "aside" / "models").exists()
    # What was judged is the last mean of the weights, packed, and so it is shipped.
    checkpoint = sorted((results / "checkpoints").iterdir())[-1]
    last = OnePassModel.from_pretrained(checkpoint)
    last.load_state_dict(load_file(checkpoint / "average.safetensors"))
    assert weights_digest(packed_copy(last, 5)[0]) == judged
    ship(tmp_path / "back", work / "small.yaml", tmp_path / "shipped")
    shipped = load_tracker(tmp_path / "shipped").describe()
    assert shipped["weights"] == judged
    assert shipped["keep_bias"] == read_json(results / "record.json")["keep_bias"]
    (fetched / "weights-2-01").unlink()
    assert subprocess.run(back, check=False, env=environment, capture_output=True).returncode != 0


def test_an_encoder_in_8_bits_is_nearly_the_same(work: Path, tmp_path: Path) -> None:
    write_small(work / "start", tmp_path / "small")
    large, small = (
        (of / "model.safetensors").stat().st_size for of in (work / "start", tmp_path / "small")
    )
    assert small < large / 3
    exact, rounded = (load_encoder(str(of)) for of in (work / "start", tmp_path / "small"))
    assert exact[1].get_vocab() == rounded[1].get_vocab()
    weights = exact[0].state_dict()
    for name, tensor in rounded[0].state_dict().items():
        if "pooler" not in name:
            atol = float(weights[name].abs().max()) / 200
            torch.testing.assert_close(tensor, weights[name], atol=atol, rtol=0)


def test_an_encoder_gets_the_token_ids_of_another(tmp_path: Path) -> None:
    for name, texts in (("own", ["which city?", "a table"]), ("other", ["a table"])):
        for part in tiny_encoder(texts, hidden=16):
            part.save_pretrained(tmp_path / name)
    renumber(tmp_path / "own", tmp_path / "other", tmp_path / "new")
    (own, _), (new, tokenizer) = (load_encoder(str(tmp_path / name)) for name in ("own", "new"))
    vocabulary = load_encoder(str(tmp_path / "own"))[1].get_vocab()
    assert tokenizer.get_vocab() != vocabulary and {*tokenizer.get_vocab()} <= {*vocabulary}
    rows: Any = [of.get_input_embeddings().weight for of in (own, new)]
    for token, number in tokenizer.get_vocab().items():
        assert torch.equal(rows[1][number], rows[0][vocabulary[token]])


def test_packing_that_fails_leaves_the_tree_as_it_was(tmp_path: Path) -> None:
    shutil.copytree(SCRIPTS, tmp_path / "maintenance" / "gpu")
    for name in ("models", "results"):
        (tmp_path / ".gpu" / "aside" / name).mkdir(parents=True)  # as a killed packing leaves them
    pack: list[str | Path] = ["bash", tmp_path / "maintenance" / "gpu" / "pack.sh"]
    assert subprocess.run(pack, check=False, capture_output=True).returncode != 0
    assert (tmp_path / "models").is_dir() and (tmp_path / "results").is_dir()
