"""The notebook of the documentation runs as it stands, and every cell says what it has said.

``python -m tests.test_tour`` runs it and writes it with what its cells say now.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from .conftest import ROOT

NOTEBOOK = ROOT / "docs" / "tour.ipynb"
PICTURE = "image/svg+xml"


def read() -> nbformat.NotebookNode:
    return nbformat.read(NOTEBOOK, 4)  # type: ignore[no-any-return, no-untyped-call]


def executed(home: Path) -> nbformat.NotebookNode:
    """The notebook after a run in an empty home: what it prints, without bars and warnings."""
    notebook = read()
    os.environ |= {"HOME": str(home), "COLUMNS": "80", "HF_HUB_OFFLINE": "1"}
    for name in ("HF_HOME", "SGDX_SOURCE", "XDG_CACHE_HOME"):
        os.environ.pop(name, None)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": home}}).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata = {}
            streams = [out for out in cell.outputs if out.output_type == "stream"]
            texts = [out.text for out in streams if out.name == "stdout"]
            lines = "".join(texts).replace("\r\n", "\n").replace(str(home), "~").split("\n")
            said = "\n".join(line for line in lines if "\r" not in line)
            cell.outputs = [out for out in cell.outputs if out.output_type != "stream"]
            if said:
                cell.outputs.insert(0, nbformat.v4.new_output("stream", text=said))  # type: ignore[no-untyped-call]
    return notebook


def said(notebook: nbformat.NotebookNode) -> list[str]:
    """What each cell printed, and gave as its last value; a picture depends on matplotlib."""
    cells = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    return ["".join(str(o.get("text") or o.data["text/plain"]) for o in outs) for outs in cells]


def test_it_runs_and_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "COLUMNS", "HF_HOME", "HF_HUB_OFFLINE", "SGDX_SOURCE", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # set back at the end
    notebook = executed(tmp_path)
    assert len(said(notebook)) == 10 and all(said(notebook))
    assert said(notebook) == said(read())
    assert PICTURE in notebook.cells[-2].outputs[0].data


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        nbformat.write(executed(Path(folder).resolve()), NOTEBOOK)  # type: ignore[no-untyped-call]
