"""Reading the file of a service: its schema, five paraphrases of everything, its dialogues."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.rewording.compose import ElementPool, ServicePool
from sgdx_dataset.schema import Intent, Service, Slot

DONTCARE = "dontcare"
_BOOL = ["True", "False"]
_PARAPHRASES = 5
_SLOT = re.compile(r"slot (\w+)(?: \{(.+)\})?: (.+)")
_INTENT = re.compile(r"intent (\w+)(!?) \(([^;)]*)(?:;([^)]*))?\)(?: -> ([^:]+))?: (.+)")
_SERVICE = re.compile(r"service (\w+): (.+)")
_TURN = re.compile(r"([US])((?: [\w=]+)*): (.+)")
_MARK = re.compile(r"\[([^\[\]]+)\]\(([^()]+)\)")


@dataclass(frozen=True)
class Mark:
    """Words of an utterance that say a value or ask for one."""

    start: int  # in the utterance
    text: str
    slot: str
    value: str | None  # None where the words ask for the slot
    is_span: bool  # whether the words are the value itself


@dataclass(frozen=True)
class Turn:
    """An utterance, its marks, and the acts and the intent before its colon."""

    line: int
    speaker: str  # U or S
    heads: Sequence[str]
    utterance: str
    marks: Sequence[Mark]


@dataclass
class ServiceFile:
    """A service, its paraphrases and its dialogues."""

    service: Service
    pool: ServicePool
    dialogues: list[list[Turn]] = field(default_factory=list)


def read_service(path: Path) -> ServiceFile:
    """Read a file; ``SgdxError`` names the line that is at fault."""
    lines = [
        (number, line.rstrip())
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    try:
        return _read(lines)
    except SgdxError as error:
        raise SgdxError(f"{path}:{error}") from None


def _read(lines: Sequence[tuple[int, str]]) -> ServiceFile:
    blocks = list(_blocks(lines))
    number, head, paraphrases = blocks[0]
    name, description = _match(_SERVICE, number, head)
    service = Service(name, description, [], [])
    found = ServiceFile(service, ServicePool(paraphrases, {}, {}))
    for number, head, body in blocks[1:]:
        kind = head.split()[0]
        if kind == "slot":
            slot = _slot(number, head)
            service.slots.append(slot)
            found.pool.slots[slot.name] = _paraphrases(number, body)
        elif kind == "intent":
            intent = _intent(number, head, {slot.name for slot in service.slots})
            service.intents.append(intent)
            found.pool.intents[intent.name] = _paraphrases(number, body)
        elif head == "dialogue":
            found.dialogues.append([])
        elif not found.dialogues:
            raise SgdxError(f"{number}: found {head!r}, expected 'dialogue' before a turn")
        else:
            found.dialogues[-1].append(_turn(number, head, service))
    return found


def _blocks(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str, list[str]]]:
    """Every line that is not indented, with the indented ones below it."""
    heads = [i for i, (_, line) in enumerate(lines) if not line.startswith(" ")]
    if not heads or heads[0] != 0:
        raise SgdxError("1: expected 'service NAME: DESCRIPTION'")
    for i, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        yield *lines[i], [line.strip() for _, line in lines[i + 1 : end]]


def _match(pattern: re.Pattern[str], number: int, line: str) -> tuple[str, ...]:
    match = pattern.fullmatch(line)
    if match is None:
        raise SgdxError(f"{number}: found {line!r}, expected a line such as {pattern.pattern!r}")
    return match.groups(default="")


def _paraphrases(number: int, body: Sequence[str]) -> ElementPool:
    pairs = [line.split(": ", 1) for line in body]
    if len(pairs) != _PARAPHRASES or any(len(pair) != 2 for pair in pairs):
        raise SgdxError(f"{number}: {len(pairs)} lines below it, expected 5 of 'name: description'")
    return ElementPool([name for name, _ in pairs], [text for _, text in pairs])


def _slot(number: int, line: str) -> Slot:
    name, values, description = _match(_SLOT, number, line)
    possible = _BOOL if values == "bool" else [v.strip() for v in values.split(";") if v.strip()]
    return Slot(name, description, bool(possible), possible)


def _intent(number: int, line: str, slots: set[str]) -> Intent:
    name, transactional, required, optional, results, text = _match(_INTENT, number, line)
    defaults = dict(part.strip().split("=", 1) for part in optional.split(",") if "=" in part)
    needed = [part.strip() for part in required.split(",") if part.strip()]
    given = [part.strip() for part in results.split(",") if part.strip()]
    if unknown := sorted({*needed, *defaults, *given} - slots):
        raise SgdxError(f"{number}: intent {name} has {unknown[0]}, expected slots listed above it")
    all_slots = list(dict.fromkeys([*needed, *defaults, *given]))
    return Intent(name, text, bool(transactional), needed, defaults, all_slots)


def _turn(number: int, line: str, service: Service) -> Turn:
    speaker, heads, text = _match(_TURN, number, line)
    slots = {slot.name: slot for slot in service.slots}
    utterance, end, marks = "", 0, []
    for match in _MARK.finditer(text):
        utterance += text[end : match.start()]
        marks.append(_mark(number, len(utterance), match[1], match[2], slots))
        utterance, end = utterance + match[1], match.end()
    utterance += text[end:]
    if "[" in utterance or "](" in utterance:
        raise SgdxError(f"{number}: found a bracket in {utterance!r}, expected [words](slot)")
    return Turn(number, speaker, heads.split(), utterance, marks)


def _mark(number: int, start: int, text: str, label: str, slots: Mapping[str, Slot]) -> Mark:
    asks = label.startswith("?")
    name, _, value = label.removeprefix("?").partition("=")
    slot = slots.get(name)
    if slot is None:
        raise SgdxError(f"{number}: slot {name!r}, expected one of {', '.join(slots)}")
    if asks:
        return Mark(start, text, name, None, False)
    if not slot.is_categorical:
        return Mark(start, text, name, value or text, not value)
    if (value or text) not in [*slot.possible_values, DONTCARE]:
        expected = f"expected {name}=VALUE of {slot.possible_values}"
        raise SgdxError(f"{number}: [{text}]({label}): {expected}")
    return Mark(start, text, name, value or text, False)
