"""Files that a visitor drops on the page are held against each other and against the data."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError, open_release, turn_tables
from sgdx_dataset.release import SAMPLE
from sgdx_metric import ScoreError

from ..sgdx_metric.conftest import gold as gold
from ..sgdx_metric.frames import Row, written

pytest.importorskip("gradio", reason="the Space needs gradio: pip install sgdx[app]")

from sgdx_space import generation, tracking
from sgdx_space.dropped import references_of, score_dropped
from sgdx_space.tracking import _explain_frame, _fill, sources

SignatureOf = Callable[[list[str]], str]


def tracked(paths: list[str]) -> str:
    """The signature of dropped predictions of a tracker."""
    return str(score_dropped("sample", paths, tracking.TASKS).scored.content["signature"])


def generated(paths: list[str]) -> str:
    """The signature of dropped responses."""
    return str(generation.scored(paths).scored.content["signature"])


def cells(html: str) -> dict[str, list[str]]:
    """The texts of the rows of tables, by the first of each row."""
    rows = (
        re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall("<tr>.*?</tr>", html)
    )
    return {row[0]: row[1:] for row in rows}


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
    assert "|oracle:yes|ci:" in line and "|release:sample|" in line
    line = signature_of(drop({"data": None}, {"model": "a"}))
    assert "|predictions:made-elsewhere|" in line and "oracle" not in line
    line = signature_of([str(written(tmp_path / "v1.jsonl", rows["v1"]))])
    assert "|predictions:made-elsewhere|" in line
    with pytest.raises(SgdxError, match="for v2: model"):
        signature_of(drop({"model": "a"}, {"model": "b"}))
    with pytest.raises(SgdxError, match="for v2: oracle"):
        signature_of(drop({"oracle": False}, {"oracle": True}))
    with pytest.raises(SgdxError, match="for v2: .* 0123"):
        signature_of(drop({}, {"data": "0123"}))


def test_a_copy_of_sgd_that_the_server_has_can_be_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gold: dict[str, list[Row]]
) -> None:
    """Here a part of the sample, whose dialogues are fewer, stands for it."""
    part = tmp_path / "part"
    shutil.copytree(SAMPLE, part)
    (part / "test" / "dialogues_002.json").unlink()
    monkeypatch.setenv("SGDX_SOURCE", str(part))
    assert sources() == {"the sample corpus": "sample", "SGD, part": str(part)}
    path = str(written(tmp_path / "v1.jsonl", gold["v1"]))
    problem, _, _, tables, line, *_ = _fill(str(part), [path])
    assert problem and not tables and not line
    ids = set(references_of(str(part)).rows("v1")["frame_id"].to_pylist())
    rows = [row for row in gold["v1"] if row["frame_id"] in ids]
    problem, _, shown, tables, line, *_ = _fill(
        str(part), [str(written(tmp_path / "v1.jsonl", rows))]
    )
    assert not problem and f"|frames:{len(ids)}|" in line and len(ids) < 273
    assert shown.source == str(part) and f"Frames: {len(ids)} all" in tables
    assert "Drop prediction files" in _fill(str(part), None)[0]  # nothing is invented for it


def test_a_source_or_file_that_cannot_be_read_is_told(
    tmp_path: Path, gold: dict[str, list[Row]]
) -> None:
    path = str(written(tmp_path / "v1.jsonl", gold["v1"]))
    (tmp_path / "sgd.zip").write_bytes(b"PK")
    problem, *_ = _fill(str(tmp_path / "sgd.zip"), [path])
    assert ">sgd.zip: neither a directory nor a whole zip archive" in problem
    for signature_of in (tracked, generated):
        with pytest.raises(SgdxError, match="v2.jsonl"):
            signature_of([str(tmp_path / "v2.jsonl")])
    assert "found no frame" in _explain_frame("\ud83d/0/Cabs_1", _fill("sample", [path])[2])


def test_an_invented_tracker_is_shown_until_files_are_dropped() -> None:
    problem, _, _, tables, line, frames, _ = _fill("sample", None)
    assert not problem and "|frames:273|" in line and "made-elsewhere" not in line
    assert cells(tables)["JGA_v1-5"][0] == "78.61<small>76.48 to 80.80</small>"
    assert "93.0 to 78.6 %" in tables
    assert cells(tables)["Cooking_1"] == ["88.24", "71.76", "69.27", "9.80", "90.20"]
    assert frames.value == "1_00003/14/Cooking_1"


def test_calls_are_shown_as_states_are(tmp_path: Path) -> None:
    """The sample's calls; under v3 the first is of no intent, and in one turn none was needed."""
    references = references_of("sample")
    paths = []
    for name in ("original", "v3"):
        rows: list[Row] = []
        for frame in references.rows(name).to_pylist():
            if (made := frame["service_call"]) is not None:
                wrong = {"method": "Other"} if name == "v3" and not rows else {}
                made = {**made, "service": frame["service"], **wrong}
            if made or rows:
                rows.append({"frame_id": frame["frame_id"], "variant": name, "service_call": made})
        paths.append(str(written(tmp_path / f"{name}.jsonl", rows)))
    first = rows[0]["frame_id"]
    problem, _, shown, tables, signature, frames, details = _fill("sample", paths)
    assert problem == "" and "|task:calls|" in signature
    assert [*shown.predictions] == ["original", "v3"]
    rows_of = cells(tables)
    assert "Calls: 73 all" in tables
    assert rows_of["call drop"][0].startswith("-1.37<small>")
    assert rows_of["call flips"][0].startswith("1.37<small>")
    assert rows_of["v3"][-2:] == ["100.00", "100.00"]  # the decision to call
    assert frames.value == first and "another intent" in details and "v3 ✗" in details
    state = {"active_intent": "NONE", "requested_slots": [], "slot_values": []}
    written(tmp_path / "v1.jsonl", [{"frame_id": first, "variant": "v1", **state}])
    problem, *_ = _fill("sample", [*paths, str(tmp_path / "v1.jsonl")])
    assert "v1.jsonl:1:" in problem


@pytest.mark.parametrize("name", ["\uff561", "V1", "\u043eriginal", "mine"])
def test_a_variant_that_is_none(
    name: str, tmp_path: Path, gold: dict[str, list[Row]], responses: dict[str, list[Row]]
) -> None:
    for signature_of, rows in ((tracked, gold["v1"]), (generated, responses["v1"])):
        path = str(written(tmp_path / "p.jsonl", [{**row, "variant": name} for row in rows]))
        with pytest.raises(ScoreError, match=f"p.jsonl: .*{name}"):
            signature_of([path])


def test_each_tab_has_tasks_of_its_own(
    tmp_path: Path, gold: dict[str, list[Row]], responses: dict[str, list[Row]]
) -> None:
    for signature_of, rows in ((tracked, responses["v1"]), (generated, gold["v1"])):
        with pytest.raises(SgdxError, match="p.jsonl"):
            signature_of([str(written(tmp_path / "p.jsonl", rows))])
