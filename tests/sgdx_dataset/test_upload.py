"""Uploads to a stand-in for the Hub, and its faults: whole or not at all, once, and in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from sgdx_dataset import SgdxError
from sgdx_dataset.options import UploadOptions
from sgdx_dataset.push import (
    MANIFEST,
    PLACEHOLDER,
    Kind,
    Place,
    addressed,
    check_upload,
    publish,
)

from ..hub import READ_TOKEN, SEEDS, TOKEN, Answer, Hub, Repository

Push = Callable[..., str | Path]
LARGE = b"0123456789abcdef" * 12_500  # in four parts
CARD = b"---\nlicense: apache-2.0\n---\n# Rows\n"
FILES = {"README.md": CARD, "data/v1/large.parquet": LARGE, "data/v1/test-0.parquet": b"rows"}
SEED = SEEDS["datasets"]


@pytest.fixture
def push(online: Hub, monkeypatch: pytest.MonkeyPatch) -> Push:
    """Upload a small folder like a dataset's, or the given files."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between the retries of the library

    def push_files(
        name: str = "you/rows",
        files: dict[str, bytes] = FILES,
        tag: str | None = None,
        kind: Kind = "dataset",
        sdk: str | None = None,
        what: str = "dataset",
        **options: Any,
    ) -> str | Path:
        def make(folder: Path) -> None:
            for path, content in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)

        return publish(make, Place(name, kind, what, UploadOptions(**options), tag, sdk), "Rows")

    return push_files


def of(hub: Hub, name: str = "you/rows", kind: str = "datasets") -> Repository:
    return hub.repositories[kind, name]


def content(repository: Repository) -> dict[str, bytes]:
    """The files of a repository without those that tell where they came from."""
    hidden = (MANIFEST, ".gitattributes")
    return {path: of for path, of in repository.files.items() if path not in hidden}


def fails(push: Push, name: str = "you/rows", **options: Any) -> str:
    """What an upload that has to fail says, which is one line without the token."""
    with pytest.raises(SgdxError) as error:
        push(name, **options)
    text = str(error.value)
    assert "\n" not in text and TOKEN not in text and READ_TOKEN not in text
    return text


def test_the_files_come_in_one_commit_and_those_of_the_last_upload_go(
    push: Push, online: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """Others beside them stay and are named; a private repository of an organisation too."""
    more = FILES | {"data/v9/test-0.parquet": b"rows"}
    assert push(files=more, tag="v1.0.0") == f"{online.url}/datasets/you/rows"
    assert content(of(online)) == more
    assert {number for _, number in online.parts} == {1, 2, 3, 4}
    push(files=more, tag="v1.0.0")  # the same again is no commit
    assert of(online).titles == ["initial commit", "Rows"]
    assert of(online).tags == {"v1.0.0": of(online).commits[-1][0]}
    of(online).commit({**of(online).files, "notes.txt": b"mine"}, "Mine")
    other = FILES | {"data/v1/test-0.parquet": b"other rows"}
    push(files=other)
    assert content(of(online)) == other | {"notes.txt": b"mine"}
    assert "notes.txt" in capsys.readouterr().err
    for _ in range(2):
        push("org/rows", private=True, tag="v1")
    assert of(online, "org/rows").private and len(of(online, "org/rows").commits) == 2


@pytest.mark.parametrize(
    ("kind", "sdk"), [("model", None), ("dataset", None), ("space", "static"), ("space", "gradio")]
)
def test_what_the_hub_puts_into_a_new_repository_is_replaced(
    push: Push, online: Hub, kind: Kind, sdk: str | None
) -> None:
    """Also by the second try, after the first one has left it as the Hub made it."""
    files = {"README.md": b"---\nsdk: static\n---\n# Page\n", "index.html": b"a page"}
    online.fault = lambda method, path: Answer(500) if "/commit/" in path else None
    fails(push, files=files, kind=kind, sdk=sdk)
    assert of(online, kind=f"{kind}s").files == SEEDS[sdk or f"{kind}s"]
    online.fault = None
    push(files=files, kind=kind, sdk=sdk)
    assert content(of(online, kind=f"{kind}s")) == files


@pytest.mark.parametrize("is_late", [False, True])
def test_what_others_commit_meanwhile_stays(push: Push, online: Hub, is_late: bool) -> None:
    """Between the look at the newest commit and that at its files, and at the very last."""
    push()

    def meanwhile(method: str, path: str) -> Answer | None:
        repository = of(online)
        is_info = method == "GET" and path.startswith("/api/datasets/you/rows")
        is_now = "/commit/" in path if is_late else is_info and "/tree/" not in path
        if is_now and len(repository.commits) == 2:
            repository.commit({**repository.files, "chapters/one.csv": b"precious"})
        return None

    online.fault = meanwhile
    other = FILES | {"data/v1/test-0.parquet": b"other rows"}
    if is_late:
        assert "somebody else" in fails(push, files=other)
        assert content(of(online)) == FILES | {"chapters/one.csv": b"precious"}
    else:
        push(files=other)
        assert content(of(online)) == other | {"chapters/one.csv": b"precious"}


# Of a repository: what somebody has put there, whether after an upload, and what is uploaded then.
OTHERS: dict[str, tuple[dict[str, bytes], bool, dict[str, bytes]]] = {
    "of another kind": ({"chapters/one.csv": b"precious"}, False, FILES),
    "in a page that the Hub did not make": ({"index.html": b"precious"}, False, FILES),
    "an edited card": ({"README.md": b"# Mine\n"}, True, FILES),
    "a file of the name of a new one": ({"new.txt": b"mine"}, True, FILES | {"new.txt": b"ours"}),
}


@pytest.mark.parametrize("case", OTHERS)
def test_content_of_others_is_left_alone_and_named(push: Push, online: Hub, case: str) -> None:
    others, is_after, files = OTHERS[case]
    if is_after:
        push()
    else:
        online.repositories["datasets", "you/rows"] = Repository(private=False)
        of(online).commit({".gitattributes": b""}, "Mine")
    of(online).commit({**of(online).files, **others}, "Mine")
    before = list(of(online).commits)
    assert all(path in fails(push, files=files) for path in others)
    assert of(online).commits == before
    address = push(files=files, pull_request=True)
    assert address == f"{online.url}/datasets/you/rows/discussions/1"
    assert of(online).commits == before
    assert files.items() <= of(online).pulls[0].items()


# By step: a part of the path that is asked for there.
STEPS = (
    "/api/whoami-v2", "/api/datasets/you/rows", "/api/repos/create", "/api/validate-yaml",
    "/preupload/", "/objects/batch", "/lfs/", "/objects/complete", "/objects/verify", "/commit/",
    "/tag/",
)  # fmt: skip


@pytest.mark.parametrize(
    ("step", "status"),
    [*product(STEPS, (500, None)), *(("/commit/", status) for status in (403, 409, 412, 429))],
)
def test_a_fault_at_any_step_leaves_nothing_half_and_the_second_try_repairs(
    push: Push, online: Hub, step: str, status: int | None
) -> None:
    online.fault = lambda _, path: Answer(status, b"{}") if step in path else None
    assert fails(push, tag="v1").startswith("you/rows: ")
    if ("datasets", "you/rows") in online.repositories:
        assert content(of(online)) in ({}, FILES) and of(online).tags == {}
    assert (("datasets", "you/rows") in online.repositories) == (STEPS.index(step) > 3)
    online.fault = None
    push(tag="v1")
    assert content(of(online)) == FILES and len(of(online).commits) == 2
    assert of(online).tags == {"v1": of(online).commits[-1][0]}


# By fault: the repository, the options, the environment, and a word that names it.
REFUSED: dict[str, tuple[str, dict[str, Any], dict[str, str], str]] = {
    "no owner": ("rows", {}, {}, "YOU/rows"),
    "a name that the Hub refuses": ("you/ro..ws", {}, {}, "you/ro..ws"),
    "two owners": ("you/and/rows", {}, {}, "you/and/rows"),
    "another's name": ("somebody/rows", {}, {}, "you, org"),
    "a token that may only read": ("you/rows", {}, {"HF_TOKEN": READ_TOKEN}, "only read"),
    "a wrong token": ("you/rows", {}, {"HF_TOKEN": "hf_wrong"}, "access token"),
    "a token with a letter that none has": ("you/rows", {}, {"HF_TOKEN": "hf_ä"}, "HF_TOKEN"),
    "no token": ("you/rows", {}, {"HF_TOKEN": ""}, "HF_TOKEN"),
    "no address": ("you/rows", {}, {"HF_ENDPOINT": "127.0.0.1:9"}, "HF_ENDPOINT: found"),
    "nobody listens": ("you/rows", {}, {"ENDPOINT": "http://127.0.0.1:9"}, "cannot be"),
    "offline": ("you/rows", {}, {"HF_HUB_OFFLINE": "1"}, "offline"),
    "a tag that is none": ("you/rows", {"tag": "a tag"}, {}, "--tag"),
    "no repository to propose to": ("you/rows", {"pull_request": True}, {}, "pull request"),
    "a tag for a proposal": ("you/rows", {"pull_request": True, "tag": "v1"}, {}, "--tag"),
    "private, but public": ("you/there", {"private": True}, {}, "public"),
    "of another kind": ("you/there", {"what": "report"}, {}, "dataset"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_can_be_refused_is_refused_before_anything_is_made(
    push: Push, online: Hub, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    push("you/there")
    name, options, environment, word = REFUSED[fault]
    before, asked = dict(online.repositories), len(online.requests)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
        if hasattr(constants, variable):  # which the client has read already
            monkeypatch.setattr(constants, variable, value)
    chosen = UploadOptions(**{key: of for key, of in options.items() if key != "what"})
    with pytest.raises(SgdxError) as error:
        check_upload(Place(name, "dataset", options.get("what", "dataset"), chosen))
    line = str(error.value)
    assert word in line and "\n" not in line and "hf_wrong" not in line
    assert online.repositories == before
    assert {method for method, *_ in online.requests[asked:]} <= {"GET", "HEAD"}


def test_an_answer_that_is_lost_makes_no_second_commit_and_a_tag_never_moves(
    push: Push, online: Hub
) -> None:
    online.lose = "/commit/"
    fails(push, tag="v1.0.0")
    online.lose = None
    push(tag="v1.0.0")
    assert len(of(online).commits) == 2
    tags, commits = dict(of(online).tags), list(of(online).commits)
    other = FILES | {"data/v1/test-0.parquet": b"other rows"}
    assert "v1.0.0" in fails(push, files=other, tag="v1.0.0")
    assert (of(online).tags, of(online).commits) == (tags, commits)  # nothing was replaced
    push(files=other, tag="v1.1.0")
    assert of(online).tags.keys() == {"v1.0.0", "v1.1.0"}


def test_a_card_that_the_hub_refuses_makes_no_repository(push: Push, online: Hub) -> None:
    wrong = FILES | {"README.md": b"---\nlicense: of my own\n---\n"}
    assert "license" in fails(push, files=wrong)
    assert online.repositories == {}


# What pip has recorded of the installation, and what stands in a card then.
ADDRESSES: list[tuple[dict[str, Any], str, str]] = [
    ({}, "git+https://github.com/YOU/sgdx.git", "https://github.com/YOU/sgdx/blob"),
    (
        {"url": "https://KEY@host.org/we/sgdx.git", "vcs_info": {"vcs": "git", "commit_id": "c0"}},
        "git+https://host.org/we/sgdx.git@c0", "https://host.org/we/sgdx/blob",
    ),
    ({"url": "file:///home/me/sgdx", "dir_info": {"editable": True}}, "YOU/sgdx", "YOU/sgdx/blob"),
    ({"url": "ssh://me@host/sgdx", "vcs_info": {"vcs": "git", "commit_id": "c0"}}, "YOU", "YOU"),
]  # fmt: skip


@pytest.mark.parametrize(("recorded", "pip", "page"), ADDRESSES)
def test_a_card_names_where_others_install_from(
    recorded: dict[str, Any], pip: str, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Installed:
        read_text = staticmethod(lambda name: json.dumps(recorded))

    monkeypatch.setattr("sgdx_dataset.push.distribution", lambda name: Installed)
    card = addressed(f'pip install "sgdx @ git+{PLACEHOLDER}.git" ({PLACEHOLDER}/blob/main)')
    assert pip in card and page in card
    assert not any(private in card for private in ("KEY", "/home/me", "ssh"))
