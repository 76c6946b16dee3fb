"""The notebook of the documentation runs as it stands, and says what it has said."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from .conftest import ROOT

NOTEBOOK = ROOT / "docs" / "tour.ipynb"


def read() -> nbformat.NotebookNode:
    return nbformat.read(NOTEBOOK, 4)  # type: ignore[no-any-return, no-untyped-call]


def printed(notebook: nbformat.NotebookNode, source: str) -> str:
    """What the cell that contains ``source`` gave as its last value, or printed."""
    (cell,) = (c for c in notebook.cells if c.cell_type == "code" and source in c.source)
    data = [out["data"]["text/plain"] for out in cell.outputs if "data" in out]
    text = str(data[-1] if data else "".join(out["text"] for out in cell.outputs))
    return text.replace("\r\n", "\n")  # commands write to what looks like a terminal


@pytest.mark.slow
def test_it_runs_and_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("SGDX_SOURCE")
    notebook = read()
    again = read()
    NotebookClient(again, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    for source in (
        "compute(",
        "baselines.evaluate --tracker",
        'load_dataset("sgdx", "v3"',
        "track(row)",
    ):
        assert printed(again, source) == printed(notebook, source)
