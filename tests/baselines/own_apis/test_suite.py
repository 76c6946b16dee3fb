"""The suite of own APIs: what is written in it, and the verdict on the end of a dialogue."""

from __future__ import annotations

from collections import Counter

import pytest

from baselines.own_apis import __main__ as own_apis
from baselines.own_apis.suite import judge, read_suite
from baselines.use import load_tracker
from sgdx_dataset import load
from sgdx_dataset.schema import DONTCARE

from ..conftest import command


def test_sixty_dialogues_whose_values_can_be_known() -> None:
    dialogues = read_suite()
    counts = Counter(dialogue.service["service_name"] for dialogue in dialogues)
    assert len(counts) == 12
    assert set(counts.values()) == {5}
    assert len({dialogue.dialogue_id for dialogue in dialogues}) == 60
    for dialogue in dialogues:
        assert len(dialogue.utterances) % 2 == 1, dialogue.dialogue_id  # the user has the last word
        said = " ".join(dialogue.utterances).casefold()
        slots = {slot["name"]: slot for slot in dialogue.service["slots"]}
        for slot, spellings in dialogue.state.items():
            allowed = slots[slot].get("possible_values")
            for spelling in spellings:
                known = spelling in allowed if allowed else spelling.casefold() in said
                assert known or spelling == DONTCARE, (dialogue.dialogue_id, slot, spelling)


def test_its_apis_are_in_no_corpus() -> None:
    splits = [load("original", split, "sample") for split in ("train", "validation", "test")]
    services = {name for split in splits for row in split for name in row["services"]}
    names = {name.partition("_")[0] for name in services}
    assert not names & {dialogue.service["service_name"] for dialogue in read_suite()}


def test_the_verdict_on_the_end_of_a_dialogue() -> None:
    dialogues = {dialogue.dialogue_id: dialogue for dialogue in read_suite()}
    (verdict,) = judge(load_tracker("lexical"), [dialogues["print-2"]])
    assert len(verdict.states) == 2
    assert verdict.states[-1]["slot_values"] == {"file_name": ["A5. Black"], "paper": ["A5"]}
    assert verdict.slots == {
        "right": ["paper"],
        "wrong": ["file_name"],
        "missing": ["copies", "ready_by", "colour"],
        "invented": [],
    }
    assert not verdict.is_whole


def test_the_command_prints_each_api_and_all_of_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, own_apis, "--model", "lexical", "--details") == 0
    output = capsys.readouterr().out
    assert "coffee-1: not right\n  USER: Hi, I'd like to order a flat white" in output
    (total,) = [line for line in output.splitlines() if line.startswith("all ")]
    assert total.split()[:7] == ["all", *"1 of 60".split(), *"109 of 299".split()]
