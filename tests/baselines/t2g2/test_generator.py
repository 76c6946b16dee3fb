"""Generators through the commands: generate, score, publish, and load again."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from safetensors.torch import load_file, save_file

from baselines import evaluate, predict, publish, train
from baselines.model_card import Card
from baselines.publish import published
from baselines.system import read_provenance
from baselines.t2g2 import system as beams
from baselines.t2g2.model import Base, T2G2Provenance, load_generator
from baselines.t5dst.model import generation_settings, save_model, tiny_t5, tiny_tokenizer
from baselines.trained import TrainedModel
from baselines.use import load_tracker, say, track_dialogue
from sgdx_dataset import SgdxError
from sgdx_eval.result import read_result

from ...hub import Hub, Repository
from ..conftest import command, write_recipe
from ..training import broken_off
from .conftest import KINDS, PREFIX

BOTH = pytest.mark.parametrize("kind", KINDS)


def test_training_leaves_the_base_of_a_prefix(prefix_tuned: Path) -> None:
    facts = json.loads((prefix_tuned / "run.json").read_text())
    assert facts["record"]["data"]["train"]["turns"] < 482
    weights = {path.name for path in prefix_tuned.glob("*.safetensors")}
    assert weights == {"prefix.safetensors", "prefix_networks.safetensors"}
    learnt = load_file(prefix_tuned / "prefix_networks.safetensors")
    assert facts["trainable_parameters"] == sum(tensor.numel() for tensor in learnt.values())
    model, _ = load_generator(str(prefix_tuned))
    first = load_file(prefix_tuned / "initial" / "model.safetensors")
    now = model.base.state_dict()  # type: ignore[union-attr]
    assert all(torch.equal(now[name], weight) for name, weight in first.items())


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@BOTH
def test_the_score_is_the_mean_log_likelihood_of_what_is_said(kind: str, unbroken: Path) -> None:
    model, tokenizer = load_generator(str(unbroken))
    inputs = tokenizer(["SYSTEM | A hotel.", "SYSTEM | Bye."], return_tensors="pt", padding=True)
    settings = model.generation_config
    settings.eos_token_id, settings.pad_token_id = 1, 0
    said = torch.tensor([[0, 9, 1, 0], [0, 7, 8, 9]])
    with pytest.MonkeyPatch.context() as patch:
        writer = type(getattr(model, "base", model))
        patch.setattr(writer, "generate", lambda *_, **__: said)
        tokens, likelihood = beams.beam_search(model, dict(inputs), settings, limit=64)
    assert torch.equal(tokens, said[:, 1:])
    for row, real in ((0, 2), (1, 3)):  # what follows the end token does not count
        with torch.no_grad():
            logits = model(
                input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"],
                decoder_input_ids=said[:, :-1],
            ).logits[row]  # fmt: skip
        each = [logits[i].log_softmax(-1)[said[row, i + 1]].item() for i in range(real)]
        assert likelihood[row].item() == pytest.approx(sum(each) / real, abs=1e-5)


def test_an_evaluated_run_shows_its_scores_on_its_card(
    prefix_tuned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, ids = tmp_path / "run", tmp_path / "ids.txt"
    ids.write_text("1_00000\n")
    shutil.copytree(prefix_tuned, place)
    given = ("--model", place, "--source", "sample", "--dialogues", ids, "--output", place)
    assert command(monkeypatch, evaluate, *given) == 0
    scores = json.loads((place / "scores.json").read_text())
    generator = "generator:original+v1+v2+v3+v4+v5|evaluator:original|split:test|"
    assert scores["signature"].startswith(f"sgsacc_metric|{generator}")
    header, *rows = rows_of(place / "predictions" / "v3.jsonl")
    said = header["metadata"]
    assert (said["task"], said["variant"], said["oracle"]) == ("turns", "v3", False)
    own = {"input": "derived", "beams": 2, "length_penalty": 0.6, "train": ["original"]}
    assert said["system"].items() >= own.items() and "system_acts" not in said["system"]
    assert all(row["variant"] == "v3" and row["score"] < 0 for row in rows)
    assert command(monkeypatch, publish, "--model", place) == 0
    card = ModelCard.load(place / "README.md")
    assert (
        "# Schema-guided response generator t2g2, input derived, prefix of 3, from tiny"
        in card.text
    )
    assert card.data.to_dict()["metrics"] == ["bleu"]
    assert "**A toy.**" in card.text and card.data.eval_results is None
    monkeypatch.setattr(Card, "is_toy", False)
    assert command(monkeypatch, publish, "--model", place) == 0
    entries = ModelCard.load(place / "README.md").data.eval_results or []
    found = {(r.metric_type, r.metric_name): r.metric_value for r in entries}
    result = read_result(place).result
    assert found["bleu", "BLEU_orig"] == round(result["bleu_orig"] or 0, 2)
    assert {metric for metric, _ in found} == {"bleu"}
    assert f"### Turns: {result.counts['turns']} all" in card.text


@BOTH
def test_the_card_s_examples_run_and_the_second_has_five_lines(
    kind: str, unbroken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = (unbroken / "README.md").read_text()
    first, second = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    assert len(second.strip().splitlines()) == 5
    capsys.readouterr()
    exec(first, {})  # noqa: S102
    exec(second, {})  # noqa: S102
    actions, text = capsys.readouterr().out.splitlines()
    model, tokenizer = load_generator(str(unbroken))
    inputs = tokenizer([_input(second)], return_tensors="pt")
    output = model.generate(**inputs, num_beams=2, length_penalty=0.6, max_new_tokens=8)  # type: ignore[operator]
    assert text == str(tokenizer.batch_decode(output, skip_special_tokens=True))
    assert isinstance(actions, str)


def _input(code: str) -> str:
    (found,) = re.findall(r"'(SYSTEM \| .*?)'\]", code)
    return str(found)


SERVICE = {
    "service_name": "Cabs_9",
    "description": "Rides",
    "slots": [
        {"name": "to", "description": "Where the ride goes to"},
        {"name": "fast", "description": "No stops", "possible_values": ["True", "False"]},
    ],
    "intents": [{"name": "OrderCab", "description": "Call a cab"}],
}
ACTIONS = [{"act": "CONFIRM", "slot": "to", "values": ["Rome"]}]
# What the schema or the acts of SGD do not have, what is found, and what is expected.
WRONG_ACTS: tuple[tuple[Any, str, str], ...] = (
    ([], "no actions", "at least one"),
    ({"act": "CONFIRM"}, "CONFIRM", "array"),
    ([{"slot": "to"}], "slot", "act"),
    ([{"act": "SHOUT"}], "SHOUT", "GOODBYE"),
    ([{"act": "CONFIRM", "slot": "from", "values": ["Rome"]}], "from", "to"),
    ([{"act": "CONFIRM", "slot": "to", "values": "Rome"}], "Rome", "array"),
    ([{"act": "CONFIRM", "slot": "to"}], "no values", "at least one"),
    ([{"act": "INFORM", "slot": "fast", "values": ["maybe"]}], "maybe", "True, False"),
    ([{"act": "OFFER_INTENT", "slot": "intent", "values": ["Fly"]}], "Fly", "OrderCab"),
    ([{"act": "GOODBYE", "slot": "to"}], "to", "none"),
)


def test_templates_are_read_for_a_model_that_was_trained_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = write_recipe(
        tmp_path / "r.yaml", "t2g2", input="t2g2", templates=str(tmp_path / "t"), steps=1,
        evaluate_every=1, train_dialogues=1,
    )  # fmt: skip
    given: tuple[object, ...] = ("--recipe", recipe, "--output", tmp_path / "run")
    assert command(monkeypatch, train, *given) == 2
    assert "found no *.tsv" in capsys.readouterr().err
    _write_templates(tmp_path / "t")
    assert command(monkeypatch, train, *given) == 0
    with pytest.raises(SgdxError, match="input t2g2: found no folder of templates"):
        load_tracker(str(tmp_path / "run"))
    generator = load_tracker(str(tmp_path / "run"), templates=str(tmp_path / "t"))
    assert len(generator.describe()["templates"]) == 64
    assert generator.to_input is not None  # type: ignore[attr-defined]
    out = tmp_path / "out"
    (tmp_path / "ids.txt").write_text("1_00000\n")
    model = ("--model", tmp_path / "run", "--templates", tmp_path / "t", "--output", out)
    chosen = ("--dialogues", tmp_path / "ids.txt", "--variant", "original", "v4")
    assert command(monkeypatch, predict, *model, *chosen) == 0
    (_, *original), (_, *reworded) = (rows_of(out / f"{v}.jsonl") for v in ("original", "v4"))
    said = [[row["utterance"] for row in rows] for rows in (original, reworded)]
    assert said[0] == said[1]  # hand-written templates do not move with the variant
    card = (tmp_path / "run" / "README.md").read_text()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "templates").symlink_to(tmp_path / "t")
    code = re.findall(r"```python\n(.*?)```", card, re.DOTALL)[0]
    with pytest.raises(SgdxError, match="Cabs_9"):  # for a service that these templates have not
        exec(code, {})  # noqa: S102
    (file,) = (tmp_path / "t").glob("Cabs_1.tsv")
    file.write_text(file.read_text() + "other\tOther.\n")
    assert command(monkeypatch, predict, *model[:-1], tmp_path / "again", *chosen) == 2
    line = capsys.readouterr().err
    assert str(tmp_path / "t") in line and generator.describe()["templates"] in line


def _write_templates(folder: Path) -> None:
    """A template for every action of the sample's turns: the key itself, made of what it has."""
    from baselines.copies import template_key
    from sgdx_eval.gold import Rows, open_gold
    from sgdx_eval.tasks.turns import REFERENCES, read_turns

    keys: dict[str, set[str]] = {}
    for split in ("train", "validation", "test"):
        rows = Rows(references=REFERENCES, kind="turns")
        for turn in read_turns(open_gold("sample", split, {}, rows), "original"):
            for action in turn.actions:
                keys.setdefault(action.service, set()).add(template_key(turn, action))
    folder.mkdir()
    for service, of in keys.items():
        lines = [f"{key}\t{key.replace('!!', ' ')}.\n" for key in sorted(of)]
        (folder / f"{service}.tsv").write_text("".join(lines))


def test_what_cannot_be_said_or_loaded(
    fine_tuned: Path, prefix_tuned: Path, tmp_path: Path
) -> None:
    assert isinstance(say(load_tracker(str(fine_tuned)), SERVICE, ACTIONS), str)
    generator: Any = load_tracker(str(fine_tuned))
    for acts, found, expected in WRONG_ACTS:
        with pytest.raises(SgdxError, match=f"found.*{found}.*{expected}"):
            say(generator, SERVICE, acts)
    with pytest.raises(SgdxError, match="found 'Fly', expected one of OrderCab"):
        say(generator, SERVICE, ACTIONS, "Fly")
    others: list[Any] = [load_tracker("lexical"), {}]
    for other in others:
        with pytest.raises(SgdxError, match="found (a tracker|no system).*expected a generator"):
            say(other, SERVICE, ACTIONS)
    with pytest.raises(SgdxError, match="found a generator .*expected a tracker"):
        track_dialogue(generator, SERVICE, ["Hi"])
    with pytest.raises(SgdxError, match="input derived: found a folder"):
        _write_templates(tmp_path / "t")
        load_tracker(str(fine_tuned), templates=str(tmp_path / "t"))
    place = tmp_path / "moved"
    shutil.copytree(prefix_tuned, place)
    assert load_generator(str(place))  # the tiny T5 moves with the folder
    shutil.copy(fine_tuned / "model.safetensors", place / "initial")
    with pytest.raises(SgdxError, match="found a T5 with other weights than the prefix is for"):
        load_generator(str(place))
    shutil.copytree(prefix_tuned / "initial", place / "initial", dirs_exist_ok=True)
    prefix = load_file(place / "prefix.safetensors")
    name = min(prefix)
    prefix[name].view(-1)[0] = torch.inf
    save_file(prefix, place / "prefix.safetensors")
    with pytest.raises(SgdxError, match=f"{name} has values that are no finite numbers"):
        load_generator(str(place))
    (place / "prefix.safetensors").write_bytes(b"x")
    with pytest.raises(SgdxError, match="prefix.safetensors: prefix cannot be loaded"):
        load_generator(str(place))


def on_the_hub(folder: Path, name: str, commit: str) -> Path:
    """A tiny T5 in a cache of the Hub, as if it had been downloaded."""
    repository = folder / f"models--{name.replace('/', '--')}"
    model, tokenizer = tiny_t5(300), tiny_tokenizer(["a cab"], 300)
    place, provenance = (
        repository / "snapshots" / commit,
        T2G2Provenance(input="derived", max_input=8, max_target=8, beams=1, length_penalty=1.0),
    )
    greedily = generation_settings(model, 8)
    trained = TrainedModel(model, tokenizer, provenance)
    save_model(trained, model, greedily, place, model.state_dict())
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    return place


@pytest.fixture
def from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run that trained a prefix for a T5 of the Hub."""
    on_the_hub(tmp_path / "hub", "me/tiny-t5", "a" * 40)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("transformers.utils.hub.HF_HUB_CACHE", str(tmp_path / "hub"), raising=False)
    changed = {"steps": 2, "evaluate_every": 2, "train_dialogues": 2, "model": "me/tiny-t5"}
    recipe = write_recipe(tmp_path / "r.yaml", "t2g2", **PREFIX, **changed)
    words = ["--recipe", str(recipe), "--output", str(tmp_path / "run")]
    monkeypatch.setattr(sys, "argv", ["broken_off", *words])
    assert broken_off.main() == 0
    return tmp_path / "run"


def test_a_prefix_names_its_base_and_is_small(from_the_hub: Path) -> None:
    base = read_provenance(str(from_the_hub), T2G2Provenance).base
    assert base is not None
    digest = base.sha256
    assert base == Base("me/tiny-t5", "a" * 40, digest, 3, 16)
    files = published(from_the_hub)
    assert "prefix.safetensors" in files
    assert not {"prefix_networks.safetensors", "model.safetensors", "tokenizer.json"} & set(files)
    weights = load_file(from_the_hub / "prefix.safetensors")
    assert sum(tensor.numel() for tensor in weights.values()) == 3 * 2 * 2 * 4 * 3 * 16
    card = ModelCard.load(from_the_hub / "README.md").data.to_dict()
    assert (card["base_model"], card["base_model_relation"]) == ("me/tiny-t5", "adapter")
    model, _ = load_generator(str(from_the_hub))
    assert model.generation_config.num_beams == 2


def test_a_prefix_of_a_local_model_is_not_pushed(
    prefix_tuned: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--model", prefix_tuned, "--push-to-hub", "me/prefix")
    assert command(monkeypatch, publish, *given) == 2
    message = capsys.readouterr().err
    assert "holds a prefix for the model tiny, expected one for a model on the Hub" in message
    assert message.count("\n") == 1


COMMIT = "a" * 40


@pytest.mark.slow
def test_a_prefix_is_pushed_and_loaded_in_five_lines(
    from_the_hub: Path, online: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By who has neither: the prefix and the T5 that it names are both downloaded."""
    place = tmp_path / "hub" / "models--me--tiny-t5" / "snapshots" / COMMIT
    base = {file.name: file.read_bytes() for file in place.iterdir()}
    online.repositories["models", "me/tiny-t5"] = Repository(False, [(COMMIT, base)])
    given = ("--model", from_the_hub, "--push-to-hub", "you/prefix")
    assert command(monkeypatch, publish, *given) == 0
    pushed = online.repositories["models", "you/prefix"].files
    code = re.findall(r"```python\n(.*?)```", pushed["README.md"].decode(), re.DOTALL)[1]

    def said(code: str, **changes: str) -> str:
        done = online.python(tmp_path / "fresh", "-c", code, token=None, **changes)
        assert done.returncode == 0, done.stderr
        return done.stdout

    here = code.replace("'you/prefix'", repr(str(from_the_hub)))
    local = said(here, HF_HUB_CACHE=str(tmp_path / "hub"), HF_HUB_OFFLINE="1")
    assert said(code) == local
    assert local.startswith("['")
