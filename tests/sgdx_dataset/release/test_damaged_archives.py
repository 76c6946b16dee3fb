"""Archives with a bit flipped or the end cut off, and zips that were made to do harm."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
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


def with_entry(name: str, content: bytes = b"[]", attributes: int = 0) -> bytes:
    packed = io.BytesIO(WHOLE)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = attributes << 16
        archive.writestr(info, content)
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


HOSTILE: dict[str, Callable[[], bytes]] = {
    "encrypted": lambda: patched(WHOLE, 6, "<H", 1),
    "an unknown method": lambda: patched(WHOLE, 8, "<H", 97),
    "a wrong checksum": lambda: patched(WHOLE, 14, "<I", 0),
    "entries larger than they say": lambda: patched(WHOLE, 22, "<I", 10),
    "no sizes behind the mark of zip64": lambda: patched(WHOLE, 22, "<I", 0xFFFFFFFF),
    "a list of 2^64 bytes": lambda: zip64_list_of((1 << 64) - 1),
    "200 MB of blanks": lambda: blanks(200),
    "300 MB that are called 10 bytes": lambda: patched(blanks(300), 22, "<I", 10),
    "the same by another method": lambda: patched(blanks(300, zipfile.ZIP_BZIP2), 22, "<I", 10),
    "a file twice": lambda: with_entry("top//test/schema.json"),
    "a file of another release": lambda: with_entry("other/test/dialogues_900.json"),
    "a link": lambda: with_entry("top/test/dialogues_900.json", b"/etc/passwd", 0o120777),
    "behind another zip": lambda: zip_of({"test/schema.json": b"[]"}) + WHOLE,
    "in another zip": lambda: zip_of({"release.zip": WHOLE}),
    "10,001 entries": lambda: zip_of(dict.fromkeys(map(str, range(10_001)), b"")),
    "no entry": lambda: zip_of({}),
}


@pytest.mark.posix
@pytest.mark.parametrize("attack", HOSTILE)
def test_a_hostile_zip_is_refused_soon_and_in_little_memory(attack: str) -> None:
    import resource  # which Windows lacks

    content = HOSTILE[attack]()
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    assert not gives_right_data(content, ".zip")
    assert time.process_time() - start < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # kB
