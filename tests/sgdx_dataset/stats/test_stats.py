"""Statistics: Table 1's figures and the dialogue counts on small data, and beside the published."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sgdx_dataset import SgdxError
from sgdx_dataset.release.open import open_release
from sgdx_dataset.release.release import Release
from sgdx_dataset.stats import statistics, stats
from sgdx_dataset.stats.dialogues import dialogue_statistics
from sgdx_dataset.stats.published import FIGURES
from sgdx_dataset.stats.report import print_report
from sgdx_dataset.stats.schemas import (
    Bleu,
    name_distance,
    schema_statistics,
    self_bleu,
    share_seen,
)

from ...conftest import Run
from ..conftest import service, write

Json = Any


def test_name_distance_is_indel_over_both_lengths() -> None:
    assert name_distance(["city"], ["cities"]) == pytest.approx(0.4)  # (1 + 3) / (4 + 6)
    assert name_distance(["ab", "ab"], ["ab", "xy"]) == 0.5


def test_share_seen_counts_occurrences() -> None:
    assert share_seen(["a", "b", "b", "c"], ["b", "d"]) == 50.0
    assert share_seen([], ["b"]) is None


def test_bleu_is_lower_cased_and_of_the_corpus() -> None:
    bleu = Bleu()
    text = "the name of the town"
    assert bleu.corpus([text.upper()], [text]) == pytest.approx(100)
    # 4-grams 1 of 2, trigrams 2 of 3, bigrams 3 of 4, words 4 of 5; of one length
    assert bleu.corpus(["the name of the city"], [text]) == pytest.approx(
        100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    )
    assert "case:lc" in bleu.signature
    assert "tok:13a" in bleu.signature


def test_self_bleu_is_over_ordered_pairs() -> None:
    bleu = Bleu()
    same, other = ["the name of the town"], ["the name of the town to go to"]
    assert self_bleu([same], bleu) is None
    found = self_bleu([same, same, other], bleu)
    assert found is not None
    forth, back = bleu.corpus(same, other), bleu.corpus(other, same)
    assert forth != pytest.approx(back)
    assert found["corpus"] == pytest.approx((2 * 100 + 2 * forth + 2 * back) / 6)


@pytest.fixture
def unseen(mini: Path) -> Release:
    """``mini`` with its test service under another name, so that it is not seen in train."""
    for path in mini.rglob("test/schema.json"):
        path.write_text(path.read_text().replace("Flats_1", "Homes_1"))
    return open_release(mini)


def test_table_1_by_hand(unseen: Release) -> None:
    table = schema_statistics(unseen)
    assert table["elements"] == {"services": 2, "slots": 6, "intents": 4}
    rows = table["variants"]
    assert list(rows) == ["original", "v1", "v2", "v3", "v4", "v5", "average"]
    seen = [round(row["slots_seen"], 1) for row in rows.values()]
    assert seen == [100.0, 33.3, 66.7, 33.3, 0.0, 0.0, 26.7]
    assert [row["intents_seen"] for row in rows.values()] == [100.0, 0, 0, 0, 0, 0, 0]
    # city-p, area-q and intent-r have nothing in common, FindFlat-F and VisitFlat-V one letter
    assert rows["v4"]["name_distance"] == pytest.approx((1 + 1 + 1 + 7 / 9 + 8 / 10) / 5)
    assert "name_distance" not in rows["original"]


@pytest.fixture
def trained(mini: Path, tmp_path: Path) -> Release:
    """``mini`` with two variants of the train schema alone, one of them as an overlay."""
    mine = service("Flats_1", ("p", "purpose", "r2"), ("SearchFlat", "VisitFlat"))
    write(tmp_path / "mine" / "train" / "schema.json", [mine])
    name = {"pivot": "市", "text": "ville"}
    write(tmp_path / "fr.json", {"Flats_1": {"slots": {"city": {"name": name}}}})
    return open_release(mini, {"mine": tmp_path / "mine", "fr": tmp_path / "fr.json"})


def test_own_variants_have_rows_that_are_not_in_the_average(trained: Release, mini: Path) -> None:
    plain, table = schema_statistics(open_release(mini)), schema_statistics(trained)
    rows = table["variants"]
    assert list(rows) == ["original", "v1", "v2", "v3", "v4", "v5", "mine", "fr", "average"]
    assert (rows["v1"], rows["average"]) == (plain["variants"]["v1"], plain["variants"]["average"])
    # Every test service is seen, and the variant is of train alone.
    assert (rows["v1"]["slots_seen"], rows["fr"]["intents_seen"]) == (None, None)
    # city-ville: the one letter they share is i, of 4 + 5; the other four names are the same
    assert rows["fr"]["name_distance"] == pytest.approx((7 / 9) / 5)
    assert rows["fr"]["description_bleu"] == pytest.approx(100)


def test_a_source_without_variants(mini: Path, trained: Release) -> None:
    shutil.rmtree(mini / "sgd_x")
    figures = statistics(open_release(mini, {"fr": mini.parent / "fr.json"}))
    table = figures["schemas"]
    assert list(table["variants"]) == ["original", "fr"]
    assert (table["self_bleu"], table["backtrans"], table["overlaps"]) == (None, {}, {})
    console = Console(file=io.StringIO(), width=100)
    print_report(figures, console)
    assert "lacks" not in console.file.getvalue()  # type: ignore[attr-defined]


def test_back_translations_of_the_sample() -> None:
    table = schema_statistics(open_release("sample"))
    rows = table["backtrans"]
    assert list(rows) == ["backtrans-ja", "backtrans-ko", "backtrans-zh", "average"]
    assert all(0 < row["name_distance"] < 1 for row in rows.values())
    assert set(table["backtrans_self_bleu"]) == {"corpus", "sentence"}
    counts = {
        variant: [tuple(of[part].values()) for part in ("names", "descriptions")]
        for variant, of in table["overlaps"].items()
    }
    assert counts == {
        "backtrans-ja": [(16, 15, 53), (0, 0, 66)],
        "backtrans-ko": [(5, 3, 43), (0, 0, 66)],
        "backtrans-zh": [(12, 11, 51), (0, 0, 64)],
    }


def test_overlaps_are_counted_and_listed(trained: Release) -> None:
    found = schema_statistics(trained)["overlaps"]
    assert list(found) == ["mine", "fr"]
    assert found["fr"] == {
        "names": {"count": 0, "of_same_element": 0, "new": 1},
        "descriptions": {"count": 0, "of_same_element": 0, "new": 0},
        "texts": [],
    }
    assert found["mine"]["names"] == {"count": 3, "of_same_element": 2, "new": 4}
    assert found["mine"]["descriptions"] == {"count": 2, "of_same_element": 1, "new": 3}
    assert [entry["text"] for entry in found["mine"]["texts"]] == [
        *("p", "p"),
        *("purpose", "purpose"),
        "SearchFlat",
    ]
    v1 = {"variant": "v1", "service": "Flats_1", "element": "slot", "name": "intent"}
    assert found["mine"]["texts"][2] == {
        "service": "Flats_1",
        "element": "slot",
        "name": "area",
        "part": "name",
        "text": "purpose",
        "same_element": False,
        "equals": [{**v1, "part": "name"}],
    }


def test_counts_by_hand(mini: Path) -> None:
    """Tokens are 11, 9 and 2 a dialogue. NONE is no intent, and rent no span."""
    counts = dialogue_statistics(open_release(mini))["counts"]["train"]
    assert counts.keys() == {"single", "combined"}
    numbers = {"dialogues": 2, "turns": 6, "user_turns": 4, "user_frames": 4, "tokens": 44}
    means = {"turns_per_dialogue": 3.0, "tokens_per_turn": 44 / 6}
    slots = {"slots": 3, "informable_slots": 3, "slot_values": 2, "informable_slot_values": 3}
    services = {"domains": 1, "services": 1, "seen_services": 1, "unseen_services": 0, "intents": 1}
    expected = {**numbers, **means, "unique_tokens": 18, **slots, **services}
    assert counts["combined"] == counts["single"] == expected
    # Slots that only a request or a span has are not informable.
    path = mini / "train" / "dialogues_001.json"
    dialogues = json.loads(path.read_bytes())
    for turn in (turn for dialogue in dialogues for turn in dialogue["turns"][::2]):
        turn["frames"][0]["state"]["slot_values"] = {"intent": ["rent"]}
    write(path, dialogues)
    combined = dialogue_statistics(open_release(mini))["counts"]["train"]["combined"]
    assert (combined["slots"], combined["informable_slots"]) == (3, 1)


@pytest.mark.parametrize(
    ("split", "figures"),
    [
        ("train", (66, 52, 14, 482, 492, 0)),
        ("validation", (19, 15, 4, 133, 137, 2)),
        ("test", (36, 26, 10, 265, 273, 4)),
    ],
)
def test_the_sample_has_what_its_readme_says(split: str, figures: tuple[int, ...]) -> None:
    counts = dialogue_statistics(open_release("sample"))["counts"][split]
    combined = counts["combined"]
    found = [counts[kind]["dialogues"] for kind in ("combined", "single", "multi")]
    found += [combined[name] for name in ("user_turns", "user_frames", "unseen_services")]
    assert tuple(found) == figures


def test_published_figures_agree_with_each_other() -> None:
    """A slip in copying them would show."""
    for kinds in FIGURES["dialogues"]["counts"].values():
        for name in ("dialogues", "turns", "tokens"):
            assert kinds["single"][name] + kinds["multi"][name] == kinds["combined"][name]
        for counts in kinds.values():
            turns = counts["turns"]
            assert counts["turns_per_dialogue"] == round(turns / counts["dialogues"], 3)
            assert counts["tokens_per_turn"] == round(counts["tokens"] / turns, 3)


def test_the_command(run: Run, mini: Path, tmp_path: Path) -> None:
    done = run("sgdx_dataset", "stats", "--source", mini, "--json", "s.json")
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "s.json").read_text())
    assert (figures["sgd"], figures["published"], figures["missing"]) == (False, None, "")
    assert figures["dialogues"]["counts"]["test"]["combined"]["turns"] == 6
    assert "Dialogues of train" in done.stdout
    assert "(" not in done.stdout.split("Dialogues of train")[1]  # no published figures


def test_without_the_extra(mini: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "sacrebleu"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sacrebleu", None)  # as if it were not installed
    with pytest.raises(SgdxError, match=r"sacrebleu.*\[report\]"):
        stats(open_release(mini))


@pytest.mark.release
def test_the_released_schemas(release_archive: Path) -> None:
    table = schema_statistics(open_release(release_archive))
    assert table["elements"] == FIGURES["schemas"]["elements"]
    rows = [table["variants"][variant] for variant in ("v1", "v2", "v3", "v4", "v5")]
    assert [round(row["name_distance"], 3) for row in rows] == [0.295, 0.421, 0.489, 0.557, 0.605]
    assert [row["description_bleu"] for row in rows] == pytest.approx(
        [18.26, 11.18, 5.13, 2.75, 1.19], abs=0.01
    )
    rows = [table["variants"]["original"], *rows]
    slots = [round(row["slots_seen"], 1) for row in rows]
    assert slots == [64.7, 10.3, 16.4, 6.9, 4.3, 1.7]
    assert [round(row["intents_seen"], 1) for row in rows] == [71.4, 0, 0, 0, 3.6, 3.6]
    assert table["self_bleu"] == pytest.approx({"corpus": 4.31, "sentence": 10.27}, abs=0.01)


@pytest.mark.release
@pytest.mark.slow
def test_the_released_dialogues(release_archive: Path) -> None:
    """Where all dialogues are here, every published count comes out; elsewhere none is exceeded."""
    figures = statistics(open_release(release_archive))
    assert figures["sgd"]
    assert figures["published"] == FIGURES
    whole = set()
    for split, kinds in FIGURES["dialogues"]["counts"].items():
        for kind, published in kinds.items():
            found = figures["dialogues"]["counts"][split][kind]
            if found["dialogues"] == published["dialogues"]:
                whole.add((split, kind))
                rounded = {name: round(found[name], 3) for name in published}
                assert rounded == published, (split, kind)
            else:
                counts = [name for name in published if "_per_" not in name]
                assert all(found[name] <= published[name] for name in counts), (split, kind)
                assert split in figures["missing"]
    assert whole >= {("validation", "single"), ("test", "single")}
