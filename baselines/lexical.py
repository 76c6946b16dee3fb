"""The lexical tracker: a deterministic lower bound that is not trained and needs no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from datasets import Dataset
from rapidfuzz import fuzz, process

from sgdx_dataset.io.progress import advance
from sgdx_dataset.schema import DONTCARE, NONE_INTENT, Service
from sgdx_dataset.tracker_inputs import SYSTEM_ACTS

from .data.dialogues import State, prediction_rows, read_dialogues
from .system import Row, System

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


class Value(NamedTuple):
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


_YES = re.compile(
    r"\b(yes|yeah|yep|yup|sure|ok|okay|correct|right|great|good|perfect|fine|works?|please do"
    r"|sounds|exactly|confirm|that one|like that|i like)\b",
    re.I,
)
_NO = re.compile(
    r"\b(no|nope|not|don't|nothing|never|else|another|other|instead|different)\b", re.I
)
_DONE = re.compile(
    r"\b(that's all|that is all|nothing else|all set|no,? thank|bye|i'm good)\b", re.I
)
_ANY = re.compile(r"\b(any|anything|don't care|doesn't matter|don't mind|whatever|either)\b", re.I)
_ASKS = re.compile(
    r"\?|\b(what|which|where|tell me|let me know|do they|does it|is it|is there|how)\b", re.I
)

# Words in the name or description of a slot that show the kind of its values.
_KINDS = {
    "time": ("time", "hour", "clock"),
    "date": ("date", "day"),
    "money": ("amount", "price", "cost", "money", "fare"),
    "number": ("number", "count", "many", "quantity"),
}


class Words(NamedTuple):
    """A slot or an intent with the content words of its name and description."""

    name: str
    name_words: list[str]
    description_words: list[str]


class Lexicon:
    """The schema of a service as words."""

    def __init__(self, service: Service) -> None:
        self.slots, self.intents = (
            [Words(e.name, content_words(e.name), content_words(e.description)) for e in elements]
            for elements in (service.slots, service.intents)
        )
        # Slots that an intent requires or has as optional; others are never set.
        tracked = [
            pair for pair in zip(service.slots, self.slots) if pair[0].name in service.tracked
        ]
        self.tracked = {slot.name for slot, _ in tracked}
        self.categorical = [(slot, of) for slot, of in tracked if slot.values]
        # With the kind of value that each takes, from the words of its name, else its description.
        self.free = [(of, _kind(of)) for slot, of in tracked if not slot.values]


def _kind(slot: Words) -> str:
    for slot_words in (slot.name_words, slot.description_words):
        for kind, cues in _KINDS.items():
            if overlap(cues, slot_words):
                return kind
    return "name"


@dataclass
class ServiceState:
    """The state of a service, which is carried from turn to turn."""

    intent: str = NONE_INTENT
    slots: dict[str, str] = field(default_factory=dict)  # values of those that are set


def update_state(
    lexicon: Lexicon, state: ServiceState, utterance: str, acts: Sequence[Row]
) -> list[str]:
    """Update a service's state with a user turn; returns the slots that the user asks for."""
    spoken = words(utterance)
    agrees = _YES.search(utterance) is not None and _NO.search(utterance) is None
    asked = {act["slot"] for act in acts if act["act"] == "REQUEST"}
    if agrees:
        state.slots |= {
            act["slot"]: act["values"][0]
            for act in acts
            if act["act"] in ("OFFER", "CONFIRM")
            and act["slot"] in lexicon.tracked
            and act["values"]
        }
    state.slots |= _categorical_values(lexicon, utterance, spoken, asked)
    state.slots |= _free_form_values(lexicon, state, find_values(utterance), spoken, asked)
    if _ANY.search(utterance):
        state.slots |= dict.fromkeys(asked & lexicon.tracked, DONTCARE)
    state.intent = _active_intent(lexicon, state, utterance, spoken, acts, agrees)
    if not _ASKS.search(utterance):
        return []
    return sorted(
        slot.name
        for slot in lexicon.slots
        if slot.name not in state.slots and overlap(slot.name_words, spoken) > 0.6
    )


def _categorical_values(
    lexicon: Lexicon, utterance: str, spoken: list[str], asked: set[str]
) -> dict[str, str]:
    """Values of categorical slots that the utterance names."""
    values = {}
    numbers = {parse_number(word) for word in spoken}
    for slot, of_slot in lexicon.categorical:
        named = overlap(of_slot.name_words, spoken) > 0.5
        if slot.is_boolean:
            # Asked about, a boolean slot is answered by yes or no; else its name must be spoken.
            if named or (slot.name in asked and _YES.search(utterance)):
                values[slot.name] = "False" if _NO.search(utterance) else "True"
            continue
        near = named or slot.name in asked
        spoken_values = [
            value
            for value in slot.values
            # A bare number may belong to any slot, so it counts only near this slot's name.
            if (near and value in numbers if value.isdigit() else contains_phrase(utterance, value))
        ]
        if spoken_values:
            values[slot.name] = max(spoken_values, key=len)
    return values


def _free_form_values(
    lexicon: Lexicon, state: ServiceState, pieces: list[Value], spoken: list[str], asked: set[str]
) -> dict[str, str]:
    """Each piece of the utterance, assigned to the free-form slot of its kind that fits best."""
    values: dict[str, str] = {}
    for piece in pieces:
        scores = {
            slot.name: overlap(piece.before, slot.name_words + slot.description_words)
            + (overlap(slot.name_words, spoken) + overlap(slot.description_words, spoken)) / 2
            + (slot.name in asked)
            - (slot.name in state.slots) / 2
            for slot, kind in lexicon.free
            if kind == piece.kind and slot.name not in values
        }
        best = max(scores, key=lambda name: scores[name], default="")
        if best and scores[best] >= 0:
            values[best] = piece.text
    return values


def _active_intent(
    lexicon: Lexicon,
    state: ServiceState,
    utterance: str,
    spoken: list[str],
    acts: Sequence[Row],
    agrees: bool,
) -> str:
    """The active intent, ``NONE`` at the end; it changes only for a clearly better match."""
    offered = [act["values"][0] for act in acts if act["act"] == "OFFER_INTENT" and act["values"]]
    if offered and agrees:
        return str(offered[0])
    closing = any(act["act"] in ("REQ_MORE", "OFFER_INTENT", "NOTIFY_SUCCESS") for act in acts)
    if _DONE.search(utterance) and closing:
        return NONE_INTENT
    scores = {
        intent.name: 2 * overlap(intent.name_words, spoken)
        + overlap(intent.description_words, spoken)
        for intent in lexicon.intents
    }
    best = max(scores, key=lambda name: scores[name], default=NONE_INTENT)
    if state.intent == NONE_INTENT or scores[best] > 1.0 + scores.get(state.intent, 0.0):
        return best
    return state.intent


class LexicalTracker(System):
    """Matches the words of schema and utterance, and takes values that the system offered."""

    NAME: ClassVar[str] = "lexical"
    READS: ClassVar[tuple[str, ...]] = ("history", "utterance", "schema", SYSTEM_ACTS)

    def describe(self) -> Row:
        """It is not trained, and so no oracle."""
        return {"oracle": False}

    def track(self, rows: Dataset) -> Iterator[Row]:
        """Apply the rules turn by turn."""
        lexicons: dict[Service, Lexicon] = {}
        for dialogue in read_dialogues(rows):
            of_services: dict[str, ServiceState] = {}
            states = []
            for turn in dialogue.turns:
                for frame in turn.frames:
                    name = frame.schema.service_name
                    lexicon = lexicons.get(frame.schema) or Lexicon(frame.schema)
                    lexicons[frame.schema] = lexicon
                    state = of_services.setdefault(name, ServiceState())
                    acts = [act for act in turn.acts if act["service"] == name]
                    requested = update_state(lexicon, state, turn.user, acts)
                    values = {slot: [value] for slot, value in state.slots.items()}
                    states.append(State(state.intent, values, tuple(requested)))
                    advance()
            yield from prediction_rows(dialogue, states)
