"""Batches of token sequences, and training examples: what the teacher answers from gold states."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from math import exp, log
from typing import NamedTuple

import numpy as np
import torch

from sgdx_dataset.schema import DONTCARE as DONTCARE_VALUE
from sgdx_dataset.schema import NONE_INTENT, Service

from ..batching import Ints, padded
from ..data.dialogues import Dialogue, Frame, Gold, State
from .frames import (
    DONTCARE,
    FROM,
    GIVEN,
    KEEP,
    SAY,
    STATUSES,
    FrameInput,
    Labels,
    Paths,
    Reading,
    TextSpan,
    labels_of,
    paths_of,
    track_dialogues,
)
from .layout import (
    TextToken,
    TokenRange,
    TokenSequence,
    Variant,
    Vocabulary,
    element_text,
    part_lengths,
    sequences,
    texts_of,
    variant_of,
    words,
)
from .modeling import LOWEST, WIDTH, Logits

Tensors = dict[str, torch.Tensor]
_MULTIPLE = 8  # batches are padded to a multiple of this width, as GPUs are faster then


class Item(NamedTuple):
    """A sequence of a batch."""

    frame: FrameInput
    sequence: TokenSequence  # the frame, or a part of it


def make_batch(items: Sequence[Item], pad: int) -> Tensors:
    """The tensors that the model reads, as explained at ``OnePassModel``."""
    sequences = [item.sequence for item in items]
    width = -(-max(len(sequence.ids) for sequence in sequences) // _MULTIPLE) * _MULTIPLE
    slots = [(i, slot) for i, item in enumerate(items) for slot in item.sequence.slots]
    other_count = max(1, *(len(s.known) for s in sequences))
    return {
        "input_ids": _padded([s.ids for s in sequences], width, pad),
        "attention_mask": _padded([[1] * len(s.ids) for s in sequences], width),
        # The second segment begins after the first [SEP], with the service.
        "token_type_ids": _padded(
            [[0] * s.service + [1] * (len(s.ids) - s.service) for s in sequences], width
        ),
        "positions": _padded([s.positions for s in sequences], width),
        "blocks": _padded([s.blocks for s in sequences], width),
        "intents": _token_ranges([list(s.intents.values()) for s in sequences]),
        # The types are given for a batch of services without slots.
        "slots": torch.tensor(
            [sequences[i].slots[slot] for i, slot in slots], dtype=torch.long
        ).view(-1, 2),
        "frame": torch.tensor([i for i, _ in slots], dtype=torch.long),
        "status_mask": torch.tensor(
            [_status_mask(items[i], slot) for i, slot in slots], dtype=torch.bool
        ).view(-1, STATUSES),
        "values": _token_ranges([sequences[i].values[slot] for i, slot in slots]),
        "known": _token_ranges([s.known for s in sequences]),
        "copy_mask": _padded([_copy_mask(items[i], slot) for i, slot in slots], other_count) > 0,
        "text": _padded([[token.place for token in s.text] for s in sequences]),
        "utterance": _padded([[token.utterance + 1 for token in s.text] for s in sequences]),
    }


def label_batch(items: Sequence[Item], labels: Sequence[Labels], shapes: Tensors) -> Tensors:
    """The labels of a batch, as explained at ``OnePassModel``."""
    slots = [
        (i, slot, labels[i].paths.get(slot, Paths()))
        for i, item in enumerate(items)
        for slot in item.sequence.slots
    ]
    paths = [right for _, _, right in slots]
    spans = [_span_indices(items[i].sequence.text, right.spans) for i, _, right in slots]
    statuses = [[number in right.statuses for number in range(STATUSES)] for right in paths]
    return {
        "intent_label": torch.tensor([_intent(*pair) for pair in zip(items, labels)]),
        "requested_label": torch.tensor(
            [float(slot in labels[i].requested) for i, slot, _ in slots]
        ),
        "scored": torch.tensor(
            [
                bool(s or right.statuses or right.values or right.known)
                for s, right in zip(spans, paths)
            ]
        ),
        "status_label": torch.tensor(statuses).view(-1, STATUSES),
        "span_label": _padded(spans, fill=-1),
        "value_label": _flags_at([right.values for right in paths], shapes["values"].shape[1]),
        "known_label": _flags_at([right.known for right in paths], shapes["copy_mask"].shape[1]),
    }


def _status_mask(item: Item, slot: str) -> list[bool]:
    """The statuses that a slot may have."""
    frame, sequence = item
    if slot not in frame.schema.tracked:
        return [number == KEEP for number in range(STATUSES)]
    is_open = {
        KEEP: True,
        SAY: bool(sequence.values[slot] or sequence.text),
        DONTCARE: True,
        GIVEN: frame.system_offer(slot) is not None,
        FROM: any(_copy_mask(item, slot)),
    }
    return [is_open[number] for number in range(STATUSES)]


def _copy_mask(item: Item, slot: str) -> list[bool]:
    """The values of other services that a slot may take: none if it has a value."""
    schema = item.frame.schema
    free = slot in schema.tracked and slot not in item.frame.carried
    read = item.frame.known[: len(item.sequence.known)]
    return [free and schema.slot(slot).admits(value) for _, value in read]


def _intent(item: Item, labels: Labels) -> int:
    names = list(item.sequence.intents)
    return names.index(labels.intent) if labels.intent in names else -100


def _span_indices(text: Sequence[TextToken], spans: Sequence[TextSpan]) -> list[int]:
    """Spans as indices of [text, 12]; without those that no tokens cover exactly."""
    numbers = []
    for utterance, start, end in spans:
        first = [i for i, t in enumerate(text) if (t.utterance, t.start) == (utterance, start)]
        last = [i for i, t in enumerate(text) if (t.utterance, t.end) == (utterance, end)]
        # Several tokens have the same characters where they are bytes of one character.
        if first and last and 0 <= last[-1] - first[0] < WIDTH:
            numbers.append(first[0] * WIDTH + last[-1] - first[0])
    return numbers


def _padded(rows: Sequence[Sequence[int]], width: int = 1, fill: int = 0) -> torch.Tensor:
    return torch.from_numpy(padded(rows, fill, width))


def _token_ranges(rows: Sequence[Sequence[TokenRange]]) -> torch.Tensor:
    """Places as a tensor [rows, longest row, 2]."""
    width = max([1, *(len(row) for row in rows)])
    padded = np.zeros((len(rows), width, 2), np.int64)
    for number, row in enumerate(rows):
        if row:
            padded[number, : len(row)] = row
    return torch.from_numpy(padded)


def _flags_at(rows: Sequence[Sequence[int]], width: int) -> torch.Tensor:
    """For each row of indices True at these indices [rows, width]."""
    flags = np.zeros((len(rows), width), bool)
    for number, row in enumerate(rows):
        flags[number, [index for index in row if index < width]] = True
    return torch.from_numpy(flags)


SPANS = 4  # number of candidate spans of a slot: the likeliest
_COLUMNS = ("requested", "statuses", "span", "span_score", "value", "known")


class CandidateSpan(NamedTuple):
    """A span that may be the value that the user says for a slot."""

    span: TextSpan
    score: float  # logarithm of its probability among the slot's spans


class SlotAnswer(NamedTuple):
    """The model's answer about a slot."""

    requested: float  # probability that the user asks for the slot, in [0, 1]
    statuses: tuple[float, ...]  # logits, in the order of ``labels``; -1e4 for impossible ones
    spans: tuple[CandidateSpan, ...]  # the likeliest, the best first, if the slot is free-form
    value: int  # index of the likeliest possible value, if the slot is categorical
    known: int  # index in ``FrameInput.known`` of the likeliest value of another service


class Answer(NamedTuple):
    """The model's answer about a frame."""

    intent: str
    slots: dict[str, SlotAnswer]


def likeliest(logits: Logits) -> Tensors:
    """The likeliest candidates: ``intent`` [frames], all others [slots] or [slots, candidates]."""
    score, span = logits.span.flatten(1).topk(SPANS)
    best = {
        "intent": logits.intent.argmax(1),
        "requested": logits.requested.sigmoid(),
        "statuses": logits.status,
        "span": span,
        "span_score": score,
        "value": logits.value.argmax(1),
        "known": logits.known.argmax(1),
    }
    return {name: tensor.cpu() for name, tensor in best.items()}


def read_answers(items: Sequence[Item], logits: Logits) -> list[Answer]:
    """The model's answer about each sequence of a batch."""
    columns = {name: tensor.tolist() for name, tensor in likeliest(logits).items()}
    intents = columns.pop("intent")
    rows = zip(*(columns[name] for name in _COLUMNS))
    answers = []
    for item, intent in zip(items, intents):
        names = list(item.sequence.intents)
        slots = {}
        for slot in item.sequence.slots:
            requested, statuses, indices, scores, value, other_value = next(rows)
            free = not item.frame.schema.slot(slot).is_categorical
            candidates = _spans(item, indices, scores) if free else ()
            slots[slot] = SlotAnswer(requested, tuple(statuses), candidates, value, other_value)
        answers.append(Answer(names[intent] if names else "", slots))
    return answers


def _spans(
    item: Item, indices: Sequence[int], scores: Sequence[float]
) -> tuple[CandidateSpan, ...]:
    """The possible spans among those that are given as indices of [text, 12]."""
    text = item.sequence.text
    candidates = []
    for index, score in zip(indices, scores):
        first, further = divmod(index, WIDTH)
        if score > LOWEST / 2 and first + further < len(text):
            span = TextSpan(text[first].utterance, text[first].start, text[first + further].end)
            candidates.append(CandidateSpan(span, score))
    return tuple(candidates)


def merge_parts(answers: Sequence[Answer]) -> Answer:
    """The answer about a frame from the answers about its parts, in order."""
    slots = {slot: answer for part in answers for slot, answer in part.slots.items()}
    return Answer(answers[0].intent, slots)


def decode(frame: FrameInput, answer: Answer, keep_bias: float = 0.0) -> State:
    """The state of a frame; ``keep_bias`` is added to the logit of keeping a slot as it is."""
    from_allowed = frame.first or answer.intent != frame.intent
    tracked = {s: a for s, a in answer.slots.items() if s in frame.schema.tracked}
    statuses = {s: _status(a, from_allowed, keep_bias) for s, a in tracked.items()}
    spans = _assign_spans({s: tracked[s] for s in statuses if statuses[s] == SAY}, keep_bias)
    values = {s: v for s, v in frame.carried.items() if s in frame.schema.tracked}
    for slot, status in statuses.items():
        if (value := _value(frame, slot, status, tracked[slot], spans.get(slot))) is not None:
            values[slot] = value
    requested = tuple(slot for slot, a in answer.slots.items() if a.requested > 0.5)
    return State(answer.intent, {slot: [value] for slot, value in values.items()}, requested)


def _status(answer: SlotAnswer, from_allowed: bool, keep_bias: float) -> int:
    logits = list(answer.statuses)
    logits[KEEP] += keep_bias
    if not from_allowed:
        logits[FROM] = float("-inf")
    return logits.index(max(logits))


def _assign_spans(answers: dict[str, SlotAnswer], keep_bias: float) -> dict[str, TextSpan]:
    """The span of each slot whose value the user says; no two of them share a character."""
    # A character that two slots claim goes to the likelier one. The other slot gets its next span,
    # if that is likelier than keeping the slot as it is.
    claims = [
        (_log_probability_of_say(answer) + score, slot, span)
        for slot, answer in answers.items()
        for number, (span, score) in enumerate(answer.spans)
        if number == 0 or answer.statuses[SAY] + score > answer.statuses[KEEP] + keep_bias
    ]
    assigned: dict[str, TextSpan] = {}
    for _, slot, span in sorted(claims, key=lambda claim: -claim[0]):
        if slot not in assigned and not any(_overlap(span, other) for other in assigned.values()):
            assigned[slot] = span
    return assigned


def _log_probability_of_say(answer: SlotAnswer) -> float:
    """Logarithm of the probability that the user says the slot's value."""
    highest = max(answer.statuses)
    total = sum(exp(logit - highest) for logit in answer.statuses)
    return answer.statuses[SAY] - highest - log(total)


def _overlap(span: TextSpan, other: TextSpan) -> bool:
    return span.utterance == other.utterance and span.start < other.end and other.start < span.end


def _value(
    frame: FrameInput, slot: str, status: int, answer: SlotAnswer, span: TextSpan | None
) -> str | None:
    """The slot's new value; None if it stays as it is."""
    if status == DONTCARE:
        return DONTCARE_VALUE
    if status == GIVEN:
        return frame.system_offer(slot)
    if status == FROM:
        return frame.known[answer.known].value
    if status == SAY and frame.schema.slot(slot).is_categorical:
        return frame.schema.slot(slot).values[answer.value]
    if status == SAY and span is not None:
        return frame.utterances[span.utterance].text[span.start : span.end]
    return None


class Example(NamedTuple):
    """A training example."""

    frame: FrameInput
    gold: Gold
    slots: int  # number of its tracked slots
    without_path: int  # number of those that no path leads to


def gold_examples(
    dialogues: Sequence[Dialogue], reading: Reading
) -> tuple[list[Example], list[list[State]]]:
    """The training examples of dialogues that are tracked with right answers, and the states."""
    # An answer is right relative to the state so far, which is not gold where no path leads there.
    examples: list[Example] = []

    def read(of_row: Frame, frame: FrameInput) -> State:
        assert of_row.gold is not None  # noqa: S101 - training rows have the gold columns
        labels = labels_of(frame, of_row.gold)
        without_path = sum(not slot_paths for slot_paths in labels.paths.values())
        examples.append(Example(frame, of_row.gold, len(labels.paths), without_path))
        return decode(frame, gold_answer(frame, labels))

    def reader(frames: Sequence[tuple[Frame, FrameInput]]) -> list[State]:
        return [read(*frame) for frame in frames]

    return examples, track_dialogues(reader, dialogues, reading)


def gold_answer(frame: FrameInput, labels: Labels) -> Answer:
    """An answer that is right by the labels of a frame."""
    # Most slots of most frames stay as they are and are not requested: they have no answer.
    statuses = {slot: _right_status(paths) for slot, paths in labels.paths.items()}
    answers = {
        slot: _answer(statuses.get(slot, KEEP), slot, labels)
        for slot in frame.schema.slots_by_name
        if slot in labels.requested or statuses.get(slot, KEEP) != KEEP
    }
    return Answer(labels.intent or NONE_INTENT, answers)


def _answer(status: int, slot: str, labels: Labels) -> SlotAnswer:
    paths = labels.paths.get(slot, Paths())
    return SlotAnswer(
        float(slot in labels.requested),
        tuple(float(number == status) for number in range(STATUSES)),
        tuple(CandidateSpan(span, 0.0) for span in paths.spans[:1]),
        paths.values[0] if paths.values else 0,
        paths.known[0] if paths.known else 0,
    )


def _right_status(paths: Paths) -> int:
    """One of the right statuses; ``KEEP`` if there is none."""
    if KEEP in paths.statuses or not paths:
        return KEEP
    if paths.spans or paths.values:
        return SAY
    return next((s for s in (DONTCARE, GIVEN) if s in paths.statuses), FROM)


_DIALOGUES_AT_ONCE = 256


class SchemaNoise(NamedTuple):
    """Random changes of schemas in training, so that models rely less on their words."""

    shuffle: bool = False  # whether the elements stand in random order
    drop_names: float = 0.0  # fraction of the elements
    drop_descriptions: float = 0.0  # fraction of the elements

    def variant(self, schema: Service, rng: np.random.Generator) -> Variant | None:
        """The changed texts of a schema in their order; None if nothing is changed."""
        if self == SchemaNoise():
            return None

        def ordered(texts: dict[str, str]) -> dict[str, str]:
            names = list(texts)
            order = rng.permutation(len(names)) if self.shuffle else range(len(names))
            return {names[index]: texts[names[index]] for index in order}

        return Variant(*map(ordered, variant_of(schema, partial(self._text, rng))))

    def _text(self, rng: np.random.Generator, name: str, description: str) -> str:
        """The text of an element, perhaps without its name or its description."""
        # One draw for both: below 0 the name goes, from 0 to the next threshold the description.
        drawn = rng.random() - self.drop_names
        if drawn < 0 and description:
            return description
        return (
            words(name) if 0 <= drawn < self.drop_descriptions else element_text(name, description)
        )


class StateNoise(NamedTuple):
    """Random errors in carried states of training examples, for the model to learn to correct."""

    # A model that was trained on right states alone keeps its own errors. So right values are
    # dropped from the state or replaced in it, but only if this turn shows the right value again:
    # the system asks to confirm it, or it is spoken. Offers do not count, or the model would learn
    # to accept any offer for a slot without a value.
    drop: float = 0.0  # fraction of these values
    replace: float = 0.0  # fraction, by other possible values or values of the dialogue

    def frame(self, frame: FrameInput, gold: Gold, rng: np.random.Generator) -> FrameInput:
        """A frame with errors in its carried state; its labels are those of ``labels_of``."""
        if self == StateNoise():
            return frame
        carried = dict(frame.carried)
        for slot, value in frame.carried.items():
            drawn = rng.random()
            right = gold.state.values.get(slot, ())
            if drawn > self.drop + self.replace or value not in right:
                continue
            unset = {name: value for name, value in frame.carried.items() if name != slot}
            bare = dataclasses.replace(frame, carried=unset)
            if not (_is_shown(frame, right, slot) and paths_of(bare, gold, slot)):
                continue
            others = _other_values(frame, right, slot)
            if drawn < self.drop:
                del carried[slot]
            elif others:
                carried[slot] = others[rng.integers(len(others))]
        return dataclasses.replace(frame, carried=carried)


def _is_shown(frame: FrameInput, right: Sequence[str], slot: str) -> bool:
    """Whether the last system turn asks to confirm a right value, or one is said in this turn."""
    if slot in frame.confirmed and frame.offered_now[slot] in right:
        return True
    texts = [utterance.text for utterance in frame.utterances[-2:] if utterance.readable]
    words_of_value = "|".join(map(re.escape, right))
    return any(re.search(rf"(?<!\w)(?:{words_of_value})(?!\w)", text) for text in texts)


def _other_values(frame: FrameInput, right: Sequence[str], slot: str) -> list[str]:
    """Values that a slot could have by mistake: possible ones, or other values of the dialogue."""
    schema = frame.schema
    if schema.slot(slot).is_categorical:
        values = schema.slot(slot).values
    else:
        own = (frame.carried, frame.offered_now, frame.offered_earlier)
        of_service = [(s, v) for part in own for s, v in part.items()]
        tracked = schema.tracked
        values = [v for s, v in of_service if s in tracked and not schema.slot(s).is_categorical]
        values += [value for _, value in frame.known]
    return [value for value in dict.fromkeys(values) if value not in (*right, DONTCARE_VALUE)]


def drop_acts_of_some(dialogues: Iterable[Dialogue], seed: int) -> Iterator[Dialogue]:
    """Dialogues, a random third of which have no dialogue acts of the system."""
    rng = np.random.default_rng(seed)
    for dialogue in dialogues:
        if rng.random() < 1 / 3:
            yield dialogue._replace(turns=[turn._replace(acts=[]) for turn in dialogue.turns])
        else:
            yield dialogue


def all_examples(dialogues: Iterable[Dialogue], reading: Reading) -> list[Example]:
    """The examples of the frames of dialogues, which are held in memory a few at a time."""
    examples: list[Example] = []
    dialogues = iter(dialogues)
    while some := list(islice(dialogues, _DIALOGUES_AT_ONCE)):
        examples += gold_examples(some, reading)[0]
    return examples


_NO_STATE_NOISE = StateNoise()


class FrameExamples:
    """Training examples: the sequences of frames, several if a schema is too long for one."""

    def __init__(
        self,
        frames: Sequence[Example],
        vocabulary: Vocabulary,
        limit: int,
        noise: SchemaNoise,
        seed: int,
        state_noise: StateNoise = _NO_STATE_NOISE,
    ) -> None:
        self.frames, self.vocabulary, self.limit = frames, vocabulary, limit
        self.noise, self.state_noise, self.seed = noise, state_noise, seed
        parts, lengths = [], []
        self.counts = {
            "slots": sum(example.slots for example in frames),
            "without_path": sum(example.without_path for example in frames),
        }
        for index, example in enumerate(frames):
            of_frame = part_lengths(example.frame, vocabulary, limit)
            parts += [(index, number) for number in range(len(of_frame))]
            lengths += of_frame
        # Frame and number of its part [examples, 2], and number of tokens [examples].
        self.parts: Ints = np.array(parts, np.int64).reshape(-1, 2)
        self.lengths: Ints = np.array(lengths, np.int64)
        self._part_counts = np.bincount(self.parts[:, 0], minlength=len(frames))

    def batch(self, indices: Ints) -> Tensors:
        """Make a batch with labels from the indices of examples."""
        # What is changed depends only on the seed and the indices, for trainings that are resumed.
        rng = np.random.default_rng([self.seed, *indices.tolist()])
        numbers = self.parts[indices, 0].tolist()
        self.vocabulary.add_texts(t for n in numbers for t in texts_of(self.frames[n].frame))
        items: list[Item] = []
        labels: list[Labels] = []
        for index, number in self.parts[indices].tolist():
            frame, gold, *_ = self.frames[index]
            if self._part_counts[index] == 1:  # parts of a frame must agree on its state
                frame = self.state_noise.frame(frame, gold, rng)
            variant = self.noise.variant(frame.schema, rng)
            parts = sequences(frame, self.vocabulary, self.limit, variant)
            items.append(Item(frame, parts[number]))
            labels.append(labels_of(frame, gold))
        batch = make_batch(items, self.vocabulary.tokenizer.pad_token_id)
        return batch | label_batch(items, labels, batch)
