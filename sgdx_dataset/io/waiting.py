"""Waiting for other processes: what is waited for is said, and a signal ends it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .console import REPEATED, say

SILENT = 3.0  # seconds; who waits longer is told what for
_GRACE = 1.0  # seconds that a signal may take to end the process in the usual way

_waits = threading.Event()  # whether this process waits where no signal reaches Python


@contextmanager
def locked_file(path: Path) -> Iterator[None]:
    """Hold a lock that this process may hold already; who has to wait is told what for."""
    from filelock import FileLock, Timeout  # slow to import

    lock = FileLock(path, is_singleton=True)
    try:
        lock.acquire(timeout=SILENT)
    except Timeout:
        say("sgdx", f"waits for {path}, which another process holds")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def waiting_for(what: str) -> Iterator[None]:
    """Wait in code that is not Python: after a moment it is said for what, and a signal ends it."""
    # Python's own handlers run between two steps of Python, and there are none in a wait for other
    # processes. The number of a signal is in the pipe at once, and a thread reads it.
    if os.name == "posix" and threading.current_thread() is threading.main_thread():
        read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        threading.Thread(target=_watch, args=(read,), daemon=True).start()
    timer = threading.Timer(SILENT, say, ("sgdx", f"waits for {what}"))
    timer.daemon = True
    timer.start()
    _waits.set()
    try:
        yield
    finally:
        _waits.clear()
        timer.cancel()


def _watch(read: int) -> None:
    """End the process at a signal while it waits, and at any time by a second one."""
    first = 0.0
    while True:
        number = os.read(read, 1)[0]
        if number not in (signal.SIGINT, signal.SIGTERM):
            continue
        now = time.monotonic()
        is_second = bool(first) and now - first > REPEATED
        first = first or now
        time.sleep(_GRACE)
        if is_second or _waits.is_set():
            say("sgdx", "interrupted" if number == signal.SIGINT else "terminated")
            os._exit(128 + number)
