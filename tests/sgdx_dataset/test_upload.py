"""Uploads to a stand-in for the Hub, and its faults: whole or not at all, once, and in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.push import upload

from ..hub import TOKEN, Answer, Hub, Repository

Push = Callable[..., str]
Fault = Callable[[Hub, pytest.MonkeyPatch], None]


@pytest.fixture
def push(online: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Push:
    """Upload a small folder like a dataset's; ``content`` is what one of its files holds."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between the retries of the library
    (tmp_path / "data" / "v1").mkdir(parents=True, exist_ok=True)
    (tmp_path / "README.md").write_text("---\nlicense: apache-2.0\n---\n# Rows\n")
    (tmp_path / "data" / "v1" / "large.parquet").write_bytes(b"x" * 20_000)
    (tmp_path / "notes.txt").write_text("not for the Hub")

    def upload_folder(name: str, content: bytes = b"rows", **options: str) -> str:
        (tmp_path / "data" / "v1" / "test-0.parquet").write_bytes(content)
        own: Any = {"own": ("README.md", "data/*/*.parquet"), "mark": "data/v1/*", **options}
        return upload(tmp_path, name, "dataset", message="Rows", **own)

    return upload_folder


def of(hub: Hub, name: str = "you/rows") -> Repository:
    return hub.repositories["datasets", name]


def fails(push: Push, name: str = "you/rows", **options: str | bytes) -> str:
    """What an upload that has to fail says, which is one line without the token."""
    with pytest.raises(SgdxError) as error:
        push(name, **options)
    text = str(error.value)
    assert "\n" not in text and TOKEN not in text
    assert text.startswith(f"{name}: ")
    return text


def test_the_files_come_in_one_commit_and_nothing_else(
    push: Push, online: Hub, tmp_path: Path
) -> None:
    """Once; those of an earlier upload are removed with the next one."""
    old = tmp_path / "data" / "v9" / "test-0.parquet"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"rows")
    assert push("you/rows", tag="v1.0.0") == f"{online.url}/datasets/you/rows"
    files = ["data/v1/large.parquet", "data/v1/test-0.parquet", "data/v9/test-0.parquet"]
    assert sorted(of(online).files) == [".gitattributes", "README.md", *files]
    assert of(online).files["data/v1/large.parquet"] == b"x" * 20_000
    push("you/rows", tag="v1.0.0")
    assert len(of(online).commits) == 2  # one is the Hub's own
    assert of(online).tags == {"v1.0.0": of(online).commits[-1][0]}
    old.unlink()
    push("you/rows", content=b"other rows")
    assert sorted(of(online).files) == [".gitattributes", "README.md", *files[:2]]
    assert of(online).files["data/v1/test-0.parquet"] == b"other rows"


@pytest.mark.parametrize("is_late", [False, True])
def test_what_others_commit_meanwhile_stays(push: Push, online: Hub, is_late: bool) -> None:
    """Between the look at the newest commit and that at its files, and at the very last."""
    push("you/rows")

    def meanwhile(method: str, path: str) -> Answer | None:
        repository = of(online)
        is_info = method == "GET" and path.startswith("/api/datasets/you/rows")
        is_now = "/commit/" in path if is_late else is_info and "/tree/" not in path
        if is_now and len(repository.commits) == 2:
            repository.commit({**repository.files, "chapters/one.csv": b"precious"})
        return None

    online.fault = meanwhile
    assert ("somebody else" in fails(push, content=b"other rows")) == is_late
    assert of(online).files["chapters/one.csv"] == b"precious"
    assert of(online).files["data/v1/test-0.parquet"] == b"rows"


@pytest.mark.parametrize("path", ["chapters/one.csv", "data/other/train-0.parquet"])
def test_content_of_others_is_left_alone(push: Push, online: Hub, path: str) -> None:
    """Of another kind, or of the same."""
    repository = online.repositories["datasets", "you/rows"] = Repository(private=False)
    repository.commit({".gitattributes": b"", path: b"precious"})
    assert f"has other content ({path})" in fails(push)
    assert repository.files[path] == b"precious"
    assert len(repository.commits) == 1


def answers(place: str, status: int | None) -> Fault:
    """A Hub that has one answer to all requests for a place; without a status, it hangs up."""

    def set_fault(hub: Hub, patch: pytest.MonkeyPatch) -> None:
        hub.fault = lambda method, path: Answer(status, b"{}") if place in path else None

    return set_fault


def set_constant(name: str, value: object) -> Fault:
    return lambda hub, patch: patch.setattr(f"huggingface_hub.constants.{name}", value)


# By fault: the repository, what is at fault, and what is named.
FAULTS: dict[str, tuple[str, Fault, str]] = {
    "no right": ("somebody/rows", lambda hub, patch: None, "right to write"),
    "a wrong token": ("you/rows", lambda _, patch: patch.setenv("HF_TOKEN", TOKEN[::-1]), "access"),
    "no token": ("you/rows", lambda hub, patch: patch.delenv("HF_TOKEN"), "HF_TOKEN"),
    "nobody listens": ("you/rows", set_constant("ENDPOINT", "http://127.0.0.1:9"), "cannot be"),
    "offline": ("you/rows", set_constant("HF_HUB_OFFLINE", True), "offline mode"),
    "too many": ("you/rows", answers("/commit/", 429), "too many requests"),
    "cut at commit": ("you/rows", answers("/commit/", None), "cannot be uploaded"),
    "cut at lfs": ("you/rows", answers("/lfs/", None), "cannot be uploaded"),
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
    fails(push, tag="v1.0.0")
    online.lose = ""
    push("you/rows", tag="v1.0.0")
    assert len(of(online).commits) == 2
    tags = dict(of(online).tags)
    assert "v1.0.0" in fails(push, content=b"other rows", tag="v1.0.0")
    assert of(online).tags == tags
    push("you/rows", content=b"other rows", tag="v1.1.0")
    assert of(online).tags.keys() == {"v1.0.0", "v1.1.0"}
