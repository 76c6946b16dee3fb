"""Texts to a pivot language and back, batch by batch, with a file of the batches to go on from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from ..errors import SgdxError
from ..progress import advance, progress
from ..release.overlay import Text
from .phrases import one_line
from .translators import Translator, command_translator, model_translator

_ADVICE = "delete it to begin anew"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What decides the translations of given texts; see ``translators`` and the command's help."""

    forward: str | None = None
    forward_command: str | None = None
    backward: str | None = None
    backward_command: str | None = None
    languages: tuple[str, str] | None = None
    sample: bool = False
    temperature: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    batch_size: Annotated[int, msgspec.Meta(ge=1)] = 32


@dataclass
class Work:
    """Finished batches in a JSON Lines file: what decides them, then a batch's number and texts.

    The file comes with the first finished batch. A batch is in it once its line is whole.
    """

    path: Path
    header: dict[str, Any]
    done: list[list[str]]

    def do(self, number: int, texts: Sequence[str], translator: Translator) -> list[str]:
        """A batch's translations, each on one line; translated unless the file has them."""
        if number < len(self.done):
            if len(self.done[number]) != len(texts):
                counts = f"{len(self.done[number])} texts, expected {len(texts)}"
                raise SgdxError(f"{self.path}: batch {number} has {counts}; {_ADVICE}")
            return self.done[number]
        state = np.random.SeedSequence((self.header["seed"], number)).generate_state(1)[0]
        made = [one_line(text) for text in translator(texts, int(state))]
        lines = [] if self.done else [self.header]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(
                    b"".join(msgspec.json.encode(v) + b"\n" for v in [*lines, (number, made)])
                )
        except OSError as error:
            raise SgdxError(f"{self.path}: cannot be written: {error}") from None
        self.done.append(made)
        return made


def open_work(path: Path, header: dict[str, Any]) -> Work:
    """The finished batches in a file, if there is one; a last line that is not whole is dropped.

    Raises:
        SgdxError: The file was begun with other settings, or is not such a file.
    """
    if not path.exists():
        return Work(path, header, [])
    whole, newline, _ = path.read_bytes().rpartition(b"\n")
    try:
        first, *lines = whole.split(b"\n") if newline else [msgspec.json.encode(header)]
        found = msgspec.json.decode(first, type=dict[str, Any])
        done = msgspec.json.decode(b"[" + b",".join(lines) + b"]", type=list[tuple[int, list[str]]])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SgdxError(f"{path}: is damaged: {error}; {_ADVICE}") from None
    for name in (*header, *found):
        if found.get(name) != header.get(name):
            now = f"expected {header.get(name)!r} as now"
            raise SgdxError(f"{path}: was begun with {name} {found.get(name)!r}, {now}; {_ADVICE}")
    if [number for number, _ in done] != list(range(len(done))):
        raise SgdxError(f"{path}: is damaged: its batches are not one after another; {_ADVICE}")
    os.truncate(path, len(whole + newline) if done else 0)
    return Work(path, header, [made for _, made in done])


def there_and_back(texts: Sequence[str], settings: Settings, path: Path) -> dict[str, Text]:
    """Translate distinct texts of one line to the pivot language and back.

    Args:
        texts: They decide the batches, of like length; a batch's number and the seed its random
            state. So it is all the same whether one run translates them or several.
        settings: Who translates and how.
        path: The file of finished batches; the caller deletes it.

    Raises:
        SgdxError: A translator is at fault, or the file is (see ``open_work``).
    """
    forward, backward = translators(settings)
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    header = msgspec.json.decode(msgspec.json.encode(settings))
    work = open_work(path, {**header, "texts": digest})
    pivots = _translate(work, "there", texts, forward, 0)
    different = list(dict.fromkeys(pivot for text in texts if (pivot := pivots[text])))
    begin = len(batches(texts, settings.batch_size))
    backs = _translate(work, "back", different, backward, begin)
    return {text: Text(pivots[text], backs.get(pivots[text], "")) for text in texts}


def read_settings(options: dict[str, Any]) -> Settings:
    """Settings from a command's options; ``SgdxError`` where one is out of its range."""
    try:
        settings = msgspec.convert(options, Settings)
    except msgspec.ValidationError as error:
        raise SgdxError(f"options: {error}") from None
    if settings.sample and not (settings.forward or settings.backward):
        raise SgdxError("--sample: commands are not sampled, expected a model")
    return settings


def translators(settings: Settings) -> tuple[Translator, Translator]:
    """What translates there and back."""
    source, pivot = settings.languages or (None, None)
    temperature = settings.temperature if settings.sample else None
    if settings.forward is None:
        forward = command_translator(settings.forward_command or "")
    else:
        forward = model_translator(settings.forward, source, pivot, temperature)
    if settings.backward is None:
        backward = command_translator(settings.backward_command or "")
    else:
        backward = model_translator(settings.backward, pivot, source, temperature)
    return forward, backward


def batches(texts: Sequence[str], size: int) -> list[list[str]]:
    """Texts in batches of like length, the longest first: what does not fit shows at once."""
    order = sorted(texts, key=len, reverse=True)
    return [order[i : i + size] for i in range(0, len(order), size)]


def _translate(
    work: Work, way: str, texts: Sequence[str], translator: Translator, begin: int
) -> dict[str, str]:
    parts = batches(texts, work.header["batch_size"])
    made: dict[str, str] = {}
    with progress(f"Translating {way}", len(parts), " batches"):
        for number, batch in enumerate(parts, begin):
            made |= zip(batch, work.do(number, batch, translator), strict=True)
            advance()
    return made
