"""Files that a visitor drops on the page are held against each other and against the data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError, open_release, turn_tables
from sgdx_metric import ScoreError
from sgdx_metric.report import report

from ..sgdx_metric.conftest import gold as gold
from ..sgdx_metric.frames import Row, written

pytest.importorskip("gradio", reason="the Space needs gradio: pip install sgdx[app]")

from sgdx_space.generation import score_dropped
from sgdx_space.tracking import read_dropped, sample_references, score_tracked

SignatureOf = Callable[[list[str]], str]


def tracked(paths: list[str]) -> str:
    """The signature of dropped predictions of a tracker."""
    scored = score_tracked(sample_references(), read_dropped(paths))
    return str(report(scored.variants, scored.setup)["signature"])


def generated(paths: list[str]) -> str:
    """The signature of dropped responses."""
    return str(score_dropped(paths)["signature"])


@pytest.fixture(scope="module")
def responses() -> dict[str, list[Row]]:
    """The gold responses of the sample's test split, by variant."""
    keys = ["turn_id", "variant", "utterance"]
    release = open_release("sample")
    return {name: turn_tables(release, "test", name, keys).to_pylist() for name in ("v1", "v2")}


@pytest.mark.parametrize("tab", ["tracking", "generation"])
def test_dropped_files_are_of_one_system_and_of_the_sample(
    tab: str, tmp_path: Path, gold: dict[str, list[Row]], responses: dict[str, list[Row]]
) -> None:
    signature_of, rows = (tracked, gold) if tab == "tracking" else (generated, responses)
    release = open_release("sample")

    def drop(*headers: dict[str, Any]) -> list[str]:
        paths = []
        for name, header in zip(("v1", "v2"), headers):
            header = {"data": release.data_digest("test", name), "variant": name, **header}
            paths.append(str(written(tmp_path / f"{name}.jsonl", rows[name], **header)))
        return paths

    line = signature_of(drop({"model": "a", "oracle": True}, {"model": "a", "oracle": True}))
    assert "|oracle:yes|predictions:verified|" in line and "|release:sample|" in line
    line = signature_of(drop({"data": None}, {"model": "a"}))
    assert "|predictions:unverified|" in line and "oracle" not in line
    line = signature_of([str(written(tmp_path / "v1.jsonl", rows["v1"]))])
    assert "predictions" not in line
    with pytest.raises(SgdxError, match=r"predictions for v2: model is .*one system"):
        signature_of(drop({"model": "a"}, {"model": "b"}))
    with pytest.raises(SgdxError, match="predictions for v2: oracle is true, and false"):
        signature_of(drop({"oracle": False}, {"oracle": True}))
    with pytest.raises(SgdxError, match="predictions for v2: were made from data 0123"):
        signature_of(drop({}, {"data": "0123"}))


@pytest.mark.parametrize("name", ["\uff561", "V1", "\u043eriginal", "mine"])
def test_a_variant_that_is_none(name: str, tmp_path: Path, gold: dict[str, list[Row]]) -> None:
    rows = [{**row, "variant": name} for row in gold["v1"]]
    path = str(written(tmp_path / "p.jsonl", rows))
    for signature_of in (tracked, generated):
        with pytest.raises(ScoreError, match=f"found variant '{name}', expected one file for each"):
            signature_of([path])
