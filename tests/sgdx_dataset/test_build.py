"""A built repository: what `datasets` alone makes of it, in a process without this package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from datasets import Features
from huggingface_hub import DatasetCard

from sgdx_dataset import CONFIGS, SgdxError, load
from sgdx_dataset.build import build
from sgdx_dataset.columns import DIALOGUE_COLUMNS
from sgdx_dataset.release import open_release

from .conftest import WITHOUT_US

LOAD = """
from datasets import get_dataset_config_names, load_dataset

folder, out = sys.argv[1], {}
for config in get_dataset_config_names(folder):
    data = load_dataset(folder, config)
    stream = load_dataset(folder, config, streaming=True)
    assert {s: list(rows) for s, rows in stream.items()} == {s: list(r) for s, r in data.items()}
    out[config] = {split: rows.num_rows for split, rows in data.items()}
out["default"] = load_dataset(folder, split="test")[0]["variant"]
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(open_release("sample"), tmp_path_factory.mktemp("hub") / "sgdx")


def test_datasets_alone_loads_and_streams_all_seven(built: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_US + LOAD, str(built)],
        cwd=tmp_path,
        env={**os.environ, "HF_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert loaded.pop("default") == "original"
    assert loaded.pop("backtrans") == {"train": 198}
    assert sorted(loaded) == ["original", "v1", "v2", "v3", "v4", "v5"]
    for splits in loaded.values():
        assert splits == {"train": 66, "validation": 19, "test": 36}


def test_rows_are_those_of_the_builder(built: Path) -> None:
    for config in ("original", "v5"):
        table = pq.read_table(built / "data" / config / "test-00000-of-00001.parquet")
        assert Features.from_arrow_schema(table.schema) == Features.from_arrow_schema(
            DIALOGUE_COLUMNS
        )
        assert table.to_pylist() == list(load(config, "test", "sample"))


def test_files_are_compressed_in_groups(built: Path) -> None:
    metadata = pq.read_metadata(built / "data" / "backtrans" / "train-00000-of-00001.parquet")
    assert metadata.row_group(0).column(0).compression == "ZSTD"
    assert metadata.num_rows == 198


def test_the_card_says_what_is_there(built: Path) -> None:
    card = DatasetCard.load(built / "README.md")
    assert [config["config_name"] for config in card.data.configs] == sorted(CONFIGS)
    assert [c["config_name"] for c in card.data.configs if c.get("default")] == ["original"]
    assert card.data.license == "cc-by-sa-4.0"
    sizes = {i["config_name"]: i["splits"] for i in card.data.dataset_info}
    assert [(s["name"], s["num_examples"]) for s in sizes["backtrans"]] == [("train", 198)]
    assert "| `v3` | 66 | 19 | 36 |" in card.text
    assert "This is not the SGD release" in card.text
    assert "| `v2` | `clinic_city`, `pet`" in card.text
    assert "$" not in card.text.replace("$30", "")
    row = json.loads(card.text.split("```json\n")[1].split("```")[0])
    assert list(row) == DIALOGUE_COLUMNS.names
    same = next(d for d in load("v1", "test") if d["dialogue_id"] == row["dialogue_id"])
    assert (row["services"], row["turns"][:2]) == (same["services"], same["turns"][:2])


def test_the_leaderboards_are_the_configs_and_what_is_of_all_six(built: Path) -> None:
    benchmark = yaml.safe_load((built / "eval.yaml").read_text())
    assert list(benchmark) == ["name", "description", "tasks"]
    whole = [{"id": "jga_v1-5", "split": "test"}, {"id": "jga_worst", "split": "test"}]
    assert benchmark["tasks"] == whole + [
        {"id": f"jga_{config}", "config": config, "split": "test"} for config in CONFIGS[:-1]
    ]


def test_an_existing_folder_is_left_alone(built: Path) -> None:
    with pytest.raises(SgdxError, match="exists already"):
        build(open_release("sample"), built)


def test_a_fault_leaves_nothing_behind(mini: Path, tmp_path: Path) -> None:
    path = mini / "dev" / "dialogues_001.json"
    path.write_text(path.read_text()[:-9])
    with pytest.raises(SgdxError, match="dev/dialogues_001.json: not a list of dial"):
        build(open_release(mini), tmp_path / "out" / "hub")
    assert list((tmp_path / "out").iterdir()) == []
