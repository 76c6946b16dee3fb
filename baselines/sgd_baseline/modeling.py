"""The model: an encoder for turns, a frozen encoder for schemas, six heads and seven losses.

This file is copied into the folder of each model so that ``AutoModel`` can load it. Therefore it
imports nothing of this project. Source: Rastogi et al. 2020 (arXiv 1909.05855).
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

IGNORED = -100  # a label that adds nothing to the loss
CLS = 0  # index of the token before the turn, where spans of values that the turn lacks point to
ENCODER_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
Tensors = dict[str, torch.Tensor]


class SgdBaselineConfig(PretrainedConfig):
    """Configuration of ``SgdBaselineModel``.

    Attributes:
        encoder: Configuration of the encoder, given as such or as a dictionary; default BERT-Base.
        dropout: Probability of dropout on the encoder's outputs, in [0, 1].
        initializer_range: Standard deviation of the initial weights outside the encoders.
    """

    model_type = "sgd_baseline"
    sub_configs = {"encoder": AutoConfig}  # noqa: RUF012  # this is how transformers declares it

    def __init__(
        self,
        encoder: PretrainedConfig | dict[str, Any] | None = None,
        dropout: float = 0.1,
        **kwargs: Any,
    ):
        if isinstance(encoder, dict):
            encoder = AutoConfig.for_model(**encoder)
        self.encoder = encoder or BertConfig()
        self.dropout = dropout
        self.initializer_range = getattr(self.encoder, "initializer_range", 0.02)
        super().__init__(**kwargs)


@dataclass
class SgdBaselineOutput(ModelOutput):
    """Output of ``SgdBaselineModel``.

    Attributes:
        loss: Mean of the seven losses, a scalar; None without labels.
        losses: The seven losses by name; None without labels.
        logits: Logits by the same names.
    """

    loss: torch.Tensor | None = None
    losses: Tensors | None = None
    logits: Tensors | None = None


class Head(nn.Module):
    """Computes logits for pairs of a text and a schema element: the paper's projection.

    The layers are GELU(Dense(text)), which is left out without ``dense``, concatenation with the
    element, GELU(Dense) and Dense(classes). A dense layer on a concatenation is the sum of two
    layers, one on texts and one on elements. So each text and each element goes through its layer
    only once, however many pairs it is in.
    """

    def __init__(self, hidden: int, classes: int, dense: bool = True) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden, hidden) if dense else None
        self.text = nn.Linear(hidden, hidden)
        self.element = nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, classes)

    def reset(self) -> None:
        """Initialise the weights as the released code does, with Keras' default: Glorot uniform."""
        # The initial weights that encoders use are at most half as large; with those, the status of
        # slots is learnt slowly.
        hidden = self.text.in_features
        bound = sqrt(6 / (2 * hidden + hidden))  # for the two halves of the middle layer as one
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
        """Compute the logits of pairs [pairs..., classes], of tokens [pairs..., tokens, classes].

        Args:
            texts: Vectors of texts [texts, hidden], or of their tokens [texts, tokens, hidden].
            elements: Vectors of schema elements [elements, hidden].
            text: Index of the text of each pair.
            element: Index of the element of each pair; must broadcast with ``text``.
        """
        if self.dense is not None:
            texts = gelu(self.dense(texts))
        middle = gelu(self.text(texts)[text] + self.element(elements)[element])
        logits: torch.Tensor = self.out(middle)
        return logits


class SgdBaselineModel(PreTrainedModel):
    """Encodes a turn once and predicts from it the elements of any number of schemas.

    A batch has the inputs of the turn encoder [turns, tokens] and the tensors below. They refer to
    a schema element by its index in ``elements`` plus 1; 0 is the intent NONE and -1 is padding.
        elements: Embeddings of schema elements [elements, hidden], made by ``embed``.
        turn: Index of the turn of each frame [frames].
        intents: 0 and the elements of the service's intents [frames, intents].
        categorical: Element of each categorical slot [categorical slots].
        categorical_frame: Index of the frame of each categorical slot [categorical slots].
        values: Elements of the slot's possible values [categorical slots, values].
        free: Element of each free-form slot [free-form slots].
        free_frame: Index of the frame of each free-form slot [free-form slots].
        span: Indices of the free-form slots whose span is predicted [spans].

    In training it also has these labels, where ``IGNORED`` adds nothing to the loss.
        intent_label: Index in ``intents`` [frames].
        requested_label: 1 if the slot is requested, else 0 [slots], categorical slots first.
        categorical_status_label: 0 unchanged, 1 dontcare, 2 active [categorical slots].
        value_label: Index in ``values`` [categorical slots].
        free_status_label: 0 unchanged, 1 dontcare, 2 active [free-form slots].
        start_label: First token of the span [spans]; ``CLS`` if the value is not in the turn.
        end_label: Last token of the span [spans]; ``CLS`` if the value is not in the turn.
    """

    config_class = SgdBaselineConfig
    base_model_prefix = "sgd_baseline"
    supports_gradient_checkpointing = True

    def __init__(self, config: SgdBaselineConfig) -> None:
        super().__init__(config)
        self.encoder = AutoModel.from_config(config.encoder)
        self.schema_encoder = AutoModel.from_config(config.encoder).requires_grad_(False)
        hidden = config.encoder.hidden_size
        self.dropout = nn.Dropout(config.dropout)
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
        """Embed sentence pairs: the vectors of the frozen encoder at ``[CLS]`` [pairs, hidden]."""
        self.schema_encoder.eval()
        states: torch.Tensor = self.schema_encoder(**_asked_nothing(inputs)).last_hidden_state
        return states[:, 0]

    def encode(self, **inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Encode turns; returns one vector each [turns, hidden], and [turns, tokens, hidden]."""
        output = self.encoder(**_asked_nothing(inputs))
        whole = getattr(output, "pooler_output", None)
        tokens: torch.Tensor = output.last_hidden_state
        return self.dropout(tokens[:, 0] if whole is None else whole), self.dropout(tokens)

    def run_heads(self, pooled: torch.Tensor, batch: Tensors) -> Tensors:
        """Compute the logits of all heads but that of spans, from vectors of turns.

        Returns:
            By name of the head: ``intent`` [frames, intents], ``requested`` [slots],
            ``categorical_status`` [categorical slots, 3], ``value`` [categorical slots, values],
            ``free_status`` [free-form slots, 3].
        """
        elements, turn = self._elements(batch), batch["turn"]
        categorical, free = turn[batch["categorical_frame"]], turn[batch["free_frame"]]
        pairs = {
            "intent": (turn[:, None], batch["intents"]),
            "requested": (
                torch.cat([categorical, free]),
                torch.cat([batch["categorical"], batch["free"]]),
            ),
            "categorical_status": (categorical, batch["categorical"]),
            "value": (categorical[:, None], batch["values"]),
            "free_status": (free, batch["free"]),
        }
        logits = {
            name: self.heads[name](pooled, elements, text, element)
            for name, (text, element) in pairs.items()
        }
        logits["requested"] = logits["requested"][..., 0]
        for name in ("intent", "value"):  # these choose among elements, of which some are padding
            logits[name] = _masked(logits[name][..., 0], pairs[name][1] >= 0)
        return logits

    def spans(self, tokens: torch.Tensor, mask: torch.Tensor, batch: Tensors) -> Tensors:
        """Logits of the first and the last token of values, ``start`` and ``end`` [spans, tokens].

        They are of the vectors of each turn's tokens [turns, tokens, hidden], where a mask is 1.
        """
        # The turn of each span, by way of its free-form slot and that slot's frame.
        turn = batch["turn"][batch["free_frame"][batch["span"]]]
        element = batch["free"][batch["span"]][:, None]
        logits = self.heads["span"](tokens, self._elements(batch), turn, element)
        start, end = _masked(logits, mask[turn][..., None] > 0).unbind(-1)
        return {"start": start, "end": end}

    def forward(self, **batch: torch.Tensor) -> SgdBaselineOutput:
        """Compute the logits of a batch, and the losses if it has labels."""
        inputs = {name: batch[name] for name in ENCODER_INPUTS if name in batch}
        pooled, tokens = self.encode(**inputs)
        logits = self.run_heads(pooled, batch)
        logits |= self.spans(tokens, batch["attention_mask"], batch)
        if "intent_label" not in batch:
            return SgdBaselineOutput(logits=logits)
        losses = {name: _loss(of, batch[f"{name}_label"]) for name, of in logits.items()}
        loss = torch.stack(list(losses.values())).mean()
        return SgdBaselineOutput(loss=loss, losses=losses, logits=logits)

    def _elements(self, batch: Tensors) -> torch.Tensor:
        return torch.cat([self.none[None], batch["elements"].to(self.none.dtype)])


def _asked_nothing(inputs: Tensors) -> Tensors:
    """The inputs of an encoder, on XLA with a mask about which transformers asks it nothing."""
    mask = inputs.get("attention_mask")
    if mask is None or mask.device.type != "xla":
        return inputs
    return inputs | {"attention_mask": (1.0 - mask[:, None, None].float()) * -1e9}


def _loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The mean loss of classes [n, classes], or of yes-or-no questions [n]; 0 without labels."""
    learnt = labels != IGNORED
    if logits.dim() == 1:
        yes = labels.clamp(min=0).to(logits.dtype)
        losses = binary_cross_entropy_with_logits(logits, yes, reduction="none")
    else:
        losses = cross_entropy(logits, labels, ignore_index=IGNORED, reduction="none")
    # Filled, not multiplied by 0: ignored losses may be infinite, and 0 * inf is NaN.
    return losses.masked_fill(~learnt, 0.0).sum() / learnt.sum().clamp(min=1)


def _masked(logits: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
    return logits.masked_fill(~valid, torch.finfo(logits.dtype).min)


SgdBaselineConfig.register_for_auto_class()  # type: ignore[no-untyped-call]
SgdBaselineModel.register_for_auto_class("AutoModel")  # type: ignore[no-untyped-call]
