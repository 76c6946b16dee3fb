"""Arguments of command lines: those that are pairs, such as NAME=PATH, and their help."""

from __future__ import annotations

from collections.abc import Iterable

from .errors import SgdxError

# The help of options that many commands have, so that all of them say the same.
SOURCES = (
    "a release directory, a release archive (.zip, .tar.*), 'sample' for the small corpus of this "
    "package, or 'download' to fetch the release once"
)
DEFAULT_SOURCE = (
    "the environment variable SGDX_SOURCE, else the source that 'python -m sgdx_dataset prepare' "
    "was given last"
)
SOURCE_HELP = f"Read SGD from this source: {SOURCES}. Default: {DEFAULT_SOURCE}."
VARIANT_HELP = (
    "Add a wording of your own and call it NAME. PATH is a .json file with a few new words, as in "
    '{"Weather_1": {"slots": {"city": "town"}}}, an overlay of \'python -m sgdx_dataset '
    "backtranslate', or a folder with train/schema.json, dev/schema.json and test/schema.json, "
    "some of which may be missing. The option may be given several times."
)
SPLIT_HELP = "Take this split: train, validation (or dev) or test."
DIALOGUES_HELP = (
    "Take only the dialogues of this file: a file of 'python -m sgdx_dataset subset', a JSON list "
    "of dialogue ids, or a text file with one id per line."
)
TURNS_HELP = (
    "Take only the turns of this file: a JSON list of DIALOGUE/TURN, as in 1_00000/5, or a text "
    "file with one per line."
)


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
    """
    pairs = []
    for argument in arguments:
        name, _, value = argument.partition("=")
        if not (name and value):
            raise SgdxError(f"{option} {argument}: expected {form}")
        pairs.append((name, value))
    return pairs


def paths_by_name(option: str, arguments: Iterable[str]) -> dict[str, str]:
    """The paths that the NAME=PATH arguments of an option give, by name."""
    paths: dict[str, str] = {}
    for name, path in split_pairs(option, arguments):
        if name in paths:
            found = f"found {name} twice, as {paths[name]} before"
            raise SgdxError(f"{option} {name}={path}: {found}, expected each name once")
        paths[name] = path
    return paths
