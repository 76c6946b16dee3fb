"""Sources: folders, archives, parts of a release, the one prepared last; those that are refused."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError, frame_tables, load, prepare
from sgdx_dataset.release import open_release
from sgdx_dataset.rows import row_tables

from ..conftest import Run
from .conftest import DIALOGUE, write

TOP = "dstc8-schema-guided-dialogue-0123abc"


def test_an_archive_gives_what_its_directory_gives(mini: Path) -> None:
    """Also of files with the marks that Windows' editors write."""
    for encoding, path in (
        ("utf-8-sig", mini / "test" / "schema.json"),
        ("utf-16", mini / "test" / "dialogues_001.json"),
    ):
        path.write_bytes(path.read_text().encode(encoding))
    shutil.copytree(mini, mini.parent / "packed" / TOP)  # as GitHub serves it
    place = Path(shutil.make_archive(str(mini.parent / "r"), "zip", mini.parent / "packed", TOP))
    archive, directory = open_release(place), open_release(mini)
    assert archive.files.keys() == directory.files.keys()
    assert len(archive.files) == 3 + 3 + 15
    read = [[table for _, table in row_tables(r, "test", "v2")] for r in (archive, directory)]
    assert read[0] == read[1]
    # The fingerprint of each follows its content.
    before = [open_release(copy).fingerprint for copy in (place, mini)]
    assert before == [archive.fingerprint, directory.fingerprint]
    write(mini / "test" / "dialogues_001.json", [DIALOGUE])
    with zipfile.ZipFile(place, "a") as file:
        file.writestr(f"{TOP}/note", "")
    after = [open_release(copy).fingerprint for copy in (place, mini)]
    assert not {*before} & {*after}


def test_schemas_of_another_variant_or_none_are_named(mini: Path) -> None:
    schemas = mini / "sgd_x" / "data"
    shutil.copy(schemas / "v1" / "test" / "schema.json", schemas / "v2" / "test")
    with pytest.raises(SgdxError, match="v2/test/schema.json: service Flats_11: .*v1.*v2"):
        open_release(mini).schema("test", "v2")
    (schemas / "v3" / "test" / "schema.json").unlink()
    with pytest.raises(SgdxError, match=f"^{mini}: .* sgd_x/data/v3/test/schema.json"):
        list(row_tables(open_release(mini), "test", "v3"))
    for split in ("test", "dev", "train"):
        (mini / split / "schema.json").unlink()
        with pytest.raises(SgdxError, match=f"^{mini}: .* {split}/schema.json"):
            open_release(mini)


@pytest.mark.parametrize(
    ("file", "old", "is_same"),
    [
        ("test/dialogues_001.json", "No, thanks.", False),
        ("dev/dialogues_001.json", "No, thanks.", True),
        ("test/schema.json", "lets flats", False),
        ("sgd_x/data/v1/test/schema.json", "lets flats", False),
        ("sgd_x/data/v2/test/schema.json", "lets flats", True),
        ("dev/schema.json", "lets flats", True),
    ],
)
def test_a_digest_of_data_is_of_what_their_rows_are_made_from(
    mini: Path, file: str, old: str, is_same: bool
) -> None:
    before = open_release(mini).data_digest("test", "v1")
    text = (mini / file).read_text()
    assert old in text
    (mini / file).write_text(text.replace(old, "Others"))
    assert (open_release(mini).data_digest("test", "v1") == before) == is_same


# ---- a source that has a part alone, such as the test split of one's own API

GAPS = (
    "the source has no train split, no validation split, no v1 to v5; every service counts as "
    "unseen"
)


def test_a_folder_with_a_test_split_alone_is_a_source(
    mini: Path, tmp_path: Path, run: Run, cache: Path
) -> None:
    """From the folder to scores of predictions; commands say what it lacks."""
    assert open_release("sample").gaps() == ""
    assert open_release("sample").scored_variants() == ["original", "v1", "v2", "v3", "v4", "v5"]
    shutil.rmtree(mini / "sgd_x/data/v2")
    assert open_release(mini).gaps() == "the source has no v2"
    for name in ("train", "dev", "sgd_x"):
        shutil.rmtree(mini / name)
    release = open_release(mini)
    assert (release.configs(), release.scored_variants()) == (("original",), ["original"])
    assert (release.splits("original"), release.gaps()) == (["test"], GAPS)
    assert release.version("test").startswith("unverified:")
    assert not any(frame_tables(release, "test", "original")["seen"].to_pylist())
    for split, config in (("train", "original"), ("test", "v3")):
        with pytest.raises(SgdxError, match=f"^{mini}: .*{config}"):
            frame_tables(release, split, config)
    (tmp_path / "ours.json").write_text("{}")
    own = {"ours": tmp_path / "ours.json"}
    assert open_release(mini, own).scored_variants() == ["original", "ours"]
    for words in (
        "prepare",
        "export frames --split test --output frames",
        "show",
        "predict --tracker lexical --output predictions",
        "score --predictions predictions",
        "ask predict --estimate --model m",
    ):
        done = run("sgdx_cli", *words.split(), "--source", mini)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count(f"note: {GAPS}\n") == 1
    assert [file.name for file in (tmp_path / "frames").iterdir()] == ["original.parquet"]
    assert [file.name for file in (tmp_path / "predictions").glob("*.jsonl")] == ["original.jsonl"]


# ---- where none is named, the one that was prepared last


def test_what_prepare_was_given_is_the_default_of_every_command(
    run: Run, mini: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run("sgdx_dataset", "prepare", "--source", "mini", "--variant", "v1")
    assert done.returncode == 0 and "note: " not in done.stderr, done.stderr
    note = json.loads((cache / "sgdx-source.json").read_text())
    assert note == {"source": str(mini)}
    done = run("sgdx_dataset", "export", "--variant", "v1", "--output", "out")
    assert done.stdout == "out/train\nout/dev\nout/test\n", done.stderr
    told = f"note: the source is {mini}, which prepare was given last; "
    assert done.stderr.startswith(told) and done.stderr.count("\n") == 1
    # The header of predictions says what they are of, so that there is nothing to choose.
    predict = ("--tracker", "lexical", "--variant", "v1", "--output", "a")
    assert run("sgdx_cli", "predict", *predict).stderr.startswith(told)
    assert run("sgdx_metric", "score", "--predictions", "a").stderr == ""
    assert run("sgdx_dataset", "stats", SGDX_SOURCE=str(mini)).stderr == ""
    assert len(load("v1", "test")) == 2
    # What comes first: an argument, then the environment, then what is remembered.
    monkeypatch.setenv("SGDX_SOURCE", "sample")
    assert (len(load("v1", "test")), len(load("v1", "test", mini))) == (36, 2)
    write(mini / "test" / "dialogues_001.json", [DIALOGUE])
    done = run("sgdx_dataset", "prepare", "--source", mini, "--variant", "v2")
    assert done.stderr.splitlines()[0].endswith("older copy: v1")
    done = run("sgdx_dataset", "prepare", "--source", "sample", "--variant", "v1")
    assert done.stderr.splitlines()[0].endswith("older copy: v2")


def test_a_changed_source_is_noticed(
    mini: Path, cache: Path, recwarn: pytest.WarningsRecorder
) -> None:
    prepare(mini, ["v1"])
    copy = shutil.copytree(mini, cache / "copy")
    assert len(load("v1", "test", copy)) == 2  # from what is prepared of the same data
    write(mini / "test" / "dialogues_001.json", [DIALOGUE])
    with pytest.warns(UserWarning, match=f"{mini} has changed since it was prepared"):
        assert len(load("v1", "test")) == 1
    recwarn.clear()
    assert len(load("v1", "test")) == 1
    assert not recwarn.list
    assert not (cache / "sgdx-sources").exists()


def test_no_source_that_can_be_read(run: Run, mini: Path, cache: Path) -> None:
    """None was prepared, it is gone, or the note of it is damaged: nothing is downloaded."""

    def refused(named: str) -> None:
        done = run("sgdx_dataset", "stats")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"sgdx: error: {named}"), done.stderr

    refused("no source is named")
    write(cache / "sgdx-source.json", {"source": str(mini / "gone")})
    refused(f"{mini}/gone: ")
    write(cache / "sgdx-source.json", ["sample"])
    refused(f"{cache}/")
