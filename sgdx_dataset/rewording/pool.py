"""Pools of paraphrases, from which ``compose`` makes variants of a schema."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ..io.errors import SgdxError
from ..io.json import parse_json
from ..schema import NONE_INTENT, Service

_STYLES = {
    "snake_case": re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*"),
    "CamelCase": re.compile(r"[A-Z][A-Za-z0-9]*"),
}
_IDENTIFIER = re.compile(r"[A-Za-z]\w*", re.ASCII)
_SIZES = range(2, 10)  # the last digit of a service's name tells the variant


class ElementPool(msgspec.Struct, forbid_unknown_fields=True):
    """The paraphrases of a slot or intent, in any order."""

    name: list[str]
    description: list[str]


class ServicePool(msgspec.Struct, forbid_unknown_fields=True):
    """The paraphrases of a service; slots and intents go by their original names."""

    description: list[str]
    slots: dict[str, ElementPool]
    intents: dict[str, ElementPool]


class Pool(msgspec.Struct):
    """Paraphrases by the services' original names."""

    path: str
    services: dict[str, ServicePool]

    def size(self) -> int:
        """How many paraphrases each element has, which is how many variants they make."""
        return len(next(iter(self.services.values())).description)


def read_pool(data: bytes, path: str) -> Pool:
    """Parse a pool file."""
    pool = Pool(path, parse_json(data, dict[str, ServicePool], path, "a pool of paraphrases"))
    if not pool.services:
        raise SgdxError(f"{path}: has no service, expected paraphrases by service")
    return pool


def check_pool(pool: Pool, schemas: Iterable[Sequence[Service]]) -> None:
    """Raise ``SgdxError`` unless the pool has what variants of these schemas need."""
    services = {service.service_name: service for schema in schemas for service in schema}
    _check_keys(f"{pool.path}: service", pool.services, services)
    for name, service in services.items():
        words, where = pool.services[name], f"{pool.path}: service {name}"
        _check_texts(pool, f"{where}: description", words.description)
        _check_elements(pool, f"{where}: slot", words.slots, [s.name for s in service.slots])
        _check_elements(pool, f"{where}: intent", words.intents, [i.name for i in service.intents])


def _check_elements(
    pool: Pool, where: str, elements: Mapping[str, ElementPool], expected: Iterable[str]
) -> None:
    _check_keys(where, elements, expected)
    for name, element in elements.items():
        _check_texts(pool, f"{where} {name}: name", element.name)
        _check_texts(pool, f"{where} {name}: description", element.description)
        _check_names(f"{where} {name}", name, element.name)


def _check_keys(where: str, names: Iterable[str], expected: Iterable[str]) -> None:
    names, expected = set(names), set(expected)
    if lacking := sorted(expected - names):
        raise SgdxError(f"{where} {lacking[0]} is not there, expected paraphrases of it")
    if unknown := sorted(names - expected):
        one_of = ", ".join(sorted(expected))
        raise SgdxError(f"{where} {unknown[0]} is not in the source, expected one of {one_of}")


def _check_texts(pool: Pool, record: str, texts: list[str]) -> None:
    if len(texts) not in _SIZES:
        bounds = f"{_SIZES[0]} to {_SIZES[-1]}"
        raise SgdxError(f"{record}: {len(texts)} paraphrases, expected {bounds}")
    if len(texts) != pool.size():
        first = f"as many as of service {next(iter(pool.services))}: {pool.size()}"
        raise SgdxError(f"{record}: {len(texts)} paraphrases, expected {first}")
    for i, text in enumerate(texts):
        if not text.strip() or text in texts[:i]:
            raise SgdxError(f"{record}: paraphrase {i} is {text!r}, expected other words in each")


def _check_names(record: str, original: str, names: list[str]) -> None:
    style = next((s for s, pattern in _STYLES.items() if pattern.fullmatch(original)), None)
    pattern = _STYLES[style] if style else _IDENTIFIER
    for name in names:
        if not pattern.fullmatch(name) or name == NONE_INTENT:
            expected = f"{style or 'an identifier'} as in {original}"
            raise SgdxError(f"{record}: name is {name!r}, expected {expected}")
