"""A prefix goes to a Hub and comes back: through real processes and a server of files on this host.

The server speaks the part of the Hub's interface that publishing and loading a model takes.
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
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ...conftest import ROOT, Run
from .test_generator import from_the_hub as from_the_hub

COMMIT = "a" * 40
TOKEN = "hf_not_a_secret"  # noqa: S105
Files = dict[str, dict[str, bytes]]  # the content of each file of each repository


class Hub(ThreadingHTTPServer):
    """The server, with the files that it has."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories: Files = {}
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Hub

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.headers["Authorization"] == f"Bearer {TOKEN}"
        if self.path == "/api/repos/create":
            asked = json.loads(body)
            name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
            self.server.repositories.setdefault(name, {})
            self.answer({"url": f"{self.server.url}/{name}", "name": name})
        elif found := re.fullmatch(r"/api/models/(.+)/preupload/main", self.path):
            files = [
                {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False, "oid": None}
                for f in json.loads(body)["files"]
            ]
            self.answer({"files": files})
        elif found := re.fullmatch(r"/api/models/(.+)/commit/main", self.path):
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    value = line["value"]
                    content = base64.b64decode(value["content"])
                    self.server.repositories[found[1]][value["path"]] = content
            url = f"{self.server.url}/{found[1]}/commit/{COMMIT}"
            self.answer({"commitUrl": url, "commitOid": COMMIT, "pullRequestUrl": None})
        else:
            self.answer({"errors": [], "warnings": []})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        found = re.fullmatch(r"/(\w+/[\w-]+)/resolve/\w+/(.+)", self.path)
        files = self.server.repositories.get(found[1], {}) if found else {}
        if not found or found[2] not in files:
            known = any(name in self.path for name in self.server.repositories)
            missing = "EntryNotFound" if known else "RepoNotFound"
            self.send_response(404)
            self.send_header("X-Error-Code", missing)
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.answer(files[found[2]])

    def answer(self, content: Any) -> None:
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha256(raw).hexdigest()}"')
        if not isinstance(content, bytes):
            self.send_header("Content-Type", "application/json")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_prefix_is_pushed_and_loaded_in_five_lines(
    from_the_hub: Path, hub: Hub, run: Run, tmp_path: Path
) -> None:
    """By who has neither: the prefix and the T5 that it names are both downloaded."""
    place = tmp_path / "hub" / "models--me--tiny-t5" / "snapshots" / COMMIT
    hub.repositories["me/tiny-t5"] = {f.name: f.read_bytes() for f in place.iterdir()}
    online = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN}
    given = ("--model", from_the_hub, "--push-to-hub", "me/prefix")
    done = run("baselines.publish", *given, **online)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{hub.url}/me/prefix/commit/{COMMIT}"
    assert TOKEN not in done.stdout + done.stderr
    pushed = hub.repositories["me/prefix"]
    assert {"README.md", "config.json", "prefix.safetensors", "run.json"} <= set(pushed)
    assert not {"prefix_networks.safetensors", "model.safetensors", "tokenizer.json"} & set(pushed)
    assert json.loads(pushed["config.json"])["sgdx"]["base"]["name"] == "me/tiny-t5"
    code = re.findall(r"```python\n(.*?)```", pushed["README.md"].decode(), re.DOTALL)[1]
    assert len(code.strip().splitlines()) == 5
    assert "load_generator('me/prefix')" in code
    fresh = {**online, "HF_HOME": str(tmp_path / "fresh")}
    (tmp_path / "five_lines.py").write_text(code)
    remote = run("five_lines", **fresh, PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert remote.returncode == 0, remote.stderr
    local = subprocess.run(
        [sys.executable, "-c", code.replace("'me/prefix'", repr(str(from_the_hub)))],
        capture_output=True, text=True, timeout=300, cwd=ROOT,
        env={**os.environ, "HF_HUB_CACHE": str(tmp_path / "hub")},
    )  # fmt: skip
    assert local.returncode == 0, local.stderr
    assert remote.stdout == local.stdout
    assert remote.stdout.startswith("['")
