"""Publishing a folder on the Hugging Face Hub as one commit, whole or not at all.

A published folder has a *manifest*, ``.sgdx.json``: what it holds, and the digests of its files. By
it the next upload knows which files there came from here and are unchanged; only those are
replaced or deleted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import msgspec
from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationDelete,
    HfApi,
    RepoCard,
    get_token,
    hf_hub_download,
)
from huggingface_hub.errors import (
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from .columns import VERSION
from .io.errors import SgdxError
from .io.files import staged
from .io.secrets import note_addresses, note_words
from .options import UploadOptions

MANIFEST = ".sgdx.json"
PLACEHOLDER = "https://github.com/YOU/sgdx"
# What the HTTP client of huggingface_hub raises, whichever one it is: cut connections too.
_HTTP_ERROR: type[Exception] = HfHubHTTPError.__bases__[0]
# RuntimeError is what the client makes of a failed upload of a large file.
_FAULTS = (OfflineModeIsEnabled, _HTTP_ERROR, OSError, ValueError, RuntimeError)
# What the Hub itself puts into a new repository, by its kind and by the form on its page.
_SEEDS = {".gitattributes", "README.md", "LICENSE", "index.html", "style.css"}
_EXPLANATIONS = {
    401: "the Hub does not accept the access token; log in with hf auth login, or set HF_TOKEN",
    403: "the access token has no right to write there",
    412: "somebody else has changed the repository meanwhile; run the command again",
    429: "the Hub answers that there were too many requests; wait, then run the command again",
}
Kind = Literal["model", "dataset", "space"]
Maker = Callable[[Path], object]  # writes what is published into a folder, which is there


class Manifest(msgspec.Struct):
    """What a published folder says of itself.

    Attributes:
        what: What it holds, such as ``model`` or ``report``.
        files: Of each file its SHA-256 and what git calls it: the Hub knows large files by the
            first and others by the second.
    """

    what: str
    files: dict[str, tuple[str, str]]


@dataclass(frozen=True)
class Place:
    """Where on the Hub something is published.

    Attributes:
        repo_id: The repository, OWNER/NAME.
        kind: The Hub's kind of it.
        what: What is published, which the manifest says: ``model``, ``report`` ...
        options: What the user chose.
        tag: The tag without ``--tag``; it is put on the commit once and never moved.
        sdk: What runs a Space.
    """

    repo_id: str
    kind: Kind
    what: str
    options: UploadOptions = UploadOptions()  # noqa: RUF009  # is frozen
    tag: str | None = None
    sdk: str | None = None


class _There(NamedTuple):
    """What a repository on the Hub holds now."""

    head: str  # its newest commit
    files: dict[str, str]  # the digest of each file, by the name that the Hub has for it
    manifest: Manifest | None
    tags: dict[str, str]  # the commit of each
    is_seeded: bool  # holds nothing but what the Hub itself has put there

    def is_ours(self, path: str) -> bool:
        """Whether an upload or the Hub itself has made a file, and nobody has changed it since."""
        known = self.manifest.files.get(path, ()) if self.manifest else ()
        return self.is_seeded or path == MANIFEST or self.files[path] in known


def publish(make: Maker, place: Place, message: str) -> str | Path:
    """Make a folder and publish it, or write it to ``--output``: the same bytes.

    Args:
        make: Writes the files into a folder.
        place: Where to.
        message: That of the commit.

    Returns:
        The address of the repository or of the pull request, or the folder.

    Raises:
        SgdxError: The Hub or the state of the repository does not allow it. Nothing was changed
            there then, but for a new and empty repository.
    """
    if output := place.options.output:
        if output.exists():
            raise SgdxError(f"{output}: is there already, expected a new folder")
        with staged(output) as staging:
            staging.mkdir()
            _make(make, staging, place)
        return output
    check_upload(place)
    with TemporaryDirectory(prefix="sgdx-") as folder:
        manifest = _make(make, Path(folder), place)
        try:
            return _upload(Path(folder), manifest, place, message)
        except SgdxError:  # which is a ValueError
            raise
        except _FAULTS as error:
            raise SgdxError(f"{place.repo_id}: cannot be uploaded: {_reason(error)}") from None


def check_upload(place: Place) -> None:
    """Refuse what can be refused before anything is made, trained, created or written.

    That are: the name, the token and what it may do, and what the repository holds.
    """
    repo_id, options = place.repo_id, place.options
    try:
        validate_repo_id(repo_id)
    except HFValidationError as error:
        raise SgdxError(f"{repo_id}: cannot be uploaded: {_reason(error)}") from None
    owner, _, name = repo_id.partition("/")
    if not name:
        raise SgdxError(f"{repo_id}: found a name without an owner, expected YOU/{repo_id}")
    tag = options.tag or place.tag
    if tag and not re.fullmatch(r"\w[\w.+/-]*", tag, re.ASCII):
        raise SgdxError(f"--tag: found {tag!r:.60}, expected a name such as v1.0.0")
    if options.pull_request and (options.tag or options.private):
        raise SgdxError("--pull-request: found --tag or --private too, expected it without them")
    check_hub()
    if not get_token():
        raise SgdxError(
            f"{repo_id}: found no access token for the Hub, expected one with the right to write; "
            "log in with hf auth login, or set HF_TOKEN"
        )
    try:
        _check_token(place, owner)
        there = _look(place)
    except SgdxError:
        raise
    except _FAULTS as error:
        raise SgdxError(f"{repo_id}: cannot be uploaded: {_reason(error)}") from None
    if there is not None and there.manifest and not options.pull_request:
        edited = [p for p in there.manifest.files if p in there.files and not there.is_ours(p)]
        if edited:
            raise SgdxError(_in_the_way(place, edited))


def check_hub() -> None:
    """Check what the environment says of the Hub, before it is asked."""
    endpoint, token = os.environ.get("HF_ENDPOINT", ""), get_token() or ""
    note_addresses(endpoint)
    note_words(token)
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


def install_from() -> str | None:
    """Where others can install this version of the package from, as pip takes it; else None.

    It is where pip took it from, or the repository whose GitHub action is running.
    """
    if name := os.environ.get("GITHUB_REPOSITORY"):
        commit = os.environ.get("GITHUB_SHA", "")
        return f"git+https://github.com/{name}.git{f'@{commit}' if commit else ''}"
    try:
        text = distribution("sgdx").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    found = json.loads(text or "{}")
    version = found.get("vcs_info")
    if not version or not found["url"].startswith("https://"):
        return None
    address = re.sub(r"^https://[^/@]*@", "https://", found["url"])  # without a key
    return f"{version['vcs']}+{address}@{version['commit_id']}"


def addressed(text: str) -> str:
    """A text for the Hub with the address of this package in the place of the placeholder."""
    source = install_from()
    if source is None:
        return text
    text = re.sub(rf"git\+{PLACEHOLDER}(?:\.git)?(?=\")", lambda _: source, text)
    address = source.partition("+")[2].rpartition("@")[0] or source.partition("+")[2]
    return text.replace(PLACEHOLDER, address.removesuffix(".git"))


def _make(make: Maker, folder: Path, place: Place) -> Manifest:
    """Let the folder be made, and add its manifest."""
    make(folder)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    digests = {path.relative_to(folder).as_posix(): _digests(path) for path in paths}
    manifest = Manifest(place.what, digests)
    content = msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"
    (folder / MANIFEST).write_bytes(content)
    return manifest


def _digests(path: Path) -> tuple[str, str]:
    """The SHA-256 of a file, and what git calls its content."""
    large, small = hashlib.sha256(), hashlib.sha1(usedforsecurity=False)
    small.update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            large.update(block)
            small.update(block)
    return large.hexdigest(), small.hexdigest()


def _check_token(place: Place, owner: str) -> None:
    """Refuse a token that may only read, or that is of somebody without a right to the owner."""
    try:
        user: Mapping[str, Any] = HfApi().whoami()
    except HfHubHTTPError as error:
        if error.response.status_code == 404:  # a Hub of one's own that does not know the question
            return
        raise
    token = user.get("auth", {}).get("accessToken") or {}
    scopes = (token.get("fineGrained") or {}).get("scoped") or []
    allowed = {right for scope in scopes for right in scope.get("permissions", ())}
    if token.get("role") == "read" or (scopes and "repo.write" not in allowed):
        raise SgdxError(
            f"{place.repo_id}: found an access token that may only read, expected one with the "
            "right to write; make one at https://huggingface.co/settings/tokens"
        )
    owners = [user.get("name", owner), *(org["name"] for org in user.get("orgs") or ())]
    if owner.lower() not in (name.lower() for name in owners) and not place.options.pull_request:
        raise SgdxError(
            f"{place.repo_id}: found an access token with no right to write for {owner}, expected "
            f"one of {', '.join(owners)} as the owner, or --pull-request"
        )


def _look(place: Place, is_new: bool = False) -> _There | None:
    """What the repository holds; None where there is none. What does not fit is refused.

    ``is_new`` says that it was created by this very upload.
    """
    api, repo_id, options = HfApi(), place.repo_id, place.options
    repository: dict[str, Any] = {"repo_id": repo_id, "repo_type": place.kind}
    try:
        info: Any = api.repo_info(**repository)
    except RepositoryNotFoundError:
        if options.pull_request:
            raise SgdxError(
                f"{repo_id}: found no such {place.kind}, expected one to open a pull request in"
            ) from None
        return None
    if options.private and not info.private:
        raise SgdxError(f"{repo_id}: is public already, expected a new or a private repository")
    sdk = getattr(info, "sdk", None)
    if place.sdk and sdk and sdk != place.sdk:
        raise SgdxError(f"{repo_id}: is a Space of {sdk}, expected one of {place.sdk}")
    files, manifest = _files(api, repository, info.sha), None
    if MANIFEST in files:
        path = hf_hub_download(**repository, filename=MANIFEST, revision=info.sha)
        try:
            manifest = msgspec.json.decode(Path(path).read_bytes(), type=Manifest)
        except msgspec.DecodeError as error:
            raise SgdxError(f"{repo_id}: {MANIFEST}: {error}") from None
    is_seeded = is_new or (
        manifest is None and files.keys() <= _SEEDS and _is_untouched(api, repository)
    )
    others = sorted(files.keys() - {".gitattributes"})
    if manifest is None and not is_seeded and others and not options.pull_request:
        raise SgdxError(
            f"{repo_id}: has other content ({', '.join(others[:3])}), expected a new repository "
            "or one of an earlier upload"
        )
    if manifest is not None and manifest.what != place.what:
        raise SgdxError(f"{repo_id}: holds a {manifest.what}, expected a {place.what}")
    tags = {ref.name: ref.target_commit for ref in api.list_repo_refs(**repository).tags}
    return _There(info.sha, files, manifest, tags, is_seeded)


def _is_untouched(api: HfApi, repository: dict[str, Any]) -> bool:
    """Whether nobody has committed anything since the Hub made the repository."""
    try:
        commits = api.list_repo_commits(**repository)
    except HfHubHTTPError as error:
        if error.response.status_code != 404:
            raise
        return False  # a Hub of one's own that does not tell
    return len(commits) == 1 and "init" in commits[0].title.lower()


def _in_the_way(place: Place, paths: list[str]) -> str:
    return (
        f"{place.repo_id}: {', '.join(sorted(paths)[:3])}: found a file that was not uploaded from "
        "here or was changed there, expected none; rename it there, or give --pull-request to "
        "propose the new content"
    )


def _upload(folder: Path, manifest: Manifest, place: Place, message: str) -> str:
    """Upload a folder as one commit; all that can be refused is refused before it."""
    api, options = HfApi(), place.options
    repository: dict[str, Any] = {"repo_id": place.repo_id, "repo_type": place.kind}
    there = _look(place)
    tag = None if options.pull_request else options.tag or place.tag
    is_tagged = there is not None and tag in there.tags
    if tag and is_tagged and not _holds(api, repository, tag, manifest):
        raise SgdxError(
            f"{place.repo_id}: the tag {tag} stands on other content, and a tag is not moved; "
            "expected a new version: give --tag NAME"
        )
    RepoCard.load(folder / "README.md").validate(repo_type=place.kind)
    if there is None:
        api.create_repo(**repository, private=options.private or None, space_sdk=place.sdk)
        there = _look(place, is_new=True)
        assert there is not None  # noqa: S101
    own = {path for path in there.files if there.is_ours(path)}
    same = {path for path, known in manifest.files.items() if there.files.get(path) in known}
    blocked = manifest.files.keys() & there.files.keys() - own - same
    if blocked and not options.pull_request:
        raise SgdxError(_in_the_way(place, [*blocked]))
    removed = sorted(own - manifest.files.keys() - {MANIFEST, ".gitattributes"})
    if left := there.files.keys() - own - manifest.files.keys() - {".gitattributes"}:
        print(f"note: left as they are there: {', '.join(sorted(left))}", file=sys.stderr)
    commit = api.create_commit(
        **repository,
        operations=[
            *(CommitOperationDelete(path) for path in removed),
            *(CommitOperationAdd(n, str(folder / n)) for n in (*manifest.files, MANIFEST)),
        ],
        commit_message=message,
        parent_commit=there.head,  # so that what comes in between is not lost
        create_pr=options.pull_request,
    )
    if tag and not is_tagged:
        api.create_tag(**repository, tag=tag, revision=commit.oid)
    prefix = "" if place.kind == "model" else f"{place.kind}s/"
    return commit.pr_url or f"{api.endpoint}/{prefix}{place.repo_id}"


def _holds(api: HfApi, repository: dict[str, Any], tag: str, manifest: Manifest) -> bool:
    """Whether a tag stands on the files of a manifest."""
    files = _files(api, repository, tag)
    return all(files.get(path) in known for path, known in manifest.files.items())


def _files(api: HfApi, repository: dict[str, Any], revision: str) -> dict[str, str]:
    """The files of a revision: of each the digest by which the Hub knows it."""
    tree = api.list_repo_tree(**repository, recursive=True, revision=revision)
    entries = [entry for entry in tree if isinstance(entry, RepoFile)]
    return {entry.path: entry.lfs.sha256 if entry.lfs else entry.blob_id for entry in entries}


def _reason(error: Any) -> str:
    """An error of the Hub in one line, without the help that follows on further lines."""
    cause = error.__cause__ if isinstance(error, RuntimeError) and error.__cause__ else error
    status = getattr(getattr(cause, "response", None), "status_code", None)
    text = " ".join(str(error).split())
    if cause is not error:
        text += " " + " ".join(str(cause).split())
    if status in _EXPLANATIONS:
        return f"{_EXPLANATIONS[status]} ({text[:200]})"
    return text[:400] or type(error).__name__
