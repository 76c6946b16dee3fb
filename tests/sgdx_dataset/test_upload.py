"""Uploads to a stand-in for the Hub, and its faults: whole or not at all, once, and in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.push import upload

from ..hub import TOKEN, Answer, Hub, Repository

OWN = ("README.md", "data/*/*.parquet")
Push = Callable[..., str]
Fault = Callable[[Hub, pytest.MonkeyPatch], None]


@pytest.fixture
def push(online: Hub, tmp_path: Path) -> Push:
    """Upload a small folder like a dataset's; ``content`` is what one of its files holds."""

    def upload_folder(name: str, content: bytes = b"rows", **options: str) -> str:
        (tmp_path / "data" / "v1").mkdir(parents=True, exist_ok=True)
        (tmp_path / "README.md").write_text("---\nlicense: apache-2.0\n---\n# Rows\n")
        (tmp_path / "data" / "v1" / "test-0.parquet").write_bytes(content)
        (tmp_path / "data" / "v1" / "large.parquet").write_bytes(b"x" * 20_000)
        (tmp_path / "notes.txt").write_text("not for the Hub")
        own: Any = {"own": OWN, "mark": "data/v1/*", "message": "Rows", **options}
        return upload(tmp_path, name, "dataset", **own)

    return upload_folder


def of(hub: Hub, name: str) -> Repository:
    return hub.repositories["datasets", name]


def fails(push: Push, name: str, **options: str | bytes) -> str:
    """What an upload that has to fail says, which is one line without the token."""
    with pytest.raises(SgdxError) as error:
        push(name, **options)
    text = str(error.value)
    assert "\n" not in text
    assert TOKEN not in text
    assert text.startswith(f"{name}: ")
    return text


def test_the_files_come_in_one_commit_and_nothing_else(push: Push, online: Hub) -> None:
    assert push("you/rows", tag="v1.0.0") == f"{online.url}/datasets/you/rows"
    repository = of(online, "you/rows")
    assert sorted(repository.files) == [
        ".gitattributes", "README.md", "data/v1/large.parquet", "data/v1/test-0.parquet",
    ]  # fmt: skip
    assert repository.files["data/v1/large.parquet"] == b"x" * 20_000
    assert len(repository.commits) == 2  # one is the Hub's own
    assert repository.tags == {"v1.0.0": repository.commits[-1][0]}
    push("you/rows", tag="v1.0.0")
    assert len(repository.commits) == 2


def test_files_of_an_earlier_upload_are_removed(push: Push, online: Hub, tmp_path: Path) -> None:
    old = tmp_path / "data" / "v9" / "test-0.parquet"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"rows")
    push("you/rows")
    old.unlink()
    push("you/rows", content=b"other rows")
    commits = of(online, "you/rows").commits
    assert ["data/v9/test-0.parquet" in files for _, files in commits] == [False, True, False]
    assert of(online, "you/rows").files["data/v1/test-0.parquet"] == b"other rows"


@pytest.mark.parametrize("is_late", [False, True])
def test_what_others_commit_meanwhile_stays(push: Push, online: Hub, is_late: bool) -> None:
    """Between the look at the newest commit and that at its files, and at the very last."""
    push("you/rows")

    def meanwhile(method: str, path: str) -> Answer | None:
        repository = of(online, "you/rows")
        is_info = method == "GET" and path.startswith("/api/datasets/you/rows")
        is_now = "/commit/" in path if is_late else is_info and "/tree/" not in path
        if is_now and len(repository.commits) == 2:
            repository.commit({**repository.files, "chapters/one.csv": b"precious"})
        return None

    online.fault = meanwhile
    line = fails(push, "you/rows", content=b"other rows")
    assert ("somebody else" in line) == is_late
    assert of(online, "you/rows").files["chapters/one.csv"] == b"precious"
    assert of(online, "you/rows").files["data/v1/test-0.parquet"] == b"rows"


@pytest.mark.parametrize("path", ["chapters/one.csv", "data/other/train-0.parquet"])
def test_content_of_others_is_left_alone(push: Push, online: Hub, path: str) -> None:
    """Of another kind, or of the same."""
    repository = online.repositories["datasets", "you/rows"] = Repository(private=False)
    repository.commit({".gitattributes": b"", path: b"precious"})
    assert f"has other content ({path})" in fails(push, "you/rows")
    assert repository.files[path] == b"precious"
    assert len(repository.commits) == 1


def answers(place: str, answer: Answer) -> Fault:
    """A Hub that has one answer to all requests for a place."""

    def set_fault(hub: Hub, patch: pytest.MonkeyPatch) -> None:
        patch.setattr("time.sleep", lambda seconds: None)  # between the retries of the library
        hub.fault = lambda method, path: answer if place in path else None

    return set_fault


CONSTANTS = "huggingface_hub.constants"
# By fault: the repository, what is at fault, and what is named.
FAULTS: dict[str, tuple[str, Fault, str]] = {
    "no right": ("somebody/rows", lambda hub, patch: None, "right to write"),
    "a wrong token": (
        *("you/rows", lambda hub, patch: patch.setenv("HF_TOKEN", TOKEN[::-1]), "access token"),
    ),
    "no token": ("you/rows", lambda hub, patch: patch.delenv("HF_TOKEN"), "HF_TOKEN"),
    "nobody listens": (
        "you/rows",
        lambda hub, patch: patch.setattr(f"{CONSTANTS}.ENDPOINT", "http://127.0.0.1:9"),
        "cannot be uploaded",
    ),
    "offline": (
        "you/rows",
        lambda hub, patch: patch.setattr(f"{CONSTANTS}.HF_HUB_OFFLINE", True),
        "offline mode",
    ),
    "too many": ("you/rows", answers("/commit/", Answer(429, b"{}")), "too many requests"),
    **{
        f"cut at {place}": ("you/rows", answers(place, Answer(None)), "cannot be uploaded")
        for place in ("/commit/", "/lfs/", "/api/repos/create")
    },
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_publishes_nothing(push: Push, online: Hub, fault: str) -> None:
    name, set_fault, message = FAULTS[fault]
    with pytest.MonkeyPatch.context() as patch:
        set_fault(online, patch)
        line = fails(push, name)
    assert message in line and TOKEN[::-1] not in line
    if ("datasets", name) in online.repositories:
        assert list(of(online, name).files) == [".gitattributes"]
    online.fault = None
    if name == "you/rows":
        push(name)  # the next try goes through
        assert len(of(online, name).commits) == 2


def test_an_answer_that_is_lost_makes_no_second_commit_and_a_tag_never_moves(
    push: Push, online: Hub
) -> None:
    online.lose = "/commit/"
    fails(push, "you/rows", tag="v1.0.0")
    online.lose = ""
    push("you/rows", tag="v1.0.0")
    assert len(of(online, "you/rows").commits) == 2
    tags = dict(of(online, "you/rows").tags)
    assert "v1.0.0" in fails(push, "you/rows", content=b"other rows", tag="v1.0.0")
    assert of(online, "you/rows").tags == tags
    push("you/rows", content=b"other rows", tag="v1.1.0")
    assert of(online, "you/rows").tags.keys() == {"v1.0.0", "v1.1.0"}
