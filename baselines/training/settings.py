"""Recipes: YAML files with the settings of a training run, checked against a struct."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

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
    """Settings of the augmentation: reworded schemas to train on besides the original ones.

    Attributes:
        schemas: ``backtrans``, ``oracle``, ``corrupt``, or a folder of variants and overlays.
        ratio: Fraction of the train dialogues that is repeated under each reworded schema, in
            [0, 1].
        seed: Random seed for the choice of these dialogues and for ``corrupt``.
    """

    schemas: str
    ratio: Fraction = 1.0
    seed: Seed = 0


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that the recipes of all trackers have.

    Attributes:
        tracker: Name of the tracker in ``baselines.system.SYSTEMS``.
        model: Pretrained model to start from: a name on the Hub, a folder, or ``tiny`` for a small
            random one to try a recipe with.
        augment: Reworded schemas to train on too; None for the original schemas alone.
        steps: Number of optimizer steps.
        batch_size: Maximum number of examples of one optimizer step, over all processes. Each
            process takes an equal share, in ``accumulation`` batches.
        token_budget: Maximum number of tokens in a batch of one process, padding included. A longer
            example makes a batch of its own.
        accumulation: Number of batches in which a process reads its share of a step.
        optimizer: ``adafactor`` or ``adamw``.
        learning_rate: Highest learning rate.
        schedule: The learning rate after the warm-up: constant, or linear decay to zero.
        warmup: Fraction of the steps in which the learning rate rises linearly, in [0, 1].
        weight_decay: Weight decay of matrices; biases and norms have none.
        epsilon: AdamW's epsilon, which it adds to the root of the second moment.
        bias_correction: Whether AdamW corrects its moments for their start at zero; the optimizer
            that BERT was released with does not.
        multiply_by_parameter_scale: Whether Adafactor multiplies the learning rate by the root mean
            square of each matrix, as T5X does.
        clip: Maximum norm of the gradient, over 0; None to not clip it.
        precision: Number format of the model's arithmetic (``training.precision``): ``fp32``,
            ``bf16``, or ``auto``, which is ``bf16`` where the device has it natively. The record of
            a run has what ``auto`` was resolved to.
        gradient_checkpointing: Whether to save memory by computing activations twice.
        static_shapes: Whether every batch has the same shape, as XLA needs.
        seed: Random seed of everything but the augmentation.
        train_dialogues: Number of train dialogues to learn from, drawn at random with ``seed``;
            None for all.
        log_every: Number of steps between two lines of the log.
        save_every: Number of steps between two checkpoints.
        evaluate_every: Number of steps between two evaluations on dev.
        evaluate_frames: Approximate number of dev frames to evaluate on, under the original
            schemas.
        patience: Number of evaluations without a better score after which training stops early;
            None to never stop early.
        ema: Weight of the past in the running mean of the weights, in (0, 1), such as 0.999: the
            mean then reaches about 1 / (1 - 0.999) = 1000 steps back. Dev is scored on the mean,
            and the model that is kept is the mean. None to use the weights themselves.
        log_with: Loggers besides ``log.jsonl``.
    """

    tracker: str
    model: str
    augment: Augment | None = None
    steps: Count
    batch_size: Count
    token_budget: Count
    accumulation: Count = 1
    optimizer: Literal["adafactor", "adamw"]
    learning_rate: NotNegative
    schedule: Literal["constant", "linear"] = "constant"
    warmup: Fraction = 0.0
    weight_decay: NotNegative = 0.0
    epsilon: Positive = 1e-8
    bias_correction: bool = True
    multiply_by_parameter_scale: bool = False
    clip: Positive | None = None
    precision: Precision = "auto"
    gradient_checkpointing: bool = False
    static_shapes: bool = False
    seed: Seed = 0
    train_dialogues: Count | None = None
    log_every: Count = 50
    save_every: Count
    evaluate_every: Count
    evaluate_frames: Count = 1000
    patience: Count | None = None
    ema: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    log_with: tuple[Literal["tensorboard", "trackio", "wandb"], ...] = ()


class EncoderSettings(Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes of trackers built on BERT-like encoders have besides.

    Attributes:
        attention_dropout: Dropout of attention weights in training, in [0, 1]; None for the
            pretrained encoder's own. Dropping weights takes long on CPUs.
    """

    attention_dropout: Fraction | None = None


class EpochSettings(EncoderSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes have besides where epochs determine the number of steps.

    Attributes:
        epochs: Number of epochs.
        steps: Maximum number of steps, if the epochs would take more; None for no maximum.
    """

    epochs: Count
    steps: Count | None = None  # type: ignore[assignment]  # the epochs determine the steps


AnySettings = TypeVar("AnySettings", bound=Settings)


def find_recipe(name: str) -> Path:
    """The file of a recipe.

    Args:
        name: A path, or ``TRACKER/RECIPE`` for a recipe that comes with the package:
            ``onepass/smoke`` is ``baselines/onepass/config/smoke.yaml``.

    Returns:
        The path; that of the package's recipe only where there is no such file.
    """
    tracker, _, recipe = name.partition("/")
    packaged = Path(__file__).parents[1] / tracker / "config" / f"{recipe}.yaml"
    return packaged if packaged.is_file() and not Path(name).exists() else Path(name)


def read_recipe(path: Path, kind: type[AnySettings]) -> AnySettings:
    """Read a recipe.

    Args:
        path: The YAML file.
        kind: Type of the settings, which depends on the tracker.

    Raises:
        SgdxError: The file cannot be read, is not YAML or does not fit ``kind``.
    """
    return parse_yaml(read_file(path), kind, str(path))


def recipe_tracker(path: Path) -> str:
    """The name of the tracker that a recipe is for, which is its setting ``tracker``.

    Raises:
        SgdxError: The file cannot be read, is not YAML or does not name a tracker.
    """

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


def shown(settings: Settings) -> dict[str, Any]:
    """The settings as strings, for loggers that accept nothing else."""
    return {name: str(value) for name, value in msgspec.to_builtins(settings).items()}
