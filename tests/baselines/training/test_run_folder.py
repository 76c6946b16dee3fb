"""Run folders and recipes: what may go on, what is found by name."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest

from baselines.recipes import find_recipe, read_recipe
from baselines.run_folder import check_output, public_settings
from baselines.settings import Also, Augment
from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import write_json

from ...conftest import ROOT

RECORD: dict[str, Any] = {
    "settings": {
        "tracker": "t5dst", "model": "tiny", "steps": 8, "seed": 1, "augment": {"ratio": 0.5},
    },
    "seen": {"train": ["original"], "augment": None, "overlaps": 0},
    "data": {"release": "sample", "train": {"frames": 2}, "dev": {"frames": 1}},
    "processes": 1,
}  # fmt: skip


def begun(folder: Path, record: dict[str, Any] = RECORD) -> Path:
    """The folder of a run that was broken off."""
    write_json(folder / "run.json", {"record": record, "oracle": False, "versions": {}})
    return folder


def changed(path: tuple[str, ...], value: object) -> dict[str, Any]:
    record = copy.deepcopy(RECORD)
    inner = record
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return record


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("settings", "seed"), 2),
        (("settings", "augment", "ratio"), 0.25),
        (("settings", "steps"), 4),  # of 8: a run is not made shorter
        (("data", "release"), "unverified:0123456789abcdef"),
        (("processes",), 2),
        (("settings", "ema"), 0.9),
    ],
)
def test_another_run_does_not_go_on(tmp_path: Path, path: tuple[str, ...], value: object) -> None:
    assert check_output(begun(tmp_path), RECORD, resume=True) == []
    with pytest.raises(SgdxError, match=rf"run.json: {'.'.join(path)} is "):
        check_output(tmp_path, changed(path, value), resume=True)


def test_a_run_that_is_made_longer_keeps_its_steps_from_before(tmp_path: Path) -> None:
    longer = changed(("settings", "steps"), 20)
    longer["settings"]["expected"] = "more"
    assert check_output(begun(tmp_path), longer, resume=True) == [8]
    before = changed(("settings", "steps"), 12) | {"extended": [8]}
    assert check_output(begun(tmp_path, before), longer, resume=True) == [8, 12]


RECIPES = sorted((ROOT / "baselines").glob("*/config/*.yaml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_a_recipe_of_the_package(path: Path) -> None:
    """It is for the tracker of its folder, no oracle, and says what it takes and gave."""
    assert find_recipe(f"{path.parts[-3]}/{path.stem}") == find_recipe(str(path)) == path
    assert path.with_stem("smoke").exists()  # to try the tracker with
    settings = read_recipe(path)
    assert settings.tracker == path.parts[-3]
    assert settings.augment is None or settings.augment.schemas == "backtrans"
    assert settings.augment is None or not path.stem.startswith("paper")
    text = path.read_text().lower()
    assert "hardware: " in text
    assert "result: " in text or "expected: " in text


def test_no_folder_of_ones_own_is_in_what_is_published(tmp_path: Path) -> None:
    private = tmp_path / "private"
    for name in ("corpus", "words", "start", "other"):
        (private / name).mkdir(parents=True)
    settings = msgspec.structs.replace(
        read_recipe(find_recipe("onepass/smoke")),
        model=str(private / "start"),
        average=(str(private / "other"), "YOU/on-the-hub"),
        augment=Augment(str(private / "words")),
        also=Also(str(private / "corpus"), 0.5),
    )
    public = public_settings(settings)
    assert "private" not in msgspec.json.encode(public).decode()
    assert (public.model, public.average) == ("start", ("other", "YOU/on-the-hub"))
    assert public.also == Also("corpus", 0.5) and public.augment == Augment("words")
    packaged = msgspec.structs.replace(settings, model="tiny", average=(), also=Also("many", 0.5))
    assert public_settings(packaged).also == Also("many", 0.5)
