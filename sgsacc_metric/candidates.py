"""Sentences that a turn has to entail: candidates of how a dialogue action could be worded.

The rules are those of Chen, Lin and Byrne 2023 (arXiv 2301.12568), appendix B, literally. The rules
`extended` add forms of our own, among them for acts that the appendix leaves out.
"""

import re
from collections.abc import Iterator, Sequence

from sgdx_dataset.schema import Slot

from .rows import INTENT_ACTS, Action, Turn

APPENDIX_B, EXTENDED = "appendix-b", "extended"
RULES = (APPENDIX_B, EXTENDED)
# Raised where an action gets other sentences, or another one of them becomes its reference. Until 2
# the reference was chosen in context too, and the names of intents were one word.
REVISION = 2
# In `BuyEventTickets` before E and T, and in `CheckATMBalance` before B too.
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_GOODBYE = ("Have a good day.", "Bye bye.", "See you.")
_REQ_MORE = (
    "What else do you need?",
    "What else can I help you with?",
    "Is there anything else?",
)
_QUESTIONS = set("how what which when where who whether is are does do has have can".split())


def candidates(turn: Turn, action: Action, rules: str = APPENDIX_B) -> list[str]:
    """The sentences that could stand for an action, each once; none where it is not judged."""
    slot = turn.slot(action)
    # The truth value that the action gives a true-or-false slot; None for any other action.
    is_boolean = slot is not None and slot.is_boolean and action.values in (["True"], ["False"])
    truth = action.values == ["True"] if is_boolean else None
    sentences = [*_appendix_b(action, slot, truth)]
    if rules == EXTENDED:
        sentences += _extended(turn, action, slot, truth)
    return list(dict.fromkeys(map(_as_sentence, sentences)))


def clean(description: str) -> str:
    """A description without the full stop or question mark that some end in."""
    text = description.strip()
    return text[:-1].rstrip() if text.endswith((".", "?")) else text


def _appendix_b(action: Action, slot: Slot | None, truth: bool | None) -> Iterator[str]:
    description = clean(slot.description) if slot else ""
    names = [description] if description else []
    names.append(_spoken(action.slot))
    if action.act == "GOODBYE":
        yield from _GOODBYE
    elif action.act == "REQ_MORE":
        yield from _REQ_MORE
    elif action.act == "REQUEST" and action.slot:
        yield from (f"Request {name}" for name in names)
    elif slot and truth is not None:
        yield from _true_or_false(slot, truth)
    elif action.slot and action.values:
        values = action.values
        if action.act in INTENT_ACTS:  # `Buy Event Tickets` for `BuyEventTickets`
            values = [_spoken(_WORD_BOUNDARY.sub(" ", value)) for value in values]
        yield from (f"{name} {_predicate(values)}" for name in names)


def _true_or_false(slot: Slot, truth: bool) -> Iterator[str]:
    name, answer = _spoken(slot.name), "Yes" if truth else "No"
    words = name.split()
    yield f"{clean(slot.description)}? {answer}."
    yield f"{name}? {answer}."
    if truth and ("has" in words or "have" in words):
        yield f"Does {name}"
    elif truth and "is" in words:
        yield name
    elif truth:
        yield from (f"{verb} {name}" for verb in ("has", "have", "is"))
    elif verb := next((verb for verb in ("is", "has", "have") if verb in words), None):
        after = words.index(verb) + 1
        yield " ".join([*words[:after], "not", *words[after:]])
    else:
        yield from (f"{verb} not {name}" for verb in ("has", "have", "is"))


def _extended(turn: Turn, action: Action, slot: Slot | None, truth: bool | None) -> Iterator[str]:
    """Forms of our own: for acts that appendix B leaves out, and more for some that it has."""
    intent = turn.intent_of(action)
    task = clean(intent.description) if intent else ""
    if action.act == "OFFER_INTENT" and task:
        yield f"Request whether to {_lower_first(task)}"
    elif action.act == "INFORM_COUNT" and action.values:
        yield f"There are {action.values[0]} results"
    elif action.act in ("NOTIFY_SUCCESS", "NOTIFY_FAILURE") and task:
        yield f"{task} {'succeeded' if action.act == 'NOTIFY_SUCCESS' else 'failed'}"
    elif slot and action.values:
        text, values = clean(slot.description), _predicate(action.values).partition(" ")[2]
        if action.act in ("CONFIRM", "REQUEST") and truth is None:
            yield f"Request whether {_lower_first(text)} is {values}"
        first_word = slot.description.lower().split()[:1]
        is_question = slot.description.strip().endswith("?") or {*first_word} & _QUESTIONS
        if truth is False and action.act != "REQUEST":
            yield f"has no {_spoken(slot.name)}"
            yield f"does not {_spoken(slot.name)}"
        elif truth is None and action.act != "REQUEST" and is_question:
            yield f"{text}? {values}"


def _spoken(name: str) -> str:
    return name.replace("_", " ").strip()


def _predicate(values: Sequence[str]) -> str:
    """`is <v>` for one value, `are <v1>, <v2> and <v3>` for several."""
    *others, last = values
    return f"are {', '.join(others)} and {last}" if others else f"is {last}"


def _lower_first(text: str) -> str:
    """The text with its first letter small, unless its first word is all in capitals."""
    first = text.split(" ", 1)[0]
    return text if len(first) > 1 and first.isupper() else text[:1].lower() + text[1:]


def _as_sentence(text: str) -> str:
    """The text with a capital first and a full stop last, unless it ends in a mark already."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."
