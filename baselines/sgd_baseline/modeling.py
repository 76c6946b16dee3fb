"""The model: a turn's encoder, the frozen encoder of schemas, six heads and seven losses.

Imports nothing of the project, as the Hub keeps this file beside the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, gelu
from transformers import AutoConfig, AutoModel, BertConfig, PretrainedConfig, PreTrainedModel
from transformers.utils.generic import ModelOutput

IGNORED = -100  # a label that is masked
Tensors = dict[str, torch.Tensor]


class SgdBaselineConfig(PretrainedConfig):
    """Configuration of ``SgdBaselineModel``.

    encoder: The configuration of the encoder, or what its ``to_dict`` gives; BERT-Base by default.
    """

    model_type = "sgd_baseline"
    sub_configs = {"encoder": AutoConfig}  # noqa: RUF012  # transformers' own way to say it

    def __init__(self, encoder: PretrainedConfig | dict[str, Any] | None = None, **kwargs: Any):
        if isinstance(encoder, dict):
            encoder = AutoConfig.for_model(**encoder)
        self.encoder = encoder or BertConfig()
        self.initializer_range = getattr(self.encoder, "initializer_range", 0.02)  # of the heads
        super().__init__(**kwargs)


@dataclass
class SgdBaselineOutput(ModelOutput):
    """Logits by head, and where labels were given each head's loss and the mean of the seven."""

    loss: torch.Tensor | None = None
    losses: Tensors | None = None
    logits: Tensors | None = None


class Head(nn.Module):
    """Logits of pairs of a text and a schema element.

    GELU-Dense(text) ++ element -> GELU-Dense -> Dense(classes). The middle layer reads a
    concatenation, so it is the sum of a layer over texts and one over elements: either is computed
    once, in however many pairs it stands.
    """

    def __init__(self, hidden: int, classes: int, dense: bool = True) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden, hidden) if dense else None
        self.text = nn.Linear(hidden, hidden)
        self.element = nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, classes)

    def reset(self) -> None:
        """Begin as Keras' dense layers do, whose default the released code leaves: Glorot, uniform.

        An encoder's own range is half of that or less, and statuses are then slow to be learnt.
        """
        hidden = self.text.in_features
        bound = sqrt(6 / (2 * hidden + hidden))  # of the middle layer as the one that it is
        for half in (self.text, self.element):
            nn.init.uniform_(half.weight, -bound, bound)
        for whole in (self.dense, self.out):
            if whole is not None:
                nn.init.xavier_uniform_(whole.weight)

    def forward(
        self,
        texts: torch.Tensor,
        elements: torch.Tensor,
        text: torch.Tensor,
        element: torch.Tensor,
    ) -> torch.Tensor:
        """Logits [pairs..., classes].

        Args:
            texts: [texts, hidden], or [texts, tokens, hidden] for a logit per token.
            elements: [elements, hidden].
            text, element: The places of each pair's two; of shapes that broadcast with each other.
        """
        if self.dense is not None:
            texts = gelu(self.dense(texts))
        logits: torch.Tensor = self.out(
            gelu(self.text(texts)[text] + self.element(elements)[element])
        )
        return logits


class SgdBaselineModel(PreTrainedModel):
    """Reads a turn once and judges any schema's elements by it.

    The tensors of a batch, besides the turn encoder's inputs [turns, tokens]; an element is a place
    in ``elements`` plus 1, as 0 is the intent NONE; -1 pads.

    elements [elements, hidden]: embeddings of schema elements, from ``embed``.
    turn [frames]: each frame's turn. intents [frames, intents]: 0 and the service's intents.
    categorical, categorical_frame [slots]: a categorical slot's element, its frame; values [slots,
    values]: the elements of its values. free, free_frame [slots]: the same of the other slots.
    span [spans]: the places among the free slots that spans are asked for.

    Labels, where ``IGNORED`` masks: intent_label [frames]; requested_label [slots], the categorical
    ones first; categorical_status_label, free_status_label [slots]: 0 unchanged, 1 dontcare,
    2 active; value_label [categorical slots]; start_label, end_label [spans], in tokens.
    """

    config_class = SgdBaselineConfig
    base_model_prefix = "sgd_baseline"
    supports_gradient_checkpointing = True

    def __init__(self, config: SgdBaselineConfig) -> None:
        super().__init__(config)
        self.encoder = AutoModel.from_config(config.encoder)
        self.schema_encoder = AutoModel.from_config(config.encoder).requires_grad_(False)
        hidden = config.encoder.hidden_size
        self.none = nn.Parameter(torch.empty(hidden))
        self.heads = nn.ModuleDict(
            {
                "intent": Head(hidden, 1),
                "requested": Head(hidden, 1),
                "categorical_status": Head(hidden, 3),
                "value": Head(hidden, 1),
                "free_status": Head(hidden, 3),
                "span": Head(hidden, 2, dense=False),
            }
        )
        self.post_init()  # type: ignore[no-untyped-call]

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)  # type: ignore[no-untyped-call]
        if module is self:
            nn.init.normal_(self.none, std=self.config.initializer_range)

    @torch.no_grad()
    def embed(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Embeddings [texts, hidden] of sentence pairs: the frozen encoder's ``[CLS]``."""
        self.schema_encoder.eval()
        embeddings: torch.Tensor = self.schema_encoder(**inputs).last_hidden_state[:, 0]
        return embeddings

    def encode(self, **inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What is said in turns: [turns, hidden] in all, and [turns, tokens, hidden]."""
        output = self.encoder(**inputs)
        whole = getattr(output, "pooler_output", None)
        tokens: torch.Tensor = output.last_hidden_state
        return tokens[:, 0] if whole is None else whole, tokens

    def judge(self, pooled: torch.Tensor, batch: Tensors) -> Tensors:
        """Logits by head, all but the spans', from turns in all [turns, hidden]."""
        elements = self._elements(batch)
        turn = batch["turn"]
        asked = {
            "intent": (turn[:, None], batch["intents"]),
            "requested": (
                turn[torch.cat([batch["categorical_frame"], batch["free_frame"]])],
                torch.cat([batch["categorical"], batch["free"]]),
            ),
            "categorical_status": (turn[batch["categorical_frame"]], batch["categorical"]),
            "value": (turn[batch["categorical_frame"]][:, None], batch["values"]),
            "free_status": (turn[batch["free_frame"]], batch["free"]),
        }
        logits = {
            name: self.heads[name](pooled, elements, text, element)
            for name, (text, element) in asked.items()
        }
        logits["requested"] = logits["requested"][..., 0]
        for name in ("intent", "value"):  # a choice among elements
            logits[name] = _masked(logits[name][..., 0], asked[name][1] >= 0)
        return logits

    def spans(self, tokens: torch.Tensor, mask: torch.Tensor, batch: Tensors) -> Tensors:
        """Logits [spans, tokens] of where a value starts and where it ends."""
        turn = batch["turn"][batch["free_frame"][batch["span"]]]
        element = batch["free"][batch["span"]][:, None]
        logits = self.heads["span"](tokens, self._elements(batch), turn, element)
        start, end = _masked(logits, mask[turn][..., None] > 0).unbind(-1)
        return {"start": start, "end": end}

    def forward(self, **batch: torch.Tensor) -> SgdBaselineOutput:
        """Logits of a batch, and the loss where there are labels."""
        inputs = {name: batch[name] for name in ENCODER_INPUTS if name in batch}
        pooled, tokens = self.encode(**inputs)
        logits = self.judge(pooled, batch)
        logits |= self.spans(tokens, batch["attention_mask"], batch)
        if "intent_label" not in batch:
            return SgdBaselineOutput(logits=logits)
        losses = losses_of(logits, batch)
        loss = torch.stack(list(losses.values())).mean()
        return SgdBaselineOutput(loss=loss, losses=losses, logits=logits)

    def _elements(self, batch: Tensors) -> torch.Tensor:
        return torch.cat([self.none[None], batch["elements"].to(self.none.dtype)])


ENCODER_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def losses_of(logits: Tensors, labels: Tensors) -> Tensors:
    """The seven losses, each the mean over the labels that are not masked; 0 where all are."""
    return {name: _loss(each, labels[f"{name}_label"]) for name, each in logits.items()}


def _loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy: of classes [n, classes], or of yes or no [n]."""
    kept = labels != IGNORED
    if logits.dim() == 1:
        yes = labels.clamp(min=0).to(logits.dtype)
        each = binary_cross_entropy_with_logits(logits, yes, reduction="none")
    else:
        each = cross_entropy(logits, labels, ignore_index=IGNORED, reduction="none")
    # Not a product: what is masked may be infinite.
    return each.masked_fill(~kept, 0.0).sum() / kept.sum().clamp(min=1)


def _masked(logits: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    return logits.masked_fill(~kept, torch.finfo(logits.dtype).min)


SgdBaselineConfig.register_for_auto_class()  # type: ignore[no-untyped-call]
SgdBaselineModel.register_for_auto_class("AutoModel")  # type: ignore[no-untyped-call]
