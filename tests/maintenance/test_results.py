"""Committed scores are split without a loss."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from maintenance.results import split
from sgdx_eval.compare import compare
from sgdx_eval.results import ITEMS, stored

from ..conftest import ROOT


def test_split_scores_are_read_as_before(tmp_path: Path) -> None:
    whole, parts = ROOT / "models" / "onepass" / "scores.json", tmp_path / "scores.json"
    shutil.copy(whole, parts)
    before = stored(whole)
    split(tmp_path)
    assert stored(parts) == before
    figures = json.loads(parts.read_text())
    assert "paired" not in figures and figures["sgdx"] == before["sgdx"]
    assert parts.stat().st_size + parts.with_name(ITEMS).stat().st_size < whole.stat().st_size / 2
    assert compare([whole], [parts]).content["groups"]["all"]["jga_v1-5"]["difference"] == 0
