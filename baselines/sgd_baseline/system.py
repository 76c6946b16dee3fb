"""The SGD baseline: what a turn changes, in one pass for all schemas. Rastogi et al. 2020.

Source: arXiv 1909.05855, its section on zero-shot dialogue state tracking, and the released code.
In: the system's last utterance and the user's (the paper's utterance encoding), and the embeddings
of the service's elements by a frozen encoder (its schema embedding, ``elements``).
Learnt: how each turn changes the gold state: intent, requested slots, the status and value of each
slot; seven losses (``data``: the labels, ``modeling``: the projection and the heads).
Out: the changes that are predicted are added up over the turns of a service (``add_up``). Each
distinct turn is encoded once, for all services and variants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import torch
from datasets import Dataset
from transformers import AutoConfig, AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset.io.progress import advance
from sgdx_dataset.schema import DONTCARE

from ..batching import Ints, by_length, padded
from ..data.dialogues import Dialogue, State, Values, prediction_rows, read_dialogues
from ..encoders import (
    check_positions,
    corpus_texts,
    likeliest_spans,
    load_encoder,
    tiny_encoder,
)
from ..system import Row
from ..tracker import Tracker, start_from_tracker
from ..xla import Tensors, in_few_shapes, is_xla, on_host, power
from . import settings as own
from .data import ACTIVE, IS_DONTCARE, SYSTEM, USER, TurnExamples, tokenize_turns
from .elements import Pair, embed, read_elements
from .modeling import CLS, ENCODER_INPUTS, SgdBaselineConfig, SgdBaselineModel

# With this, AutoModel uses the project's classes instead of the copied code beside the weights.
AutoConfig.register(SgdBaselineConfig.model_type, SgdBaselineConfig, exist_ok=True)
AutoModel.register(SgdBaselineConfig, SgdBaselineModel, exist_ok=True)


@torch.no_grad()
def predict_changes(
    model: SgdBaselineModel, examples: TurnExamples, indices: Ints, limit: int
) -> dict[int, State]:
    """Predict the changes that the frames of some examples make, by the number of the frame."""
    batch, asked = examples.questions(indices)
    slots = len(batch["free"])
    batch = in_few_shapes(batch, limit, examples.fill, model.device)
    owner = batch["turn"][batch["free_frame"]]  # the turn of each free-form slot
    batch = {name: tensor.to(model.device) for name, tensor in batch.items()}
    pooled, tokens = model.encode(**{n: batch[n] for n in ENCODER_INPUTS if n in batch})
    outputs = on_host(model.run_heads(pooled, batch), model.device)
    logits = {name: tensor.float().cpu() for name, tensor in outputs.items()}
    # Spans are looked for in the free-form slots alone that have a value in the turn.
    active = (logits["free_status"][:slots].argmax(-1) == ACTIVE).nonzero()[:, 0]
    span = active
    if is_xla(model.device):
        room = power(len(active), len(batch["input_ids"])) - len(active)
        span = torch.nn.functional.pad(active, (0, room))
    with_spans = batch | {"span": span.to(model.device)}
    span_logits = on_host(model.spans(tokens, batch["attention_mask"], with_spans), model.device)
    start, end = (span_logits[name].float().cpu()[: len(active)] for name in ("start", "end"))
    turns = [examples.turns[indices[turn]] for turn in owner[active].tolist()]
    sides = torch.from_numpy(padded([turn.sides for turn in turns], -1, tokens.shape[1]))
    found = zip(active.tolist(), turns, *(side.tolist() for side in best_spans(start, end, sides)))
    spans = {slot: turn.text(first, last) for slot, turn, first, last in found if first >= 0}
    return dict(zip(asked, read_changes(examples, asked, logits, spans), strict=True))


def best_spans(
    start: torch.Tensor, end: torch.Tensor, sides: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """First and last tokens with the highest sum of probabilities [spans]; -1 for no span."""
    # Logits and sides are [spans, tokens]. A span lies within the system's or the user's utterance,
    # or is the token ``CLS`` alone, to which the model points if the value is not in the turn.
    start, end = (logits.softmax(-1, dtype=torch.float32) for logits in (start, end))
    of_system = likeliest_spans(start, end, sides == SYSTEM)
    of_user = likeliest_spans(start, end, sides == USER)
    is_user = of_user[2] > of_system[2]
    first, last, score = (torch.where(is_user, *pair) for pair in zip(of_user, of_system))
    nowhere = score <= start[:, CLS] + end[:, CLS]
    return first.masked_fill(nowhere, -1), last.masked_fill(nowhere, -1)


def read_changes(
    examples: TurnExamples, asked: Sequence[int], logits: Tensors, spans: dict[int, str]
) -> Iterator[State]:
    """The change of the state that each frame of a batch makes.

    Args:
        examples: The examples that the batch is of.
        asked: The number of each frame.
        logits: Logits by the name of the head, of these frames and their slots.
        spans: The texts that are the values of free-form slots, by the number of the slot.
    """
    intents = logits["intent"].argmax(-1).tolist()
    statuses = logits["categorical_status"].argmax(-1).tolist()
    requested = (logits["requested"] > 0).tolist()  # of categorical slots, then of free-form ones
    categorical = zip(statuses, logits["value"].argmax(-1).tolist(), requested)
    free = enumerate(zip(logits["free_status"].argmax(-1).tolist(), requested[len(statuses) :]))
    for frame, intent in zip(asked, intents):
        elements, values = examples.frames[frame].elements, Values()
        asks = []
        for slot, (status, number, is_requested) in zip(elements.categorical, categorical):
            if status == IS_DONTCARE:
                values[slot.name] = [DONTCARE]
            elif status == ACTIVE and slot.possible_values:
                values[slot.name] = [slot.possible_values[number]]
            asks += [slot.name] if is_requested else []
        for slot, (index, (status, is_requested)) in zip(elements.free, free):
            if status == IS_DONTCARE:
                values[slot.name] = [DONTCARE]
            elif index in spans:
                values[slot.name] = [spans[index]]
            asks += [slot.name] if is_requested else []
        yield State(elements.intents[intent], values, tuple(sorted(asks)))


def add_up(dialogue: Dialogue, changes: Iterator[State]) -> list[State]:
    """The states of a dialogue's frames: a service's values so far, with the frame's changes."""
    held: dict[str, Values] = {}
    states = []
    for service in (service for turn in dialogue.turns for service in turn.services):
        change = next(changes)
        held[service] = held.get(service, {}) | change.values
        states.append(change._replace(values=held[service]))
    return states


class SgdTracker(Tracker, SgdBaselineModel):
    """Predicts the changes that turns make to states, and adds them up."""

    NAME: ClassVar[str] = "sgd_baseline"
    READS: ClassVar[tuple[str, ...]] = ("history", "utterance", "schema")
    PLAIN: ClassVar[type[PreTrainedModel]] = SgdBaselineModel
    Settings: ClassVar[type[own.Settings]] = own.Settings
    Seen: ClassVar[type[own.Seen]] = own.Seen
    tokenizer: PreTrainedTokenizerBase
    seen: own.Seen
    settings: own.Settings

    @classmethod
    def tiny(cls, rows: Dataset, settings: own.Settings) -> Sequence[Any]:
        """A small BERT and its tokenizer."""
        return tiny_encoder(corpus_texts(rows), hidden=128, seed=settings.seed)

    @classmethod
    def start(cls, settings: own.Settings) -> Self:
        """A trained SGD baseline, or a trainable and a frozen encoder with random heads."""
        seen = own.Seen.of(settings)
        if (trained := start_from_tracker(cls, settings)) is not None:
            return cls.completed(trained, trained.tokenizer, seen)
        encoder, tokenizer = load_encoder(settings.model, settings.attention_dropout)
        check_positions(encoder, seen.max_turn, "max_turn")
        torch.manual_seed(settings.seed)
        model = cls(SgdBaselineConfig(encoder=encoder.config, dropout=settings.dropout))
        for head in model.heads.values():
            head.reset()  # type: ignore[operator]
        for copy in (model.encoder, model.schema_encoder):
            copy.load_state_dict(encoder.state_dict())
        return cls.completed(model, tokenizer, seen)

    @classmethod
    def completed(cls, model: Any, tokenizer: Any, seen: Any, **options: Any) -> Self:
        """A model with what it needs besides."""
        model.schema_encoder.requires_grad_(False)  # loading makes it trainable
        return super().completed(model, tokenizer, seen, **options)

    def describe(self) -> Row:
        """The model's digest and provenance, what it reads, and what it predicts."""
        return {
            **super().describe(),
            "tracks": ("active_intent", "requested_slots", "slot_values"),
            "reads": "the system's last utterance and the user's, and no dialogue act",
        }

    def examples(self, rows: Dataset) -> TurnExamples:
        """The turns of dialogues with their labels."""
        return self.read(list(read_dialogues(rows)), labelled=True)

    def read(self, dialogues: Sequence[Dialogue], *, labelled: bool) -> TurnExamples:
        """Read dialogues: distinct turns for prediction, those of each dialogue with labels."""
        turns = [turn for dialogue in dialogues for turn in dialogue.turns]
        texts = list(dict.fromkeys((turn.system, turn.user) for turn in turns))
        tokenized = tokenize_turns(texts, self.tokenizer, self.seen.max_turn)
        schemas = list(dict.fromkeys(frame.schema for turn in turns for frame in turn.frames))
        elements, pairs = read_elements(schemas)
        return TurnExamples(
            dialogues,
            dict(zip(texts, tokenized)),
            dict(zip(schemas, elements)),
            self._embeddings(pairs),
            int(self.tokenizer.pad_token_id),
            labelled=labelled,
        )

    @cached_property
    def _embedded(self) -> dict[Pair, torch.Tensor]:
        """The embeddings of the sentence pairs so far, whose encoder never changes."""
        return {}

    def _embeddings(self, pairs: Sequence[Pair]) -> torch.Tensor:
        """The embeddings of sentence pairs [pairs, hidden]."""
        new = [pair for pair in pairs if pair not in self._embedded]
        self._embedded.update(zip(new, embed(new, self, self.tokenizer)))
        return torch.stack([self._embedded[pair] for pair in pairs])

    def track(self, rows: Dataset) -> Iterator[Row]:
        """Predict all variants together; each distinct turn is encoded once."""
        dialogues = list(read_dialogues(rows))
        examples = self.read(dialogues, labelled=False)
        self.counts.update(turns=len(examples.groups), cut_turns=examples.facts["cut"])
        options, changes = self.options, dict[int, State]()
        for batch in by_length(examples.lengths, options.batch_size, options.token_budget):
            predicted = predict_changes(self, examples, batch, self.seen.max_turn)
            changes |= predicted
            advance(len(predicted))
        in_order = (changes[number] for number in range(len(changes)))
        for dialogue in dialogues:
            yield from prediction_rows(dialogue, add_up(dialogue, in_order))
