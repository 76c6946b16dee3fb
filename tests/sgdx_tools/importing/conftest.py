"""BFCL's real cases, where they lie beside the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="session")
def bfcl_data() -> Path:
    """The folder of BFCL's cases; tests that need it are skipped where it is absent."""
    path = ROOT.parent / "shared" / "data" / "bfcl"
    if not path.is_dir():
        pytest.skip(f"BFCL's cases are not at {path}")
    return path
