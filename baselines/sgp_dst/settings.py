"""What a recipe and a prediction of SGP-DST can be told, and what its submodels say."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

from ..settings import (
    BatchOptions,
    BatchSize,
    ChunkSize,
    Count,
    EncoderSettings,
    Fraction,
    Provenance,
    RecipePart,
    TokenBudget,
)

Part = Literal["intent", "combine", "copy", "cross"]
PARTS: tuple[Part, ...] = get_args(Part)


class PartSettings(RecipePart, frozen=True, kw_only=True):
    """Settings of one submodel of sgp_dst."""

    epochs: Count
    steps: Count | None = None  # most, if the epochs would take more
    warmup: Fraction  # of the steps, in which the learning rate rises
    max_tokens: Count  # of a sequence; of a longer turn the last are kept
    negatives: float = 0.0  # easy ones for each positive one, sampled in every epoch
    hard: Fraction = 1.0  # of the hard negative ones, sampled in every epoch
    system: Fraction = 1.0  # of the positive ones from system turns, which only ``combine`` has


class PartsSettings(RecipePart, frozen=True):
    """Settings of the four submodels of sgp_dst."""

    intent: PartSettings
    combine: PartSettings
    copy: PartSettings
    cross: PartSettings


class Settings(EncoderSettings, frozen=True, kw_only=True):
    """The settings that recipes of sgp_dst have besides the common ones."""

    TASKS: ClassVar[tuple[str, ...]] = PARTS

    # ``evaluate_frames`` is the number of examples that a submodel is evaluated on, and about that
    # of the frames that the whole tracker is evaluated on, in whole dialogues.
    parts: PartsSettings
    # The maximum for each submodel, as in its own settings.
    steps: Count | None = None  # type: ignore[assignment]  # no maximum but the epochs'


class Options(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with sgp_dst; batches consist of sequences, chunks of dialogues."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 4096  # larger batches hold more padding than they save time
    chunk_size: ChunkSize = 96  # a kill on CPUs costs about a minute


class Seen(Provenance, frozen=True, kw_only=True):
    """What a submodel was trained on, and how it reads; ``sgdx`` of its ``config.json``."""

    part: Part
    max_tokens: int  # of a sequence
