"""A folder says which tracker it belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from baselines.system import recorded_name
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
