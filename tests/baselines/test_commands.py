"""What the commands do for every tracker: find it, go on, refuse, and say what a folder is."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard

from baselines import evaluate, predict, publish, train
from baselines.system import get_trainable, recorded_name
from baselines.use import load_tracker, track_dialogue
from sgdx_dataset import SgdxError

from .conftest import STATE, command, state_of_the_cards_dialogue, write_recipe

LEXICAL = ("--tracker", "lexical", "--source", "sample")


def error_line(capsys: pytest.CaptureFixture[str]) -> str:
    message: str = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


def test_an_evaluation_goes_on_where_it_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Predictions that are there are kept, to the byte and to the moment; the rest is made."""
    arguments = (*LEXICAL, "--output", tmp_path)
    assert command(monkeypatch, evaluate, *arguments) == 0
    assert "JGA_v1-5" in capsys.readouterr().out
    scores = (tmp_path / "scores.json").read_bytes()
    kept = (tmp_path / "predictions" / "v3.jsonl").stat()
    lost = (tmp_path / "predictions" / "v4.jsonl").read_bytes()
    (tmp_path / "predictions" / "v4.jsonl").unlink()
    (tmp_path / "scores.json").unlink()
    assert command(monkeypatch, evaluate, *arguments) == 0
    assert (tmp_path / "predictions" / "v3.jsonl").stat().st_mtime_ns == kept.st_mtime_ns
    assert (tmp_path / "predictions" / "v4.jsonl").read_bytes() == lost
    assert (tmp_path / "scores.json").read_bytes() == scores
    facts = json.loads((tmp_path / "run.json").read_text())["evaluation"]
    assert (facts["tracker"], facts["split"], facts["release"]) == ("lexical", "test", "sample")
    assert facts["configs"] == ["original", "v1", "v2", "v3", "v4", "v5"]


def test_an_evaluated_run_shows_its_scores_on_its_card(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    record = json.loads((run / "run.json").read_text())["record"]
    some = ("--config", "original", "v1", "v2", "--split", "dev")
    arguments = ("--model", run, "--source", "sample", "--output", run, *some)
    assert command(monkeypatch, evaluate, *arguments) == 0
    found = json.loads((run / "run.json").read_text())
    assert found["record"] == record
    assert found["evaluation"]["tracker"] == "t5dst"
    assert command(monkeypatch, publish, "--model", run) == 0
    card = ModelCard.load(run / "README.md")
    assert "Dialogue state tracker t5dst, format t5dst: tiny" in card.text
    metadata = card.data.to_dict()
    assert metadata["datasets"] == ["sgdx"]
    assert metadata["metrics"] == ["sgdx_metric"]
    assert "base_model" not in metadata  # it was made on the spot
    scores = json.loads((run / "scores.json").read_text())["sgdx"]
    expected = {
        "JGA_orig": scores["jga_orig"],
        "JGA_v1-5": scores["jga_v1-5"],
        "SS_JGA": scores["ss_jga"],
    }
    results = {r.metric_name: r.metric_value for r in card.data.eval_results or []}
    assert results == {n: round(100 * v, 2) for n, v in expected.items() if v is not None}
    assert "JGA_orig" in results
    assert {r.dataset_split for r in card.data.eval_results or []} == {"validation"}
    assert {r.dataset_type for r in card.data.eval_results or []} == {"sgdx"}


def test_the_card_tracks_a_dialogue(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(state_of_the_cards_dialogue(trained, capsys)) == STATE


def test_a_dialogue_of_ones_own() -> None:
    service = {
        "service_name": "Cabs_9",
        "description": "Rides through town",
        "slots": [
            {"name": "destination", "description": "Where the ride goes to"},
            {"name": "riders", "description": "People", "possible_values": ["one", "two"]},
        ],
        "intents": [
            {
                "name": "OrderCab",
                "description": "Call a cab",
                "required_slots": ["destination", "riders"],
            }
        ],
    }
    acts = [[{"act": "OFFER", "slot": "destination", "values": ["Galway"]}]]
    dialogue = ["I want to order a cab for two riders.", "To Galway?", "Yes, please."]
    first, last = track_dialogue(load_tracker("lexical"), service, dialogue, acts)
    assert first["slot_values"] == {"riders": ["two"]}
    assert last == {
        "active_intent": "OrderCab",
        "requested_slots": [],
        "slot_values": {"destination": ["Galway"], "riders": ["two"]},
    }
    with pytest.raises(SgdxError, match="lacks 'slots'"):
        track_dialogue(load_tracker("lexical"), {"service_name": "A"}, ["Hi"])
    with pytest.raises(SgdxError, match="found no utterances"):
        track_dialogue(load_tracker("lexical"), service, [])


def test_a_training_speaks_where_there_is_no_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = write_recipe(tmp_path / "r.yaml", steps=4, log_every=2, evaluate_every=4)
    arguments = ("--config", recipe, "--output", tmp_path / "run")
    assert command(monkeypatch, train, *arguments) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^step 2 of 4: loss \d\.\d{4}, \d+ tokens/s, \d\d:\d\d left$", printed, re.M)
    assert re.search(
        r"^step 4: dev joint goal accuracy 0\.\d{4} \(the best so far\)$", printed, re.M
    )
    assert command(monkeypatch, train, *arguments, "--resume") == 0
    assert "going on at step 4 of 4\n" in capsys.readouterr().out


def test_a_card_names_the_base_model(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    run = json.loads(path.read_text())
    run["record"]["settings"]["model"] = "google-t5/t5-base"
    path.write_text(json.dumps(run))
    publish.publish(tmp_path / "run", None)
    assert ModelCard.load(tmp_path / "run" / "README.md").data.base_model == "google-t5/t5-base"


def test_a_run_a_checkpoint_and_a_model_say_which_tracker_they_are(
    trained: Path, tmp_path: Path
) -> None:
    (checkpoint,) = (trained / "checkpoints").iterdir()
    assert recorded_name(str(trained)) == recorded_name(str(checkpoint)) == "t5dst"
    with pytest.raises(SgdxError, match="found no tracker's name in run.json or config.json"):
        recorded_name(str(tmp_path))
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(SgdxError, match="config.json: "):
        recorded_name(str(tmp_path))


def test_a_seed_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = write_recipe(tmp_path / "r.yaml", steps=1, evaluate_every=1)
    arguments = ("--config", recipe, "--output", tmp_path / "run", "--seed", 7)
    assert command(monkeypatch, train, *arguments) == 0
    record = json.loads((tmp_path / "run" / "run.json").read_text())["record"]
    assert (record["settings"]["seed"], record["seen"]["seed"]) == (7, 7)


WRONG: dict[str, tuple[Any, tuple[object, ...], str]] = {
    "nothing named": (predict, (), "found neither --model nor --tracker"),
    "no such tracker": (
        predict, ("--tracker", "simple"), "tracker 'simple' is unknown, expected one of lexical",
    ),
    "a tracker that is trained": (
        evaluate, ("--tracker", "sgp_dst"), "--tracker sgp_dst: it is trained, expected --model",
    ),
    "an option out of range": (
        predict, ("--model", "{trained}", "--batch-size", 0), "--batch-size: Expected `int` >= 1",
    ),
    "an option of another kind": (
        evaluate, ("--model", "{trained}", "--shuffle", "x"), "--shuffle: Expected `int | null`",
    ),
    "a folder of another run": (
        evaluate, (*LEXICAL, "--output", "{trained}/../o"), "run.json: not the record of a run: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_line(
    name: str,
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (trained.parent / "o").mkdir(exist_ok=True)
    (trained.parent / "o" / "run.json").write_text("[]")
    module, words, expected = WRONG[name]
    arguments = [str(word).format(trained=trained) for word in words]
    assert command(monkeypatch, module, "--output", tmp_path / "o", *arguments) == 2
    message = error_line(capsys)
    assert message.startswith(f"{module.__name__}: error: ")
    assert expected in message
    assert not (tmp_path / "o").exists()


def header_of(path: Path) -> dict[str, Any]:
    with path.open() as file:
        metadata: dict[str, Any] = json.loads(file.readline())["metadata"]
    return metadata


def test_chosen_dialogues_under_words_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Headers and signature say which dialogues, and mark the wording by its fingerprint."""
    words, chosen, out = tmp_path / "mine.json", tmp_path / "ids.txt", tmp_path / "out"
    words.write_text('{"Cabs_1": {"slots": {"destination": "dropoff"}}}')
    chosen.write_text("1_00000\n1_00003\n")
    arguments = (
        *LEXICAL, "--config", "original", "mine", "--variant", f"mine={words}",
        "--dialogues", chosen, "--output", out,
    )  # fmt: skip
    assert command(monkeypatch, evaluate, *arguments) == 0
    header = header_of(out / "predictions" / "mine.jsonl")
    assert header["dialogues"] == "2@bae2f743"
    assert "wording" not in header_of(out / "predictions" / "original.jsonl")
    scores = json.loads((out / "scores.json").read_text())
    assert f"|variants:original+mine@{header['wording']}|" in scores["signature"]
    assert "|dialogues:2@bae2f743|" in scores["signature"]
    rows = [json.loads(line) for line in (out / "predictions" / "mine.jsonl").open()][1:]
    assert {row["frame_id"].split("/")[0] for row in rows} == {"1_00000", "1_00003"}
    facts = json.loads((out / "run.json").read_text())["evaluation"]
    assert str(tmp_path) not in json.dumps(facts)
    for path, content, expected in (
        (words, '{"Cabs_1": {"slots": {"destination": "goal"}}}', "predictions: wording is"),
        (chosen, "1_00000\n", "predictions: dialogues is '2@bae2f743', expected '1@"),
        (chosen, "1_00000\n9_00000\n", "1 of 2 dialogues are not in the split, the first is 9_0"),
    ):
        path.write_text(content)
        place = tmp_path / "new" if "9_" in content else out
        capsys.readouterr()
        assert command(monkeypatch, evaluate, *arguments[:-1], place) == 2
        assert expected in error_line(capsys)


def test_a_variant_without_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, predict, *LEXICAL, "--output", tmp_path, "--variant", "mine") == 2
    assert "--variant mine: expected NAME=PATH" in error_line(capsys)


def test_tasks_that_there_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = write_recipe(tmp_path / "r.yaml")
    arguments = ("--config", recipe, "--output", tmp_path / "o", "--task", "copy")
    assert command(monkeypatch, train, *arguments) == 2
    assert "--task copy: t5dst has no such task, expected none" in error_line(capsys)
    with pytest.raises(SgdxError, match="tracker 'lexical' learns nothing"):
        get_trainable("lexical")
    (tmp_path / "r.yaml").write_text("tracker: t7\n")
    assert command(monkeypatch, train, *arguments[:4]) == 2
    assert "tracker 't7' is unknown" in error_line(capsys)
