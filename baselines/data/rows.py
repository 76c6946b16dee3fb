"""Rows to train on, to choose a model by and to predict: frames of trackers, turns of generators.

This is the only place that decides which rows and columns reach a system. It guards against two
leaks: gold annotations in prediction, and in training whatever models are judged on.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from datasets import Dataset, DatasetInfo, Features, Value, concatenate_datasets

from sgdx_dataset import SgdxError, load, open_release, tracker_inputs, turns
from sgdx_dataset.columns import TURN_COLUMNS
from sgdx_dataset.contamination import copied_dialogues, in_words
from sgdx_dataset.rewording.leaks import Leak, copied_variants, find_leak, judging_words
from sgdx_dataset.rows import domains_seen
from sgdx_dataset.source import resolve_source
from sgdx_eval.requested import RowsOf, frame_rows

from ..run_folder import public_settings, read_json, read_provenance
from ..settings import TINY, Provenance, TrainingSettings
from ..system import System
from .augment import augmented, second_corpus

Kind = Literal["frames", "turns"]
TURN = ("turn_id", "variant", "dialogue_id", "service")  # visible to every generator
# What a generator may declare to read. ``original`` are the actions and the intent in the names of
# the original schemas, by which hand-written templates are found; they have the same values.
TURN_INPUTS = ("actions", "intent", "schemas", "original")


class TrainingRows(NamedTuple):
    """What a model is trained on."""

    rows: Dataset  # frame rows, or a generator's turn rows, with all columns
    provenance: Provenance  # of a model that is trained on them
    data: str  # a digest of the rows' identities, and of the files that they were made from


def training_rows(
    settings: TrainingSettings, source: str | None, oracle: bool, kind: Kind = "frames"
) -> TrainingRows:
    """Rows of the train split under the original schemas, then of the augmentation, then of also.

    Raises:
        SgdxError: They have met what models are judged on, and ``oracle`` does not allow it.
    """
    rows_of, revision = ROWS_OF[kind], getattr(settings, "revision", None)
    names = [settings.model, *getattr(settings, "average", ())]
    starts = [_start(name, revision, oracle) for name in names if name != TINY]
    leak = original_leak(source, oracle)
    rows = rows_of(load("original", "train", source), "train", source)
    train: tuple[str, ...] = ("original",)
    schemas = ""
    augment, also = settings.augment, settings.also
    made_from = [open_release(source).data_digest("train", "original")]
    if augment is not None:
        more_rows, schemas, more = augmented(augment, source, rows_of)
        leak = _joined(leak, more, oracle, f"augment: {augment.schemas} has")
        train = (*train, *more_rows.unique("variant"))
        rows = concatenate_datasets([rows, more_rows])
    rows = random_dialogues(rows, settings)
    if also is not None:
        more_rows, more = second_corpus(also, source, len(rows), settings.seed, rows_of)
        leak = _joined(leak, more, oracle, f"also: {also.source} has")
        second = open_release(also.source)
        made_from += [second.data_digest("train", variant) for variant in also.variants]
        rows = concatenate_datasets([rows, more_rows])
    public = public_settings(settings)
    provenance = Provenance(
        tracker=settings.tracker,
        train=train,
        augment=public.augment,
        also=public.also,
        schemas=schemas,
        overlaps=leak.overlaps,
        oracle=leak.oracle,
        seed=settings.seed,
    )
    for start in filter(None, starts):
        provenance = provenance.continued_from(start)
    facts = "\n".join([*made_from, schemas, describe(rows)["sha256"]])
    return TrainingRows(rows, provenance, hashlib.sha256(facts.encode()).hexdigest())


def _start(name: str, revision: str | None, oracle: bool) -> Provenance | None:
    """The provenance of a model that a recipe starts from; None for one that has not seen SGD."""
    try:
        if "sgdx" not in (read_json(name, "config.json", revision) or {}):
            return None
        start = read_provenance(name, Provenance, revision)
    except SgdxError as error:
        reason = str(error).removeprefix(f"{name}: ")
        raise SgdxError(f"{name}: model cannot be loaded: {reason}") from None
    _joined(Leak(0, False), Leak(start.overlaps, start.oracle), oracle, f"model: {name} saw")
    return start


def _joined(leak: Leak, more: Leak, oracle: bool, culprit: str) -> Leak:
    """Both leaks together; the second one is refused where it is one, but for an oracle."""
    if more.oracle and not oracle:
        raise SgdxError(
            f"{culprit} texts of variants that trackers are judged on ({more.overlaps}), expected "
            "none; for an upper bound that sees them, and says so, give --oracle"
        )
    if more.copied and not oracle:
        raise SgdxError(
            f"{culprit} what users say in a test split: {more.copied}, expected neither; for an "
            "upper bound that sees them, and says so, give --oracle"
        )
    is_oracle = leak.oracle or more.oracle or bool(more.copied)
    return Leak(leak.overlaps + more.overlaps, is_oracle)


def original_leak(source: str | None, oracle: bool) -> Leak:
    """What the train and dev splits of a source have in common with what models are judged on."""
    release = open_release(source)
    words, leak = judging_words(release), Leak(0, False)
    for split in ("train", "validation"):  # a model is chosen on dev
        if split in release.schema_splits("original"):
            found = find_leak({"original": release.schema(split, "original")}, words)
            culprit = f"{release.name}: {release.schema_file(split, 'original')} has"
            joined = _joined(leak, found, oracle, culprit)
            leak = joined if split == "train" else Leak(leak.overlaps, joined.oracle)
    said = in_words(copied_dialogues(release, release))
    leak = _joined(leak, Leak(0, oracle=False, copied=said), oracle, f"{release.name}: has")
    if (copies := copied_variants(release)) and not oracle:
        raise SgdxError(
            f"{release.name}: {', '.join(copies)} have the original schemas' texts, expected other "
            "words, because otherwise they measure no robustness; to train anyway, as an upper "
            "bound that every file states, give --oracle"
        )
    return Leak(leak.overlaps, leak.oracle or bool(copies))


def random_dialogues(rows: Dataset, settings: TrainingSettings) -> Dataset:
    """The rows of as many random dialogues as the recipe asks for, the same under all schemas."""
    if settings.train_dialogues is None:
        return rows
    names = rows["dialogue_id"][:]
    dialogues = sorted(set(names))
    if len(dialogues) < settings.train_dialogues:
        raise SgdxError(
            f"train_dialogues: {settings.train_dialogues}, found {len(dialogues)} dialogues in "
            "train, expected at least as many"
        )
    order = np.random.default_rng(settings.seed).permutation(len(dialogues))
    drawn = {dialogues[number] for number in order[: settings.train_dialogues].tolist()}
    return rows.select([index for index, name in enumerate(names) if name in drawn])


def counted_rows(source: str | None, system: System) -> Dataset:
    """The rows of train that a system without a network counts: original ones, with gold."""
    original_leak(source, oracle=False)
    rows = ROWS_OF[system.ROWS](load("original", "train", source), "train", source)
    return visible(rows, system, gold=True)


def dev_rows(source: str | None, kind: Kind = "frames") -> Dataset:
    """Rows of the dev split under the original schemas."""
    return ROWS_OF[kind](load("original", "validation", source), "validation", source)


def judging_rows(dev: Dataset, settings: TrainingSettings, system_class: Any) -> Dataset:
    """The dev rows that a model is chosen by; as many of a second corpus besides."""
    rows: Dataset = system_class.dev(dev, settings.evaluate_frames)
    if settings.also is None:
        return rows
    of_second = dev_rows(settings.also.source, system_class.ROWS)
    second = system_class.dev(of_second, settings.evaluate_frames)
    if not {*rows["dialogue_id"]}.isdisjoint(second["dialogue_id"]):
        ids = [c for c in ("dialogue_id", "frame_id", "turn_id") if c in second.column_names]
        second = second.map(lambda row: {column: f"also-{row[column]}" for column in ids})
    return concatenate_datasets([rows, second])


def evenly_spaced(rows: Dataset, count: int) -> Dataset:
    """Select ``count`` evenly spaced rows, or all if there are fewer."""
    count = min(count, len(rows))
    return rows.select([len(rows) * i // count for i in range(count)])


def whole_dialogues(rows: Dataset, count: int) -> Dataset:
    """Select evenly spaced dialogues that have about ``count`` frame rows together."""
    ids = np.array(rows["dialogue_id"][:])
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    size = min(len(starts), max(1, round(len(starts) * count / len(rows))))
    picked = starts[np.arange(size) * len(starts) // size]
    return rows.select(np.flatnonzero(np.isin(ids, ids[picked])))


def describe(rows: Dataset) -> dict[str, Any]:
    """The number of frames or turns and a SHA-256 of their identities, for the record of a run."""
    kind, key = ("frames", "frame_id") if "frame_id" in rows.column_names else ("turns", "turn_id")
    names = "\n".join(f"{v} {i}" for v, i in zip(rows["variant"][:], rows[key][:]))
    return {kind: len(rows), "sha256": hashlib.sha256(names.encode()).hexdigest()}


def visible(rows: Dataset, system: System | type[System], *, gold: bool = False) -> Dataset:
    """Rows with only the columns that identify them and those that a system declares to read.

    ``gold`` adds the gold states, or the gold utterance: for training, never for prediction.
    """
    reads = system.READS
    if system.ROWS == "frames":
        columns = tracker_inputs.training_columns if gold else tracker_inputs.input_columns
        return columns(rows, reads)
    if wrong := [name for name in reads if name not in TURN_INPUTS]:
        raise SgdxError(
            f"a generator asks to read {', '.join(wrong)}, expected only {', '.join(TURN_INPUTS)}"
        )
    names = [*TURN, *(name for name in reads if name != "original")]
    names += ["original_actions", "original_intent"] if "original" in reads else []
    return rows.select_columns([*names, *(["utterance"] if gold else [])])


def turn_rows(dialogues: Dataset, split: str, source: str | None) -> Dataset:
    """The turn rows of dialogue rows, with their dialogue and their actions' original names."""
    domains = domains_seen(open_release(resolve_source(source)))
    rows = turns(dialogues, domains)
    same = set(dialogues.unique("variant")) == {"original"}
    original = rows if same else turns(load("original", split, source), domains)
    ids = list(rows["turn_id"])
    row_of = {name: index for index, name in enumerate(original["turn_id"])}
    # A left join by `turn_id`: `take` at a null index, of a turn that the originals lack, is null.
    matches = pa.array([row_of.get(name) for name in ids], pa.int64())
    named = original.select_columns(["actions", "intent"]).with_format("arrow")[:]
    features = Features(
        {
            "dialogue_id": Value("string"),
            "original_actions": Features.from_arrow_schema(TURN_COLUMNS)["actions"],
            "original_intent": Value("string"),
        }
    )
    columns = [
        pa.array([name.rpartition("/")[0] for name in ids], pa.string()),
        *(named[name].take(matches) for name in ("actions", "intent")),
    ]
    state = f"{rows._fingerprint} {original._fingerprint} more columns"
    fingerprint = hashlib.sha256(state.encode()).hexdigest()[:16]
    table = pa.table(dict(zip(features, columns)))
    more = Dataset(table, DatasetInfo(features=features), fingerprint=fingerprint)
    return concatenate_datasets([rows, more], axis=1)


ROWS_OF: dict[Kind, RowsOf] = {"frames": frame_rows, "turns": turn_rows}
