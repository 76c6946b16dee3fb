"""What both kinds of intent need: opening, asking, answering, changing to the next wish."""

from collections.abc import Collection, Iterable, Mapping

from .conversation import Conversation
from .line import Line
from .talk import Row, Talk, Value

DONTCARE = "dontcare"


def clauses(
    conv: Conversation, talk: Talk, intent: str, values: Mapping[str, Value], by_user: bool = True
) -> str:
    """Phrases for the values, each with a space before it; the system uses the plainest one."""
    own = talk.intents[intent].get("with", {})
    text = ""
    for slot in (slot for slot in talk.slots if slot in values):
        canonical = values[slot].canonical
        phrases = own[slot][canonical] if slot in own else talk.phrases(slot, "with", canonical)
        text += " " + (conv.rng.choice(phrases) if by_user else phrases[-1])
    return text


def opening(
    conv: Conversation,
    talk: Talk,
    line: Line,
    intent: str,
    wishes: Mapping[str, str],
    carried: Collection[str] = (),
) -> None:
    """The user states an intent with some values; carried values are only hinted at."""
    values = {slot: talk.user_value(conv.rng, slot, v) for slot, v in wishes.items()}
    hints = "".join(" " + conv.rng.choice(talk.slots[slot]["carried"]) for slot in carried)
    template = conv.rng.choice(talk.intents[intent]["open"])
    more = clauses(conv, talk, intent, values) + hints
    line.say(talk, template.replace("{more}", more), values)
    for slot, value in values.items():
        line.act(talk, "INFORM", slot, value)
    line.act(talk, "INFORM_INTENT", "intent", Value(intent, intent))


def answer(conv: Conversation, talk: Talk, line: Line, slot: str, canonical: str) -> None:
    """The user gives one value in a sentence of its own, ``dontcare`` included."""
    if canonical == DONTCARE:
        line.say(talk, conv.rng.choice(talk.slots[slot]["any"]))
        line.act(talk, "INFORM", slot, Value(DONTCARE, DONTCARE))
        return
    value = talk.user_value(conv.rng, slot, canonical)
    line.say(talk, conv.rng.choice(talk.phrases(slot, "answer", canonical)), {slot: value})
    line.act(talk, "INFORM", slot, value)


def fill_slots(
    conv: Conversation, talk: Talk, required: list[str], wishes: Mapping[str, str], extra: list[str]
) -> None:
    """The system asks for what is missing, one or two slots at a time; ``extra`` comes along."""
    settled = conv.memory(talk).values
    while missing := [slot for slot in required if slot not in settled]:
        asked = missing[: conv.rng.choice((1, 2, 2))]
        request(conv, talk, asked)
        line = Line()
        for slot in asked + extra:
            answer(conv, talk, line, slot, wishes[slot])
        extra = []
        conv.user(line)


def request(conv: Conversation, talk: Talk, slots: Iterable[str]) -> None:
    """The system asks for slots, sometimes naming two of the possible values."""
    line = conv.reply()
    for slot in slots:
        line.say(talk, conv.rng.choice(talk.slots[slot]["ask"]))
        choices: list[Value] = []
        if "choices" in talk.slots[slot] and conv.rng.random() < 0.4:
            choices = [Value(v, v) for v in sorted(conv.rng.sample(talk.pool(slot), 2))]
            phrase = conv.rng.choice(talk.slots[slot]["choices"])
            line.say(talk, phrase.format(a=choices[0].spoken, b=choices[1].spoken))
        line.act(talk, "REQUEST", slot, *choices)
    conv.system(line, talk)


def questions(
    conv: Conversation, talk: Talk, line: Line, row: Row, slots: Iterable[str], count: int
) -> None:
    """The user asks for up to ``count`` of the slots that were not told before."""
    askable = [slot for slot in slots if slot in row and "question" in talk.slots[slot]]
    askable = [slot for slot in askable if (talk.name, slot, row[slot]) not in conv.values_given]
    for slot in conv.rng.sample(askable, min(count, len(askable))):
        conv.ask(line, talk, slot, row)


def parameters(conv: Conversation, talk: Talk, intent: str) -> dict[str, str]:
    """What the service is called with: the intent's slots that have a value to filter by."""
    takes = talk.intent(intent)
    slots = sorted(takes["required_slots"] + list(takes["optional_slots"]))
    values = conv.memory(talk).values
    return {slot: values[slot] for slot in slots if values.get(slot, DONTCARE) != DONTCARE}


def more(conv: Conversation, talk: Talk, line: Line) -> None:
    line.say(talk, conv.pick("system", "more"))
    line.act(talk, "REQ_MORE")
