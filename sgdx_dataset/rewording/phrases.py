"""Names as phrases, as one says them to a translator, and phrases as names."""

from __future__ import annotations

import re
import unicodedata

_BOUNDARY = re.compile(r"_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def one_line(text: str) -> str:
    """The text with one space for each stretch of white space, and none around it."""
    return " ".join(text.split())


def phrase(name: str) -> str:
    """A name as words: ``check_in_date`` as "check in date", ``FindTVShow`` as "find tv show"."""
    return one_line(_BOUNDARY.sub(" ", name)).lower()


def identifier(text: str, like: str) -> str:
    """Words as a name in the style of ``like``, CamelCase or else snake_case; "" if they make none.

    Accents and apostrophes go. A name has ASCII letters, digits and underscores, and begins with a
    letter; letters of another script would be lost, so a text with such makes none.
    """
    folded = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    words = re.findall("[a-z0-9]+", re.sub("['’]", "", folded).lower())
    lost = any(c.isalpha() and not c.isascii() for c in folded)
    if lost or not words or not words[0][0].isalpha():
        return ""
    camel = like[0].isupper() and "_" not in like
    return "".join(word.capitalize() for word in words) if camel else "_".join(words)


def distinct(originals: list[str], made: list[str]) -> list[str]:
    """New names ("" for none) without those that would make two names equal.

    Of equal names the original one stays, else the first; the others' elements keep their original
    names. Where such a name is another's new one, that is dropped for the same reason.
    """
    made = list(made)
    while True:
        names = [new or old for old, new in zip(originals, made)]
        holder = {name: i for i, name in reversed(list(enumerate(names)))}
        holder |= {name: i for i, name in enumerate(names) if not made[i]}
        late = [i for i, name in enumerate(names) if holder[name] != i]
        if not late:
            return made
        for i in late:
            made[i] = ""
