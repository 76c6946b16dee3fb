"""Rewording the train schemas by translating them to another language and back.

The overlay that this makes can be put into a release as ``backtrans/LANGUAGE.json`` (letters a to
z) for the config ``backtrans``, or be given as a variant: ``--variant NAME=LANGUAGE.json``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    texts = schema_texts(schema)
    batches = output.with_name(f".{output.name}.partial.jsonl")
    try:
        originals = frozenset(_descriptions(schema))
        changes = Changes(translate_round_trip(texts, settings, batches), originals)
        overlay = {service.service_name: changes.service(service) for service in schema}
        data = pretty_json(_without_empty(overlay), 1)
        apply_words(read_words(data, str(output)), {"train": schema}, str(output))
        write_bytes(output, data)
        batches.unlink(missing_ok=True)
    except OSError as error:
        raise SgdxError(f"{output}: cannot be written: {error}") from None
    return f"{output}: {len(texts)} texts translated; {changes}"


def schema_texts(schema: Sequence[Service]) -> list[str]:
    """The texts to translate, each once: names as phrases, and descriptions."""
    names = [element.name for service in schema for element in service.elements]
    texts = [*map(phrase, names), *_descriptions(schema)]
    return [text for text in dict.fromkeys(texts) if _has_letter(text)]


def _descriptions(schema: Sequence[Service]) -> list[str]:
    return [one_line(text) for service in schema for text in service.descriptions]


@dataclass
class Changes:
    """What translations change in a schema, and how many of its texts change or stay."""

    translations: Mapping[str, TranslatedText]  # by the texts of the schema
    originals: frozenset[str]  # the schema's descriptions; none of them gets into an overlay
    counts: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        count = self.counts
        return (
            f"{count['name changed']} of {count['name']} names"
            f" and {count['description changed']} of {count['description']} descriptions changed;"
            f" kept: {count['same']} that came back the same, {count['unusable']} whose translation"
            f" is unusable, {count['collision']} that would have another's name"
        )

    def service(self, service: Service) -> Json:
        """A service's entry in the overlay; empty where nothing changed."""
        return _without_empty(
            {
                "description": self.description(service.description),
                "slots": self.elements(service.slots),
                "intents": self.elements(service.intents),
            }
        )

    def elements(self, elements: Sequence[Slot | Intent]) -> Json:
        """The entries of slots or intents in the overlay, with new names that are distinct."""
        originals = [element.name for element in elements]
        names = [self.name(name) for name in originals]
        new_names = distinct(originals, [name["text"] if name else "" for name in names])
        changed = {}
        for element, name, new_name in zip(elements, names, new_names):
            self.counts["collision"] += bool(name) and not new_name
            self.counts["name changed"] += bool(new_name)
            description = self.description(element.description)
            entry = {"name": name if new_name else {}, "description": description}
            changed[element.name] = _without_empty(entry)
        return _without_empty(changed)

    def name(self, name: str) -> Json:
        """A name's entry in the overlay; empty where the name stays as it is."""
        self.counts["name"] += 1
        pair = self.translations.get(phrase(name), TranslatedText("", ""))
        new_name = identifier(pair.text, name)
        if new_name in (name, identifier(phrase(name), name)) and new_name:
            return self._keep("same")
        return self._change(pair.pivot, new_name)

    def description(self, description: str) -> Json:
        """A description's entry in the overlay; empty where the description stays as it is."""
        self.counts["description"] += 1
        sent = one_line(description)
        pair = self.translations.get(sent, TranslatedText("", ""))
        if pair.text == sent:
            return self._keep("same")
        entry = self._change(pair.pivot, "" if pair.text in self.originals else pair.text)
        self.counts["description changed"] += bool(entry)
        return entry

    def _change(self, pivot: str, text: str) -> Json:
        if not _has_letter(text) or pivot in self.originals:
            return self._keep("unusable")
        return {"pivot": pivot, "text": text}

    def _keep(self, reason: str) -> Json:
        self.counts[reason] += 1
        return {}


def _has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)


def _without_empty(entries: Json) -> Json:
    return {name: entry for name, entry in entries.items() if entry}
