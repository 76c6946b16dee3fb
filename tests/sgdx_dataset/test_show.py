"""A dialogue under several variants side by side: what the terminal and the web page show."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from sgdx_dataset import VARIANTS, load

from ..conftest import Run
from .conftest import DIALOGUE, write

SHOWN = """\
Dialogue 1_00000 (test)

USER  I want to rent a flat in Ulm, in the Weststadt
          original  v1          v5        value
service   Flats_1   Flats_11    Flats_15
intent    FindFlat  SearchFlat  intent
slot      area      city        y         Weststadt
slot      city      town        x         Ulm
slot      intent    purpose     count     rent
asks for  area      city        y

SYSTEM  I found 1. Do you want to visit it?

USER  1 < 2 & <b>
          original  v1          v5        value
service   Flats_1   Flats_11    Flats_15
intent    NONE      NONE        NONE
slot      area      city        y         Weststadt
slot      city      town        x         Ulm
slot      intent    purpose     count     rent
"""


def test_names_side_by_side(run: Run, mini: Path, tmp_path: Path) -> None:
    changed = json.loads(json.dumps(DIALOGUE))
    changed["turns"][2]["utterance"] = "1 < 2 & <b>"
    write(mini / "test" / "dialogues_001.json", [changed])
    command = ["show", "--source", mini]
    three = ["1_00000", "--config", "original", "v1", "v5", "--html", "a.html"]
    done = run("sgdx_dataset", *command, *three, COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert [line.rstrip() for line in done.stdout.splitlines()] == SHOWN.splitlines()
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "src=" not in page and "href=" not in page  # nothing is fetched
    assert html.unescape(re.sub("<[^>]*>", "", page)).split() == SHOWN.split()
    two = run("sgdx_dataset", *command, "1_00000", "--config", "original", "v5")
    assert run("sgdx_dataset", *command).stdout == two.stdout  # by default


def test_eighty_columns_hold_every_variant(run: Run) -> None:
    done = run("sgdx_dataset", "show", "1_00000", "--split", "dev", "--all", COLUMNS="80")
    assert done.stdout.startswith("Dialogue 1_00000 (validation)"), done.stderr
    tables = [line for line in done.stdout.splitlines() if not line.startswith(("USER", "SYSTEM"))]
    assert max(map(len, tables)) <= 80
    heads = [tuple(line.split()) for line in tables if line.rstrip().endswith(" value")]
    assert {name for head in heads for name in head} == {"original", *VARIANTS, "value"}
    assert len(heads) % len(set(heads)) == 0  # every turn has the same tables
    words = set(done.stdout.split())
    dialogue = next(d for d in load("v5", "dev") if d["dialogue_id"] == "1_00000")
    states = [f["state"] for turn in dialogue["turns"] for f in turn["frames"] if f["state"]]
    names = {pair["slot"] for state in states for pair in state["slot_values"]}
    assert names and names <= words  # none is cut


def test_a_variant_of_ones_own_shows_a_dialogue_that_it_rewords(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "mine.json", {"Vets_1": {"slots": {"city": "place_of_the_vet"}}})
    done = run("sgdx_dataset", "show", "--source", "sample", "--variant", "mine=mine.json")
    assert done.returncode == 0, done.stderr
    assert "Vets_1" in done.stdout and "place_of_the_vet" in done.stdout
    write(tmp_path / "same.json", {})
    done = run("sgdx_dataset", "show", "--source", "sample", "--variant", "same=same.json")
    assert done.stdout.startswith("Dialogue 1_00000 (test)"), done.stderr
