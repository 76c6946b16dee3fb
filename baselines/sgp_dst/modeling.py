"""The sub-models of SGP-DST: any BERT-like encoder under small heads.

This file is copied beside the weights, for ``AutoModel``: it imports nothing of the project.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.utils.generic import ModelOutput


class SgpConfig(PreTrainedConfig):
    """An encoder's configuration, and how many sums of binary features there are."""

    model_type = "sgp_dst"

    def __init__(self, encoder: dict[str, Any] | None = None, features: int = 32, **kwargs: Any):
        self.encoder = encoder or {"model_type": "bert"}
        self.features = features
        super().__init__(**kwargs)


@dataclass
class Answers(ModelOutput):
    """What a sub-model answers: logits; those of what a sequence lacks are -inf.

    logits: [sequences, intents or values or 2]. start, end: [sequences, tokens]. requested:
    [sequences, 2].
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    start: torch.Tensor | None = None
    end: torch.Tensor | None = None
    requested: torch.Tensor | None = None


class _SubModel(PreTrainedModel):
    """An encoder with an embedding of binary features added to every token's.

    ``elements`` [sequences, tokens] says what a token is part of: 0 nothing in particular, -1 where
    a span may stand, 1, 2, ... an intent or value that is scored.
    """

    config_class = SgpConfig
    base_model_prefix = "encoder"
    supports_gradient_checkpointing = True

    def __init__(self, config: SgpConfig) -> None:
        super().__init__(config)
        make: Any = AutoModel.from_config
        self.take(make(AutoConfig.for_model(**config.encoder)))
        self.segments = getattr(self.encoder.config, "type_vocab_size", 0) > 1
        size = self.encoder.config.hidden_size
        self.features = nn.Embedding(config.features, size)
        self.dropout = nn.Dropout(getattr(self.encoder.config, "hidden_dropout_prob", 0.1))

    def take(self, encoder: Any) -> None:
        """Read with this encoder; a pooler, which some have, would learn nothing."""
        if getattr(encoder, "pooler", None) is not None:
            encoder.pooler = None
        self.encoder: Any = encoder

    def read(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
        features: torch.Tensor,
    ) -> torch.Tensor:
        """Every token's vector [sequences, tokens, hidden]."""
        words = self.encoder.get_input_embeddings()(input_ids)
        segments = {"token_type_ids": token_type_ids} if self.segments else {}
        embedded = words + self.features(features)
        output = self.encoder(inputs_embeds=embedded, attention_mask=attention_mask, **segments)
        hidden: torch.Tensor = self.dropout(output.last_hidden_state)
        return hidden


class ElementScorer(nn.Module):
    """Max-pool over each element's tokens -> Linear -> tanh -> Linear 1."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.dense, self.score = nn.Linear(size, size), nn.Linear(size, 1)

    def forward(self, hidden: torch.Tensor, elements: torch.Tensor) -> torch.Tensor:
        """[sequences, most elements]; -inf where a sequence has fewer."""
        count = int(elements.max())
        place = elements.clamp(min=0)
        lowest = torch.finfo(hidden.dtype).min
        pooled = hidden.new_full((len(hidden), count + 1, hidden.shape[-1]), lowest)
        index = place.unsqueeze(-1).expand_as(hidden)
        pooled = pooled.scatter_reduce(1, index, hidden, "amax", include_self=False)[:, 1:]
        numbers = torch.arange(1, count + 1, device=elements.device)
        there = (elements.unsqueeze(-1) == numbers).any(1)
        pooled = pooled.masked_fill(~there.unsqueeze(-1), 0.0)
        scores: torch.Tensor = self.score(torch.tanh(self.dense(pooled))).squeeze(-1)
        return scores.float().masked_fill(~there, -torch.inf)


class IntentModel(_SubModel):
    """Which intent is active: a softmax over the intents of a sequence and none."""

    def __init__(self, config: SgpConfig) -> None:
        super().__init__(config)
        self.scorer = ElementScorer(self.encoder.config.hidden_size)
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
        features: torch.Tensor,
        elements: torch.Tensor,
        labels: torch.Tensor | None = None,
    ) -> Answers:
        """``labels`` [sequences, 1]: the intent's number, from 0."""
        mask = apart(elements, attention_mask, self.features.weight.dtype)
        hidden = self.read(input_ids, mask, token_type_ids, features)
        logits = self.scorer(hidden, elements)
        loss = None if labels is None else cross_entropy(logits, labels[:, 0])
        return Answers(loss=loss, logits=logits)


def apart(elements: torch.Tensor, attention_mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A mask under which elements do not see each other, [sequences, 1, tokens, tokens].

    An element's tokens attend to ``[CLS]``, the turn and themselves, the others to each other.
    Added to attention's scores: 0, or the lowest number.
    """
    common = (elements <= 0).unsqueeze(1)
    same = elements.unsqueeze(1) == elements.unsqueeze(2)
    seen = (common | same) & attention_mask.bool().unsqueeze(1)
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill(
        ~seen, torch.finfo(dtype).min
    )[:, None]


class CombineModel(_SubModel):
    """Of a slot: a span of the turn, a value, and whether it is requested."""

    def __init__(self, config: SgpConfig) -> None:
        super().__init__(config)
        size = self.encoder.config.hidden_size
        self.span, self.requested = nn.Linear(size, 2), nn.Linear(size, 2)
        self.scorer = ElementScorer(size)
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
        features: torch.Tensor,
        elements: torch.Tensor,
        labels: torch.Tensor | None = None,
    ) -> Answers:
        """``labels`` [sequences, 4]: start and end token, value (0 null, 1 any), requested."""
        hidden = self.read(input_ids, attention_mask, token_type_ids, features)
        spans = self.span(hidden).float().masked_fill((elements != -1).unsqueeze(-1), -torch.inf)
        logits = (
            spans[..., 0],
            spans[..., 1],
            self.scorer(hidden, elements),
            self.requested(hidden[:, 0]).float(),
        )
        losses = None if labels is None else map(cross_entropy, logits, labels.unbind(1))
        start, end, values, requested = logits
        loss = None if losses is None else torch.stack(list(losses)).sum()
        return Answers(loss=loss, logits=values, start=start, end=end, requested=requested)


class CopyModel(_SubModel):
    """Whether a value that is known is taken over: ``[CLS]``, two ways."""

    def __init__(self, config: SgpConfig) -> None:
        super().__init__(config)
        self.classifier = nn.Linear(self.encoder.config.hidden_size, 2)
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
        features: torch.Tensor,
        elements: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
    ) -> Answers:
        """``labels`` [sequences, 1]: 0 or 1. ``elements`` say nothing here."""
        hidden = self.read(input_ids, attention_mask, token_type_ids, features)
        logits = self.classifier(hidden[:, 0]).float()
        loss = None if labels is None else cross_entropy(logits, labels[:, 0])
        return Answers(loss=loss, logits=logits)


SgpConfig.register_for_auto_class()  # type: ignore[no-untyped-call]
for _model in (IntentModel, CombineModel, CopyModel):
    _model.register_for_auto_class("AutoModel")  # type: ignore[no-untyped-call]
