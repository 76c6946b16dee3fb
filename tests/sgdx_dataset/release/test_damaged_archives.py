"""Archives with a bit flipped or the end cut off, and those that were made to do harm."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import struct
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from sgdx_dataset import SgdxError
from sgdx_dataset.release.open import SAMPLE, open_release
from sgdx_dataset.release.tar_stream import TarStream

SCHEMAS = {path.relative_to(SAMPLE).as_posix(): path for path in SAMPLE.rglob("schema.json")}
FILES = {name: path.read_bytes() for name, path in SCHEMAS.items()}
FILES["test/dialogues_001.json"] = (SAMPLE / "test" / "dialogues_001.json").read_bytes()


def zip_of(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(f"top/{name}", content)
    return packed.getvalue()


def tar_of(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"top/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


WHOLE, TAR = zip_of(FILES), tar_of(FILES)
ARCHIVES = {
    ".zip": WHOLE,
    ".tar": TAR,
    ".tar.gz": gzip.compress(TAR, mtime=0),
    ".tar.bz2": bz2.compress(TAR),
    ".tar.xz": lzma.compress(TAR, preset=1),
}


def gives_right_data(content: bytes, suffix: str) -> bool:
    """Whether an archive gives the files; else it is refused in a line that begins with its name.

    A plain tar has no checksum: what is not as in the sample is called unverified then.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"release{suffix}")
        path.write_bytes(content)
        try:
            release = open_release(path)
            read = {name: release.read(name) for name in release.files}
            if suffix == ".tar" and read != FILES:
                assert release.version().startswith("unverified:")
                return True
        except SgdxError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error)
            return False
        assert read == FILES
        return True


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_a_damaged_archive_is_refused_or_gives_the_right_data(suffix: str) -> None:
    whole = ARCHIVES[suffix]

    @settings(max_examples=25, deadline=None)
    @given(place=st.integers(0, len(whole) - 1), bit=st.integers(0, 7))
    def flip(place: int, bit: int) -> None:
        gives_right_data(
            whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :], suffix
        )

    @settings(max_examples=10, deadline=None)
    @given(length=st.integers(0, len(whole) - 1))
    def cut(length: int) -> None:
        gives_right_data(whole[:length], suffix)

    assert gives_right_data(whole, suffix)
    flip()
    cut()


def patched(content: bytes, field: int, form: str, value: int) -> bytes:
    """A zip whose list of entries, and headers before them, have another value in a field."""
    changed = bytearray(content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        listed = archive.start_dir
        for info in archive.infolist():
            struct.pack_into(form, changed, info.header_offset + field, value)
            struct.pack_into(form, changed, listed + field + 2, value)
            listed += 46 + sum(struct.unpack_from("<HHH", content, listed + 28))
    return bytes(changed)


def changed(content: bytes, place: int, new: bytes) -> bytes:
    return content[:place] + new + content[place + len(new) :]


def with_entry(name: str, content: bytes = b"[]", attributes: int = 0) -> bytes:
    packed = io.BytesIO(WHOLE)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = attributes << 16
        archive.writestr(info, content)
    return packed.getvalue()


def left_out_of_the_list() -> bytes:
    packed = io.BytesIO(WHOLE)
    with zipfile.ZipFile(packed, "a") as archive:
        archive.filelist = [i for i in archive.filelist if not i.filename.endswith("01.json")]
        archive.writestr("x", "")
    return packed.getvalue()


def blanks(megabytes: int, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(packed, "w", method) as archive,
        archive.open("top/train/schema.json", "w") as entry,
    ):
        for _ in range(megabytes):
            entry.write(b" " * 1_000_000)
    return packed.getvalue()


def zip64_list_of(size: int) -> bytes:
    """A zip whose end record of zip64 gives its list of entries a size."""
    end = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, 0)
    place = struct.pack("<4sIQI", b"PK\x06\x07", 0, len(WHOLE) - 22, 1)
    return WHOLE[:-22] + end + place + WHOLE[-22:]


def member(name: str, size: int, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    """The header of a member of a tar that claims a size."""
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = max(size, 0), kind, link
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    if size < 0:  # as CVE-2025-8194: tarfile goes back, and reads the same members for ever
        header[124:136] = b"\xff" * 4 + size.to_bytes(8, "big", signed=True)
        header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:]))
    return bytes(header)


LISTED = WHOLE.rindex(b"top/test/dialogues_001.json")
END = bytes(1024)
GZIP = ARCHIVES[".tar.gz"]
TAR_WITHOUT_END = TAR.rstrip(b"\0") + bytes(-len(TAR.rstrip(b"\0")) % 512)
MORE = "top/test/dialogues_002.json"
HOSTILE: dict[str, Callable[[], bytes]] = {
    "zip: encrypted": lambda: patched(WHOLE, 6, "<H", 1),
    "zip: an unknown method": lambda: patched(WHOLE, 8, "<H", 97),
    "zip: a wrong checksum": lambda: patched(WHOLE, 14, "<I", 0),
    "zip: a damaged member": lambda: changed(WHOLE, 200, os.urandom(20)),
    "zip: entries larger than they say": lambda: patched(WHOLE, 22, "<I", 10),
    "zip: no sizes behind the mark of zip64": lambda: patched(WHOLE, 22, "<I", 0xFFFFFFFF),
    "zip: a list of 2^64 bytes": lambda: zip64_list_of((1 << 64) - 1),
    "zip: another name in its list": lambda: changed(WHOLE, LISTED, b"e"),
    "zip: an entry that its list leaves out": left_out_of_the_list,
    "zip: 200 MB of blanks": lambda: blanks(200),
    "zip: 300 MB that are called 10 bytes": lambda: patched(blanks(300), 22, "<I", 10),
    "zip: by another method": lambda: patched(blanks(300, zipfile.ZIP_BZIP2), 22, "<I", 10),
    "zip: a file twice": lambda: with_entry("top//test/schema.json"),
    "zip: a file of another release": lambda: with_entry("other/test/dialogues_900.json"),
    "zip: a file of both releases": lambda: with_entry("other/test/schema.json"),
    "zip: a link": lambda: with_entry("top/test/dialogues_900.json", b"/etc/passwd", 0o120777),
    "zip: a name that is no UTF-8": lambda: with_entry("\xe4").replace(b"\xc3\xa4", b"\xff\xff"),
    "zip: climbs out": lambda: with_entry("../evil.json"),
    "zip: climbs to the root": lambda: with_entry("/etc/evil.json"),
    "zip: climbs out of a folder": lambda: with_entry("top/../../evil.json"),
    "zip: behind another zip": lambda: zip_of({"test/schema.json": b"[]"}) + WHOLE,
    "zip: in another zip": lambda: zip_of({"release.zip": WHOLE}),
    "zip: 10,001 entries": lambda: zip_of(dict.fromkeys(map(str, range(10_001)), b"")),
    "zip: no entry": lambda: zip_of({}),
    "tar: a damaged header": lambda: changed(TAR, TAR.rindex(b"schema.json") + 3, b"x"),
    "tar: without its end": lambda: TAR[: TAR.rindex(b"top/")],
    "tar: a link": lambda: TAR_WITHOUT_END + member(MORE, 0, tarfile.SYMTYPE, "/etc/passwd") + END,
    "tar: a device": lambda: TAR_WITHOUT_END + member(MORE, 0, tarfile.CHRTYPE) + END,
    "tar: 2^40 bytes": lambda: member("top/test/schema.json", 1 << 40) + END,
    "tar: negative size": lambda: member("top/LICENSE", -512) + END,
    "tar: size of 2^70": lambda: member("top/LICENSE", 1 << 70) + END,
    "tar: 3 GB of pax header": lambda: member("x", 3 << 30, tarfile.XHDTYPE) + END,
    "tar: 3 GB of long name": lambda: member("x", 3 << 30, tarfile.GNUTYPE_LONGNAME) + END,
    "tar: sparse": lambda: member("top/test/schema.json", 512, tarfile.GNUTYPE_SPARSE) + 2 * END,
    "tar: unwanted 2 GB": lambda: (
        bz2.compress(member("x", 1 << 31)) + 200 * bz2.compress(bytes(10_000_000))
    ),
    "tar: unwanted entries": lambda: gzip.compress(10_001 * member("x", 0), 1),
    "tar: no member": lambda: bytes(10240),
    "gzip: a wrong checksum": lambda: changed(GZIP, len(GZIP) - 8, bytes([GZIP[-8] ^ 1])),
    "gzip: two bytes": lambda: GZIP[:2],
    "gzip: 100 bytes": lambda: gzip.compress(os.urandom(1000))[:100],
}


@pytest.mark.posix
@pytest.mark.parametrize("attack", HOSTILE)
def test_a_hostile_archive_is_refused_soon_and_in_little_memory(attack: str) -> None:
    import resource  # which Windows lacks

    content = HOSTILE[attack]()
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    assert not gives_right_data(content, ".archive")
    assert time.process_time() - start < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # kB


def test_a_tar_is_read_up_to_its_limit() -> None:
    stream = TarStream(io.BytesIO(bytes(2048)), 1024)
    assert stream.read(1024) == bytes(1024)
    with pytest.raises(ValueError, match="over 1024 bytes"):
        stream.read(1)
