"""The submodels of SGP-DST: a BERT-like encoder with small heads for each task.

This file is copied into the folder of each model so that ``AutoModel`` can load it. Therefore it
imports nothing of this project. Source: Ruan et al. 2020 (arXiv 2002.00181), section 3.
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
    """Configuration of a submodel.

    Attributes:
        encoder: Configuration of the encoder, as its ``to_dict`` gives it.
        features: Size of the feature embedding: the number of sums of binary features.
    """

    model_type = "sgp_dst"

    def __init__(self, encoder: dict[str, Any] | None = None, features: int = 32, **kwargs: Any):
        self.encoder = encoder or {"model_type": "bert"}
        self.features = features
        super().__init__(**kwargs)


# AutoModel remembers one model class for each class of configurations, so that with one class for
# all submodels a program that loads two of them would get the first one's class for both.
class IntentConfig(SgpConfig):
    """Configuration of ``IntentModel``."""


class CombineConfig(SgpConfig):
    """Configuration of ``CombineModel``."""


class CopyConfig(SgpConfig):
    """Configuration of ``CopyModel``."""


@dataclass
class Answers(ModelOutput):
    """Output of a submodel. Where a sequence has fewer classes than others, logits are -inf.

    Attributes:
        loss: The loss, a scalar; None without labels.
        logits: Logits of intents, of values, or of "no" and "yes" [sequences, classes].
        start: Logits of the first token of the span [sequences, tokens]; only from ``combine``.
        end: Logits of the last token of the span [sequences, tokens]; only from ``combine``.
        requested: Logits of "not requested" and "requested" [sequences, 2]; only from ``combine``.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    start: torch.Tensor | None = None
    end: torch.Tensor | None = None
    requested: torch.Tensor | None = None


class _SubModel(PreTrainedModel):
    """An encoder that adds an embedding of binary features to the embedding of every token.

    ``read`` of a submodel returns its logits by their names in ``Answers``, in the order of labels.
    """

    config_class: type[Any] = SgpConfig
    base_model_prefix = "encoder"
    supports_gradient_checkpointing = True
    pools = False  # whether the submodel reads the output of the encoder's pooler

    def __init__(self, config: SgpConfig) -> None:
        super().__init__(config)
        make: Any = AutoModel.from_config
        self.use_encoder(make(AutoConfig.for_model(**config.encoder)))
        self.segments = getattr(self.encoder.config, "type_vocab_size", 0) > 1
        size = self.encoder.config.hidden_size
        self.features = nn.Embedding(config.features, size)
        self.dropout = nn.Dropout(getattr(self.encoder.config, "hidden_dropout_prob", 0.1))
        self.add_heads(size)
        self.post_init()  # type: ignore[no-untyped-call]

    def use_encoder(self, encoder: Any) -> None:
        """Use an encoder, without its pooler if the submodel does not read it (``pools``)."""
        if not self.pools and getattr(encoder, "pooler", None) is not None:
            encoder.pooler = None
        self.encoder: Any = encoder

    def add_heads(self, size: int) -> None:
        """Make the layers behind an encoder of a hidden size."""
        raise NotImplementedError

    def read(self, output: Any, elements: Any, present: Any) -> dict[str, torch.Tensor]:
        """Logits [sequences, classes] from the encoder's output."""
        raise NotImplementedError

    def mask(self, attention_mask: torch.Tensor, elements: Any) -> torch.Tensor:
        """The encoder's mask: intents, and values, do not attend to each other.

        The tokens of an element attend to each other and to tokens outside elements, such as
        ``[CLS]`` and the turn. Tokens outside elements attend only to each other. So the score of
        an intent or value does not depend on the others.

        Returns:
            What is added to attention scores [sequences, 1, tokens, tokens]: 0, or the lowest
            number where there is to be no attention.
        """
        # [sequences, queries, keys]: a query attends to keys outside elements and of its own one.
        # Of a query outside elements the second condition allows those outside elements alone.
        common = (elements <= 0).unsqueeze(1)
        same = elements.unsqueeze(1) == elements.unsqueeze(2)
        attended = (common | same) & attention_mask.bool().unsqueeze(1)
        dtype = self.features.weight.dtype
        return torch.zeros(attended.shape, dtype=dtype, device=attended.device).masked_fill(
            ~attended, torch.finfo(dtype).min
        )[:, None]

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
        features: torch.Tensor,
        elements: torch.Tensor | None = None,
        present: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
    ) -> Answers:
        """Compute logits, and the sum of their losses if there are labels.

        Args:
            input_ids: Tokens [sequences, tokens].
            attention_mask: 1 for tokens, 0 for padding [sequences, tokens].
            token_type_ids: Segments, 0 or 1 [sequences, tokens].
            features: Sum of the binary features of each token [sequences, tokens].
            elements: What a token belongs to [sequences, tokens]: n >= 1 for the n-th intent or
                value that is scored, -1 for tokens that a span may contain, 0 for all others.
                ``CopyModel`` does not use it.
            present: True for the intents or values that a sequence has [sequences, elements]. The
                width says how many elements there are at most, so that the host need not wait for a
                GPU to count them. ``CopyModel`` does not use it.
            labels: What is right, as each model says [sequences, labels].
        """
        embedded = self.encoder.get_input_embeddings()(input_ids) + self.features(features)
        segments = {"token_type_ids": token_type_ids} if self.segments else {}
        mask = self.mask(attention_mask, elements)
        output = self.encoder(inputs_embeds=embedded, attention_mask=mask, **segments)
        logits = self.read(output, elements, present)
        if labels is None:
            return Answers(**logits)
        losses = map(cross_entropy, logits.values(), labels.unbind(1))
        return Answers(loss=torch.stack(list(losses)).sum(), **logits)


class ElementScorer(nn.Module):
    """Scores intents or values: max-pooling over their tokens, Linear, tanh, Linear."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.dense, self.score = nn.Linear(size, size), nn.Linear(size, 1)

    def forward(
        self, hidden: torch.Tensor, elements: torch.Tensor, present: torch.Tensor
    ) -> torch.Tensor:
        """Score the elements of each sequence, from vectors of tokens [sequences, tokens, hidden].

        Returns:
            Logits [sequences, elements]; -inf where a sequence has fewer elements than others.
        """
        # Row 0 collects the tokens outside elements, and is dropped. One scatter max-pools all
        # elements of the batch without a loop over them.
        index = elements.clamp(min=0).unsqueeze(-1).expand_as(hidden)
        lowest = torch.finfo(hidden.dtype).min
        pooled = hidden.new_full((len(hidden), present.shape[1] + 1, hidden.shape[-1]), lowest)
        pooled = pooled.scatter_reduce(1, index, hidden, "amax", include_self=False)[:, 1:]
        pooled = pooled.masked_fill(~present.unsqueeze(-1), 0.0)
        scores: torch.Tensor = self.score(torch.tanh(self.dense(pooled))).squeeze(-1)
        return scores.float().masked_fill(~present, -torch.inf)


class IntentModel(_SubModel):
    """Predicts the active intent of a frame: a softmax over the intents and ``NONE``.

    The label is the number of the intent, from 0.
    """

    config_class = IntentConfig

    def add_heads(self, size: int) -> None:
        """The scorer of intents."""
        self.scorer = ElementScorer(size)

    def read(self, output: Any, elements: Any, present: Any) -> dict[str, torch.Tensor]:
        """A logit for each intent."""
        hidden = self.dropout(output.last_hidden_state)
        return {"logits": self.scorer(hidden, elements, present)}


class CombineModel(_SubModel):
    """Predicts for a slot its span in the turn, its value, and whether it is requested.

    The labels are the first and the last token of the span, the number of the value (0 no value, 1
    dontcare, 2 and up the possible values), and 1 if the slot is requested, else 0.
    """

    config_class = CombineConfig

    def add_heads(self, size: int) -> None:
        """The heads of spans and requests, and the scorer of values."""
        self.span, self.requested = nn.Linear(size, 2), nn.Linear(size, 2)
        self.scorer = ElementScorer(size)

    def read(self, output: Any, elements: Any, present: Any) -> dict[str, torch.Tensor]:
        """Logits of start, end, value and request."""
        hidden = self.dropout(output.last_hidden_state)
        # A softmax over the tokens that a span may contain, which are marked with -1.
        spans = self.span(hidden).float().masked_fill((elements != -1).unsqueeze(-1), -torch.inf)
        return {
            "start": spans[..., 0],
            "end": spans[..., 1],
            "logits": self.scorer(hidden, elements, present),
            "requested": self.requested(hidden[:, 0]).float(),
        }


class CopyModel(_SubModel):
    """Predicts whether a known value is copied into a slot: two classes, from ``[CLS]``.

    The pretrained pooler (a linear layer and tanh) reads ``[CLS]`` first, as in BERT's own
    classifiers; of an encoder without a pooler the vector of ``[CLS]`` is classified. The label is
    1 if the value is copied, else 0.
    """

    config_class = CopyConfig
    pools = True

    def add_heads(self, size: int) -> None:
        """The classifier."""
        self.classifier = nn.Linear(size, 2)

    def mask(self, attention_mask: torch.Tensor, elements: Any) -> torch.Tensor:
        """All tokens attend to each other."""
        if attention_mask.device.type == "xla":  # about which transformers asks it nothing
            return (1.0 - attention_mask[:, None, None].float()) * -1e9
        return attention_mask

    def read(self, output: Any, elements: Any, present: Any) -> dict[str, torch.Tensor]:
        """The logits of no and yes."""
        pooled = getattr(output, "pooler_output", None)
        first = output.last_hidden_state[:, 0] if pooled is None else pooled
        return {"logits": self.classifier(self.dropout(first)).float()}


for _model in (IntentModel, CombineModel, CopyModel):
    _model.config_class.register_for_auto_class()  # type: ignore[no-untyped-call]
    _model.register_for_auto_class("AutoModel")  # type: ignore[no-untyped-call]
