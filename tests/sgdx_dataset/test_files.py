"""Files and folders that appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.files import staged


def test_a_file_replaces_the_one_before(tmp_path: Path) -> None:
    place = tmp_path / "new" / "file"
    for text in ("first", "second"):
        with staged(place) as staging:
            assert staging == tmp_path / "new" / ".file.incomplete"
            staging.write_text(text)
        assert place.read_text() == text
    assert list(place.parent.iterdir()) == [place]


def test_a_folder_appears_with_all_that_is_in_it(tmp_path: Path) -> None:
    place = tmp_path / "folder"
    with staged(place) as staging:
        staging.mkdir()
        (staging / "a").write_text("a")
        assert not place.exists()
    assert [path.name for path in place.iterdir()] == ["a"]


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("before")
    with pytest.raises(KeyError), staged(place) as staging:
        staging.write_text("half")
        raise KeyError
    assert place.read_text() == "before"
    assert list(tmp_path.iterdir()) == [place]


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / ".folder.incomplete"
    left.mkdir()
    (left / "half").write_text("half")
    with staged(tmp_path / "folder") as staging:
        staging.mkdir()
    assert list((tmp_path / "folder").iterdir()) == []


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "below"
    with pytest.raises(SgdxError, match=f"^{place}: cannot be written: .*File exists"):
        staged(place).__enter__()
