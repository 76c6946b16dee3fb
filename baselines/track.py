"""Track a dialogue of one's own with an API of one's own: ``sgdx track``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import parse_json

SPEAKERS = ("user:", "system:")


def track(
    *,
    schema: Annotated[tuple[Path, ...], Parameter(metavar="FILE")],
    dialogue: Annotated[Path, Parameter(metavar="FILE")],
    model: str | None = None,
) -> None:
    """Track one dialogue with services of your own, and print the state after each user's turn.

    Each line that is printed is JSON: the turn's number, what the user said, and the state of every
    service.

    Parameters
    ----------
    schema
        Read a service from this JSON file: an object with service_name, description, slots and
        intents, or a list of such objects. Several files may be given.
    dialogue
        Read the dialogue from this text file: a line for each utterance, in turn by the user and
        the system, whose lines may begin with 'user:' and 'system:'. A JSON list of texts will do.
    model
        Use this trained model: a folder of 'sgdx train', a name on the Hub, or lexical. Default:
        models/onepass, which comes with a clone of the repository; where that is not, lexical.
    """
    services: list[Any] = []
    for path in schema:
        content = parse_json(read_file(path), Any, str(path), "a schema")
        services += content if isinstance(content, list) else [content]
    utterances = read_dialogue(dialogue)
    from .use import SHIPPED_MODEL, load_tracker, track_dialogue

    if model is None:
        model = str(SHIPPED_MODEL) if SHIPPED_MODEL.is_dir() else "lexical"
    states = track_dialogue(load_tracker(model), services, utterances)
    for number, state in enumerate(states):
        line = {"turn": 2 * number, "user": utterances[2 * number], "state": state}
        print(json.dumps(line, ensure_ascii=False))


def read_dialogue(path: Path) -> list[str]:
    """The utterances of a file, of which the user says the first."""
    data = read_file(path)
    if data.lstrip().startswith(b"["):
        return parse_json(data, list[str], str(path), "a list of utterances")
    try:
        lines = [line.strip() for line in data.decode().splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise SgdxError(f"{path}: found no UTF-8 text: {error}") from None
    utterances = []
    for number, line in enumerate(lines):
        named = [speaker for speaker in SPEAKERS if line.lower().startswith(speaker)]
        expected = SPEAKERS[number % 2]
        if named and named != [expected]:
            raise SgdxError(
                f"{path}: utterance {number + 1} is {line[:60]!r}, expected one that begins with "
                f"{expected!r}, as user and system speak in turn"
            )
        utterances.append(line[len(expected) :].strip() if named else line)
    return utterances
