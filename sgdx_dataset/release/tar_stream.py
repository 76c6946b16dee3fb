"""The bytes of a tar file, read once from its beginning to its end and never beyond a limit.

``tarfile`` trusts what a tar says of itself: it reads a header's extension into memory whatever
size that claims, follows a negative size backwards for ever, takes a damaged header for the end,
and stops before the checksum at the end of a compressed file. It reads through this class, which
does none of that.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from typing import BinaryIO, cast

# A member's name is in its header, or in an extension of the header that is hardly longer.
_MAX_READ = 1 << 20
_BLOCK = 512


def opened_tar(path: Path) -> BinaryIO:
    """Open a tar to read its bytes, decompressed."""
    compression = _compression(path)
    return path.open("rb") if compression is None else cast(BinaryIO, compression(path))


def _compression(path: Path) -> type[gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile] | None:
    with path.open("rb") as file:
        start = file.read(6)
    formats: dict[bytes, type[gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile]] = {
        b"\x1f\x8b": gzip.GzipFile,
        b"BZh": bz2.BZ2File,
        b"\xfd7zXZ\x00": lzma.LZMAFile,
        b"]\x00\x00": lzma.LZMAFile,
    }
    return next((kind for magic, kind in formats.items() if start.startswith(magic)), None)


class TarStream:
    """A file object with what ``tarfile`` needs to read members one after the other."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        """Read ``file``, which is decompressed, up to ``limit`` bytes."""
        self._file, self._limit = file, limit
        self._position = 0
        self._last = b""  # what was read last
        self._again = b""  # what was read and has been gone back over

    def tell(self) -> int:
        """How many bytes have been read."""
        return self._position

    def read(self, size: int) -> bytes:
        """Read ``size`` bytes; ``ValueError`` where no tar of the release has that many."""
        if not 0 <= size <= _MAX_READ:
            raise ValueError(f"a header claims {size} bytes at byte {self._position}")
        data = self._again[:size]
        self._again = self._again[len(data) :]
        data += self._file.read(size - len(data))
        self._position += len(data)
        if self._position > self._limit:
            raise ValueError(f"unpacks to over {self._limit} bytes")
        self._last = data or self._last
        return data

    def seek(self, position: int) -> None:
        """Go forward, or back by one byte, as ``tarfile`` does to see whether a member is whole."""
        if position == self._position - 1 and self._last:
            self._again = self._last[-1:] + self._again
            self._position = position
            return
        if position < self._position:
            raise ValueError(f"a member leads back from byte {self._position} to {position}")
        while position > self._position:
            if not self.read(min(position - self._position, 1 << 16)):
                raise EOFError(f"ends at byte {self._position}, in the middle of a member")

    def check_end(self) -> None:
        """Read on to the end, with its checksum; raise unless there is nothing but the end mark."""
        block = self._last
        if len(block) < _BLOCK or any(block):
            raise ValueError(f"found no header at byte {self._position - len(block)}")
        while chunk := self.read(1 << 16):
            if chunk.count(0) < len(chunk):
                raise ValueError(f"found more data behind its end, before byte {self._position}")
