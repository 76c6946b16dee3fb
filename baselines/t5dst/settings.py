"""What a recipe and a prediction of T5DST and D3ST can be told, and what their model says."""

from __future__ import annotations

from typing import Annotated, Literal

from ..settings import (
    BatchOptions,
    BatchSize,
    ChunkSize,
    Count,
    Provenance,
    TokenBudget,
    TrainingSettings,
    option,
)

FormatName = Literal["t5dst", "d3st"]


class Settings(TrainingSettings, frozen=True, kw_only=True):
    """The settings that recipes of t5dst have besides the common ones."""

    format: FormatName  # how schema and dialogue become text
    # Branch, tag or commit of the model on the Hub; None for its main branch.
    revision: str | None = None
    # Maximum number of tokens of an input; longer ones lose the beginning of the history.
    max_input: Count
    max_target: Count  # of an answer


class Options(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with t5dst; batches consist of inputs, chunks of dialogues."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 16384
    chunk_size: ChunkSize = 12  # in six variants two dialogues; a kill on CPUs costs minutes
    shuffle: Annotated[
        int | None,
        option(
            "Shuffle the elements of schemas with this random seed, independently for each frame "
            "and variant. Default: the order of the schema."
        ),
    ] = None
    max_input: Annotated[
        Count | None,
        option("Set the maximum number of tokens of an input. Default: as in training."),
    ] = None


class Seen(Provenance, frozen=True, kw_only=True):
    """What a model was trained on, and how it reads; ``sgdx`` of its ``config.json``."""

    format: FormatName
    max_input: int  # in tokens
    max_target: int
    # Commit on the Hub of the model that training started from; empty if that was a folder.
    pretrained_commit: str = ""
