"""What every system is, and the list of systems. This module does not import torch.

A system is a tracker, which predicts the dialogue state of each frame of a user turn, or a
generator, which predicts the utterance of each system turn. ``baselines/README.md`` shows how to
add one. Those that are trained are ``Tracker`` or ``Generator`` of ``tracker.py``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.errors import one_of
from sgdx_dataset.io.extras import require

from .settings import PredictionOptions, TrainingSettings

if TYPE_CHECKING:  # slow to import
    from datasets import Dataset

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


class System:
    """A tracker or a generator. One that is not trained is created without arguments.

    Attributes:
        NAME: Name of the system in ``SYSTEMS``, in recipes and in every file that it writes; for
            one that is not registered, in the files alone.
        ROWS: What it predicts: ``frames`` of user turns, or ``turns`` of the system. The commands
            choose data and metric by it.
        READS: The parts of a row that it reads, taken from ``tracker_inputs.INPUTS`` or
            ``data.rows.TURN_INPUTS``; all other parts are hidden from it.
        Settings: Struct of its recipes; None if it is not trained.
        Options: Struct of the options that it adds to ``predict`` and ``evaluate``.
        counts: Figures about what ``track`` predicts, which it may add up for the header.
    """

    NAME: ClassVar[str]
    ROWS: ClassVar[Literal["frames", "turns"]] = "frames"
    READS: ClassVar[tuple[str, ...]]
    Settings: ClassVar[type[TrainingSettings] | None] = None
    Options: ClassVar[type[PredictionOptions]] = PredictionOptions
    counts: Counter[str] = Counter()  # noqa: RUF012  # ``predict`` gives each system its own

    def describe(self) -> Row:
        """Facts about the system for the header of a prediction file, as JSON values."""
        return {}

    def track(self, rows: Dataset) -> Iterable[Row]:
        """Predict the dialogue state of every frame row; a generator, what every turn row says.

        ``predicting.predict`` calls it with the columns that the system declares to read.

        Args:
            rows: Rows of whole dialogues in order, of one or several schema variants.

        Returns:
            One prediction row for each row, in their order.
        """
        raise NotImplementedError


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
    place = registered[name].value if name in registered.names else name
    if ":" not in place:
        known = one_of(name, [*SYSTEMS, *registered.names])
        raise SgdxError(f"tracker '{name}' is unknown, {known} (or MODULE:CLASS for your own)")
    module, class_name = place.split(":", 1)
    if (folder := str(Path.cwd())) not in sys.path:  # where python -m looks, and sgdx does not
        sys.path.append(folder)
    try:
        own: Any = getattr(import_module(module), class_name, None)
    except ModuleNotFoundError as error:
        raise SgdxError(f"tracker '{name}': found no module {error.name} to import") from None
    lacking = [part for part in ("NAME", "ROWS", "READS", "track") if not hasattr(own, part)]
    if own is None or lacking:
        found = f"a {class_name} without {', '.join(lacking)}" if own else "none"
        expected = f"expected the class {class_name} of a tracker in {module}"
        raise SgdxError(f"tracker '{name}': {expected}, found {found}")
    own_class: type[System] = own
    return own_class


def get_trainable(name: str) -> Any:
    """The class of a system that is trained, from what ``get_system`` takes."""
    system_class = get_system(name)
    if system_class.Settings is None:
        raise SgdxError(f"tracker '{name}' is not trained: use it with --tracker {name}")
    return system_class


def structs_of(name: str) -> Any:
    """What has the ``Settings`` and ``Options`` of a system: a module beside it, or its class."""
    package = SYSTEMS.get(name, "").rpartition(".system:")[0]
    return import_module(f"{package}.settings") if package else get_system(name)


def read_options(name: str, given: Mapping[str, str]) -> PredictionOptions:
    """A system's options of prediction, from what a command line has of them."""
    kind: type[PredictionOptions] = structs_of(name).Options
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
    shapes = msgspec.inspect.type_info(structs_of(name).Options)
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
