"""Sources: a directory, an archive, the sample; and those that are refused."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.release import open_release
from sgdx_dataset.rows import row_tables

TOP = "dstc8-schema-guided-dialogue-0123abc"


def packed(mini: Path) -> Path:
    """The mini release as a zip with one top folder, as GitHub serves it."""
    top = mini.parent / "packed" / TOP
    shutil.copytree(mini, top)
    return Path(shutil.make_archive(str(mini.parent / "release"), "zip", top.parent, TOP))


def test_an_archive_gives_what_its_directory_gives(mini: Path) -> None:
    archive, directory = open_release(packed(mini)), open_release(mini)
    assert archive.files.keys() == directory.files.keys()
    assert len(archive.files) == 3 + 3 + 15
    read = [[table for _, table in row_tables(r, "test", "v2")] for r in (archive, directory)]
    assert read[0] == read[1]


def test_the_fingerprint_follows_the_content(mini: Path) -> None:
    archive = packed(mini)
    before = open_release(mini).fingerprint, open_release(archive).fingerprint
    assert before == (open_release(mini).fingerprint, open_release(archive).fingerprint)
    path = mini / "test" / "dialogues_001.json"
    path.write_text(path.read_text() + "\n")
    assert open_release(mini).fingerprint != before[0]
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr(f"{TOP}/note", "")
    assert open_release(archive).fingerprint != before[1]


def test_schemas_of_another_variant_or_none_are_named(mini: Path) -> None:
    schemas = mini / "sgd_x" / "data"
    shutil.copy(schemas / "v1" / "test" / "schema.json", schemas / "v2" / "test")
    with pytest.raises(SgdxError, match="v2/test/schema.json: service Flats_11: .*v1.*v2"):
        open_release(mini).schema("test", "v2")
    (schemas / "v3" / "test" / "schema.json").unlink()
    with pytest.raises(SgdxError, match=f"^{mini}: .* sgd_x/data/v3/test/schema.json"):
        list(row_tables(open_release(mini), "test", "v3"))
    for split in ("test", "dev", "train"):
        (mini / split / "schema.json").unlink()
        with pytest.raises(SgdxError, match=f"^{mini}: .* {split}/schema.json"):
            open_release(mini)


@pytest.mark.parametrize(
    ("file", "old", "new", "same"),
    [
        ("test/dialogues_001.json", "No, thanks.", "Not today.", False),
        ("dev/dialogues_001.json", "No, thanks.", "Not today.", True),
        ("test/schema.json", "lets flats", "lets houses", False),
        ("sgd_x/data/v1/test/schema.json", "lets flats", "lets houses", False),
        ("sgd_x/data/v2/test/schema.json", "lets flats", "lets houses", True),
        ("dev/schema.json", "lets flats", "lets houses", True),
    ],
)
def test_a_digest_of_data_is_of_what_their_rows_are_made_from(
    mini: Path, file: str, old: str, new: str, same: bool
) -> None:
    before = open_release(mini).data_digest("test", "v1")
    text = (mini / file).read_text()
    assert old in text
    (mini / file).write_text(text.replace(old, new))
    assert (open_release(mini).data_digest("test", "v1") == before) == same
