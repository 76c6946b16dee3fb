"""Convert spans of a text between characters and the tokens of a fast tokenizer."""

from __future__ import annotations

from collections.abc import Sequence


def token_span(offsets: Sequence[Sequence[int]], start: int, end: int) -> tuple[int, int] | None:
    """The first and the last token that cover exactly a span of characters; None if none do."""
    # Special tokens have the offsets (0, 0).
    first = [i for i, (begin, stop) in enumerate(offsets) if begin == start and stop > begin]
    last = [i for i, (begin, stop) in enumerate(offsets) if stop == end and stop > begin]
    # Several tokens have the same offsets where they are bytes of one character.
    return (first[0], last[-1]) if first and last and start < end else None


def character_span(offsets: Sequence[Sequence[int]], first: int, last: int) -> tuple[int, int]:
    """The characters [start, end) that a span of tokens covers: the inverse of ``token_span``."""
    return int(offsets[first][0]), int(offsets[last][1])
