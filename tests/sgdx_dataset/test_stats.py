"""Statistics: Table 1 of the paper and the counts of dialogues, computed by hand."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sgdx_dataset.release import open_release
from sgdx_dataset.stats import PUBLISHED, print_tables, statistics

from ..conftest import Run
from .conftest import service, write

Json = Any


def schema_statistics(source: Path, variants: dict[str, Path] | None = None) -> Json:
    return statistics(open_release(source, variants))["schemas"]


def test_table_1_by_hand(mini: Path) -> None:
    """The test service has another name, so that it is not seen in train."""
    for path in mini.rglob("test/schema.json"):
        path.write_text(path.read_text().replace("Flats_1", "Homes_1"))
    table = schema_statistics(mini)
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
    plain = schema_statistics(mini)
    table = schema_statistics(mini, {"mine": tmp_path / "mine", "fr": tmp_path / "fr.json"})
    rows = table["variants"]
    assert list(rows) == ["original", "v1", "v2", "v3", "v4", "v5", "mine", "fr", "average"]
    assert (rows["v1"], rows["average"]) == (plain["variants"]["v1"], plain["variants"]["average"])
    # Every test service is seen, and the variant is of train alone.
    assert (rows["v1"]["slots_seen"], rows["fr"]["intents_seen"]) == (None, None)
    # city-ville: the one letter they share is i, of 4 + 5; the other four names are the same
    assert rows["fr"]["name_distance"] == pytest.approx((7 / 9) / 5)
    assert rows["fr"]["description_bleu"] == pytest.approx(100)
    assert table["overlaps"]["fr"]["names"] == {"count": 0, "new": 1}
    assert table["overlaps"]["mine"]["names"] == {"count": 3, "new": 4}
    shutil.rmtree(mini / "sgd_x")
    figures = statistics(open_release(mini, {"fr": tmp_path / "fr.json"}))
    alone = figures["schemas"]
    assert list(alone["variants"]) == ["original", "fr"]
    assert (alone["self_bleu"], alone["backtrans"], alone["overlaps"]) == (None, {}, {})
    text = io.StringIO()
    print_tables(figures, Console(file=text, width=100))
    assert "self-BLEU" not in text.getvalue() and "published" not in text.getvalue()


def test_the_command(run: Run, mini: Path, tmp_path: Path) -> None:
    done = run("sgdx_dataset", "stats", "--source", mini, "--json", "s.json")
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "s.json").read_text())
    assert (figures["sgd"], figures["missing"]) == (False, "")
    assert "distance" in done.stdout and "1 services, 3 slots, 2 intents" in done.stdout
    assert "In brackets" not in done.stdout  # no published figures
    self_bleu = schema_statistics(Path("sample"))["self_bleu"]  # over ordered pairs; recorded
    assert self_bleu == pytest.approx({"corpus": 0.4567}, abs=1e-4)


@pytest.mark.release
def test_the_released_schemas(release_archive: Path) -> None:
    """Beside what is published of them, which is rounded, and of other definitions."""
    table = schema_statistics(release_archive)
    assert table["elements"] == {"services": 45, "slots": 365, "intents": 88}
    rows = [table["variants"][variant] for variant in ("original", "v1", "v2", "v3", "v4", "v5")]
    distances = [row["name_distance"] for row in rows[1:]]
    assert [round(each, 3) for each in distances] == [0.295, 0.421, 0.489, 0.557, 0.605]
    assert distances == pytest.approx(PUBLISHED["name_distance"][1:6], abs=0.006)
    bleu = [row["description_bleu"] for row in rows[1:]]
    assert bleu == pytest.approx([18.26, 11.18, 5.13, 2.75, 1.19], abs=0.01)
    slots = [round(row["slots_seen"], 1) for row in rows]
    assert slots == [64.7, 10.3, 16.4, 6.9, 4.3, 1.7]
    assert [round(row["intents_seen"], 1) for row in rows] == [71.4, 0, 0, 0, 3.6, 3.6]
    assert table["self_bleu"] == pytest.approx({"corpus": 4.31}, abs=0.01)
