"""Find words and values in utterances, and compare words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rapidfuzz import fuzz, process

# Similarity in percent from which two words count as the same, as "bedroom" and "bedrooms" do.
MATCH = 88.0

# Function words tell nothing about a slot. "from", "to" and the like do, as in "city to leave
# from", so they are not among these.
STOP_WORDS = frozenset(
    "a an and any are be been by can do does for has have how i if is it its me my of or that the"
    " their there this user users was what when where whether which who will with you your".split()
)
_MONTHS = "january february march april may june july august september october november december"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_HOURS = rf"(?:\d{{1,2}}|{'|'.join(_NUMBERS[1:])})"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)"

_PATTERNS = {
    "time": rf"(?:(?:half|quarter) (?:past|to) )?{_HOURS}(?:[:.]\d\d)?(?: ?[ap]\.?m\b\.?| o'clock)?"
    r"(?: in the (?:morning|afternoon|evening)| at night)|noon|midnight"
    rf"|(?:half|quarter) (?:past|to) {_HOURS}|{_HOURS}(?:[:.]\d\d)? ?[ap]\.?m\b\.?|\d{{1,2}}:\d\d"
    rf"|(?:morning|afternoon|evening) {_HOURS}(?:[:.]\d\d)?|{_HOURS} o'clock",
    "date": rf"(?:(?:{_MONTHS.replace(' ', '|')}) (?:{_ORDINAL}|\d{{1,2}})"
    rf"|(?:the )?{_ORDINAL}(?: of (?:{_MONTHS.replace(' ', '|')}| this month))?"
    r"|(?:the )?day after tomorrow|today|tomorrow|later today"
    rf"|(?:(?:next|this|coming) )?(?:{_DAYS.replace(' ', '|')})(?: (?:next|this) week)?)",
    "money": r"\$\d[\d,]*(?:\.\d+)?",
    "number": rf"\d+|{'|'.join(_NUMBERS)}",
}
_VALUE = re.compile(
    "|".join(rf"(?P<{kind}>(?<![\w$])(?:{text})(?!\w))" for kind, text in _PATTERNS.items()), re.I
)
_WORD = re.compile(r"\w+(?:['’]\w+)?")
_CAPITAL = r"[^\W\d_a-z][\w'’&.-]*"
_NAME = re.compile(rf"(?<!\w){_CAPITAL}(?:,? (?:(?:of|the|and|&|de|la) )*(?:{_CAPITAL}|\d+\b))*")
# Words that are capitalised only because they begin a sentence, or that always are.
_OPENERS = frozenset("at find from i i'd i'll i'm i've in no ok okay on please to yeah yes".split())


@dataclass(frozen=True)
class Value:
    """A piece of an utterance that may be the value of a slot."""

    kind: str  # ``time``, ``date``, ``money``, ``number`` or ``name``
    text: str  # the piece as it stands in the utterance
    before: tuple[str, ...]  # up to three words before it, in lower case


def words(text: str) -> list[str]:
    """The words of a text in lower case; ``snake_case`` and ``CamelCase`` names are split."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text)
    return [match.group().lower() for match in _WORD.finditer(spaced)]


def content_words(text: str) -> list[str]:
    """The distinct words of a text in lower case, without the stop words."""
    return list(dict.fromkeys(word for word in words(text) if word not in STOP_WORDS))


def overlap(terms: Iterable[str], spoken: list[str]) -> float:
    """The fraction of the terms that were spoken, in [0, 1]; 0 without terms."""
    # Words match from a similarity of ``MATCH`` percent.
    terms = list(terms)
    if not terms or not spoken:
        return 0.0
    scores = process.cdist(terms, spoken, scorer=fuzz.ratio, score_cutoff=MATCH)
    return float((scores.max(axis=1) > 0).mean())


def contains_phrase(text: str, phrase: str) -> bool:
    """Whether a text contains a phrase as whole words; the spelling may differ slightly."""
    alignment = fuzz.partial_ratio_alignment(phrase.lower(), text.lower(), score_cutoff=MATCH + 2)
    if alignment is None or not phrase:
        return False
    start, end = alignment.dest_start, alignment.dest_end
    edges = text[max(start - 1, 0) : start], text[end : end + 1]  # the characters around the match
    return not any(edge.isalnum() for edge in edges)


def parse_number(text: str) -> str | None:
    """The digits of a whole number, given as digits or as a word up to twelve; else None."""
    if text.isdigit():
        return text
    return str(_NUMBERS.index(text.lower())) if text.lower() in _NUMBERS else None


def find_values(utterance: str) -> list[Value]:
    """Possible values: times, dates, amounts of money, numbers and capitalised names, in order."""
    matches = [(m.start(), m.end(), str(m.lastgroup)) for m in _VALUE.finditer(utterance)]
    for start, end in _names(utterance):
        if not any(other < end and start < stop for other, stop, _ in matches):
            matches.append((start, end, "name"))
    return [
        Value(kind, utterance[start:end], tuple(words(utterance[:start])[-3:]))
        for start, end, kind in sorted(matches)
    ]


def _names(utterance: str) -> Iterator[tuple[int, int]]:
    """Spans [start, end) of capitalised words, without those that only begin a sentence."""
    for match in _NAME.finditer(utterance):
        parts = [(m.start(), m.end()) for m in re.finditer(r"[^\s,]+", match.group())]
        while parts and _opens(match.group()[slice(*parts[0])]):
            del parts[0]
        while parts and _opens(match.group()[slice(*parts[-1])]):
            del parts[-1]
        opening = re.search(r"(?:^|[.?!]\s*)$", utterance[: match.start()]) is not None
        alone = opening and [start for start, _ in parts] == [0]
        if parts and not alone:
            end = match.start() + len(match.group()[: parts[-1][1]].rstrip("."))
            yield match.start() + parts[0][0], end


def _opens(word: str) -> bool:
    return word.lower().strip(".") in _OPENERS | STOP_WORDS
