"""Sources: a directory, archives of several kinds, the sample; and those that are refused."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import re
import shutil
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import file_digest
from sgdx_dataset.release.checksums import checksums
from sgdx_dataset.release.open import SAMPLE, open_release
from sgdx_dataset.release.release import Release
from sgdx_dataset.release.tar_stream import TarStream
from sgdx_dataset.rows.dialogue_rows import dialogue_tables

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
    known = {"sgd": files, "sample": {}}
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


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_a_source_without_a_schema(mini: Path, split: str) -> None:
    (mini / split / "schema.json").unlink()
    with pytest.raises(SgdxError) as error:
        open_release(mini)
    assert str(error.value) == f"{mini}: has no {split}/schema.json, expected the release's layout"


def test_a_source_without_a_variants_schema(mini: Path) -> None:
    (mini / "sgd_x/data/v3/test/schema.json").unlink()
    with pytest.raises(SgdxError, match="has no sgd_x/data/v3/test/schema.json"):
        list(dialogue_tables(open_release(mini), "test", "v3"))


def test_a_source_that_does_not_exist() -> None:
    with pytest.raises(SgdxError, match="^/no/such: "):
        open_release("/no/such")


@pytest.mark.parametrize("kind", ["zip", "gztar"])
def test_an_archive_cut_off_in_the_middle(mini: Path, kind: str) -> None:
    archive = packed(mini, kind)
    archive.write_bytes(archive.read_bytes()[: archive.stat().st_size // 2])
    with pytest.raises(SgdxError, match="neither a directory nor a whole archive"):
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
        list(dialogue_tables(open_release(archive), "test", "original"))


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
    with pytest.raises(SgdxError, match="other/test/schema.json: appears twice"):
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


@pytest.mark.parametrize("kind", ["tar", "gztar"])
def test_a_tar_of_a_folders_parent(mini: Path, kind: str) -> None:
    """As ``tar -C parent -cf x.tar .`` makes it, with names that begin with a dot."""
    suffix, mode = {"tar": (".tar", "w"), "gztar": (".tgz", "w:gz")}[kind]
    archive = mini.parent / f"dots{suffix}"
    with tarfile.open(archive, mode) as file:  # type: ignore[call-overload]
        file.add(mini, "./mini")
    assert open_release(archive).files == open_release(mini).files


def test_a_flip_in_a_zips_list_is_noticed(mini: Path) -> None:
    """It would hide a file: the list alone is what programs read."""
    archive = packed(mini, "zip")
    content = archive.read_bytes()
    name = f"{TOP}/test/dialogues_001.json".encode()
    listed = content.rindex(name)
    archive.write_bytes(content[:listed] + b"e" + content[listed + 1 :])
    with pytest.raises(SgdxError, match="found an entry 'dstc8-"):
        open_release(archive)


def test_an_entry_that_a_zips_list_leaves_out(mini: Path) -> None:
    archive = packed(mini, "zip")
    with zipfile.ZipFile(archive, "a") as file:
        file.filelist = [i for i in file.filelist if not i.filename.endswith("01.json")]
        file.writestr("x", "")
    with pytest.raises(SgdxError, match=r"has \d+ bytes at byte \d+ that belong to no entry"):
        open_release(archive)


def test_a_gzip_with_a_wrong_checksum(mini: Path) -> None:
    """``tarfile`` stops before it."""
    archive = packed(mini, "gztar")
    content = bytearray(archive.read_bytes())
    content[-8] ^= 1
    archive.write_bytes(content)
    with pytest.raises(SgdxError, match="whole archive: CRC check failed"):
        open_release(archive)


def test_a_damaged_header_is_not_the_end_of_a_tar(mini: Path) -> None:
    archive = packed(mini, "tar")
    content = bytearray(archive.read_bytes())
    content[content.rindex(b"schema.json") + 3] ^= 1
    archive.write_bytes(content)
    with pytest.raises(SgdxError, match="whole archive: (bad checksum|found no header)"):
        open_release(archive)


def test_a_tar_without_its_end(mini: Path) -> None:
    archive = packed(mini, "tar")
    with tarfile.open(archive) as file:
        last = max(member.offset for member in file)
    archive.write_bytes(archive.read_bytes()[:last])
    with pytest.raises(SgdxError, match="found no header at byte"):
        open_release(archive)


def _member(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """The header of a member that claims a size."""
    member = tarfile.TarInfo(name)
    member.size, member.type = max(size, 0), kind
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    if size < 0:  # as CVE-2025-8194: tarfile goes back, and reads the same members for ever
        header[124:136] = b"\xff" * 4 + size.to_bytes(8, "big", signed=True)
        header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:]))
    return bytes(header)


_ATTACKS = {
    "negative size": _member(f"{TOP}/LICENSE", -512) + bytes(1024),
    "size of 2^70": _member(f"{TOP}/LICENSE", 1 << 70) + bytes(1024),
    "3 GB of pax header": _member("x", 3 << 30, tarfile.XHDTYPE) + bytes(1024),
    "3 GB of long name": _member("x", 3 << 30, tarfile.GNUTYPE_LONGNAME) + bytes(1024),
    "sparse map": _member(f"{TOP}/test/schema.json", 512, tarfile.GNUTYPE_SPARSE) + bytes(2048),
    "unwanted 2 GB": bz2.compress(_member("x", 1 << 31)) + 200 * bz2.compress(bytes(10_000_000)),
    "unwanted entries": gzip.compress(10_001 * _member("x", 0), 1),
    "no member": bytes(10240),
    "two bytes of gzip": b"\x1f\x8b",
    "100 bytes of gzip": gzip.compress(os.urandom(1000))[:100],
}


@pytest.mark.posix
@pytest.mark.parametrize("attack", _ATTACKS)
def test_a_tar_that_attacks(tmp_path: Path, attack: str) -> None:
    """Each is refused in one line, soon, and without the memory that it claims."""
    archive = tmp_path / "attack.tar"
    archive.write_bytes(_ATTACKS[attack])
    import resource  # which Windows lacks

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    with pytest.raises(SgdxError) as error:
        open_release(archive)
    assert str(error.value).startswith(f"{archive}: ")
    assert time.process_time() - start < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # kB


def test_a_tar_is_read_up_to_its_limit() -> None:
    stream = TarStream(io.BytesIO(bytes(2048)), 1024)
    assert stream.read(1024) == bytes(1024)
    with pytest.raises(ValueError, match="over 1024 bytes"):
        stream.read(1)


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


def test_a_zip_with_a_name_that_is_no_utf_8(mini: Path) -> None:
    archive = _zip_with(mini, "ä")
    archive.write_bytes(archive.read_bytes().replace("ä".encode(), b"\xff\xff"))
    with pytest.raises(SgdxError, match="nor a whole archive: 'utf-8' codec can't decode"):
        open_release(archive)
