"""Overlays by way of another language: what a translator's answers become, and going on."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdx_dataset import SgdxError
from sgdx_dataset.release import open_release
from sgdx_dataset.rewording.backtranslate import backtranslate
from sgdx_dataset.rewording.phrases import distinct, identifier, phrase
from sgdx_dataset.rewording.translations import TranslationSettings

from ...conftest import Run
from ..conftest import write

Json = Any

# Looks lines up in a JSON file; a line that it lacks comes back as it is. Each call is noted.
TRANSLATOR = """
import json, pathlib, sys
words = json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))
lines = sys.stdin.buffer.read().decode().splitlines()
with open(sys.argv[1] + ".calls", "a") as calls:
    calls.write(f"{len(lines)}\\n")
sys.stdout.buffer.write("".join(words.get(line, line) + "\\n" for line in lines).encode())
"""
# Each text, its translation, and what that is translated back to.
WORDS = [
    ("city", "城市", "town"),
    ("area", "区域", "Region."),
    ("intent", "意图", "intent"),
    ("find flat", "找公寓", "look for a flat"),
    ("visit flat", "参观公寓", "See the  flat"),
    ("Flats_1 lets flats", "Flats_1 出租公寓", "Flats_1 rents flats out"),
    ("find", "寻找", "find"),
    ("visit", "参观", "see it"),
]
THERE, BACK = {text: pivot for text, pivot, _ in WORDS}, {pivot: text for _, pivot, text in WORDS}
TEXTS = {  # by place in the overlay
    "description": "Flats_1 rents flats out",
    "slots city name": "town",
    "slots city description": "town",
    "slots area name": "region",
    "slots area description": "Region.",
    "intents FindFlat name": "LookForAFlat",
    "intents VisitFlat name": "SeeTheFlat",
    "intents VisitFlat description": "see it",
}


def flat(overlay: Json, place: str = "") -> dict[str, str]:
    """The texts of an overlay, by where they stand."""
    if "text" in overlay:
        assert overlay["pivot"] in THERE.values()
        return {place: overlay["text"]}
    inner = [flat(words, f"{place} {name}".strip()) for name, words in overlay.items()]
    return {where: text for part in inner for where, text in part.items()}


def commands(folder: Path, there: Json = THERE, back: Json = BACK) -> list[str]:
    """Commands that translate with these dictionaries."""
    script = folder / "translator.py"
    script.write_text(TRANSLATOR)
    for name, words in (("there", there), ("back", back)):
        write(folder / f"{name}.json", words)
    files = (str(folder / name) for name in ("there.json", "back.json"))
    return [shlex.join([sys.executable, str(script), file]) for file in files]


def calls(folder: Path, way: str) -> list[int]:
    return [int(line) for line in (folder / f"{way}.json.calls").read_text().split()]


def test_the_command(run: Run, mini: Path, tmp_path: Path) -> None:
    there, back = commands(tmp_path)
    output = mini / "backtrans" / "zh.json"
    command = ["sgdx_cli", "reword", "backtranslate", "--source", mini, "--output", output]
    command += ["--forward-command", there, "--backward-command", back, "--batch-size", "3"]
    done = run(*command)
    assert (done.returncode, done.stdout) == (
        0,
        f"{output}: 8 texts translated; 4 of 5 names and 4 of 6 descriptions changed; kept: 3 that"
        " came back the same, 0 whose translation is unusable, 0 that would have another's name\n",
    ), done.stderr
    (overlay,) = json.loads(output.read_bytes()).values()
    assert flat(overlay) == TEXTS
    assert [path.name for path in output.parent.iterdir()] == ["zh.json"]
    assert calls(tmp_path, "there") == calls(tmp_path, "back") == [3, 3, 2]
    (service,) = open_release(mini).schema("train", "backtrans-zh")
    assert [slot.name for slot in service.slots] == ["town", "region", "intent"]
    assert service.intents[0].optional_slots == {"region": "dontcare"}


CITY = {"slots city name": "", "slots city description": ""}
VISIT = {"intents VisitFlat description": ""}
AREA = {"slots area name": "", "slots area description": "town"}
# What the translators say otherwise there and back; what that changes in the overlay; the names and
# the descriptions that change, and how many stay because they came back the same, because the
# translation is unusable, or because the name is another's; and how many texts are translated back.
CASES: dict[str, tuple[Json, Json, dict[str, str], list[int], int]] = {
    "the same": (
        *({}, {pivot: text for text, pivot in THERE.items()}, dict.fromkeys(TEXTS, "")),
        *([0, 0, 11, 0, 0], 8),
    ),
    "no words": ({}, {"城市": " ", "参观": "12 ?!"}, CITY | VISIT, [3, 2, 3, 3, 0], 8),
    "no pivot": ({"city": "", "find": ""}, {}, CITY, [3, 3, 2, 3, 0], 6),
    "one pivot of two": ({"area": "城市"}, {}, AREA, [3, 4, 3, 0, 1], 7),
    "one name of two": (
        {},
        {"区域": "town", "找公寓": "visit the flat", "参观公寓": "visit the flat"},
        AREA | {"intents FindFlat name": "VisitTheFlat", "intents VisitFlat name": ""},
        *([2, 4, 3, 0, 2], 8),
    ),
    # Neither as a pivot that was not translated, nor where one becomes another's.
    "original descriptions": (
        {"Flats_1 lets flats": "Flats_1 lets flats"},
        {"Flats_1 lets flats": "Flats_1 rents flats out", "参观": "find"},
        {"description": "", **VISIT},
        *([4, 2, 3, 2, 0], 8),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_becomes_of_answers(mini: Path, tmp_path: Path, case: str) -> None:
    there, back, changes, numbers, texts_back = CASES[case]
    forward, backward = commands(tmp_path, THERE | there, BACK | back)
    settings = TranslationSettings(forward_command=forward, backward_command=backward)
    said = backtranslate(open_release(mini), tmp_path / "zh.json", settings)
    overlay = flat(json.loads((tmp_path / "zh.json").read_bytes()).get("Flats_1", {}))
    assert overlay == {place: text for place, text in (TEXTS | changes).items() if text}
    assert [int(n) for n in re.findall(r"(\d+) (?:of|that|whose)", said)] == numbers
    assert (calls(tmp_path, "there"), calls(tmp_path, "back")) == ([8], [texts_back])


def test_what_a_command_did_before_it_failed_is_kept(mini: Path, tmp_path: Path) -> None:
    """Under the same settings only; where a kill left half a line, its batch is made anew."""
    there, back = commands(tmp_path)
    settings = TranslationSettings(forward_command=there, backward_command="false", batch_size=4)
    output, work = tmp_path / "zh.json", tmp_path / ".zh.json.partial.jsonl"

    def fails(settings: TranslationSettings) -> str:
        with pytest.raises(SgdxError) as error:
            backtranslate(open_release(mini), output, settings)
        assert not output.exists()
        return str(error.value)

    assert fails(settings).startswith("command 'false': exit status 1")
    whole = work.read_bytes()
    assert whole.count(b"\n") == 3
    for size in (len(whole) - 5, whole.index(b"\n") + 1, 20):
        work.write_bytes(whole[:size])
        fails(settings)
        assert work.read_bytes() == whole
    other = TranslationSettings(forward_command=there, backward_command=back, batch_size=4)
    assert fails(other).startswith(f"{work}: was begun with backward_command 'false'")
    work.write_bytes(whole.replace(b"\n", b"\n[1]\n", 1))
    assert fails(settings).startswith(f"{work}: is damaged")


# ---- names as phrases and phrases as names

NAMES = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6, unique=True)


@given(originals=NAMES, data=st.data())
def test_names_are_distinct_and_no_more_dropped_than_needed(
    originals: list[str], data: st.DataObject
) -> None:
    choice = st.sampled_from(["", *"abcdefgh"])
    new = data.draw(st.lists(choice, min_size=len(originals), max_size=len(originals)))
    kept = distinct(originals, new)
    names = [name or original for original, name in zip(originals, kept)]
    assert len(set(names)) == len(names)
    assert all(name in ("", was) for name, was in zip(kept, new))
    if len({name or original for original, name in zip(originals, new)}) == len(new):
        assert kept == new


@pytest.mark.parametrize(
    ("text", "like", "name"),
    [
        ("check-in date", "check_in_date", "check_in_date"),
        ("The user's Name.", "name", "the_users_name"),
        ("the user’s name", "Name", "TheUsersName"),
        ("café à la carte", "menu", "cafe_a_la_carte"),
        ("2 stars", "stars", ""),
        ("...", "stars", ""),
        ("城市 name", "name", ""),
    ],
)
def test_identifier(text: str, like: str, name: str) -> None:
    assert identifier(text, like) == name


@given(name=st.from_regex("[a-z]{1,5}(_[a-z]{1,5}){0,3}", fullmatch=True))
def test_a_name_survives_its_phrase(name: str) -> None:
    assert identifier(phrase(name), name) == name
    names = {"FindTVShow": "find tv show", "GetRide2Go": "get ride2 go", "_odd__name_": "odd name"}
    assert {each: phrase(each) for each in names} == names
