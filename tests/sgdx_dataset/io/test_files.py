"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file, read_input, staged, write_bytes


def test_a_file_replaces_the_one_before(tmp_path: Path) -> None:
    place = tmp_path / "new" / "file"
    for text in ("first", "second"):
        with staged(place) as staging:
            assert staging.parent.parent == place.parent
            assert re.fullmatch(r"\.file\..*\.incomplete", staging.parent.name)
            staging.write_text(text)
        assert place.read_text() == text
    with suppress(KeyError), staged(place) as staging:
        staging.write_text("half")
        raise KeyError
    assert place.read_text() == "second"
    assert list(place.parent.iterdir()) == [place]


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
    with pytest.raises(SgdxError, match=f"^{place}/a/b: cannot be written: .*File exists"):
        staged(place / "a" / "b").__enter__()


def test_a_folder_that_another_process_made_meanwhile_stays(tmp_path: Path) -> None:
    place = tmp_path / "folder"
    with pytest.raises(SgdxError, match="folder: cannot be written: .*not empty"):  # noqa: SIM117
        with staged(place) as staging:
            staging.mkdir()
            place.mkdir()
            (place / "theirs").write_text("theirs")
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", "theirs"]


@pytest.mark.posix
def test_files_that_are_no_files(tmp_path: Path) -> None:
    """A pipe has no end to wait for, and a link to a device may have one that never comes."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "dangling").symlink_to("nowhere")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate((1 << 26) + 1)
    for name, message in (
        ("pipe", "found something other than a file, expected a regular file"),
        ("zero", "found something other than a file, expected a regular file"),
        ("dangling", "cannot be read: .*No such file"),
        ("huge", "found 67108865 bytes, expected at most 67108864"),
        ("x" * 300, "cannot be read: .*File name too long"),
    ):
        with pytest.raises(SgdxError, match=f"{name}: {message}"):
            read_file(tmp_path / name)


@pytest.mark.posix
def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "file")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "elsewhere" / "file").read_bytes() == b"new"


@pytest.mark.posix
def test_a_device_or_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (Path("/dev/null"), tmp_path / "pipe"):
        with pytest.raises(SgdxError, match=f"^{place}: found no regular file there"):
            write_bytes(place, b"new")
    assert (tmp_path / "pipe").is_fifo()


def test_names_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    for name in ("n" * 255, "é" * 127):
        write_bytes(tmp_path / name, b"new")
        assert (tmp_path / name).read_bytes() == b"new"
    with pytest.raises(SgdxError, match=r"n: cannot be written: .*File name too long"):
        write_bytes(tmp_path / ("n" * 256), b"new")


@pytest.mark.posix
def test_an_input_is_of_any_size_and_may_be_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name, message in (
        ("zero", "zero: found a device, expected a file"),
        ("none", "none: No such file or directory"),
        ("x" * 300, "File name too long"),
    ):
        with pytest.raises(SgdxError, match=message):
            read_input(tmp_path / name)
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["/bin/sh", "-c", f"echo text > {tmp_path / 'pipe'}"]):
        assert read_input(tmp_path / "pipe") == b"text\n"


def test_nothing_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the whole content is there, what was there before is what others read."""
    target = tmp_path / "file"
    target.write_bytes(b"before")
    read: list[bytes] = []
    replace = Path.replace

    def look_first(source: Path, place: Path) -> Path:
        read.append(target.read_bytes())
        return replace(source, place)

    monkeypatch.setattr(Path, "replace", look_first)
    write_bytes(target, b"after")
    assert (read, target.read_bytes()) == ([b"before"], b"after")
