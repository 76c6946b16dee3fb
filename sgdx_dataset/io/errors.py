"""The error that is raised for input that cannot be used."""

from collections.abc import Collection
from difflib import get_close_matches


class SgdxError(ValueError):
    """Input cannot be used: one line of file, record, what was found and what was expected."""


def one_of(found: str, known: Collection[str]) -> str:
    """What was expected instead of a name: the one that is nearly it, or all that there are.

    >>> one_of("lexcal", ["lexical", "onepass"]), one_of("x", ["lexical", "onepass"])
    ('did you mean lexical?', 'expected one of lexical, onepass')
    """
    close = get_close_matches(found, known, 1)
    return f"did you mean {close[0]}?" if close else f"expected one of {', '.join(known)}"
