"""What recipes and predictions of all systems can be told, and what a model says of itself.

``NAME/settings.py`` has what one system adds.

Nothing here needs torch, so that a mistake is told before torch is loaded. ``docs/settings.md`` is
made of these structs by ``python -m maintenance.settings``: the comments are its text.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec

from sgdx_dataset.configs import VARIANTS

Count = Annotated[int, msgspec.Meta(ge=1, le=10**12)]
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
Seed = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
# Optimizers compute in float32, which ends at 3e38. A range also leaves out .nan and .inf.
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e30)]
NotNegative = Annotated[float, msgspec.Meta(ge=0, le=1e30)]
Precision = Literal["auto", "fp32", "bf16"]
TINY = "tiny"  # the name in recipes of a small model of random weights, to try a recipe with


class RecipePart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of a recipe: a name that it has not is refused."""


class Augment(RecipePart, frozen=True):
    """Settings of the augmentation: reworded schemas to train on besides the original ones."""

    # ``backtrans``, ``oracle``, ``corrupt``, a folder of variants and overlays, or an overlay
    schemas: str = "backtrans"
    ratio: Fraction = 1.0  # of the train dialogues that are repeated under each reworded schema
    seed: Seed = 0  # of the choice of these dialogues and of ``corrupt``


class Also(RecipePart, frozen=True):
    """Settings of a second corpus, such as ``many``, whose own variants are trained on too."""

    source: str
    share: Annotated[float, msgspec.Meta(gt=0, le=0.99)]  # of all rows, for which they are repeated
    variants: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] = ("original", *VARIANTS)


class TrainingSettings(RecipePart, frozen=True, kw_only=True):
    """The settings that the recipes of all systems have."""

    # The names of the models that a system trains, each in a folder of its own; "" for one model
    # that lies in the run folder itself.
    TASKS: ClassVar[tuple[str, ...]] = ("",)

    tracker: str  # name of the system
    model: str  # to start from: a name on the Hub, a folder, or ``tiny`` for a small random one
    augment: Augment | None = None  # None for the original schemas alone
    also: Also | None = None  # None for the corpus of ``--source`` alone
    steps: Count  # of the optimizer
    batch_size: Count  # most examples of one step, which the processes share equally
    token_budget: Count  # most tokens in a batch; a longer example makes a batch of its own
    accumulation: Count = 1  # number of batches in which a process reads its share of a step
    optimizer: Literal["adafactor", "adamw"]
    learning_rate: NotNegative  # the highest
    # After the warm-up: constant, or falling to zero along a line or half a cosine.
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup: Fraction = 0.0  # of the steps, in which the learning rate rises linearly
    weight_decay: NotNegative = 0.0  # of matrices; biases and norms have none
    epsilon: Positive = 1e-8  # which AdamW adds to the root of the second moment
    # Whether Adafactor multiplies the rate by the root mean square of each matrix, as T5X does.
    multiply_by_parameter_scale: bool = False
    clip: Positive | None = None  # maximum norm of the gradient; None to not clip it
    precision: Precision = "auto"  # of the arithmetic; auto: bf16 where the device has it natively
    gradient_checkpointing: bool = False  # saves memory by computing activations twice
    seed: Seed = 0  # of everything but the augmentation
    train_dialogues: Count | None = None  # to learn from, drawn at random; None for all
    log_every: Count = 50  # steps
    save_every: Count  # steps
    evaluate_every: Count  # steps
    evaluate_frames: Count = 1000  # about so many of each corpus' dev, under the original schemas
    patience: Count | None = None  # evaluations without a better score before an early stop
    # Weight of the past in the running mean of the weights, such as 0.999: the mean then reaches
    # about 1 / (1 - 0.999) = 1000 steps back, is scored on dev, and is the model that is kept.
    ema: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    # Loggers besides ``log.jsonl``.
    log_with: tuple[Literal["tensorboard", "trackio", "wandb"], ...] = ()
    expected: str = ""  # the result and its source, for the reader of the recipe


class EncoderSettings(TrainingSettings, frozen=True):
    """The settings that recipes of trackers built on BERT-like encoders have besides."""

    # Of attention weights in training; None for the encoder's own. It takes long on CPUs.
    attention_dropout: Fraction | None = None
    # Bits of a weight in the model that is kept, with which it is scored on dev too; None for 32.
    # It needs the extra ``packed``.
    bits: Literal[4, 5, 6, 8] | None = None
    # Of the steps, the last ones, which compute with weights of these bits and change whole ones.
    rounded: Fraction = 0.0


class EpochSettings(EncoderSettings, frozen=True, kw_only=True):
    """The settings that recipes have besides where epochs determine the number of steps."""

    epochs: Count
    # The maximum, if the epochs would take more.
    steps: Count | None = None  # type: ignore[assignment]  # the epochs determine the steps
    # Trained trackers. The training starts from the mean of their weights and those of ``model``,
    # another of the same tracker (arXiv 2109.01903 and 2203.05482).
    average: tuple[str, ...] = ()


class PredictionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that a system adds to ``predict`` and ``evaluate``; each field is an option."""


def option(text: str) -> msgspec.Meta:
    """What ``--help`` says of an option."""
    return msgspec.Meta(description=text)


BatchSize = Annotated[Count, option("Set the maximum number of inputs in a batch.")]
TokenBudget = Annotated[
    Count, option("Set the maximum number of tokens in a batch, including padding.")
]
ChunkSize = Annotated[
    Count,
    option(
        "Save the results of this number of dialogues together. A killed prediction continues from "
        "there."
    ),
]


class BatchOptions(PredictionOptions, frozen=True, kw_only=True):
    """Options of every trained system; they change memory and speed, not what is predicted."""

    batch_size: BatchSize = 128
    token_budget: TokenBudget = 8192
    chunk_size: ChunkSize = 96


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Which schemas a model was trained on, and with which seed.

    It is stored as ``seen`` in ``run.json`` and as ``sgdx`` in the model's ``config.json``, and
    every file that is made with the model repeats it. All but the seed are also of the model that
    the training started from. A tracker's ``Seen`` has besides how its model reads.
    """

    tracker: str = ""  # name of the system in ``baselines.system.SYSTEMS``
    train: tuple[str, ...] = ("original",)  # schema variants
    augment: Augment | None = None  # None if only the original schemas were used
    also: Also | None = None  # None if only one corpus was used
    also_before: tuple[Also, ...] = ()  # others, of the models that it started from
    schemas: str = ""  # SHA-256 of the augmentation's schemas; empty without one
    overlaps: int = 0  # number of texts trained on that v1..v5 contain and the original does not
    oracle: bool = False  # whether it was trained on schemas that it is evaluated on
    seed: int = 0

    @classmethod
    def of(cls, settings: Any, **facts: Any) -> Self:
        """How a model reads, from the settings of the same names."""
        own = set(cls.__struct_fields__) - set(Provenance.__struct_fields__)
        return cls(**{n: getattr(settings, n) for n in own if hasattr(settings, n)} | facts)

    def continued_from(self, start: Provenance) -> Provenance:
        """The provenance of a model that starts from another, which has seen words already."""
        own, before = (self.also, *self.also_before), (start.also, *start.also_before)
        corpora = [corpus for corpus in dict.fromkeys((*own, *before)) if corpus is not None]
        return msgspec.structs.replace(
            self,
            train=tuple(dict.fromkeys((*start.train, *self.train))),
            augment=self.augment or start.augment,
            also=corpora[0] if corpora else None,
            also_before=tuple(corpora[1:]),
            schemas=self.schemas or start.schemas,
            overlaps=max(self.overlaps, start.overlaps),
            oracle=self.oracle or start.oracle,
        )
