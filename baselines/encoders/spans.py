"""Spans of a text: between its characters and the tokens of a fast tokenizer."""

from __future__ import annotations

from collections.abc import Sequence


def token_span(offsets: Sequence[Sequence[int]], start: int, end: int) -> tuple[int, int] | None:
    """The first and the last token of a span of characters.

    Args:
        offsets: Per token, the characters [begin, end) of the text; special tokens have (0, 0).
        start, end: Of the span: the characters [start, end).

    Returns:
        Tokens that cover the span and nothing else, or None if there are none: the span begins or
        ends inside a token, or beyond those that are there.
    """
    first = [i for i, (begin, stop) in enumerate(offsets) if begin == start and stop > begin]
    last = [i for i, (begin, stop) in enumerate(offsets) if stop == end and stop > begin]
    # Bytes of one character have the same offsets.
    return (first[0], last[-1]) if first and last and start < end else None


def character_span(offsets: Sequence[Sequence[int]], first: int, last: int) -> tuple[int, int]:
    """The characters [start, end) from the first to the last token: ``token_span``, undone."""
    return int(offsets[first][0]), int(offsets[last][1])
