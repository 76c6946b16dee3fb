"""What a recipe and a prediction of the SGD baseline can be told, and what its model says."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..settings import (
    BatchOptions,
    EpochSettings,
    Fraction,
    Provenance,
)


class Settings(EpochSettings, frozen=True, kw_only=True):
    """The settings that recipes of sgd_baseline have besides; examples are user turns."""

    max_turn: Annotated[int, msgspec.Meta(ge=16)] = 80  # most tokens of both utterances together
    dropout: Fraction = 0.1  # on the outputs of the turn encoder


Options = BatchOptions  # batches consist of turns, chunks of dialogues


class Seen(Provenance, frozen=True, kw_only=True):
    """What a model was trained on, and how it reads; ``sgdx`` of its ``config.json``."""

    max_turn: int  # most tokens of a turn
