"""The download of the release: broken off, damaged, not whole, killed."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.release import open_release
from sgdx_dataset.source import download

CONTENT = os.urandom(24 << 20)  # it is kept in chunks of 10 MB
Serve = Callable[..., tuple[str, list[str | None]]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve a file on loopback: its URL, and the ranges that it is asked for.

    The first ``broken`` answers are cut off. Without ``partly`` a request for the rest is answered
    with the whole file, as by GitHub.
    """
    servers: list[ThreadingHTTPServer] = []

    def start(content: bytes, broken: int = 0, partly: bool = True) -> tuple[str, list[str | None]]:
        ranges: list[str | None] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                ranges.append(self.headers.get("Range"))
                asked = ranges[-1] if partly else None
                first = int(asked.removeprefix("bytes=").split("-")[0]) if asked else 0
                self.send_response(206 if asked else 200)
                self.send_header("Content-Length", str(len(content) - first))
                if asked:
                    end = len(content) - 1
                    self.send_header("Content-Range", f"bytes {first}-{end}/{len(content)}")
                self.end_headers()
                cut = len(ranges) <= broken
                self.wfile.write(content[first : (first + len(content)) // 2 if cut else None])
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        poll = {"poll_interval": 0.01}
        threading.Thread(target=servers[-1].serve_forever, kwargs=poll, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}/sgd.zip", ranges

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Hugging Face home of somebody who is on line."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between the library's tries
    return tmp_path / "home"


def kept(path: Path) -> None:
    """The check of a download that keeps whatever it is."""


def opened(path: Path) -> None:
    """The check of a download that keeps a release."""
    open_release(path)


def test_a_download_that_breaks_off_goes_on(serve: Serve, home: Path) -> None:
    url, ranges = serve(CONTENT, 1)
    place = download(kept, url, hashlib.sha256(CONTENT).hexdigest())
    assert place == home / "datasets" / "downloads" / "sgdx-sgd.zip"
    assert place.read_bytes() == CONTENT
    assert ranges == [None, f"bytes={10 << 20}-"]
    assert download(kept, url) == place
    assert len(ranges) == 2


@pytest.mark.parametrize("partly", [True, False], ids=["ranges", "no-ranges"])
def test_what_a_killed_download_got_is_used(serve: Serve, home: Path, partly: bool) -> None:
    """And where the server knows no ranges, it is fetched from the beginning."""
    content = CONTENT[:5000]
    incomplete = home / "datasets" / "downloads" / "sgdx-sgd.incomplete"
    incomplete.parent.mkdir(parents=True)
    incomplete.write_bytes(content[:1000])
    url, ranges = serve(content, 0, partly)
    assert download(kept, url).read_bytes() == content
    assert ranges[0] == "bytes=1000-"


@pytest.mark.parametrize(
    ("content", "checksum", "named"),
    [
        (b"whole", "0" * 64, hashlib.sha256(b"whole").hexdigest()),
        (b"<html>Sign in</html>", None, "sgdx-sgd"),  # with status 200
        (b"PK\3\4 cut", None, "sgdx-sgd"),
    ],
)
def test_what_is_no_release_is_not_kept(
    serve: Serve, home: Path, content: bytes, checksum: str | None, named: str
) -> None:
    with pytest.raises(SgdxError, match=named):
        download(kept if checksum else opened, serve(content)[0], checksum)
    assert [p.name for p in (home / "datasets" / "downloads").iterdir()] == ["sgdx-sgd.lock"]


def test_no_network_and_a_home_that_cannot_be_written(home: Path) -> None:
    with pytest.raises(SgdxError, match="^http://127.0.0.1:9/sgd.zip: "):
        download(kept, "http://127.0.0.1:9/sgd.zip")
    shutil.rmtree(home)
    home.write_text("")
    with pytest.raises(SgdxError, match="sgdx-sgd.zip: "):
        download(kept, "http://127.0.0.1:9/sgd.zip")
