"""The settings of recipes of the SGD baseline, and the options of prediction with it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..system import BatchOptions, BatchSize, ChunkSize, TokenBudget
from ..training.settings import Count, EpochSettings, Fraction


class SgdSettings(EpochSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes of the SGD baseline have besides; examples are user turns."""

    max_turn: Annotated[int, msgspec.Meta(ge=16)] = 80  # most tokens of both utterances together
    dropout: Fraction = 0.1  # on the outputs of the turn encoder
    prediction_turns: Count = 128  # most in a batch when dev is predicted

    def __post_init__(self) -> None:
        if self.static_shapes:
            raise ValueError("static_shapes: services differ in size, expected false")


class SgdOptions(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with the SGD baseline; batches and chunks consist of turns."""

    batch_size: BatchSize = 128
    token_budget: TokenBudget = 8192
    chunk_size: ChunkSize = 256  # a kill on CPUs costs seconds
    cache: Annotated[
        str | None,
        msgspec.Meta(
            description="Keep schema embeddings in this folder. Default: a folder in the Hugging "
            "Face home."
        ),
    ] = None
