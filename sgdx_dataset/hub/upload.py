"""Uploading a folder to the Hugging Face Hub as one commit, whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationDelete,
    HfApi,
    RepoUrl,
    get_token,
    hf_hub_download,
)
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from ..io.errors import SgdxError
from ..io.files import read_file
from ..io.json import parse_json

# What the HTTP client of huggingface_hub raises, whichever one it is: cut connections too.
_HTTP_ERROR: type[Exception] = HfHubHTTPError.__bases__[0]
_OF_THE_HUB = (".gitattributes", "README.md", "LICENSE")  # a repository made by hand may have these
# The list of the files that an upload has brought. The next one removes no others.
LIST = ".sgdx-files.json"


def upload(
    files: Mapping[str, Path],
    repo_id: str,
    kind: str,
    *,
    own: Sequence[str],  # patterns of all paths that uploads of this sort may have made
    mark: str,  # the pattern of a path that every such upload has; other repositories are refused
    message: str,
    private: bool = False,
    tag: str | None = None,  # put on the commit once and never moved
    sdk: str | None = None,  # what runs a Space: ``gradio`` or ``static``
) -> str:
    """Upload files, by path, to a repository on the Hub, which is created if need be."""
    # All come in one commit, so that nobody ever loads a half of them. It removes what the upload
    # before has brought (``LIST``), and no files of others.
    check_upload(repo_id)
    api = HfApi()
    try:
        url = api.create_repo(
            repo_id,
            repo_type=kind,
            private=private,
            exist_ok=True,
            space_sdk=sdk,
        )
        _commit(api, files, url, message, own, mark)
        if tag is not None:
            _tag(api, files, url, tag)
    except SgdxError:  # which is a ValueError
        raise
    except (OfflineModeIsEnabled, _HTTP_ERROR, OSError, ValueError) as error:
        raise SgdxError(f"{repo_id}: cannot be uploaded: {_reason(error)}") from None
    return str(url)


def check_upload(repo_id: str) -> None:
    """Check what can be checked of an upload before long work is done for it."""
    try:
        validate_repo_id(repo_id)
    except HFValidationError as error:
        raise SgdxError(f"{repo_id}: cannot be uploaded: {_reason(error)}") from None
    if not get_token():
        raise SgdxError(
            f"{repo_id}: found no access token for the Hub, expected one with the right to write; "
            "log in with hf auth login, or set HF_TOKEN"
        )


def _check_content(url: RepoUrl, paths: Iterable[str], own: Sequence[str], mark: str) -> None:
    paths = [path for path in paths if path not in (*_OF_THE_HUB, LIST)]
    foreign = [path for path in paths if not any(fnmatch(path, pattern) for pattern in own)]
    if not any(fnmatch(path, mark) for path in paths):
        foreign = paths
    if foreign:
        raise SgdxError(
            f"{url.repo_id}: has other content ({', '.join(sorted(foreign)[:3])}), expected a new "
            "repository or one of an earlier upload of this kind"
        )


def _commit(
    api: HfApi,
    files: Mapping[str, Path],
    url: RepoUrl,
    message: str,
    own: Sequence[str],
    mark: str,
) -> None:
    """Make the commit on top of what was looked at, so that nothing that comes between is lost."""
    repository: dict[str, Any] = {"repo_id": url.repo_id, "repo_type": url.repo_type}
    parent = str(api.repo_info(**repository).sha)
    paths = _files(api, url, parent)
    _check_content(url, paths, own, mark)
    uploaded = _listed(url, parent) if LIST in paths else []
    stale = paths.keys() & set(uploaded) - files.keys() - set(_OF_THE_HUB)
    operations: list[CommitOperationAdd | CommitOperationDelete] = [
        *(CommitOperationAdd(path, str(file)) for path, file in sorted(files.items())),
        CommitOperationAdd(LIST, msgspec.json.format(msgspec.json.encode(sorted(files)))),
        *(CommitOperationDelete(path) for path in sorted(stale)),
    ]
    try:
        api.create_commit(
            operations=operations, commit_message=message, parent_commit=parent, **repository
        )
    except (_HTTP_ERROR, OSError):
        # The connection may have been cut after the commit was made; again would be twice.
        if not _has(api, files, url):
            raise


def _listed(url: RepoUrl, revision: str) -> list[str]:
    """The paths that the upload before has brought."""
    with TemporaryDirectory() as folder:
        file = hf_hub_download(
            url.repo_id, LIST, repo_type=url.repo_type, revision=revision, local_dir=folder
        )
        what = "the list of the files of an upload"
        return parse_json(read_file(Path(file)), list[str], f"{url.repo_id}: {LIST}", what)


def _tag(api: HfApi, files: Mapping[str, Path], url: RepoUrl, tag: str) -> None:
    repository: dict[str, Any] = {"repo_id": url.repo_id, "repo_type": url.repo_type}
    if tag not in [ref.name for ref in api.list_repo_refs(**repository).tags]:
        api.create_tag(tag=tag, **repository)
    elif not _has(api, files, url, tag):
        raise SgdxError(
            f"{url.repo_id}: the files were uploaded to main, but the tag {tag} stands on others "
            "and was left there; expected a new version for new content"
        )


def _files(api: HfApi, url: RepoUrl, revision: str = "main") -> dict[str, RepoFile]:
    """The files of a repository by their path."""
    tree = api.list_repo_tree(
        url.repo_id, repo_type=url.repo_type, revision=revision, recursive=True
    )
    return {entry.path: entry for entry in tree if isinstance(entry, RepoFile)}


def _has(api: HfApi, files: Mapping[str, Path], url: RepoUrl, revision: str = "main") -> bool:
    """Whether a revision has these files, whatever else others have added."""
    uploaded = _files(api, url, revision)
    return all(
        path in uploaded and _is_same(uploaded[path], file.read_bytes())
        for path, file in files.items()
    )


def _is_same(entry: RepoFile, content: bytes) -> bool:
    if entry.lfs is not None:
        return bool(entry.lfs.sha256 == hashlib.sha256(content).hexdigest())
    # The object id of git: only a checksum here.
    header = b"blob %d\0" % len(content)
    return bool(entry.blob_id == hashlib.sha1(header + content, usedforsecurity=False).hexdigest())


def _reason(error: Exception) -> str:
    """An error of the Hub in one line, without the help that follows on further lines."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    explanations = {
        401: "the Hub does not accept the access token; log in with hf auth login, or set HF_TOKEN",
        403: "the access token has no right to write there",
        412: "somebody else has changed the repository meanwhile; run the command again",
        429: "the Hub answers that there were too many requests; wait, then run the command again",
    }
    text = " ".join(str(error).split())
    return (
        f"{explanations[status]} ({text[:200]})"
        if status in explanations
        else text or type(error).__name__
    )


def folder_files(folder: Path, patterns: Iterable[str]) -> dict[str, Path]:
    """The files of a folder that match one of the patterns, by their path inside it."""
    files = (file for pattern in patterns for file in folder.glob(pattern) if file.is_file())
    return {file.relative_to(folder).as_posix(): file for file in files}
