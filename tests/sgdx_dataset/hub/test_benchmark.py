"""The leaderboards of a built repository, and its description in Croissant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sgdx_dataset import CONFIGS
from sgdx_dataset.hub.build import build
from sgdx_dataset.release.open import open_release
from sgdx_dataset.rows.features import DIALOGUE_ROW


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


def test_croissant_has_every_config_and_field(built: Path) -> None:
    described = json.loads((built / "croissant.json").read_text())
    assert described["url"] == "https://huggingface.co/datasets/me/sgdx"
    assert "This is not the SGD release" in described["description"]
    assert sum(key.startswith("rai:") for key in described) == 10
    of_configs = {record["@id"]: record["field"] for record in described["recordSet"]}
    assert sorted(of_configs) == sorted(CONFIGS)
    names = [field["name"] for field in of_configs["v3"]]
    assert names == [f"v3/{column}" for column in DIALOGUE_ROW]
    turns = of_configs["v3"][-1]
    assert turns["repeated"] and turns["subField"][0]["source"] == {
        "fileSet": {"@id": "parquet/v3"},
        "extract": {"column": "turns"},
        "transform": {"jsonPath": "speaker"},
    }


@pytest.mark.slow
def test_croissant_s_own_library_takes_it(built: Path) -> None:
    """It is no dependency: ``pip install mlcroissant==1.1.1`` brings thirteen packages."""
    mlcroissant: Any = pytest.importorskip("mlcroissant")
    metadata = mlcroissant.Dataset(jsonld=built / "croissant.json").metadata
    assert not metadata.issues.errors
    assert [record.id for record in metadata.record_sets] == list(CONFIGS)
    assert metadata.data_biases and metadata.personal_sensitive_information
