"""A cache on disk of the answers of a model of entailment, so that no pair is judged twice.

There is an SQLite file for each model, revision and precision. A row's key is a SHA-256 of the two
sentences, and its value three numbers of 64 bits, so that every verdict is the same with and
without the cache.
"""

import hashlib
import os
import sqlite3
import struct
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from sgdx_metric.columns import Floats
from sgdx_metric.errors import ScoreError

from .nli import Nli, Pair, nli_name

# So many pairs are sent at once and then stored: a run that is stopped loses no more than these.
_PAIRS_PER_CHUNK = 8192
_ANSWER = struct.Struct("<3d")


def default_cache() -> Path:
    """The folder of the cache: `sgsacc_metric` in the Hugging Face home (`HF_HOME`)."""
    base = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("HF_HOME", str(Path(base, "huggingface")))
    return Path(home, "sgsacc_metric").expanduser()


class CachedNli:
    """A model of entailment that looks into a cache first, and stores new answers there."""

    def __init__(self, nli: Nli, folder: Path) -> None:
        """Open the model's file in a folder; both are made if need be."""
        self._nli = nli
        self.name = nli_name(nli)
        self.sent = 0  # How many pairs were not in the cache.
        self.path = folder / f"{hashlib.sha256(self.name.encode()).hexdigest()[:16]}.sqlite"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with closing(self._open()) as database, database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS answers (pair BLOB PRIMARY KEY, of BLOB)"
                )
        except (OSError, sqlite3.Error) as error:
            raise ScoreError(f"{self.path}: cannot be used as a cache: {error}") from None

    def __call__(self, pairs: Sequence[Pair]) -> Floats:
        """The probabilities of pairs [pairs, 3], from the cache or else from the model."""
        keys = [hashlib.sha256("\0".join(pair).encode()).digest() for pair in pairs]
        try:
            with closing(self._open()) as database:
                answers: dict[bytes, bytes] = {}
                for key in keys:
                    answers.update(
                        database.execute("SELECT pair, of FROM answers WHERE pair = ?", (key,))
                    )
                new = [i for i, key in enumerate(keys) if key not in answers]
                for start in range(0, len(new), _PAIRS_PER_CHUNK):
                    chunk = new[start : start + _PAIRS_PER_CHUNK]
                    rows = np.asarray(self._nli([pairs[i] for i in chunk]), dtype=np.float64)
                    self.sent += len(chunk)
                    new_answers = {
                        keys[i]: _ANSWER.pack(*row)
                        for i, row in zip(chunk, rows.tolist(), strict=True)
                    }
                    with database:
                        database.executemany(
                            "INSERT OR IGNORE INTO answers VALUES (?, ?)", new_answers.items()
                        )
                    answers |= new_answers
        except (sqlite3.Error, struct.error) as error:
            raise ScoreError(f"{self.path}: cannot be used as a cache: {error}") from None
        return np.array([_ANSWER.unpack(answers[key]) for key in keys]).reshape(-1, 3)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=60)
