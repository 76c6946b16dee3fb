"""Sources: a directory, archives of several kinds, the sample; and those that are refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import file_digest
from sgdx_dataset.release.checksums import checksums
from sgdx_dataset.release.open import SAMPLE, open_release
from sgdx_dataset.release.release import Release
from sgdx_dataset.rows.dialogue_rows import dialogue_tables

TOP = "dstc8-schema-guided-dialogue-0123abc"


def packed(mini: Path, kind: str) -> Path:
    """The mini release as an archive with one top folder, as GitHub serves it."""
    top = mini.parent / "packed" / TOP
    shutil.copytree(mini, top)
    return Path(shutil.make_archive(str(mini.parent / "release"), kind, top.parent, TOP))


@pytest.mark.parametrize("kind", ["zip", "tar", "gztar", "xztar", "dots"])
def test_an_archive_gives_what_its_directory_gives(mini: Path, kind: str) -> None:
    if kind == "dots":  # as ``tar -C parent -cf x.tar .`` makes it
        with tarfile.open(path := mini.parent / "dots.tgz", "w:gz") as file:
            file.add(mini, "./mini")
    else:
        path = packed(mini, kind)
    archive, directory = open_release(path), open_release(mini)
    assert archive.files == directory.files
    assert len(archive.files) == 3 + 3 + 15
    read = [[table for _, table in dialogue_tables(r, "test", "v2")] for r in (archive, directory)]
    assert read[0] == read[1]


def test_the_fingerprint_follows_the_content(mini: Path) -> None:
    archive = packed(mini, "zip")
    before = open_release(mini).fingerprint, open_release(archive).fingerprint
    assert before == (open_release(mini).fingerprint, open_release(archive).fingerprint)
    path = mini / "test" / "dialogues_001.json"
    path.write_text(path.read_text() + "\n")
    assert open_release(mini).fingerprint != before[0]
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr(f"{TOP}/note", "")
    assert open_release(archive).fingerprint != before[1]


def test_a_directory_goes_by_its_content_and_not_by_its_times(mini: Path) -> None:
    path = mini / "test" / "dialogues_001.json"
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    before = open_release(mini)
    path.write_text(path.read_text().replace("Ulm", "Bon", 1))
    os.utime(path, ns=times)
    assert open_release(mini).fingerprint != before.fingerprint
    with pytest.raises(SgdxError, match="dialogues_001.json: has changed since it was opened"):
        before.read("test/dialogues_001.json")


def test_a_schema_of_another_variant_is_refused(mini: Path) -> None:
    schemas = mini / "sgd_x" / "data"
    shutil.copy(schemas / "v1" / "test" / "schema.json", schemas / "v2" / "test")
    expected = "v2/test/schema.json: service Flats_11: is of v1, expected v2"
    with pytest.raises(SgdxError, match=expected):
        open_release(mini).schema("test", "v2")


def test_a_copy_of_the_sample_is_the_sample_until_it_is_changed(tmp_path: Path) -> None:
    archive = Path(shutil.make_archive(str(tmp_path / "copy"), "zip", SAMPLE))
    assert open_release(archive).version() == open_release("sample").version() == "sample"
    changed = tmp_path / "changed"
    shutil.copytree(SAMPLE, changed)
    path = changed / "test" / "dialogues_002.json"
    path.write_text(path.read_text() + "\n")
    version = open_release(changed).version()
    assert re.fullmatch("unverified:[0-9a-f]{16}", version)
    again = shutil.make_archive(str(tmp_path / "again"), "gztar", changed)
    assert open_release(again).version("test") == open_release(changed).version("test")
    assert open_release(changed).version("train") == "sample"
    overlay = changed / "backtrans" / "ja.json"
    overlay.write_text(overlay.read_text() + "\n")
    assert open_release(changed).version("train").startswith("unverified:")


def test_the_checksums_of_the_sample_are_those_of_its_files() -> None:
    files = {
        path.relative_to(SAMPLE).as_posix(): file_digest(path) for path in SAMPLE.rglob("*.json")
    }
    assert files == checksums("sample")


def test_a_changed_file_of_sgd_is_noticed_without_sgd(
    mini: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small corpus stands for SGD here, whose checksums are taken to be those of its files."""
    files = {path.relative_to(mini).as_posix(): file_digest(path) for path in mini.rglob("*.json")}
    known = {"sgd": files, "sample": {}, "many": {}}
    monkeypatch.setattr("sgdx_dataset.release.release.checksums", known.__getitem__)
    monkeypatch.setattr(Release, "is_sgd", lambda _: True)
    assert not open_release(mini).version().startswith("unverified:")
    path = mini / "test" / "dialogues_001.json"
    path.write_bytes(path.read_bytes() + b" ")
    assert open_release(mini).version().startswith("unverified:")
    assert not open_release(mini).version("train").startswith("unverified:")


@pytest.mark.release
def test_sgd_with_another_file_is_not_called_sgd(release_archive: Path, tmp_path: Path) -> None:
    """Neither are counts a proof, nor are the names of its services."""
    copy = tmp_path / "copy"
    with zipfile.ZipFile(release_archive) as archive:
        for name in archive.namelist():
            if name.endswith(("schema.json", "test/dialogues_001.json")):
                archive.extract(name, copy)
    root = next(copy.iterdir())
    assert open_release(root).version() == ""  # a part of SGD, all of it as published
    path = root / "test" / "dialogues_001.json"
    path.write_bytes(path.read_bytes() + b" ")
    release = open_release(root)
    assert release.version().startswith("unverified:")
    assert release.version("train") == ""
    with pytest.warns(UserWarning, match="test/dialogues_001.json: differs from the published"):
        list(dialogue_tables(release, "test", "v1"))


@pytest.mark.release
def test_sgd_with_other_back_translations_is_not_called_sgd(
    release_archive: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(release_archive) as archive:
        for name in archive.namelist():
            if name.endswith("schema.json"):
                archive.extract(name, tmp_path)
    root = next(tmp_path.iterdir())
    assert open_release(root).variants("backtrans")  # those of this package
    assert open_release(root).version() == ""
    service = open_release(root).schema("train", "original").services[0].service_name
    overlay = {service: {"description": {"pivot": "x", "text": "words"}}}
    (root / "backtrans").mkdir()
    (root / "backtrans" / "fr.json").write_text(json.dumps(overlay))
    assert open_release(root).version().startswith("unverified:")
    assert open_release(root).version("train").startswith("unverified:")
    assert open_release(root).version("test") == ""


def test_the_source_may_come_from_the_environment(
    mini: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SGDX_SOURCE", str(mini))
    assert open_release().name == str(mini)
    assert open_release("sample").name == "sample"


def test_a_missing_schema_is_named(mini: Path) -> None:
    (mini / "sgd_x/data/v3/test/schema.json").unlink()
    with pytest.raises(SgdxError, match="has no sgd_x/data/v3/test/schema.json"):
        list(dialogue_tables(open_release(mini), "test", "v3"))
    for split in ("test", "dev", "train"):
        (mini / split / "schema.json").unlink()
        with pytest.raises(SgdxError, match=f"^{mini}: has no {split}/schema.json"):
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
