"""Translating texts to a pivot language and back, in batches that a later run need not repeat."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from ..io.errors import SgdxError
from ..io.progress import advance, progress
from ..words import TranslatedText
from .phrases import one_line
from .translators import Translator, command_translator, model_translator

_ADVICE = "delete it to begin anew"


class TranslationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that decide how texts are translated: the options of ``backtranslate``."""

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
class FinishedBatches:
    """The finished batches of translations, kept in a JSON Lines file."""

    path: Path  # a line with the header, then one with the translations of each batch
    header: dict[str, Any]  # the settings and a checksum of the texts
    done: list[list[str]]  # the translations of each finished batch

    def translate(self, number: int, texts: Sequence[str], translator: Translator) -> list[str]:
        """Translate a batch, each text to one line, unless the file has its translations."""
        if number < len(self.done):
            return self.done[number]
        state = np.random.SeedSequence((self.header["seed"], number)).generate_state(1)[0]
        translations = [one_line(text) for text in translator(texts, int(state))]
        lines = [translations] if self.done else [self.header, translations]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        except OSError as error:
            raise SgdxError(f"{self.path}: cannot be written: {error}") from None
        self.done.append(translations)
        return translations


def open_finished_batches(path: Path, header: dict[str, Any]) -> FinishedBatches:
    """Read the finished batches of a file, if it exists; an incomplete last line is dropped."""
    if not path.exists():
        return FinishedBatches(path, header, [])
    whole, newline, _ = path.read_bytes().rpartition(b"\n")
    try:
        first, *lines = whole.split(b"\n") if newline else [msgspec.json.encode(header)]
        own_header = msgspec.json.decode(first, type=dict[str, Any])
        done = [msgspec.json.decode(line, type=list[str]) for line in lines]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SgdxError(f"{path}: is damaged: {error}; {_ADVICE}") from None
    for name in (*header, *own_header):
        if own_header.get(name) != header.get(name):
            now = f"expected {header.get(name)!r} as now"
            raise SgdxError(
                f"{path}: was begun with {name} {own_header.get(name)!r}, {now}; {_ADVICE}"
            )
    os.truncate(path, len(whole + newline) if done else 0)
    return FinishedBatches(path, header, done)


def translate_round_trip(
    texts: Sequence[str], settings: TranslationSettings, path: Path
) -> dict[str, TranslatedText]:
    """Translate distinct lines to the pivot language and back; by original text."""
    # Batches follow from the texts, and random numbers from a batch's number and the seed: the
    # result does not depend on how many runs translate them.
    forward, backward = translators(settings)
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    header = msgspec.json.decode(msgspec.json.encode(settings))
    finished = open_finished_batches(path, {**header, "texts": digest})
    pivots = _translate(finished, "forward", texts, forward, 0)
    different = list(dict.fromkeys(pivot for text in texts if (pivot := pivots[text])))
    begin = len(batches(texts, settings.batch_size))
    backs = _translate(finished, "backward", different, backward, begin)
    return {text: TranslatedText(pivots[text], backs.get(pivots[text], "")) for text in texts}


def read_settings(**options: Any) -> TranslationSettings:
    """Make settings of a command's options; ``SgdxError`` where one is out of its range."""
    try:
        settings = msgspec.convert(options, TranslationSettings)
    except msgspec.ValidationError as error:
        raise SgdxError(f"options: {error}") from None
    if settings.sample and not (settings.forward or settings.backward):
        raise SgdxError("--sample: commands are not sampled, expected a model")
    return settings


def translators(settings: TranslationSettings) -> list[Translator]:
    """The translators to the pivot language and back."""
    source, pivot = settings.languages or (None, None)
    temperature = settings.temperature if settings.sample else None
    return [
        model_translator(model, *languages, temperature)
        if model is not None
        else command_translator(command or "")
        for model, command, languages in (
            (settings.forward, settings.forward_command, (source, pivot)),
            (settings.backward, settings.backward_command, (pivot, source)),
        )
    ]


def batches(texts: Sequence[str], size: int) -> list[list[str]]:
    """Batches of texts of like length, the longest first: one that is too long shows at once."""
    order = sorted(texts, key=len, reverse=True)
    return [order[i : i + size] for i in range(0, len(order), size)]


def _translate(
    finished: FinishedBatches, way: str, texts: Sequence[str], translator: Translator, begin: int
) -> dict[str, str]:
    parts = batches(texts, finished.header["batch_size"])
    translation_of: dict[str, str] = {}
    with progress(f"Translating {way}", len(parts), " batches"):
        for number, batch in enumerate(parts, begin):
            translation_of |= zip(batch, finished.translate(number, batch, translator), strict=True)
            advance()
    return translation_of
