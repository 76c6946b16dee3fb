"""Which system a folder or a name is, and what trained ones share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from baselines.run_folder import recorded_name
from baselines.system import get_system, get_trainable
from sgdx_dataset import SgdxError


def test_a_run_and_a_checkpoint_say_which_tracker_they_are(trained: Path) -> None:
    (checkpoint,) = (trained / "checkpoints").iterdir()
    assert recorded_name(str(trained)) == recorded_name(str(checkpoint)) == "t5dst"


_OWN = """
from baselines.system import System

class Mine(System):
    NAME, READS = "mine", ("utterance",)

class Other:
    NAME = "other"
"""


def test_a_tracker_of_ones_own_needs_no_line_in_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a class of a module, and may be registered by an installed package."""
    (tmp_path / "registered_tracker.py").write_text(_OWN)
    registered = tmp_path / "own-1.dist-info"
    registered.mkdir()
    (registered / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1\n")
    (registered / "entry_points.txt").write_text("[sgdx.systems]\nmine = registered_tracker:Mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert get_system("registered_tracker:Mine").NAME == "mine"
    assert get_system("mine") is get_system("registered_tracker:Mine")
    for name, message in (
        ("registered_tracker:Nobody", "class Nobody of a tracker in registered_tracker, found"),
        ("registered_tracker:Other", "found a Other without ROWS, READS, track"),
        ("nobody", r"expected one of lexical, .*, mine \(or MODULE:CLASS"),
        ("lexicl", r"did you mean lexical\?"),
    ):
        with pytest.raises(SgdxError, match=message):
            get_system(name)
    with pytest.raises(SgdxError, match="is not trained"):
        get_trainable("registered_tracker:Mine")
    assert sys.modules.pop("registered_tracker")
