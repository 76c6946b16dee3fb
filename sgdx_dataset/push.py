"""Uploading a folder to the Hugging Face Hub as one commit, whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, get_token
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from .columns import VERSION
from .io.errors import SgdxError

# What the HTTP client of huggingface_hub raises, whichever one it is: cut connections too.
_HTTP_ERROR: type[Exception] = HfHubHTTPError.__bases__[0]
_OF_THE_HUB = (".gitattributes", "README.md", "LICENSE")  # a repository made by hand may have these
_EXPLANATIONS = {
    401: "the Hub does not accept the access token; log in with hf auth login, or set HF_TOKEN",
    403: "the access token has no right to write there",
    412: "somebody else has changed the repository meanwhile; run the command again",
    429: "the Hub answers that there were too many requests; wait, then run the command again",
}


def upload(
    folder: Path,
    repo_id: str,
    kind: str,
    *,
    own: Sequence[str],  # patterns of all paths that uploads of this sort may have made
    mark: str,  # the pattern of a path that every such upload has; other repositories are refused
    message: str,
    only: Sequence[str] | None = None,  # patterns of the files to upload; None for ``own``
    private: bool = False,
    tag: str | None = None,  # put on the commit once and never moved
    sdk: str | None = None,  # what runs a Space: ``gradio`` or ``static``
) -> str:
    """Upload files of a folder to a repository on the Hub, which is created if need be.

    All come in one commit, so that nobody ever loads a half of them. It replaces what an earlier
    upload of this sort has brought; a repository that has anything else is refused.
    """
    check_upload(repo_id)
    api = HfApi()
    repository: dict[str, Any] = {"repo_id": repo_id, "repo_type": kind}
    try:
        url = api.create_repo(**repository, private=private, exist_ok=True, space_sdk=sdk)
        parent = str(api.repo_info(**repository).sha)
        files = api.list_repo_files(**repository, revision=parent)
        others = [path for path in files if path not in _OF_THE_HUB]
        foreign = [path for path in others if not any(fnmatch(path, each) for each in own)]
        if not any(fnmatch(path, mark) for path in others):
            foreign = others
        if foreign:
            raise SgdxError(
                f"{repo_id}: has other content ({', '.join(sorted(foreign)[:3])}), expected a new "
                "repository or one of an earlier upload of this kind"
            )
        commit = api.upload_folder(
            **repository,
            folder_path=folder,
            allow_patterns=list(only or own),
            delete_patterns=list(own),
            commit_message=message,
            parent_commit=parent,  # so that what comes in between is not lost
        )
        if tag is not None:
            tags = {ref.name: ref.target_commit for ref in api.list_repo_refs(**repository).tags}
            if tag not in tags:
                api.create_tag(**repository, tag=tag, revision=commit.oid)
            elif tags[tag] != commit.oid:
                raise SgdxError(
                    f"{repo_id}: the files were uploaded to main, but the tag {tag} stands on "
                    "others and was left there; expected a new version for new content"
                )
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
    check_hub()
    if not get_token():
        raise SgdxError(
            f"{repo_id}: found no access token for the Hub, expected one with the right to write; "
            "log in with hf auth login, or set HF_TOKEN"
        )


def check_hub() -> None:
    """Check what the environment says of the Hub, before it is asked."""
    endpoint, token = os.environ.get("HF_ENDPOINT", ""), get_token() or ""
    if endpoint and not endpoint.startswith(("http://", "https://")):
        found = f"HF_ENDPOINT: found {endpoint!r}"
        raise SgdxError(f"{found}, expected an address that begins with http:// or https://")
    if not re.fullmatch(r"[!-~]*", token):  # the visible letters of ASCII
        name = "HF_TOKEN" if os.environ.get("HF_TOKEN") else "the token of hf auth login"
        raise SgdxError(f"{name}: has a letter or blank that no access token of the Hub has")


def tagged(repo_id: str) -> str | None:
    """The commit of a dataset repository that has the tag of this version; None without one."""
    try:
        tags = HfApi().list_repo_refs(repo_id, repo_type="dataset").tags
    except (OfflineModeIsEnabled, _HTTP_ERROR, OSError):
        return None
    return next((ref.target_commit for ref in tags if ref.name == f"v{VERSION}"), None)


def _reason(error: Any) -> str:
    """An error of the Hub in one line, without the help that follows on further lines."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    text = " ".join(str(error).split())
    if status in _EXPLANATIONS:
        return f"{_EXPLANATIONS[status]} ({text[:200]})"
    return text or type(error).__name__
