"""A run of a model becomes a folder for a pull request, and every change of it is noticed."""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from baselines.llm.__main__ import main as llm
from baselines.llm.functions import MAPPING
from baselines.llm.requests import instruction
from baselines.report.inputs import read_tracker
from baselines.report.leaderboard import own_row
from baselines.report.submission import STANDARD_PROMPTS, check_name, kind_of
from baselines.report.systems import group_runs
from baselines.submit import headline_scores, main
from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import file_digest
from sgdx_metric.__main__ import main as metric
from sgdx_metric.cli.results import read_results
from sgdx_metric.report import with_digest

from ..conftest import ROOT
from .llm.server import StandIn, serving

NAME = "toy-2026-11-23"
ALL = ["original", "v1", "v2", "v3", "v4", "v5"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two dialogues of the sample under all wordings, answered with the empty state, and scored."""
    folder = tmp_path_factory.mktemp("runs") / "toy"
    ids = folder.parent / "ids.txt"
    ids.write_text("1_00000\n2_00000\n")
    words = ["--source", "sample", "--dialogues", str(ids)]
    with serving(StandIn()) as server:
        asked = ["--model", "toy", "--base-url", server.url, "--answer", "json_schema"]
        output = ["--output", str(folder / "predictions"), "--price", "2,1,10"]
        assert llm(["predict", *words, *asked, *output]) == 0
    scored = ["--predictions", str(folder / "predictions"), "--output", str(folder / "scores.json")]
    assert metric(["score", *words, *scored]) == 0
    return folder


@pytest.fixture(scope="module")
def submission(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the submission, with its predictions."""
    folder = tmp_path_factory.mktemp("submissions") / "toy"
    words = ["write", str(run), "--name", NAME, "--quantisation", "Q4_1", "--share-predictions"]
    assert main([*words, "--output", str(folder)]) == 0
    return folder


def content(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "submission.json").read_text())
    return read


def test_what_a_submission_says(run: Path, submission: Path) -> None:
    read = content(submission)
    assert {path.name for path in submission.iterdir()} == {
        "submission.json", "scores.json", "run.json", "predictions",
    }  # fmt: skip
    scores = json.loads((run / "scores.json").read_text())
    assert read["scores"]["jga_v1-5"] == scores["sgdx"]["jga_v1-5"]
    assert read["scores_sha256"] == scores["sha256"]
    assert read["signature"] == scores["signature"]
    assert (read["name"], read["kind"], read["quantisation"]) == (NAME, "standard", "Q4_1")
    assert (read["answer"], read["mapping"]) == ("json_schema", 3)
    requests = read["requests"]
    assert requests == 6 * len((run / "predictions" / "v1.jsonl").read_text().splitlines()[1:])
    assert read["tokens"] == {
        "in": 900 * requests, "cached": 400 * requests, "out": 50 * requests, "reasoning": 0,
    }  # fmt: skip
    assert read["cost"] == pytest.approx(requests * (500 * 2 + 400 + 50 * 10) / 1e6)
    assert read["served_models"] == {"gold": requests}
    assert read["invalid"] == 0 and read["seconds_per_answer"] > 0
    assert len(read["predictions"]) == 6


def test_a_submission_is_checked_without_a_network(
    submission: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("asked the network"))
    assert main(["check", str(submission.parent)]) == 0
    said = capsys.readouterr().out
    assert said == f"{submission}: standard, files agree; predictions score as stated\n"


def _set(key: str, value: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        read = content(folder)
        (folder / "submission.json").write_text(json.dumps(read | {key: value}))

    return change


def _other_predictions(folder: Path) -> None:
    path = folder / "predictions" / "v3.jsonl"
    path.write_text(path.read_text().replace('"requested_slots":[]', '"requested_slots":["a"]', 1))


def _better_scores(folder: Path) -> None:
    path = folder / "scores.json"
    scores = json.loads(path.read_text())
    scores["sgdx"]["jga_v1-5"] = 1.0
    path.write_text(json.dumps(scores))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("invalid", 7), "submission.json: invalid is 7, expected 0"),
        (_set("requests", 7), "submission.json: requests is 7, expected "),
        (_set("kind", "custom"), "submission.json: kind is custom, expected standard"),
        (_set("prompt", "0" * 64), "submission.json: prompt is 000"),
        (_set("model", "gpt"), "submission.json: model is gpt, expected toy"),
        (_set("scores", {}), "submission.json: scores: jga_orig is None, expected 0"),
        (_set("scores_sha256", "0" * 64), "submission.json: scores_sha256 is 000"),
        (_set("name", "toy"), "the name is 'toy', expected one with a date, as in gpt-4o-2024"),
        (_set("extra", 1), "not a submission.json: Object contains unknown field `extra`"),
        (_other_predictions, "v3.jsonl: SHA-256 is "),
        (_better_scores, "scores.json: was changed after it was scored"),
        (lambda folder: (folder / "scores.json").unlink(), "scores.json: No such file"),
    ],
)
def test_a_changed_submission_is_refused(
    change: Callable[[Path], None],
    message: str,
    submission: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = shutil.copytree(submission, tmp_path / "toy")
    change(folder)
    assert main(["check", str(folder)]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_scores_that_other_predictions_have_are_refused(
    submission: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All digests are made to agree: only scoring again can tell."""
    folder = shutil.copytree(submission, tmp_path / "toy")
    _other_predictions(folder)
    scores = json.loads((folder / "scores.json").read_text())
    digest = file_digest(folder / "predictions" / "v3.jsonl")
    scores["predictions"]["v3"]["sha256"] = digest
    del scores["sha256"]
    scores = with_digest(scores)
    (folder / "scores.json").write_text(json.dumps(scores))
    results = read_results(folder / "scores.json")
    read = content(folder)
    read |= {"scores": headline_scores(results), "scores_sha256": scores["sha256"]}
    read["predictions"]["v3"] = digest
    (folder / "submission.json").write_text(json.dumps(read))
    assert main(["check", str(folder)]) == 2
    said = capsys.readouterr().err
    assert "predictions: variants: v3: " in said and "requested_slots_" in said


def test_a_row_says_how_the_model_was_asked(submission: Path) -> None:
    (group,) = group_runs([read_tracker(submission)])
    row = own_row(group.systems[0])
    assert row.system == NAME
    assert row.asked.startswith("standard; answers as json_schema; prompt 37e00e73; Q4_1; ")
    assert "0.0 % invalid" in row.asked and "tokens in" in row.asked
    assert "--model toy --answer json_schema --base-url URL --source sample" in row.command


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({}, "standard"),
        ({"prompt": "0" * 64}, "custom"),
        ({"mapping": 2}, "custom"),
        ({"retry_invalid": 1}, "custom"),
        ({"host": "command:python system.py"}, "custom"),
        ({"task": "calls"}, "custom"),
        ({"parameters": {"temperature": 1}}, "standard"),
    ],
)
def test_the_kind_of_a_submission(changed: dict[str, Any], kind: str) -> None:
    facts = {"task": "state", "prompt": STANDARD_PROMPTS[3][0], "mapping": 3, "retry_invalid": 0}
    assert kind_of(facts | {"host": "http://localhost/v1"} | changed) == kind


def test_the_prompts_of_today_are_standard() -> None:
    """A new prompt or mapping gets a line of its own, so that older submissions stay standard."""
    for answer in ("tool", "json_schema", "text"):
        digest = hashlib.sha256(instruction("state", answer).encode()).hexdigest()
        assert digest in STANDARD_PROMPTS[MAPPING]


@pytest.mark.parametrize(
    "name", ["gpt-4o-2024-08-06", "gpt-4-0613", "claude-3-5-sonnet-20241022", "Qwen3-8B@9c925d6"]
)
def test_names_with_a_date(name: str) -> None:
    check_name(name, "here")


@pytest.mark.parametrize("name", ["gpt-4o", "Qwen3-8B", "llama-3.1-405b", "x@main"])
def test_names_without_a_date(name: str) -> None:
    with pytest.raises(SgdxError, match=r"^here: the name is "):
        check_name(name, "here")


def test_other_predictions_are_no_submission(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = shutil.copytree(run, tmp_path / "other")
    for path in (other / "predictions").glob("*.jsonl"):
        if path.stem in ALL:
            path.write_text(path.read_text().replace('"tracker":"llm"', '"tracker":"lexical"'))
    words = ["write", str(other), "--name", NAME, "--output", str(tmp_path / "out")]
    assert main(words) == 2
    assert "found predictions that baselines.llm did not write" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main(["check", str(tmp_path / "other")]) == 2
    assert "found no submission.json" in capsys.readouterr().err


def test_the_submissions_of_the_project_are_right() -> None:
    assert main(["check", str(ROOT / "results")]) == 0
