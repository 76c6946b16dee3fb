"""The leaderboards of a built repository."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from sgdx_dataset.hub.build import build
from sgdx_dataset.release.open import open_release


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(open_release("sample"), tmp_path_factory.mktemp("hub") / "sgdx", repo_id="me/sgdx")


def test_the_leaderboards_are_the_configs_and_what_is_of_all_six(built: Path) -> None:
    benchmark = yaml.safe_load((built / "eval.yaml").read_text())
    assert list(benchmark) == ["name", "description", "tasks"]
    assert benchmark["tasks"][:3] == [
        {"id": "jga_v1-5", "split": "test"},
        {"id": "jga_worst", "split": "test"},
        {"id": "jga_original", "config": "original", "split": "test"},
    ]
    of_variants = [task["id"] for task in benchmark["tasks"][3:]]
    assert of_variants == ["jga_v1", "jga_v2", "jga_v3", "jga_v4", "jga_v5"]
