"""Archives that are damaged at random, and archives that were made to do harm."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import resource
import struct
import tarfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from sgdx_dataset import SgdxError
from sgdx_dataset.release.archives import digest
from sgdx_dataset.release.open import SAMPLE, open_files, open_release

from .outcomes import ERROR, RIGHT, UNVERIFIED, Counts, outcome_of

# What a hostile archive may cost at most. Reading the sample takes a twentieth of either.
MAX_SECONDS, MAX_BYTES = 20.0, 400_000_000

Files = Mapping[str, bytes]  # a release's files by their paths


def files_of(source: str, dialogue_files: int | None = None) -> Files:
    """The files of a source; of each split's dialogue files the first few, or all for None."""
    _, names, read = open_files(source, SAMPLE if source == "sample" else Path(source))
    dialogue_names = []
    for folder in ("train", "dev", "test"):
        dialogue_names += sorted(n for n in names if n.startswith(f"{folder}/dialogues"))[
            :dialogue_files
        ]
    return {n: read(n) for n in sorted(names) if n in dialogue_names or "dialogues" not in n}


def packed(files: Files) -> dict[str, bytes]:
    """A release in every kind of archive."""
    plain = tar_of(files)
    return {
        ".zip": zip_of(files),
        ".tar": plain,
        ".tar.gz": gzip.compress(plain, 6, mtime=0),
        ".tar.bz2": bz2.compress(plain),
        ".tar.xz": lzma.compress(plain, preset=1),
    }


def zip_of(files: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip with one top folder, as GitHub serves it."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for file, content in files.items():
            archive.writestr(f"top/{file}", content)
    return made.getvalue()


def tar_of(files: Files) -> bytes:
    """A tar with one top folder."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for file, content in files.items():
            archive.addfile(_member(f"top/{file}", len(content)), io.BytesIO(content))
    return made.getvalue()


def _member(
    name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.type, member.linkname = size, kind, link
    return member


def archive_outcome(archive: Path, expected: Mapping[str, str]) -> str:
    """What reading all of an archive gives.

    Args:
        archive: The archive.
        expected: The SHA-256 of the files that are in it, by path.

    Returns:
        One of ``SURVIVED``, or what should not have happened, in words.
    """

    def read() -> str:
        release = open_release(archive)
        # A copy of SGD gets this package's own back-translations besides.
        own = {file for file in release.files - expected.keys() if file.startswith("backtrans/")}
        digests = {file: digest(release.read(file)) for file in release.files - own}
        if digests == expected:
            return RIGHT
        return UNVERIFIED if release.version().startswith("unverified:") else "other data"

    return outcome_of(read, str(archive), (SgdxError,))


def damaged(
    files: Files,
    folder: Path,
    flips: int,
    cuts: int,
    seed: int,
    kinds: Sequence[str] | None = None,
) -> Counts:
    """Change one bit, or cut the end off, and read the archive; count the outcomes.

    Args:
        files: The release.
        folder: A folder for the archives.
        flips: In how many archives of each kind to change a bit.
        cuts: How many archives of each kind to cut off.
        seed: Random seed of the places.
        kinds: Suffixes of the archives to try; None for all kinds.
    """
    chance = random.Random(seed)  # noqa: S311  # it is no secret
    expected = {file: digest(content) for file, content in files.items()}
    counts: Counts = {}
    for suffix, content in packed(files).items():
        if kinds is not None and suffix not in kinds:
            continue
        path = folder / f"damaged{suffix}"
        path.write_bytes(content)
        counts[f"{suffix}: as it is"] = Counter([_must_be_right(archive_outcome(path, expected))])
        for what, damage, times in (("bit flipped", _flipped, flips), ("cut off", _cut, cuts)):
            outcomes = counts.setdefault(f"{suffix}: {what}", Counter())
            for _ in range(times):
                path.write_bytes(damage(content, chance))
                outcome = archive_outcome(path, expected)
                if outcome == UNVERIFIED and suffix != ".tar":
                    outcome = "unverified data, of an archive that has checksums"
                outcomes[outcome] += 1
    return counts


def _must_be_right(outcome: str) -> str:
    """The outcome of an archive to which nothing was done."""
    return outcome if outcome == RIGHT else f"as it is: {outcome}"


def _flipped(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    changed[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content))]


def hostile(files: Files, folder: Path, kinds: Sequence[str] | None = None) -> Counts:
    """Open archives that were made to do harm; count the outcomes by kind of attack.

    Each has to be refused or to give the right data, and soon, and in little memory.

    Args:
        files: A release, of which the archives are made.
        folder: A folder for the archives.
        kinds: Keys of ``HOSTILE``; None for all.
    """
    expected = {file: digest(content) for file, content in files.items()}
    counts: Counts = {"as they are": Counter()}
    for suffix, content in packed(files).items():
        path = folder / f"whole{suffix}"
        path.write_bytes(content)
        counts["as they are"][_must_be_right(archive_outcome(path, expected))] += 1
    for kind in kinds or HOSTILE:
        outcomes = counts.setdefault(kind, Counter())
        for name, content in HOSTILE[kind](files).items():
            path = folder / f"hostile.{kind[:3]}"
            path.write_bytes(content)
            outcome = _within_bounds(partial(archive_outcome, path, expected))
            outcomes[outcome if outcome in (ERROR, RIGHT) else f"{name}: {outcome}"] += 1
    return counts


def _within_bounds(attempt: Callable[[], str]) -> str:
    """The outcome, or what it cost where that was too much."""
    start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = attempt()
    seconds = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    if seconds > MAX_SECONDS or grown > MAX_BYTES:
        return f"took {seconds:.0f} s and {grown / 1e6:.0f} MB"
    return outcome


_LOCAL, _CENTRAL = b"PK\x03\x04", b"PK\x01\x02"
_PLACES = {_LOCAL: 0, _CENTRAL: 2}  # in the list of entries, the fields stand two bytes later


def _patched(
    content: bytes,
    field: int,
    form: str,
    value: int,
    signatures: tuple[bytes, ...] = (_LOCAL, _CENTRAL),
) -> bytes:
    """A zip whose headers of all entries have another value in a field.

    Args:
        content: A zip.
        field: The field's place in the header before an entry.
        form: The field's format, as ``struct`` has it.
        value: The new value.
        signatures: In which headers: those before the entries, those of the list, or both.
    """
    changed = bytearray(content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        places = {_LOCAL: [info.header_offset for info in archive.infolist()], _CENTRAL: []}
        offset = archive.start_dir
        for _ in archive.infolist():
            places[_CENTRAL].append(offset)
            lengths = struct.unpack_from("<HHH", content, offset + 28)
            offset += 46 + sum(lengths)
    for signature in signatures:
        for start in places[signature]:
            struct.pack_into(form, changed, start + field + _PLACES[signature], value)
    return bytes(changed)


def _encrypted(files: Files) -> dict[str, bytes]:
    whole = zip_of(files)
    return {
        "all entries": _patched(whole, 6, "<H", 1),
        "in the list alone": _patched(whole, 6, "<H", 1, (_CENTRAL,)),
        "before the entries alone": _patched(whole, 6, "<H", 1, (_LOCAL,)),
        "strong encryption": _patched(whole, 6, "<H", 0x41),
        "AES": _patched(_patched(whole, 6, "<H", 1), 8, "<H", 99),
        "encrypted list": _patched(whole, 6, "<H", 0x2001),
    }


def _nested(files: Files) -> dict[str, bytes]:
    bomb = zip_of({"zeros": bytes(10_000_000)})
    for level in range(8):
        bomb = zip_of({f"{level}-{copy}.zip": bomb for copy in range(10)})
    return {
        "a zip of the zip": zip_of({"release.zip": zip_of(files)}),
        "a zip of the tar": zip_of({"release.tar": tar_of(files)}),
        "a zip that is called a schema": zip_of({"test/schema.json": zip_of(files)}),
        "zips of zips of zips": bomb,
    }


def _zip64(files: Files) -> dict[str, bytes]:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in files.items():
            with archive.open(f"top/{file}", "w", force_zip64=True) as entry:
                entry.write(content)
    whole = made.getvalue()
    small = zip_of(files)
    return {
        "all entries": whole,
        "no sizes behind the mark": _patched(small, 22, "<I", 0xFFFFFFFF),
        "no place behind the mark": _patched(small, 40, "<I", 0xFFFFFFFF, (_CENTRAL,)),
        "an end beyond the file": small[:-22] + _zip64_end(1 << 60) + small[-22:],
        "a list of 2^64 bytes": _with_zip64_list(small, (1 << 64) - 1),
    }


def _zip64_end(offset: int) -> bytes:
    return struct.pack("<4sIQI", b"PK\x06\x07", 0, offset, 1)


def _with_zip64_list(whole: bytes, size: int) -> bytes:
    """A zip with the end record of zip64, in which the list of entries has a size."""
    end = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, 0)
    return whole[:-22] + end + _zip64_end(len(whole) - 22) + whole[-22:]


def _bombs(files: Files) -> dict[str, bytes]:
    """Entries that are not as large as they say, and more of them than there should be."""
    whole = zip_of(files)
    many = io.BytesIO(whole)
    with zipfile.ZipFile(many, "a") as archive:
        for number in range(10_001):
            archive.writestr(f"top/{number}", b"")
    attacks = {
        "fewer bytes than there are": _patched(whole, 22, "<I", 10),
        "more bytes than there are": _patched(whole, 22, "<I", 60_000_000),
        "a wrong checksum": _patched(whole, 14, "<I", 0),
        "200 MB of blanks": _blanks(zipfile.ZIP_DEFLATED, 200),
        "10,001 entries": many.getvalue(),
    }
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
        attacks[f"1 GB that is called 10 bytes, method {method}"] = _patched(
            _blanks(method, 1000), 22, "<I", 10
        )
    return attacks


def _blanks(method: int, megabytes: int) -> bytes:
    """A zip whose first file to be read is of blanks, made without having them in memory."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(made, "w", method) as archive,
        archive.open("top/train/schema.json", "w") as entry,
    ):
        for _ in range(megabytes):
            entry.write(b" " * 1_000_000)
    return made.getvalue()


def _zip_names(files: Files) -> dict[str, bytes]:
    whole = zip_of(files)
    name, content = "test/schema.json", files["test/schema.json"]
    names = {
        "twice": f"top/{name}",
        "twice, one with a dot": f"top/./{name}",
        "twice, one with two slashes": f"top//{name}",
        "twice, one ends in null": f"top/{name}\0.txt",
        "a folder of the name": f"top/{name}/",
        "twice, in another folder": f"other/{name}",
        "a file of another release": "other/test/dialogues_900.json",
        "without the top folder": "test/dialogues_900.json",
        "leads up": "top/../../test/schema.json",
        "absolute": f"/{name}",
        "other digits": "top/test/dialogues_\u0661.json",
        "other case, which is no file of a release": f"top/{name.upper()}",
        "with backslashes, which is no file of a release": f"top\\{name}".replace("/", "\\"),
        "a long name": "x" * 65_000,
    }
    attacks = {}
    for what, added in names.items():
        made = io.BytesIO(whole)
        with zipfile.ZipFile(made, "a") as archive:
            info = zipfile.ZipInfo("placeholder")
            info.filename = added  # as it is: the class would cut it at a null
            with warnings.catch_warnings(action="ignore"):  # of names that are there twice
                archive.writestr(info, b"" if added.endswith("/") else content)
        attacks[what] = made.getvalue()
    linked = io.BytesIO(zip_of({f: c for f, c in files.items() if f != name}))
    with zipfile.ZipFile(linked, "a") as archive:
        info = zipfile.ZipInfo(f"top/{name}")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    return attacks | {"a link": linked.getvalue()}


def _zip_structure(files: Files) -> dict[str, bytes]:
    whole = zip_of(files)
    streamed = io.BytesIO()
    with zipfile.ZipFile(_Unseekable(streamed), "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in files.items():
            archive.writestr(f"top/{file}", content)
    other = zip_of({"test/schema.json": files["dev/schema.json"]})
    commented = whole[:-2] + struct.pack("<H", len(other)) + other
    return {
        "written to a pipe": streamed.getvalue(),
        "behind another zip": other + whole,
        "with another zip as comment": commented,
        "behind a program": b"#!/bin/sh\n" * 100 + whole,
        "more bytes behind": whole + bytes(1000),
        "all entries at one place": _patched(whole, 40, "<I", 0, (_CENTRAL,)),
        "an unknown method": _patched(whole, 8, "<H", 97),
        "no entry": zip_of({}),
        "nothing": b"PK",
    }


class _Unseekable(io.RawIOBase):
    """A stream to write to, which cannot go back, as a pipe cannot."""

    def __init__(self, file: io.BytesIO) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, content: bytes) -> int:  # type: ignore[override]
        return self._file.write(content)


def _tar_with(files: Files, *members: tuple[tarfile.TarInfo, bytes], pax: bool = False) -> bytes:
    """A tar of a release with more members."""
    made = io.BytesIO()
    form = tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        for file, content in files.items():
            archive.addfile(_member(f"top/{file}", len(content)), io.BytesIO(content))
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


def _links(files: Files) -> dict[str, bytes]:
    target = "top/test/dialogues_900.json"
    kinds = {
        "symbolic link": tarfile.SYMTYPE,
        "hard link": tarfile.LNKTYPE,
        "character device": tarfile.CHRTYPE,
        "block device": tarfile.BLKTYPE,
        "pipe": tarfile.FIFOTYPE,
        "folder": tarfile.DIRTYPE,
        "sparse file": tarfile.GNUTYPE_SPARSE,
        "unknown kind": b"Q",
    }
    attacks = {
        what: _tar_with(files, (_member(target, kind=kind, link="/etc/passwd"), b""))
        for what, kind in kinds.items()
    }
    inside = _member("top/test/schema.json", kind=tarfile.LNKTYPE, link="top/dev/schema.json")
    return attacks | {"hard link to another schema": _tar_with(files, (inside, b""))}


def _tar_names(files: Files) -> dict[str, bytes]:
    content = files["test/schema.json"]
    names = {
        "twice": "top/test/schema.json",
        "twice, one with a dot": "./top/test/schema.json",
        "twice, in another folder": "other/test/schema.json",
        "a file of another release": "other/test/dialogues_900.json",
        "leads up": "top/../../test/schema.json",
        "absolute": "/test/schema.json",
        "a long name": "x/" * 40_000,
    }
    attacks = {
        what: _tar_with(files, (_member(name, len(content)), content))
        for what, name in names.items()
    }
    renamed = _member("top/harmless", len(content))
    renamed.pax_headers = {"path": "top/test/schema.json"}
    return attacks | {"twice, by an extension": _tar_with(files, (renamed, content), pax=True)}


def _tar_bombs(files: Files) -> dict[str, bytes]:
    whole = tar_of(files)
    sized = _member("top/harmless", 512)
    sized.pax_headers = {"size": "-512"}
    blanks = gzip.compress(b" " * 10_000_000, 9)
    huge = _member("top/test/dialogues_900.json", 1 << 40).tobuf()
    return {
        "a negative size in an extension": _tar_with(files, (sized, bytes(512)), pax=True),
        "a size of 2^40": whole[:-1024] + huge,
        "10 GB of blanks behind": gzip.compress(whole) + 1000 * blanks,
        "10 GB of nulls behind": gzip.compress(whole) + 1000 * gzip.compress(bytes(10_000_000), 9),
        "compressed twice": gzip.compress(gzip.compress(whole)),
        "in two parts": gzip.compress(whole[:5000]) + gzip.compress(whole[5000:]),
        "an lzma that wants 1.5 GB": _large_lzma(whole),
        "text behind": whole + b"more",
        "10,001 members": _tar_with(files, *((_member(str(i)), b"") for i in range(10_001))),
    }


def _large_lzma(content: bytes) -> bytes:
    """Compressed data that asks for 1.5 GB to unpack them in."""
    packed = lzma.compress(content[:100_000], lzma.FORMAT_ALONE)
    return packed[:1] + struct.pack("<I", 3 << 29) + packed[5:]


# What makes the attacks of each kind, by what each attack is.
HOSTILE: Mapping[str, Callable[[Files], dict[str, bytes]]] = {
    "zip: encryption": _encrypted,
    "zip: nesting": _nested,
    "zip: zip64": _zip64,
    "zip: sizes that lie, bombs": _bombs,
    "zip: names": _zip_names,
    "zip: structure": _zip_structure,
    "tar: links and devices": _links,
    "tar: names": _tar_names,
    "tar: sizes that lie, bombs": _tar_bombs,
}
