"""The recipes of the package: found by name, read, and commented with what they need and gave."""

from __future__ import annotations

from pathlib import Path

import pytest

from baselines.system import get_trainable
from baselines.training.settings import find_recipe, read_recipe, recipe_tracker
from sgdx_dataset import SgdxError

from ...conftest import ROOT

RECIPES = sorted((ROOT / "baselines").glob("*/config/*.yaml"))


def test_every_tracker_that_learns_has_a_recipe_to_try_it_with() -> None:
    assert {path.parts[-3] for path in RECIPES if path.stem == "smoke"} == {
        "onepass", "sgd_baseline", "sgp_dst", "t2g2", "t5dst",
    }  # fmt: skip


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_a_recipe_of_the_package(path: Path) -> None:
    """It is for the tracker of its folder, no oracle, and says what it takes and gave."""
    assert find_recipe(f"{path.parts[-3]}/{path.stem}") == find_recipe(str(path)) == path
    assert recipe_tracker(path) == path.parts[-3]
    settings = read_recipe(path, get_trainable(path.parts[-3]).SETTINGS)
    assert settings.augment is None or settings.augment.schemas == "backtrans"
    assert settings.augment is None or not path.stem.startswith("paper")
    text = path.read_text().lower()
    assert "hardware: " in text
    assert "result: " in text or "expected: " in text


def test_a_recipe_that_is_not_there() -> None:
    assert find_recipe("onepass/smok") == Path("onepass/smok")
    with pytest.raises(SgdxError, match="^onepass/smok: .* onepass/smoke, "):
        recipe_tracker(Path("onepass/smok"))
