"""The model: an encoder, and heads that read the elements of the schema and the user's tokens.

This file is copied into the folder of each model so that ``AutoModel`` can load it. Therefore it
imports nothing of this project.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    scaled_dot_product_attention,
)
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder, MPNetSelfAttention
from transformers.utils.generic import ModelOutput

KEEP, SAY, DONTCARE, GIVEN, FROM = range(5)  # the statuses of a slot
STATUSES = 5
WIDTH = 12  # maximum number of tokens of a span
LOWEST = -1e4  # logit of an impossible class; finite, so that no gradient is NaN
Tensors = dict[str, torch.Tensor]


class OnePassConfig(PreTrainedConfig):
    """Configuration of ``OnePassModel``.

    Attributes:
        encoder: Configuration of the encoder, as its ``to_dict`` gives it.
        dropout: Probability of dropout on the encoder's outputs, in [0, 1].
        pointer: Size of the vectors by which slots point at tokens and at values of other services.
        keep_bias: Added to the logit of keeping a slot as it is; chosen on dev.
        text_keep_bias: The same at turns at which the system's dialogue acts are not read.
    """

    model_type = "onepass"

    def __init__(
        self,
        encoder: dict[str, Any] | None = None,
        dropout: float = 0.1,
        pointer: int = 128,
        keep_bias: float = 0.0,
        text_keep_bias: float = 0.0,
        **kwargs: Any,
    ):
        self.encoder = encoder or {"model_type": "bert"}
        self.dropout = dropout
        self.pointer = pointer
        self.keep_bias = keep_bias
        self.text_keep_bias = text_keep_bias
        super().__init__(**kwargs)


class Logits(NamedTuple):
    """The logits of all heads; those of impossible classes are -1e4.

    Attributes:
        intent: Logits of intents [frames, intents].
        requested: Logits of slots [slots].
        status: Logits of the statuses of slots [slots, 5].
        span: Log-probabilities of spans by first token and further ones [slots, text, 12].
        value: Log-probabilities of the possible values of slots [slots, values].
        known: Log-probabilities of the values of other services [slots, known].
    """

    intent: torch.Tensor
    requested: torch.Tensor
    status: torch.Tensor
    span: torch.Tensor
    value: torch.Tensor
    known: torch.Tensor


@dataclass
class OnePassOutput(ModelOutput):
    """Output of ``OnePassModel``.

    Attributes:
        loss: The loss, a scalar; None without labels.
        losses: The three terms of the loss, summed over the batch; None without labels.
        logits: What the heads compute, by the names of ``Logits``.
    """

    loss: torch.Tensor | None = None
    losses: Tensors | None = None
    logits: Tensors | None = None


def first_position(encoder: Any) -> int:
    """The position of the first token: RoBERTa and its like count from the padding on."""
    padding = getattr(getattr(encoder, "embeddings", None), "padding_idx", None)
    return 0 if padding is None else int(padding) + 1


class FusedMPNetAttention(MPNetSelfAttention):
    """MPNet's attention in one operation of torch, where transformers has five."""

    def forward(  # type: ignore[override]
        self, hidden_states: torch.Tensor, bias: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor]:
        """Vectors of tokens [frames, tokens, hidden] from such ones and what is added to scores."""
        query, key, value = (
            projected(hidden_states).unflatten(-1, (self.num_attention_heads, -1)).transpose(1, 2)
            for projected in (self.q, self.k, self.v)
        )
        dropout = self.dropout.p if self.training else 0.0
        mixed = scaled_dot_product_attention(query, key, value, bias, dropout)
        return (self.o(mixed.transpose(1, 2).flatten(2)),)


class FusedMPNetEncoder(MPNetEncoder):
    """MPNet's layers, to whose scores one sum of position bias and mask is added."""

    # cuDNN's kernel is not among them: it computes no gradient of the bias.
    KERNELS = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH)

    def forward(  # type: ignore[override]
        self, hidden_states: torch.Tensor, attention_mask: torch.Tensor | None = None, **_: Any
    ) -> BaseModelOutput:
        """The last vectors of tokens [frames, tokens, hidden]; the mask is added to scores."""
        compute: Any = self.compute_position_bias
        bias: torch.Tensor = compute(hidden_states[:1])
        if attention_mask is not None:
            bias = bias + attention_mask
        device = hidden_states.device.type
        in_autocast = torch.is_autocast_enabled(device)
        # Once, in the type and with the rows that the kernels want, which would else copy it for
        # each layer.
        bias = bias.to(torch.get_autocast_dtype(device) if in_autocast else hidden_states.dtype)
        tokens = bias.shape[-1]
        bias = nn.functional.pad(bias, (0, -tokens % 16))[..., :tokens]
        with sdpa_kernel([*self.KERNELS]):
            for layer in self.layer:
                hidden_states = layer(hidden_states, bias)[0]
        return BaseModelOutput(last_hidden_state=hidden_states)


def fuse_attention(model: nn.Module) -> None:
    """Make an MPNet in a model compute its attention in one operation; others do so already."""
    for module in model.modules():
        if type(module) is MPNetSelfAttention:
            module.__class__ = FusedMPNetAttention
        elif type(module) is MPNetEncoder:
            module.__class__ = FusedMPNetEncoder


class Scorer(nn.Sequential):
    """A layer, GELU and a linear layer that gives logits."""

    def __init__(self, size: int, classes: int) -> None:
        super().__init__(nn.Linear(size, size), nn.GELU(), nn.Linear(size, classes))


class OnePassModel(PreTrainedModel):
    """Encodes a frame once and classifies every slot, value and intent from its own tokens.

    A batch has these tensors; ranges are tokens [begin, end), and all numbers are 0 in padding.
        input_ids, attention_mask, token_type_ids: As of the encoder [frames, tokens].
        positions: Position of each token [frames, tokens].
        blocks: 0 for the dialogue and the service, n for the n-th element of the schema, -n for the
            n-th value of another service [frames, tokens].
        intents: Ranges of intents [frames, intents, 2].
        slots: Ranges of slots [slots, 2].
        frame: Index of the frame of each slot [slots].
        status_mask: True for the statuses that a slot may have [slots, 5].
        values: Ranges of possible values [slots, values, 2].
        known: Ranges of values of other services [frames, known, 2].
        copy_mask: True for the values of other services that a slot may take [slots, known].
        text: Tokens that may be part of a value [frames, text].
        utterance: Number of the utterance of each such token from 1, 0 in padding [frames, text].

    In training it also has these labels.
        intent_label: Index of the intent [frames]; -100 for none.
        requested_label: 1.0 if the slot is requested, else 0.0, and -1.0 to leave it out [slots].
        scored: True for the slots that are tracked and have a right path [slots].
        status_label: True for ``KEEP``, ``DONTCARE`` and ``GIVEN`` where they are right [slots, 5].
        span_label: Right spans as indices of [text, 12]; -1 in padding [slots, spans].
        value_label: True for right possible values [slots, values].
        known_label: True for right values of other services [slots, known].
        frames: Number of frames, where others fill the batch up.
    """

    config_class = OnePassConfig
    base_model_prefix = "encoder"
    supports_gradient_checkpointing = True
    _supports_sdpa = True

    def __init__(self, config: OnePassConfig) -> None:
        super().__init__(config)
        make: Any = AutoModel.from_config
        self.use_encoder(make(AutoConfig.for_model(**config.encoder)))
        size = self.encoder.config.hidden_size
        self.dropout = nn.Dropout(config.dropout)
        self.status = Scorer(size, STATUSES)
        self.value = Scorer(size, 1)
        self.intent = Scorer(size, 1)
        self.requested = nn.Linear(size, 1)
        self.from_slot = nn.Linear(size, 3 * config.pointer)
        self.to_first = nn.Linear(size, config.pointer)
        self.to_last = nn.Linear(size, config.pointer)
        self.to_known = nn.Linear(size, config.pointer)
        self.post_init()  # type: ignore[no-untyped-call]

    def reset_heads(self) -> None:
        """Initialise the heads anew, with larger weights than encoders have, to learn faster."""
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear) and not name.startswith("encoder."):
                nn.init.xavier_uniform_(module.weight)

    def use_encoder(self, encoder: Any) -> None:
        """Use an encoder, without its pooler, which no loss would train."""
        if getattr(encoder, "pooler", None) is not None:
            encoder.pooler = None
        fuse_attention(encoder)
        self.encoder: Any = encoder
        self.segments = getattr(encoder.config, "type_vocab_size", 0) > 1
        self.first_position = first_position(encoder)

    def forward(self, **batch: torch.Tensor) -> OnePassOutput:
        """Compute the logits of a batch, and the loss if it has labels."""
        logits = self.compute_logits(batch)
        if "intent_label" not in batch:
            return OnePassOutput(logits=logits._asdict())
        terms = losses(logits, batch)
        loss = torch.stack(list(terms.values())).sum() / batch.get(
            "frames", len(batch["input_ids"])
        )
        return OnePassOutput(loss=loss, losses=terms, logits=logits._asdict())

    def compute_logits(self, batch: Tensors) -> Logits:
        """Compute the logits of a batch."""
        hidden = self.dropout(self.encode(batch)).float()
        with torch.autocast(hidden.device.type, enabled=False):  # the heads are small
            return self.run_heads(hidden, batch)

    def encode(self, batch: Tensors) -> torch.Tensor:
        """The vectors of tokens [frames, tokens, hidden]."""
        mask = block_attention_mask(batch["blocks"], batch["attention_mask"])
        if self.encoder.config._attn_implementation != "sdpa":  # others add it to the scores
            mask = torch.zeros_like(mask, dtype=self.encoder.dtype).masked_fill(~mask, -1e9)
        inputs = {"position_ids": batch["positions"] + self.first_position}
        if self.segments:
            inputs["token_type_ids"] = batch["token_type_ids"]
        output: torch.Tensor
        if self.config.encoder["model_type"] in ("deberta", "deberta-v2"):
            # As a whole, DeBERTa takes only masks that are the same for all tokens.
            tokens = self.encoder.embeddings(
                batch["input_ids"], mask=batch["attention_mask"], **inputs
            )
            output = self.encoder.encoder(tokens, mask[:, 0]).last_hidden_state
        else:
            output = self.encoder(
                input_ids=batch["input_ids"], attention_mask=mask, **inputs
            ).last_hidden_state
        return output

    def run_heads(self, hidden: torch.Tensor, batch: Tensors) -> Logits:
        """Compute the logits of all heads.

        Args:
            hidden: Vectors of the tokens [frames, tokens, hidden].
            batch: Tensors of the batch.
        """
        # Prefix sums: the sum over any range of tokens is the difference of two of them.
        sums = nn.functional.pad(hidden.cumsum(1), (0, 0, 1, 0))
        frame = batch["frame"]
        rows = torch.arange(len(hidden), device=hidden.device)
        intents = pool_ranges(hidden, sums, rows[:, None], batch["intents"])
        slots = pool_ranges(hidden, sums, frame, batch["slots"])
        values = pool_ranges(hidden, sums, frame[:, None], batch["values"])
        others = pool_ranges(hidden, sums, rows[:, None], batch["known"])
        text = hidden[rows[:, None], batch["text"]]
        # Slots point at first tokens, last tokens and other services' values by dot products.
        first, last, other = self.from_slot(slots).div(sqrt(self.config.pointer)).chunk(3, -1)
        starts = torch.einsum("sp,stp->st", first, self.to_first(text)[frame])
        ends = torch.einsum("sp,stp->st", last, self.to_last(text)[frame])
        points = torch.einsum("sp,skp->sk", other, self.to_known(others)[frame])
        return Logits(
            intent=_masked(self.intent(intents)[..., 0], _present(batch["intents"])),
            requested=self.requested(slots)[..., 0],
            status=_masked(self.status(slots), batch["status_mask"]),
            span=spans(starts, ends, batch["utterance"][frame]),
            value=_masked(self.value(values)[..., 0], _present(batch["values"])).log_softmax(-1),
            known=_masked(points, batch["copy_mask"]).log_softmax(-1),
        )


def block_attention_mask(blocks: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Which tokens attend to which: True at [frames, 1, from, to].

    Tokens of the dialogue attend to all tokens. Tokens of an element attend to the dialogue, to the
    values of other services and to the element. So an element's vectors depend on the other
    elements only by way of the dialogue.

    Args:
        blocks: The block of each token, as at ``OnePassModel`` [frames, tokens].
        mask: 1 for tokens, 0 for padding [frames, tokens].
    """
    query, key = blocks[:, None, :, None], blocks[:, None, None, :]
    return ((query == 0) | (key <= 0) | (query == key)) & (mask[:, None, None, :] > 0)


def pool_ranges(
    hidden: torch.Tensor, sums: torch.Tensor, rows: torch.Tensor, ranges: torch.Tensor
) -> torch.Tensor:
    """The vector of each range of tokens: that of its marker plus the mean of all its tokens.

    Args:
        hidden: Vectors of the tokens [frames, tokens, hidden].
        sums: Sum of the vectors before each token [frames, tokens + 1, hidden].
        rows: Frame of each range; must broadcast with ``ranges``.
        ranges: Tokens [begin, end) of each range [..., 2].

    Returns:
        Vectors [..., hidden]; meaningless for empty ranges.
    """
    begin, end = ranges.unbind(-1)
    rows = rows.expand_as(begin)
    mean = (sums[rows, end] - sums[rows, begin]) / (end - begin).clamp(min=1)[..., None]
    return hidden[rows, begin] + mean


def spans(starts: torch.Tensor, ends: torch.Tensor, utterance: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of all spans of up to 12 tokens within an utterance.

    Args:
        starts: Logits of first tokens [slots, text].
        ends: Logits of last tokens [slots, text].
        utterance: Number of each token's utterance from 1, 0 in padding [slots, text].

    Returns:
        Log-probabilities by first token and number of further tokens [slots, text, 12].
    """
    ends, last = windows(ends), windows(utterance)
    possible = (last == utterance[..., None]) & (utterance[..., None] > 0)
    scores = _masked(starts[..., None] + ends, possible)
    # One softmax over all spans of a slot, not one for each first token.
    return scores.flatten(1).log_softmax(-1).view_as(scores)


def windows(rows: torch.Tensor) -> torch.Tensor:
    """The 12 tokens from each token on, in padding 0 [slots, text, 12]."""
    text = rows.shape[1]
    rows = nn.functional.pad(rows, (0, WIDTH - 1))
    if rows.device.type == "xla":  # which does not know unfold: its programs would end there
        return torch.stack([rows[:, first : first + text] for first in range(WIDTH)], -1)
    return rows.unfold(1, WIDTH, 1)


def _present(ranges: torch.Tensor) -> torch.Tensor:
    return ranges[..., 1] > 0


def _masked(logits: torch.Tensor, possible: torch.Tensor) -> torch.Tensor:
    return logits.masked_fill(~possible, LOWEST)


def losses(logits: Logits, labels: Tensors) -> Tensors:
    """The terms of the loss, summed over the batch: ``slots``, ``intent`` and ``requested``.

    The first is the negative logarithm of the probability of the joint goal: minus the sum over
    slots of log(sum over its right paths of p(status) p(candidate)).
    """
    status = logits.status.log_softmax(-1)
    span = logits.span.flatten(1).gather(1, labels["span_label"].clamp(min=0))
    # Log-probabilities of right candidates; the lowest logit stands where there is none. A slot has
    # either spans or possible values, so both share the status ``SAY``.
    say = torch.cat(
        [
            span.masked_fill(labels["span_label"] < 0, LOWEST),
            logits.value.masked_fill(~labels["value_label"], LOWEST),
        ],
        1,
    )
    copied = logits.known.masked_fill(~labels["known_label"], LOWEST)
    paths = torch.cat(
        [
            status.masked_fill(~labels["status_label"], LOWEST),
            status[:, SAY, None] + say,
            status[:, FROM, None] + copied,
        ],
        1,
    )
    # Summing probabilities of paths is a logsumexp of their logarithms.
    right = paths.logsumexp(1).masked_fill(~labels["scored"], 0.0)
    asked = labels["requested_label"]
    requested = binary_cross_entropy_with_logits(
        logits.requested, asked.clamp(min=0), reduction="none"
    )
    requested = requested.masked_fill(asked < 0, 0.0).sum()
    intent = cross_entropy(logits.intent, labels["intent_label"], reduction="sum")
    return {"slots": -right.sum(), "intent": 0.5 * intent, "requested": 0.5 * requested}


OnePassConfig.register_for_auto_class()  # type: ignore[no-untyped-call]
OnePassModel.register_for_auto_class("AutoModel")  # type: ignore[no-untyped-call]
