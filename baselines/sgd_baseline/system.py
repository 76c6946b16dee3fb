"""The tracker SGD baseline, which encodes each distinct turn once, independently of the schemas.

A frozen encoder embeds the schema elements. One pass of the turn encoder then serves all services
of a turn, under all schema variants. Source: Rastogi et al. 2020 (arXiv 1909.05855).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import torch
from datasets import Dataset
from transformers import AutoConfig, AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset.io.progress import advance
from sgdx_dataset.schema import DONTCARE, NONE_INTENT
from sgdx_eval.predictions import prediction_row

from ..batching import Ints
from ..encoders import check_positions, corpus_texts, load_encoder, tiny_encoder
from ..system import Row
from ..tracker import Tracker, answer_batches, start_from_tracker
from ..xla import in_few_shapes, is_xla, on_host, power
from . import settings as own
from .data import (
    ACTIVE,
    IS_DONTCARE,
    SYSTEM,
    USER,
    Change,
    SlotQuestions,
    Tensors,
    TokenizedTurns,
    TurnExamples,
    accumulate,
    by_text,
    by_turn,
    read_frames,
    read_labels,
)
from .elements import ElementTable, Pair, embed
from .modeling import CLS, ENCODER_INPUTS, SgdBaselineConfig, SgdBaselineModel

# With this, AutoModel uses the project's classes instead of the copied code beside the weights.
AutoConfig.register(SgdBaselineConfig.model_type, SgdBaselineConfig, exist_ok=True)
AutoModel.register(SgdBaselineConfig, SgdBaselineModel, exist_ok=True)


Spot = tuple[int, int, int]  # index of a free-form slot in the batch, first and last token


@torch.no_grad()
def predict_batch(
    model: SgdBaselineModel, examples: TurnExamples, indices: Ints
) -> list[list[Change]]:
    """Predict the changes that the frames of some examples make."""
    cpu_batch, questions = examples.questions(indices)
    cpu_batch = in_few_shapes(cpu_batch, examples.turns.limit, examples.fill, model.device)
    batch = {name: tensor.to(model.device) for name, tensor in cpu_batch.items()}
    pooled, tokens = model.encode(**{n: batch[n] for n in ENCODER_INPUTS if n in batch})
    outputs = on_host(model.run_heads(pooled, batch), model.device)
    logits = _of_questions(
        {name: tensor.float().cpu() for name, tensor in outputs.items()}, questions
    )
    # Spans are looked for in the free-form slots alone that have a value in the turn.
    active = (logits["free_status"].argmax(-1) == ACTIVE).nonzero()[:, 0]
    span = active
    if is_xla(model.device):
        room = power(len(active), len(cpu_batch["input_ids"])) - len(active)
        span = torch.nn.functional.pad(active, (0, room))
    with_spans = batch | {"span": span.to(tokens.device)}
    span_logits = on_host(model.spans(tokens, batch["attention_mask"], with_spans), model.device)
    start, end = (span_logits[name].float().cpu()[: len(active)] for name in ("start", "end"))
    sides = examples.turns.batch_sides(examples.texts[indices].tolist(), tokens.shape[1])
    turn = batch["turn"].cpu()[torch.from_numpy(questions.free_frame)[active]]
    first, last = best_spans(start, end, sides[turn])
    spans = list(zip(active.tolist(), first.tolist(), last.tolist()))
    changes = iter(read_changes(examples, questions, logits, spans))
    return [[next(changes) for _ in examples.groups[index]] for index in indices.tolist()]


def _of_questions(logits: Tensors, questions: SlotQuestions) -> Tensors:
    """The logits of what a batch was asked, without those that fill it up."""
    categorical, free = len(questions.categorical), len(questions.free)
    counts = {"intent": len(questions.frames), "free_status": free}
    counts |= {"categorical_status": categorical, "value": categorical}
    before = len(logits["categorical_status"])  # of those of free-form slots
    sides = (logits["requested"][:categorical], logits["requested"][before : before + free])
    return {"requested": torch.cat(sides), **{n: logits[n][:count] for n, count in counts.items()}}


def best_spans(
    start: torch.Tensor, end: torch.Tensor, sides: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """First and last tokens with the highest sum of probabilities [spans]; -1 for no span."""
    # Logits and sides are [spans, tokens]. A span lies within the system's or the user's utterance,
    # or is the token ``CLS`` alone, to which the model points if the value is not in the turn.
    start, end = (logits.softmax(-1, dtype=torch.float32) for logits in (start, end))
    infinite = -float("inf")
    scores, firsts = [], []  # of system and user, [spans, tokens]: the best span that ends there
    for side in (SYSTEM, USER):
        # The best start up to each token is computed first, so that one pass tries all ends.
        best, first = start.masked_fill(sides != side, infinite).cummax(-1)
        scores.append((best + end).masked_fill(sides != side, infinite))
        firsts.append(first)
    # Positions in the second half of the concatenation are of the user: modulo gives the token.
    score, position = torch.cat(scores, -1).max(-1)
    first = torch.cat(firsts, -1).gather(-1, position[:, None])[:, 0]
    last = position % max(1, start.shape[-1])
    nowhere = score <= start[:, CLS] + end[:, CLS]
    return first.masked_fill(nowhere, -1), last.masked_fill(nowhere, -1)


def read_changes(
    examples: TurnExamples,
    questions: SlotQuestions,
    logits: dict[str, torch.Tensor],
    spans: Sequence[Spot],
) -> list[Change]:
    """The change of the state that each frame of a batch makes."""
    table, frames = examples.table, examples.frames
    intents = logits["intent"].argmax(-1).tolist()
    services = [table.services[index] for index in frames.service[questions.frames]]
    changes = [
        Change([NONE_INTENT, *service.intents][intent])
        for service, intent in zip(services, intents)
    ]
    names = [table.categorical_names[i] for i in questions.categorical]
    names += [table.free_names[i] for i in questions.free]
    owners = [*questions.categorical_frame.tolist(), *questions.free_frame.tolist()]
    for slot in (logits["requested"] > 0).nonzero()[:, 0].tolist():
        changes[owners[slot]].requested_slots.append(names[slot])
    for slot, value in _values(examples, questions, logits, spans):
        changes[owners[slot]].slot_values[names[slot]] = value
    return changes


def _values(
    examples: TurnExamples,
    questions: SlotQuestions,
    logits: dict[str, torch.Tensor],
    spans: Sequence[Spot],
) -> Iterator[tuple[int, str]]:
    """Each slot that changes, as an index among the batch's slots, and its value."""
    value_indices = logits["value"].argmax(-1).tolist()
    for slot, status in enumerate(logits["categorical_status"].argmax(-1).tolist()):
        choices = examples.table.choices[questions.categorical[slot]]
        if status == IS_DONTCARE:
            yield slot, DONTCARE
        elif status == ACTIVE and choices:
            yield slot, choices[value_indices[slot]]
    # The indices of free-form slots follow those of categorical slots.
    before = len(questions.categorical)
    for slot in (logits["free_status"].argmax(-1) == IS_DONTCARE).nonzero()[:, 0].tolist():
        yield before + slot, DONTCARE
    texts = examples.frames.text[questions.frames[questions.free_frame]]
    for slot, first, last in spans:
        if first >= 0:
            yield before + slot, examples.turns.turn(int(texts[slot])).text(first, last)


def prediction_rows(examples: TurnExamples, changes: list[Change]) -> Iterator[Row]:
    """The prediction row of each frame, whose slot values are the sum of the changes so far."""
    frames = examples.frames
    groups = map(frames.group, range(len(frames)))
    for index, values in enumerate(accumulate(groups, changes)):
        frame = {"frame_id": frames.ids[index], "variant": frames.variants[index]}
        change = changes[index]
        in_lists = {slot: [value] for slot, value in values.items()}
        yield prediction_row(frame, change.active_intent, sorted(change.requested_slots), in_lists)


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
        return self.read(rows, labelled=True)

    def read(self, rows: Dataset, *, labelled: bool = False) -> TurnExamples:
        """Read frame rows: distinct turns for prediction, those of each dialogue with labels."""
        frames = read_frames(rows)
        turns = TokenizedTurns(frames.texts, self.tokenizer, self.seen.max_turn)
        table = ElementTable(frames.schemas)
        labels = read_labels(rows, frames, table, turns) if labelled else None
        groups = by_turn(frames) if labelled else by_text(frames)
        return TurnExamples(frames, groups, turns, table, self._embeddings(table.pairs), labels)

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
        examples = self.read(rows)
        self.counts.update(turns=len(examples.groups), cut_turns=examples.turns.cut)

        def answer(batch: Ints) -> list[list[Change]]:
            changes = predict_batch(self, examples, batch)
            advance(sum(map(len, changes)))
            return changes

        answers = answer_batches(examples.lengths, self.options, answer)
        changes: dict[int, Change] = {}
        for group, of_group in zip(examples.groups, answers):
            changes |= zip(group.tolist(), of_group)
        return prediction_rows(examples, [changes[index] for index in range(len(rows))])
