"""What is scored, where each item belongs, and what a mean is taken over: frames or whole turns."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import Bools, Floats, Ints, column, integers
from .errors import ScoreError
from .result import ALL, SEEN
from .signature import Rules, Subset

Names = np.ndarray[tuple[int], np.dtype[np.object_]]
_JOINT = ("jga", "joint_cat_accuracy", "joint_noncat_accuracy", "change", "canonical")


@dataclass(frozen=True)
class ScoredFrames:
    """The scores of one variant's frames, whatever was predicted."""

    frame_id: pa.Array  # sorted, the same under every variant [frames]
    # Whether the service is in the original train split [frames].
    seen: Bools
    # By metric, values in [0, 1], NaN where undefined [frames].
    scores: Mapping[str, Floats]


@dataclass(frozen=True)
class Items:
    """What is scored under every variant: frames, calls, cases, or the turns of a dialogue."""

    ids: pa.Array  # [items]
    # Codes, the same for items of one dialogue or of one turn [items].
    dialogue: Ints
    turn: Ints
    # Original names of the services [items].
    service: Names
    # Whether each item is in a set of services, by the set's name, such as `seen` [items].
    sets: Mapping[str, Bools]

    @property
    def seen(self) -> Bools:
        """Whether the service is in the original train split [items]."""
        return self.sets[SEEN]

    def groups(self) -> dict[str, Ints]:
        """Positions of all items, of those in and outside each set, and of each service."""
        groups = {ALL: np.arange(len(self.ids))}
        for name, member in self.sets.items():
            groups[name] = np.flatnonzero(member)
            groups[f"un{name}"] = np.flatnonzero(~member)
        return groups | {name: np.flatnonzero(self.service == name) for name in self.services()}

    def services(self) -> list[str]:
        """The original names of all services, sorted."""
        return sorted(set(self.service) - {""})


@dataclass(frozen=True)
class Scores:
    """The scores of items under every variant: what statistics, comparisons and pages read."""

    variants: Sequence[str]
    items: Items
    # By column, NaN where undefined [variants, items].
    metrics: Mapping[str, Floats]
    # What the sensitivity makes of an item that scores 0 throughout, as in `Rules`.
    zero_mean: str = "0"

    def only(self, members: Ints) -> "Scores":
        """The scores of the items at some positions."""
        of = self.items
        items = Items(
            of.ids.take(pa.array(members)),
            of.dialogue[members],
            of.turn[members],
            of.service[members],
            {name: member[members] for name, member in of.sets.items()},
        )
        metrics = {name: rows[:, members] for name, rows in self.metrics.items()}
        return replace(self, items=items, metrics=metrics)


def index_frames(frame_id: pa.Array, seen: Bools) -> Items:
    """Read off ids `<dialogue>/<turn>/<original service>`, sorted, where the frames belong."""
    service = pc.replace_substring_regex(frame_id, "^.*/", "").to_numpy(zero_copy_only=False)
    # Ids are sorted, so that those of one dialogue, and of one turn, are neighbours.
    dialogue, turn = (
        integers(pc.replace_substring_regex(frame_id, end, "").dictionary_encode().indices)
        for end in ("(/[^/]*){2}$", "(/[^/]*){1}$")
    )
    return Items(frame_id, dialogue, turn, service, {SEEN: seen})


def unit_scores(metric: str, scores: Floats, turn: Ints, rules: Rules) -> Floats:
    """The scores whose mean is taken: those of frames or, by some rules, of turns [..., frames].

    A joint accuracy across turns is the product of each turn's defined scores. It stands at the
    turn's first frame, and its other frames have none. The frames of a turn are beside each other.
    """
    if not (rules.joint_acc_across_turn and metric in _JOINT and len(turn)):
        return scores
    start = np.flatnonzero(np.diff(turn, prepend=-1))
    defined = ~np.isnan(scores)
    product = np.multiply.reduceat(np.where(defined, scores, 1.0), start, axis=-1)
    of_turns = np.full_like(scores, np.nan)
    is_defined = np.logical_or.reduceat(defined, start, axis=-1)
    of_turns[..., start] = np.where(is_defined, product, np.nan)
    return of_turns


def subset_of(references: pa.Table, dialogue_ids: Collection[str], where: str) -> Subset:
    """Choose dialogues of the split of some references; a fault is of the list `where`."""
    if not dialogue_ids:
        raise ScoreError(f"{where}: found no dialogue ids, expected one at least")
    available = dialogue_ids_of(references)
    if lacking := [dialogue_id for dialogue_id in dialogue_ids if dialogue_id not in available]:
        raise ScoreError(
            f"{where}: {len(lacking)} of {len(dialogue_ids)} dialogues are not in the references, "
            f"the first is {lacking[0]}, expected those of the same source and split"
        )
    return Subset(tuple(dialogue_ids), len(available))


def only_dialogues(rows: pa.Table, subset: Subset) -> pa.Table:
    """The rows, references or predictions, of a subset's dialogues."""
    dialogue_ids = pa.array(sorted(subset.dialogue_ids), pa.string())
    return rows.filter(pc.is_in(_dialogues(column(rows, "frame_id")), value_set=dialogue_ids))


def only_services(rows: pa.Table, services: Collection[str]) -> pa.Table:
    """The rows, references or predictions, of services, which go by their original names."""
    names = pc.replace_substring_regex(column(rows, "frame_id").cast(pa.string()), "^.*/", "")
    return rows.filter(pc.is_in(names, value_set=pa.array(sorted(services), pa.string())))


def dialogue_ids_of(rows: pa.Table) -> set[str]:
    """The ids of the dialogues that rows belong to."""
    return set(pc.unique(_dialogues(column(rows, "frame_id"))).to_pylist())


def _dialogues(frame_ids: pa.Array) -> pa.Array:
    """The dialogue that each frame id begins with [frames]."""
    return pc.replace_substring_regex(frame_ids.cast(pa.string()), "(/[^/]*){2}$", "")
