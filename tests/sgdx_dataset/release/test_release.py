"""Sources: a directory, archives of several kinds, the sample; and those that are refused."""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.release.open import open_release
from sgdx_dataset.rows.dialogue_rows import tables

TOP = "dstc8-schema-guided-dialogue-0123abc"


def packed(mini: Path, kind: str) -> Path:
    """The mini release as an archive with one top folder, as GitHub serves it."""
    top = mini.parent / "packed" / TOP
    shutil.copytree(mini, top)
    return Path(shutil.make_archive(str(mini.parent / "release"), kind, top.parent, TOP))


@pytest.mark.parametrize("kind", ["zip", "tar", "gztar", "xztar"])
def test_an_archive_gives_what_its_directory_gives(mini: Path, kind: str) -> None:
    archive, directory = open_release(packed(mini, kind)), open_release(mini)
    assert archive.files == directory.files
    assert len(archive.files) == 3 + 3 + 15
    read = [[table for _, table in tables(r, "test", "v2")] for r in (archive, directory)]
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


def test_the_source_may_come_from_the_environment(
    mini: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SGDX_SOURCE", str(mini))
    assert open_release().name == str(mini)
    assert open_release("sample").name == "sample"


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_a_source_without_a_schema(mini: Path, split: str) -> None:
    (mini / split / "schema.json").unlink()
    with pytest.raises(SgdxError) as error:
        open_release(mini)
    assert str(error.value) == f"{mini}: has no {split}/schema.json, expected the release's layout"


def test_a_source_without_a_variants_schema(mini: Path) -> None:
    (mini / "sgd_x/data/v3/test/schema.json").unlink()
    with pytest.raises(SgdxError, match="has no sgd_x/data/v3/test/schema.json"):
        list(tables(open_release(mini), "test", "v3"))


def test_a_source_that_does_not_exist() -> None:
    with pytest.raises(SgdxError, match="/no/such: no such source, expected a directory, an arch"):
        open_release("/no/such")


@pytest.mark.parametrize("kind", ["zip", "gztar"])
def test_an_archive_cut_off_in_the_middle(mini: Path, kind: str) -> None:
    archive = packed(mini, kind)
    archive.write_bytes(archive.read_bytes()[: archive.stat().st_size // 2])
    with pytest.raises(SgdxError, match="not a whole archive|nor a whole archive"):
        open_release(archive)


def test_a_damaged_member_is_named(mini: Path) -> None:
    archive = packed(mini, "zip")
    with zipfile.ZipFile(archive) as file:
        member = file.getinfo(f"{TOP}/test/dialogues_001.json")
        start = member.header_offset + 30 + len(member.filename) + len(member.extra)
    content = bytearray(archive.read_bytes())
    content[start + 20 : start + 40] = os.urandom(20)
    archive.write_bytes(content)
    with pytest.raises(SgdxError, match=r"test/dialogues_001.json: cannot be read"):
        list(tables(open_release(archive), "test", "original"))


def _zip_with(mini: Path, *names: str) -> Path:
    archive = packed(mini, "zip")
    with zipfile.ZipFile(archive, "a") as file:
        for name in names:
            file.writestr(name, "[]")
    return archive


@pytest.mark.parametrize("name", ["../evil.json", "/etc/evil.json", f"{TOP}/../../evil.json"])
def test_an_archive_that_climbs_out_is_refused(mini: Path, name: str) -> None:
    with pytest.raises(SgdxError, match="evil.json: leads out of the archive"):
        open_release(_zip_with(mini, name))


def test_an_archive_of_two_releases_is_refused(mini: Path) -> None:
    with pytest.raises(
        SgdxError, match="other/test/schema.json: is there twice, expected one copy"
    ):
        open_release(_zip_with(mini, "other/test/schema.json"))


def test_a_tar_with_a_link_in_place_of_data_is_refused(mini: Path) -> None:
    archive = mini.parent / "links.tar"
    with tarfile.open(archive, "w") as file:
        file.add(mini, TOP)
        link = tarfile.TarInfo(f"{TOP}/test/dialogues_002.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        file.addfile(link)
    with pytest.raises(SgdxError, match="dialogues_002.json: is a link"):
        open_release(archive)


def test_a_member_of_absurd_size_is_refused(mini: Path) -> None:
    archive = mini.parent / "huge.tar"
    member = tarfile.TarInfo(f"{TOP}/test/schema.json")
    member.size = 1 << 40
    archive.write_bytes(member.tobuf() + bytes(1024))
    with pytest.raises(SgdxError, match="claims 1099511627776 bytes, expected"):
        open_release(archive)
