"""A stand-in for the Hugging Face Hub: an HTTP server on loopback, in memory.

It speaks what ``huggingface_hub`` and the libraries above it use to create repositories, upload,
tag, list and download. ``HF_ENDPOINT`` leads a process to it. Large files go by the LFS protocol,
so clients need ``HF_HUB_DISABLE_XET=1``: the storage service behind Xet is not stood in for.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

TOKEN = "hf_stand_in_for_tests_only"  # noqa: S105  # of the user `you`, known to this server alone
_TYPES = {"models": "", "datasets": "datasets/", "spaces": "spaces/"}
_LARGE = 10_000  # bytes; larger files go by LFS, as do these kinds of any size
_LFS_KINDS = (".parquet", ".safetensors", ".zip", ".png")


@dataclass
class Repository:
    """A repository: its commits from the first to the last, and its tags."""

    private: bool
    commits: list[tuple[str, dict[str, bytes]]] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, bytes]:
        """The files of the last commit."""
        return self.commits[-1][1]

    def at(self, revision: str) -> tuple[str, dict[str, bytes]] | None:
        """A commit by its branch, tag or oid."""
        if revision in ("main", "HEAD", "refs/heads/main"):
            return self.commits[-1]
        oid = self.tags.get(revision.removeprefix("refs/tags/"), revision)
        return next((commit for commit in self.commits if commit[0] == oid), None)

    def commit(self, files: dict[str, bytes]) -> str:
        """Add a commit that holds these files; returns its oid."""
        text = repr((len(self.commits), sorted((k, _git(v)) for k, v in files.items())))
        oid = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
        self.commits.append((oid, files))
        return oid


@dataclass
class Answer:
    """An answer of the server; without a status the connection is cut."""

    status: int | None = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


Fault = Callable[[str, str], Answer | None]


@dataclass
class Hub:
    """The server's state, which tests look at and change.

    Attributes:
        url: Where it listens; what ``HF_ENDPOINT`` must be.
        repositories: Repositories by kind and name, such as ``("datasets", "you/sgdx")``.
        large: Uploaded large files by their SHA-256.
        requests: The method and path of every request, and whether it carried a token.
        fault: Called with the method and path of each request; what it returns is answered instead.
        lose: The connection is cut after a request whose path has this was served.
    """

    url: str = ""
    repositories: dict[tuple[str, str], Repository] = field(default_factory=dict)
    large: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, str, bool]] = field(default_factory=list)
    fault: Fault | None = None
    lose: str | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    def environment(
        self, home: str | os.PathLike[str], token: str | None = TOKEN
    ) -> dict[str, str]:
        """The environment of a process that uses this server as the Hub.

        Args:
            home: The folder of its caches, ``HF_HOME``.
            token: Its access token; None for a user who is not logged in.
        """
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
        own = {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "NO_PROXY": "127.0.0.1",
        }
        return {**kept, **own, **({"HF_TOKEN": token} if token else {})}

    def python(
        self, home: Path, *arguments: object, token: str | None = TOKEN, **changes: str
    ) -> subprocess.CompletedProcess[str]:
        """Run Python in a process that uses this server as the Hub.

        Args:
            home: The folder of its caches, in which it runs.
            arguments: The arguments of ``python``.
            token: Its access token; None for a user who is not logged in.
            changes: Further variables of its environment.
        """
        home.mkdir(exist_ok=True)
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=home,
            env={**self.environment(home, token), **changes},
            capture_output=True,
            text=True,
            timeout=300,
        )


@contextmanager
def serve() -> Iterator[Hub]:
    """Run the server in a thread until the block ends."""
    hub = Hub()

    class Handler(_Handler):
        state = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Hub

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        body = self._body()
        asked = urlsplit(self.path)
        path = unquote(asked.path)
        hub = self.state
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        with hub.lock:
            hub.requests.append((self.command, path, bool(token)))
            answer = hub.fault(self.command, path) if hub.fault else None
            if answer is None:
                answer = _answer(hub, self.command, path, token, body, parse_qs(asked.query))
                if hub.lose and hub.lose in path:
                    answer = Answer(None)
        self._send(answer)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().strip() or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _send(self, answer: Answer) -> None:
        if answer.status is None:
            self.close_connection = True
            self.connection.close()
            return
        body, status, headers = answer.body, answer.status, dict(answer.headers)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted and status == 200 and "ETag" in headers:
            begin, end = int(wanted[1]), int(wanted[2] or len(body) - 1)
            headers["Content-Range"] = f"bytes {begin}-{end}/{len(body)}"
            body, status = body[begin : end + 1], 206
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _answer(
    hub: Hub, method: str, path: str, token: str, body: bytes, query: dict[str, list[str]]
) -> Answer:
    """Answer a request."""
    if token and token != TOKEN:
        return _error(401, "", "Invalid credentials in Authorization header")
    for pattern, route, needs_token in _ROUTES:
        verb, place = pattern.split(" ", 1)
        match = re.fullmatch(place, path)
        if match and verb in (method, "GET" if method == "HEAD" else method):
            if needs_token and not token:
                return _error(401, "", "Invalid username or password.")
            values: dict[str, Any] = {k: v for k, v in match.groupdict().items() if v is not None}
            if route is _tree:
                values["recursive"] = query.get("recursive", [""])[0].lower() == "true"
            return route(hub, body, **values)
    return _error(404, "", f"{method} {path} is not answered by the stand-in")


def _error(status: int, code: str, message: str) -> Answer:
    headers = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})}
    return Answer(status, json.dumps({"error": message}).encode(), headers)


def _json(value: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json"})


def _found(hub: Hub, kind: str, name: str, revision: str) -> Any:
    """The repository and its commit, or an error."""
    repository = hub.repositories.get((kind, name))
    if repository is None:
        return None, _error(404, "RepoNotFound", "Repository not found")
    if (commit := repository.at(revision)) is None:
        return None, _error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
    return repository, commit


def _git(content: bytes) -> str:
    """The object id that git gives a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _is_large(path: str, size: int) -> bool:
    return size > _LARGE or path.endswith(_LFS_KINDS)


def _entry(path: str, content: bytes) -> dict[str, Any]:
    """A file as listings have it."""
    entry = {"type": "file", "path": path, "size": len(content), "oid": _git(content)}
    if not _is_large(path, len(content)):
        return entry
    sha = hashlib.sha256(content).hexdigest()
    return {**entry, "lfs": {"oid": sha, "size": len(content), "pointerSize": 134}}


def _folder(path: str) -> dict[str, Any]:
    """A folder as listings have it."""
    return {"type": "directory", "path": path, "oid": "0" * 40, "size": 0}


def _whoami(hub: Hub, body: bytes) -> Answer:
    return _json({"type": "user", "name": "you", "orgs": [], "auth": {"type": "access_token"}})


def _create(hub: Hub, body: bytes) -> Answer:
    asked = json.loads(body)
    owner, kind = asked.get("organization") or "you", asked.get("type", "model") + "s"
    name = f"{owner}/{asked['name']}"
    url = f"{hub.url}/{_TYPES[kind]}{name}"
    if owner != "you":
        return _error(403, "", "You don't have the rights to create a repository there")
    if (kind, name) in hub.repositories:
        return _json({"url": url, "error": "You already created this repo"}, 409)
    repository = Repository(asked.get("visibility") == "private" or asked.get("private", False))
    repository.commit({".gitattributes": b"*.parquet filter=lfs\n"})
    hub.repositories[kind, name] = repository
    return _json({"url": url, "name": name, "id": name})


def _validate_yaml(hub: Hub, body: bytes) -> Answer:
    """What the Hub checks of a card's metadata, as far as the project's cards have it."""
    content = json.loads(body)["content"]
    match = re.match(r"---\n(.*?)\n---\n", content, re.S)
    data = yaml.safe_load(match[1]) if match else {}
    errors = []
    for entry in data.get("model-index", []):
        for result in entry["results"]:
            if not {"task", "dataset", "metrics"} <= result.keys():
                errors.append({"message": '"model-index" results need task, dataset, metrics'})
    for name in ("license", "pretty_name"):
        if name in data and not isinstance(data[name], str | list):
            errors.append({"message": f'"{name}" must be a string'})
    return _json({"errors": errors, "warnings": []}, 400 if errors else 200)


def _preupload(hub: Hub, body: bytes, kind: str, name: str, rev: str) -> Answer:
    repository, commit = _found(hub, kind, name, rev)
    if repository is None:
        return commit  # type: ignore[no-any-return]
    files = []
    for file in json.loads(body)["files"]:
        mode = "lfs" if _is_large(file["path"], file["size"]) else "regular"
        content = commit[1].get(file["path"])
        oid = None
        if content is not None:
            sha = hashlib.sha256(content).hexdigest()
            oid = sha if _is_large(file["path"], len(content)) else _git(content)
        files.append({"path": file["path"], "uploadMode": mode, "shouldIgnore": False, "oid": oid})
    return _json({"files": files})


def _lfs_batch(hub: Hub, body: bytes, prefix: str, name: str) -> Answer:
    objects = []
    for wanted in json.loads(body)["objects"]:
        entry = {"oid": wanted["oid"], "size": wanted["size"]}
        if wanted["oid"] not in hub.large:
            upload = {"href": f"{hub.url}/lfs/{wanted['oid']}", "header": {}}
            entry["actions"] = {"upload": upload}
        objects.append(entry)
    return _json({"transfer": "basic", "objects": objects})


def _lfs_upload(hub: Hub, body: bytes, oid: str) -> Answer:
    if hashlib.sha256(body).hexdigest() != oid:
        return _error(400, "", "The content does not have the checksum that was announced")
    hub.large[oid] = body
    return Answer()


def _commit(hub: Hub, body: bytes, kind: str, name: str, rev: str) -> Answer:
    """Make a commit of all operations, or of none if one is at fault."""
    repository, parent = _found(hub, kind, name, rev)
    if repository is None:
        return parent  # type: ignore[no-any-return]
    files = dict(parent[1])
    for line in body.splitlines():
        operation = json.loads(line)
        value, what = operation["value"], operation["key"]
        if what == "header" and value.get("parentCommit", parent[0]) != parent[0]:
            return _error(412, "", "A commit has happened since. Please refresh and try again.")
        if what == "file":
            files[value["path"]] = base64.b64decode(value["content"])
        elif what == "lfsFile":
            if value["oid"] not in hub.large:
                return _error(400, "", f"{value['path']}: its content was never uploaded")
            files[value["path"]] = hub.large[value["oid"]]
        elif what == "deletedFile":
            files.pop(value["path"], None)
        elif what == "deletedFolder":
            folder = value["path"].rstrip("/") + "/"
            files = {
                path: content for path, content in files.items() if not path.startswith(folder)
            }
    oid = repository.commit(files)
    url = f"{hub.url}/{_TYPES[kind]}{name}/commit/{oid}"
    return _json({"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": ""})


def _tag(hub: Hub, body: bytes, kind: str, name: str, rev: str) -> Answer:
    repository, commit = _found(hub, kind, name, rev)
    if repository is None:
        return commit  # type: ignore[no-any-return]
    tag = json.loads(body)["tag"]
    if tag in repository.tags:
        return _error(409, "", f"Tag reference exists already: {tag}")
    repository.tags[tag] = commit[0]
    return _json({})


def _info(hub: Hub, body: bytes, kind: str, name: str, rev: str = "main") -> Answer:
    repository, commit = _found(hub, kind, name, rev)
    if repository is None:
        return commit  # type: ignore[no-any-return]
    oid, files = commit
    siblings = [{"rfilename": path, "size": len(content)} for path, content in files.items()]
    when = "2026-01-01T00:00:00.000Z"
    common = {"_id": name, "id": name, "author": "you", "sha": oid, "siblings": siblings}
    dates = {"lastModified": when, "createdAt": when, "private": repository.private}
    return _json({**common, **dates, "tags": [], "gated": False, "disabled": False})


def _refs(hub: Hub, body: bytes, kind: str, name: str) -> Answer:
    repository, commit = _found(hub, kind, name, "main")
    if repository is None:
        return commit  # type: ignore[no-any-return]
    main = {"name": "main", "ref": "refs/heads/main", "targetCommit": commit[0]}
    tags = [
        {"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": oid}
        for tag, oid in repository.tags.items()
    ]
    return _json({"branches": [main], "tags": tags, "converts": []})


def _tree(
    hub: Hub, body: bytes, kind: str, name: str, rev: str, folder: str = "", recursive: bool = False
) -> Answer:
    """The files and folders in a folder; with ``recursive`` all that are below it."""
    repository, commit = _found(hub, kind, name, rev)
    if repository is None:
        return commit  # type: ignore[no-any-return]
    inside = f"{folder.strip('/')}/" if folder else ""
    below = {p: content for p, content in commit[1].items() if p.startswith(inside)}
    if inside and not below:
        return _error(404, "EntryNotFound", f"{folder} does not exist")
    folders = {str(parent) for path in below for parent in PurePosixPath(path).parents}
    folders = {path for path in folders if path != "." and path.startswith(inside)}
    entries = [_folder(path) for path in sorted(folders)]
    entries += [_entry(path, content) for path, content in below.items()]
    direct = [entry for entry in entries if "/" not in entry["path"][len(inside) :]]
    return _json(entries if recursive else direct)


def _resolve(hub: Hub, body: bytes, prefix: str, name: str, rev: str, path: str) -> Answer:
    kind = (prefix or "models/").strip("/")
    repository, commit = _found(hub, kind, name, rev)
    if repository is None:
        return commit  # type: ignore[no-any-return]
    oid, files = commit
    if path not in files:
        missing = _error(404, "EntryNotFound", "Entry not found")
        missing.headers["X-Repo-Commit"] = oid
        return missing
    entry = _entry(path, files[path])
    etag = entry["lfs"]["oid"] if "lfs" in entry else entry["oid"]
    headers = {"ETag": f'"{etag}"', "X-Repo-Commit": oid, "Accept-Ranges": "bytes"}
    return Answer(200, files[path], headers)


_REPOSITORY = r"/api/(?P<kind>models|datasets|spaces)/(?P<name>[^/]+/[^/]+)"
_REVISION = r"(?P<rev>refs/(?:heads|tags)/[^/]+|[^/]+)"
_PLACE = r"/(?P<prefix>datasets/|spaces/|)(?P<name>[^/]+/[^/]+?)"
_ROUTES: list[tuple[str, Callable[..., Answer], bool]] = [
    ("GET /api/whoami-v2", _whoami, True),
    ("POST /api/repos/create", _create, True),
    ("POST /api/validate-yaml", _validate_yaml, False),
    (f"POST {_REPOSITORY}/preupload/{_REVISION}", _preupload, True),
    (f"POST {_PLACE}\\.git/info/lfs/objects/batch", _lfs_batch, True),
    (r"PUT /lfs/(?P<oid>[0-9a-f]{64})", _lfs_upload, False),
    (f"POST {_REPOSITORY}/commit/{_REVISION}", _commit, True),
    (f"POST {_REPOSITORY}/tag/{_REVISION}", _tag, True),
    (f"GET {_REPOSITORY}", _info, False),
    (f"GET {_REPOSITORY}/revision/{_REVISION}", _info, False),
    (f"GET {_REPOSITORY}/refs", _refs, False),
    (f"GET {_REPOSITORY}/tree/{_REVISION}(?P<folder>/.*)?", _tree, False),
    (f"GET {_PLACE}/resolve/{_REVISION}/(?P<path>.+)", _resolve, False),
]
