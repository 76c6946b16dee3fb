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


def paths_by_name(option: str, arguments: Iterable[str]) -> dict[str, str]:
    """The paths that the NAME=PATH arguments of an option give, by name.

    Raises:
        SgdxError: An argument has no such form, or a name is given twice.
    """
    paths: dict[str, str] = {}
    for name, path in split_pairs(option, arguments):
        if name in paths:
            found = f"found {name} twice, as {paths[name]} before"
            raise SgdxError(f"{option} {name}={path}: {found}, expected each name once")
        paths[name] = path
    return paths
