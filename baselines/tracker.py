"""What a tracker is: the one interface of all trackers, the list of them, and what each has seen.

``baselines/README.md`` shows how to add one. Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Protocol, Self

import msgspec
from datasets import Dataset
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
)

from sgdx_dataset import SgdxError

from .training.settings import Augment, Count, Settings

if TYPE_CHECKING:  # a tracker that learns nothing runs without torch
    import torch
    from accelerate import Accelerator
    from transformers import PreTrainedModel

    from .training.batching import Ints

TRACKERS = {
    "lexical": "baselines.lexical.tracker:LexicalTracker",
    "t5dst": "baselines.t5dst.tracker:T5Tracker",
    "sgp_dst": "baselines.sgp_dst.tracker:SgpTracker",
    "sgd_baseline": "baselines.sgd_baseline.tracker:SgdTracker",
}
Row = dict[str, Any]


class TrainedOn(msgspec.Struct, frozen=True, kw_only=True):
    """What a model has seen in training; every file that is made with the model repeats it.

    Attributes:
        tracker: The tracker's name in ``TRACKERS``.
        train: The schema variants it was trained on.
        augment: The augmentation, None for the original schemas alone.
        schemas: SHA-256 of the augmentation's schemas.
        overlaps: How many texts of the augmentation v1..v5 have too and the original lacks.
        oracle: Whether it was trained on schemas that it is judged on.
        seed: The training's seed.
    """

    tracker: str = ""
    train: tuple[str, ...] = ("original",)
    augment: Augment | None = None
    schemas: str = ""
    overlaps: int = 0
    oracle: bool = False
    seed: int = 0


class PredictionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of ``predict`` and ``evaluate`` that a tracker adds; each field is an option."""


# Options that trackers share: they change memory and speed, not what is predicted.
BatchSize = Annotated[Count, msgspec.Meta(description="the most inputs in a batch")]
TokenBudget = Annotated[
    Count, msgspec.Meta(description="the most tokens in a batch, padding included")
]
ShardSize = Annotated[
    Count, msgspec.Meta(description="inputs whose results are saved together, for resuming")
]


class Predictions(NamedTuple):
    """Prediction rows in the order of the frame rows, and counts for the file's header."""

    rows: list[Row]
    counts: dict[str, Any]


class Tracker(Protocol):
    """A dialogue state tracker that is ready to predict.

    Attributes:
        NAME: Its name in ``TRACKERS``, in recipes and in every file that it leaves.
        READS: What it may read of a frame row, of ``data.frames.INPUTS``; it gets nothing else.
        OPTIONS: Its own options of ``predict`` and ``evaluate``.
    """

    NAME: ClassVar[str]
    READS: ClassVar[tuple[str, ...]]
    OPTIONS: ClassVar[type[PredictionOptions]]

    @classmethod
    def load(cls, model: str, options: Any, accelerator: Accelerator | None) -> Self:
        """Load a trained tracker.

        Args:
            model: A run folder or a repository on the Hub; unused where nothing is learned.
            options: Of the type ``OPTIONS``.
            accelerator: The processes and the device; None for a tracker that learns nothing.

        Raises:
            SgdxError: There is no such model, or it is not one of this tracker.
        """
        ...

    def describe(self) -> Row:
        """What the header of a prediction file says of the tracker; JSON can hold it."""
        ...

    def predict(self, rows: Dataset, shards: Path) -> Predictions:
        """Track frame rows; called by ``data.frames.track``, which hides what it may not read.

        Args:
            rows: Whole dialogues in order, of one or several schema variants.
            shards: Folder for results that are kept if the process is killed. It may not exist.

        Returns:
            A prediction row for each frame row, in every process.
        """
        ...


@dataclass(frozen=True)
class Run:
    """A training run, as a tracker makes its tasks from it.

    Attributes:
        accelerator: The processes and the device.
        settings: The recipe, of the tracker's own type.
        seen: What the model is trained on; it stands in everything that is made with the model.
        rows: Train's frame rows: what the tracker reads and the gold state, and nothing else.
        dev: Dev's frame rows to evaluate on, with everything that scoring needs.
        output: The run folder.
        resume: Whether to go on with what is in it.
    """

    accelerator: Accelerator
    settings: Any
    seen: TrainedOn
    rows: Dataset
    dev: Dataset
    output: Path
    resume: bool


@dataclass(frozen=True)
class Task:
    """What a tracker brings to the loop.

    Attributes:
        model: Called with a batch it returns an output with a ``loss``.
        settings: The recipe, with the number of steps of this task.
        lengths: In tokens, [examples].
        collate: Makes the batch of some examples, on the CPU.
        evaluate: A model's score on dev in [0, 1], the higher the better; all processes call it.
        save: Writes a model of these weights into a folder.
        facts: What ``run.json`` says of the task besides.
        measure: What the log calls the score.
    """

    model: PreTrainedModel
    settings: Settings
    lengths: Ints
    collate: Callable[[Any], dict[str, torch.Tensor]]
    evaluate: Callable[[PreTrainedModel], float]
    save: Callable[[Path, PreTrainedModel, dict[str, torch.Tensor]], None]
    facts: dict[str, Any] = field(default_factory=dict)
    measure: str = "dev_joint_goal_accuracy"


class TrainableTracker(Tracker, Protocol):
    """A tracker that learns.

    Attributes:
        SETTINGS: What its recipes may set.
        TASKS: Its training tasks in order. A tracker that is one model has the one task "", which
            is trained in the run folder itself; others are trained in a subfolder of their name.
    """

    SETTINGS: ClassVar[type[Settings]]
    TASKS: ClassVar[tuple[str, ...]]

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """The dev frame rows that training evaluates on.

        Args:
            rows: All of dev under the original schemas.
            count: About how many frames the recipe wants.
        """
        ...

    @classmethod
    def task(cls, run: Run, name: str) -> Task:
        """What the training loop needs for one of ``TASKS``: model, batches, evaluation.

        Raises:
            SgdxError: The recipe, its model or the data are at fault.
        """
        ...

    @staticmethod
    def example(repository: str, settings: Row) -> str:
        """Python for the model card that loads the model and uses it on a turn.

        Args:
            repository: Where the model is: a folder, or a name on the Hub.
            settings: The recipe, as ``run.json`` has it.
        """
        ...


def get_tracker(name: str) -> type[Tracker]:
    """The class of a tracker by its name in ``TRACKERS``.

    Raises:
        SgdxError: There is none.
    """
    if name not in TRACKERS:
        raise SgdxError(f"tracker '{name}' is unknown, expected one of {', '.join(TRACKERS)}")
    module, _, kind = TRACKERS[name].partition(":")
    found: type[Tracker] = getattr(import_module(module), kind)
    return found


def get_trainable(name: str) -> type[TrainableTracker]:
    """The class of a tracker that learns.

    Raises:
        SgdxError: There is none, or it learns nothing.
    """
    kind: Any = get_tracker(name)
    if not learns(kind):
        raise SgdxError(f"tracker '{name}' learns nothing: use it with --tracker {name}")
    found: type[TrainableTracker] = kind
    return found


def learns(kind: type[Tracker]) -> bool:
    """Whether a tracker is trained at all."""
    return hasattr(kind, "SETTINGS")


def tracker_of(model: str) -> str:
    """The name of the tracker that a run folder or a repository on the Hub holds.

    A training writes it into ``run.json``, and into ``config.json`` beside every model.

    Raises:
        SgdxError: There is no such folder or repository, or it does not say.
    """
    for file, keys in (("run.json", ("record", "seen")), ("config.json", ("sgdx",))):
        path = _model_file(model, file)
        try:
            found: Any = msgspec.json.decode(path.read_bytes()) if path else None
        except (OSError, msgspec.DecodeError) as error:
            raise SgdxError(f"{path}: {error}") from None
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, dict) and found.get("tracker"):
            return str(found["tracker"])
    raise SgdxError(
        f"{model}: found no tracker's name in run.json or config.json, expected a model of "
        "baselines.train; for another give --tracker"
    )


def _model_file(model: str, name: str) -> Path | None:
    """A small file of a model, None if it lacks it."""
    folder = Path(model)
    if folder.is_dir():
        return folder / name if (folder / name).is_file() else None
    try:
        return Path(hf_hub_download(model, name))
    except (OSError, HfHubHTTPError, HFValidationError) as error:
        # The Hub was reached and has the repository, but not the file.
        if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
            return None
        reason = str(error).strip().split("\n")[0]
        raise SgdxError(f"{model}: no such folder or repository: {reason}") from None
