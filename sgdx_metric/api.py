"""The Python door: score rows, or files, and have the result that scores.json holds."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from .errors import ScoreError
from .figures import figures
from .result import Result
from .rows import Prediction, Reference, rows_table
from .scoring import (
    STATE_METRICS,
    cautions,
    frame_scores,
    score_variants,
    slot_counts,
    state_signature,
)
from .signature import OFFICIAL, SPLITS, Rules, Setup, check_flags, split_name
from .units import Scores, dialogue_ids_of, only_dialogues, subset_of
from .variants import fingerprint


def score(
    predictions: Any,
    references: Any,
    *,
    split: str | None = None,
    release: str | None = None,
    system_acts: bool | None = None,
    rules: Rules = OFFICIAL,
    dialogues: Iterable[str] | None = None,
) -> Result:
    """Score prediction rows of one or more schema variants.

    Rows are a list of dicts, a `datasets.Dataset`, an Arrow table or a pandas data frame. They are
    matched by `frame_id` and `variant`; their order does not matter, and keys or columns beyond
    those named here are passed over.

    Args:
        predictions: Rows with `frame_id`, `variant`, `active_intent`, `requested_slots` [str],
            `slot_values` [{`slot`, `values` [str]}] and, to have slot tagging scored, `slots`
            [{`slot`, `start`, `exclusive_end`}].
        references: Frame rows of the same variants, as `sgdx_dataset.frames` makes them: the keys
            of a prediction, `service`, `seen`, `schema_slots` [{`name`, `is_categorical`}], and
            `utterance` where spans are predicted.
        split, release: The names of the split and of the data (a commit), for the signature. A
            `Dataset` of references knows them, and another name is refused. Lists and slices do not
            know them: the signature then says `as-stated`.
        system_acts: Whether the predictions used the system's dialogue acts, for the signature;
            None where that is unknown.
        rules: How frames are scored.
        dialogues: Ids of the dialogues to score; None for all. Rows of others are passed over. The
            signature names a choice, that of a part of a `Dataset` too.

    Returns:
        A `Result`: `figures` are rows of metric, figure, variants, group, value, interval and
        counts, and `result["jga_v1-5"]` is the value of one by its name. Scores are fractions, None
        where undefined. `systems`, what files say of the system that made them, is empty.

    Raises:
        ScoreError: A row is malformed; a frame is missing, there twice or unknown; or the rows
            cannot be scored for another reason, which the message names.

    Examples:

        >>> from sgdx_metric import score
        >>> state = {"active_intent": "FindHotel", "requested_slots": [],
        ...          "slot_values": [{"slot": "city", "values": ["Rome"]}]}
        >>> prediction = {"frame_id": "1_00000/0/Hotels_1", "variant": "original", **state}
        >>> schema_slots = [{"name": "city", "is_categorical": False}]
        >>> reference = {**prediction, "service": "Hotels_1", "seen": True,
        ...              "schema_slots": schema_slots}
        >>> scores = score([prediction], [reference], split="test")
        >>> scores["jga_orig"]
        1.0
        >>> scores["active_intent_accuracy_orig"]
        1.0
    """
    true, origin = rows_table(references, Reference, "references"), origin_of(references)
    scores, _ = score_tables(
        rows_table(predictions, Prediction, "predictions"),
        true,
        Setup(*origin.stated(split, release), rules, acts_word(system_acts), made_elsewhere=True),
        dialogues if dialogues is not None else chosen_dialogues(true, origin),
    )
    for caution in cautions(scores.signature, scores.counts):
        warnings.warn(caution, stacklevel=2)
    return scores


def score_files(
    predictions: Mapping[str, str | Path] | str | Path,
    *,
    source: str | None = None,
    references: str | Path | None = None,
    split: str = "test",
    own_variants: Mapping[str, str | Path] | None = None,
    dialogues: str | Path | None = None,
    services: Sequence[str] = (),
    rules: Rules = OFFICIAL,
    output: str | Path | None = None,
    verbose: bool = False,
) -> Result:
    """Score prediction files of one or more schema variants, as `sgdx score` does.

    Args:
        predictions: A folder that holds `VARIANT.jsonl` or `VARIANT/` for each variant; or paths by
            variant, each a JSONL file or a directory of `dialogues_*.json`.
        source: The SGD release, as `sgdx_dataset.open_release` takes it.
        references: Instead of a source, a folder of `VARIANT.parquet` of `sgdx export frames`.
        split: "train", "validation" (or "dev") or "test".
        own_variants: Schema variants of the user's own, as paths by name.
        dialogues: A file with the ids of the dialogues to score; None for those that the files say
            they are of, or all where they do not say.
        services: The original names of the services to score; none for all.
        rules: How frames are scored.
        output: The scores.json to write, with items.parquet beside it.
        verbose: Whether to print the tables and warnings that the command prints.

    Returns:
        A `Result`, as `score` returns it, and what scores.json holds.

    Raises:
        ScoreError, sgdx_dataset.SgdxError: A file or an argument cannot be used; the message names
            it, what was found and what was expected. Nothing has been written then.
    """
    # Not at the top: `evaluate.load` copies this file without the room `sgdx_eval`.
    from sgdx_eval.score import score as score_task
    from sgdx_eval.task import Inputs
    from sgdx_eval.tasks import TASKS

    inputs = Inputs(
        predictions=(
            {name: Path(path) for name, path in predictions.items()}
            if isinstance(predictions, Mapping)
            else Path(predictions)
        ),
        split=split_name(split),
        source=source,
        references=_path(references),
        own_variants={name: str(path) for name, path in (own_variants or {}).items()},
        dialogues=_path(dialogues),
        services=services,
        rules=rules,
    )
    return score_task(TASKS["state"], inputs, _path(output), verbose)


class Origin(NamedTuple):
    """What rows say of where they come from; None for what they do not say."""

    split: str | None = None
    release: str | None = None
    dialogues: int | None = None  # of the whole split

    def stated(
        self, split: str | None, release: str | None
    ) -> tuple[str | None, str | None, list[str]]:
        """The split and the release, and which of them a caller states and no row confirms."""
        if type(split).__name__ == "NamedSplit":  # what `split` of a `Dataset` is
            split = str(split)
        named = split_name(split) if isinstance(split, str) else None
        unconfirmed = []
        for name, given, own in (
            ("split", named, self.split),
            ("release", release, self.release),
        ):
            if given and own and given != own:
                raise ScoreError(f"{name} is {given!r}, but the references are of {own!r}")
            unconfirmed += [name] if given and not own else []
        return split or self.split, release or self.release, unconfirmed

    def joined(self, more: "Origin") -> "Origin":
        """What two batches of rows both say."""
        self.stated(more.split, more.release)
        return Origin(
            self.split if more.split else None,
            self.release if more.release else None,
            self.dialogues if more.dialogues else None,
        )


def origin_of(references: Any) -> Origin:
    """The split, the release and the size that a `Dataset` says it is of."""
    split = split_name(str(getattr(references, "split", None) or "").partition("[")[0])
    info = getattr(references, "info", None)
    if split not in SPLITS or info is None:
        return Origin()
    release = (info.download_checksums or {}).get(f"release of {split}", {}).get("checksum")
    whole = (info.splits or {}).get(split)
    variants = references.unique("variant") if hasattr(references, "unique") else ()  # no stream
    rows = whole.num_examples // len(variants) if whole and len(variants) else None
    return Origin(split, release or None, rows)


def chosen_dialogues(references: pa.Table, origin: Origin) -> list[str] | None:
    """The dialogues of references that are a choice of their split; None where all are there."""
    ids = sorted(dialogue_ids_of(references))
    return ids if origin.dialogues and len(ids) < origin.dialogues else None


def acts_word(system_acts: bool | None) -> str:
    """What a signature says of whether the system's dialogue acts were used."""
    if system_acts is None:
        return "unknown"
    check_flags(system_acts=system_acts)
    return "yes" if system_acts else "no"


def score_tables(
    predicted: pa.Table,
    true: pa.Table,
    setup: Setup,
    dialogues: Iterable[str] | None = None,
) -> tuple[Result, Scores]:
    """The result of rows as `rows_table` has them, and the scores of every frame."""
    setup = replace(setup, variants=_fingerprints(true))
    if dialogues is not None:
        subset = subset_of(true, _distinct(dialogues), "dialogues")
        setup = replace(setup, subset=subset)
        true, predicted = only_dialogues(true, subset), only_dialogues(predicted, subset)
    variants = score_variants(true, predicted, setup.rules)
    scores = frame_scores(variants, setup.rules)
    result = Result(
        task="state",
        signature=state_signature(scores, setup, len(np.unique(scores.items.dialogue))),
        figures=figures(scores, STATE_METRICS, setup.rules),
        systems={name: {} for name in scores.variants},
        counts=slot_counts(variants),
    )
    return result, scores


def _distinct(dialogue_ids: Any) -> list[str]:
    """The ids of the chosen dialogues, each once; ScoreError unless they are a list of text."""
    listed = isinstance(dialogue_ids, Iterable) and not isinstance(dialogue_ids, str)
    ids: list[Any] = list(dialogue_ids) if listed else [None]
    if not all(isinstance(dialogue_id, str) for dialogue_id in ids):
        raise ScoreError(
            f"dialogues is {dialogue_ids!r:.60}, expected a list of ids such as ['1_00000']"
        )
    return list(dict.fromkeys(ids))


def _fingerprints(references: pa.Table) -> dict[str, str]:
    """The fingerprints of the user's own variants among the references, by variant."""
    pairs = references.select(["variant", "words"]).group_by(["variant", "words"]).aggregate([])
    digests: dict[str, list[str]] = {}
    for pair in pairs.to_pylist():
        if pair["words"] is not None:
            digests.setdefault(pair["variant"], []).append(pair["words"])
    return {variant: fingerprint(services) for variant, services in digests.items()}


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)
