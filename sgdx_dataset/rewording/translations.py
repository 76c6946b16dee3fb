"""Translating texts to a pivot language and back, in batches that a later run need not repeat."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from ..io.errors import SgdxError
from ..io.progress import advance, progress
from ..io.secrets import note_command, take_out
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
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    batch_size: Annotated[int, msgspec.Meta(ge=1)] = 32


def translate_round_trip(
    texts: Sequence[str], settings: TranslationSettings, path: Path
) -> dict[str, TranslatedText]:
    """Translate distinct lines to the pivot language and back; by original text."""
    # Batches follow from the texts, and random numbers from a batch's number and the seed: the
    # result does not depend on how many runs translate them.
    source, pivot = settings.languages or (None, None)
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    header = {**msgspec.json.decode(msgspec.json.encode(settings)), "texts": digest}
    for name in ("forward_command", "backward_command"):  # in whose words keys may stand
        if header[name]:
            note_command(header[name])
            header[name] = take_out(header[name])
    done = _finished_batches(path, header)
    begin = 0

    def translate(way: str, texts: Sequence[str], translator: Translator) -> dict[str, str]:
        nonlocal begin
        parts, translation_of = batches(texts, settings.batch_size), dict[str, str]()
        with progress(f"Translating {way}", len(parts), " batches"):
            for number, batch in enumerate(parts, begin):
                if number == len(done):
                    state = np.random.SeedSequence((settings.seed, number)).generate_state(1)[0]
                    done.append([one_line(text) for text in translator(batch, int(state))])
                    lines = done[-1:] if number else [header, *done]
                    path.parent.mkdir(parents=True, exist_ok=True)
                    with path.open("ab") as file:
                        file.write(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
                translation_of |= zip(batch, done[number], strict=True)
                advance()
        begin += len(parts)
        return translation_of

    forward, backward = (
        model_translator(model, *languages, settings.sample)
        if model is not None
        else command_translator(command or "", name)
        for model, command, name, languages in (
            (settings.forward, settings.forward_command, "--forward-command", (source, pivot)),
            (settings.backward, settings.backward_command, "--backward-command", (pivot, source)),
        )
    )
    try:
        pivots = translate("forward", texts, forward)
        different = list(dict.fromkeys(pivot for text in texts if (pivot := pivots[text])))
        backs = translate("backward", different, backward)
    except OSError as error:
        raise SgdxError(f"{path}: cannot be written: {error}") from None
    return {text: TranslatedText(pivots[text], backs.get(pivots[text], "")) for text in texts}


def _finished_batches(path: Path, header: dict[str, Any]) -> list[list[str]]:
    """The translations of finished batches in a file, which has the header in its first line.

    A last line that is not whole is dropped.
    """
    if not path.exists():
        return []
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
    return done


def read_settings(**options: Any) -> TranslationSettings:
    """Make settings of a command's options; ``SgdxError`` where one is out of its range."""
    try:
        settings = msgspec.convert(options, TranslationSettings)
    except msgspec.ValidationError as error:
        found, _, name = str(error).partition(" - at `$.")
        raise SgdxError(f"--{name[:-1].replace('_', '-')}: {found}") from None
    if settings.sample and not (settings.forward or settings.backward):
        raise SgdxError("--sample: commands are not sampled, expected a model")
    return settings


def batches(texts: Sequence[str], size: int) -> list[list[str]]:
    """Batches of texts of like length, the longest first: one that is too long shows at once."""
    order = sorted(texts, key=len, reverse=True)
    return [order[i : i + size] for i in range(0, len(order), size)]
