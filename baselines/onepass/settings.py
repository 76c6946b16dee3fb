"""What a recipe and a prediction of onepass can be told, and what its model says of itself."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from ..settings import (
    BatchOptions,
    BatchSize,
    ChunkSize,
    Count,
    EpochSettings,
    Fraction,
    Provenance,
    TokenBudget,
    option,
)

Acts = bool | Literal["sometimes"]


class Settings(EpochSettings, frozen=True, kw_only=True):
    """The settings that recipes of onepass have besides; examples are frames."""

    # Whether the system's dialogue acts are read. With ``sometimes`` a third of the train dialogues
    # has none; the model then serves dialogues with acts and dialogues of text alone.
    acts: Acts = True
    # Most that are read, the user's last one included. With ``acts: sometimes`` it holds where
    # there are acts; four are read where there are none.
    utterances: Count = 2
    max_tokens: Annotated[int, msgspec.Meta(ge=32)] = 512  # a longer schema is read in parts
    questions: bool = False  # whether a slot that the system asks for has the system's words
    dropout: Fraction = 0.1  # on the encoder's outputs
    drop_names: Fraction = 0.0  # of the schema elements, in training
    drop_descriptions: Fraction = 0.0  # of the schema elements, in training
    # Of the carried values that a turn confirms or says again, in training, so that the model
    # learns to correct.
    drop_carried: Fraction = 0.0
    replace_carried: Fraction = 0.0  # by others
    # A folder of batches: those that it lacks are made and written, others are read. It serves
    # every training on the same data with the same tokens.
    encoded: str | None = None

    def __post_init__(self) -> None:
        if self.drop_names + self.drop_descriptions > 1:
            raise ValueError("drop_names and drop_descriptions: expected 1 or less together")
        if self.drop_carried + self.replace_carried > 1:
            raise ValueError("drop_carried and replace_carried: expected 1 or less together")


class Options(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with onepass; batches consist of frames, chunks of dialogues."""

    batch_size: BatchSize = 128
    token_budget: TokenBudget = 4096
    chunk_size: ChunkSize = 192
    acts: Annotated[
        bool,
        option(
            "Say whether the model reads the system's dialogue acts. false needs a model that was "
            "sometimes trained without them (acts: sometimes)."
        ),
    ] = True


class Seen(Provenance, frozen=True, kw_only=True):
    """What a model was trained on, and how it reads; ``sgdx`` of its ``config.json``."""

    acts: Acts  # whether the system's dialogue acts are read: always, never or ``sometimes``
    utterances: int  # most that are read
    max_tokens: int  # of a sequence
    questions: bool = False  # whether a slot that the system asks for has the system's words
