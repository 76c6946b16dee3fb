"""The settings of recipes of onepass, and the options of prediction with it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..system import BatchOptions, BatchSize, DialogueChunkSize, TokenBudget
from ..training.settings import Count, EpochSettings, Fraction
from .frames import Acts


class OnePassSettings(EpochSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes of onepass have besides the common ones; examples are frames."""

    # Whether the system's dialogue acts are read. With ``sometimes`` a third of the train dialogues
    # has none; the model then serves dialogues with acts and dialogues of text alone (``Reading``).
    acts: Acts = True
    # Most that are read, the user's last one included. With ``acts: sometimes`` it holds where
    # there are acts; four are read where there are none.
    utterances: Count = 2
    max_tokens: Annotated[int, msgspec.Meta(ge=32)] = 512  # a longer schema is read in parts
    dropout: Fraction = 0.1  # on the encoder's outputs
    # Whether the elements of a schema stand in random order in training. This matters only for
    # encoders such as DeBERTa, which are not told where a token stands.
    shuffle: bool = False
    drop_names: Fraction = 0.0  # of the schema elements, in training
    drop_descriptions: Fraction = 0.0  # of the schema elements, in training
    # Of the carried values that a turn confirms or says again, in training, so that the model
    # learns to correct (``StateNoise``).
    drop_carried: Fraction = 0.0
    replace_carried: Fraction = 0.0  # by others

    def __post_init__(self) -> None:
        if self.static_shapes:
            raise ValueError("static_shapes: schemas differ in size, expected false")
        if self.drop_names + self.drop_descriptions > 1:
            raise ValueError("drop_names and drop_descriptions: expected 1 or less together")
        if self.drop_carried + self.replace_carried > 1:
            raise ValueError("drop_carried and replace_carried: expected 1 or less together")


class OnePassOptions(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with onepass; batches consist of frames, chunks of dialogues."""

    batch_size: BatchSize = 128
    token_budget: TokenBudget = 4096
    chunk_size: DialogueChunkSize = 192
    acts: Annotated[
        bool,
        msgspec.Meta(
            description="Say whether the model reads the system's dialogue acts. false needs a "
            "model that was sometimes trained without them (acts: sometimes)."
        ),
    ] = True
