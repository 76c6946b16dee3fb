"""What users of a test split say is found in other splits, whatever was changed around it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset.configs import SPLITS
from sgdx_dataset.contamination import (
    _SGD_TEST,
    Copied,
    copied_dialogues,
    held_out,
    published_tests,
    users_say,
)
from sgdx_dataset.release import File, Release, open_release

Json = Any
Change = Callable[[list[str]], list[str]]  # of what the user of a dialogue says
LONG = "I want a {0} with the {0} of {0} and all that goes with a {0}, as a {0} is what I love."
# Ten dialogues of test: three long utterances in each, of which the last is said in all.
TEST = [[*(LONG.format(f"{word}{i}") for word in ("flat", "boat")), LONG.format("x")]
        for i in range(10)]  # fmt: skip
OTHER = [[f"I only ask for {number} of the other things that nobody in test has ever asked for."]
         for number in range(20)]  # fmt: skip


def corpus(**splits: list[list[str]]) -> Release:
    """A corpus in which users say these utterances, and the system nothing."""

    def content(dialogues: list[list[str]]) -> bytes:
        turns = [[{"speaker": "USER", "utterance": text} for text in said] for said in dialogues]
        return json.dumps([{"turns": each} for each in turns]).encode()

    files = {
        f"{SPLITS[split]}/dialogues_001.json": File("mine", partial(content, dialogues))
        for split, dialogues in splits.items()
    }
    return Release("mine", files, source="/somewhere/mine")


JUDGED = corpus(train=OTHER, test=TEST)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda said: said, 10),
        (lambda said: [f"WELL, {text} Thanks!" for text in said], 10),
        (lambda said: [text.replace("e", "é").replace(",", " - ") for text in said], 10),
        (lambda said: said[:1], 10),
        (lambda said: [*said[1:], "Something that nobody says in test."], 10),
        (lambda said: said[2:], 0),  # what several dialogues say is nobody's
        (lambda said: ["Yes.", "That is right, thanks.", "Bye!"], 0),
        (lambda said: [*OTHER[0], *OTHER[1], *OTHER[2], *OTHER[3], said[0]], 0),
    ],
)  # fmt: skip
def test_dialogues_of_test_are_found_by_what_the_user_says(change: Change, found: int) -> None:
    for split in ("train", "validation"):
        trained = corpus(**{split: [*OTHER, *map(change, TEST)]})
        copies = [(of.split, of.test, of.dialogues) for of in copied_dialogues(trained, JUDGED)]
        if found:
            assert copies == [(split, "mine", found)]
        else:
            assert all(dialogues == 0 for _, _, dialogues in copies)


def test_single_utterances_of_test_and_short_dialogues_are_found() -> None:
    """A fifth of what test says alone is a leak, though no dialogue is a copy."""
    mixed = [[*OTHER[i], *OTHER[19 - i], TEST[i][0]] for i in range(10)]
    for count, is_found in ((3, False), (8, True)):
        found = copied_dialogues(corpus(train=mixed[:count]), JUDGED)
        assert [(each.split, each.dialogues) for each in found] == [("train", 0)] * is_found
    test = [["A flat in Ulm.", f"Number {number}.", "Yes!"] for number in range(10)]
    changed = [[said[0].upper(), *said[1:]] for said in test]
    found = copied_dialogues(corpus(train=changed), corpus(test=test))
    assert found == [Copied("train", "mine", 10, 0.0)]


def test_as_many_copies_are_a_leak_as_a_twentieth_of_a_small_test_and_five_at_most() -> None:
    for size, least in ((10, 1), (40, 2), (100, 5), (400, 5)):
        test = [[LONG.format(f"{number} and {number}")] for number in range(size)]
        judged = corpus(test=test)
        for count in (least - 1, least):
            trained = corpus(train=[*OTHER, *test[:count]])
            found = [each.dialogues for each in copied_dialogues(trained, judged)]
            assert found == [count] * (count == least)


@pytest.mark.parametrize("source", ["sample", "many"])
def test_no_dialogue_of_test_is_in_other_splits_of_our_corpora(source: str) -> None:
    copy = replace(open_release(source), source=f"/somewhere/{source}")  # not by its name
    assert copied_dialogues(copy, copy) == []


@pytest.mark.parametrize("source", ["sample", "many"])
def test_a_corpus_whose_train_is_the_test_of_ours(source: str) -> None:
    files = {
        file.replace("test/", "train/", 1): read
        for file, read in open_release(source).files.items()
        if file.startswith("test/dialogues_")
    }
    trained = Release("mine", files, source="/somewhere/mine")
    found = {(each.split, each.test) for each in copied_dialogues(trained, JUDGED)}
    assert found == {("train", source)}


@pytest.mark.release
def test_the_digests_of_the_test_of_sgd(release_archive: Path) -> None:
    """They are what its test alone says; it is in no other split, and found as somebody's train."""
    release = open_release(release_archive)
    other = itertools.chain(users_say(release, "train"), users_say(release, "validation"))
    made = held_out(release, other)
    assert b"".join(sorted(made.digests)) == _SGD_TEST.read_bytes()
    assert (made.dialogues, made.digests) == published_tests()[0][1:]
    assert copied_dialogues(release, release) == []
    files = {
        file.replace("test/", "train/", 1): read
        for file, read in release.files.items()
        if file.startswith("test/dialogues_00")
    }
    trained = Release("mine", files, source="/somewhere/mine")
    (found,) = copied_dialogues(trained, JUDGED)
    assert (found.split, found.test) == ("train", "SGD") and found.dialogues > 500
