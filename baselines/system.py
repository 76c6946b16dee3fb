"""The interface that every system implements, and the list of systems.

A system is a tracker, which predicts the dialogue state of each frame of a user turn, or a
generator, which predicts the utterance of each system turn. ``baselines/README.md`` shows how to
add one. This module does not import torch.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from string import Template
from textwrap import fill
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    TypeGuard,
    TypeVar,
)

import msgspec
from datasets import Dataset
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
)
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from sgdx_dataset import SgdxError
from sgdx_dataset.io.errors import one_of
from sgdx_dataset.io.extras import require
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import decode_json
from sgdx_dataset.push import check_hub

from .run_folder import READY
from .settings import OPTIONS, AnySettings, PredictionOptions, Settings
from .task import AnyProvenance, Provenance, Run, Task

if TYPE_CHECKING:  # it needs torch, and a system that is not trained runs without it
    from accelerate import Accelerator

SYSTEMS = {
    "lexical": "baselines.lexical:LexicalTracker",
    "t5dst": "baselines.t5dst.system:T5Tracker",
    "sgp_dst": "baselines.sgp_dst.system:SgpTracker",
    "sgd_baseline": "baselines.sgd_baseline.system:SgdTracker",
    "onepass": "baselines.onepass.system:OnePassTracker",
    "t2g2": "baselines.t2g2.system:T2G2Generator",
}
ENTRY_POINTS = "sgdx.systems"  # where installed packages register systems of their own
Row = dict[str, Any]


class Predictions(NamedTuple):
    """What a tracker returns for frame rows, and a generator for turn rows."""

    rows: list[Row]  # in the order of the rows that were predicted
    counts: dict[str, Any]  # figures about the prediction for the header of its file


class System(Protocol):
    """A tracker or a generator that is ready to predict.

    A class that is not trained, and so is no ``TrainableSystem``, is created without arguments.

    Attributes:
        NAME: Name of the system in ``SYSTEMS``, in recipes and in every file that it writes; for
            one that is not registered, in the files alone.
        ROWS: What it predicts: ``frames`` of user turns, or ``turns`` of the system. The commands
            choose data and metric by it.
        READS: The parts of a row that it reads, taken from ``tracker_inputs.INPUTS`` or
            ``data.turns.INPUTS``; all other parts are hidden from it.
        OPTIONS: Struct of the options that the system adds to ``predict`` and ``evaluate``.
    """

    NAME: ClassVar[str]
    ROWS: ClassVar[Literal["frames", "turns"]]
    READS: ClassVar[tuple[str, ...]]
    OPTIONS: ClassVar[type[PredictionOptions]] = PredictionOptions

    def describe(self) -> Row:
        """Facts about the system for the header of a prediction file, as JSON values."""
        return {}

    def predict(self, rows: Dataset, chunks: Path) -> Predictions:
        """Predict the dialogue state of every frame row, or the utterance of every turn row.

        Call it through ``data.frames.track`` or ``data.turns.generate``, which hide the columns
        that it may not read.

        Args:
            rows: Rows of whole dialogues in order, of one or several schema variants.
            chunks: Folder for partial results, from which a killed run can resume; it need not
                exist.

        Returns:
            One prediction row for each row, the same in every process.
        """
        ...


class Tracker(System, Protocol):
    """A system that predicts the dialogue state of each frame of a user turn."""

    ROWS: ClassVar[Literal["frames", "turns"]] = "frames"


class Generator(System, Protocol):
    """A system that predicts the utterance of each system turn."""

    ROWS: ClassVar[Literal["frames", "turns"]] = "turns"


AnyOptions = TypeVar("AnyOptions", bound=PredictionOptions, contravariant=True)


class TrainableSystem(System, Protocol[AnyOptions, AnySettings]):
    """A system that is trained from a recipe; ``trained.py`` has what such systems share.

    Attributes:
        SETTINGS: Struct of the settings that a recipe of this system may have. Its ``TASKS`` are
            the names of the training tasks, in order; each task trains one model. A system with
            one model has the single task "", which is trained in the run folder itself. Any other
            task is trained in the subfolder of its name.
    """

    SETTINGS: ClassVar[type[Settings]]

    @classmethod
    def load(cls, model: str, options: AnyOptions, accelerator: Accelerator) -> Self:
        """Load a trained system that is ready to predict.

        Args:
            model: A run folder or a repository on the Hub.
            options: Options of the type ``OPTIONS``.
            accelerator: The processes and the device.

        Raises:
            SgdxError: The model does not exist, or belongs to another system.
        """
        ...

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """Choose the dev rows that training evaluates on.

        Args:
            rows: All rows of the dev split under the original schemas.
            count: Approximate number of rows that the recipe asks for.
        """
        ...

    @classmethod
    def task(cls, run: Run[AnySettings], name: str) -> Task:
        """Build what the training loop needs for one of its tasks: model, batches, evaluation.

        Raises:
            SgdxError: The recipe, its model or the data cannot be used.
        """
        ...

    @classmethod
    def example(cls, repository: str, settings: Row) -> str:
        """Python code for the model card that loads the model and applies it to one turn.

        Args:
            repository: Where the model is: a folder, or a name on the Hub.
            settings: The recipe's settings, as stored in ``run.json``.
        """
        path = Path(__file__).parent / "cards" / f"{cls.NAME}.txt"
        text = path.read_text("utf-8") if path.exists() else ""
        return Template(text).substitute(repository=repr(repository))


SystemClass = type[TrainableSystem[Any, Any]]


def get_system(name: str) -> type[System]:
    """The class of a system.

    Args:
        name: One of ``SYSTEMS``, an entry point of an installed package, or ``MODULE:CLASS`` for a
            class of a module of yours, which Python can import.

    Raises:
        SgdxError: There is no such system, or what it needs is not installed.
    """
    if name in SYSTEMS:
        module, _, class_name = SYSTEMS[name].partition(":")
        system_class: type[System] = getattr(require(module, "baselines"), class_name)
        return system_class
    registered = entry_points(group=ENTRY_POINTS)
    if name in registered.names:
        return _own_system(name, *registered[name].value.split(":"))
    if ":" in name:
        return _own_system(name, *name.split(":", 1))
    known = one_of(name, [*SYSTEMS, *registered.names])
    raise SgdxError(f"tracker '{name}' is unknown, {known} (or MODULE:CLASS for your own)")


def read_options(name: str, given: Mapping[str, str]) -> PredictionOptions:
    """A system's options of prediction, from what a command line has of them."""
    kind = OPTIONS.get(name) or get_system(name).OPTIONS
    options = {option.removeprefix("--").replace("-", "_"): given[option] for option in given}
    known = [_option(field) for field in kind.__struct_fields__]
    for field in options:
        if field not in kind.__struct_fields__:
            expected = f"one of {', '.join(known)}" if known else "no option of its own"
            raise SgdxError(f"{_option(field)}: unknown, and {name} has {expected}")
    try:
        return msgspec.convert(options, kind, strict=False)
    except msgspec.ValidationError as error:
        reason, _, field = str(error).partition(" - at `$.")
        raise SgdxError(f"{_option(field.rstrip('`'))}: {reason}") from None


def option_help(name: str) -> str:
    """The options of prediction that a system has, a paragraph each."""
    shapes = msgspec.inspect.type_info(OPTIONS.get(name) or get_system(name).OPTIONS)
    assert isinstance(shapes, msgspec.inspect.StructType)  # noqa: S101
    lines = [f"Options of {name}:{'' if shapes.fields else ' none'}"]
    for shape in shapes.fields:
        schema = getattr(shape.type, "extra_json_schema", None) or {}
        default = "" if shape.default is None else f" [default: {shape.default}]"
        text = (
            f"{_option(shape.name)} {shape.name.upper()}  {schema.get('description', '')}{default}"
        )
        lines.append(fill(text, 78, initial_indent="  ", subsequent_indent="      "))
    return "\n".join(lines)


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def _own_system(name: str, module: str, class_name: str) -> type[System]:
    """The class of a system that is not of this package, such as one in the current folder."""
    if (folder := str(Path.cwd())) not in sys.path:  # where python -m looks, and sgdx does not
        sys.path.append(folder)
    try:
        system_class: Any = getattr(import_module(module), class_name, None)
    except ModuleNotFoundError as error:
        raise SgdxError(f"tracker '{name}': found no module {error.name} to import") from None
    parts = ("NAME", "ROWS", "READS", "OPTIONS", "describe", "predict")
    lacking = [part for part in parts if not hasattr(system_class, part)]
    if system_class is None or lacking:
        found = f"a {class_name} without {', '.join(lacking)}" if system_class else "none"
        raise SgdxError(
            f"tracker '{name}': expected the class {class_name} of a tracker in {module}, found "
            f"{found}"
        )
    own_class: type[System] = system_class
    return own_class


def get_trainable(name: str) -> SystemClass:
    """The class of a system that is trained, from what ``get_system`` takes."""
    system_class = get_system(name)
    if not is_trainable(system_class):
        raise SgdxError(f"tracker '{name}' is not trained: use it with --tracker {name}")
    return system_class


def is_trainable(system_class: type[System]) -> TypeGuard[SystemClass]:
    """Whether a system is trained, and so has recipes and models."""
    return hasattr(system_class, "SETTINGS")


def recorded_name(model: str) -> str:
    """The name of the system that a run folder or a repository on the Hub belongs to."""
    for file, keys in (("run.json", ("record", "seen")), ("config.json", ("sgdx",))):
        found: Any = read_json(model, file)
        for key in (*keys, "tracker"):
            found = found.get(key) if isinstance(found, dict) else None
        if found and ":" in str(found):  # a model must not choose which code is imported
            raise SgdxError(f"{model}: is of the tracker {found}; name it with --tracker {found}")
        if found:
            return str(found)
    raise SgdxError(
        f"{model}: found no tracker's name in run.json or config.json, expected a model of "
        "sgdx train; for another give --tracker"
    )


def recorded_settings(model: str) -> Row:
    """The recipe that a model was trained with, from its ``run.json``; empty if it has none."""
    run = read_json(model, "run.json") or {}
    settings: Row = run.get("record", {}).get("settings", {})
    return settings


def model_provenance(model: str, revision: str | None = None) -> Provenance | None:
    """What a model was trained on, from its ``config.json``; None if it is none of this project."""
    stored = (read_json(model, "config.json", revision) or {}).get("sgdx")
    return None if stored is None else read_provenance(model, Provenance, revision)


def read_provenance(
    model: str, kind: type[AnyProvenance], revision: str | None = None
) -> AnyProvenance:
    """The provenance of a model of a system, from its ``config.json``."""
    config = read_json(model, "config.json", revision)
    if config is None:
        raise SgdxError(f"{model}: found no config.json, expected a model of sgdx train")
    try:
        return msgspec.convert(config.get("sgdx"), kind)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{model}: config.json: sgdx: {error}") from None


def read_json(model: str, name: str, revision: str | None = None) -> Row | None:
    """The content of a JSON file of a model; None if it has no such file."""
    path = model_file(model, name, revision)
    if path is None:
        return None
    return decode_json(read_file(path), Row, str(path), "a record or configuration")


def model_file(model: str, name: str, revision: str | None = None) -> Path | None:
    """The local path of a file of a model, downloaded if need be; None if it has no such file."""
    folder = Path(model)
    if folder.is_dir():
        if (folder / READY).exists():
            raise SgdxError(
                f"{model}: found parts of two models, because its training was stopped while it "
                "replaced one by the next, expected one; continue with sgdx train --resume"
            )
        return folder / name if (folder / name).is_file() else None
    check_hub()
    try:
        validate_repo_id(model)  # a path that is not there is no question for the Hub
        return Path(hf_hub_download(model, name, revision=revision))
    except (OSError, HfHubHTTPError, HFValidationError) as error:
        # The Hub was reached and has the repository, which lacks the file.
        if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
            return None
        reason = str(error).strip().split("\n")[0]
        raise SgdxError(
            f"{model}: no such folder or repository: {Path.cwd()} has no folder of this name, and "
            f"from the Hub: {reason}"
        ) from None
