"""The commands: what they write and show, one line per fault, exit status 2."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import VARIANTS, SgdxError, load
from sgdx_dataset.__main__ import main
from sgdx_dataset.release import open_release
from sgdx_dataset.stats import PUBLISHED, statistics
from sgdx_dataset.subset import choose_dialogues, read_dialogue_ids, subset

from ..conftest import Run
from .conftest import DIALOGUE, service, write

Json = Any
# Commands that write, without the place that they write to.
WRITING = {
    "build": "push YOU/sgdx --output",
    "export": "export --variant v1 --output",
    "show": "show 1_00000 --variant v1 --html",
    "corrupt": "reword corrupt --variants 1 --output",
}


@pytest.mark.parametrize("command", WRITING)
def test_a_place_that_cannot_be_written_and_a_source_that_has_nothing(
    run: Run, mini: Path, tmp_path: Path, command: str
) -> None:
    (tmp_path / "file").write_text("")
    words = ["sgdx_dataset", *WRITING[command].split()]
    for place in ("file/x", "x" * 300):
        done = run(*words, tmp_path / place, "--source", mini)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert done.stderr.startswith("sgdx: error: ") and place[:4] in done.stderr
    if words[1] != "reword":  # which reads no dialogue
        for path in mini.glob("*/dialogues_001.json"):
            path.unlink()
        done = run(*words, tmp_path / "out", "--source", mini)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"sgdx: error: {mini}: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "mini"]


def test_no_command_writes_over_what_it_reads(run: Run, mini: Path) -> None:
    file, link = mini / "test" / "dialogues_001.json", mini.parent / "out.json"
    link.symlink_to(file)
    before = file.read_bytes()
    for words, output in (("show 1_00001 --html", file), ("stats --json", link)):
        done = run("sgdx_dataset", *words.split(), output, "--source", mini)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert file.read_bytes() == before


def test_nothing_of_the_data_moves_the_cursor(run: Run, mini: Path) -> None:
    path = mini / "test" / "dialogues_001.json"
    path.write_text(path.read_text().replace("No, thanks.", "\\u001b[2J[red]No\\u0007"))
    done = run("sgdx_dataset", "show", "1_00000", "--variant", "v1", "--source", mini)
    assert done.returncode == 0
    assert "USER  \\x1b[2J[red]No\\x07\n" in done.stdout
    path.write_text(path.read_text().replace('"FindFlat"', '"\\u001b[2J"', 1))
    done = run("sgdx_dataset", *WRITING["export"].split(), "x", "--source", mini)
    assert (done.returncode, "\x1b" in done.stderr) == (2, False)


# ---- show: a dialogue under several variants side by side

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
    three = ["1_00000", "--variant", "original", "v1", "v5", "--html", "a.html"]
    done = run("sgdx_dataset", *command, *three, COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert [line.rstrip() for line in done.stdout.splitlines()] == SHOWN.splitlines()
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "src=" not in page and "href=" not in page  # nothing is fetched
    assert html.unescape(re.sub("<[^>]*>", "", page)).split() == SHOWN.split()
    two = run("sgdx_dataset", *command, "1_00000", "--variant", "original", "v5")
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


# ---- stats: Table 1 of the paper, computed by hand


def test_table_1_by_hand(mini: Path) -> None:
    """The test service has another name, so that it is not seen in train."""
    for path in mini.rglob("test/schema.json"):
        path.write_text(path.read_text().replace("Flats_1", "Homes_1"))
    table = statistics(open_release(mini))
    assert table["elements"] == {"services": 2, "slots": 6, "intents": 4}
    rows = table["variants"]
    assert list(rows) == ["original", "v1", "v2", "v3", "v4", "v5", "average"]
    seen = [round(row["slots_seen"], 1) for row in rows.values()]
    assert seen == [100.0, 33.3, 66.7, 33.3, 0.0, 0.0, 26.7]
    assert [row["intents_seen"] for row in rows.values()] == [100.0, 0, 0, 0, 0, 0, 0]
    # city-p, area-q and intent-r have nothing in common, FindFlat-F and VisitFlat-V one letter
    assert rows["v4"]["name_distance"] == pytest.approx((1 + 1 + 1 + 7 / 9 + 8 / 10) / 5)
    assert "name_distance" not in rows["original"]


def test_own_variants_have_rows_that_are_not_in_the_average(mini: Path, tmp_path: Path) -> None:
    mine = service("Flats_1", ("p", "purpose", "r2"), ("SearchFlat", "VisitFlat"))
    write(tmp_path / "mine" / "train" / "schema.json", [mine])
    name = {"pivot": "市", "text": "ville"}
    write(tmp_path / "fr.json", {"Flats_1": {"slots": {"city": {"name": name}}}})
    own = {"mine": tmp_path / "mine", "fr": tmp_path / "fr.json"}
    plain, rows = (statistics(open_release(mini, of))["variants"] for of in (None, own))
    assert list(rows) == ["original", "v1", "v2", "v3", "v4", "v5", "mine", "fr", "average"]
    assert (rows["v1"], rows["average"]) == (plain["v1"], plain["average"])
    # Every test service is seen, and the variant is of train alone.
    assert (rows["v1"]["slots_seen"], rows["fr"]["intents_seen"]) == (None, None)
    # city-ville: the one letter they share is i, of 4 + 5; the other four names are the same
    assert rows["fr"]["name_distance"] == pytest.approx((7 / 9) / 5)
    assert rows["fr"]["description_bleu"] == pytest.approx(100)
    assert (rows["fr"]["names"], rows["fr"]["new_names"]) == (0, 1)
    assert (rows["mine"]["names"], rows["mine"]["new_names"]) == (3, 4)
    shutil.rmtree(mini / "sgd_x")
    alone = statistics(open_release(mini, {"fr": tmp_path / "fr.json"}))["variants"]
    assert list(alone) == ["original", "fr"] and "names" not in alone["fr"]


def test_the_command(run: Run, mini: Path, tmp_path: Path) -> None:
    done = run("sgdx_dataset", "stats", "--source", mini, "--json", "s.json")
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "s.json").read_text())
    assert (figures["sgd"], figures["missing"]) == (False, "")
    assert "distance" in done.stdout and "1 services, 3 slots, 2 intents" in done.stdout
    assert "In brackets" not in done.stdout  # no published figures
    rows = statistics(open_release("sample"))["variants"]
    assert rows["average"]["self_bleu"] == pytest.approx(0.4567, abs=1e-4)  # of ordered pairs


@pytest.mark.release
def test_the_released_schemas(release_archive: Path) -> None:
    """Beside what is published of them, which is rounded, and of other definitions."""
    table = statistics(open_release(release_archive))
    assert table["elements"] == {"services": 45, "slots": 365, "intents": 88}
    rows = [table["variants"][variant] for variant in ("original", "v1", "v2", "v3", "v4", "v5")]
    distances = [row["name_distance"] for row in rows[1:]]
    assert [round(each, 3) for each in distances] == [0.295, 0.421, 0.489, 0.557, 0.605]
    published = [PUBLISHED[f"v{number}"]["name_distance"] for number in range(1, 6)]
    assert distances == pytest.approx(published, abs=0.006)
    bleu = [row["description_bleu"] for row in rows[1:]]
    assert bleu == pytest.approx([18.26, 11.18, 5.13, 2.75, 1.19], abs=0.01)
    slots = [round(row["slots_seen"], 1) for row in rows]
    assert slots == [64.7, 10.3, 16.4, 6.9, 4.3, 1.7]
    assert [round(row["intents_seen"], 1) for row in rows] == [71.4, 0, 0, 0, 3.6, 3.6]
    assert table["variants"]["average"]["self_bleu"] == pytest.approx(4.31, abs=0.01)


# ---- subset: dialogues that stand for a split

# Three sets of services in the proportions 6 : 3 : 1; the order of the names does not matter.
SERVICES = {
    **{f"a{i}": ["Weather_1"] for i in range(60)},
    **{f"b{i}": ["Banks_1", "Alarm_1"] if i % 2 else ["Alarm_1", "Banks_1"] for i in range(30)},
    **{f"c{i}": ["Hotels_4"] for i in range(10)},
}


def test_every_set_of_services_has_its_share_and_choices_of_one_seed_begin_alike() -> None:
    for count, seed in ((10, 0), (20, 1), (50, 2), (20, 3)):
        found = Counter(one[0] for one in choose_dialogues(SERVICES, count, seed))
        shares = {"a": 0.6 * count, "b": 0.3 * count, "c": 0.1 * count}
        assert all(abs(found[stratum] - share) <= 1 for stratum, share in shares.items())
    larger = choose_dialogues(SERVICES, 40, seed=3)
    assert choose_dialogues(dict(reversed(SERVICES.items())), 15, seed=3) == larger[:15]
    assert choose_dialogues({d: sorted(of) for d, of in SERVICES.items()}, 40, seed=3) == larger
    assert set(choose_dialogues(SERVICES, 40, seed=4)) != set(larger)
    # Ranks from hashes that were computed apart from the code: y 0.29, z 0.47, x 0.79.
    assert choose_dialogues({"x": ["S"], "y": ["S"], "z": ["T"]}, 3, seed=1) == ("y", "z", "x")


def test_command_writes_a_file_that_is_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "new" / "subset.json", tmp_path / "out"
    assert main(f"subset --source sample --split dev --count 6 --output {file}".split()) == 0
    assert capsys.readouterr().out == f"6 of 19 dialogues in validation: {file}\n"
    written = json.loads(file.read_text())
    ids = subset(open_release("sample"), "validation", 19, seed=1).ids
    assert len(set(ids)) == 19
    expected = {"split": "validation", "seed": 1, "count": 6, "of": 19, "ids": list(ids[:6])}
    assert written == expected
    assert read_dialogue_ids(file) == read_dialogue_ids(file, "dev") == written["ids"]
    with pytest.raises(SgdxError):  # dialogues of two splits may have one id
        read_dialogue_ids(file, "test")
    export = f"export --source sample --variant v2 --split dev --dialogues {file} --output {out}"
    assert main(export.split()) == 0
    files = (out / "dev").glob("dialogues_*.json")
    exported = [row["dialogue_id"] for path in files for row in json.loads(path.read_text())]
    assert sorted(exported) == sorted(written["ids"])


def test_ids_are_lines_or_a_list_and_a_file_without_is_refused(tmp_path: Path) -> None:
    for text, ids in (
        ("1_00000\n2_00001\n1_00000\n", ["1_00000", "2_00001"]),
        (' ["2_00001", "1_00000"]', ["2_00001", "1_00000"]),
    ):
        (tmp_path / "ids").write_text(text)
        assert read_dialogue_ids(tmp_path / "ids") == ids
    lists = (b"", b"[]", b'["1_00000", ""]', b"[1]", b"[" * 100_000)
    for content in (*lists, b"\xff1_00000", b'{"ids": ["1_00000"]}', b" \n"):
        (tmp_path / "ids").write_bytes(content)
        with pytest.raises(SgdxError, match=f"^{tmp_path}/ids: "):
            read_dialogue_ids(tmp_path / "ids")
