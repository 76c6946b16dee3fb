"""References: from a release, or from a folder of the Parquet files that the dataset writes."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgdx_dataset import SgdxError
from sgdx_eval.gold import FolderGold

from ..sgdx_metric.frames import reference, reference_table

V1 = reference_table(reference({"city": ["Rome"]}, variant="v1"))


def test_release_is_what_the_references_say(tmp_path: Path) -> None:
    for table, release in (
        (V1, None),
        (V1.replace_schema_metadata({"release": ""}), None),
        (V1.replace_schema_metadata({"release": "c0ffee"}), "c0ffee"),
    ):
        pq.write_table(table, tmp_path / "v1.parquet")
        found = FolderGold(tmp_path, None, ["v1"])
        assert found.release == release
        assert found.rows("v1").to_pylist() == V1.to_pylist()


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"v2": V1}, "found no v1.parquet, expected the frame rows of v1 as 'sgdx export"),
        ({"v1": V1.drop_columns(["seen", "service"])}, "found no column service, seen, expected f"),
        ({"v1": V1.set_column(1, "variant", pa.array(["v2"]))}, "found variant v2, expected v1"),
        ({"v1": V1.slice(1)}, "v1.parquet: found variant no rows, expected v1"),
        ({"v1": V1.set_column(7, "seen", pa.array([[1]]))}, "v1.parquet: cannot be read as frame"),
        (
            {"original": V1, "v1": V1.replace_schema_metadata({"release": "c0ffee"})},
            "v1.parquet is of release 'c0ffee', expected 'None' as the others are",
        ),
    ],
)
def test_faults_of_a_folder_are_named(
    tmp_path: Path, tables: dict[str, pa.Table], message: str
) -> None:
    for name, table in tables.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    with pytest.raises(SgdxError, match=re.escape(message)):
        FolderGold(tmp_path, None, sorted({*tables, "v1"} - {"v2"})).rows("v1")
