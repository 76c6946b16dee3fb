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
from ..data.dialogues import Dialogue, Frame, Memory, Row, UserTurn, Values, gives_value
from ..encoders import character_span, token_span
from ..xla import fill_up
from .questions import (
    CLS,
    SEP,
    Candidate,
    Piece,
    Prompt,
    Question,
    TurnText,
    combine_prompt,
    combine_questions,
    copy_candidates,
    cross_candidates,
    intent_question,
    spoken,
    values_elsewhere,
)

_MULTIPLE = 8 if torch.cuda.is_available() else 1  # GPUs are faster at such multiples
_AT_ONCE = 4096  # number of turns that are tokenized in one call
Table = NDArray[np.int32]  # [4, tokens]: token, element, sum of binary features, segment


class TurnTokens(NamedTuple):
    """The tokens of a turn."""

    ids: NDArray[np.int32]  # [tokens]
    offsets: NDArray[np.int32]  # characters [start, end) in the turn's text [tokens, 2]
    user: int  # index of the first token of the user's utterance


class Vocabulary:
    """A fast tokenizer that keeps the tokens of prompts, since few of them are distinct."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
        self._pieces: dict[str, list[int]] = {
            CLS: [tokenizer.cls_token_id],
            SEP: [tokenizer.sep_token_id],
        }
        self._prompts: dict[Prompt, tuple[Table, Table]] = {}

    def turns(self, texts: Sequence[TurnText]) -> list[TurnTokens]:
        """Tokenize turns."""
        turns = []
        for begin in range(0, len(texts), _AT_ONCE):
            chunk = texts[begin : begin + _AT_ONCE]
            encoded = self._encode([turn.text for turn in chunk])
            for turn, ids, pairs in zip(chunk, encoded["input_ids"], encoded["offset_mapping"]):
                offsets = np.array(pairs, np.int32).reshape(-1, 2)
                user = int(np.searchsorted(offsets[:, 0], turn.user))
                turns.append(TurnTokens(np.array(ids, np.int32), offsets, user))
        return turns

    def prompts(self, prompts: Iterable[Prompt]) -> list[tuple[Table, Table]]:
        """The head and the tail of each prompt as tokens; only new prompts are tokenized."""
        prompts = list(prompts)
        pieces = (
            piece.text for p in prompts if p not in self._prompts for piece in p.head + p.tail
        )
        new = [text for text in dict.fromkeys(pieces) if text not in self._pieces]
        self._pieces |= zip(new, self._encode(new)["input_ids"])
        for prompt in prompts:
            if prompt not in self._prompts:
                self._prompts[prompt] = self._tables(prompt)
        return [self._prompts[prompt] for prompt in prompts]

    def _tables(self, prompt: Prompt) -> tuple[Table, Table]:
        # Segment 1 begins after the first [SEP] of the tail, which ends the turn and is still 0.
        segments = np.cumsum([piece.text == SEP for piece in prompt.tail])
        after = [0, *np.minimum(segments, 1)[:-1]]
        return self._table(prompt.head, [0] * len(prompt.head)), self._table(prompt.tail, after)

    def _table(self, pieces: tuple[Piece, ...], segments: Iterable[int]) -> Table:
        columns = [
            (token, piece.element, piece.bits, segment)
            for piece, segment in zip(pieces, segments)
            for token in self._pieces[piece.text]
        ]
        return np.array(columns, np.int32).reshape(-1, 4).T

    def _encode(self, texts: list[str]) -> Any:
        """Tokenize texts without special tokens; special tokens in a text count as plain text."""
        if not texts:
            return {"input_ids": [], "offset_mapping": []}
        return self.tokenizer(
            texts,
            add_special_tokens=False,
            split_special_tokens=True,
            return_offsets_mapping=True,
            verbose=False,
        )


class Questions:
    """Questions, whose distinct turns and prompts are stored once."""

    def __init__(self, questions: Iterable[Question] = ()) -> None:
        self.turns: dict[TurnText, int] = {}  # index of each distinct turn
        self.prompts: dict[Prompt, int] = {}  # index of each distinct prompt
        self._columns = array("i")
        for question in questions:
            self.add(question)

    def add(self, question: Question) -> None:
        """Append a question."""
        turn = self.turns.setdefault(question.turn, len(self.turns))
        prompt = self.prompts.setdefault(question.prompt, len(self.prompts))
        self._columns.extend((turn, prompt, question.bits))

    def columns(self) -> Ints:
        """Index of the turn, index of the prompt and binary features [questions, 3]."""
        return np.array(self._columns, np.int64).reshape(-1, 3)

    def texts(self) -> Iterator[str]:
        """The distinct texts of turns and prompts."""
        yield from (turn.text for turn in self.turns)
        pieces = (piece.text for prompt in self.prompts for piece in prompt.head + prompt.tail)
        yield from (text for text in dict.fromkeys(pieces) if text not in (CLS, SEP))


class Sequences:
    """The token sequences of ``Questions``; of a turn that is too long the last tokens are kept."""

    def __init__(self, questions: Questions, vocabulary: Vocabulary, limit: int) -> None:
        self.pad: int = vocabulary.tokenizer.pad_token_id
        self.limit = limit
        self.columns = questions.columns()
        self.turn_texts = list(questions.turns)
        self.turns = vocabulary.turns(self.turn_texts)
        self.prompts = vocabulary.prompts(questions.prompts)  # head and tail
        # Of each prompt the turn's element, and the number of intents or values [prompts].
        self.roles = np.array([prompt.turn for prompt in questions.prompts], np.int32)
        self.elements = np.array(
            [max((piece.element for piece in p.tail), default=0) for p in questions.prompts],
            np.int64,
        )
        prompt_lengths = np.array([h.shape[1] + t.shape[1] for h, t in self.prompts], np.int64)
        _check_room(list(questions.prompts), prompt_lengths, limit)
        self.room = limit - prompt_lengths  # that each prompt leaves for a turn [prompts]
        turn_lengths = np.array([len(turn.ids) for turn in self.turns], np.int64)
        turn, prompt, _ = self.columns.T
        whole = turn_lengths[turn] + prompt_lengths[prompt]
        self.lengths: Ints = np.minimum(whole, limit)
        self.cut = int((whole > limit).sum())  # number of questions whose turn was cut

    def table(self, index: int) -> Table:
        """One sequence [4, tokens]: token, element, sum of binary features, segment."""
        turn_index, prompt, bits = self.columns[index].tolist()
        ids = self.turns[turn_index].ids[-self.room[prompt] :]  # the end of a turn that is too long
        turn = np.zeros((4, len(ids)), np.int32)
        turn[0], turn[1] = ids, self.roles[prompt]
        head, tail = self.prompts[prompt]
        table = np.hstack([head, turn, tail])
        table[2] += bits
        return table

    def batch(self, indices: Ints) -> dict[str, torch.Tensor]:
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

    def _begin(self, index: int) -> int:
        """Index of the turn's first token in the sequence, as if the turn had not been cut."""
        # Offsets in the whole turn are added to it, so it may be negative.
        turn, prompt, _ = self.columns[index].tolist()
        lost = max(0, len(self.turns[turn].ids) - int(self.room[prompt]))
        return int(self.prompts[prompt][0].shape[1]) - lost

    def null(self, index: int) -> int:
        """Index of the first token after the turn, which is ``null`` in prompts of ``combine``."""
        return self._begin(index) + len(self.turns[self.columns[index, 0]].ids)

    def text(self, index: int) -> str:
        """The text of the turn."""
        return self.turn_texts[int(self.columns[index, 0])].text

    def user(self, index: int) -> tuple[int, int]:
        """Tokens [start, end) of the user's utterance in the sequence."""
        head = int(self.prompts[self.columns[index, 1]][0].shape[1])
        start = self._begin(index) + self.turns[self.columns[index, 0]].user
        return max(head, start), self.null(index)  # a cut may have reached the user's utterance

    def tokens(self, index: int, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last token in the sequence of a span of the turn's characters."""
        span = token_span(self.turns[self.columns[index, 0]].offsets.tolist(), start, end)
        begin = self._begin(index)
        head = int(self.prompts[self.columns[index, 1]][0].shape[1])
        # A span that begins before the end of the head was in the part of the turn that was cut.
        return (span[0] + begin, span[1] + begin) if span and span[0] + begin >= head else None

    def characters(self, index: int, first: int, last: int) -> tuple[int, int]:
        """The turn's characters [start, end) of a span of tokens: the inverse of ``tokens``."""
        begin = self._begin(index)
        offsets = self.turns[self.columns[index, 0]].offsets.tolist()
        return character_span(offsets, first - begin, last - begin)


IGNORED = -100  # a label that adds nothing to the loss


def filled(batch: dict[str, torch.Tensor], rows: int, width: int) -> dict[str, torch.Tensor]:
    """A batch filled up to sequences of ``width`` tokens."""
    tokens = ("input_ids", "elements", "features", "token_type_ids", "attention_mask")
    names: dict[str, tuple[str | None, ...]] = dict.fromkeys(tokens, ("rows", "tokens"))
    names |= {"present": ("rows", "elements"), "labels": ("rows", None)}
    sizes = {"rows": rows, "tokens": width, "elements": 16}  # few slots of SGD have more values
    return fill_up(batch, names, sizes, {"labels": IGNORED})


def _check_room(prompts: list[Prompt], lengths: Ints, limit: int) -> None:
    if len(lengths) and lengths.max() >= limit:
        tail = prompts[int(lengths.argmax())].tail
        longest = max((piece.text for piece in tail), key=len)
        raise SgdxError(
            f"max_tokens: {limit} leave no room for a turn beside a schema's part with "
            f"'{longest[:60]}', expected more than {lengths.max()}"
        )


# Kinds of examples, from which the examples of an epoch are drawn (``batches.epoch_examples``).
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


def intent_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``intent``: one for each frame."""
    for memory, turn in turns_with_memory(dialogue):
        for frame in turn.frames:
            assert frame.gold is not None  # noqa: S101  # training rows have the gold columns
            names = [*frame.schema.intents_by_name, NONE_INTENT]
            if frame.gold.state.intent in names:
                label = names.index(frame.gold.state.intent)
                yield Example(intent_question(memory, turn, frame), (label,))


def combine_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``combine``: one for each slot of each frame."""
    # A new value that is not in the user's words gives none: ``copy`` and ``cross`` find it.
    for memory, turn in turns_with_memory(dialogue):
        recent = {
            (a["service"], a["slot"]) for a in turn.acts if gives_value(a) or a["act"] == "REQUEST"
        }
        for frame in turn.frames:
            service, new = frame.schema.service_name, new_values(memory, frame)
            for slot, question in combine_questions(memory, turn, frame).items():
                span = _span(frame, slot, question)
                values = new.get(slot, [])
                if values and span[0] < 0 and is_from_elsewhere(memory, turn, frame, slot, values):
                    continue
                value = _value_class(frame.schema, slot, values[0]) if values else 0
                asked = int(slot in frame.gold.state.requested) if frame.gold else 0
                positive = span[0] >= 0 or value > 0 or asked
                kind = POSITIVE if positive else HARD if (service, slot) in recent else EASY
                yield Example(question, (*span, value, asked), kind)


def new_values(memory: Memory, frame: Frame) -> Values:
    """The slots of a gold state whose value is new in this turn, with their values."""
    before = memory.state(frame.schema.service_name).values
    now = frame.gold.state.values if frame.gold else {}
    return {s: values for s, values in now.items() if set(values).isdisjoint(before.get(s, ()))}


def _span(frame: Frame, slot: str, question: Question) -> tuple[int, int]:
    """The characters [start, end) of the turn's text with the slot's value, or -1 and -1."""
    if frame.gold is None or slot not in frame.gold.spans:
        return -1, -1
    start, end = frame.gold.spans[slot][-1]
    return start + question.turn.user, end + question.turn.user


def is_from_elsewhere(
    memory: Memory, turn: UserTurn, frame: Frame, slot: str, values: Sequence[str]
) -> bool:
    """Whether a slot's new value comes from the system or another service, not from the user."""
    # A value that the system proposed for the slot comes from the system. A value that another
    # service has comes from there if the user does not say it. ``True`` and ``False`` come from the
    # user, who never says them literally.
    if memory.offered.get(frame.schema.service_name, {}).get(slot) in values:
        return True
    if frame.schema.slot(slot).is_boolean or _is_spoken(turn.user, values):
        return False
    variants = set(values) - {DONTCARE}  # any slot of another service may have that too
    elsewhere = values_elsewhere(memory, frame.schema.service_name)
    return any(not variants.isdisjoint(other_values) for _, _, other_values in elsewhere)


def _is_spoken(utterance: str, values: Sequence[str]) -> bool:
    """Whether a variant of a value stands in an utterance, whatever its case."""
    return any(value.lower() in utterance.lower() for value in values)


def _value_class(schema: Service, slot: str, value: str) -> int:
    """The class of a slot's value: 1 dontcare, 2 and up the possible values, 0 any other."""
    possible = schema.slot(slot).values
    if value == DONTCARE:
        return 1
    return 2 + possible.index(value) if value in possible else 0


def system_examples(dialogue: Dialogue) -> Iterator[Example]:
    """More examples of ``combine``: system turns, read as if the user had said them."""
    # There is one for every slot of each service for which the system gives a value. The utterance
    # stands bare, without a turn before it and without markers, as in the authors' code.
    for memory, turn in turns_with_memory(dialogue):
        schemas = memory.schemas | {
            frame.schema.service_name: frame.schema for frame in turn.frames
        }
        latest_acts: dict[str, dict[str, Row]] = {}
        for act in filter(gives_value, turn.acts):
            latest_acts.setdefault(act["service"], {})[act["slot"]] = act
        text = TurnText(turn.system, 0)
        # A list of services, not a set, whose order would differ from process to process.
        for service in (name for name in latest_acts if name in schemas):
            schema = schemas[service]
            for slot in schema.slots_by_name:
                given = latest_acts[service].get(slot)
                value = given["values"][0] if given else ""
                number = _value_class(schema, slot, value)
                start = -1 if schema.slot(slot).values or not value else turn.system.find(value)
                span = (start, start + len(value)) if start >= 0 else (-1, -1)
                kind = SYSTEM if number or start >= 0 else EASY
                question = Question(text, combine_prompt(schema, slot))
                yield Example(question, (*span, number, 0), kind)


def copy_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``copy``: one for each slot that the service's system turns gave."""
    for memory, turn in turns_with_memory(dialogue):
        just_given = {(act["service"], act["slot"]) for act in filter(gives_value, turn.acts)}
        for frame in turn.frames:
            service = frame.schema.service_name
            intent = frame.gold.state.intent if frame.gold else NONE_INTENT
            new, in_state = new_values(memory, frame), memory.state(service).values
            for candidate in copy_candidates(memory, turn, frame, intent):
                slot = candidate.slot
                taken = slot not in in_state and candidate.values[0] in new.get(slot, ())
                # A slot that has a value is never asked about in prediction.
                hard = (service, slot) in just_given and slot not in in_state
                kind = POSITIVE if taken else HARD if hard else EASY
                yield Example(candidate.question, (int(taken),), kind)


def cross_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``cross``: one for each pair of an unset slot and a known value."""
    # The value is that of a slot of another service. An example is positive if the unset slot gets
    # this value in this turn, although the user does not say it and the system did not offer it for
    # this service. A negative is hard if its slots' names are like those of slots that matter.
    for memory, turn in turns_with_memory(dialogue):
        for frame in turn.frames:
            intent = frame.gold.state.intent if frame.gold else NONE_INTENT
            taken = unspoken_values(memory, turn, frame)
            candidates = cross_candidates(memory, turn, frame, intent)
            positive = [not taken.get(c.slot, set()).isdisjoint(c.values) for c in candidates]
            sources = {c.source for c, is_ in zip(candidates, positive) if is_}
            active = frame.gold.state.values if frame.gold else {}
            for candidate, is_positive in zip(candidates, positive):
                hard = _is_confusable(candidate, active, sources)
                kind = POSITIVE if is_positive else HARD if hard else EASY
                yield Example(candidate.question, (int(is_positive),), kind)


def unspoken_values(memory: Memory, turn: UserTurn, frame: Frame) -> dict[str, set[str]]:
    """The variants of new values that neither the user says nor the system offered, by slot."""
    spans = frame.gold.spans if frame.gold else {}
    offered = memory.offered.get(frame.schema.service_name, {})
    return {
        slot: set(values) - {DONTCARE}
        for slot, values in new_values(memory, frame).items()
        if slot not in spans
        and offered.get(slot) not in values
        and not _is_spoken(turn.user, values)
    }


def _is_confusable(candidate: Candidate, active: Values, sources: set[str]) -> bool:
    """Whether the names of a pair's slots are like those of slots that matter in the turn."""
    # As in the authors' code: the target shares two words or more with a slot that has a value
    # after the turn, or the source shares one or more with a slot whose value is copied.
    target, source = words(candidate.slot), words(candidate.source)
    return any(len(target & words(name)) >= 2 for name in active) or any(
        source & words(name) for name in sources
    )


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
