"""Every sort of model pushed to a stand-in for the Hub, and used from there by its name."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries

from baselines import predict, publish
from sgdx_eval.results import ITEMS

from ..conftest import ROOT
from ..hub import TOKEN, Hub, Repository
from .conftest import RECIPES, Refuse, command, train_once


@pytest.mark.slow
@pytest.mark.parametrize("kind", RECIPES)
def test_a_pushed_model_is_the_model(
    kind: str, online: Hub, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, three: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run = tmp_path / "run"
    shutil.copytree(train_once(tmp_path_factory, kind), run)
    shared = ("--config", "original", "v3", "--dialogues", three)
    assert command(monkeypatch, predict, "--model", run, "--output", tmp_path / "own", *shared) == 0
    name = f"you/{kind}-sample"
    assert command(monkeypatch, publish, "--model", run, "--push-to-hub", name) == 0
    files = online.repositories["models", name].files
    assert "run.json" in files and "README.md" in files
    assert not any(path.endswith((".bin", ".pt", ".pkl")) for path in files)
    assert TOKEN.encode() not in b"".join(files.values())
    card = ModelCard(files["README.md"].decode())
    assert card.data["datasets"] == ["you/sgdx"]

    def python(*arguments: object) -> str:
        done = online.python(tmp_path / "home", *arguments, token=None)
        assert done.returncode == 0, done.stderr
        return done.stdout

    there = ("--model", name, "--output", tmp_path / "hub")
    python("-m", "baselines.predict", *there, *shared, "--source", "sample")
    for variant in ("original", "v3"):
        own, hub = (tmp_path / at / f"{variant}.jsonl" for at in ("own", "hub"))
        # The first line says, among other things, what the model is called.
        assert own.read_bytes().split(b"\n")[1:] == hub.read_bytes().split(b"\n")[1:]
    for code in re.findall(r"```python\n(.*?)```", card.text, re.DOTALL):
        assert python("-c", code)


def test_scores_stand_on_the_hub_s_leaderboards(
    online: Hub, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    for name in ("scores.json", ITEMS):
        shutil.copy(ROOT / "results" / "onepass-minilm_all" / name, run)
    record = json.loads((run / "run.json").read_text()) | {"evaluation": {"date": "2026-11-26"}}
    (run / "run.json").write_text(json.dumps(record))
    data = Repository(private=False)
    data.commit({"README.md": b"---\n---\n"})
    data.tags["v1.0.0"] = data.commits[-1][0]
    data.commit({"README.md": b"---\n---\nLater."})
    online.repositories["datasets", "you/sgdx"] = data
    assert command(monkeypatch, publish, "--model", run, "--push-to-hub", "you/scored") == 0
    files = online.repositories["models", "you/scored"].files
    card = ModelCard(files["README.md"].decode())
    assert {one.metric_name for one in card.data["eval_results"]} >= {"JGA_orig", "JGA_v1-5"}
    entries = parse_eval_result_entries(yaml.safe_load(files[".eval_results/sgdx.yaml"]))
    values = {entry.task_id: entry.value for entry in entries}
    assert (len(values), values["jga_v1-5"]) == (7, 61.35)
    assert {entry.dataset_id for entry in entries} == {"you/sgdx"}
    assert {(entry.date, entry.dataset_revision) for entry in entries} == {
        ("2026-11-26", data.commits[0][0])
    }
    assert {entry.source_url for entry in entries} == {"https://huggingface.co/you/scored"}
    assert entries[0].notes is not None
    assert entries[0].notes.startswith("SGD-X; partial data: 2,921 of 4,201 dialogues; ")
    assert "|release:partial:2921/4201|" in entries[0].notes
    checked = [path for _, path, _ in online.requests if path == "/api/validate-yaml"]
    assert checked  # the Hub's own check of the card, before anything is uploaded


def test_what_would_be_pushed_is_shown(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuse: Refuse
) -> None:
    run, shown = tmp_path / "run", tmp_path / "shown"
    shutil.copytree(trained, run)
    (run / "notes.txt.gz").write_text("of my own")
    assert command(monkeypatch, publish, "--model", run, "--output", shown) == 0
    names = {path.name for path in shown.iterdir()}
    assert {"README.md", "config.json", "model.safetensors", "run.json", "log.jsonl"} <= names
    assert not {"checkpoints", "initial", "notes.txt.gz"} & names
    assert "shown: " in refuse(publish, "--model", run, "--output", shown)


def test_a_report_is_a_space(
    online: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "figures").mkdir()
    for name in ("index.html", "report.md", "figures/jga.svg", "figures/jga.png", "scores.json"):
        (tmp_path / name).write_text("a report")
    (tmp_path / "README.md").write_text("of the folder")
    (tmp_path / "notes.txt").write_text("of my own")
    arguments = ("--report", tmp_path, "--push-to-hub", "you/report")
    assert command(monkeypatch, publish, *arguments) == 0
    assert capsys.readouterr().out == f"{online.url}/spaces/you/report\n"
    files = online.repositories["spaces", "you/report"].files
    assert sorted(files) == [
        ".gitattributes", "README.md", "figures/jga.png", "figures/jga.svg",
        "index.html", "report.md", "scores.json",
    ]  # fmt: skip
    assert (tmp_path / "README.md").read_text() == "of the folder"
    assert ModelCard(files["README.md"].decode()).data["sdk"] == "static"
    assert command(monkeypatch, publish, "--report", tmp_path / "figures", *arguments[2:]) == 2
    assert "holds no index.html, expected a folder of 'sgdx report'" in capsys.readouterr().err
