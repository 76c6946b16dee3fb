"""Rewording the train schemas by translating them to another language and back.

The overlay that this makes can be put into a release as ``backtrans/LANGUAGE.json`` (letters a to
z) for the config ``backtrans``, or be given as a variant: ``--variant NAME=LANGUAGE.json``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..io.errors import SgdxError
from ..io.files import write_bytes
from ..io.json import pretty_json
from ..release import Release
from ..schema import Intent, Service, Slot
from ..words import TranslatedText, apply_words, read_words
from .phrases import distinct, identifier, one_line, phrase
from .translations import TranslationSettings, translate_round_trip

Json = dict[str, Any]


def backtranslate(release: Release, output: Path, settings: TranslationSettings) -> str:
    """Write an overlay of a release's train schemas, translated to a pivot language and back."""
    if output.exists():
        raise SgdxError(f"{output}: exists already, expected a new file for the overlay")
    schema = release.schema("train", "original")
    descriptions = [one_line(text) for service in schema for text in service.descriptions]
    names = [phrase(element.name) for service in schema for element in service.elements]
    texts = [text for text in dict.fromkeys([*names, *descriptions]) if _has_letter(text)]
    batches = output.with_name(f".{output.name}.partial.jsonl")
    try:
        translations = translate_round_trip(texts, settings, batches)
        overlay, count = _overlay(schema, translations, frozenset(descriptions))
        data = pretty_json(overlay, 1)
        apply_words(read_words(data, str(output)), {"train": schema}, str(output))
        write_bytes(output, data)
        batches.unlink(missing_ok=True)
    except OSError as error:
        raise SgdxError(f"{output}: cannot be written: {error}") from None
    return (
        f"{output}: {len(texts)} texts translated; {count['name changed']} of {count['name']} names"
        f" and {count['description changed']} of {count['description']} descriptions changed;"
        f" kept: {count['same']} that came back the same, {count['unusable']} whose translation"
        f" is unusable, {count['collision']} that would have another's name"
    )


def _overlay(
    schema: Sequence[Service],
    translations: Mapping[str, TranslatedText],  # by the texts of the schema
    originals: frozenset[str],  # the schema's descriptions; none of them gets into an overlay
) -> tuple[Json, Counter[str]]:
    """What translations change in a schema, and how many of its texts change or stay."""
    counts = Counter[str]()

    def changed(what: str, sent: str, new: str, is_same: bool) -> Json:
        """The entry of a text in the overlay; empty where the text stays."""
        counts[what] += 1
        pivot = translations.get(sent, TranslatedText("", "")).pivot
        if is_same or not _has_letter(new) or pivot in originals:
            counts["same" if is_same else "unusable"] += 1
            return {}
        return {"pivot": pivot, "text": new}

    def described(description: str) -> Json:
        sent = one_line(description)
        text = translations.get(sent, TranslatedText("", "")).text
        new = "" if text in originals else text
        entry = changed("description", sent, new, text == sent)
        counts["description changed"] += bool(entry)
        return entry

    def named(name: str) -> Json:
        new = identifier(translations.get(phrase(name), TranslatedText("", "")).text, name)
        is_same = bool(new) and new in (name, identifier(phrase(name), name))
        return changed("name", phrase(name), new, is_same)

    overlay = {}
    for service in schema:
        words = {"description": described(service.description)}
        of_kind: dict[str, Sequence[Slot | Intent]]
        of_kind = {"slots": service.slots, "intents": service.intents}
        for kind, elements in of_kind.items():
            originals_of_kind = [element.name for element in elements]
            names = [named(name) for name in originals_of_kind]
            new_names = distinct(originals_of_kind, [name.get("text", "") for name in names])
            entries = {}
            for element, name, new_name in zip(elements, names, new_names):
                counts["collision"] += bool(name) and not new_name
                counts["name changed"] += bool(new_name)
                entry = {"name": name if new_name else {}}
                entry["description"] = described(element.description)
                entries[element.name] = _without_empty(entry)
            words[kind] = _without_empty(entries)
        overlay[service.service_name] = _without_empty(words)
    return _without_empty(overlay), counts


def _has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)


def _without_empty(entries: Json) -> Json:
    return {name: entry for name, entry in entries.items() if entry}
