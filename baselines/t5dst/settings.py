"""The settings of recipes of T5 trackers, and the options of prediction with one."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..system import BatchOptions, BatchSize, ChunkSize, TokenBudget
from ..training.settings import Count, Settings
from .formats import get_format


class T5Settings(Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes of T5 trackers have besides the common ones."""

    format: str  # name of the prompt format in ``formats.FORMATS``
    # Branch, tag or commit of the model on the Hub; None for its main branch.
    revision: str | None = None
    # Maximum number of tokens of an input; longer ones lose the beginning of the history.
    max_input: Count
    max_target: Count  # of an answer
    prediction_tokens: Count = 16384  # at most, in a batch when dev is predicted

    def __post_init__(self) -> None:
        get_format(self.format)


class T5Options(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with a T5 tracker; batches and chunks consist of inputs."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 16384
    chunk_size: ChunkSize = 256  # a kill on CPUs costs about a minute
    static_shapes: Annotated[
        bool,
        msgspec.Meta(
            description="Say whether inputs are padded to a few lengths. TPUs always need this, "
            "because they compile a program for each length. On other devices it costs time and "
            "memory."
        ),
    ] = False
    shuffle: Annotated[
        int | None,
        msgspec.Meta(
            description="Shuffle the elements of schemas with this random seed, independently for "
            "each frame and variant. Default: the order of the schema."
        ),
    ] = None
    format: Annotated[
        str | None,
        msgspec.Meta(description="Use this prompt format, for a model that does not record it."),
    ] = None
    max_input: Annotated[
        Count | None,
        msgspec.Meta(
            description="Set the maximum number of tokens of an input. Default: as in training; "
            "with --format, 512."
        ),
    ] = None
    max_target: Annotated[
        Count | None,
        msgspec.Meta(
            description="Set the maximum number of tokens of an answer. Default: as in training; "
            "with --format, 256."
        ),
    ] = None
