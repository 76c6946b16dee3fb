"""Keys and passwords, which are taken out of all that is written: one list for the whole process.

What may be a key is noted where it is read: in the environment, an option, an address or a command.
Whatever prints, and whatever writes a file, takes it out again, however it is escaped there.
"""

from __future__ import annotations

import base64
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TextIO, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from .errors import SgdxError

TAKEN_OUT = "[key]"  # what stands in the place of a key
SHOWN_KEYS = "SGDX_KEYS"  # the variable that names others whose values are keys
# What is shorter stands in ordinary words, as "none" does; one with a digit is a key by itself.
_SHORTEST, _SHORTEST_WORD = 8, 4
_NAMES = re.compile(
    r"(?:^|[^A-Za-z])(?i:(?:api)?(?:key|token|secret|pass|password|passwd|credential|auth|cookie)s?)"
    r"(?:[^A-Za-z]|$)|(?:Key|Token|Secret|Password)$"
)
_PLACES = re.compile(r"(PATH|FILE|DIR|URL|SOCK)$")  # whose values say where a key is
_PLAIN_HEADERS = re.compile(r"accept|content-|user-agent|host$|origin$|cache-", re.IGNORECASE)
# What looks like a key: many letters and digits in one, a UUID, or what begins as keys do.
_RANDOM = re.compile(
    r"\S*(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,}\S*"
    r"|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(sk|pk|key|token|secret)[-_]\S{5,}"
)
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]*://[^\s'\"]+")
# What a key that is escaped has in it: of letters and digits, which are seldom written so, and of
# other characters.
_ESCAPED = re.compile(r"\\u00[2-7]|%[2-7][0-9A-Fa-f]|&#")
_ESCAPED_SIGN = re.compile(rf"{_ESCAPED.pattern}|\\[^nrtbf]|&\w+;")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}

_keys: dict[str, None] = {}
_pattern: re.Pattern[str] | None = None  # of all of them; made when it is needed


def note_key(text: str) -> None:
    """Keep a text out of all that is written, unless it is an ordinary short word."""
    global _pattern
    text = text.strip()
    is_long = len(text) >= _SHORTEST
    has_digit = any(c.isdigit() for c in text) and not text.isdigit()
    if is_long or (len(text) >= _SHORTEST_WORD and has_digit):
        _keys[text] = None
        _pattern = None


def note_words(text: str) -> None:
    """Note a value that is a key or has one in it, as ``Bearer KEY`` does."""
    for word in (text, *re.split(r"[\s,;=]+", text), *text.split()):
        note_key(word)


def note_environment(environment: Mapping[str, str] = os.environ) -> None:
    """Note the values of variables that are called keys, tokens, secrets or passwords."""
    named = environment.get(SHOWN_KEYS, "").split()
    for name, value in environment.items():
        is_called_so = _NAMES.search(name) and not _PLACES.search(name) and name != SHOWN_KEYS
        if name in named or is_called_so:
            note_words(value)


def note_fields(fields: Mapping[str, Any]) -> None:
    """Note the texts of fields of a request that are called so."""
    for name, value in fields.items():
        if isinstance(value, str):
            note_environment({name: value})
        elif isinstance(value, dict):
            note_fields(value)


def note_headers(headers: Mapping[str, str]) -> None:
    """Note the values of headers, but for those that say only in which form something is."""
    for name, value in headers.items():
        if not _PLAIN_HEADERS.match(name):
            note_words(value)


def note_variables(variables: Mapping[str, str]) -> None:
    """Note values that are given to a program: what is called a key, and what looks like one."""
    note_environment(variables)
    for value in variables.values():
        for word in value.split():
            if _RANDOM.fullmatch(word):
                note_key(word)
        note_addresses(value)


def from_environment(text: str, where: str) -> str:
    """A text with the environment's values in place of each ``${NAME}``, which are noted."""

    def value(found: re.Match[str]) -> str:
        if not os.environ.get(found[1]):
            raise SgdxError(f"{where}: found no {found[1]} in the environment")
        note_words(os.environ[found[1]])
        return os.environ[found[1]].strip()

    return re.sub(r"\$\{(\w+)\}", value, text)


def note_addresses(text: str) -> None:
    """Note what may be keys in the addresses of a text: user, password, query, parts of paths."""
    for address in addresses_in(text):
        try:
            parts = urlsplit(address)
            user, password = parts.username or "", parts.password or ""
        except ValueError:  # which whoever uses the address will say
            note_key(address)
            continue
        both = f"{unquote(user)}:{unquote(password)}"
        words = [user, password, both, base64.b64encode(both.encode()).decode()] if user else []
        # A version is a day, as api-version=2024-06-01 is, which stands elsewhere too.
        values = [value for name, value in parse_qsl(parts.query) if "version" not in name.lower()]
        words += [parts.query, *values, parts.fragment]
        # Whoever says the whole address back says them too; a path such as /v1 is no key.
        path = [part for part in parts.path.split("/") if _RANDOM.fullmatch(part)]
        if path or parts.query or user:
            words += [address, parts.path if path else ""]
        for word in (*words, *path):
            note_key(word)
            note_key(unquote(word))


def addresses_in(text: str) -> list[str]:
    """The addresses in a text, such as a command line."""
    return _ADDRESS.findall(text)


def check_address(address: str, name: str) -> None:
    """Refuse what is no address of a server; the error says its name alone, as it may have keys."""
    note_addresses(address)
    with suppress(ValueError):  # such as of a port that is none
        parts = urlsplit(address)
        is_one = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if is_one and address.isprintable() and " " not in address:
            return
    raise SgdxError(f"{name}: expected an address such as http://localhost:8000/v1")


def origin(address: str) -> str:
    """What is said of an address: scheme, host and port, as keys may stand in all else."""
    host, port = "", ""
    with suppress(ValueError):  # as above
        parts = urlsplit(address)
        host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
    if not host:
        return "another address"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def note_command(line: str) -> None:
    """Note what may be keys among the words of a command line."""
    note_addresses(line)
    before = ""
    for word in re.findall(r"'[^']*'|\"[^\"]*\"|\S+", line):
        bare = word.strip("'\"")
        name, equals, value = bare.partition("=")
        if equals and (_NAMES.search(name) or "header" in name.lower()):
            note_words(value)
        elif (before.startswith("-") and _NAMES.search(before)) or "header" in before.lower():
            note_words(bare.partition(":")[2] or bare)
        elif _RANDOM.fullmatch(value or bare) and not {*"@/"} & {*bare}:
            note_key(value or bare)
        before = bare


def split_command(line: str, name: str = "--command") -> list[str]:
    """The words of a command line, which an option or a key of this name has."""
    try:
        arguments = shlex.split(line)
    except ValueError as error:
        raise SgdxError(f"{name}: cannot be read: {error}") from None
    note_command(line)
    if not arguments:
        raise SgdxError(f"{name}: found no program, expected one with its arguments")
    return arguments


def take_out(text: str) -> str:
    """A text without keys, in whichever way these are escaped in it."""
    global _pattern
    if not _keys:
        return text
    if _pattern is None:
        longest = sorted(_keys, key=len, reverse=True)
        first = re.escape("".join({character for key in longest for character in key[:1]}))
        _pattern = re.compile(rf"(?=[{first}\\%&])(?:{'|'.join(map(_in_any_writing, longest))})")
    has_signs = any(not re.fullmatch(r"[\w-]+", key, re.ASCII) for key in _keys)
    escaped = _ESCAPED_SIGN if has_signs else _ESCAPED
    if not escaped.search(text) and not any(key in text for key in _keys):
        return text
    return _pattern.sub(TAKEN_OUT, text)


def take_out_of(value: Any) -> Any:
    """Parsed JSON without keys, in its texts and in the names of its fields."""
    if not _keys:
        return value
    if isinstance(value, str):
        return take_out(value)
    if isinstance(value, list):
        return [take_out_of(part) for part in value]
    if isinstance(value, dict):
        return {take_out(name): take_out_of(part) for name, part in value.items()}
    return value


def has_keys() -> bool:
    """Whether any key is known."""
    return bool(_keys)


def take_out_of_bytes(content: bytes) -> bytes:
    """The bytes of a text without keys."""
    text = content.decode("utf-8", "surrogateescape")
    return take_out(text).encode("utf-8", "surrogateescape")


def _in_any_writing(key: str) -> str:
    """A regular expression of a key as texts, JSON, HTML and addresses write it."""
    written = "".join(map(_character, key))
    return written if len(key) >= _SHORTEST else rf"(?<![A-Za-z0-9]){written}(?![A-Za-z0-9])"


def _character(character: str) -> str:
    code, plain = ord(character), re.escape(character)
    if character.isspace():
        return rf"(?:\s|\\+u00{code:02x}|%{code:02x}|\+)"
    ways = [plain if character.isalnum() else rf"\\*{plain}", rf"\\+u(?i:{code:04x})"]
    ways += [rf"&#(?:{code}|x(?i:{code:x}));", *filter(None, [_ENTITIES.get(character)])]
    ways += ["".join(f"%(?i:{byte:02x})" for byte in character.encode(errors="replace"))]
    return f"(?:{'|'.join(ways)})"


@dataclass(eq=False)
class _Shown:
    """A stream of the terminal that takes keys out of what is printed."""

    stream: TextIO

    def write(self, text: str) -> int:
        """Write a text without keys."""
        self.stream.write(take_out(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def keys_are_taken_out() -> Iterator[None]:
    """While the context is open, what is printed has no keys of the environment, or noted ones."""
    global _keys, _pattern
    before, streams = _keys, (sys.stdout, sys.stderr)
    _keys, _pattern = dict(_keys), None
    note_environment()
    shown = [stream and cast(TextIO, _Shown(stream)) for stream in streams]
    sys.stdout, sys.stderr = shown
    try:
        yield
    finally:
        # What a test or a caller has put there meanwhile stays.
        sys.stdout = streams[0] if sys.stdout is shown[0] else sys.stdout
        sys.stderr = streams[1] if sys.stderr is shown[1] else sys.stderr
        _keys, _pattern = before, None
