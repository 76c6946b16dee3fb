"""What a recipe and a prediction of the generator can be told, and what its model says."""

from __future__ import annotations

from typing import Annotated, Literal

from ..settings import (
    BatchOptions,
    BatchSize,
    ChunkSize,
    Count,
    NotNegative,
    Provenance,
    TokenBudget,
    TrainingSettings,
    option,
)

InputName = Literal["derived", "t2g2", "schema", "naive"]


class Settings(TrainingSettings, frozen=True, kw_only=True):
    """The settings that recipes of generators have besides the common ones."""

    # What ``evaluate_frames`` counts are turns of the system here.

    input: InputName = "derived"  # what the model reads
    # Folder of hand-written templates in T2G2's format, for the input ``t2g2`` alone.
    templates: str | None = None
    # Branch, tag or commit of the model on the Hub; None for its main branch.
    revision: str | None = None
    max_input: Count  # maximum number of tokens of an input; longer ones lose their end
    max_target: Count  # of an utterance
    beams: Count = 4
    # Power of the length by which a beam's log-likelihood is divided.
    length_penalty: NotNegative = 0.6

    def __post_init__(self) -> None:
        if (self.templates is None) == (self.input == "t2g2"):
            raise ValueError(
                f"templates: found {self.templates!r} with the input {self.input}, expected a "
                "folder of templates with the input t2g2 and with no other"
            )


class Options(BatchOptions, frozen=True, kw_only=True):
    """The options of generation; batches consist of inputs, chunks of dialogues."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 16384
    chunk_size: ChunkSize = 48
    templates: Annotated[
        str | None,
        option(
            "Read templates from this folder, for a model that was trained with the input t2g2. It "
            "has <Service>.tsv files in T2G2's format."
        ),
    ] = None


class Seen(Provenance, frozen=True, kw_only=True):
    """What a model was trained on, and how it writes; ``sgdx`` of its ``config.json``."""

    input: InputName  # what the model reads
    # SHA-256 of the hand-written templates that it was trained with; empty if none.
    templates: str = ""
    max_input: int  # in tokens
    max_target: int
    beams: int
    length_penalty: float  # power of the length by which a beam's log-likelihood is divided
    # Commit on the Hub of the model that training started from; empty if that was a folder.
    pretrained_commit: str = ""
