"""Damage archives and JSON files at random, and count what the data set's reader makes of them.

``python -m tools.fuzz_dataset --flips 200 --cuts 50`` prints a table. Every outcome has to be an
error in one line, the right data, or data that ``Release.version`` calls unverified.
"""

from __future__ import annotations

import argparse
import bz2
import copy
import gzip
import io
import json
import lzma
import random
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sgdx_dataset import SgdxError
from sgdx_dataset.release.archives import digest
from sgdx_dataset.release.dialogue import Frame, read_dialogues
from sgdx_dataset.release.open import SAMPLE, open_release
from sgdx_dataset.release.overlay import apply_overlay, read_overlay
from sgdx_dataset.release.rewording_file import apply_rewording, read_rewording
from sgdx_dataset.release.schema import Schema, read_schema
from sgdx_dataset.rewording.pool import check_pool, read_pool
from sgdx_dataset.rows.dialogue_columns import dialogue_columns
from sgdx_dataset.rows.name_codes import Coder

ERROR, RIGHT, UNVERIFIED, ACCEPTED = "error", "right data", "unverified", "accepted"
ALLOWED = {ERROR, RIGHT, UNVERIFIED, ACCEPTED}
# Standard output of these is what the values below stand for in JSON.
VALUES = ["null", "true", '""', f'"{"x" * 1_000_000}"', "-1", "1e400", "[]", "{}"]
_HOLE = "\x00hole\x00"

Json = Any
Parse = Callable[[bytes], object]


def archives(root: Path) -> dict[str, bytes]:
    """A release directory in every kind of archive."""
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.json")}
    zipped, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in files.items():
            archive.writestr(f"top/{file}", content)
    with tarfile.open(fileobj=tarred, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for file, content in files.items():
            member = tarfile.TarInfo(f"top/{file}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    plain = tarred.getvalue()
    return {
        ".zip": zipped.getvalue(),
        ".tar": plain,
        ".tar.gz": gzip.compress(plain, 6, mtime=0),
        ".tar.bz2": bz2.compress(plain),
        ".tar.xz": lzma.compress(plain),
    }


def flipped(content: bytes, chance: random.Random) -> bytes:
    """The content with one bit changed."""
    changed = bytearray(content)
    changed[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def cut(content: bytes, chance: random.Random) -> bytes:
    """The content without its end."""
    return content[: chance.randrange(len(content))]


def archive_outcome(archive: Path, expected: dict[str, str]) -> str:
    """What reading all of an archive gives.

    Args:
        archive: The archive.
        expected: The SHA-256 of the files that are in it, by path.

    Returns:
        One of ``ALLOWED``, or what should not have happened, in words.
    """
    try:
        release = open_release(archive)
        found = {file: digest(release.read(file)) for file in release.files}
        if found == expected:
            return RIGHT
        return UNVERIFIED if release.version().startswith("unverified:") else "other data"
    except SgdxError as error:
        text = str(error)
        return ERROR if text.startswith(str(archive)) and "\n" not in text else f"names no {text}"
    except Exception as error:  # which is what this looks for
        return f"traceback: {type(error).__name__}: {error}"


def fuzz_archives(folder: Path, flips: int, cuts: int, seed: int) -> dict[str, Counter[str]]:
    """Damage the sample corpus in every kind of archive; count the outcomes by kind and damage."""
    chance = random.Random(seed)  # noqa: S311  # it is no secret
    expected = {p.relative_to(SAMPLE).as_posix(): digest(p.read_bytes()) for p in _files(SAMPLE)}
    counts: dict[str, Counter[str]] = {}
    for suffix, content in archives(SAMPLE).items():
        path = folder / f"damaged{suffix}"
        for what, damage, times in (("flip", flipped, flips), ("cut", cut, cuts)):
            found = counts.setdefault(f"{what} {suffix}", Counter())
            for _ in range(times):
                path.write_bytes(damage(content, chance))
                found[archive_outcome(path, expected)] += 1
    return counts


def _files(root: Path) -> list[Path]:
    return sorted(root.rglob("*.json"))


def mutated(value: Json) -> Iterator[bytes]:
    """JSON with each field and item of ``value`` in turn replaced by each of ``VALUES``."""
    for path in _places(value):
        changed = copy.deepcopy(value)
        parent = changed
        for step in path[:-1]:
            parent = parent[step]
        parent[path[-1]] = _HOLE
        text = json.dumps(changed)
        for replacement in VALUES:
            yield text.replace(json.dumps(_HOLE), replacement).encode()


def _places(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from _places(item, (*path, key))


def broken(value: Json) -> dict[str, bytes]:
    """Texts that are no JSON, or none that should be read, made from a valid value."""
    text = json.dumps(value).encode()
    key = next(iter(value[0] if isinstance(value, list) else value)).encode()
    first = b'"%b": ' % key
    return {
        "byte order mark": b"\xef\xbb\xbf" + text,
        "null byte": text.replace(b'"', b'"\x00', 1),
        "broken UTF-8": text.replace(b'"', b'"\xff', 1),
        "lone surrogate": text.replace(b'"', b'"\\ud800', 1),
        "encoded surrogate": text.replace(b'"', b'"\xed\xa0\x80', 1),
        "NaN": text.replace(first, first + b"NaN, " + first, 1),
        "huge number": text.replace(first, first + b"9" * 10_000 + b", " + first, 1),
        "depth": text.replace(first, first + b"[" * 100_000 + b"]" * 100_000 + b", " + first, 1),
        "key twice": text.replace(first, first + b'"", ' + first, 1),
        "nothing": b"",
        "cut": text[:-1],
        "more behind": text + b"[]",
    }


def parsers() -> dict[str, tuple[Json, Parse]]:
    """A valid file of each kind, as a JSON value, and what reads and checks it."""
    schema = json.loads((SAMPLE / "train" / "schema.json").read_bytes())[:1]
    original = read_schema(json.dumps(schema).encode(), "file")
    name = schema[0]["service_name"]
    of_service = (d for p in SAMPLE.glob("train/d*.json") for d in json.loads(p.read_bytes()))
    dialogue = min((d for d in of_service if d["services"] == [name]), key=lambda d: len(str(d)))
    dialogue["turns"] = dialogue["turns"][:4]
    overlay = json.loads((SAMPLE / "backtrans" / "ja.json").read_bytes())
    paraphrases = {"name": ["a_word", "b_word"], "description": ["A", "B"]}
    named = {"name": ["AWord", "BWord"], "description": ["A", "B"]}
    pool = {
        "description": ["One", "Two"],
        "slots": {slot["name"]: paraphrases for slot in schema[0]["slots"]},
        "intents": {intent["name"]: named for intent in schema[0]["intents"]},
    }
    slot, intent = schema[0]["slots"][0]["name"], schema[0]["intents"][0]["name"]
    words = {
        "description": "D",
        "slots": {
            slot: "new",
        },
        "intents": {intent: {"name": "New"}},
    }
    return {
        "schema": (schema, lambda data: read_schema(data, "file")),
        "dialogues": ([dialogue], lambda data: _columns(data, original)),
        "overlay": (
            {name: overlay[name]},
            lambda data: apply_overlay(original, read_overlay(data, "file")),
        ),
        "rewording": (
            {name: words},
            lambda data: apply_rewording({"train": original}, read_rewording(data, "file"), "file"),
        ),
        "pool": ({name: pool}, lambda data: check_pool(read_pool(data, "file"), [original])),
    }


def _columns(data: bytes, schema: Schema) -> object:
    dialogues = read_dialogues(data, "file", Frame)
    return dialogue_columns(dialogues, Frame, Coder.of(schema), "file")


def json_outcome(data: bytes, parse: Parse) -> str:
    """What parsing gives: one of ``ALLOWED``, or what should not have happened, in words."""
    try:
        parse(data)
    except SgdxError as error:
        return ERROR if str(error).startswith("file") else f"names no file: {error}"
    except Exception as error:  # which is what this looks for
        return f"traceback: {type(error).__name__}: {error}"
    return ACCEPTED


def fuzz_json(every: int = 1) -> dict[str, Counter[str]]:
    """Break each kind of file; count the outcomes. Of the mutations only every n-th is tried."""
    counts = {}
    for kind, (value, parse) in parsers().items():
        texts = [*list(mutated(value))[::every]]
        counts[f"{kind}, fields"] = Counter(json_outcome(data, parse) for data in texts)
        found = {what: json_outcome(data, parse) for what, data in broken(value).items()}
        wrong = [f"{what} accepted" for what, outcome in found.items() if outcome == ACCEPTED]
        counts[f"{kind}, broken"] = Counter([*found.values(), *wrong])
    return counts


def main() -> int:
    """Print a table; exit status 1 where an outcome is none of ``ALLOWED``."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz_dataset", description=__doc__)
    for name, default, text in (
        ("flips", 200, "bits to change in each kind of archive, one at a time"),
        ("cuts", 50, "places to cut each kind of archive off at"),
        ("seed", 0, "random seed"),
    ):
        text = f"{text}; default: {default}"
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=text)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = fuzz_archives(Path(folder), options.flips, options.cuts, options.seed)
    counts |= fuzz_json()
    for what, found in counts.items():
        print(f"{what:20}", ", ".join(f"{outcome} {n}" for outcome, n in found.most_common()))
    return 0 if set().union(*counts.values()) <= ALLOWED else 1


if __name__ == "__main__":
    raise SystemExit(main())
