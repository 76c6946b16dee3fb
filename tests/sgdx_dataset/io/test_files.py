"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import codecs
import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.io import secrets
from sgdx_dataset.io.files import (
    inputs_are_kept,
    is_written,
    locked,
    read_file,
    read_input,
    remove,
    run_folder,
    staged,
    write_bytes,
)


def test_a_file_replaces_the_one_before_and_never_in_place(tmp_path: Path) -> None:
    """Until the whole content is there, what was there before is what others read."""
    place = tmp_path / "new" / "file"
    for before, text in ((None, "first"), ("first", "second")):
        with staged(place) as staging:
            assert staging.parent.parent == place.parent
            assert re.fullmatch(r"\.file\..*\.incomplete", staging.parent.name)
            staging.write_text(text)
            assert (place.read_text() if place.exists() else None) == before
        assert place.read_text() == text
    with suppress(KeyError), staged(place) as staging:
        staging.write_text("half")
        raise KeyError
    assert place.read_text() == "second"
    assert list(place.parent.iterdir()) == [place]


@pytest.mark.posix
def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "folder"
    for fails in (True, False):
        with suppress(KeyError), staged(place) as staging:
            staging.mkdir()
            (staging / "a").write_text("a")
            assert not place.exists()
            if fails:
                raise KeyError
        assert [path.name for path in tmp_path.rglob("*")] == ([] if fails else ["folder", "a"])
    with pytest.raises(SgdxError, match=f"^{place}/a/b: "):
        staged(place / "a" / "b").__enter__()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "elsewhere").read_bytes() == b"new"
    with pytest.raises(SgdxError, match="^/dev/null: "):
        write_bytes(Path("/dev/null"), b"new")
    with pytest.raises(SgdxError, match="meanwhile: "), staged(tmp_path / "meanwhile") as staging:
        staging.mkdir()
        (tmp_path / "meanwhile").mkdir()
        (tmp_path / "meanwhile" / "theirs").write_text("theirs")
    assert [path.name for path in (tmp_path / "meanwhile").rglob("*")] == ["theirs"]


@pytest.mark.posix
def test_what_is_read_is_a_file_or_what_a_user_pipes(tmp_path: Path) -> None:
    """A pipe in a folder has no end to wait for, and a link to a device none that ever comes."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name, size in (("huge", (1 << 26) + 1), ("largest", 1 << 26)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    for name in ("pipe", "zero", "dangling", "huge", "x" * 300):
        with pytest.raises(SgdxError, match=f"{name}: "):
            read_file(tmp_path / name)
    assert len(read_file(tmp_path / "largest")) == 1 << 26
    for name in ("zero", "none", "x" * 300):
        with pytest.raises(SgdxError, match=f"{name}: "):
            read_input(tmp_path / name)
    with subprocess.Popen(["/bin/sh", "-c", f"echo text > {tmp_path / 'pipe'}"]):
        assert read_input(tmp_path / "pipe") == b"text\n"


def test_a_command_keeps_what_it_has_read_unless_it_renews_it(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_bytes(file, b"1")
    read_file(file)
    write_bytes(file, b"2")  # outside of a command
    with inputs_are_kept():
        read_input(file)
        with pytest.raises(SgdxError, match=f"^{file}: "):
            write_bytes(file, b"3")
        assert file.read_bytes() == b"2"
        write_bytes(file, b"4", renews=True)
        write_bytes(tmp_path / "other", b"5")
    assert [path.read_bytes() for path in (file, tmp_path / "other")] == [b"4", b"5"]


def test_a_folder_is_for_one_run_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "1"
    with locked(folder), pytest.raises(SgdxError, match=f"^{folder}: "), locked(folder):
        pass
    assert not folder.parent.exists()  # nothing was written into it
    with locked(folder):
        (folder / "a").touch()
    assert [path.name for path in folder.iterdir()] == ["a"]


def test_a_byte_order_mark_says_the_encoding(tmp_path: Path) -> None:
    """As Windows' shells and editors write it."""
    path, text = tmp_path / "text.json", '{"caf\u00e9": 1}\n'
    for content in (
        text.encode(),
        text.encode("utf-8-sig"),
        codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    ):
        path.write_bytes(content)
        assert read_file(path) == read_input(path) == text.encode()
    path.write_bytes(codecs.BOM_UTF16_LE + b"\x00\xd8")  # half a character
    for read in (read_file, read_input):
        with pytest.raises(SgdxError, match=r"text\.json"):
            read(path)


def test_keys_are_taken_out_of_texts_and_of_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a file is looked at in parts, as a large one is, and in all files of a folder."""
    key = "sk-0123456789"
    for part in (1 << 24, 8):
        monkeypatch.setattr("sgdx_dataset.io.files._PART", part)
        with secrets.keys_are_taken_out():
            secrets.note_key(key)
            text, binary = f"a {key}\n\xff{key}".encode("latin-1") * 9, b"\0" + key.encode()
            write_bytes(tmp_path / "text", text)
            write_bytes(tmp_path / "binary", binary)
            with staged(tmp_path / f"folder{part}") as folder:
                (folder / "in").mkdir(parents=True)
                (folder / "in" / "text").write_bytes(text)
        for name in ("text", f"folder{part}/in/text"):
            assert (tmp_path / name).read_bytes() == text.replace(key.encode(), b"[key]")
        assert (tmp_path / "binary").read_bytes() == binary


@pytest.mark.parametrize("folder", [Path("/"), Path("/usr/.."), Path.home()])
def test_the_root_and_a_home_are_no_folder_of_ours(folder: Path) -> None:
    """Files of everybody below would be taken for those of the run."""
    before = set(folder.iterdir())
    with pytest.raises(SgdxError, match=f"^{re.escape(str(folder))}: "), run_folder(folder):
        pass
    assert set(folder.iterdir()) == before


def test_a_run_folder_knows_its_files_by_any_path(tmp_path: Path) -> None:
    """What is there is replaced and removed only if it is as it was written."""
    run, again = tmp_path / "run", tmp_path / "run" / ".." / "run"
    with run_folder(run):
        assert run.is_dir()
    assert not run.exists()
    (run / "in").mkdir(parents=True)
    (run / "theirs").write_text("x")
    with run_folder(run):
        write_bytes(run / "in" / "ours", b"1")
        write_bytes(again / "in" / "ours", b"2")
        assert is_written(again / "in" / "ours") and not is_written(run / "theirs")
        for name in ("theirs", "in/../theirs"):
            with pytest.raises(SgdxError, match="theirs"):
                write_bytes(run / name, b"2")
            remove(run / name)
        (run / "in" / "ours").write_text("2 and more")
        with pytest.raises(SgdxError, match="ours"):
            write_bytes(run / "in" / "ours", b"3")
        remove(run / "in" / "ours")
        write_bytes(run / "in" / "ours", b"3", renews=True)
        assert (run / "theirs").read_text() == "x" and (run / "in" / "ours").read_bytes() == b"3"
        remove(run / "in" / "ours")
    assert sorted(path.name for path in run.rglob("*")) == [".sgdx-written", "in", "theirs"]
