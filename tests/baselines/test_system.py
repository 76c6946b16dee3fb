"""Which system a folder or a name is, and what trained ones share."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from baselines.sgd_baseline.model import SgdProvenance
from baselines.sgd_baseline.modeling import SgdBaselineModel
from baselines.sgd_baseline.settings import SgdOptions
from baselines.system import get_system, get_trainable, read_provenance, recorded_name
from baselines.trained import answer_batches, fingerprint, load_trained
from baselines.training.batching import Ints
from sgdx_dataset import SgdxError


def test_a_run_a_checkpoint_and_a_model_say_which_tracker_they_are(
    trained: Path, tmp_path: Path
) -> None:
    (checkpoint,) = (trained / "checkpoints").iterdir()
    assert recorded_name(str(trained)) == recorded_name(str(checkpoint)) == "t5dst"
    with pytest.raises(SgdxError, match="run.json or config.json"):
        recorded_name(str(tmp_path))
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(SgdxError, match="config.json: "):
        recorded_name(str(tmp_path))


_OWN = """
class Mine:
    NAME, ROWS, READS = "mine", "frames", ("utterance",)

    def predict(self, rows, chunks):
        raise NotImplementedError

class Other:
    NAME = "other"
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module with a tracker, and a package that registers it as an entry point."""
    (tmp_path / "registered_tracker.py").write_text(_OWN)
    registered = tmp_path / "own-1.dist-info"
    registered.mkdir()
    (registered / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1\n")
    (registered / "entry_points.txt").write_text("[sgdx.systems]\nmine = registered_tracker:Mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    return "registered_tracker"


def test_a_tracker_of_ones_own_needs_no_line_in_the_package(own_module: str) -> None:
    assert get_system(f"{own_module}:Mine").NAME == "mine"
    assert get_system("mine") is get_system(f"{own_module}:Mine")
    for name, message in (
        ("no_such_module:Mine", "found no module no_such_module to import"),
        (f"{own_module}:Nobody", f"expected the class Nobody of a tracker in {own_module}, found"),
        (f"{own_module}:Other", "found a Other without READS, predict"),
        ("nobody", r"expected one of lexical, .*, mine, or MODULE:CLASS"),
    ):
        with pytest.raises(SgdxError, match=message):
            get_system(name)
    with pytest.raises(SgdxError, match="is not trained"):
        get_trainable(f"{own_module}:Mine")
    assert sys.modules.pop(own_module)


def test_a_model_does_not_choose_which_code_is_imported(tmp_path: Path) -> None:
    record = {"sgdx": {"tracker": "no_such_module:Mine"}}
    (tmp_path / "config.json").write_text(json.dumps(record))
    with pytest.raises(SgdxError, match="name it with --tracker no_such_module:Mine"):
        recorded_name(str(tmp_path))


OPTIONS = SgdOptions(batch_size=2, token_budget=20, chunk_size=3)
LENGTHS = np.array([3, 9, 1, 7, 5, 9, 2], np.int64)


def test_answers_come_in_the_order_of_the_inputs() -> None:
    batches: list[list[int]] = []

    def answer(batch: Ints) -> list[int]:
        batches.append(batch.tolist())
        return [10 * index for index in batch.tolist()]

    assert answer_batches(LENGTHS, OPTIONS, answer) == [0, 10, 20, 30, 40, 50, 60]
    assert batches == [[1, 5], [3, 4], [0, 6], [2]]
    assert answer_batches(LENGTHS[:0], OPTIONS, answer) == []


def test_other_weights_options_or_inputs_have_another_folder() -> None:
    names = {
        fingerprint("a", OPTIONS),
        fingerprint("b", OPTIONS),
        fingerprint("a", SgdOptions()),
        fingerprint("a", OPTIONS, inputs=[LENGTHS]),
        fingerprint("a", OPTIONS, inputs=[LENGTHS[:3], LENGTHS[3:]]),
    }
    assert len(names) == 5


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SgdxError, match="found no config.json"):
        read_provenance(str(tmp_path), SgdProvenance)
    config = {"model_type": "bert", "sgdx": {"tracker": "sgd_baseline"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(SgdxError, match=r"config.json: sgdx: .* missing required field `max_turn`"):
        read_provenance(str(tmp_path), SgdProvenance)
    config["sgdx"] = {"max_turn": 80, "seed": 3}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read_provenance(str(tmp_path), SgdProvenance) == SgdProvenance(max_turn=80, seed=3)
    with pytest.raises(SgdxError, match="is a bert model, expected one of sgd_baseline"):
        load_trained(str(tmp_path), SgdBaselineModel, SgdProvenance, torch.device("cpu"))
