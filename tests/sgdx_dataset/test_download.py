"""The download of the release: broken off, damaged, not whole, killed."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.release import open_release
from sgdx_dataset.source import download

from .test_release import packed


class Server:
    """Serves one file on loopback; cuts the first ``broken`` answers off.

    Without ``partly`` it answers a request for the rest with the whole file, as GitHub does.
    """

    def __init__(self, content: bytes, broken: int = 0, partly: bool = True) -> None:
        self.ranges: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.ranges.append(self.headers.get("Range"))
                asked = outer.ranges[-1] if partly else None
                start = int(asked.removeprefix("bytes=").split("-")[0]) if asked else 0
                self.send_response(206 if asked else 200)
                self.send_header("Content-Length", str(len(content) - start))
                if asked:
                    end = len(content) - 1
                    self.send_header("Content-Range", f"bytes {start}-{end}/{len(content)}")
                self.end_headers()
                cut = len(outer.ranges) <= broken
                self.wfile.write(content[start : (start + len(content)) // 2 if cut else None])
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/sgd.zip"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(*arguments: Any) -> Server:
        servers.append(Server(*arguments))
        return servers[-1]

    yield start
    for server in servers:
        server.http.shutdown()
        server.http.server_close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Hugging Face home of somebody who is on line."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    return tmp_path / "home"


def opened(path: Path) -> None:
    """The check of a download that keeps a release."""
    open_release(path)


def kept(path: Path) -> None:
    """The check of a download that keeps whatever it is."""


def test_a_download_that_breaks_off_goes_on(serve: Callable[..., Server], home: Path) -> None:
    content = os.urandom(24 << 20)  # it is kept in chunks of 10 MB
    server = serve(content, 1)
    place = download(kept, server.url, hashlib.sha256(content).hexdigest())
    assert place == home / "datasets" / "downloads" / "sgdx-sgd.zip"
    assert place.read_bytes() == content
    assert server.ranges == [None, f"bytes={10 << 20}-"]
    assert download(kept, server.url) == place
    assert len(server.ranges) == 2


@pytest.mark.parametrize("partly", [True, False], ids=["ranges", "no-ranges"])
def test_what_a_killed_download_got_is_used(
    serve: Callable[..., Server], mini: Path, home: Path, partly: bool
) -> None:
    """And where the server knows no ranges, it is fetched from the beginning."""
    content = packed(mini).read_bytes()
    incomplete = home / "datasets" / "downloads" / "sgdx-sgd.incomplete"
    incomplete.parent.mkdir(parents=True)
    incomplete.write_bytes(content[:1000])
    server = serve(content, 0, partly)
    assert download(kept, server.url).read_bytes() == content
    assert server.ranges[0] == "bytes=1000-"


@pytest.mark.parametrize(
    ("content", "checksum", "named"),
    [
        (b"whole", "0" * 64, hashlib.sha256(b"whole").hexdigest()),
        (b"", None, "sgdx-sgd"),
        (b"<html>Sign in</html>", None, "sgdx-sgd"),  # with status 200
        (b"PK\3\4 cut", None, "sgdx-sgd"),
    ],
)
def test_what_is_no_release_is_not_kept(
    serve: Callable[..., Server], home: Path, content: bytes, checksum: str | None, named: str
) -> None:
    with pytest.raises(SgdxError, match=named):
        download(kept if checksum else opened, serve(content).url, checksum)
    assert [p.name for p in (home / "datasets" / "downloads").iterdir()] == ["sgdx-sgd.lock"]


def test_no_network_and_a_home_that_cannot_be_written(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # between the library's tries
    with pytest.raises(SgdxError, match="^http://127.0.0.1:9/sgd.zip: "):
        download(kept, "http://127.0.0.1:9/sgd.zip")
    shutil.rmtree(home)
    home.write_text("")
    with pytest.raises(SgdxError, match="^http.*sgdx-sgd.zip|sgdx-sgd.zip: "):
        download(kept, "http://127.0.0.1:9/sgd.zip")
