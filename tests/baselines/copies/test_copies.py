"""Copy systems: what they say, word for word, and that they are controls of the metric."""

from __future__ import annotations

from pathlib import Path

import pytest

from baselines import demo
from baselines.copies import (
    copy_system,
    derived,
    from_templates,
    read_templates,
    template_key,
)
from sgdx_dataset import SgdxError
from sgdx_eval.result import read_result
from sgsacc_metric.rows import Action

from ...sgsacc_metric.turns import act, turn
from ..conftest import command

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
    booked = turn(
        act("OFFER_INTENT", "intent", "BookHotel"), act("NOTIFY_SUCCESS"), intent="BookHotel"
    )
    assert from_templates(booked, templates) == "Booked. Shall I book it?"
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


def test_the_demo_scores_floor_and_controls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--task", "generation", "--output", tmp_path)
    assert command(monkeypatch, demo, *words) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    # BLEU and BLEU under v1 to v5, SER, SGSAcc and SGSAcc under v1 to v5, flips
    assert "gold 100.00 100.00 0.00 80.00 80.00 0.00".split() in rows
    assert "derived 10.13 8.80 0.00 92.83 89.66 5.66".split() in rows
    assert "empty 0.00 0.00 38.11 30.94 30.94 0.00".split() in rows
    assert read_result(tmp_path / "gold.json").result["sgsacc_validated_orig"] == 1
    assert (tmp_path / "derived" / "v5.jsonl").exists()
