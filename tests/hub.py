"""A stand-in for the Hugging Face Hub: two HTTP servers on loopback, in memory.

It is written from what ``huggingface_hub`` 2.4 sends and reads: the API with its tokens, private
repositories, commits, pull requests and tags; large files by LFS, in parts, on a second server that
stands for the storage on another host. A new repository has what the Hub itself puts into it.
``HF_ENDPOINT`` leads a process to it. Xet is not stood in for: clients need HF_HUB_DISABLE_XET=1.
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
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import ceil
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import yaml

# Of the user `you`, who is in the organization `org`; known to this server alone.
TOKEN, READ_TOKEN = "hf_stand_in_for_tests_only", "hf_stand_in_that_may_only_read"
USER = {"type": "user", "name": "you", "orgs": [{"name": "org", "roleInOrg": "write"}]}
_LARGE, _PART = 10_000, 65_536  # bytes; larger files go by LFS, and still larger ones in parts
_REVISION = r"(?P<revision>refs/(?:heads|tags|pr)/[^/]+|[^/]+)"
_API = re.compile(
    r"/api/(?P<kind>models|datasets|spaces)/(?P<name>[^/]+/[^/]+)"
    rf"(?:/(?P<what>preupload|commits|commit|tag|revision|refs|tree)(?:/{_REVISION})?(?:/(?P<path>.+))?)?"
)
_FILE = re.compile(
    r"/(?:(?P<kind>datasets|spaces)/)?(?P<name>[^/]+/[^/]+)"
    rf"/(?P<what>resolve)/{_REVISION}/(?P<path>.+)"
)
_LFS = re.compile(
    r"/(?:(?P<kind>datasets|spaces)/)?(?P<name>[^/]+/[^/]+)\.git/info/lfs/objects/"
    r"(?P<what>batch|verify|complete)"
)
# What the Hub puts into a new repository, by its kind or what runs it.
SEEDS = {
    "models": {".gitattributes": b"*.safetensors filter=lfs\n"},
    "datasets": {".gitattributes": b"*.parquet filter=lfs\n"},
    "gradio": {".gitattributes": b"*.zip filter=lfs\n", "README.md": b"---\nsdk: gradio\n---\n"},
    "static": {
        ".gitattributes": b"*.zip filter=lfs\n",
        "README.md": b"---\nsdk: static\n---\n",
        "index.html": b"<h1>Welcome to your static Space!</h1>\n",
        "style.css": b"body { padding: 2rem; }\n",
    },
}
# Of the Hub's lists, those names that a card here may use.
LICENSES = {"apache-2.0", "cc-by-sa-4.0", "mit", "unknown", "other"}
TASKS = {"text-generation", "token-classification", "text-classification", "translation"}
TASK_IDS = {"dialogue-modeling", "dialogue-generation", "language-modeling"}
METRICS = {"accuracy", "bleu", "f1", "exact_match", "rouge"}
SIZES = {"n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M"}


@dataclass
class Repository:
    """A repository: its commits from the first to the last, its tags and pull requests."""

    private: bool
    commits: list[tuple[str, dict[str, bytes]]] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    sdk: str | None = None
    titles: list[str] = field(default_factory=list)
    pulls: list[dict[str, bytes]] = field(default_factory=list)

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

    def commit(self, files: dict[str, bytes], title: str = "Update") -> str:
        """Add a commit that holds these files; returns its oid."""
        oids = sorted((path, _oid(content)) for path, content in files.items())
        oid = _oid(repr((len(self.commits), oids)).encode()).ljust(40, "0")[:40]
        self.commits.append((oid, files))
        self.titles += [title] * (len(self.commits) - len(self.titles))
        return oid


@dataclass
class Answer:
    """An answer of the server; without a status the connection is cut."""

    status: int | None = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Request:
    """What a server is asked."""

    method: str
    path: str
    query: dict[str, list[str]]
    token: str
    body: bytes

    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


@dataclass
class Hub:
    """The servers' state, which tests look at and change.

    Attributes:
        url: Where the API listens; what ``HF_ENDPOINT`` must be.
        storage: Where large files are.
        repositories: Repositories by kind and name, such as ``("datasets", "you/sgdx")``.
        large: Uploaded large files by their SHA-256.
        parts: Uploaded parts of large files, by SHA-256 and number.
        requests: The method and path of every request, and whether it carried a token.
        fault: Called with the method and path of each request; what it returns is answered instead.
        lose: The connection is cut after a request whose path has this was served.
    """

    url: str = ""
    storage: str = ""
    repositories: dict[tuple[str, str], Repository] = field(default_factory=dict)
    large: dict[str, bytes] = field(default_factory=dict)
    parts: dict[tuple[str, int], bytes] = field(default_factory=dict)
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

    def answer(self, request: Request) -> Answer:
        """Answer a request to the API."""
        role = {TOKEN: "write", READ_TOKEN: "read", "": None}.get(request.token, "unknown")
        if role == "unknown":
            return _error(401, "Invalid credentials in Authorization header")
        if request.path == "/api/validate-yaml":
            errors = card_errors(**request.json())
            told = {"errors": [{"message": error} for error in errors], "warnings": []}
            return _json(told, 400 if errors else 200)
        if request.path.endswith("/objects/complete"):  # its address is signed
            return self._transfer("complete", request.json(), "")
        if role is None and (request.method == "POST" or request.path == "/api/whoami-v2"):
            return _error(401, "Invalid username or password.")
        if request.path == "/api/whoami-v2":
            return _json(USER | {"auth": {"accessToken": {"displayName": "t", "role": role}}})
        if request.method == "POST" and role == "read":
            return _error(403, "You don't have the required permissions: the token may only read")
        if request.path == "/api/repos/create":
            return self._create(request.json())
        match = _LFS.fullmatch(request.path)
        match = match or _API.fullmatch(request.path) or _FILE.fullmatch(request.path)
        if match is None:
            return _error(404, f"{request.method} {request.path} is not answered by the stand-in")
        kind, name = match["kind"] or "models", match["name"]
        repository = self.repositories.get((kind, name))
        is_own = role is not None and name.split("/")[0] in ("you", "org")
        if repository is None or (repository.private and not is_own):
            return _error(404 if role else 401, "Repository not found", "RepoNotFound")
        is_pull = "create_pr" in request.query
        if request.method == "POST" and not is_own and not is_pull and match.re is not _LFS:
            return _error(403, "Forbidden: you are not allowed to write to this repository")
        if match.re is _LFS:
            return self._transfer(match["what"], request.json(), f"{self.url}{request.path}")
        found = repository.at(match["revision"] or "main")
        if found is None:
            return _error(404, f"Invalid rev id: {match['revision']}", "RevisionNotFound")
        return self._of_repository(request, match, (kind, name), repository, found)

    def _create(self, asked: dict[str, Any]) -> Answer:
        owner, kind = asked.get("organization") or "you", asked.get("type", "model") + "s"
        name = f"{owner}/{asked['name']}"
        if owner not in ("you", "org"):
            return _error(403, "You don't have the rights to create a repository there")
        url = _url(self, kind, name)
        if (kind, name) in self.repositories:
            return _json({"url": url, "error": "You already created this repo"}, 409)
        sdk = asked.get("sdk")
        private = asked.get("visibility") == "private" or asked.get("private", False)
        repository = Repository(private, sdk=sdk)
        repository.commit(dict(SEEDS[sdk or kind]), "initial commit")
        self.repositories[kind, name] = repository
        return _json({"url": url, "name": name, "id": name})

    def _transfer(self, what: str, asked: dict[str, Any], url: str) -> Answer:
        """Large files: where each goes, and whether it has arrived as it was announced."""
        if what == "verify":
            is_there = len(self.large.get(asked["oid"], b"")) == asked["size"]
            return Answer() if is_there else _error(404, "The object is not there in this size")
        if what == "complete":
            parts = [self.parts.get((asked["oid"], p["partNumber"])) for p in asked["parts"]]
            tags = [p["etag"] for p in asked["parts"]]
            whole = b"".join(part or b"" for part in parts)
            if None in parts or tags != [_etag(part or b"") for part in parts]:
                return _error(400, "The parts are not those that were uploaded")
            if hashlib.sha256(whole).hexdigest() != asked["oid"]:
                return _error(400, "The parts make another content than was announced")
            self.large[asked["oid"]] = whole
            return Answer()
        objects = []
        for oid, size in ((one["oid"], one["size"]) for one in asked["objects"]):
            entry: dict[str, Any] = {"oid": oid, "size": size}
            if oid not in self.large:
                place = f"{self.storage}/lfs/{oid}?size={size}"
                upload: dict[str, Any] = {"href": place, "header": {}}
                if size > _PART:
                    urls = {str(n + 1): f"{place}&part={n + 1}" for n in range(ceil(size / _PART))}
                    header = {"chunk_size": str(_PART), **urls}
                    upload = {"href": url.replace("/batch", "/complete"), "header": header}
                verify = {"href": url.replace("/batch", "/verify"), "header": {}}
                entry["actions"] = {"upload": upload, "verify": verify}
            objects.append(entry)
        return _json({"transfer": "basic", "objects": objects})

    def store(self, request: Request) -> Answer:
        """Answer a request to the storage, which knows signed addresses and no tokens."""
        oid, (size, *_) = request.path.rsplit("/", 1)[1], request.query.get("size", ["0"])
        if request.token:
            return _error(400, "Only one way to authenticate is allowed")
        if request.method != "PUT":
            found = self.large.get(oid)
            return (
                Answer(200, found, {"ETag": f'"{oid}"'}) if found is not None else _error(404, "")
            )
        if part := request.query.get("part"):
            self.parts[oid, int(part[0])] = request.body
            return Answer(200, b"", {"ETag": _etag(request.body)})
        if len(request.body) != int(size) or hashlib.sha256(request.body).hexdigest() != oid:
            return _error(400, "The content is not what was announced")
        self.large[oid] = request.body
        return Answer()

    def _of_repository(
        self,
        request: Request,
        match: re.Match[str],
        key: tuple[str, str],
        repository: Repository,
        found: tuple[str, dict[str, bytes]],
    ) -> Answer:
        """Answer a request about what a repository has."""
        (oid, files), what, inside = found, match["what"], match["path"] or ""
        if what == "preupload":
            return _preupload(files, request.json()["files"])
        if what == "commit":
            return self._commit(request, _url(self, *key), repository)
        if what == "tag":
            tag = request.json()["tag"]
            if tag in repository.tags:
                return _error(409, f"Tag reference exists already: {tag}")
            repository.tags[tag] = oid
            return _json({})
        if what == "commits":
            day = "2026-01-01T00:00:00.000Z"
            entries = [
                {"id": c, "title": title, "message": "", "authors": [], "date": day}
                for (c, _), title in zip(repository.commits, repository.titles)
            ]
            return _json(entries[::-1])
        if what == "tree":
            return _tree(files, inside, "true" in str(request.query.get("recursive")).lower())
        if what == "resolve":
            return self._resolve(files, inside, oid)
        if what == "refs":
            head = repository.commits[-1][0]
            main = {"name": "main", "ref": "refs/heads/main", "targetCommit": head}
            tags = [
                {"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": of}
                for tag, of in repository.tags.items()
            ]
            return _json({"branches": [main], "tags": tags, "converts": []})
        siblings = [{"rfilename": file, "size": len(content)} for file, content in files.items()]
        when = "2026-01-01T00:00:00.000Z"
        facts = {"lastModified": when, "createdAt": when, "private": repository.private, "tags": []}
        sdk = {"sdk": repository.sdk} if repository.sdk else {}
        return _json({"_id": key[1], "id": key[1], "sha": oid, "siblings": siblings} | facts | sdk)

    def _resolve(self, files: dict[str, bytes], path: str, commit: str) -> Answer:
        """A file, or where the storage has it."""
        if path not in files:
            missing = _error(404, "Entry not found", "EntryNotFound")
            missing.headers["X-Repo-Commit"] = commit
            return missing
        content, headers = files[path], {"X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
        oid = _oid(content)
        if len(content) <= _LARGE:
            return Answer(200, content, headers | {"ETag": f'"{oid}"'})
        self.large[oid] = content
        headers |= {"X-Linked-Etag": f'"{oid}"', "X-Linked-Size": str(len(content))}
        place = f"{self.storage}/files/{oid}?signature={quote(path, safe='')}"
        return Answer(302, b"", headers | {"Location": place})

    def _commit(self, request: Request, url: str, repository: Repository) -> Answer:
        """Make a commit of all operations, or of none if one is at fault."""
        parent, files, title = repository.commits[-1][0], dict(repository.files), ""
        for line in request.body.splitlines():
            operation = json.loads(line)
            value, what = operation["value"], operation["key"]
            if what == "header":
                title = value["summary"]
                if value.get("parentCommit", parent) != parent:
                    return _error(412, "A commit has happened since. Please refresh and try again.")
            elif what == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif what == "lfsFile":
                content = self.large.get(value["oid"])
                if content is None or len(content) != value["size"]:
                    return _error(400, f"{value['path']}: its content was never uploaded")
                files[value["path"]] = content
            elif files.pop(value["path"], None) is None:
                return _error(404, "A file with this name doesn't exist", "EntryNotFound")
        if "create_pr" in request.query:
            repository.pulls.append(files)
            pull = f"{url}/discussions/{len(repository.pulls)}"
            told = {"commitOid": "f" * 40, "commitUrl": f"{url}/commit/x", "pullRequestUrl": pull}
            return _json({"success": True, "hookOutput": ""} | told)
        oid = repository.commit(files, title)
        told = {"commitOid": oid, "commitUrl": f"{url}/commit/{oid}"}
        return _json({"success": True, "hookOutput": ""} | told)


@contextmanager
def serve() -> Iterator[Hub]:
    """Run both servers in threads until the block ends."""
    hub = Hub()
    with ExitStack() as running:
        hub.url = running.enter_context(_listening(hub, hub.answer))
        hub.storage = running.enter_context(_listening(hub, hub.store))
        yield hub


@contextmanager
def _listening(hub: Hub, respond: Callable[[Request], Answer]) -> Iterator[str]:
    names = {"hub": hub, "respond": staticmethod(respond)}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), names))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for the head to be acknowledged
    hub: Hub
    respond: Callable[[Request], Answer]

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _read(self) -> bytes:
        """The body, which the client sends in chunks where it does not know the length."""
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _serve(self) -> None:
        hub, url = self.hub, urlsplit(self.path)
        path, token = unquote(url.path), self.headers.get("Authorization", "")
        token = token.removeprefix("Bearer ")
        request = Request(self.command, path, parse_qs(url.query), token, self._read())
        with hub.lock:
            hub.requests.append((self.command, path, bool(token)))
            answer = hub.fault(self.command, path) if hub.fault else None
            if answer is None:
                answer = self.respond(request)
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


def card_errors(content: str, repoType: str) -> list[str]:  # noqa: N803  # the Hub's own name
    """What the Hub refuses in a card's front matter."""
    # Which reads HF_HOME and HF_HUB_OFFLINE as it is imported: not before conftest.py sets them.
    from huggingface_hub.repocard_data import model_index_to_eval_results

    text = content.split("---\n")[1] if content.startswith("---\n") else ""
    card: dict[str, Any] = yaml.safe_load(text) or {}
    known = {"license": LICENSES, "pipeline_tag": TASKS, "task_categories": TASKS}
    known |= {"task_ids": TASK_IDS, "metrics": METRICS, "size_categories": SIZES}
    known |= {"sdk": {"gradio", "static", "docker"}}
    errors = []
    for name, values in known.items():
        given = card.get(name, [])
        unknown = {*(given if isinstance(given, list) else [given])} - values
        errors += [f'"{name}" must be one of the Hub\'s, not {value}' for value in unknown]
    names = [
        *(card.get("datasets") or []),
        *([card["base_model"]] if card.get("base_model") else []),
    ]
    errors += [
        f"{name} is no repository" for name in names if not re.fullmatch(r"[\w.-]+/[\w.-]+", name)
    ]
    if index := card.get("model-index"):
        # Here, since what imports the library at the top does so before its variables are set.
        from huggingface_hub.repocard_data import model_index_to_eval_results

        for result in model_index_to_eval_results(index)[1]:
            if result.task_type not in TASKS or result.metric_type not in METRICS:
                errors.append(f"model-index: {result.task_type}, {result.metric_type}")
    if repoType == "space" and "sdk" not in card:
        errors.append('"sdk" is required')
    return errors


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


def _etag(part: bytes) -> str:
    return f'"{hashlib.md5(part, usedforsecurity=False).hexdigest()}"'


def _url(hub: Hub, kind: str, name: str) -> str:
    return f"{hub.url}/{name}" if kind == "models" else f"{hub.url}/{kind}/{name}"


def _error(status: int, message: str, code: str = "") -> Answer:
    headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {})
    return Answer(status, json.dumps({"error": message}).encode(), headers)


def _json(value: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json"})
