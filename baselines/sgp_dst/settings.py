"""The settings of recipes of SGP-DST, and the options of prediction with it."""

from __future__ import annotations

import msgspec

from ..system import BatchOptions, BatchSize, DialogueChunkSize, TokenBudget
from ..training.settings import Count, EncoderSettings, Fraction


class PartSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of one submodel."""

    epochs: Count
    steps: Count | None = None  # most, if the epochs would take more
    warmup: Fraction  # of the steps, in which the learning rate rises
    max_tokens: Count  # of a sequence; of a longer turn the last are kept
    negatives: float = 0.0  # easy ones for each positive one, sampled in every epoch
    hard: Fraction = 1.0  # of the hard negative ones, sampled in every epoch
    system: Fraction = 1.0  # of the positive ones from system turns, which only ``combine`` has


class PartsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of the four submodels."""

    intent: PartSettings
    combine: PartSettings
    copy: PartSettings
    cross: PartSettings


class SgpSettings(EncoderSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes of SGP-DST have besides the common ones."""

    # ``evaluate_frames`` is the number of examples that a submodel is evaluated on, and about that
    # of the frames that the whole tracker is evaluated on, in whole dialogues.
    parts: PartsSettings
    # The maximum for each submodel, as in its own settings.
    steps: Count | None = None  # type: ignore[assignment]  # no maximum but the epochs'


class SgpOptions(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with SGP-DST; batches consist of sequences, chunks of dialogues."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 4096  # larger batches hold more padding than they save time
    chunk_size: DialogueChunkSize = 96  # a kill on CPUs costs about a minute
