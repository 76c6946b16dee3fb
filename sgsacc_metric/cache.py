"""A cache on disk of what a model of entailment said, so that no pair is judged twice.

There is an SQLite file for each model, revision and precision. A pair is found in it by a SHA-256
of its two sentences, and has three numbers of 64 bits: every verdict is the same with and without
the cache.
"""

import hashlib
import os
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from sgdx_metric.columns import Floats
from sgdx_metric.rows import ScoreError

from .nli import Nli, Pair, nli_name

# So many pairs are sent at once and then noted, so that a run that is stopped loses no more.
_CHUNK = 8192
_LOOKED_UP = 500
_ANSWER = struct.Struct("<3d")


def default_cache() -> Path:
    """The folder of the cache: `sgsacc_metric` in the Hugging Face home (`HF_HOME`)."""
    base = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("HF_HOME", str(Path(base, "huggingface")))
    return Path(home, "sgsacc_metric").expanduser()


class Cached:
    """A model of entailment that looks into a cache first, and notes there what is new.

    Attributes:
        name: The model's name, with its revision and precision.
        sent: How many pairs were sent to the model, as the cache did not have them.
    """

    def __init__(self, nli: Nli, folder: Path) -> None:
        """Open the model's file in a folder, which is made where it lacks.

        Raises:
            ScoreError: The file cannot be opened, or is no cache.
        """
        self._nli = nli
        self.name = nli_name(nli)
        self.sent = 0
        self.path = folder / f"{hashlib.sha256(self.name.encode()).hexdigest()[:16]}.sqlite"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with closing(self._open()) as base, base:
                base.execute("CREATE TABLE IF NOT EXISTS model (name TEXT PRIMARY KEY)")
                base.execute("CREATE TABLE IF NOT EXISTS answers (pair BLOB PRIMARY KEY, of BLOB)")
                base.execute("INSERT OR IGNORE INTO model VALUES (?)", (self.name,))
        except (OSError, sqlite3.Error) as error:
            raise ScoreError(f"{self.path}: cannot be used as a cache: {error}") from None

    def __call__(self, pairs: Sequence[Pair]) -> Floats:
        """The probabilities of pairs [pairs, 3], from the cache or else from the model.

        Raises:
            ScoreError: The cache cannot be read or written, or an answer is not three numbers.
        """
        keys = [hashlib.sha256("\0".join(pair).encode()).digest() for pair in pairs]
        try:
            with closing(self._open()) as base:
                known = dict(_answers(base, keys))
                new = [i for i, key in enumerate(keys) if key not in known]
                for start in range(0, len(new), _CHUNK):
                    these = new[start : start + _CHUNK]
                    found = np.asarray(self._nli([pairs[i] for i in these]), dtype=np.float64)
                    self.sent += len(these)
                    made = {
                        keys[i]: _ANSWER.pack(*row)
                        for i, row in zip(these, found.tolist(), strict=True)
                    }
                    with base:
                        base.executemany(
                            "INSERT OR IGNORE INTO answers VALUES (?, ?)", made.items()
                        )
                    known |= made
        except (sqlite3.Error, struct.error) as error:
            raise ScoreError(f"{self.path}: cannot be used as a cache: {error}") from None
        return np.array([_ANSWER.unpack(known[key]) for key in keys]).reshape(-1, 3)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=60)


def _answers(base: sqlite3.Connection, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The answers that the cache has for some pairs."""
    for start in range(0, len(keys), _LOOKED_UP):
        these = keys[start : start + _LOOKED_UP]
        marks = ", ".join("?" * len(these))
        yield from base.execute(f"SELECT pair, of FROM answers WHERE pair IN ({marks})", these)  # noqa: S608
