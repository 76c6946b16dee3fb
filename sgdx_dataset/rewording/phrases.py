"""Turning names into phrases that can be translated, and phrases back into names."""

from __future__ import annotations

import re
import unicodedata

_BOUNDARY = re.compile(r"_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def one_line(text: str) -> str:
    """The text on one line: each run of white space becomes one space, with none at the ends."""
    return " ".join(text.split())


def phrase(name: str) -> str:
    """A name as words: ``check_in_date`` gives "check in date", ``FindTVShow`` "find tv show"."""
    return one_line(_BOUNDARY.sub(" ", name)).lower()


def identifier(text: str, like: str) -> str:
    """Words as a name, in CamelCase if ``like`` is, else in snake_case; empty if they make none."""
    folded = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    words = re.findall("[a-z0-9]+", re.sub("['’]", "", folded).lower())
    lost = any(c.isalpha() and not c.isascii() for c in folded)
    if lost or not words or not words[0][0].isalpha():
        return ""
    camel = like[0].isupper() and "_" not in like
    return "".join(word.capitalize() for word in words) if camel else "_".join(words)


def distinct(originals: list[str], new_names: list[str]) -> list[str]:
    """Drop (make empty) the new names that would give two elements the same name."""
    # Of several elements with one name, the one whose original name it is keeps it, or else the
    # first. The others go back to their original names, which may take one from another's new name.
    new_names = list(new_names)
    while True:
        names = [new or old for old, new in zip(originals, new_names)]
        holder = {name: i for i, name in reversed(list(enumerate(names)))}
        holder |= {name: i for i, name in enumerate(names) if not new_names[i]}
        late = [i for i, name in enumerate(names) if holder[name] != i]
        if not late:
            return new_names
        for i in late:
            new_names[i] = ""
