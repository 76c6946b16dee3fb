"""The interface that every tracker implements, the registry of trackers, and their provenance.

A generator, which says what the system has to say, is behind the same interface: its rows are turns
of the system instead of frames of the user, and what it predicts are utterances instead of states.
``baselines/README.md`` shows how to add a tracker. This module does not import torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Protocol, Self

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
from sgdx_dataset.io.extras import require
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import parse_json

from .training.settings import Augment, Count, Precision, Settings

if TYPE_CHECKING:  # these need torch, and a tracker that is not trained runs without it
    import torch
    from accelerate import Accelerator
    from transformers import PreTrainedModel

    from .training.batching import Ints

TRACKERS = {
    "lexical": "baselines.lexical.tracker:LexicalTracker",
    "t5dst": "baselines.t5dst.tracker:T5Tracker",
    "sgp_dst": "baselines.sgp_dst.tracker:SgpTracker",
    "sgd_baseline": "baselines.sgd_baseline.tracker:SgdTracker",
    "onepass": "baselines.onepass.tracker:OnePassTracker",
    "t2g2": "baselines.t2g2.generator:T2G2Generator",
}
Row = dict[str, Any]

# Types of options that several trackers share, with the options' help texts. They change memory and
# speed, not what is predicted.
BatchSize = Annotated[Count, msgspec.Meta(description="maximum number of inputs in a batch")]
TokenBudget = Annotated[
    Count, msgspec.Meta(description="maximum number of tokens in a batch, padding included")
]
ShardSize = Annotated[
    Count, msgspec.Meta(description="number of inputs whose results are saved together to resume")
]


class TrainedOn(msgspec.Struct, frozen=True, kw_only=True):
    """Provenance of a model: which schemas it was trained on, and with which seed.

    Every file that is made with the model repeats it.

    Attributes:
        tracker: Name of the tracker in ``TRACKERS``.
        train: Schema variants that the model was trained on.
        augment: Settings of the augmentation; None if only the original schemas were used.
        schemas: SHA-256 of the augmentation's schemas; empty without augmentation.
        overlaps: Number of the augmentation's texts that v1..v5 contain and the original does not.
        oracle: Whether the model was trained on schemas that it is evaluated on.
        seed: Random seed of the training.
    """

    tracker: str = ""
    train: tuple[str, ...] = ("original",)
    augment: Augment | None = None
    schemas: str = ""
    overlaps: int = 0
    oracle: bool = False
    seed: int = 0


class PredictionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that a tracker adds to ``predict`` and ``evaluate``; each field is an option."""


class Predictions(NamedTuple):
    """What a tracker returns for frame rows, and a generator for turn rows.

    Attributes:
        rows: Prediction rows, in the order of the given rows.
        counts: Figures about the prediction for the header of the prediction file.
    """

    rows: list[Row]
    counts: dict[str, Any]


class Tracker(Protocol):
    """A dialogue state tracker, or a generator of responses, that is ready to predict.

    Attributes:
        NAME: Name of the tracker in ``TRACKERS``, in recipes and in every file that it writes.
        ROWS: What it predicts: ``frames`` of the user for a tracker, the default, or ``turns`` of
            the system for a generator. The commands choose data and metric by it.
        READS: The parts of a row that it reads, taken from ``data.frames.INPUTS``, or from
            ``data.turns.INPUTS`` for a generator; all other parts are hidden from it.
        OPTIONS: Struct of the options that the tracker adds to ``predict`` and ``evaluate``.
    """

    NAME: ClassVar[str]
    ROWS: ClassVar[Literal["frames", "turns"]] = "frames"
    READS: ClassVar[tuple[str, ...]]
    OPTIONS: ClassVar[type[PredictionOptions]]

    @classmethod
    def load(cls, model: str, options: Any, accelerator: Accelerator | None) -> Self:
        """Load a tracker that is ready to predict.

        Args:
            model: A run folder or a repository on the Hub; ignored by a tracker that is not
                trained.
            options: Options of the type ``OPTIONS``.
            accelerator: The processes and the device; None for a tracker that is not trained.

        Raises:
            SgdxError: The model does not exist, or belongs to another tracker.
        """
        ...

    def describe(self) -> Row:
        """Facts about the tracker for the header of a prediction file, as JSON values."""
        ...

    def predict(self, rows: Dataset, shards: Path) -> Predictions:
        """Predict the dialogue state of every frame row, or the utterance of every turn row.

        Call it through ``data.frames.track`` or ``data.turns.generate``, which hide the columns
        that it may not read.

        Args:
            rows: Rows of whole dialogues in order, of one or several schema variants.
            shards: Folder for partial results, from which a killed run can resume; it need not
                exist.

        Returns:
            One prediction row for each row, the same in every process.
        """
        ...


@dataclass(frozen=True)
class Run:
    """A training run, from which a tracker builds its training tasks.

    Attributes:
        accelerator: The processes and the device.
        settings: The recipe, of the tracker's type ``SETTINGS``.
        seen: Provenance of the models that are trained.
        rows: Rows of the train split with the columns that the tracker reads and the gold state,
            or for a generator the gold utterance.
        dev: Rows of the dev split to evaluate on, with all columns.
        output: The run folder.
        resume: Whether to continue from the checkpoints in the run folder.
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
    """What a tracker provides for the training of one model.

    Attributes:
        model: The model; called with a batch it returns an output that has a ``loss``.
        settings: The recipe, with the number of steps of this task.
        lengths: Number of tokens of each training example [examples].
        collate: Makes a batch on the CPU from an array of indices of examples.
        evaluate: Returns a model's score on dev in [0, 1], where higher is better. All processes
            call it together.
        save: Writes a model with the given weights into a folder.
        facts: Further facts for ``run.json``.
        measure: Name of the score in the log.
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
    """A tracker that is trained from a recipe.

    Attributes:
        SETTINGS: Struct of the settings that a recipe of this tracker may have.
        TASKS: Names of the training tasks, in order; each task trains one model. A tracker with
            one model has the single task "", which is trained in the run folder itself. Any other
            task is trained in the subfolder of its name.
    """

    SETTINGS: ClassVar[type[Settings]]
    TASKS: ClassVar[tuple[str, ...]]

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """Choose the dev rows that training evaluates on.

        Args:
            rows: All rows of the dev split under the original schemas.
            count: Approximate number of rows that the recipe asks for.
        """
        ...

    @classmethod
    def task(cls, run: Run, name: str) -> Task:
        """Build what the training loop needs for one of ``TASKS``: model, batches, evaluation.

        Raises:
            SgdxError: The recipe, its model or the data cannot be used.
        """
        ...

    @staticmethod
    def example(repository: str, settings: Row) -> str:
        """Python code for the model card that loads the model and applies it to one turn.

        Args:
            repository: Where the model is: a folder, or a name on the Hub.
            settings: The recipe's settings, as stored in ``run.json``.
        """
        ...


def get_tracker(name: str) -> type[Tracker]:
    """The class of the tracker with the given name in ``TRACKERS``.

    Raises:
        SgdxError: No tracker has this name, or what it needs is not installed.
    """
    if name not in TRACKERS:
        raise SgdxError(f"tracker '{name}' is unknown, expected one of {', '.join(TRACKERS)}")
    module, _, class_name = TRACKERS[name].partition(":")
    tracker_class: type[Tracker] = getattr(require(module, "baselines"), class_name)
    return tracker_class


def get_trainable(name: str) -> type[TrainableTracker]:
    """The class of the trainable tracker with the given name in ``TRACKERS``.

    Raises:
        SgdxError: No tracker has this name, or it is not trained.
    """
    kind: Any = get_tracker(name)
    if not learns(kind):
        raise SgdxError(f"tracker '{name}' learns nothing: use it with --tracker {name}")
    found: type[TrainableTracker] = kind
    return found


def learns(kind: type[Tracker]) -> bool:
    """Whether a tracker is trained, and so has recipes and models."""
    return hasattr(kind, "SETTINGS")


def tracker_of(model: str) -> str:
    """The name of the tracker that a run folder or a repository on the Hub belongs to.

    Training writes the name into ``run.json`` and into the ``config.json`` of every model.

    Raises:
        SgdxError: There is no such folder or repository, or it does not name a tracker.
    """
    for file, keys in (("run.json", ("record", "seen")), ("config.json", ("sgdx",))):
        path = model_file(model, file)
        found: Any = None
        if path:
            found = parse_json(read_file(path), object, str(path), "a record or configuration")
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, dict) and found.get("tracker"):
            return str(found["tracker"])
    raise SgdxError(
        f"{model}: found no tracker's name in run.json or config.json, expected a model of "
        "baselines.train; for another give --tracker"
    )


def trained_precision(model: str) -> Precision:
    """The precision that a model was trained in, from its ``run.json``; ``auto`` if it has none.

    Args:
        model: A run folder or a repository on the Hub.
    """
    path = model_file(model, "run.json")
    try:
        found: Any = msgspec.json.decode(path.read_bytes()) if path else None
        for key in ("record", "settings", "precision"):
            found = found.get(key) if isinstance(found, dict) else None
        precision: Precision = msgspec.convert(found, Precision)
        return precision
    except (OSError, ValueError, RecursionError):  # loading the model says what is wrong with it
        return "auto"


def model_file(model: str, name: str) -> Path | None:
    """The local path of a file of a model, downloaded if need be; None if it has no such file.

    Args:
        model: A folder or a repository on the Hub.
        name: Name of the file.

    Raises:
        SgdxError: There is no such folder or repository.
    """
    folder = Path(model)
    if folder.is_dir():
        return folder / name if (folder / name).is_file() else None
    try:
        return Path(hf_hub_download(model, name))
    except (OSError, HfHubHTTPError, HFValidationError) as error:
        # The Hub was reached and has the repository, which lacks the file.
        if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
            return None
        reason = str(error).strip().split("\n")[0]
        raise SgdxError(f"{model}: no such folder or repository: {reason}") from None
