"""Recipes: YAML files with the settings of a training run, checked against a struct."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from sgdx_dataset.configs import VARIANTS
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.yaml import parse_yaml

Count = Annotated[int, msgspec.Meta(ge=1, le=10**12)]
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
Seed = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
# Optimizers compute in float32, which ends at 3e38. A range also leaves out .nan and .inf.
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e30)]
NotNegative = Annotated[float, msgspec.Meta(ge=0, le=1e30)]
Precision = Literal["auto", "fp32", "bf16"]


class Augment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of the augmentation: reworded schemas to train on besides the original ones."""

    schemas: str  # ``backtrans``, ``oracle``, ``corrupt``, or a folder of variants and overlays
    ratio: Fraction = 1.0  # of the train dialogues that are repeated under each reworded schema
    seed: Seed = 0  # of the choice of these dialogues and of ``corrupt``


class Also(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of a second corpus, such as ``many``, whose own variants are trained on too."""

    source: str
    share: Annotated[float, msgspec.Meta(gt=0, lt=1)]  # of all rows, for which they are repeated
    variants: tuple[str, ...] = ("original", *VARIANTS)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that the recipes of all trackers have."""

    tracker: str  # its name in ``baselines.system.SYSTEMS``
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
    # Whether AdamW corrects its moments for their start at zero; BERT's optimizer did not.
    bias_correction: bool = True
    # Whether Adafactor multiplies the rate by the root mean square of each matrix, as T5X does.
    multiply_by_parameter_scale: bool = False
    clip: Positive | None = None  # maximum norm of the gradient; None to not clip it
    precision: Precision = "auto"  # of the arithmetic; auto: bf16 where the device has it natively
    gradient_checkpointing: bool = False  # saves memory by computing activations twice
    static_shapes: bool = False  # whether every batch has the same shape, as XLA needs
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


class EncoderSettings(Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes of trackers built on BERT-like encoders have besides."""

    # Of attention weights in training; None for the encoder's own. It takes long on CPUs.
    attention_dropout: Fraction | None = None


class EpochSettings(EncoderSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes have besides where epochs determine the number of steps."""

    epochs: Count
    # The maximum, if the epochs would take more.
    steps: Count | None = None  # type: ignore[assignment]  # the epochs determine the steps
    # Trained trackers. The training starts from the mean of their weights and those of ``model``,
    # another of the same tracker (arXiv 2109.01903 and 2203.05482).
    average: tuple[str, ...] = ()


AnySettings = TypeVar("AnySettings", bound=Settings)


def find_recipe(name: str) -> Path:
    """The file of a recipe: a path, or ``onepass/smoke`` for one that comes with the package."""
    tracker, _, recipe = name.partition("/")
    packaged = Path(__file__).parents[1] / tracker / "config" / f"{recipe}.yaml"
    return packaged if packaged.is_file() and not Path(name).exists() else Path(name)


def read_recipe(path: Path, kind: type[AnySettings]) -> AnySettings:
    """Read a recipe."""
    return parse_yaml(read_file(path), kind, str(path))


def recipe_tracker(path: Path) -> str:
    """The name of the tracker that a recipe is for, which is its setting ``tracker``."""

    class Head(msgspec.Struct):
        tracker: str

    if not path.exists():
        packages = Path(__file__).parents[1]
        recipes = sorted(packages.glob("*/config/*.yaml"))
        names = ", ".join(f"{file.parents[1].name}/{file.stem}" for file in recipes)
        raise SgdxError(
            f"{path}: found no recipe, expected a YAML file of yours, or one of {names}"
        )
    return parse_yaml(read_file(path), Head, str(path)).tracker
