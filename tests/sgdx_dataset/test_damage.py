"""Files from outside that are damaged: each reader gives the right data or one line of error."""

from __future__ import annotations

import io
import json
import os
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from sgdx_dataset import SgdxError, frame_tables
from sgdx_dataset.release import SAMPLE, open_release
from sgdx_dataset.rewording.compose import check_pool, read_pool
from sgdx_dataset.rows import row_tables
from sgdx_dataset.words import apply_words, read_schema, read_words

from ..mutations import Json, broken, is_read, mutations
from .conftest import DIALOGUE, ORIGINAL

SCHEMA = read_schema(json.dumps([ORIGINAL]).encode(), "file")
ELEMENT = {"name": ["one", "two"], "description": ["One", "Two"]}


def read_dialogues(data: bytes) -> None:
    """Make dialogue rows and frame rows of a release whose dialogue file has these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test").mkdir()
        (Path(folder) / "test" / "schema.json").write_text(json.dumps([ORIGINAL]))
        (Path(folder) / "test" / "dialogues_001.json").write_bytes(data)
        release = open_release(folder)
        try:
            list(row_tables(release, "test", "original"))
            frame_tables(release, "test", "original")
        except SgdxError as error:
            raise SgdxError(str(error).removeprefix(f"{folder}: test/")) from None


# Of each kind a valid file, and what reads and checks it.
KINDS: dict[str, tuple[Json, Callable[[bytes], object]]] = {
    "schema": ([ORIGINAL], lambda data: read_schema(data, "file")),
    "dialogues": ([DIALOGUE], read_dialogues),
    "words": (
        {
            "Flats_1": {
                "description": {"pivot": "租房", "text": "rents flats"},
                "slots": {"city": "town", "area": {"name": {"pivot": "区", "text": "zone"}}},
                "intents": {"FindFlat": {"name": "New", "description": "D"}},
            }
        },
        lambda data: apply_words(read_words(data, "file"), {"train": SCHEMA}, "file"),
    ),
    "pool": (
        {
            "Flats_1": {
                "description": ["One", "Two"],
                "slots": dict.fromkeys(SCHEMA[0].slots_by_name, ELEMENT),
                "intents": dict.fromkeys(("FindFlat", "VisitFlat"), ELEMENT | {"name": ["A", "B"]}),
            }
        },
        lambda data: check_pool(read_pool(data, "file"), [SCHEMA], "file"),
    ),
}
FILE = ("file", "dialogues_001.json")


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_another_kind_and_broken_json_are_read_or_refused(kind: str) -> None:
    value, read = KINDS[kind]

    @settings(max_examples=40, deadline=None)
    @given(data=mutations(value) | st.binary(max_size=50))
    def check(data: bytes) -> None:
        is_read(read, data, FILE)

    assert is_read(read, json.dumps(value).encode(), FILE)
    check()
    accepted = {how for how, data in broken(value).items() if is_read(read, data, FILE)}
    # Of a key that is there twice in a dialogue, the last counts. Files may have a mark of the byte
    # order; the other readers are given what is behind it.
    assert accepted == ({"key twice", "byte order mark"} if kind == "dialogues" else set())


# ---- zip archives


FILES = {p.relative_to(SAMPLE).as_posix(): p.read_bytes() for p in SAMPLE.rglob("schema.json")}
FILES["test/dialogues_001.json"] = (SAMPLE / "test" / "dialogues_001.json").read_bytes()


def zip_of(files: dict[str, bytes], before: bytes = b"", top: str = "top/") -> bytes:
    packed = io.BytesIO(before)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"{top}{name}", content)
    return packed.getvalue()


WHOLE = zip_of(FILES)


def gives_right_data(content: bytes) -> bool:
    """Whether an archive gives the files; else it is refused in a line that begins with its name.

    Damage to its list of entries may hide one of them, but never changes what is in another.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "release.zip")
        path.write_bytes(content)
        try:
            release = open_release(path)
            read = {name: release.read(name) for name in release.files}
        except SgdxError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error)
            return False
        assert read.items() <= FILES.items()
        return read == FILES


@settings(max_examples=20, deadline=None)
@given(place=st.integers(0, len(WHOLE) - 1), bit=st.integers(0, 7), length=st.integers(0, 500))
def test_a_bit_is_flipped_or_the_end_is_cut_off(place: int, bit: int, length: int) -> None:
    gives_right_data(WHOLE[:place] + bytes([WHOLE[place] ^ 1 << bit]) + WHOLE[place + 1 :])
    assert not gives_right_data(WHOLE[: place if length > 100 else -1 - length])


def blanks(megabytes: int) -> bytes:
    """An archive of a huge file, made in little memory."""
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("top/train/schema.json", "w") as entry,
    ):
        for _ in range(megabytes):
            entry.write(b" " * 1_000_000)
    return packed.getvalue()


HOSTILE: dict[str, Callable[[], bytes]] = {
    "a damaged member": lambda: WHOLE[:200] + os.urandom(20) + WHOLE[220:],
    "200 MB of blanks": lambda: blanks(200),
    "a file twice": lambda: zip_of({"test/schema.json": b"[]"}, WHOLE),
    "a file of another release": lambda: zip_of({"test/dialogues_900.json": b""}, WHOLE, "other/"),
}


@pytest.mark.posix
@pytest.mark.parametrize("attack", HOSTILE)
def test_a_hostile_archive_is_refused_soon_and_in_little_memory(attack: str) -> None:
    import resource  # which Windows lacks

    content = HOSTILE[attack]()
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    assert not gives_right_data(content)
    assert time.process_time() - start < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000  # kB
