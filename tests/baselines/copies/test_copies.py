"""Copy systems: what they say, word for word, and that they are controls of the metric."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from baselines.copies.__main__ import main
from baselines.copies.derived import derived
from baselines.copies.systems import copy_system, generate
from baselines.copies.templates import from_templates, read_templates, template_key
from baselines.demo import generation_demo
from sgdx_dataset import SgdxError, open_release
from sgdx_eval.references import open_references
from sgdx_eval.requested import RequestedData
from sgdx_eval.tasks.turns import Turns, read_turns
from sgsacc_metric.rows import Action

from ...sgsacc_metric.turns import act, turn

TEMPLATES = """\
CONFIRM!!city!!@\tThe city is @.
CONFIRM!!has_wifi!!True\tThere is wifi.
CONFIRM!!has_wifi!!False\tThere is no wifi.
REQUEST!!intent\tRent or buy?
REQUEST!!intent!!@@\tDo you want to @ or @?
INFORM_COUNT!!FindHotel!!count!!@\tI found @.
NOTIFY_SUCCESS!!BookHotel\tBooked.
OFFER_INTENT!!BookHotel\tShall I book it?
GOODBYE\tBye!
GOODBYE\tGood bye.
"""


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        (act("CONFIRM", "city", "Rome"), "City of the hotel is Rome."),
        (act("OFFER", "city", "Rome", "Pisa"), "City of the hotel are Rome and Pisa."),
        (act("INFORM", "pets_allowed", "True"), "Are pets allowed? Yes."),
        (act("INFORM", "has_wifi", "False"), "Whether the hotel has wifi? No."),
        (act("REQUEST", "city"), "City of the hotel?"),
        (act("REQUEST", "city", "Rome", "Pisa"), "City of the hotel? Rome or Pisa?"),
        (act("REQUEST", "intent", "rent"), "Rent or buy? rent?"),
        (act("OFFER_INTENT", "intent", "BookHotel"), "Do you want to book a room?"),
        (act("INFORM_COUNT", "count", "3"), "There are 3 results."),
        (act("NOTIFY_SUCCESS"), "Your request was successful."),
        (act("NOTIFY_FAILURE"), "Your request was not successful."),
        (act("GOODBYE"), "Have a good day."),
        (act("REQ_MORE"), "Is there anything else I can help you with?"),
        (act("INFORM", "street_name", "Via Roma"), "street name is Via Roma."),
    ],
)
def test_derived_sentences(action: Action, sentence: str) -> None:
    assert derived(turn(action, intent="FindHotel")) == sentence


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Hotels_1.tsv").write_text(TEMPLATES)
    return tmp_path


def test_templates(folder: Path) -> None:
    templates = read_templates(folder)
    of = turn(
        act("GOODBYE"),
        act("CONFIRM", "has_wifi", "False"),
        act("CONFIRM", "city", "m@x"),
        act("REQUEST", "intent", "rent", "buy"),
        act("INFORM_COUNT", "count", "2"),
        intent="FindHotel",
    )
    assert from_templates(of, templates) == (
        "Please confirm the following details: I found 2. Do you want to rent or buy?"
        " There is no wifi. The city is m@x. Good bye."
    )
    more = turn(
        act("OFFER_INTENT", "intent", "BookHotel"), act("NOTIFY_SUCCESS"), intent="BookHotel"
    )
    assert from_templates(more, templates) == "Booked. Shall I book it?"
    assert template_key(of, act("REQUEST", "intent")) == "REQUEST!!intent"
    assert template_key(of, act("INFORM", "city", "dontcare")) == "INFORM!!city!!dontcare"


def test_templates_that_cannot_be_used(folder: Path) -> None:
    templates = read_templates(folder)
    with pytest.raises(SgdxError, match="turn 1_00000/1: found no template REQ_MORE of Hotels_1"):
        from_templates(turn(act("REQ_MORE")), templates)
    (folder / "Hotels_1.tsv").write_text("GOODBYE\tBye!\nINFORM!!city!!@\tA city.\n")
    with pytest.raises(SgdxError, match=r"Hotels_1.tsv:2: found .*as many @ in both"):
        read_templates(folder)
    with pytest.raises(SgdxError, match="found no .*tsv"):
        read_templates(folder / "none")
    with pytest.raises(SgdxError, match="--system templates: found no --templates DIR"):
        copy_system("templates")
    with pytest.raises(SgdxError, match="--system gold: found a --templates DIR"):
        copy_system("gold", folder)


def test_templates_say_the_same_under_every_wording(tmp_path: Path) -> None:
    references = open_references("sample", "test", {}, Turns.references.names, "turns")
    turns = read_turns(references, "original")
    lines: dict[str, list[str]] = {}
    for of in turns:
        for action in of.actions:
            key = template_key(of, action)
            lines.setdefault(action.service, []).append(f"{key}\tSo {'@ ' * key.count('@')}then.")
    for service, texts in lines.items():
        (tmp_path / f"{service}.tsv").write_text("\n".join(texts))
    system = copy_system("templates", tmp_path)
    (tmp_path / "ids.txt").write_text("1_00000")
    data = RequestedData("sample", "test", {}, tmp_path / "ids.txt")
    paths = generate(system, data, ["original", "v3"], tmp_path / "out")
    original, reworded = (
        [json.loads(line) for line in path.read_text().splitlines()] for path in paths
    )
    metadata = reworded[0]["metadata"]
    assert metadata == {
        "task": "turns", "system": {"model": "copy of templates", "input": "templates"},
        "source": "sample", "split": "test", "dialogues": "1@a2b18ed3",
        "variant": "v3", "data": open_release("sample").data_digest("test", "v3"),
    }  # fmt: skip
    assert [row["utterance"] for row in original[1:]] == [row["utterance"] for row in reworded[1:]]
    assert all(row["turn_id"].startswith("1_00000/") for row in reworded[1:]) and original[1:]


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["copies", "--system", "empty", "--source", "sample", "--output", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", [*words, "--config", "v1"])
    assert main() == 0
    rows = [json.loads(line) for line in (tmp_path / "out" / "v1.jsonl").read_text().splitlines()]
    assert len(rows) == 266 and {row["utterance"] for row in rows[1:]} == {""}
    assert capsys.readouterr().out == f"{tmp_path / 'out' / 'v1.jsonl'}\n"
    monkeypatch.setattr(sys, "argv", [*words, "--config", "v9"])
    assert main() == 2
    assert "sgdx: error: unknown config 'v9'" in capsys.readouterr().err


def test_the_demo_scores_floor_and_controls(tmp_path: Path) -> None:
    generation_demo(tmp_path, quiet=False)
    of = {
        name: json.loads((tmp_path / f"{name}.json").read_text())
        for name in ("gold", "derived", "empty")
    }
    assert {name: scores["counts"]["turns"]["all"] for name, scores in of.items()} == {
        "gold": 265, "derived": 265, "empty": 265,
    }  # fmt: skip
    gold, derived, empty = (scores["sgdx"] for scores in of.values())
    assert [gold[name] for name in ("bleu_orig", "bleu_v1-5", "ser_orig")] == [100, 100, 0]
    assert [empty["bleu_orig"], empty["bleu_v1-5"]] == [0, 0]
    assert derived["bleu_orig"] != derived["bleu_v1-5"]  # the text moves with the wording
    whole = {name: scores["variants"]["original"]["#ALL_SERVICES"] for name, scores in of.items()}
    assert whole["gold"]["ser"] == 0 and whole["gold"]["sgsacc_validated"] == 1
    assert whole["empty"]["ser_checkable"] == 1
    assert whole["empty"]["sgsacc_alone"] < whole["empty"]["sgsacc"]
    assert (tmp_path / "derived" / "v5.jsonl").exists()
