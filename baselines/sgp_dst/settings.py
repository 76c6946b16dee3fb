"""The settings of recipes of SGP-DST, and the options of prediction with it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..system import BatchOptions, BatchSize, TokenBudget
from ..training.settings import Count, EncoderSettings, Fraction


class PartSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of one submodel.

    Attributes:
        epochs: Number of epochs, which determines the number of steps.
        steps: Maximum number of steps, if its epochs would take more; None for no maximum.
        warmup: Fraction of the steps in which the learning rate rises, in [0, 1].
        max_tokens: Maximum number of tokens of a sequence; of a longer turn the last are kept.
        negatives: Number of easy negative examples for each positive one, sampled in every epoch.
        hard: Fraction of the hard negative examples, sampled in every epoch, in [0, 1].
        system: Fraction of the positive examples from system turns, sampled in every epoch, in
            [0, 1]; only ``combine`` has some.
    """

    epochs: Count
    steps: Count | None = None
    warmup: Fraction
    max_tokens: Count
    negatives: float = 0.0
    hard: Fraction = 1.0
    system: Fraction = 1.0


class PartsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of the four submodels."""

    intent: PartSettings
    combine: PartSettings
    copy: PartSettings
    cross: PartSettings


class SgpSettings(EncoderSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes of SGP-DST have besides the common ones.

    ``evaluate_frames`` is the number of examples that a submodel is evaluated on, and the
    approximate number of frames that the whole tracker is evaluated on, in whole dialogues.

    Attributes:
        parts: Settings of the four submodels.
        steps: Maximum number of steps of each submodel, as in its own settings.
        expected: The expected result and its source, for the reader of the recipe.
    """

    parts: PartsSettings
    steps: Count | None = None  # type: ignore[assignment]  # no maximum but the epochs'
    expected: str


class SgpOptions(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with SGP-DST; batches consist of sequences, chunks of dialogues."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 4096  # larger batches hold more padding than they save time
    chunk_size: Annotated[
        Count,
        msgspec.Meta(
            description="Save the results of this number of dialogues together. A killed "
            "prediction continues from there."
        ),
    ] = 96  # a kill on CPUs costs about a minute
