"""The settings of recipes of generators, and the options of generation."""

from __future__ import annotations

from typing import Annotated

import msgspec

from sgdx_dataset import SgdxError

from ..system import BatchOptions, BatchSize, ChunkSize, TokenBudget
from ..training.settings import Count, NotNegative, Settings
from .examples import InputName


class T2G2Settings(Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes of generators have besides the common ones."""

    # What ``evaluate_frames`` counts are turns of the system here.

    input: InputName = "derived"  # what the model reads, one of ``inputs.INPUTS``
    # Folder of hand-written templates in T2G2's format, for the input ``t2g2`` alone.
    templates: str | None = None
    # Branch, tag or commit of the model on the Hub; None for its main branch.
    revision: str | None = None
    max_input: Count  # maximum number of tokens of an input; longer ones lose their end
    max_target: Count  # of an utterance
    # Number of keys and values that are learnt for each attention while the model stays as it is;
    # None to train the whole model.
    prefix: Count | None = None
    prefix_hidden: Count = 384  # size of the hidden layer of the networks that make the prefix
    beams: Count = 4
    # Power of the length by which a beam's log-likelihood is divided.
    length_penalty: NotNegative = 0.6
    # Maximum number of tokens in a batch when dev is predicted, where an input counts once for
    # every beam.
    prediction_tokens: Count = 16384

    def __post_init__(self) -> None:
        if (self.templates is None) == (self.input == "t2g2"):
            raise SgdxError(
                f"templates: found {self.templates!r} with the input {self.input}, expected a "
                "folder of templates with the input t2g2 and with no other"
            )
        if self.prefix is not None and self.gradient_checkpointing:
            raise SgdxError("gradient_checkpointing: found true, expected false with a prefix")


class T2G2Options(BatchOptions, frozen=True, kw_only=True):
    """The options of generation; batches and chunks consist of inputs."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 16384
    chunk_size: ChunkSize = 256
    templates: Annotated[
        str | None,
        msgspec.Meta(
            description="Read templates from this folder, for a model that was trained with the "
            "input t2g2. It has <Service>.tsv files in T2G2's format."
        ),
    ] = None
    beams: Annotated[
        Count | None,
        msgspec.Meta(description="Search this number of beams. Default: as in training."),
    ] = None
    length_penalty: Annotated[
        NotNegative | None,
        msgspec.Meta(
            description="Divide a beam's log-likelihood by this power of its length. Default: as "
            "in training."
        ),
    ] = None
