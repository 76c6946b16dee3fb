"""What the submodels are asked about a frame: prompts around the turn's text, and binary features.

The paper's modules and their submodels: intent prediction (``intent``), slot prediction
(``combine``), slot transfer prediction within a service (``copy``) and from another (``cross``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from sgdx_dataset.schema import NONE_INTENT, Service

from ..data.dialogues import Frame, Gold, Memory, State, UserTurn, Values, new_values

CLS, SEP = "[CLS]", "[SEP]"
TURN = ""  # the text of the piece in a prompt that stands for the turn
SPAN = -1  # marks the tokens that a span may contain

# Binary features. Their sum is the index of an embedding that is added to every token.
PREVIOUS_INTENT = 1  # intent: the token belongs to the intent that was active before
SYSTEM_GAVE, SYSTEM_ASKED = 2, 4  # combine: the system ever gave a value, just asked for one
IN_SYSTEM, IN_USER = 1, 2  # copy: the system gave a value for the slot, the state has one
SOURCE_KNOWN, TARGET_KNOWN = 1, 2  # cross: the source is in a state, the system gave the target
REQUIRED, OPTIONAL = 4, 8  # copy and cross: what the slot is for the active intent
SUCCEEDED = 16  # cross: the system reported success for the source's service
FEATURES = 32  # number of possible sums of binary features


class Piece(NamedTuple):
    """A text in a prompt."""

    text: str  # or a special token, or ``TURN``
    element: int = 0  # number of the intent or value that this is, from 1; ``SPAN`` or 0 if of none
    bits: int = 0  # sum of its binary features, which adds to that of the whole sequence


Prompt = tuple[Piece, ...]


class TurnText(NamedTuple):
    """The text of a turn in a prompt."""

    text: str  # the system's and the user's utterance with markers
    user: int  # index of the first character of the user's utterance


class Question(NamedTuple):
    """A question to a submodel, which becomes one sequence of tokens."""

    turn: TurnText
    prompt: Prompt
    bits: int = 0  # sum of the binary features of the whole sequence
    slot: str = ""  # which the question is about; none of ``intent``
    values: Sequence[str] = ()  # variants of the value that ``copy`` or ``cross`` would copy
    source: str = ""  # the slot of another service that ``cross`` would copy it from


class FrameContext(NamedTuple):
    """A frame, and what is known of its dialogue: by predicted states, or to train by gold ones."""

    memory: Memory
    turn: UserTurn
    frame: Frame

    @property
    def schema(self) -> Service:
        """The schema of the frame's service."""
        return self.frame.schema

    @property
    def service(self) -> str:
        """The name of the frame's service."""
        return self.frame.schema.service_name

    @property
    def before(self) -> State:
        """The service's state after its previous user turn."""
        return self.memory.state(self.service)

    @property
    def offered(self) -> dict[str, str]:
        """The latest value of each slot that the system has proposed for the service."""
        return self.memory.offered.get(self.service, {})

    @property
    def acts(self) -> list[dict[str, Any]]:
        """What the system just did for the service."""
        return [act for act in self.turn.acts if act["service"] == self.service]

    @property
    def text(self) -> TurnText:
        """The text ``sys : <previous system utterance> usr : <user utterance>``."""
        before = " ".join(["sys :", *filter(None, [self.turn.system]), "usr : "])
        return TurnText(before + self.turn.user, len(before))

    @property
    def gold(self) -> Gold:
        """What is right, to train."""
        assert self.frame.gold is not None  # noqa: S101  # training rows have the gold columns
        return self.frame.gold

    @property
    def new(self) -> Values:
        """The slots whose gold value is new in this turn, with its variants."""
        return new_values(self.before.values, self.gold.state.values)


def spoken(name: str) -> str:
    """The name of a slot or intent as a prompt has it: with spaces in place of underscores."""
    return name.replace("_", " ")


def _prompt(*pieces: str | Piece) -> Prompt:
    return tuple(piece if isinstance(piece, Piece) else Piece(piece) for piece in pieces)


@cache
def intent_prompt(schema: Service, previous: str | None, keep: bool) -> Prompt:
    """The prompt ``[CLS] keep|jump [SEP] turn [SEP] <desc> # <name> [SEP] ... none [SEP]``."""
    texts = [f"{intent.description} # {spoken(intent.name)}" for intent in schema.intents]
    names = [*schema.intents_by_name, NONE_INTENT]
    prompt = _prompt(CLS, "keep" if keep else "jump", SEP, TURN, SEP)
    for number, (text, name) in enumerate(zip([*texts, "none"], names), 1):
        prompt += (Piece(text, number, PREVIOUS_INTENT * (name == previous)), Piece(SEP))
    return prompt


def intent_question(context: FrameContext) -> Question:
    """The question which intent is active."""
    memory, service = context.memory, context.service
    keep = memory.services == frozenset(context.turn.services)
    previous = context.before.intent if service in memory.states else None
    return Question(context.text, intent_prompt(context.schema, previous, keep))


@cache
def combine_prompt(schema: Service, slot: str) -> Prompt:
    """``[CLS] turn null [SEP] sort|tag # <name> # <desc> [SEP] null [SEP] do not care ...``."""
    # It has ``sort`` for categorical slots, whose values are scored. For other slots it has
    # ``tag``: their value is a span of the turn, or the ``null`` after the turn for no span.
    element = schema.slot(slot)
    kind = "sort" if element.is_categorical else "tag"
    title = f"{kind} # {spoken(slot)} # {element.description}"
    prompt = _prompt(CLS, Piece(TURN, SPAN), Piece("null", SPAN), SEP, title, SEP)
    for number, text in enumerate(["null", "do not care", *element.values], 1):
        prompt += (Piece(text, number), Piece(SEP))
    return prompt


def combine_questions(context: FrameContext) -> list[Question]:
    """For each slot, the question about its value or span and whether it is requested."""
    schema, text = context.schema, context.text
    given = context.memory.system_values.get(context.service, {})
    asked = {act["slot"] for act in context.acts if act["act"] == "REQUEST"}
    return [
        Question(
            text,
            combine_prompt(schema, slot),
            SYSTEM_GAVE * (slot in given) + SYSTEM_ASKED * (slot in asked),
            slot,
        )
        for slot in schema.slots_by_name
    ]


@cache
def copy_prompt(schema: Service, slot: str) -> Prompt:
    """The prompt of ``copy``: ``[CLS] api: <service desc> [SEP] turn [SEP] <slot desc> [SEP]``."""
    # In lower case, as in the authors' code.
    api = f"api: {schema.description.lower()}"
    return _prompt(CLS, api, SEP, TURN, SEP, schema.slot(slot).description, SEP)


def copy_questions(context: FrameContext, intent: str) -> list[Question]:
    """For each slot that the system proposed a value for, whether the user takes the latest."""
    schema, text, in_state = context.schema, context.text, context.before.values
    return [
        Question(
            text,
            copy_prompt(schema, slot),
            IN_SYSTEM + IN_USER * (slot in in_state) + _role_bits(schema, intent, slot),
            slot,
            [value],
        )
        for slot, value in context.offered.items()
        if slot in schema.tracked and schema.slot(slot).admits(value)
    ]


def _role_bits(schema: Service, intent: str, slot: str) -> int:
    """Features of ``copy`` and ``cross``: whether the intent has a slot as required or optional."""
    required = REQUIRED * (slot in schema.required(intent))
    return required + OPTIONAL * (slot in schema.optional(intent))


@cache
def cross_prompt(schema: Service, target: str, other: Service, source: str) -> Prompt:
    """The prompt ``[CLS] turn [SEP] <target> # <desc> [SEP] <source> # <desc> [SEP]``."""
    slots = (schema.slot(target), other.slot(source))
    to, of = (f"{spoken(slot.name)} # {slot.description}" for slot in slots)
    return _prompt(CLS, TURN, SEP, to, SEP, of, SEP)


def cross_questions(context: FrameContext, intent: str) -> list[Question]:
    """For each unset free-form slot and each known value of another service, if it is copied."""
    # A target is a slot that the active intent requires or has as optional: of 226 values that were
    # copied in 400 of SGD's dialogues, none went to another slot. Categorical slots are not
    # targets: only ``combine`` and ``copy`` set them, as in the authors' code.
    schema, memory, text = context.schema, context.memory, context.text
    of_intent = {*schema.required(intent), *schema.optional(intent)}
    unset = of_intent - context.before.values.keys()
    targets = [s.name for s in schema.slots if s.name in unset and not s.is_categorical]
    given = memory.system_values.get(context.service, {})
    questions = []
    for other, source, values in values_elsewhere(memory, context.service):
        bits = SOURCE_KNOWN * (source in memory.state(other.service_name).values)
        bits += SUCCEEDED * (other.service_name in memory.succeeded)
        for target in targets:
            own_bits = TARGET_KNOWN * (target in given) + _role_bits(schema, intent, target)
            prompt = cross_prompt(schema, target, other, source)
            questions.append(Question(text, prompt, bits + own_bits, target, values, source))
    return questions


def values_elsewhere(memory: Memory, service: str) -> Iterator[tuple[Service, str, list[str]]]:
    """The known values of other services: schema, slot and variants of the value."""
    # Not of boolean slots, as ``True`` means something else for another slot.
    for name, other in memory.schemas.items():
        from_system = {slot: [value] for slot, value in memory.system_values.get(name, {}).items()}
        for slot, values in (from_system | memory.states[name].values).items():
            if name != service and slot in other.slots_by_name and not other.slot(slot).is_boolean:
                yield other, slot, values
