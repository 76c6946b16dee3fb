"""Overlays by way of another language: what a translator's answers become, and going on."""

from __future__ import annotations

import json
import re
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.release import open_release
from sgdx_dataset.rewording.backtranslate import backtranslate
from sgdx_dataset.rewording.translations import TranslationSettings
from sgdx_dataset.words import apply_words, read_words

from ...conftest import Run
from ..conftest import write
from ..test_prepare import start

Json = Any

# Looks lines up in a JSON file; a line that it lacks comes back as it is. Each call is noted.
TRANSLATOR = """
import json, os, pathlib, sys, time
words = json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))
lines = sys.stdin.buffer.read().decode().splitlines()
with open(sys.argv[1] + ".calls", "a") as calls:
    calls.write(f"{len(lines)}\\n")
time.sleep(float(os.environ.get("SLOWLY", "0")))
sys.stdout.buffer.write("".join(words.get(line, line) + "\\n" for line in lines).encode())
"""
THERE = {
    "city": "城市",
    "area": "区域",
    "intent": "意图",
    "find flat": "找公寓",
    "visit flat": "参观公寓",
    "Flats_1 lets flats": "Flats_1 出租公寓",
    "find": "寻找",
    "visit": "参观",
}
BACK = {
    "城市": "town",
    "区域": "Region.",
    "意图": "intent",
    "找公寓": "look for a flat",
    "参观公寓": "See the  flat",
    "Flats_1 出租公寓": "Flats_1 rents flats out",
    "寻找": "find",
    "参观": "see it",
}
OVERLAY = {
    "Flats_1": {
        "description": {"pivot": "Flats_1 出租公寓", "text": "Flats_1 rents flats out"},
        "slots": {
            "city": {
                "name": {"pivot": "城市", "text": "town"},
                "description": {"pivot": "城市", "text": "town"},
            },
            "area": {
                "name": {"pivot": "区域", "text": "region"},
                "description": {"pivot": "区域", "text": "Region."},
            },
        },
        "intents": {
            "FindFlat": {"name": {"pivot": "找公寓", "text": "LookForAFlat"}},
            "VisitFlat": {
                "name": {"pivot": "参观公寓", "text": "SeeTheFlat"},
                "description": {"pivot": "参观", "text": "see it"},
            },
        },
    }
}


def commands(folder: Path, there: Json = THERE, back: Json = BACK) -> tuple[str, str]:
    """Commands that translate with these dictionaries."""
    script = folder / "translator.py"
    script.write_text(TRANSLATOR)
    write(folder / "there.json", there)
    write(folder / "back.json", back)
    there_command, back_command = (
        shlex.join([sys.executable, str(script), str(folder / name)])
        for name in ("there.json", "back.json")
    )
    return there_command, back_command


def made(mini: Path, folder: Path, **words: Json) -> tuple[Json, str]:
    """The overlay that these dictionaries make of mini's schema, and what is said of it."""
    there, back = commands(folder, **words)
    settings = TranslationSettings(forward_command=there, backward_command=back)
    said = backtranslate(open_release(mini), folder / "zh.json", settings)
    return json.loads((folder / "zh.json").read_bytes()), said


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
    assert json.loads(output.read_bytes()) == OVERLAY
    assert "城市" in output.read_text(encoding="utf-8")
    assert [path.name for path in output.parent.iterdir()] == ["zh.json"]
    assert calls(tmp_path, "there") == calls(tmp_path, "back") == [3, 3, 2]
    (service,) = open_release(mini).schema("train", "backtrans-zh")
    assert [slot.name for slot in service.slots] == ["town", "region", "intent"]
    assert service.intents[0].optional_slots == {"region": "dontcare"}
    again = run(*command)
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert again.stderr.startswith(f"sgdx: error: {output}: ")


def flat(overlay: Json, place: str = "") -> dict[str, str]:
    """The texts of an overlay, by where they stand."""
    if "text" in overlay:
        return {place: overlay["text"]}
    inner = [flat(words, f"{place} {name}".strip()) for name, words in overlay.items()]
    return {where: text for part in inner for where, text in part.items()}


SAME = {pivot: text for text, pivot in THERE.items()}
CITY = {"slots city name": "", "slots city description": ""}
VISIT = {"intents VisitFlat description": ""}
# What the translators say otherwise there and back; what that changes in the overlay; the names and
# the descriptions that change, and how many stay because they came back the same, because the
# translation is unusable, or because the name is another's; and how many texts are translated back.
CASES: dict[str, tuple[Json, Json, dict[str, str], list[int], int]] = {
    "the same": ({}, SAME, dict.fromkeys(flat(OVERLAY["Flats_1"]), ""), [0, 0, 11, 0, 0], 8),
    "no words": ({}, {"城市": " ", "参观": "12 ?!"}, CITY | VISIT, [3, 2, 3, 3, 0], 8),
    "no pivot": ({"city": "", "find": ""}, {}, CITY, [3, 3, 2, 3, 0], 6),
    "one pivot of two": (
        {"area": "城市"},
        {},
        {"slots area name": "", "slots area description": "town"},
        [3, 4, 3, 0, 1],
        7,
    ),
    "one name of two": (
        {},
        {"区域": "town", "找公寓": "visit the flat", "参观公寓": "visit the flat"},
        {
            "slots area name": "",
            "slots area description": "town",
            "intents FindFlat name": "VisitTheFlat",
            "intents VisitFlat name": "",
        },
        [2, 4, 3, 0, 2],
        8,
    ),
    # Neither as a pivot that was not translated, nor where one becomes another's.
    "original descriptions": (
        {"Flats_1 lets flats": "Flats_1 lets flats"},
        {"Flats_1 lets flats": "Flats_1 rents flats out", "参观": "find"},
        {"description": "", **VISIT},
        [4, 2, 3, 2, 0],
        8,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_becomes_of_answers(mini: Path, tmp_path: Path, case: str) -> None:
    there, back, changes, numbers, texts_back = CASES[case]
    overlay, said = made(mini, tmp_path, there=THERE | there, back=BACK | back)
    expected = flat(OVERLAY["Flats_1"]) | changes
    assert flat(overlay.get("Flats_1", {})) == {
        place: text for place, text in expected.items() if text
    }
    assert [int(n) for n in re.findall(r"(\d+) (?:of|that|whose)", said)] == numbers
    assert (calls(tmp_path, "there"), calls(tmp_path, "back")) == ([8], [texts_back])


@pytest.mark.posix
def test_killed_in_the_middle(mini: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that goes on translates only what is missing, to the same overlay."""
    monkeypatch.setenv("SLOWLY", "0.05")
    (there, back), output = commands(tmp_path), tmp_path / "zh.json"
    command = ["reword", "backtranslate", "--source", mini, "--output", output]
    command += ["--forward-command", there, "--backward-command", back, "--batch-size", "1"]
    process, work = start(*command), tmp_path / ".zh.json.partial.jsonl"
    while not work.exists() or work.read_bytes().count(b"\n") < 11:
        assert process.poll() is None, "ended before it could be killed"
        time.sleep(0.001)
    process.kill()
    assert process.wait() == -signal.SIGKILL and not output.exists()
    work.write_bytes(work.read_bytes() + b'["\xe5\x9f')
    assert start(*command).wait() == 0
    assert json.loads(output.read_bytes()) == OVERLAY
    (tmp_path / "whole").mkdir()
    made(mini, tmp_path / "whole")
    assert output.read_bytes() == (tmp_path / "whole" / "zh.json").read_bytes()
    # The batch that the kill broke off may have been translated a second time, the others not.
    assert 16 <= len(calls(tmp_path, "there")) + len(calls(tmp_path, "back")) <= 17
    assert not work.exists()


def test_what_a_command_did_before_it_failed_is_kept(mini: Path, tmp_path: Path) -> None:
    """Under the same settings only; a line that is not whole, or no batch, is made anew or told."""
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
    for size in (len(whole) - 5, len(whole) - 1, whole.index(b"\n") + 1, 20, 0):
        work.write_bytes(whole[:size])
        fails(settings)
        assert work.read_bytes() == whole
    other = TranslationSettings(forward_command=there, backward_command=back, batch_size=4)
    assert fails(other).startswith(f"{work}: was begun with backward_command 'false'")
    header, *batches = whole.split(b"\n")
    for damaged in ([header, b"[1]", *batches], [b"{", *batches], [b"[]", *batches]):
        work.write_bytes(b"\n".join(damaged))
        assert fails(settings).startswith(f"{work}: is damaged")
    work.write_bytes(whole)
    changed = json.loads((mini / "train" / "schema.json").read_bytes())
    changed[0]["description"] = "Homes"
    write(mini / "train" / "schema.json", changed)
    assert fails(settings).startswith(f"{work}: was begun with texts '")


REVERSE = "import sys; [print(*line[1:].split()[::-1]) for line in sys.stdin]"


@pytest.mark.release
def test_the_real_release(release_archive: Path, tmp_path: Path) -> None:
    """There with a mark before each text; back without it and with the words turned round."""
    release, output = open_release(release_archive), tmp_path / "zh.json"
    there, back = "sed s/^/*/", shlex.join([sys.executable, "-c", REVERSE])
    settings = TranslationSettings(forward_command=there, backward_command=back, batch_size=150)
    said = backtranslate(release, output, settings)
    assert said == (
        f"{output}: 449 texts translated; 200 of 268 names and 294 of 294 descriptions changed;"
        " kept: 68 that came back the same, 0 whose translation is unusable, 0 that would have"
        " another's name"
    )
    original = release.schema("train", "original")
    words = read_words(output.read_bytes(), str(output))
    turned = apply_words(words, {"train": original}, "f")["train"]
    for service, other in zip(original, turned):
        assert other.service_name == service.service_name
        assert other.description.split() == service.description.split()[::-1]
        for slot, changed in zip(service.slots, other.slots):
            assert changed.name.split("_") == slot.name.split("_")[::-1]
            assert changed.possible_values == slot.possible_values
