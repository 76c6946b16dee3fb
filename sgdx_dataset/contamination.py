"""Test in training: dialogues of train and dev whose user says what the user of a test split says.

Utterances are compared one by one, as whole dialogues differ as soon as a turn is left out or a
greeting is added. Of an utterance count the ``LETTERS`` letters and digits from the beginning of
each word on, so that words before or behind do not matter, and a short one such as "Yes, please."
counts nothing. What several dialogues of a test split say, such as "I would like to make a
reservation at a restaurant", says nothing either: only what one alone says is distinctive.

Of SGD's train dialogues 1 of 12,174 is a copy of a test dialogue by these numbers, of its dev
dialogues 0 of 2,098, of the sample's none; they have 1.4 % of what its test alone says, the
sample's 5.2 %. Of test dialogues that begin every utterance with "Hi", and lack the first and the
last one, 78 % are found in SGD. Where utterances are shorter than that, only a whole dialogue is.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from math import ceil
from pathlib import Path
from typing import NamedTuple, TypedDict

from .configs import SPLITS
from .io.json import decode_json
from .release import PACKAGED, Release, open_release

LETTERS = 35  # of a text that is compared
# A dialogue is a copy where so many of its texts, and such a share of them, are those of a test.
MIN_TEXTS, COPIED = 4, 0.5
# So many copies are a leak, or a twentieth of a smaller test; so is a share of what a test says.
MIN_COPIES, SCATTERED = 5, 0.2

_SGD_TEST = Path(__file__).with_name("sgd_test.bin")
_DIGEST_BYTES = 6
_SGD_TEST_DIALOGUES = 2921
_WORD = re.compile(r"[^\W_]+")


class Said(NamedTuple):
    """What the user of a dialogue says, as digests."""

    whole: bytes  # of all utterances together
    texts: frozenset[bytes]  # of the texts of ``LETTERS`` letters in single utterances


class HeldOut(NamedTuple):
    """What the users of a test split say, and of no other split that is known, as digests."""

    name: str
    dialogues: int
    digests: frozenset[bytes]  # of the whole dialogues, and of the texts that one alone has


class Copied(NamedTuple):
    """What a split has in common with a test split."""

    split: str  # ``train`` or ``validation``
    test: str  # the name of the source whose test it is
    dialogues: int  # copies of its dialogues
    share: float  # of what the test's users say, in [0, 1]


class _Turn(TypedDict):
    speaker: str
    utterance: str


class _Dialogue(TypedDict):
    turns: list[_Turn]


def copied_dialogues(release: Release, judged: Release) -> list[Copied]:
    """Where ``release``, which is trained on, has what a test split has that models are judged on.

    These are the test splits of ``judged``, of SGD, whose digests come with this package, and of
    the corpora of this package.
    """
    if release.source in PACKAGED and judged.source in PACKAGED:
        return []  # A test of this package says so.
    tests = [held_out(judged), *published_tests()]
    found = []
    for split in ("train", "validation"):
        copies, scattered = Counter[str](), {test.name: set[bytes]() for test in tests}
        for dialogue in users_say(release, split):
            for test in tests:
                equal = dialogue.texts & test.digests
                scattered[test.name] |= equal
                enough = max(MIN_TEXTS, COPIED * len(dialogue.texts))
                copies[test.name] += dialogue.whole in test.digests or len(equal) >= enough
        for test in tests:
            least = max(1, min(MIN_COPIES, ceil(test.dialogues / 20)))
            share = len(scattered[test.name]) / max(1, len(test.digests))
            if copies[test.name] >= least or share > SCATTERED:
                found.append(Copied(split, test.name, copies[test.name], share))
    return found


def in_words(found: Iterable[Copied]) -> str:
    """What was found, for an error message; empty for nothing.

    >>> in_words([Copied("validation", "SGD", 7, 0.012)])
    'dev has 7 dialogues of the test of SGD, and 1.2 % of what its users say'
    """
    return "; ".join(
        f"{SPLITS[split]} has {dialogues} dialogues of the test of {test}, and "
        f"{100 * share:.1f} % of what its users say"
        for split, test, dialogues, share in found
    )


def held_out(release: Release, known: Iterable[Said] = ()) -> HeldOut:
    """What the users of a release's test split say, but for what is known of other splits."""
    dialogues = {said.whole: said.texts for said in users_say(release, "test")}
    counts = Counter(text for texts in dialogues.values() for text in texts)
    other = {digest for said in known for digest in (said.whole, *said.texts)}
    distinctive = {text for text, count in counts.items() if count == 1}
    digests = frozenset(distinctive | dialogues.keys()) - other - {_digest("")}
    return HeldOut(release.public_name, len(dialogues), digests)


@cache
def published_tests() -> tuple[HeldOut, ...]:
    """The test splits of SGD, of which ``sgd_test.bin`` has the digests, and of our corpora."""
    content = _SGD_TEST.read_bytes()
    starts = range(0, len(content), _DIGEST_BYTES)
    digests = frozenset(content[start : start + _DIGEST_BYTES] for start in starts)
    sgd = HeldOut("SGD", _SGD_TEST_DIALOGUES, digests)
    return sgd, *(held_out(open_release(source)) for source in PACKAGED)


def users_say(release: Release, split: str) -> Iterator[Said]:
    """What the user says in each dialogue of a split."""
    for file in release.dialogue_files(split):
        path = f"{release.name}: {file}"
        for dialogue in decode_json(release.read(file), list[_Dialogue], path, "dialogues"):
            turns = [turn["utterance"] for turn in dialogue["turns"] if turn["speaker"] == "USER"]
            words = [_WORD.findall(_folded(utterance)) for utterance in turns]
            whole = "".join(word for utterance in words for word in utterance)
            texts = frozenset(_digest(text) for utterance in words for text in _texts(utterance))
            yield Said(_digest(whole), texts)


def _texts(words: list[str]) -> Iterator[str]:
    """The texts of ``LETTERS`` letters of an utterance that begin where a word begins."""
    letters, start = "".join(words), 0
    for word in words:
        if len(letters) - start < LETTERS:
            return
        yield letters[start : start + LETTERS]
        start += len(word)


def _folded(text: str) -> str:
    """A text in lower case and without accents."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return "".join(mark for mark in decomposed if not unicodedata.combining(mark))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_DIGEST_BYTES]
