"""Sentences that a turn has to entail: candidates of how a dialogue action could be worded.

The rules are those of Chen, Lin and Byrne 2023 (arXiv 2301.12568), appendix B, literally. The rules
`extended` add forms of our own, among them for acts that the appendix leaves out.
"""

import re
from collections.abc import Iterator, Sequence

from sgdx_metric.errors import ScoreError

from .rows import INTENT_ACTS, Action, Slot, Turn

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
_QUESTIONS = (
    {"how", "what", "which", "when", "where", "who", "whether"}
    | {"is", "are", "does", "do", "has", "have", "can"}
)  # fmt: skip


def candidates(turn: Turn, action: Action, rules: str = APPENDIX_B) -> list[str]:
    """The sentences that could stand for an action, each once; none where it is not judged."""
    if rules not in RULES:
        raise ScoreError(f"rules is {rules!r}, expected one of {', '.join(RULES)}")
    sentences = list(_appendix_b(turn, action))
    if rules == EXTENDED:
        sentences += _extended(turn, action)
    return list(dict.fromkeys(map(_as_sentence, sentences)))


def clean(description: str) -> str:
    """A description without the full stop or question mark that some end in."""
    text = description.strip()
    return text[:-1].rstrip() if text.endswith((".", "?")) else text


def _appendix_b(turn: Turn, action: Action) -> Iterator[str]:
    slot = turn.slot(action)
    if action.act == "GOODBYE":
        yield from _GOODBYE
    elif action.act == "REQ_MORE":
        yield from _REQ_MORE
    elif action.act == "REQUEST" and action.slot:
        for name in _names(slot, action):
            yield f"Request {name}"
    elif action.slot and action.values:
        truth = _truth(slot, action)
        if slot and truth is not None:
            yield from (_true_sentences if truth else _false_sentences)(slot)
        else:
            is_intent = action.act in INTENT_ACTS
            values = list(map(_spaced, action.values)) if is_intent else action.values
            for name in _names(slot, action):
                yield f"{name} {_predicate(values)}"


def _names(slot: Slot | None, action: Action) -> list[str]:
    """What a slot is called: its description and its name, or the name alone."""
    name = _spoken(action.slot)
    return [clean(slot.description), name] if slot and clean(slot.description) else [name]


def _truth(slot: Slot | None, action: Action) -> bool | None:
    """The truth value that an action gives a true-or-false slot; None for any other action."""
    if slot and slot.is_boolean and action.values in (["True"], ["False"]):
        return action.values == ["True"]
    return None


def _true_sentences(slot: Slot) -> Iterator[str]:
    name = _spoken(slot.name)
    words = name.split()
    yield f"{clean(slot.description)}? Yes."
    yield f"{name}? Yes."
    if "has" in words or "have" in words:
        yield f"Does {name}"
    elif "is" in words:
        yield name
    else:
        yield from (f"{verb} {name}" for verb in ("has", "have", "is"))


def _false_sentences(slot: Slot) -> Iterator[str]:
    name = _spoken(slot.name)
    words = name.split()
    yield f"{clean(slot.description)}? No."
    yield f"{name}? No."
    verb = next((verb for verb in ("is", "has", "have") if verb in words), None)
    if verb:
        index = words.index(verb)
        yield " ".join([*words[: index + 1], "not", *words[index + 1 :]])
    else:
        yield from (f"{verb} not {name}" for verb in ("has", "have", "is"))


def _extended(turn: Turn, action: Action) -> Iterator[str]:
    """Forms of our own: for acts that appendix B leaves out, and more for some that it has."""
    slot, intent = turn.slot(action), turn.intent_of(action)
    task = clean(intent.description) if intent else ""
    if action.act == "OFFER_INTENT" and task:
        yield f"Request whether to {_lower_first(task)}"
    elif action.act == "INFORM_COUNT" and action.values:
        yield f"There are {action.values[0]} results"
    elif action.act in ("NOTIFY_SUCCESS", "NOTIFY_FAILURE") and task:
        yield f"{task} {'succeeded' if action.act == 'NOTIFY_SUCCESS' else 'failed'}"
    elif slot and action.values:
        yield from _extended_values(slot, action)


def _extended_values(slot: Slot, action: Action) -> Iterator[str]:
    """Forms of our own for an action with a slot and values."""
    name, text = _spoken(slot.name), clean(slot.description)
    truth, values = _truth(slot, action), _predicate(action.values).partition(" ")[2]
    if action.act in ("CONFIRM", "REQUEST") and truth is None:
        yield f"Request whether {_lower_first(text)} is {values}"
    if action.act == "REQUEST":
        return
    if truth is False:
        yield f"has no {name}"
        yield f"does not {name}"
    elif truth is None and _is_question(slot.description):
        yield f"{text}? {values}"


def _is_question(description: str) -> bool:
    """Whether a description reads like a question."""
    words = description.split()
    return description.strip().endswith("?") or bool(words and words[0].lower() in _QUESTIONS)


def _spoken(name: str) -> str:
    return name.replace("_", " ").strip()


def _spaced(intent: str) -> str:
    """The words of an intent's name: `Buy Event Tickets` for `BuyEventTickets`."""
    return _spoken(_WORD_BOUNDARY.sub(" ", intent))


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
