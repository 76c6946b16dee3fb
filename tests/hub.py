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
from urllib.parse import unquote, urlsplit

TOKEN = "hf_stand_in_for_tests_only"  # noqa: S105  # of the user `you`, known to this server alone
_LARGE = 10_000  # bytes; larger files go by LFS
_REVISION = r"(?P<revision>refs/(?:heads|tags)/[^/]+|[^/]+)"
_API = re.compile(
    r"/api/(?P<kind>models|datasets|spaces)/(?P<name>[^/]+/[^/]+)"
    rf"(?:/(?P<what>preupload|commit|tag|revision|refs|tree)(?:/{_REVISION})?(?:/(?P<path>.+))?)?"
)
_FILE = re.compile(
    r"/(?:(?P<kind>datasets|spaces)/)?(?P<name>[^/]+/[^/]+)"
    rf"/(?P<what>resolve)/{_REVISION}/(?P<path>.+)"
)


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
        oids = sorted((path, _oid(content)) for path, content in files.items())
        oid = _oid(repr((len(self.commits), oids)).encode()).ljust(40, "0")[:40]
        self.commits.append((oid, files))
        return oid


@dataclass
class Answer:
    """An answer of the server; without a status the connection is cut."""

    status: int | None = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


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
    fault: Callable[[str, str], Answer | None] | None = None
    lose: str | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    def python(
        self, home: Path, *arguments: object, token: str | None = TOKEN, **changes: str
    ) -> subprocess.CompletedProcess[str]:
        """Run ``python ARGUMENTS`` in a process that uses this server as the Hub.

        Args:
            home: The folder of its caches, in which it runs.
            token: Its access token; None for a user who is not logged in.
            changes: Further variables of its environment.
        """
        home.mkdir(exist_ok=True)
        own = {"HF_ENDPOINT": self.url, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1"}
        own |= {"HF_HUB_DISABLE_TELEMETRY": "1", "NO_PROXY": "127.0.0.1"}
        own |= {"HF_TOKEN": token} if token else {}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=home,
            env=kept | own | changes,
            capture_output=True,
            text=True,
            timeout=300,
        )


@contextmanager
def serve() -> Iterator[Hub]:
    """Run the server in a thread until the block ends."""
    hub = Hub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
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
    hub: Hub

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        body, hub = self.rfile.read(int(self.headers.get("Content-Length", 0))), self.hub
        path = unquote(urlsplit(self.path).path)
        is_recursive = "recursive=true" in urlsplit(self.path).query.lower()
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        with hub.lock:
            hub.requests.append((self.command, path, bool(token)))
            answer = hub.fault(self.command, path) if hub.fault else None
            if answer is None:
                answer = _answer(hub, self.command, path, token, body, is_recursive)
                if hub.lose and hub.lose in path:
                    answer = Answer(None)
        if answer.status is None:
            self.close_connection = True
            self.connection.close()
            return
        content, status, headers = answer.body, answer.status, dict(answer.headers)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted and "ETag" in headers:  # a part of a file, as streams read it
            begin, end = int(wanted[1]), int(wanted[2] or len(content) - 1)
            headers["Content-Range"] = f"bytes {begin}-{end}/{len(content)}"
            content, status = content[begin : end + 1], 206
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = _serve  # noqa: N815


def _answer(
    hub: Hub, method: str, path: str, token: str, body: bytes, is_recursive: bool
) -> Answer:
    """Answer a request."""
    if token and token != TOKEN:
        return _error(401, "Invalid credentials in Authorization header")
    if path == "/api/validate-yaml":
        return _json({"errors": [], "warnings": []})
    if path.startswith("/lfs/"):
        hub.large[hashlib.sha256(body).hexdigest()] = body
        return Answer()
    if not token and method == "POST":
        return _error(401, "Invalid username or password.")
    asked = json.loads(body) if method == "POST" and "/commit/" not in path else {}
    if path == "/api/repos/create":
        return _create(hub, asked)
    if path.endswith(".git/info/lfs/objects/batch"):
        objects = [{"oid": wanted["oid"], "size": wanted["size"]} for wanted in asked["objects"]]
        for entry in objects:
            if entry["oid"] not in hub.large:
                upload = {"href": f"{hub.url}/lfs/{entry['oid']}", "header": {}}
                entry["actions"] = {"upload": upload}
        return _json({"transfer": "basic", "objects": objects})
    match = _API.fullmatch(path) or _FILE.fullmatch(path)
    if match is None:
        return _error(404, f"{method} {path} is not answered by the stand-in")
    kind, name, what = match["kind"] or "models", match["name"], match["what"]
    revision, inside = match["revision"] or "main", match["path"] or ""
    repository = hub.repositories.get((kind, name))
    if repository is None:
        return _error(404, "Repository not found", "RepoNotFound")
    found = repository.at(revision)
    if found is None:
        return _error(404, f"Invalid rev id: {revision}", "RevisionNotFound")
    oid, files = found
    if what == "preupload":
        return _preupload(files, asked["files"])
    if what == "commit":
        return _commit(hub, f"{_url(hub, kind, name)}/commit", repository, body)
    if what == "tag":
        if asked["tag"] in repository.tags:
            return _error(409, f"Tag reference exists already: {asked['tag']}")
        repository.tags[asked["tag"]] = oid
        return _json({})
    if what == "tree":
        return _tree(files, inside, is_recursive)
    if what == "resolve":
        if inside not in files:
            missing = _error(404, "Entry not found", "EntryNotFound")
            missing.headers["X-Repo-Commit"] = oid
            return missing
        headers = {"ETag": f'"{_oid(files[inside])}"', "X-Repo-Commit": oid}
        return Answer(200, files[inside], {**headers, "Accept-Ranges": "bytes"})
    if what == "refs":
        main = {"name": "main", "ref": "refs/heads/main", "targetCommit": repository.commits[-1][0]}
        tags = [
            {"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": of}
            for tag, of in repository.tags.items()
        ]
        return _json({"branches": [main], "tags": tags, "converts": []})
    siblings = [{"rfilename": file, "size": len(content)} for file, content in files.items()]
    when = "2026-01-01T00:00:00.000Z"
    dates = {"lastModified": when, "createdAt": when, "private": repository.private, "tags": []}
    return _json({"_id": name, "id": name, "sha": oid, "siblings": siblings, **dates})


def _create(hub: Hub, asked: dict[str, Any]) -> Answer:
    owner, kind = asked.get("organization") or "you", asked.get("type", "model") + "s"
    name = f"{owner}/{asked['name']}"
    if owner != "you":
        return _error(403, "You don't have the rights to create a repository there")
    if (kind, name) in hub.repositories:
        return _json({"url": _url(hub, kind, name), "error": "You already created this repo"}, 409)
    repository = Repository(asked.get("visibility") == "private" or asked.get("private", False))
    repository.commit({".gitattributes": b"*.parquet filter=lfs\n"})
    hub.repositories[kind, name] = repository
    return _json({"url": _url(hub, kind, name), "name": name, "id": name})


def _preupload(files: dict[str, bytes], asked: list[dict[str, Any]]) -> Answer:
    """How each file is to be uploaded, and what is there now, which is not uploaded again."""
    modes = [
        {
            "path": file["path"],
            "uploadMode": "lfs" if file["size"] > _LARGE else "regular",
            "shouldIgnore": False,
            "oid": _oid(files[file["path"]]) if file["path"] in files else None,
        }
        for file in asked
    ]
    return _json({"files": modes})


def _commit(hub: Hub, url: str, repository: Repository, body: bytes) -> Answer:
    """Make a commit of all operations, or of none if one is at fault."""
    parent, files = repository.commits[-1][0], dict(repository.files)
    for line in body.splitlines():
        operation = json.loads(line)
        value, what = operation["value"], operation["key"]
        if what == "header" and value.get("parentCommit", parent) != parent:
            return _error(412, "A commit has happened since. Please refresh and try again.")
        if what == "file":
            files[value["path"]] = base64.b64decode(value["content"])
        elif what == "lfsFile":
            if value["oid"] not in hub.large:
                return _error(400, f"{value['path']}: its content was never uploaded")
            files[value["path"]] = hub.large[value["oid"]]
        elif what == "deletedFile":
            files.pop(value["path"], None)
    oid = repository.commit(files)
    return _json({"success": True, "commitOid": oid, "commitUrl": f"{url}/{oid}", "hookOutput": ""})


def _tree(files: dict[str, bytes], folder: str, is_recursive: bool) -> Answer:
    """The files and folders in a folder; with ``is_recursive`` all that are below it."""
    inside = f"{folder.strip('/')}/" if folder else ""
    below = {path: content for path, content in files.items() if path.startswith(inside)}
    if inside and not below:
        return _error(404, f"{folder} does not exist", "EntryNotFound")
    folders = {str(parent) for path in below for parent in PurePosixPath(path).parents} - {"."}
    entries: list[dict[str, Any]] = [
        {"type": "directory", "path": path, "oid": "0" * 40, "size": 0}
        for path in sorted(folders)
        if path.startswith(inside)
    ]
    for path, content in below.items():
        size = len(content)
        entry = {"type": "file", "path": path, "size": size, "oid": _oid(content)}
        large = {"lfs": {"oid": _oid(content), "size": size, "pointerSize": 134}}
        entries.append(entry | large if size > _LARGE else entry)
    direct = [entry for entry in entries if "/" not in entry["path"][len(inside) :]]
    return _json(entries if is_recursive else direct)


def _oid(content: bytes) -> str:
    """What the Hub calls a content: as git does, or by its SHA-256 if it is large."""
    if len(content) > _LARGE:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _url(hub: Hub, kind: str, name: str) -> str:
    return f"{hub.url}/{name}" if kind == "models" else f"{hub.url}/{kind}/{name}"


def _error(status: int, message: str, code: str = "") -> Answer:
    headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {})
    return Answer(status, json.dumps({"error": message}).encode(), headers)


def _json(value: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json"})
