"""Generators through the commands: generate, score, publish, and load again."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard

from baselines import evaluate, predict, publish, train
from baselines.copies import template_key
from baselines.model_card import Card
from baselines.t2g2 import system as beams
from baselines.t5dst.model import load_model
from baselines.use import load_tracker, say, track_dialogue
from sgdx_dataset import SgdxError, open_release
from sgdx_eval.result import read_result
from sgdx_eval.tasks.turns import read_turns, turns_of

from ..conftest import command, train_once, write_recipe


@pytest.fixture(scope="session")
def fine_tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run."""
    return train_once(tmp_path_factory, "t2g2")


def test_the_score_is_the_mean_log_likelihood_of_what_is_said(fine_tuned: Path) -> None:
    model, tokenizer = load_model(str(fine_tuned))
    inputs = tokenizer(["SYSTEM | A hotel.", "SYSTEM | Bye."], return_tensors="pt", padding=True)
    settings = model.generation_config
    settings.eos_token_id, settings.pad_token_id = 1, 0
    said = torch.tensor([[0, 9, 1, 0], [0, 7, 8, 9]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(model), "generate", lambda *_, **__: said)
        tokens, likelihood = beams.beam_search(model, dict(inputs), settings, limit=64)
    assert torch.equal(tokens, said[:, 1:])
    with torch.no_grad():
        logits = model(**inputs, decoder_input_ids=said[:, :-1]).logits.log_softmax(-1)
    for row, real in ((0, 2), (1, 3)):  # what follows the end token does not count
        each = [logits[row, i, said[row, i + 1]].item() for i in range(real)]
        assert likelihood[row].item() == pytest.approx(sum(each) / real, abs=1e-5)


def test_an_evaluated_run_shows_its_scores_on_its_card(
    fine_tuned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, ids = tmp_path / "run", tmp_path / "ids.txt"
    ids.write_text("1_00000\n")
    shutil.copytree(fine_tuned, place)
    given = ("--model", place, "--source", "sample", "--dialogues", ids, "--output", place)
    assert command(monkeypatch, evaluate, *given) == 0
    header, *rows = map(json.loads, (place / "predictions" / "v3.jsonl").read_text().splitlines())
    said = header["metadata"]
    assert (said["task"], said["variant"], said["oracle"]) == ("turns", "v3", False)
    own = {"input": "derived", "beams": 2, "length_penalty": 0.6, "train": ["original"]}
    assert said["system"].items() >= own.items() and "system_acts" not in said["system"]
    assert all(row["variant"] == "v3" and row["score"] < 0 for row in rows)
    monkeypatch.setattr(Card, "is_toy", False)
    assert command(monkeypatch, publish, "--model", place) == 0
    card = ModelCard.load(place / "README.md")
    assert "# Schema-guided response generator t2g2, input derived, from tiny" in card.text
    found = {r.metric_name: r.metric_value for r in card.data.eval_results or []}
    result = read_result(place).result
    assert found["BLEU_orig"] == round(result["bleu_orig"] or 0, 2)
    assert f"### Turns: {result.counts['turns']} all" in card.text


def test_the_card_s_examples_run_and_the_second_has_five_lines(
    fine_tuned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = re.findall(r"```python\n(.*?)```", (fine_tuned / "README.md").read_text(), re.S)
    assert len(second.strip().splitlines()) == 5
    capsys.readouterr()
    for code in (first, second):
        exec(code, {})  # noqa: S102
    _, text = capsys.readouterr().out.splitlines()
    model, tokenizer = load_model(str(fine_tuned))
    inputs = tokenizer(re.findall(r"'(SYSTEM \| .*?)'\]", second), return_tensors="pt")
    output = model.generate(**inputs, num_beams=2, length_penalty=0.6, max_new_tokens=8)  # type: ignore[operator]
    assert text == str(tokenizer.batch_decode(output, skip_special_tokens=True))


SERVICE = {
    "service_name": "Cabs_9",
    "description": "Rides",
    "slots": [
        {"name": "to", "description": "Where the ride goes to"},
        {"name": "fast", "description": "No stops", "possible_values": ["True", "False"]},
    ],
    "intents": [{"name": "OrderCab", "description": "Call a cab"}],
}


def of(act: str, slot: str = "", *values: str) -> list[dict[str, Any]]:
    return [{"act": act, "slot": slot, "values": [*values]}]


# What the schema or the acts of SGD do not have, what is found, and what is expected.
WRONG_ACTS: tuple[tuple[Any, str, str], ...] = (
    ([], "no actions", "at least one"),
    ({"act": "CONFIRM"}, "CONFIRM", "array"),
    ([{"slot": "to"}], "slot", "act"),
    (of("SHOUT"), "SHOUT", "GOODBYE"),
    (of("CONFIRM", "from", "Rome"), "from", "to"),
    ([{"act": "CONFIRM", "slot": "to", "values": "Rome"}], "Rome", "array"),
    (of("CONFIRM", "to"), "no values", "at least one"),
    (of("INFORM", "fast", "maybe"), "maybe", "True, False"),
    (of("OFFER_INTENT", "intent", "Fly"), "Fly", "OrderCab"),
    (of("GOODBYE", "to"), "to", "none"),
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
    (tmp_path / "ids.txt").write_text("1_00000\n")
    model = ("--model", tmp_path / "run", "--templates", tmp_path / "t")
    chosen = ("--dialogues", tmp_path / "ids.txt", "--variant", "original", "v4", "--output")
    assert command(monkeypatch, predict, *model, *chosen, tmp_path / "out") == 0
    files = ((tmp_path / "out" / f"{v}.jsonl").read_text().splitlines() for v in ("original", "v4"))
    original, reworded = ([json.loads(line).get("utterance") for line in file] for file in files)
    assert original == reworded  # hand-written templates do not move with the variant
    monkeypatch.chdir(tmp_path)
    (tmp_path / "templates").symlink_to(tmp_path / "t")
    code = re.findall(r"```python\n(.*?)```", (tmp_path / "run" / "README.md").read_text(), re.S)[0]
    with pytest.raises(SgdxError, match="Cabs_9"):  # for a service that these templates have not
        exec(code, {})  # noqa: S102
    (file,) = (tmp_path / "t").glob("Cabs_1.tsv")
    file.write_text(file.read_text() + "other\tOther.\n")
    assert command(monkeypatch, predict, *model, *chosen, tmp_path / "again") == 2
    line = capsys.readouterr().err
    assert str(tmp_path / "t") in line and generator.describe()["templates"] in line


def _write_templates(folder: Path) -> None:
    """A template for every action of the sample's turns: the key itself, made of what it has."""
    keys: dict[str, set[str]] = {}
    for split in ("train", "validation", "test"):
        for turn in read_turns(turns_of(open_release("sample"), split), "original"):
            for action in turn.actions:
                keys.setdefault(action.service, set()).add(template_key(turn, action))
    folder.mkdir()
    for service, of in keys.items():
        lines = [f"{key}\t{key.replace('!!', ' ')}.\n" for key in sorted(of)]
        (folder / f"{service}.tsv").write_text("".join(lines))


def test_what_cannot_be_said_or_loaded(fine_tuned: Path, tmp_path: Path) -> None:
    generator: Any = load_tracker(str(fine_tuned))
    right = of("CONFIRM", "to", "Rome")
    for given in (right, of("INFORM_COUNT", "count", "2"), [{"act": "REQ_MORE"}]):
        assert isinstance(say(generator, SERVICE, given), str)
    for acts, found, expected in WRONG_ACTS:
        with pytest.raises(SgdxError, match=f"found.*{found}.*{expected}"):
            say(generator, SERVICE, acts)
    with pytest.raises(SgdxError, match="found 'Fly', expected one of OrderCab"):
        say(generator, SERVICE, right, "Fly")
    others: list[Any] = [load_tracker("lexical"), {}]
    for other in others:
        with pytest.raises(SgdxError, match="found (a tracker|no system).*expected a generator"):
            say(other, SERVICE, right)
    with pytest.raises(SgdxError, match="found a generator .*expected a tracker"):
        track_dialogue(generator, SERVICE, ["Hi"])
    (tmp_path / "Cabs_9.tsv").write_text("GOODBYE\tBye.\n")
    with pytest.raises(SgdxError, match="input derived: found a folder"):
        load_tracker(str(fine_tuned), templates=str(tmp_path))
