"""JSON files with a value of another kind in each of their places, or broken bytes."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sgdx_dataset import SgdxError
from sgdx_dataset.release.dialogue import Frame, read_dialogues
from sgdx_dataset.release.open import SAMPLE
from sgdx_dataset.release.overlay import apply_overlay, read_overlay
from sgdx_dataset.release.rewording_file import apply_rewording, read_rewording
from sgdx_dataset.release.schema import Schema, read_schema
from sgdx_dataset.rewording.pool import check_pool, read_pool
from sgdx_dataset.rows.dialogue_columns import dialogue_columns
from sgdx_dataset.rows.name_codes import Coder
from sgdx_metric.cli.predictions import read_predictions
from sgdx_metric.cli.results import read_results
from sgdx_metric.rows import ScoreError

from .outcomes import ACCEPTED, RIGHT, Counts, outcome_of

# What these are in JSON stands in the place of each value.
VALUES = ["null", "true", '""', f'"{"x" * 1_000_000}"', "-1", "1e400", "[]", "{}"]
_HOLE = "\x00hole\x00"

Json = Any
Parse = Callable[[bytes], object]
Accepted = dict[str, list[str]]
_ACCEPTED = Path(__file__).with_name("accepted.json")


def mutated(value: Json) -> Iterator[tuple[str, bytes]]:
    """JSON with each field and item of ``value`` in turn replaced by each of ``VALUES``.

    Yields:
        What was replaced, as in ``0.slots.2.name = null``, and the JSON.
    """
    for path in _places(value):
        changed = copy.deepcopy(value)
        parent = changed
        for step in path[:-1]:
            parent = parent[step]
        parent[path[-1]] = _HOLE
        text = json.dumps(changed)
        for replacement in VALUES:
            what = f"{'.'.join(map(str, path))} = {replacement[:5]}"
            yield what, text.replace(json.dumps(_HOLE), replacement).encode()


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


def _of_the_data_set() -> dict[str, tuple[Json, Parse]]:
    """A valid file of each kind that the data set reads, and what reads and checks it."""
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
        "slots": {slot: "new"},
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
    return dialogue_columns(dialogues, Coder.from_schema(schema), "file")


def _of_results() -> dict[str, tuple[Json, Parse]]:
    """A prediction row, whose file is JSON Lines, and a scores.json."""
    ids = [f"1_00000/{turn}/Cabs_1" for turn in (0, 2)]
    row = {
        "frame_id": ids[0],
        "variant": "original",
        "active_intent": "OrderCab",
        "requested_slots": ["price"],
        "slot_values": [{"slot": "to", "values": ["the station"]}],
        "slots": [{"slot": "to", "start": 3, "exclusive_end": 14}],
    }
    signature = (
        "sgdx_metric|variants:original|split:test|release:sample|frames:2|match:fuzzy-token-sort"
        "|joint:frame|zero-mean:0|sd:sample|system-acts:no|ci:none|version:0"
    )
    paired = {"frame_id": ids, "seen": ["Cabs_1"], "joint_goal_accuracy": {"original": [1, 0.5]}}
    headline: dict[str, Json] = {
        "jga_orig": 0.75,
        "jga_v1-5": None,
        "relative_difference": None,
        "ss_jga": None,
    }
    headline |= {"mean_v1-5": {}, "sensitivity": {}}
    unseen = headline | {"jga_orig": None}  # both frames are of a seen service
    of_services = {"by_variant": {"original": 0.75}, "seen": headline, "unseen": unseen}
    scores = {
        "signature": signature,
        "variants": {"original": {"#ALL_SERVICES": {"joint_goal_accuracy": 0.75}}},
        "sgdx": {**headline, **of_services, "by_service": {"Cabs_1": headline}},
        "frames": {"all": 2, "seen": 2, "unseen": 0},
        "paired": paired,
    }
    return {
        "predictions": (row, _in_a_file(lambda path: read_predictions(path, "test", "original"))),
        "scores.json": (scores, _in_a_file(read_results)),
    }


def _in_a_file(read: Callable[[Path], object]) -> Parse:
    """A function that has ``read`` read bytes from a file with the name that errors begin with."""

    def parse(data: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            Path("file").write_bytes(data or b"nothing")  # no lines are no fault of JSON Lines
            return read(Path("file"))

    return parse


def break_files(
    kinds: Mapping[str, tuple[Json, Parse]], every: int = 1, accepted: Accepted | None = None
) -> Counts:
    """Break each kind of file; count the outcomes.

    Args:
        kinds: A valid file of each kind as a JSON value, and what reads it from its bytes.
        every: Of the mutations of fields only every n-th is tried.
        accepted: Which values each kind of file may have in which of its places; any other one has
            to be refused. None where that is not known.
    """
    counts: Counts = {}
    for kind, (value, parse) in kinds.items():
        whole = _outcome(json.dumps(value).encode(), parse)
        counts[f"{kind}: as it is"] = Counter(
            [RIGHT if whole == ACCEPTED else f"as it is: {whole}"]
        )
        counts[f"{kind}: each field"] = Counter(
            _expected(what, _outcome(data, parse), None if accepted is None else accepted[kind])
            for what, data in itertools.islice(mutated(value), 0, None, every)
        )
        outcomes = {what: _outcome(data, parse) for what, data in broken(value).items()}
        counts[f"{kind}: broken"] = Counter(
            f"{what} accepted" if outcome == ACCEPTED else outcome
            for what, outcome in outcomes.items()
        )
    return counts


def _expected(what: str, outcome: str, accepted: list[str] | None) -> str:
    """The outcome, or in words that it is not the one that is known to be right."""
    unexpected = outcome == ACCEPTED and accepted is not None and what not in accepted
    return f"accepted {what}" if unexpected else outcome


def read_accepted() -> Accepted:
    """Which values files may have in which places, as it was looked through and written down."""
    accepted: Accepted = json.loads(_ACCEPTED.read_bytes())
    return accepted


def write_accepted() -> None:
    """Write down what is accepted now, to be looked through wherever a format has changed."""
    accepted = {
        kind: [what for what, data in mutated(value) if _outcome(data, parse) == ACCEPTED]
        for kind, (value, parse) in kinds().items()
    }
    _ACCEPTED.write_text(json.dumps(accepted, indent=0) + "\n", encoding="utf-8")


def kinds() -> dict[str, tuple[Json, Parse]]:
    """A valid file of each kind that the data set and the metric read, and what reads it."""
    return _of_the_data_set() | _of_results()


def _outcome(data: bytes, parse: Parse) -> str:
    def attempt() -> str:
        parse(data)
        return ACCEPTED

    return outcome_of(attempt, "file", (SgdxError, ScoreError))
