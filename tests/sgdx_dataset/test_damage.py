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

SCHEMA = json.loads((SAMPLE / "train" / "schema.json").read_bytes())[:1]
ORIGINAL = read_schema(json.dumps(SCHEMA).encode(), "file")
SERVICE = SCHEMA[0]["service_name"]
SLOTS = [slot["name"] for slot in SCHEMA[0]["slots"]]
INTENTS = [intent["name"] for intent in SCHEMA[0]["intents"]]


def short_dialogue() -> Json:
    """The beginning of a dialogue of the first service alone."""
    files = sorted(SAMPLE.glob("train/dialogues_*.json"))
    dialogues = (dialogue for file in files for dialogue in json.loads(file.read_bytes()))
    chosen = next(dialogue for dialogue in dialogues if dialogue["services"] == [SERVICE])
    return {**chosen, "turns": chosen["turns"][:4]}


def paraphrases(*names: str) -> Json:
    return {"name": names, "description": ["One", "Two"]}


def read_rows(data: bytes) -> None:
    """Make dialogue rows and frame rows of a release whose dialogue file has these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test").mkdir()
        (Path(folder) / "test" / "schema.json").write_text(json.dumps(SCHEMA))
        (Path(folder) / "test" / "dialogues_001.json").write_bytes(data)
        release = open_release(folder)
        try:
            list(row_tables(release, "test", "original"))
            frame_tables(release, "test", "original")
        except SgdxError as error:
            raise SgdxError(str(error).removeprefix(f"{folder}: test/")) from None


# Of each kind a valid file, and what reads and checks it.
KINDS: dict[str, tuple[Json, Callable[[bytes], object]]] = {
    "schema": (SCHEMA, lambda data: read_schema(data, "file")),
    "dialogues": ([short_dialogue()], read_rows),
    "overlay": (
        {SERVICE: json.loads((SAMPLE / "backtrans" / "ja.json").read_bytes())[SERVICE]},
        lambda data: apply_words(read_words(data, "file"), {"train": ORIGINAL}, "file"),
    ),
    "new words": (
        {
            SERVICE: {
                "description": "D",
                "slots": {SLOTS[0]: "new"},
                "intents": {INTENTS[0]: {"name": "New"}},
            }
        },
        lambda data: apply_words(read_words(data, "file"), {"train": ORIGINAL}, "file"),
    ),
    "pool": (
        {
            SERVICE: {
                "description": ["One", "Two"],
                "slots": {name: paraphrases(f"{name}_b", f"{name}_c") for name in SLOTS},
                "intents": {name: paraphrases(f"{name}B", f"{name}C") for name in INTENTS},
            }
        },
        lambda data: check_pool(read_pool(data, "file"), [ORIGINAL], "file"),
    ),
}
FILE = ("file", "dialogues_001.json")


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_another_kind_is_read_or_refused(kind: str) -> None:
    value, read = KINDS[kind]

    @settings(max_examples=80, deadline=None)
    @given(data=mutations(value) | st.binary(max_size=50))
    def check(data: bytes) -> None:
        is_read(read, data, FILE)

    assert is_read(read, json.dumps(value).encode(), FILE)
    check()


@pytest.mark.parametrize("kind", KINDS)
def test_broken_json_is_refused(kind: str) -> None:
    value, read = KINDS[kind]
    accepted = {how for how, data in broken(value).items() if is_read(read, data, FILE)}
    # Of a key that is there twice in a dialogue, the last counts.
    assert accepted <= ({"key twice"} if kind == "dialogues" else set())


# ---- zip archives

SCHEMAS = {path.relative_to(SAMPLE).as_posix(): path for path in SAMPLE.rglob("schema.json")}
FILES = {name: path.read_bytes() for name, path in SCHEMAS.items()}
FILES["test/dialogues_001.json"] = (SAMPLE / "test" / "dialogues_001.json").read_bytes()


def zip_of(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"top/{name}", content)
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


@settings(max_examples=40, deadline=None)
@given(place=st.integers(0, len(WHOLE) - 1), bit=st.integers(0, 7))
def test_a_bit_is_flipped(place: int, bit: int) -> None:
    gives_right_data(WHOLE[:place] + bytes([WHOLE[place] ^ 1 << bit]) + WHOLE[place + 1 :])


@settings(max_examples=15, deadline=None)
@given(length=st.integers(0, len(WHOLE) - 1))
def test_the_end_is_cut_off(length: int) -> None:
    assert not gives_right_data(WHOLE[:length])


def with_entry(name: str) -> bytes:
    packed = io.BytesIO(WHOLE)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, b"[]")
    return packed.getvalue()


def blanks(megabytes: int) -> bytes:
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
    "a file twice": lambda: with_entry("top/test/schema.json"),
    "a file of another release": lambda: with_entry("other/test/dialogues_900.json"),
    "in another zip": lambda: zip_of({"release.zip": WHOLE}),
    "no entry": lambda: zip_of({}),
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
