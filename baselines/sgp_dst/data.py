"""Questions as sequences of tokens, and training examples made from dialogues with gold states."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import DONTCARE, NONE_INTENT, Service

from ..batching import Ints
from ..data.dialogues import Dialogue, Memory, UserTurn, gives_value
from ..encoders import character_span, token_span
from ..xla import fill_up
from .questions import (
    CLS,
    SEP,
    TURN,
    FrameContext,
    Prompt,
    Question,
    TurnText,
    combine_prompt,
    combine_questions,
    copy_questions,
    cross_questions,
    intent_question,
    spoken,
    values_elsewhere,
)

_MULTIPLE = 8 if torch.cuda.is_available() else 1  # GPUs are faster at such multiples
_AT_ONCE = 4096  # number of turns that are tokenized in one call
IGNORED = -100  # a label that adds nothing to the loss
Tensors = dict[str, torch.Tensor]


class PromptTokens(NamedTuple):
    """The tokens of a prompt, without the turn."""

    table: NDArray[np.int32]  # [4, tokens]: token, element, sum of binary features, segment
    begin: int  # index of the column before which the turn belongs
    role: int  # element of the turn's tokens
    elements: int  # number of intents or values


class TurnTokens(NamedTuple):
    """The tokens of a turn."""

    ids: NDArray[np.int32]  # [tokens]
    offsets: NDArray[np.int32]  # characters [start, end) in the turn's text [tokens, 2]
    user: int  # index of the first token of the user's utterance


class Vocabulary:
    """A fast tokenizer that keeps the tokens of prompts, since few of them are distinct."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
        self._prompts: dict[Prompt, PromptTokens] = {}
        self._pieces: dict[str, list[int]] = {
            CLS: [tokenizer.cls_token_id],
            SEP: [tokenizer.sep_token_id],
            TURN: [],
        }

    def turns(self, texts: Sequence[TurnText]) -> Iterator[TurnTokens]:
        """Tokenize turns."""
        for begin in range(0, len(texts), _AT_ONCE):
            chunk = texts[begin : begin + _AT_ONCE]
            encoded = self._encode([turn.text for turn in chunk])
            for turn, ids, pairs in zip(chunk, encoded["input_ids"], encoded["offset_mapping"]):
                offsets = np.array(pairs, np.int32).reshape(-1, 2)
                user = int(np.searchsorted(offsets[:, 0], turn.user))
                yield TurnTokens(np.array(ids, np.int32), offsets, user)

    def prompt(self, prompt: Prompt) -> PromptTokens:
        """Tokenize a prompt, unless it is known."""
        if prompt not in self._prompts:
            columns: list[tuple[int, ...]] = []
            turn, begin, segment = None, 0, 0
            for piece in prompt:
                if piece.text not in self._pieces:
                    (self._pieces[piece.text],) = self._encode([piece.text])["input_ids"]
                tokens = self._pieces[piece.text]
                columns += [(token, piece.element, piece.bits, segment) for token in tokens]
                if piece.text == TURN:
                    turn, begin = piece, len(columns)
                elif piece.text == SEP and turn:  # segment 1 begins after the end of the turn
                    segment = 1
            elements = max(piece.element for piece in prompt)
            role = turn.element if turn else 0
            table = np.array(columns, np.int32).T
            self._prompts[prompt] = PromptTokens(table, begin, role, elements)
        return self._prompts[prompt]

    def _encode(self, texts: list[str]) -> Any:
        """Tokenize texts without special tokens; special tokens in a text count as plain text."""
        return self.tokenizer(
            texts,
            add_special_tokens=False,
            split_special_tokens=True,
            return_offsets_mapping=True,
            verbose=False,
        )


class PlacedTurn(NamedTuple):
    """A turn as it stands in a sequence, which may lack its first tokens; indices are of these."""

    text: str
    offsets: NDArray[np.int32]  # characters [start, end) of the whole turn's tokens [tokens, 2]
    begin: int  # index of the first token, as if the turn had not been cut; it may be negative
    first: int  # index of the first token that is left
    user: int  # index of the first token of the user's utterance that is left
    end: int  # index of the token after the turn, which is ``null`` in prompts of ``combine``

    def tokens(self, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last token of a span of characters; None if it was cut, or is none."""
        span = token_span(self.offsets.tolist(), start, end)
        if span is None or span[0] + self.begin < self.first:
            return None
        return span[0] + self.begin, span[1] + self.begin

    def characters(self, first: int, last: int) -> tuple[int, int]:
        """The characters [start, end) of a span of tokens: the inverse of ``tokens``."""
        return character_span(self.offsets.tolist(), first - self.begin, last - self.begin)


class Sequences:
    """The token sequences of questions; of a turn that is too long the last tokens are kept."""

    def __init__(self, questions: Iterable[Question], vocabulary: Vocabulary, limit: int) -> None:
        turns: dict[TurnText, int] = {}  # distinct ones, which are tokenized once
        prompts: dict[Prompt, int] = {}
        columns = array("i")
        for question in questions:
            turn = turns.setdefault(question.turn, len(turns))
            prompt = prompts.setdefault(question.prompt, len(prompts))
            columns.extend((turn, prompt, question.bits))
        # Index of the turn, index of the prompt and binary features [questions, 3].
        self.columns: Ints = np.array(columns, np.int64).reshape(-1, 3)
        self.pad: int = vocabulary.tokenizer.pad_token_id
        self.limit, self.texts = limit, list(turns)
        self.turns = list(vocabulary.turns(self.texts))
        self.prompts = [vocabulary.prompt(prompt) for prompt in prompts]
        self.elements: Ints = np.array([prompt.elements for prompt in self.prompts], np.int64)
        lengths = np.array([prompt.table.shape[1] for prompt in self.prompts], np.int64)
        if len(lengths) and lengths.max() >= limit:
            longest = max((piece.text for piece in [*prompts][int(lengths.argmax())]), key=len)
            raise SgdxError(
                f"max_tokens: {limit} leave no room for a turn beside a schema's part with "
                f"'{longest[:60]}', expected more than {lengths.max()}"
            )
        self.room = limit - lengths  # that each prompt leaves for a turn [prompts]
        of_turns = np.array([len(turn.ids) for turn in self.turns], np.int64)
        whole = of_turns[self.columns[:, 0]] + lengths[self.columns[:, 1]]
        self.lengths: Ints = np.minimum(whole, limit)
        self.cut = int((whole > limit).sum())  # number of questions whose turn was cut

    def table(self, index: int) -> NDArray[np.int32]:
        """One sequence [4, tokens]: token, element, sum of binary features, segment."""
        turn_index, prompt_index, bits = self.columns[index].tolist()
        prompt = self.prompts[prompt_index]
        ids = self.turns[turn_index].ids[-self.room[prompt_index] :]
        turn = np.zeros((4, len(ids)), np.int32)
        turn[0], turn[1] = ids, prompt.role
        table = np.hstack([prompt.table[:, : prompt.begin], turn, prompt.table[:, prompt.begin :]])
        table[2] += bits
        return table

    def batch(self, indices: Ints) -> Tensors:
        """Make a batch of what the submodels read, as explained in ``modeling``."""
        tables = [self.table(index) for index in indices.tolist()]
        width = -(-max(table.shape[1] for table in tables) // _MULTIPLE) * _MULTIPLE
        padded = np.zeros((5, len(tables), width), np.int64)
        padded[0] = self.pad
        for row, table in enumerate(tables):
            padded[:4, row, : table.shape[1]] = table
            padded[4, row, : table.shape[1]] = 1
        names = ("input_ids", "elements", "features", "token_type_ids", "attention_mask")
        counts = self.elements[self.columns[indices, 1]]
        present = np.arange(max(1, counts.max())) < counts[:, None]  # [sequences, elements]
        batch = {name: torch.from_numpy(column) for name, column in zip(names, padded)}
        return {**batch, "present": torch.from_numpy(present)}

    def is_categorical(self, index: int) -> bool:
        """Whether ``combine`` is asked about a categorical slot: one with values of its own."""
        return int(self.elements[self.columns[index, 1]]) > len(("null", "do not care"))

    def turn(self, index: int) -> PlacedTurn:
        """The turn of one sequence."""
        number, prompt, _ = self.columns[index].tolist()
        tokens, first = self.turns[number], self.prompts[prompt].begin
        begin = first - max(0, len(tokens.ids) - int(self.room[prompt]))
        user = max(first, begin + tokens.user)  # a cut may have reached the user's utterance
        end = begin + len(tokens.ids)
        return PlacedTurn(self.texts[number].text, tokens.offsets, begin, first, user, end)


def filled(batch: Tensors, rows: int, width: int) -> Tensors:
    """A batch filled up to sequences of ``width`` tokens."""
    tokens = ("input_ids", "elements", "features", "token_type_ids", "attention_mask")
    names: dict[str, tuple[str | None, ...]] = dict.fromkeys(tokens, ("rows", "tokens"))
    names |= {"present": ("rows", "elements"), "labels": ("rows", None)}
    sizes = {"rows": rows, "tokens": width, "elements": 16}  # few slots of SGD have more values
    return fill_up(batch, names, sizes, {"labels": IGNORED})


# Kinds of examples, from which the examples of an epoch are drawn (``training.epoch_examples``).
EASY, HARD, POSITIVE, SYSTEM = 0, 1, 2, 3


class Example(NamedTuple):
    """A training example: a question and its labels."""

    question: Question
    # These depend on the submodel. ``intent``: the number of the intent, where the last
    # one is ``NONE``. ``combine``: start and end of a span of characters [start, end) of the turn's
    # text, or -1 and -1; the number of the value (0 no value, 1 dontcare, 2 and up the possible
    # values); whether the slot is requested (0 or 1). ``copy`` and ``cross``: whether the value is
    # copied (0 or 1).
    labels: tuple[int, ...]
    # ``POSITIVE`` where there is something to find, and ``SYSTEM`` where it is in a system turn;
    # ``HARD`` for negatives that are easily confused with a positive; else ``EASY``.
    kind: int = POSITIVE


def turns_with_memory(dialogue: Dialogue) -> Iterator[tuple[Memory, UserTurn]]:
    """The turns of a dialogue, each with the memory of the turns before, which has gold states."""
    # All turns share one ``Memory`` object, which changes when the next turn is asked for.
    memory = Memory()
    for turn in dialogue.turns:
        memory.add_system_turn(turn.acts)
        yield memory, turn
        memory.add_user_turn(turn, [frame.gold.state for frame in turn.frames if frame.gold])


def contexts(dialogue: Dialogue) -> Iterator[FrameContext]:
    """The frames of a dialogue in their gold context."""
    for memory, turn in turns_with_memory(dialogue):
        for frame in turn.frames:
            yield FrameContext(memory, turn, frame)


def intent_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``intent``: one for each frame."""
    for context in contexts(dialogue):
        names, intent = [*context.schema.intents_by_name, NONE_INTENT], context.gold.state.intent
        if intent in names:
            yield Example(intent_question(context), (names.index(intent),))


def combine_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``combine``: one for each slot of each frame."""
    # A new value that is not in the user's words gives none: ``copy`` and ``cross`` find it.
    for context in contexts(dialogue):
        gold, new = context.gold, context.new
        recent = {a["slot"] for a in context.acts if gives_value(a) or a["act"] == "REQUEST"}
        for question in combine_questions(context):
            slot, span = question.slot, (-1, -1)
            if slot in gold.spans:
                start, end = gold.spans[slot][-1]
                span = start + question.turn.user, end + question.turn.user
            values = new.get(slot, [])
            if values and span[0] < 0 and is_from_elsewhere(context, slot, values):
                continue
            value = _value_class(context.schema, slot, values[0]) if values else 0
            asked = int(slot in gold.state.requested)
            positive = span[0] >= 0 or value > 0 or asked
            kind = POSITIVE if positive else HARD if slot in recent else EASY
            yield Example(question, (*span, value, asked), kind)


def is_from_elsewhere(context: FrameContext, slot: str, values: Sequence[str]) -> bool:
    """Whether a slot's new value comes from the system or another service, not from the user."""
    # A value that the system proposed for the slot comes from the system. A value that another
    # service has comes from there if the user does not say it. ``True`` and ``False`` come from the
    # user, who never says them literally.
    if context.offered.get(slot) in values:
        return True
    if context.schema.slot(slot).is_boolean or _is_spoken(context.turn.user, values):
        return False
    variants = set(values) - {DONTCARE}  # any slot of another service may have that too
    elsewhere = values_elsewhere(context.memory, context.service)
    return any(not variants.isdisjoint(other_values) for _, _, other_values in elsewhere)


def _is_spoken(utterance: str, values: Sequence[str]) -> bool:
    """Whether a variant of a value stands in an utterance, whatever its case."""
    return any(value.lower() in utterance.lower() for value in values)


def _value_class(schema: Service, slot: str, value: str) -> int:
    """The class of a slot's value: 1 dontcare, 2 and up the possible values, 0 any other."""
    options = schema.slot(slot).options
    return options.index(value) if value in options else 0


def system_examples(dialogue: Dialogue) -> Iterator[Example]:
    """More examples of ``combine``: system turns, read as if the user had said them."""
    # There is one for every slot of each service for which the system gives a value. The utterance
    # stands bare, without a turn before it and without markers, as in the authors' code.
    for memory, turn in turns_with_memory(dialogue):
        schemas = memory.schemas | {
            frame.schema.service_name: frame.schema for frame in turn.frames
        }
        given: dict[str, dict[str, str]] = {}
        for act in filter(gives_value, turn.acts):
            given.setdefault(act["service"], {})[act["slot"]] = act["values"][0]
        text = TurnText(turn.system, 0)
        for service in (name for name in given if name in schemas):
            schema = schemas[service]
            for slot in schema.slots_by_name:
                value = given[service].get(slot, "")
                number = _value_class(schema, slot, value)
                start = -1 if schema.slot(slot).values or not value else turn.system.find(value)
                span = (start, start + len(value)) if start >= 0 else (-1, -1)
                kind = SYSTEM if number or start >= 0 else EASY
                question = Question(text, combine_prompt(schema, slot))
                yield Example(question, (*span, number, 0), kind)


def copy_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``copy``: one for each slot that the service's system turns gave."""
    for context in contexts(dialogue):
        new, in_state = context.new, context.before.values
        just_given = {act["slot"] for act in filter(gives_value, context.acts)}
        for question in copy_questions(context, context.gold.state.intent):
            slot = question.slot
            taken = slot not in in_state and question.values[0] in new.get(slot, ())
            # A slot that has a value is never asked about in prediction.
            hard = slot in just_given and slot not in in_state
            kind = POSITIVE if taken else HARD if hard else EASY
            yield Example(question, (int(taken),), kind)


def cross_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``cross``: one for each pair of an unset slot and a known value."""
    # The value is that of a slot of another service. An example is positive if the unset slot gets
    # this value in this turn, although the user does not say it and the system did not offer it for
    # this service. A negative is hard if its slots' names are like those of slots that matter, as
    # in the authors' code: the target shares two words or more with a slot that has a value after
    # the turn, or the source shares one or more with a slot whose value is copied.
    for context in contexts(dialogue):
        taken, state = unspoken_values(context), context.gold.state
        questions = cross_questions(context, state.intent)
        copied = [not taken.get(q.slot, set()).isdisjoint(q.values) for q in questions]
        sources = {q.source for q, is_copied in zip(questions, copied) if is_copied}
        for question, is_copied in zip(questions, copied):
            target, source = words(question.slot), words(question.source)
            hard = any(len(target & words(name)) >= 2 for name in state.values)
            hard = hard or any(source & words(name) for name in sources)
            kind = POSITIVE if is_copied else HARD if hard else EASY
            yield Example(question, (int(is_copied),), kind)


def unspoken_values(context: FrameContext) -> dict[str, set[str]]:
    """The variants of new values that neither the user says nor the system offered, by slot."""
    return {
        slot: set(values) - {DONTCARE}
        for slot, values in context.new.items()
        if slot not in context.gold.spans
        and context.offered.get(slot) not in values
        and not _is_spoken(context.turn.user, values)
    }


def words(name: str) -> set[str]:
    """The words of a slot's name, in lower case."""
    return set(spoken(name).lower().split())


# The examples of what a submodel is asked in prediction.
EXAMPLES: dict[str, Callable[[Dialogue], Iterator[Example]]] = {
    "intent": intent_examples,
    "combine": combine_examples,
    "copy": copy_examples,
    "cross": cross_examples,
}
# Further examples, for training alone.
MORE_EXAMPLES: dict[str, Callable[[Dialogue], Iterator[Example]]] = {"combine": system_examples}
