"""Reading runs: what ``baselines.evaluate`` left in a folder, or any scores.json."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from sgdx_dataset import SgdxError
from sgdx_metric.cli.predictions import decode, prediction_paths
from sgdx_metric.columns import Floats, Ints, positions
from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import Rules, rules_of, signature_parts
from sgdx_metric.units import Places, places
from sgdx_metric.variants import ORIGINAL

# What differs between two runs of one system, or says where a run was made and not what it is.
_NOT_THE_SYSTEM = {
    "seed", "model", "weights", "counts", "versions", "source", "configs", "split", "variant",
    "dtype", "schemas", "overlaps",
}  # fmt: skip
# What an augmentation changes in the record of a run.
_AUGMENTATION = {"augment", "train", "oracle"}
# The parts of a signature that are the system's own, in which runs may differ and yet compare.
_OF_THE_SYSTEM = {"system-acts", "oracle"}
_FEW_FRAMES = 1000
_LONGEST_NAME = 80
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str, longest: int = 400) -> str:
    """A text without control characters and direction marks, cut where it is very long."""
    text = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return text if len(text) <= longest else f"{text[:longest]} …"


class Figures(msgspec.Struct, rename={"jga_v1_5": "jga_v1-5", "mean": "mean_v1-5"}):
    """The figures of some frames in scores.json: fractions, None where undefined."""

    jga_orig: float | None
    jga_v1_5: float | None
    relative_difference: float | None
    ss_jga: float | None
    mean: dict[str, float | None]
    sensitivity: dict[str, float | None]
    confidence: dict[str, tuple[float, float] | None] = {}


class AllFigures(Figures, kw_only=True):
    """The part ``sgdx`` of scores.json."""

    by_variant: dict[str, float | None]
    seen: Figures
    unseen: Figures
    by_service: dict[str, Figures]


class Paired(msgspec.Struct):
    """Every frame's joint goal accuracy, by variant."""

    frame_id: list[str]
    seen: list[str]
    joint_goal_accuracy: dict[str, list[float | None]]


class Scores(msgspec.Struct):
    """What the report reads of a scores.json."""

    signature: str
    variants: dict[str, dict[str, dict[str, float | None]]]
    sgdx: AllFigures
    frames: dict[str, int]
    paired: Paired


@dataclass(frozen=True)
class Run:
    """One run: its scores and what is known of the tracker.

    Attributes:
        path: What the user gave: the run folder or the scores.json.
        scores: The content of scores.json.
        facts: What the predictions say about the tracker; empty where they say nothing.
        settings: The recipe that the model was trained with; empty where it is not at hand.
        predictions: The prediction files by variant; empty where there are none.
    """

    path: Path
    scores: Scores
    facts: Mapping[str, Any]
    settings: Mapping[str, Any]
    predictions: Mapping[str, Path]

    @cached_property
    def parts(self) -> dict[str, str]:
        """The parts of the signature, by key."""
        return signature_parts(self.scores.signature, str(self.path))

    @cached_property
    def rules(self) -> Rules:
        """How the frames were scored, which the signature states."""
        return rules_of(self.parts)

    @cached_property
    def order(self) -> pa.Array:
        """The ids of the frames that were scored, sorted [frames]."""
        return pa.array(sorted(self.scores.paired.frame_id), pa.string())

    @cached_property
    def place(self) -> Places:
        """Where those frames belong."""
        seen = set(self.scores.paired.seen)
        ids = self.order.to_pylist()
        return places(self.order, np.array([i.rsplit("/", 1)[-1] in seen for i in ids], dtype=bool))

    @cached_property
    def jga(self) -> dict[str, Floats]:
        """Joint goal accuracy by variant, in the order of ``order`` [frames].

        Raises:
            ScoreError: scores.json has a frame twice, or not as many scores as frames.
        """
        paired = self.scores.paired
        found = pa.array(paired.frame_id, pa.string())
        at = np.argsort(positions(found, self.order, str(self.path)))
        for variant, values in paired.joint_goal_accuracy.items():
            if len(values) != len(at):
                raise ScoreError(
                    f"{self.path}: {len(values)} scores of {variant}, expected {len(at)}"
                )
        return {
            name: np.array(values, dtype=np.float64)[at]
            for name, values in paired.joint_goal_accuracy.items()
        }

    @cached_property
    def turn_number(self) -> Ints:
        """The number of each frame's user turn in its dialogue, from 1 [frames].

        The users of SGD speak first and then every second turn.
        """
        return np.array([int(i.split("/")[-2]) // 2 + 1 for i in self.order.to_pylist()])

    @property
    def _trained(self) -> list[dict[str, Any]]:
        """What is recorded of the training of the model, and of its sub-models if it has any."""
        parts = self.facts.get("parts")
        sub_models = parts.values() if isinstance(parts, dict) else ()
        return [one for one in (self.facts, *sub_models, self.settings) if isinstance(one, dict)]

    @property
    def seed(self) -> Any:
        """The seed of the training; None where it is not recorded."""
        return next((one["seed"] for one in self._trained if "seed" in one), None)

    @property
    def augmentation(self) -> str:
        """The reworded schemas that the tracker was trained on too; empty for none."""
        found = (one.get("augment") for one in self._trained)
        given = next((one for one in found if isinstance(one, dict)), None)
        if given is None:
            return "oracle" if self.oracle else ""
        ratio = given.get("ratio", 1)
        return f"{given.get('schemas')}{'' if ratio == 1 else f' x {ratio}'}"

    def key(self, without_augmentation: bool = False) -> str:
        """What runs of one system share, as JSON: all that is recorded of it but the seed.

        Args:
            without_augmentation: Whether to leave the augmentation out too, so that runs which
                differ in it alone have the same key.
        """
        left_out = _NOT_THE_SYSTEM | (_AUGMENTATION if without_augmentation else set())
        known = {"facts": self.facts, "settings": self.settings}
        if not self.facts:  # Nothing is known, so it is a system of its own.
            return str(self.path)
        kept = {name: _without(value, left_out) for name, value in known.items()}
        kept["model"] = self.settings.get("model") or ""
        if not without_augmentation:
            kept["schemas"] = self.augmentation
        return msgspec.json.encode(kept, order="deterministic").decode()

    def name(self) -> str:
        """A short name of the system, such as ``t5dst (d3st, t5-v1_1-base)``."""
        tracker = self.facts.get("tracker")
        if not tracker:
            folder = self.path if self.path.is_dir() else self.path.absolute().parent
            return printable(folder.absolute().name, _LONGEST_NAME)
        details = [self.facts.get("format"), self.settings.get("model")]
        shown = [str(one).rstrip("/").rsplit("/", 1)[-1] for one in details if one]
        shown = [one for one in shown if one not in (tracker, "tiny")]
        given = f" ({', '.join(shown)})" if shown else ""
        augmented = f" + {self.augmentation}" if self.augmentation else ""
        return printable(f"{tracker}{given}{augmented}", _LONGEST_NAME)

    @property
    def oracle(self) -> bool:
        """Whether the tracker was trained on the schemas that it is judged on."""
        said = any(one.get("oracle") is True for one in self._trained)
        return said or self.parts.get("oracle") == "yes"

    def marks(self) -> list[str]:
        """What must stand beside every figure of the run: oracle, random weights."""
        marks = []
        if self.oracle:
            marks.append("oracle: trained on v1 to v5")
        if any(one.get("model") == "tiny" for one in self._trained):
            marks.append("random weights")
        return marks


def _without(value: Any, names: set[str]) -> Any:
    """A nested value without the entries of some names."""
    if isinstance(value, dict):
        return {key: _without(inner, names) for key, inner in value.items() if key not in names}
    return value


def data_marks(parts: Mapping[str, str], frames: int) -> list[str]:
    """What must stand beside every figure on this data: a partial copy, few frames.

    Args:
        parts: The parts of a signature.
        frames: How many frames were scored.
    """
    marks = []
    release = parts.get("release", "unknown")
    if release.startswith("partial:"):
        found, _, whole = release.removeprefix("partial:").partition("/")
        marks.append(f"partial data: {int(found):,} of {int(whole):,} dialogues")
    if release == "sample":
        marks.append("the small sample corpus, not SGD")
    if "dialogues" in parts:
        marks.append(f"a subset of {parts['dialogues'].partition('@')[0]} dialogues")
    if frames < _FEW_FRAMES:
        marks.append(f"only {frames:,} frames")
    return marks


def read_run(path: Path) -> Run:
    """Read a run.

    Args:
        path: A folder with ``scores.json`` and ``predictions/VARIANT.jsonl``, as
            ``baselines.evaluate`` leaves it, or the path of a scores.json that has ``predictions``
            or ``VARIANT.jsonl`` beside it.

    Raises:
        ScoreError, SgdxError: The folder has no scores, or a file is malformed.
    """
    file = path / "scores.json" if path.is_dir() else path
    if not file.is_file():
        raise SgdxError(_why_no_scores(path))
    try:
        run = _read(path, file)
    except OSError as error:
        raise SgdxError(f"{error.filename}: {error.strerror}") from None
    _check(run)
    return run


def _read(path: Path, file: Path) -> Run:
    scores = decode(file.read_bytes(), Scores, str(file))
    paths = _predictions(file.parent, list(scores.variants))
    record = _object(file.parent / "run.json")
    facts = _inner(record, "evaluation") or _header(paths)
    trained = record if "record" in record else _object(Path(str(facts.get("model"))) / "run.json")
    return Run(path, scores, facts, _inner(_inner(trained, "record"), "settings"), paths)


def _inner(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object in a record; {} where there is none."""
    found = record.get(name)
    return found if isinstance(found, dict) else {}


def _why_no_scores(path: Path) -> str:
    if not path.exists():
        return f"{path}: no such file or folder, expected a run of baselines.evaluate"
    begun = [name for name in ("predictions", "run.json", "log.jsonl") if (path / name).exists()]
    if begun:
        return (
            f"{path}: found {begun[0]} but no scores.json, so the run is not finished; give the "
            "command of baselines.evaluate again"
        )
    return f"{path}: found no scores.json, expected a run of baselines.evaluate"


def _predictions(folder: Path, variants: Sequence[str]) -> dict[str, Path]:
    """The prediction files of a run by variant; {} unless all of its variants have one."""
    place = folder / "predictions"
    try:
        found = prediction_paths([str(place if place.is_dir() else folder)], variants)
    except ScoreError:
        return {}
    return found if set(found) == set(variants) else {}


def _header(paths: Mapping[str, Path]) -> dict[str, Any]:
    """What the first prediction file says about itself; {} where it says nothing."""
    for path in paths.values():
        if path.is_file():
            with path.open("rb") as file:
                line = file.readline()
            if line.lstrip().startswith(b'{"metadata"'):
                found = decode(line, dict[str, dict[str, Any]], f"{path}:1")
                return found["metadata"]
        break
    return {}


def _object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; {} where the file is not there."""
    if not path.is_file():
        return {}
    return decode(path.read_bytes(), dict[str, Any], str(path))


def _check(run: Run) -> None:
    """Refuse scores that contradict themselves.

    Raises:
        ScoreError: The frames do not match, or there are none.
    """
    if not run.scores.paired.frame_id:
        raise ScoreError(f"{run.path}: found no frames in scores.json, expected at least one")
    for one in run.scores.paired.frame_id:
        if one.count("/") < 2 or not one.split("/")[-2].isdigit():
            raise ScoreError(f"{run.path}: frame id is '{one}', expected DIALOGUE/TURN/SERVICE")
    if set(run.jga) != set(run.scores.variants):
        raise ScoreError(
            f"{run.path}: 'paired' has the variants {', '.join(run.jga)}, expected "
            f"{', '.join(run.scores.variants)} as in 'variants'"
        )
    _ = run.rules


@dataclass(frozen=True)
class System:
    """Runs that differ in their seed alone.

    Attributes:
        name: A name that no other system of the report has.
        runs: The runs, at least one.
    """

    name: str
    runs: Sequence[Run]

    @property
    def first(self) -> Run:
        """The run that examples are taken from."""
        return self.runs[0]

    @property
    def marks(self) -> list[str]:
        """What must stand beside every figure of the system."""
        seeds = f"{len(self.runs)} seeds"
        return [*self.first.marks(), *([seeds] if len(self.runs) > 1 else [])]

    @property
    def label(self) -> str:
        """The name with its marks."""
        return f"{self.name} [{'; '.join(self.marks)}]" if self.marks else self.name


@dataclass(frozen=True)
class Group:
    """Systems that were scored alike on the same frames, so that their figures compare.

    Attributes:
        systems: The systems.
        number: The group's number in the report, from 1.
    """

    systems: Sequence[System]
    number: int

    @property
    def first(self) -> Run:
        """Any run of the group; all have the same frames and rules."""
        return self.systems[0].first

    @property
    def variants(self) -> list[str]:
        """The schema variants that were scored."""
        return list(self.first.scores.variants)

    @property
    def marks(self) -> list[str]:
        """What must stand beside every figure of the group."""
        return data_marks(self.first.parts, self.first.scores.frames.get("all", 0))

    @property
    def signatures(self) -> dict[str, str]:
        """The signatures of the group's runs, which differ in the systems' own parts alone.

        Each comes with the names of its systems; with an empty text where there is one for all.
        """
        names: dict[str, list[str]] = {}
        for system in self.systems:
            for signature in dict.fromkeys(run.scores.signature for run in system.runs):
                names.setdefault(signature, []).append(system.name)
        if len(names) == 1:
            return dict.fromkeys(names, "")
        return {signature: ", ".join(of) for signature, of in names.items()}


def group_runs(runs: Sequence[Run]) -> list[Group]:
    """Put runs that compare into groups, and runs of one system with different seeds together."""
    by_data: dict[str, list[Run]] = {}
    for run in runs:
        compared = {k: v for k, v in run.parts.items() if k not in _OF_THE_SYSTEM}
        frames = hash(tuple(run.order.to_pylist()))
        by_data.setdefault(f"{compared} {frames}", []).append(run)
    return [Group(_systems(these), i) for i, these in enumerate(by_data.values(), 1)]


def _systems(runs: Sequence[Run]) -> list[System]:
    """The systems of some runs, under names of their own."""
    found: dict[tuple[str, int], list[Run]] = {}
    for run in runs:
        repeated = 0  # A second run of the same seed is no other seed: it stays by itself.
        while any(run.seed == one.seed for one in found.get((run.key(), repeated), [])):
            repeated += 1
        found.setdefault((run.key(), repeated), []).append(run)
    names = [these[0].name() for these in found.values()]
    systems = []
    for these, name in zip(found.values(), names):
        twice = names.count(name) > 1
        systems.append(System(f"{name}, {these[0].path}" if twice else name, these))
    return systems


def original_first(variants: Sequence[str]) -> list[str]:
    """The variants, the original before the others."""
    return sorted(variants, key=lambda name: name != ORIGINAL)
