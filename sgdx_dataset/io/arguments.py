"""Arguments of command lines that are pairs, such as NAME=PATH."""

from __future__ import annotations

from collections.abc import Iterable

from .errors import SgdxError


def split_pairs(
    option: str, arguments: Iterable[str], form: str = "NAME=PATH"
) -> list[tuple[str, str]]:
    """Split each argument of an option at its first equals sign.

    >>> split_pairs("--variant", ["mine=wordings/mine.json"])
    [('mine', 'wordings/mine.json')]

    Args:
        option: The option, for the error message.
        arguments: What it was given, once for each time.
        form: What an argument should be, for the error message.

    Raises:
        SgdxError: An argument has no equals sign, or nothing before or after it.
    """
    pairs = []
    for argument in arguments:
        name, _, value = argument.partition("=")
        if not (name and value):
            raise SgdxError(f"{option} {argument}: expected {form}")
        pairs.append((name, value))
    return pairs
