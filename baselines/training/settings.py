"""A recipe: the settings of a training run, a small YAML file checked against a struct."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from sgdx_dataset import SgdxError

Count = Annotated[int, msgspec.Meta(ge=1)]
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Augment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Train schemas in other words, to train on besides the original ones."""

    schemas: str  # backtrans, oracle, corrupt, or a folder of variants and overlays
    ratio: Fraction = 1.0  # of the train dialogues that are met under each of the schemas
    seed: int = 0  # of which dialogues these are, and of the corruption


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that every tracker's training has.

    A batch has at most ``batch_size`` examples and, longest times count, ``token_budget`` tokens
    (one example alone may have more). ``steps`` are of the optimizer: each takes ``accumulation``
    batches on every process.
    """

    tracker: str  # its name in baselines.tracker.TRACKERS
    model: str  # a checkpoint's name on the Hub or its folder
    augment: Augment | None = None
    steps: Count
    batch_size: Count
    token_budget: Count
    accumulation: Count = 1
    optimizer: Literal["adafactor", "adamw"]
    learning_rate: float
    schedule: Literal["constant", "linear"] = "constant"
    warmup: Fraction = 0.0  # of the steps
    weight_decay: float = 0.0  # none on biases and norms
    clip: float | None = None  # of the gradient's norm
    precision: Literal["auto", "no", "bf16", "fp16"] = "auto"
    gradient_checkpointing: bool = False
    static_shapes: bool = False  # for XLA: every batch has the same shape
    seed: int = 0
    log_every: Count = 50
    save_every: Count  # steps from checkpoint to checkpoint
    evaluate_every: Count  # steps; on dev under the original schemas
    evaluate_frames: Count = 1000  # of dev, evenly spread
    patience: Count | None = None  # evaluations without a better one before an early stop
    log_with: tuple[Literal["tensorboard", "trackio", "wandb"], ...] = ()


AnySettings = TypeVar("AnySettings", bound=Settings)


def read_recipe(path: Path, kind: type[AnySettings]) -> AnySettings:
    """Read a recipe.

    Args:
        path: A YAML file.
        kind: The settings of the tracker that it is for.

    Raises:
        SgdxError: It cannot be read, is not YAML, or has a setting that ``kind`` does not.
    """
    return _decode(path, kind)


def recipe_tracker(path: Path) -> str:
    """The name of the tracker that a recipe is for: its ``tracker``.

    Raises:
        SgdxError: It cannot be read, is not YAML, or has none.
    """

    class Head(msgspec.Struct):
        tracker: str

    return _decode(path, Head).tracker


_Decoded = TypeVar("_Decoded")


def _decode(path: Path, kind: type[_Decoded]) -> _Decoded:
    try:
        # Not strict, as YAML 1.1 reads 1e-4 as a string.
        return msgspec.yaml.decode(path.read_bytes(), type=kind, strict=False)
    except OSError as error:
        raise SgdxError(f"{path}: {error.strerror}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise SgdxError(f"{path}: {' '.join(str(error).split())}") from None


def shown(settings: Settings) -> dict[str, Any]:
    """The settings as texts, for loggers that take nothing else."""
    return {name: str(value) for name, value in msgspec.to_builtins(settings).items()}
